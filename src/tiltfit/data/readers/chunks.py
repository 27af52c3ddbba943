"""Chunks of a stream, for ``stream`` and ``stream_sequences``.

Good instances are numbered from 0 over all sources, and chunk k holds those from k·size up to (k + 1)·size. So a stream
that is taken up again with ``skip`` has the chunks that it would have had, and what a chunk decides (``kinds``) is
decided again in the same way. Digests of what was read tell whether it is the same stream.

A stream that comes slowly can be read in smaller chunks (``step``).
"""

from __future__ import annotations

import hashlib
import stat
import time
from collections.abc import Collection, Generator, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Generic, Self

from tiltfit.arguments import whole
from tiltfit.data.readers.delimited import CELLS, with_numbers
from tiltfit.data.readers.kinds import ColumnKinds, LabelKind
from tiltfit.data.readers.record import Refusal, Survey
from tiltfit.data.readers.request import D, R, Request, nothing, places
from tiltfit.data.readers.source import STDIN, Meter, place_of
from tiltfit.errors import DataError, DataFileError, did_you_mean

ON_ERROR = ("fail", "skip")
MAX_PROBLEMS = 20
"""Messages about malformed records that a stream remembers."""

WAIT = 1.0
"""Seconds after which a chunk may end early, where that is asked for."""

_MESSAGE = 1000  # characters of a message that is remembered


class ChunkStream(Iterator[D], Generic[R, D]):
    """An iterator over chunks, read when they are asked for; nothing but the current chunk is kept.

    ``taken``: instances delivered so far, with those passed over by ``skip``. ``rejected``: malformed records, left out
    or raised, and ``problems``: what was wrong with the first that were left out. ``bytes_read`` of ``bytes_total``:
    how far the files have been read, in bytes on the disk; the total is None if a source is standard input, a pipe or a
    folder.

    ``digest``: of the ``taken`` instances; ``passed``: of those passed over, once all of them are; ``head``: of those
    of a first chunk. Neither malformed records matter to them nor where instances stand.
    """

    def __init__(
        self,
        request: Request[R, D],
        size: int,
        on_error: str,
        skip: int,
        step: int | None = None,
        numeric: Collection[str] | None = None,
    ) -> None:
        _check(size, on_error, skip, step)
        self._request, self._size, self._on_error, self._skip = request, int(size), on_error, int(skip)
        self._surveys = [Survey(place_of(name)) for name in request.names]
        self._label = LabelKind(request.mixed)
        self._columns = ColumnKinds(request.fields.columns, numeric)
        self._meter = Meter()
        self._origins: list[str] = []
        self.taken = 0
        self.rejected = 0
        self.problems: list[str] = []
        self.digest = self.passed = self.head = ""
        self._read = hashlib.blake2b(digest_size=16)
        sizes = [_size(name) for name in request.names]
        self.bytes_total = None if None in sizes else sum(n for n in sizes if n is not None)
        self._step = step if self.bytes_total is None else None
        for name, survey, known in zip(request.names, self._surveys, sizes, strict=True):
            if known is not None:
                # One record of what can be read again: what is wrong with all of it is said before work starts.
                with closing(request.records(name, survey)) as items:
                    next(items, None)
        self._check_if_final()
        self._chunks = self._run()

    @property
    def bytes_read(self) -> int:
        """Bytes of regular files that have been read."""
        return self._meter.bytes

    @property
    def what(self) -> str:
        """The word for instances in messages."""
        return self._request.what

    @property
    def sources(self) -> tuple[str, ...]:
        """The names of the sources in messages, in order."""
        return tuple(survey.place for survey in self._surveys)

    def origin(self, i: int) -> str:
        """The file and line of instance i of the current chunk."""
        return self._origins[i]

    def close(self) -> None:
        """Read no further, and close the current file. For a stream that is not read to its end."""
        self._chunks.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __next__(self) -> D:
        return next(self._chunks)

    def _run(self) -> Generator[D, None, None]:
        held: list[list[tuple[int, R]]] = [[] for _ in self._surveys]
        good, since = 0, time.monotonic()
        with closing(self._good()) as items:
            for k, number, item in items:
                good += 1
                self._note(item, good)
                if good > self._skip:
                    held[k].append((number, item))
                if good % self._size == 0 or self._is_late(good, since):
                    self._columns.settle()
                    if good > self._skip:
                        chunk = self._delivered(held, good)
                        held = [[] for _ in self._surveys]
                        yield chunk
                        del chunk  # or two would be held while the next is read
                        since = time.monotonic()
        self._check_end(good)
        self.head = self.head or self._digest_so_far()
        if any(held):
            self._columns.settle()
            yield self._delivered(held, good)

    def _is_late(self, good: int, since: float) -> bool:
        """Return whether the chunk has taken too long and may end here."""
        may_end = self._step is not None and good > self._skip and good % self._step == 0
        return may_end and time.monotonic() - since > WAIT

    def _note(self, item: R, good: int) -> None:
        """Bring the digests up to date."""
        self._read.update(repr(self._request.content(item)).encode("utf-8", "surrogatepass"))
        if good == self._skip:
            self.passed = self._digest_so_far()
        if good == self._size:
            self.head = self._digest_so_far()

    def _digest_so_far(self) -> str:
        return self._read.hexdigest()

    def _good(self) -> Generator[tuple[int, int, R], None, None]:
        """(number of the source, of the row in it, record) of all that can be used; the rest is counted, or raised."""
        for k, (name, survey) in enumerate(zip(self._request.names, self._surveys, strict=True)):
            with closing(self._request.records(name, survey, self._meter)) as items:
                for n, item in enumerate(items, 1):
                    if n == 1:
                        self._check_if_final()
                    if isinstance(item, Refusal):
                        self._refuse(item)
                    elif (why := self._misfit(item, survey)) is not None:
                        self._refuse(Refusal(DataFileError(f"{item.origin}: {why}")))
                    else:
                        yield k, n, item

    def _refuse(self, refusal: Refusal) -> None:
        self.rejected += 1
        if self._on_error == "fail":
            raise refusal.error
        if len(self.problems) < MAX_PROBLEMS:
            message = str(refusal)
            self.problems.append(message if len(message) <= _MESSAGE else message[:_MESSAGE] + "…")

    def _misfit(self, record: R, survey: Survey) -> str | None:
        """Why a record cannot stand beside those before it; None if it can."""
        labels = self._request.labels(record)
        why = self._label.misfit(labels, record)
        if why is None and record.columns:  # CoNLL has none
            why = self._columns.take(record, cells=survey.format in CELLS)
        if why is None:
            self._label.take(labels, record)
        return why

    def _delivered(self, held: Sequence[Sequence[tuple[int, R]]], good: int) -> D:
        numbers, found = [], []
        for survey, items in zip(self._surveys, held, strict=True):
            records = [record for _, record in items]
            found.append(with_numbers(records, self._columns.numeric) if survey.format in CELLS else records)
            numbers.append([number for number, _ in items])
        names, labels = self._columns.numeric_names, self._request.wants_labels
        chunk = self._request.collect(self._surveys, found, numbers, labels=labels, numeric=names)
        self.taken, self._origins, self.digest = good, chunk.origins, self._digest_so_far()
        return chunk

    def _check_if_final(self) -> None:
        """Check that the requested fields exist, as soon as every header has been seen."""
        if all(survey.final for survey in self._surveys):
            self._request.check_fields(self._surveys)

    def _check_end(self, good: int) -> None:
        if not good and self.rejected:
            raise DataFileError(
                f"{places(self._surveys)}: no {self.what}. All {self.rejected} that are here are malformed; the first: "
                f"{self.problems[0]}"
            )
        if not good:
            raise nothing(self._surveys, self.what)
        self._request.check_fields(self._surveys)
        if good < self._skip:
            raise DataFileError(
                f"{places(self._surveys)}: there are {good:,} {self.what} here, but {self._skip:,} were to be passed "
                "over. Is this the stream that was read before?"
            )
        self.taken, self.digest = good, self._digest_so_far()


def _check(size: int, on_error: str, skip: int, step: int | None) -> None:
    if whole(size) is None or size < 1:
        raise DataError(f"size={size!r} must be an integer of at least 1: the number of instances in a chunk.")
    if whole(skip) is None or skip < 0:
        raise DataError(f"skip={skip!r} must be the number of instances to pass over, 0 or more.")
    if step is not None and (whole(step) is None or step < 1):
        raise DataError(f"step={step!r} must be an integer of at least 1, or None.")
    if on_error not in ON_ERROR:
        raise DataError(
            f"on_error={on_error!r} must be one of {', '.join(ON_ERROR)}.{did_you_mean(on_error, ON_ERROR)}"
        )


def _size(name: str) -> int | None:
    """Bytes of a regular file, 0 if there is none such (reading it will say so); None for anything else."""
    if name == STDIN:
        return None
    try:
        found = Path(name).stat()
    except (OSError, ValueError):
        return 0
    return found.st_size if stat.S_ISREG(found.st_mode) else None
