"""Inference where positions are independent: the softmax.

log Z_i = log Σ_y exp(s_iy),   p_iy = exp(s_iy − log Z_i).   Cost O(N·L).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tiltfit import kernels
from tiltfit.arrays import FloatArray, IntArray
from tiltfit.execution.workers import Workers
from tiltfit.inference.potentials import Marginals, Potentials


@dataclass(frozen=True, eq=False)
class Independent:
    """``n`` instances of one position each: chains of length one (``inference.chain.Chains`` is the general case)."""

    n: int

    def __len__(self) -> int:
        return self.n

    @property
    def first(self) -> IntArray:
        """The first position of every instance."""
        return np.arange(self.n)

    @property
    def last(self) -> IntArray:
        """The last position of every instance."""
        return np.arange(self.n)

    def spread(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """One value an instance, as one a position."""
        return values

    def positions(self, instances: IntArray) -> IntArray:
        """The positions of these instances."""
        return instances

    def take(self, instances: IntArray) -> Independent:
        """These instances only."""
        return Independent(len(instances))

    def infer(
        self,
        potentials: Potentials,
        workers: Workers | None = None,
        *,
        weight: FloatArray | None = None,
        overwrite: bool = False,
    ) -> Marginals:
        """log Z and marginals. There are no edges, so ``weight`` (of their sums) has no effect."""
        return infer(potentials, workers, overwrite=overwrite)

    def best(self, potentials: Potentials, workers: Workers | None = None) -> tuple[IntArray, FloatArray]:
        """The best label of every position, and its score."""
        labels = potentials.node.argmax(axis=1)
        return labels, potentials.node[np.arange(self.n), labels]

    def k_best(self, potentials: Potentials, k: int, workers: Workers | None = None) -> tuple[IntArray, FloatArray]:
        """The k best labels of every position, best first: labels [k, n] and scores [n, k]; of equals, the lower label.
        Where there are fewer that are possible: −1 and −inf."""
        order = np.argsort(-potentials.node, axis=1, kind="stable")[:, :k]
        found = np.take_along_axis(potentials.node, order, axis=1)
        labels, scores = np.full((k, self.n), -1, dtype=np.intp), np.full((self.n, k), -np.inf)
        labels[: order.shape[1]] = np.where(found > -np.inf, order, -1).T
        scores[:, : order.shape[1]] = found
        return labels, scores


def infer(potentials: Potentials, workers: Workers | None = None, *, overwrite: bool = False) -> Marginals:
    """log Z and marginals of every position. A position whose labels are all forbidden has log Z = −inf and p = 0.

    ``overwrite``: the marginals may take the place of the potentials, which nobody needs any more.

    >>> import numpy as np
    >>> infer(Potentials(np.log([[1.0, 3.0]]))).node.tolist()
    [[0.25, 0.75]]
    """
    node = np.array(potentials.node, dtype=np.float64, order="C", copy=None if overwrite else True)
    log_z = np.empty(len(node))
    (workers or Workers()).run(
        lambda a, b: kernels.softmax.softmax_rows(node, log_z, a, b), len(node), each=node.shape[1]
    )
    return Marginals(log_z, node)
