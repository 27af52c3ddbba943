"""``stream``: documents in chunks, from sources that need not fit into memory."""

from __future__ import annotations

from collections.abc import Generator, Sequence

from tiltfit.data.readers.chunks import ChunkStream
from tiltfit.data.readers.dataset import Dataset, check_fields, collect
from tiltfit.data.readers.delimited import with_numbers
from tiltfit.data.readers.kinds import ColumnKinds, LabelKind
from tiltfit.data.readers.reader import DELIMITERS, Request, Source, fields_of
from tiltfit.data.readers.record import Part, Record, Refusal, Survey
from tiltfit.data.readers.source import Meter


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
