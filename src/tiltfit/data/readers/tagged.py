"""``read_sequences`` and ``stream_sequences``: tagged and untagged sequences as a tagger takes them, all at once or in
chunks."""

from __future__ import annotations

import io
from collections.abc import Collection, Generator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from tiltfit.data.beside import apart
from tiltfit.data.readers.chunks import ChunkStream
from tiltfit.data.readers.conll import Columns, conll_sequences
from tiltfit.data.readers.jsonl import sequence_of
from tiltfit.data.readers.parquet import is_parquet
from tiltfit.data.readers.record import Fields, Label, Refusal, Survey, Tagged, Tags, Vocabulary
from tiltfit.data.readers.request import Instances, Request, Source, names_of, several
from tiltfit.data.readers.source import JSONL_SUFFIXES, Meter, begins, opened, suffix_of
from tiltfit.errors import DataError, DataFileError

SEQUENCE_FORMATS = ("auto", "conll", "jsonl", "parquet")


@dataclass(frozen=True)
class SequenceDataset(Instances[Any, list[Tags]]):
    """Sequences as a tagger takes them.

    ``X`` is a list of token lists or, when columns were asked for, a mapping of ``tokens`` and the columns, one value
    per sequence; with evidence of tokens a ``WithEvidence``. ``y`` has a list of tags for each sequence, with None
    where a token is unlabelled, or None if the whole sequence is; it is None if no source has tags. ``origins`` says
    where each sequence starts; ``sources`` are the files, ``formats`` theirs.
    """

    @property
    def tokens(self) -> list[list[str]]:
        """The token lists."""
        X = apart(self.X).X
        found: list[list[str]] = X["tokens"] if isinstance(X, dict) else X
        return found


def read_sequences(
    source: Source | Sequence[Source],
    *,
    format: str = "auto",
    token: int = 0,
    label: int | None = -1,
    delimiter: str | None = None,
    unlabelled: str | Collection[str] = (),
    blank: str = "error",
    replacement: str = "_",
    tokens: str = "tokens",
    tags: str | None = "tags",
    columns: Sequence[str] = (),
    numbers: Mapping[str, int] | None = None,
    identifier: str = "id",
) -> SequenceDataset:
    """Read sequences, and their tags where there are any, from one or several files.

    A source is a file of CoNLL columns, JSONL or Parquet, each plain or compressed (gzip, bzip2, xz, Zstandard), or
    ``"-"`` for standard input. ``format="auto"`` goes by the suffix; JSONL is also recognised by how it begins.
    Every problem is a DataFileError with file, line and why.

    Columns: ``token`` and ``label`` are their numbers (negative: from the end; ``label=None``: no labels),
    ``delimiter`` stands between them (None: tabs, or else spaces), ``unlabelled`` are labels that mean there is none,
    and ``blank`` says what to do with a line whose token is blank (spaces or control characters): "error", "skip", or
    "replace" it by ``replacement``.
    ``numbers``: names of further columns, with their numbers.
    JSONL and Parquet: ``tokens``, ``tags``, ``columns`` and ``identifier`` name the fields. Columns that hold a
    list with a value for each token become evidence, as those in ``numbers`` do: X is then a ``WithEvidence``.
    """
    named = tuple((numbers or {}).items())
    layout = Columns(token, label, delimiter, frozenset(several(unlabelled)), blank, replacement, named)
    return _request(source, format, layout, tokens, tags, columns, identifier).read()


def stream_sequences(
    sources: Source | Sequence[Source],
    *,
    size: int,
    on_error: str = "fail",
    skip: int = 0,
    step: int | None = None,
    format: str = "auto",
    token: int = 0,
    label: int | None = -1,
    delimiter: str | None = None,
    unlabelled: str | Collection[str] = (),
    blank: str = "error",
    replacement: str = "_",
    tokens: str = "tokens",
    tags: str | None = "tags",
    columns: Sequence[str] = (),
    numbers: Mapping[str, int] | None = None,
    identifier: str = "id",
) -> SequenceStream:
    """Read sequences as ``read_sequences`` does, ``size`` at a time: an iterator over data sets.

    ``size``, ``on_error``, ``skip`` and ``step`` are those of ``stream``. A line of CoNLL columns that cannot be used
    makes its whole sequence malformed, up to the next blank line.
    """
    named = tuple((numbers or {}).items())
    layout = Columns(token, label, delimiter, frozenset(several(unlabelled)), blank, replacement, named)
    request = _request(sources, format, layout, tokens, tags, columns, identifier)
    return SequenceStream(request, size, on_error, skip, step)


class SequenceStream(ChunkStream[Tagged, SequenceDataset]):
    """Chunks of sequences. ``y`` is there even if a chunk has no tag, unless tags are not read at all.

    ``formats`` of a chunk has "auto" for a source of which it is not known yet.
    """


@dataclass(frozen=True)
class SequenceRequest(Request[Tagged, SequenceDataset]):
    """Sequences to read. ``layout`` is that of lines of CoNLL columns, ``fields`` those of JSONL and Parquet."""

    layout: Columns

    what = "sequences"
    role = "tokens"
    least = "at least one file"
    formats = SEQUENCE_FORMATS
    unknown_format = "There is no format {!r} of sequences."
    dataset = SequenceDataset
    column = "tokens"
    needs_label = False  # tags may be absent

    def __post_init__(self) -> None:
        super().__post_init__()
        fields = self.fields
        if fields.label == fields.text or {fields.label, fields.text} & set(fields.columns):
            raise DataError("The fields of the tokens, of the tags and of columns must be different.")

    @property
    def wants_labels(self) -> bool:
        return self.layout.label is not None

    def records(self, name: str, survey: Survey, meter: Meter | None = None) -> Generator[Tagged | Refusal, None, None]:
        with opened(name, meter) as raw:
            survey.format = _format(name, raw) if self.format == "auto" else self.format
            if survey.format != "conll":
                yield from self.objects(survey, raw, partial(sequence_of, Vocabulary(survey.place)))
                return
            survey.fields.update(self.fields.columns)
            unnamed = [name for name in self.fields.columns if name not in dict(self.layout.named)]
            if unnamed:
                raise DataFileError(
                    f"{survey.place}: CoNLL columns have no names. Say the number of {unnamed[0]!r}: numbers= (on the "
                    f"command line: --evidence {unnamed[0]}=N)."
                )
            yield from conll_sequences(survey, raw, self.layout)

    def content(self, record: Tagged) -> tuple[object, ...]:
        return tuple(record.content), None if record.label is None else tuple(record.label), record.columns

    def labels(self, record: Tagged) -> Sequence[Label | None]:
        return record.label or ()

    @staticmethod
    def gather(values: list[Any]) -> list[Any]:
        return values

    def mixed(self, label: Label, other: Label, origin: str) -> str:
        return (
            f"the tag {label!r} and the tag {other!r} of {origin} are of different types. Write all tags as one kind."
        )


def _request(
    source: Source | Sequence[Source],
    format: str,
    layout: Columns,
    tokens: str,
    tags: str | None,
    columns: Sequence[str],
    identifier: str,
) -> SequenceRequest:
    tags = tags if layout.label is not None else None
    # Those of CoNLL come first, in the order of the layout.
    wanted = dict.fromkeys([*(name for name, _ in layout.named), *several(columns)])
    fields = Fields(tokens, tags, identifier, tuple(wanted))
    return SequenceRequest(names_of(source), format, fields, layout)


def _format(name: str, raw: io.BufferedReader) -> str:
    # A token may well be a brace, but hardly one followed by a quote.
    if suffix_of(name) in JSONL_SUFFIXES or begins(raw, b'{"'):
        return "jsonl"
    return "parquet" if is_parquet(name, raw) else "conll"
