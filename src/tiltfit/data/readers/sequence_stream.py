"""``stream_sequences``: sequences in chunks, from sources that need not fit into memory."""

from __future__ import annotations

from collections.abc import Collection, Generator, Sequence

from tiltfit.data.readers.chunks import ChunkStream
from tiltfit.data.readers.kinds import ColumnKinds, LabelKind
from tiltfit.data.readers.reader import Source
from tiltfit.data.readers.record import Refusal, Survey
from tiltfit.data.readers.sequences import (
    SequenceDataset,
    SequenceRequest,
    check_columns,
    collect_sequences,
    fields_of,
    layout_of,
)
from tiltfit.data.readers.source import Meter
from tiltfit.data.readers.tagged import Tagged, TaggedPart


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
