"""Work over ranges of positions, in this thread or on several.

A kernel ``run(start, stop)`` writes its own range of an output array and nothing else, so the result does not depend on
how many workers there are or on how the ranges are cut.
"""

from __future__ import annotations

import itertools
import os
import threading
import weakref
from bisect import bisect_left
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from tiltfit.execution.buffers import Buffers

_WORTH = 300_000.0  # nanoseconds of work below which handing a part of it to a thread costs more than it saves


@dataclass(frozen=True)
class Workers:
    """``count`` threads, the calling one among them; kernels must release the GIL."""

    count: int = 1

    @cached_property
    def buffers(self) -> Buffers:
        """Memory for what they work on."""
        return Buffers()

    @cached_property
    def _pool(self) -> ThreadPool:
        return ThreadPool(self.count - 1)

    def run(
        self, kernel: Callable[[int, int], object], work: npt.NDArray[np.integer] | int, *, each: float = 35.0
    ) -> None:
        """Call ``kernel(start, stop)`` over ranges that cover all positions.

        ``work`` is the number of positions, or cumulative work (such as a CSR ``indptr``) by which ranges are balanced;
        ``each``: how many nanoseconds a unit of it takes one thread, about.
        """
        ends = range(work + 1) if isinstance(work, int) else work
        if self.count == 1:
            kernel(0, len(ends) - 1)
            return
        ranges = list(itertools.pairwise(self._cut(ends, each)))
        if len(ranges) == 1:
            kernel(*ranges[0])
        else:
            self._pool.run([partial(kernel, a, b) for a, b in ranges])

    def _cut(self, ends: npt.NDArray[np.integer] | range, each: float) -> list[int]:
        total, n = int(ends[-1]), len(ends) - 1
        if total * each < _WORTH:
            return [0, n]
        inner = (bisect_left(ends, total * k // self.count) for k in range(1, self.count))
        return sorted({0, *inner, n}) if n else [0, 0]

    def __getstate__(self) -> dict[str, int]:
        return {"count": self.count}  # a pool of threads cannot be pickled, and is remade on first use

    def __setstate__(self, state: dict[str, int]) -> None:
        object.__setattr__(self, "count", state["count"])


Call = Callable[[], object]


@dataclass(eq=False)
class _Post:
    """The state that a thread and its callers share: ``wanted`` is free when there is something to do, ``done`` when it
    is done."""

    wanted: threading.Lock = field(default_factory=threading.Lock)
    done: threading.Lock = field(default_factory=threading.Lock)
    call: Call | None = None
    error: BaseException | None = None
    ended: bool = False

    def __post_init__(self) -> None:
        self.wanted.acquire()
        self.done.acquire()

    def work(self) -> None:
        while not self.ended:
            self.wanted.acquire()
            call, self.call = self.call, None
            if call is None:
                return
            try:
                call()
            except BaseException as error:  # raised again by the caller
                self.error = error
            del call
            self.done.release()

    def end(self) -> None:
        """The thread ends, with its call if it has one: an interrupt may have left it at work."""
        self.ended = True
        if self.wanted.locked():
            self.wanted.release()


class ThreadPool:
    """``count`` threads that wait for one call at a time. They end when nobody holds the helpers any more.

    A pool of the standard library takes a tenth of a millisecond to hand over a call and to hear that it is done; with
    two locks per thread it is a fifth of that, and an iteration of a solver hands over seven.
    """

    def __init__(self, count: int) -> None:
        self._posts = [_Post() for _ in range(count)]
        self._free = threading.Lock()
        self._process = os.getpid()
        for post in self._posts:
            threading.Thread(target=post.work, name="tiltfit", daemon=True).start()
            weakref.finalize(self, post.end).atexit = False

    def run(self, calls: list[Call]) -> None:
        """Run all calls, the first in this thread, and raise the first error. If the helpers are busy (another thread
        has asked for them), or were left behind by a fork or an interrupt, this thread runs them all."""
        here = os.getpid() == self._process and len(calls) <= len(self._posts) + 1
        if not here or not self._free.acquire(blocking=False):
            for call in calls:
                call()
            return
        posts = self._posts[: len(calls) - 1]
        for post, call in zip(posts, calls[1:], strict=True):
            post.call = call
            post.wanted.release()
        try:
            calls[0]()
        finally:
            for post in posts:
                post.done.acquire()
            errors = [post.error for post in posts if post.error is not None]
            for post in posts:
                post.error = None
            # Last, and nowhere else: after an interrupt before this line who is at work is not known, and nobody is
            # asked again.
            self._free.release()
        if errors:
            try:
                raise errors[0]
            finally:
                del errors  # or the error would hold itself, and the arrays of all frames that it passed


def one_blas_thread() -> AbstractContextManager[Any]:
    """Inside ``with one_blas_thread():`` matrix products run on the calling thread.

    The library's own threads would compete with ours, and its sums may depend on how many there are.
    """
    limited: AbstractContextManager[Any] = _controller().limit(limits=1, user_api="blas")
    return limited


@cache
def _controller() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
