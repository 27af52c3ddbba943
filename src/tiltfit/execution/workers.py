"""Work over ranges of positions, in this thread or on several.

A kernel ``run(start, stop)`` writes its own range of an output array and nothing else, so the result does not depend on
how many workers there are or on how the ranges are cut.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
import numpy.typing as npt

from tiltfit.execution.buffers import Buffers
from tiltfit.execution.thread_pool import ThreadPool

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
        if self.count == 1:
            kernel(0, work if isinstance(work, int) else len(work) - 1)
            return
        ranges = list(itertools.pairwise(self._cut(work, each)))
        if len(ranges) == 1:
            kernel(*ranges[0])
        else:
            self._pool.run([partial(kernel, a, b) for a, b in ranges])

    def _cut(self, work: npt.NDArray[np.integer] | int, each: float) -> list[int]:
        total = int(work) if isinstance(work, int) else int(work[-1])
        n = int(work) if isinstance(work, int) else len(work) - 1
        if total * each < _WORTH:
            return [0, n]
        goals = [total * k // self.count for k in range(1, self.count)]
        inner = goals if isinstance(work, int) else np.searchsorted(work, goals).tolist()
        return sorted({0, *inner, n}) if n else [0, 0]

    def __getstate__(self) -> dict[str, int]:
        return {"count": self.count}  # a pool of threads cannot be pickled, and is remade on first use

    def __setstate__(self, state: dict[str, int]) -> None:
        object.__setattr__(self, "count", state["count"])
