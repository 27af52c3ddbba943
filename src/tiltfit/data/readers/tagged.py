"""``read_sequences`` and ``stream_sequences``: tagged and untagged sequences as a tagger takes them, all at once or in
chunks. ``SequenceRequest`` is what a user asked for, checked; both take their sequences from it."""

from __future__ import annotations

import io
from collections.abc import Collection, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tiltfit.data.readers.chunks import ChunkStream
from tiltfit.data.readers.conll import Columns, conll_sequences
from tiltfit.data.readers.dataset import check_fields, column_values, identifiers, mixed_tags
from tiltfit.data.readers.documents import Source, check_sources, names_of
from tiltfit.data.readers.jsonl import jsonl_sequences
from tiltfit.data.readers.kinds import ColumnKinds, LabelKind
from tiltfit.data.readers.parquet import is_parquet, parquet_sequences
from tiltfit.data.readers.record import Fields, Part, Record, Refusal, Survey, Tagged, TaggedPart, Tags, strict
from tiltfit.data.readers.source import JSONL_SUFFIXES, Meter, begins, opened, place_of, suffix_of
from tiltfit.errors import DataError, DataFileError, did_you_mean

SEQUENCE_FORMATS = ("auto", "conll", "jsonl", "parquet")


@dataclass(frozen=True)
class SequenceDataset:
    """Sequences as a tagger takes them.

    ``X`` is a list of token lists or, when columns were asked for, a mapping of ``tokens`` and the columns, one value
    per sequence. ``y`` has a list of tags for each sequence, with None where a token is unlabelled, or None if
    the whole sequence is; it is None if no source has tags. ``origins`` says where each sequence starts;
    ``sources`` are the files, ``formats`` theirs.
    """

    X: list[list[str]] | dict[str, Any]
    y: list[Tags] | None
    ids: list[str]
    origins: list[str]
    sources: tuple[str, ...]
    formats: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def tokens(self) -> list[list[str]]:
        """The token lists."""
        return self.X["tokens"] if isinstance(self.X, dict) else self.X

    @property
    def labelled(self) -> npt.NDArray[np.bool_]:
        """True for sequences with at least one tag."""
        tags: Sequence[Tags] = self.y if self.y is not None else [None] * len(self)
        return np.array([row is not None for row in tags], dtype=np.bool_)


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
    JSONL and Parquet: ``tokens``, ``tags``, ``columns`` and ``identifier`` name the fields.
    """
    layout = layout_of(token, label, delimiter, unlabelled, blank, replacement)
    fields = fields_of(tokens, tags if label is not None else None, columns, identifier)
    request = SequenceRequest.of(source, format, layout, fields)
    return _assemble([_part(request, name) for name in request.names], fields)


def layout_of(
    token: int,
    label: int | None,
    delimiter: str | None,
    unlabelled: str | Collection[str],
    blank: str,
    replacement: str,
) -> Columns:
    """The layout of lines of CoNLL columns."""
    marks = frozenset([unlabelled] if isinstance(unlabelled, str) else unlabelled)
    return Columns(token, label, delimiter, marks, blank, replacement)


def fields_of(tokens: str, tags: str | None, columns: Sequence[str], identifier: str) -> Fields:
    """The names of the fields of JSONL."""
    extra = (columns,) if isinstance(columns, str) else tuple(dict.fromkeys(columns))
    return Fields(tokens, tags, identifier, extra)


def _check(names: Sequence[str], format: str, fields: Fields) -> None:
    check_sources(names, "at least one file")
    if format not in SEQUENCE_FORMATS:
        raise DataFileError(
            f"There is no format {format!r} of sequences.{did_you_mean(format, SEQUENCE_FORMATS)} "
            f"Use one of: {', '.join(SEQUENCE_FORMATS)}."
        )
    if fields.label == fields.text or {fields.label, fields.text} & set(fields.columns):
        raise DataError("The fields of the tokens, of the tags and of columns must be different.")


@dataclass(frozen=True)
class SequenceRequest:
    """The sources to read, and how."""

    names: tuple[str, ...]
    format: str
    layout: Columns
    fields: Fields

    @staticmethod
    def of(source: Source | Sequence[Source], format: str, layout: Columns, fields: Fields) -> SequenceRequest:
        """Refuses what makes no sense whatever the sources hold."""
        names = names_of(source)
        _check(names, format, fields)
        return SequenceRequest(names, format, layout, fields)

    def records(self, name: str, survey: Survey, meter: Meter | None = None) -> Generator[Tagged | Refusal, None, None]:
        """The sequences of a source, read one at a time."""
        if "\0" in name:
            raise DataFileError(f"{name!r} is not the name of a file.")
        with opened(name, meter) as raw:
            if self.format == "jsonl" or (self.format == "auto" and _is_jsonl(name, raw)):
                survey.format = "jsonl"
                yield from jsonl_sequences(survey, raw, self.fields)
                return
            if self.format == "parquet" or (self.format == "auto" and is_parquet(name, raw)):
                survey.format = "parquet"
                yield from parquet_sequences(survey, raw, self.fields)
                return
            survey.format, columns = "conll", self.fields.columns
            if columns:
                raise DataFileError(
                    f"{survey.place}: only JSONL and Parquet have columns of sequences ({', '.join(columns)})."
                )
            yield from conll_sequences(survey, raw, self.layout)


def _part(request: SequenceRequest, name: str) -> TaggedPart:
    survey = Survey(place_of(name))
    with closing(request.records(name, survey)) as items:
        found = list(strict(items))
    return TaggedPart(survey.place, found, frozenset(survey.fields), survey.labelled, survey.format)


def _is_jsonl(name: str, raw: io.BufferedReader) -> bool:
    # A token may well be a brace, but hardly one followed by a quote.
    return suffix_of(name) in JSONL_SUFFIXES or begins(raw, b'{"')


def _assemble(parts: Sequence[TaggedPart], fields: Fields) -> SequenceDataset:
    places = ", ".join(part.place for part in parts)
    if not any(part.sequences for part in parts):
        raise DataFileError(f"{places}: no sequences. There is nothing to read here.")
    check_columns(places, frozenset().union(*(part.fields for part in parts)), fields)
    return collect_sequences(parts, fields, labels=any(part.has_tags for part in parts))


def check_columns(places: str, known: Collection[str], fields: Fields) -> None:
    """Refuse a column that was asked for and that no JSONL or Parquet has. Tags may be absent."""
    if known:
        check_fields(places, sorted(known), Fields(fields.text, Fields.label, fields.identifier, fields.columns))


def collect_sequences(
    parts: Sequence[TaggedPart], fields: Fields, *, labels: bool, numeric: Collection[str] = ()
) -> SequenceDataset:
    """The sequences of all parts, without asking whether they are all there is.

    ``labels`` says whether there is a y, ``numeric`` which columns are numbers even if all are missing here.
    """
    sequences = [sequence for part in parts for sequence in part.sequences]
    records = [sequence.record for sequence in sequences]
    tokens = [sequence.tokens for sequence in sequences]
    columns: Mapping[str, Any] = {
        name: column_values(name, j, records, numeric) for j, name in enumerate(fields.columns)
    }
    _refuse_mixed(sequences)
    return SequenceDataset(
        X={"tokens": tokens, **columns} if columns else tokens,
        y=[sequence.tags for sequence in sequences] if labels else None,
        ids=identifiers([Part(part.place, [s.record for s in part.sequences], part.fields) for part in parts]),
        origins=[record.origin for record in records],
        sources=tuple(part.place for part in parts),
        formats=tuple(part.format for part in parts),
    )


def _refuse_mixed(sequences: Sequence[Tagged]) -> None:
    """All tags are of one type: 1, true and "1" would otherwise meet as equals or strangers."""
    first: dict[type, tuple[Record, object]] = {}
    for sequence in sequences:
        for kind in set(map(type, sequence.tags or ())) - {type(None)} - set(first):
            first[kind] = sequence.record, next(t for t in sequence.tags or () if type(t) is kind)
    if len(first) > 1:
        (one, a), (other, b) = list(first.values())[:2]
        raise DataFileError(f"{other.origin}: {mixed_tags(b, a, one.origin)}")


class SequenceStream(ChunkStream[Tagged, SequenceDataset]):
    """Chunks of sequences. ``y`` is there even if a chunk has no tag, unless tags are not read at all.

    ``formats`` of a chunk has "auto" for a source of which it is not known yet.
    """

    _what = "sequences"

    def __init__(self, request: SequenceRequest, size: int, on_error: str, skip: int, step: int | None = None) -> None:
        self._request = request
        self._tag = LabelKind()
        self._columns = ColumnKinds(request.fields.columns)
        super().__init__(request.names, size, on_error, skip, step)

    def _content(self, item: Tagged) -> tuple[object, ...]:
        return tuple(item.tokens), None if item.tags is None else tuple(item.tags), item.record.columns

    def _items(self, name: str, survey: Survey, meter: Meter) -> Generator[Tagged | Refusal, None, None]:
        return self._request.records(name, survey, meter)

    def _misfit(self, item: Tagged, survey: Survey) -> str | None:
        why = self._tag.misfit_tags(item.tags, item.record.origin)
        if why is None and item.record.columns:  # CoNLL has none
            why = self._columns.take(item.record, cells=False)
        if why is not None:
            return f"{item.record.origin}: {why}"
        self._tag.take(next((tag for tag in item.tags or () if tag is not None), None), item.record)
        return None

    def _settle(self) -> None:
        self._columns.settle()

    def _collect(self, held: Sequence[Sequence[Tagged]]) -> SequenceDataset:
        parts = [
            TaggedPart(s.place, list(found), frozenset(), s.labelled, s.format)
            for s, found in zip(self._surveys, held, strict=True)
        ]
        wanted = self._request.layout.label is not None or self._request.fields.label is not None
        return collect_sequences(parts, self._request.fields, labels=wanted, numeric=self._columns.numeric_names)

    def _check_fields(self) -> None:
        known = set[str]().union(*(survey.fields for survey in self._surveys))
        check_columns(", ".join(self.sources), known, self._request.fields)


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
    identifier: str = "id",
) -> SequenceStream:
    """Read sequences as ``read_sequences`` does, ``size`` at a time: an iterator over data sets.

    ``size``, ``on_error``, ``skip`` and ``step`` are those of ``stream``. A line of CoNLL columns that cannot be used
    makes its whole sequence malformed, up to the next blank line.
    """
    layout = layout_of(token, label, delimiter, unlabelled, blank, replacement)
    fields = fields_of(tokens, tags if label is not None else None, columns, identifier)
    return SequenceStream(SequenceRequest.of(sources, format, layout, fields), size, on_error, skip, step)
