"""How marginals move along a direction: ∂/∂ε E_{s + ε·d}[f] = Cov(f, d), a Hessian–vector product of log Z.

Generalized expectation and entropy regularisation have such gradients. ``Tangent`` infers once and keeps what the
derivative needs; ``along`` then costs about as much as inference again, O(N·L) on independent positions and O(N·L²) on
chains, where the direct covariance of Eq. 12 takes O(N·L³), and O(N·L⁴) for directions on edges.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from tiltfit.execution.workers import Workers
from tiltfit.inference.chain import Chains
from tiltfit.inference.independent import Independent
from tiltfit.inference.potentials import FloatArray, Marginals, Potentials


class Tangent(Protocol):
    """Marginals at some potentials, and their derivatives there."""

    @property
    def marginals(self) -> Marginals: ...
    def along(self, direction: Potentials) -> tuple[FloatArray, FloatArray | None]:
        """The derivatives of ``marginals.node`` and ``marginals.edge`` when potentials move along ``direction``; where
        labels are forbidden it is not looked at."""
        ...


def tangent(
    structure: Independent | Chains, potentials: Potentials, workers: Workers, weight: FloatArray | None = None
) -> Tangent:
    """``weight``: of instances, in sums over edges."""
    if isinstance(structure, Independent):
        return IndependentTangent(structure.infer(potentials, workers))
    return ChainTangent(structure, potentials, workers, np.ones(len(structure)) if weight is None else weight)


@dataclass(frozen=True, eq=False)
class IndependentTangent:
    """Cov(1[y], d) = p_y·(d_y − Σ p·d)."""

    marginals: Marginals

    def along(self, direction: Potentials) -> tuple[FloatArray, FloatArray | None]:
        p = self.marginals.node
        with np.errstate(invalid="ignore"):
            terms = np.where(p > 0, p * direction.node, 0.0)
        return terms - p * terms.sum(axis=1, keepdims=True), None


class ChainTangent:
    """Forward–backward that keeps its recursions: 4·N·L numbers."""

    def __init__(self, chains: Chains, potentials: Potentials, workers: Workers, weight: FloatArray) -> None:
        from tiltfit.inference.kernels.chain import aligned, edge_tables
        from tiltfit.inference.kernels.tangent import Store, infer_and_store

        node, edge = chains.checked(potentials)
        self._chains, self._workers, self._node = chains, workers, node
        self._tables = tables = edge_tables(edge)
        self._weight = np.ascontiguousarray(weight, dtype=np.float64)
        self._cuts = cuts = chains.cuts(tables.factor[0].size if chains.n_kinds else 1)
        n_labels, width = node.shape[1], tables.factor.shape[2]
        step, ahead, back, local = (aligned((len(node), width)) for _ in range(4))
        self._store = store = Store(step, ahead, back, local, np.zeros(len(chains), dtype=np.bool_))
        log_z = np.empty(len(chains))
        outer, direct = (aligned((len(cuts) - 1, *tables.factor.shape)) for _ in range(2))

        def run(a: int, b: int) -> None:
            infer_and_store(
                node, log_z, self._weight, chains.offsets, chains.kind, chains.by_kind, tables, cuts, outer, direct,
                store, a, b,
            )  # fmt: skip

        workers.run(run, chains.offsets[cuts] * n_labels)
        sums = outer.sum(axis=0) * tables.factor + direct.sum(axis=0)
        edges = np.ascontiguousarray(sums[:, :n_labels, :n_labels])
        self.marginals = Marginals(log_z, np.ascontiguousarray(store.node[:, :n_labels]), edges)

    def along(self, direction: Potentials) -> tuple[FloatArray, FloatArray | None]:
        from tiltfit.inference.kernels.chain import aligned
        from tiltfit.inference.kernels.tangent import Direction, differentiate

        chains, tables, cuts, p = self._chains, self._tables, self._cuts, self.marginals
        n_labels = self._node.shape[1]
        node = _finite(direction.node)
        has_edges = direction.edge is not None
        edge = np.zeros(tables.factor.shape)
        if direction.edge is not None:
            edge[:, :n_labels, :n_labels] = _finite(direction.edge)
        dotted = tables.factor * edge
        where = Direction(node, edge, dotted, np.ascontiguousarray(dotted.transpose(0, 2, 1)), has_edges)
        out = np.empty(self._node.shape)
        outer, direct = (aligned((len(cuts) - 1, *tables.factor.shape)) for _ in range(2))

        def run(a: int, b: int) -> None:
            differentiate(
                self._node, where, p.log_z, self._weight, chains.offsets, chains.kind, chains.by_kind, tables, cuts,
                outer, direct, self._store, out, a, b,
            )  # fmt: skip

        self._workers.run(run, chains.offsets[cuts] * n_labels)
        assert p.edge is not None
        sums = (outer.sum(axis=0) * tables.factor + direct.sum(axis=0))[:, :n_labels, :n_labels]
        if has_edges:
            sums = sums + edge[:, :n_labels, :n_labels] * p.edge
        return out, np.ascontiguousarray(sums)


def _finite(values: FloatArray) -> FloatArray:
    """What is forbidden has no share in any covariance."""
    values = np.ascontiguousarray(values, dtype=np.float64)
    return values if np.all(np.isfinite(values)) else np.where(np.isfinite(values), values, 0.0)
