"""``read`` and ``stream``: documents from files of several formats, all at once or in chunks.

``Request`` is what a user asked for, checked; both take their records from it.
"""

from __future__ import annotations

import io
import os
from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from tiltfit.data.readers.chunks import ChunkStream
from tiltfit.data.readers.dataset import Dataset, assemble, check_fields, collect
from tiltfit.data.readers.delimited import delimited_records, numeric_columns, with_numbers
from tiltfit.data.readers.folder import folder_records
from tiltfit.data.readers.jsonl import jsonl_records
from tiltfit.data.readers.kinds import ColumnKinds, LabelKind
from tiltfit.data.readers.parquet import is_parquet, parquet_records
from tiltfit.data.readers.record import Fields, Part, Record, Refusal, Survey, strict
from tiltfit.data.readers.source import JSONL_SUFFIXES, STDIN, Meter, begins, opened, place_of, suffix_of
from tiltfit.errors import DataError, DataFileError, did_you_mean

Source = str | os.PathLike[str]

FORMATS = ("auto", "jsonl", "csv", "tsv", "folder", "parquet")

_SUFFIXES = {**dict.fromkeys(JSONL_SUFFIXES, "jsonl"), ".csv": "csv", ".tsv": "tsv"}
DELIMITERS = {"csv": ",", "tsv": "\t"}


def read(
    source: Source | Sequence[Source],
    *,
    format: str = "auto",
    text: str = "text",
    label: str | None = "label",
    columns: Sequence[str] = (),
    identifier: str = "id",
    delimiter: str | None = None,
) -> Dataset:
    """Read documents, and labels where there are any, from one or several sources.

    A source is a JSONL, CSV, TSV or Parquet file or a text folder (``folder/<label>/*.txt``), plain or compressed
    (gzip, bzip2, xz, Zstandard), or ``"-"`` for standard input. ``format="auto"`` goes by the suffix; input without
    one must begin like JSONL. A missing, null or empty label means unlabelled; ``label=None`` reads no labels.
    ``columns`` are further fields to read: X is then a table. Every problem is a DataFileError with file, line and why.
    """
    request = Request.of(source, format, fields_of(text, label, columns, identifier), delimiter)
    return assemble([_part(request, name) for name in request.names], request.fields)


def fields_of(text: str, label: str | None, columns: Sequence[str], identifier: str) -> Fields:
    """The names of the fields, each in one role."""
    names = (columns,) if isinstance(columns, str) else tuple(dict.fromkeys(columns))
    if text in names:
        names = tuple(name for name in names if name != text)
    if label is not None and label in (text, *names):
        raise DataError(f"The field {label!r} cannot be the label and an input at once.")
    return Fields(text, label, identifier, names)


def _check_options(names: Sequence[str], format: str, delimiter: str | None) -> None:
    check_sources(names, "at least one file or folder")
    if format not in FORMATS:
        raise DataFileError(
            f"There is no data format {format!r}.{did_you_mean(format, FORMATS)} Use one of: {', '.join(FORMATS)}."
        )
    if delimiter is not None and (len(delimiter) != 1 or delimiter in '\r\n"\0'):
        raise DataError(f"The delimiter must be one character other than a quote or a line end, not {delimiter!r}.")


def check_sources(names: Sequence[str], least: str) -> None:
    """Refuse no source at all, and standard input twice."""
    if not names:
        raise DataError(f"There is no source to read: give {least}.")
    if names.count(STDIN) > 1:
        raise DataError("Standard input (-) can be read once only.")


@dataclass(frozen=True)
class Request:
    """The sources to read, and how."""

    names: tuple[str, ...]
    format: str
    fields: Fields
    delimiter: str | None

    @staticmethod
    def of(source: Source | Sequence[Source], format: str, fields: Fields, delimiter: str | None) -> Request:
        """Refuses what makes no sense whatever the sources hold."""
        names = names_of(source)
        _check_options(names, format, delimiter)
        return Request(names, format, fields, delimiter)

    def records(self, name: str, survey: Survey, meter: Meter | None = None) -> Generator[Record | Refusal, None, None]:
        """The records of a source, read one at a time."""
        place, format = survey.place, self.format
        if "\0" in name:
            raise DataFileError(f"{name!r} is not the name of a file.")
        is_folder = name != STDIN and Path(name).is_dir()
        if is_folder != (format == "folder") and format != "auto":
            no = "" if is_folder else "not "
            raise DataFileError(f"{place}: is {no}a folder, so it cannot be read as {format!r}.")
        if is_folder:
            survey.format = "folder"
            yield from folder_records(survey, self.fields, meter)
            return
        with opened(name, meter) as raw:
            survey.format = _kind(name, place, raw, self.delimiter) if format == "auto" else format
            if survey.format == "jsonl":
                yield from jsonl_records(survey, raw, self.fields)
            elif survey.format == "parquet":
                yield from parquet_records(survey, raw, self.fields)
            else:
                yield from delimited_records(survey, raw, self.fields, self.delimiter or DELIMITERS[survey.format])


def names_of(source: Source | Sequence[Source]) -> tuple[str, ...]:
    """One or several sources by name."""
    return tuple(os.fspath(s) for s in ([source] if isinstance(source, str | os.PathLike) else source))


def _part(request: Request, name: str) -> Part:
    survey = Survey(place_of(name))
    with closing(request.records(name, survey)) as items:
        records: Sequence[Record] = list(strict(items))
    if survey.format in DELIMITERS:
        records = with_numbers(records, numeric_columns(records, len(request.fields.columns)))
    return Part(survey.place, records, frozenset(survey.fields))


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
        f"{place}: cannot tell its format: neither its name nor its beginning says so. Say format= (jsonl, csv, tsv or "
        "parquet). Tokens in columns are for taggers (tiltfit train --task tag)."
    )


class DocumentStream(ChunkStream[Record, Dataset]):
    """Chunks of documents. ``y`` is there even if a chunk has no label, unless labels are not read at all."""

    _what = "rows"

    def __init__(self, request: Request, size: int, on_error: str, skip: int, step: int | None = None) -> None:
        self._request = request
        self._label = LabelKind()
        self._columns = ColumnKinds(request.fields.columns)
        super().__init__(request.names, size, on_error, skip, step)

    def _content(self, item: Record) -> tuple[object, ...]:
        return item.text, item.label, item.columns

    def _items(self, name: str, survey: Survey, meter: Meter) -> Generator[Record | Refusal, None, None]:
        return self._request.records(name, survey, meter)

    def _misfit(self, item: Record, survey: Survey) -> str | None:
        why = self._label.misfit(item.label)
        if why is None:
            why = self._columns.take(item, cells=survey.format in DELIMITERS)
        if why is not None:
            return f"{item.origin}: {why}"
        self._label.take(item.label, item)
        return None

    def _settle(self) -> None:
        self._columns.settle()

    def _collect(self, held: Sequence[Sequence[Record]]) -> Dataset:
        numeric, fields = self._columns.numeric, self._request.fields
        parts = [
            Part(s.place, with_numbers(records, numeric) if s.format in DELIMITERS else records, frozenset())
            for s, records in zip(self._surveys, held, strict=True)
        ]
        return collect(parts, fields, labels=fields.label is not None, numeric=self._columns.numeric_names)

    def _check_fields(self) -> None:
        known = set[str]().union(*(survey.fields for survey in self._surveys))
        check_fields(", ".join(self.sources), sorted(known), self._request.fields)


def stream(
    sources: Source | Sequence[Source],
    *,
    size: int,
    on_error: str = "fail",
    skip: int = 0,
    step: int | None = None,
    format: str = "auto",
    text: str = "text",
    label: str | None = "label",
    columns: Sequence[str] = (),
    identifier: str = "id",
    delimiter: str | None = None,
) -> DocumentStream:
    """Read documents as ``read`` does, ``size`` at a time: an iterator over data sets. The last may be smaller.

    ``on_error``: what to do with a malformed record. "fail" raises a DataFileError; "skip" leaves it out, counts it and
    goes on. A source that is missing, damaged or laid out otherwise than asked for is an error in either case, and so
    is a stream without a good record.
    ``skip``: how many good documents to pass over, to take up a stream again. Chunks end where they would have ended.
    ``step``: what comes slowly, from standard input or a pipe, is not waited for: after a second a chunk may end with a
    multiple of ``step`` documents.

    All labels have the kind of the first. A column of CSV is numbers if all its cells in the first chunk that has any
    are; then a cell that is not is malformed.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "notes.jsonl")
    ...     _ = path.write_text('{"text": "a"}\\n{"text": "b"}\\n{"txet": "c"}\\n{"text": "d"}\\n')
    ...     documents = stream(path, size=2, on_error="skip")
    ...     [chunk.X for chunk in documents], documents.taken, documents.rejected
    ([['a', 'b'], ['d']], 3, 1)
    """
    request = Request.of(sources, format, fields_of(text, label, columns, identifier), delimiter)
    return DocumentStream(request, size, on_error, skip, step)
