"""``read`` and ``stream``: documents from files of several formats, all at once or in chunks."""

from __future__ import annotations

import io
from collections.abc import Collection, Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tiltfit.data.readers.chunks import ChunkStream
from tiltfit.data.readers.delimited import DELIMITERS, delimited_records
from tiltfit.data.readers.excel import EXCEL_SUFFIXES, excel_records
from tiltfit.data.readers.folder import folder_records
from tiltfit.data.readers.jsonl import document_of
from tiltfit.data.readers.kinds import LABEL_KINDS, objects
from tiltfit.data.readers.parquet import is_parquet
from tiltfit.data.readers.record import Document, Fields, Label, Refusal, Survey
from tiltfit.data.readers.request import Instances, Request, Source, names_of, several
from tiltfit.data.readers.source import JSONL_SUFFIXES, STDIN, Meter, begins, opened, suffix_of
from tiltfit.errors import DataError, DataFileError

FORMATS = ("auto", "jsonl", "csv", "tsv", "xlsx", "folder", "parquet")

_SUFFIXES = {
    **dict.fromkeys(JSONL_SUFFIXES, "jsonl"),
    **dict.fromkeys(EXCEL_SUFFIXES, "xlsx"),
    ".csv": "csv",
    ".tsv": "tsv",
}


@dataclass(frozen=True)
class Dataset(Instances[list[str] | dict[str, npt.NDArray[Any]], npt.NDArray[np.object_]]):
    """Documents as an estimator takes them.

    ``X`` is a list of texts or, when columns were asked for, a mapping of column name to array that includes
    the texts. ``y`` has None where a row is unlabelled, and is None if no source has a label field.
    ``origins`` gives the file and line of each row ("a.csv, line 3"); ``sources`` are the files, in order, ``formats``
    theirs.
    """


def read(
    source: Source | Sequence[Source],
    *,
    format: str = "auto",
    text: str | Sequence[str] = "text",
    label: str | None = "label",
    columns: Sequence[str] = (),
    evidence: Sequence[str] = (),
    identifier: str = "id",
    delimiter: str | None = None,
    rows: bool = False,
    optional: bool = False,
) -> Dataset:
    """Read documents, and labels where there are any, from one or several sources.

    A source is a JSONL, CSV, TSV, Excel or Parquet file or a text folder (``folder/<label>/*.txt``), plain or
    compressed (gzip, bzip2, xz, Zstandard), or ``"-"`` for standard input. ``format="auto"`` goes by the suffix;
    input without one must begin like JSONL. A missing, null or empty label means unlabelled; ``label=None`` reads no
    labels. ``columns`` are further fields to read: X is then a table. ``evidence``: fields for conditions alone; X is
    then a ``WithEvidence``. Every problem is a DataFileError with file, line and why.

    The texts of several fields are joined, a line each; in a table they are called ``text``. ``rows=True`` also keeps
    each row as it stands in the file. A label field with another name than the usual one must be in some source, unless
    it is ``optional``.
    """
    return _request(source, format, text, label, columns, evidence, identifier, delimiter, rows, optional).read()


def stream(
    sources: Source | Sequence[Source],
    *,
    size: int,
    on_error: str = "fail",
    skip: int = 0,
    step: int | None = None,
    format: str = "auto",
    text: str | Sequence[str] = "text",
    label: str | None = "label",
    columns: Sequence[str] = (),
    evidence: Sequence[str] = (),
    identifier: str = "id",
    delimiter: str | None = None,
    rows: bool = False,
    numeric: Collection[str] | None = None,
) -> DocumentStream:
    """Read documents as ``read`` does, ``size`` at a time: an iterator over data sets. The last may be smaller.

    ``on_error``: what to do with a malformed record. "fail" raises a DataFileError; "skip" leaves it out, counts it and
    goes on. A source that is missing, damaged or laid out otherwise than asked for is an error in either case, and so
    is a stream without a good record.
    ``skip``: how many good documents to pass over, to take up a stream again. Chunks end where they would have ended.
    ``step``: what comes slowly, from standard input or a pipe, is not waited for: after a second a chunk may end with a
    multiple of ``step`` documents.

    All labels have the kind of the first. A column of CSV is numbers if all its cells in the first chunk that has any
    are; then a cell that is not is malformed. ``numeric`` names the columns that are numbers where that is known, as of
    a fitted model: then it does not depend on the first chunk.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "notes.jsonl")
    ...     _ = path.write_text('{"text": "a"}\\n{"text": "b"}\\n{"txet": "c"}\\n{"text": "d"}\\n')
    ...     documents = stream(path, size=2, on_error="skip")
    ...     [chunk.X for chunk in documents], documents.taken, documents.rejected
    ([['a', 'b'], ['d']], 3, 1)
    """
    request = _request(sources, format, text, label, columns, evidence, identifier, delimiter, rows)
    return DocumentStream(request, size, on_error, skip, step, numeric)


class DocumentStream(ChunkStream[Document, Dataset]):
    """Chunks of documents. ``y`` is there even if a chunk has no label, unless labels are not read at all."""


@dataclass(frozen=True)
class DocumentRequest(Request[Document, Dataset]):
    """Documents to read. ``delimiter``: that of CSV, None for the usual one."""

    delimiter: str | None

    what = "rows"
    role = "text"
    least = "at least one file or folder"
    formats = FORMATS
    unknown_format = "There is no data format {!r}."
    dataset = Dataset

    def __post_init__(self) -> None:
        super().__post_init__()
        delimiter = self.delimiter
        if delimiter is not None and (len(delimiter) != 1 or delimiter in '\r\n"\0'):
            raise DataError(f"The delimiter must be one character other than a quote or a line end, not {delimiter!r}.")

    @property
    def column(self) -> str:
        return text_column(self.fields.texts)

    @property
    def wants_labels(self) -> bool:
        return self.fields.label is not None

    @property
    def needs_label(self) -> bool:
        # A field that was asked for by name and is nowhere is a slip; the usual name may well be absent.
        return self.fields.label not in (None, Fields.label) and not self.fields.optional

    def records(
        self, name: str, survey: Survey, meter: Meter | None = None
    ) -> Generator[Document | Refusal, None, None]:
        is_folder = name != STDIN and Path(name).is_dir()
        if is_folder != (self.format == "folder") and self.format != "auto":
            no = "" if is_folder else "not "
            raise DataFileError(f"{survey.place}: is {no}a folder, so it cannot be read as {self.format!r}.")
        if is_folder:
            survey.format = "folder"
            yield from folder_records(survey, self.fields, meter)
            return
        with opened(name, meter) as raw:
            survey.format = _kind(name, survey.place, raw, self.delimiter) if self.format == "auto" else self.format
            if survey.format in DELIMITERS:
                yield from delimited_records(survey, raw, self.fields, self.delimiter or DELIMITERS[survey.format])
            elif survey.format == "xlsx":
                yield from excel_records(survey, raw, self.fields)
            else:
                yield from self.objects(survey, raw, document_of)

    def content(self, record: Document) -> tuple[object, ...]:
        return record.content, record.label, record.columns

    def labels(self, record: Document) -> tuple[Label | None]:
        return (record.label,)

    @staticmethod
    def gather(values: list[Any]) -> npt.NDArray[np.object_]:
        return objects(values)

    def mixed(self, label: Label, other: Label, origin: str) -> str:
        kind, before = LABEL_KINDS[type(label)], LABEL_KINDS[type(other)]
        return f"the label {label!r} is {kind}, but {other!r} in {origin} is {before}. Write all labels as one kind."


JOINED = "text"
"""The column of a table that holds the joined texts of several fields."""


def text_column(texts: Sequence[str]) -> str:
    """The column of a table that holds the texts of these fields."""
    return texts[0] if len(texts) == 1 else JOINED


def _request(
    source: Source | Sequence[Source],
    format: str,
    text: str | Sequence[str],
    label: str | None,
    columns: Sequence[str],
    evidence: Sequence[str],
    identifier: str,
    delimiter: str | None,
    rows: bool,
    optional: bool = False,
) -> DocumentRequest:
    texts = several(text)
    if not texts or len(set(texts)) < len(texts):
        raise DataError(f"text={text!r} must name one field, or several different ones to join.", parameter="text")
    main = text_column(texts)
    extra = tuple(name for name in dict.fromkeys([*several(columns), *several(evidence)]) if name != main)
    if main not in texts and main in (*several(columns), *several(evidence)):
        raise DataError(f"The texts that are joined are called {main!r}, so there cannot be a column {main!r} besides.")
    if label is not None and label in (*texts, *extra):
        raise DataError(f"The field {label!r} cannot be the label and an input at once.")
    fields = Fields(texts[0], label, identifier, extra, texts[1:], rows, optional, several(evidence))
    return DocumentRequest(names_of(source), format, fields, delimiter)


def _kind(name: str, place: str, raw: io.BufferedReader, delimiter: str | None) -> str:
    """Format by suffix; else JSONL if the first character is a brace; else it must be said."""
    suffix = suffix_of(name)
    if suffix in _SUFFIXES:
        return _SUFFIXES[suffix]
    if is_parquet(name, raw):
        return "parquet"
    if begins(raw, b"{") or not raw.peek(1):  # nothing is of any format
        return "jsonl"
    if delimiter is not None:
        return "csv"
    raise DataFileError(
        f"{place}: cannot tell its format: neither its name nor its beginning says so. Say format= (jsonl, csv, tsv, "
        "xlsx or parquet). Tokens in columns are for taggers (tiltfit train --task tag)."
    )
