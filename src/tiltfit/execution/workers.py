"""Where work over ranges of positions is run: in this thread, or on several.

A kernel ``run(start, stop)`` writes its own range of an output array and nothing else, so the result does not depend on
how many workers there are or on how the ranges are cut.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

_SMALL = 20_000  # below this much work, handing it to threads costs more than it saves


@dataclass(frozen=True)
class Workers:
    """``count`` threads; kernels must release the GIL."""

    count: int = 1

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(self.count, thread_name_prefix="tiltfit")

    def run(self, kernel: Callable[[int, int], object], work: npt.NDArray[np.integer] | int) -> None:
        """Call ``kernel(start, stop)`` over ranges that cover all positions.

        ``work`` is the number of positions, or cumulative work (such as a CSR ``indptr``) by which ranges are balanced.
        """
        bounds = self._cut(work)
        if len(bounds) == 2:
            kernel(int(bounds[0]), int(bounds[1]))
            return
        futures = [self._pool.submit(kernel, int(a), int(b)) for a, b in itertools.pairwise(bounds)]
        for future in futures:
            future.result()

    def _cut(self, work: npt.NDArray[np.integer] | int) -> npt.NDArray[np.intp]:
        total = int(work) if isinstance(work, int) else int(work[-1])
        n = int(work) if isinstance(work, int) else len(work) - 1
        if self.count == 1 or total < _SMALL:
            return np.array([0, n])
        goals = np.linspace(0, total, self.count + 1)[1:-1]
        inner = goals.astype(np.intp) if isinstance(work, int) else np.searchsorted(work, goals)
        return np.unique(np.concatenate([[0], inner, [n]]))

    def __getstate__(self) -> dict[str, int]:
        return {"count": self.count}  # a pool of threads cannot be pickled, and is remade on first use

    def __setstate__(self, state: dict[str, int]) -> None:
        object.__setattr__(self, "count", state["count"])
