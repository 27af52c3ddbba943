"""The memory of limited-memory BFGS: the last steps s and gradient changes y, and their inner products.

    H·g = a combination of g and of the remembered s and y, whose coefficients follow from inner products alone

(the two-loop recursion in Gram form, Chen et al. 2014). So an iteration touches the history in two passes: one takes
its products with the new y and the new gradient, one forms the combination. Both go block by block: blocks fit into
the cache, are shared out among threads, and sums are taken in their order, whatever the number of threads.

A long history is kept in sixteen bits per number (``kernels.halves``): a quarter of the memory, and less to wait for.
It only shapes the direction, and steps are taken along the direction that is kept, so that s is what it is and y off by
1/257 of each entry at most: Cora and CoNLL-2000 need about as many iterations. How far to go, and when to stop, is
decided by values and gradients in full precision."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tiltfit import kernels
from tiltfit.arrays import FloatArray
from tiltfit.execution.workers import Workers

_BLOCK = 1 << 14
_LONG = 1 << 16  # shorter vectors stay in the cache whatever their precision


class History:
    """``vectors``: the direction d of pair k in row 2k, s = step·d; y in row 2k + 1. ``length``: the step in row 2k, 1
    in row 2k + 1. When all are in use, the oldest pair gives way. Rows are worked on by fours."""

    def __init__(self, memory: int, n: int, workers: Workers) -> None:
        is_long = n >= _LONG
        rows = _whole_fours(2 * memory)
        self._vectors: npt.NDArray[Any] = np.zeros((rows, n), dtype=np.uint16 if is_long else np.float64)
        self._summed: Any = np.float32 if is_long else np.float64
        self._length = np.ones(rows)
        self._gram = np.zeros((rows, rows))
        self._memory = memory
        self._order: list[int] = []  # pairs, oldest first
        self._factors = np.empty(0), 1.0  # of the rows that hold numbers in −H·g, and that of g in H·g
        self._next = 0  # the pair of the direction that was given last
        self._workers = workers
        self._bounds = np.append(np.arange(0, n, _BLOCK), n)

    def clear(self) -> None:
        """Forget everything, so that no number that is none is left over."""
        self._vectors[:] = 0
        self._order, self._factors = [], (np.empty(0), 1.0)

    def direction(self, g: FloatArray, x: FloatArray, step: float) -> tuple[npt.NDArray[Any], FloatArray, float]:
        """d = −H·g, H the inverse-Hessian estimate, for the gradient that the last move led to; x + step·d; and the
        slope, −g·H·g. Of d there is one at a time: it stands where the next pair will, and if there is no room for
        one more, the oldest pair is forgotten for it."""
        vectors, (factors, of_gradient), bounds = kernels.vectors, self._factors, self._bounds
        full = len(self._order) == self._memory
        pair = self._order.pop(0) if full else next(k for k in range(self._memory) if k not in self._order)
        self._next = pair
        point, slopes = self._workers.buffers.empty(len(g)), np.empty(len(bounds) - 1)

        def run(first: int, last: int) -> None:
            total = np.empty(vectors.PIECE, dtype=self._summed)
            vectors.combine(
                self._vectors, factors, of_gradient, g, pair, x, step, point, bounds, slopes, total, first, last
            )

        self._workers.run(run, bounds, each=0.25 * len(factors))
        return self._vectors[2 * pair], point, sum(slopes.tolist())

    def move(self, step: float, old: FloatArray, new: FloatArray) -> None:
        """``step`` along the direction given last took the gradient from ``old`` to ``new``.

        A pair without positive curvature is forgotten at once: it would spoil the estimate.
        """
        self._order.append(self._next)
        # Rows that hold numbers: they are filled in order. A forgotten pair among them has no weight.
        vectors, rows, bounds = kernels.vectors, _whole_fours(2 * (max(self._order) + 1)), self._bounds
        products = np.empty((len(bounds) - 1, 2, rows))

        def run(first: int, last: int) -> None:
            piece = np.empty((2, vectors.PIECE), dtype=self._summed)
            vectors.remember(self._vectors, rows, self._next, old, new, bounds, products, piece, first, last)

        self._workers.run(run, bounds, each=0.25 * rows)
        factors, order = np.zeros(rows), np.array(self._order)
        kept, of_gradient = vectors.turn(self._gram, self._length, products, order, step, factors)
        self._factors = factors, of_gradient
        if not kept:
            self._order.pop()


def _whole_fours(rows: int) -> int:
    return -(-rows // 4) * 4
