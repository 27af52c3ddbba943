"""Inference where positions are independent: the softmax.

log Z_i = log Σ_y exp(s_iy),   p_iy = exp(s_iy − log Z_i).   Cost O(N·L).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from tiltfit import kernels
from tiltfit.arrays import FloatArray, IntArray
from tiltfit.execution.workers import Workers
from tiltfit.inference.potentials import Marginals, Potentials

if TYPE_CHECKING:
    from tiltfit.inference.tangent import IndependentTangent


@dataclass(frozen=True, eq=False)
class Independent:
    """``n`` instances of one position each: the ``Structure`` of documents."""

    n: int
    has_edges: ClassVar[bool] = False
    is_sampled: ClassVar[bool] = False
    n_kinds: ClassVar[int] = 0

    def __len__(self) -> int:
        return self.n

    @property
    def chains(self) -> None:
        return None

    @property
    def unpriced(self) -> Independent:
        return self

    @property
    def kind(self) -> npt.NDArray[np.int32]:
        return np.zeros(self.n, dtype=np.int32)

    @property
    def first(self) -> IntArray:
        return np.arange(self.n)

    @property
    def last(self) -> IntArray:
        return np.arange(self.n)

    @property
    def second(self) -> IntArray:
        return np.empty(0, dtype=np.intp)

    def spread(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return values

    def positions(self, instances: IntArray) -> IntArray:
        return instances

    def take(self, instances: IntArray) -> Independent:
        return Independent(len(instances))

    def narrow(self, instances: IntArray) -> tuple[Independent, IntArray]:
        return self.take(instances), np.empty(0, dtype=np.intp)

    def edge_zeros(self, n_labels: int) -> None:
        return None

    def count_pairs(self, labels: IntArray, weight: FloatArray, n_labels: int) -> None:
        return None

    def weigh_kinds(self, weight: FloatArray) -> FloatArray:
        return np.empty(0)

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

    def estimate(
        self,
        potentials: Potentials,
        n_steps: int,
        seed: int,
        workers: Workers | None = None,
        *,
        weight: FloatArray | None = None,
    ) -> Marginals:
        """``infer``: nothing is sampled."""
        return infer(potentials, workers)

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

    def impossible(self, potentials: Potentials, workers: Workers | None = None) -> IntArray:
        return np.flatnonzero(self.best(potentials)[1] == -np.inf)

    def tangent(self, potentials: Potentials, workers: Workers, weight: FloatArray) -> IndependentTangent:
        from tiltfit.inference.tangent import IndependentTangent

        return IndependentTangent(self.infer(potentials, workers), weight)


def infer(potentials: Potentials, workers: Workers | None = None, *, overwrite: bool = False) -> Marginals:
    """log Z and marginals of every position. A position whose labels are all forbidden has log Z = −inf and p = 0.

    ``overwrite``: the marginals may overwrite the potentials.

    >>> import numpy as np
    >>> infer(Potentials(np.log([[1.0, 3.0]]))).node.tolist()
    [[0.25, 0.75]]
    """
    node = np.array(potentials.node, dtype=np.float64, order="C", copy=None if overwrite else True)
    log_z = np.empty(len(node))
    (workers or Workers()).run(
        lambda a, b: kernels.exponential.softmax_rows(node, log_z, a, b), len(node), each=node.shape[1]
    )
    return Marginals(log_z, node)
