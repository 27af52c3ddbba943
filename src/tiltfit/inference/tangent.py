"""Derivatives of marginals along a direction: ∂/∂ε E_{s + ε·d}[f] = Cov(f, d), a Hessian–vector product of log Z.

Generalized expectation and entropy regularisation have such gradients. ``Tangent`` infers once and keeps what the
derivative needs; ``along`` then costs about as much as inference again, O(N·L) on independent positions and O(N·L²) on
chains, where the direct covariance of Eq. 12 takes O(N·L³), and O(N·L⁴) for directions on edges.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import numpy.typing as npt

from tiltfit.arrays import FloatArray, IntArray
from tiltfit.execution.workers import Workers
from tiltfit.inference.chain import Chains
from tiltfit.inference.potentials import Marginals, Potentials


@dataclass(frozen=True, eq=False)
class Direction:
    """A movement of potentials: by node[place[t]] at position t (−1: not at all), and by ``edge`` on edges."""

    place: npt.NDArray[np.int32]
    node: FloatArray
    edge: FloatArray | None = None

    @staticmethod
    def along(potentials: Potentials) -> Direction:
        """All of them move by themselves."""
        return Direction(np.arange(len(potentials.node), dtype=np.int32), potentials.node, potentials.edge)


class Tangent(Protocol):
    """Marginals at some potentials, and their derivatives there."""

    @property
    def marginals(self) -> Marginals: ...
    def marginals_at(self, positions: IntArray | slice) -> Marginals:
        """``marginals`` whose nodes are known at these positions alone: elsewhere there is anything."""
        ...

    def along(self, direction: Direction) -> tuple[FloatArray, FloatArray | None]:
        """The derivatives of weighted ``marginals.node`` and ``marginals.edge`` when potentials move along
        ``direction``, which is finite."""
        ...


@dataclass(frozen=True, eq=False)
class IndependentTangent:
    """Cov(1[y], d) = p_y·(d_y − Σ p·d)."""

    marginals: Marginals
    weight: FloatArray

    def marginals_at(self, positions: IntArray | slice) -> Marginals:
        return self.marginals

    def along(self, direction: Direction) -> tuple[FloatArray, FloatArray | None]:
        at = np.flatnonzero(direction.place >= 0)
        p, g = self.marginals.node[at], direction.node[direction.place[at]]
        moved = np.zeros(self.marginals.node.shape)
        moved[at] = self.weight[at, None] * p * (g - np.einsum("iy,iy->i", p, g)[:, None])
        return moved, None


class ChainTangent:
    """Forward–backward that keeps its recursions: 3·N·L numbers."""

    def __init__(self, chains: Chains, potentials: Potentials, workers: Workers, weight: FloatArray) -> None:
        from tiltfit.kernels.chain import aligned, edge_tables
        from tiltfit.kernels.tangent import Store, infer_and_store

        node, edge = chains.checked(potentials)
        self._chains, self._workers, self._node = chains, workers, node
        self._tables = tables = edge_tables(edge)
        self._weight = np.ascontiguousarray(weight, dtype=np.float64)
        self._cuts = cuts = chains.cuts(node.shape[1])
        n_labels, width = node.shape[1], tables.factor.shape[2]
        step, ahead, behind = (_aligned(workers, len(node), width) for _ in range(3))
        self._store = store = Store(step, ahead, behind, np.zeros(len(chains), dtype=np.bool_))
        self._log_z = log_z = np.empty(len(chains))
        outer, direct = (aligned((len(cuts) - 1, *tables.factor.shape)) for _ in range(2))

        def run(a: int, b: int) -> None:
            infer_and_store(
                node, log_z, self._weight, chains.offsets, chains.kind, chains.by_kind, tables, cuts, outer, direct,
                store, a, b,
            )  # fmt: skip

        workers.run(run, chains.offsets[cuts] * n_labels, each=0.5 * n_labels)
        sums = outer.sum(axis=0) * tables.factor + direct.sum(axis=0)
        self._edge = np.ascontiguousarray(sums[:, :n_labels, :n_labels])

    @cached_property
    def marginals(self) -> Marginals:
        return self.marginals_at(slice(None))

    def marginals_at(self, positions: IntArray | slice) -> Marginals:
        n_labels = self._node.shape[1]
        node = self._workers.buffers.empty(*self._node.shape)
        node[positions] = self._store.ahead[positions, :n_labels] * self._store.behind[positions, :n_labels]
        return Marginals(self._log_z, node, self._edge)

    def along(self, direction: Direction) -> tuple[FloatArray, FloatArray | None]:
        from tiltfit.kernels import tangent as kernels
        from tiltfit.kernels.chain import aligned

        chains, tables, cuts = self._chains, self._tables, self._cuts
        n_labels = self._node.shape[1]
        has_edges = direction.edge is not None
        edge = np.zeros(tables.factor.shape)
        if direction.edge is not None:
            edge[:, :n_labels, :n_labels] = direction.edge
        dotted = tables.factor * edge
        transposed = np.ascontiguousarray(dotted.transpose(0, 2, 1))
        node = np.ascontiguousarray(direction.node)
        where = kernels.Direction(direction.place, node, edge, dotted, transposed, has_edges)
        out = self._workers.buffers.empty(*self._node.shape)
        outer, direct = (aligned((len(cuts) - 1, *tables.factor.shape)) for _ in range(2))

        def run(a: int, b: int) -> None:
            kernels.differentiate(
                self._node, where, self._log_z, self._weight, chains.offsets, chains.kind, chains.by_kind, tables, cuts,
                outer, direct, self._store, out, a, b,
            )  # fmt: skip

        self._workers.run(run, chains.offsets[cuts] * n_labels, each=0.5 * n_labels)
        sums = (outer.sum(axis=0) * tables.factor + direct.sum(axis=0))[:, :n_labels, :n_labels]
        if has_edges:
            sums = sums + edge[:, :n_labels, :n_labels] * self._edge
        return out, np.ascontiguousarray(sums)


def _aligned(workers: Workers, n: int, width: int) -> FloatArray:
    """Rows that start on cache lines, in memory that is used again."""
    room = workers.buffers.empty(n * width + 8)
    first = -room.ctypes.data % 64 // 8
    return room[first : first + n * width].reshape(n, width)
