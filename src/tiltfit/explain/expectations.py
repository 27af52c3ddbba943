"""E[f′] place by place, under p and under q: at positions, on edges, and in whole sequences.

Inference gives edge marginals as sums over kinds of edges, which is all that learning needs. Here every edge is a
separate kind, some sequences at a time: O(N·L²) time, and memory for these sequences alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tiltfit.arrays import FloatArray, IntArray
from tiltfit.estimators.projecting import Projected
from tiltfit.explain.statements import Statement
from tiltfit.explain.view import View
from tiltfit.inference.chain import Chains
from tiltfit.inference.potentials import Potentials
from tiltfit.inference.priced import PricedChains
from tiltfit.language.event import Term
from tiltfit.projections.components import Component
from tiltfit.projections.grounding import Grounded

_ROOM = 1 << 22  # numbers in the edge marginals of the sequences at hand


@dataclass(frozen=True, eq=False)
class Expectations:
    """p on ``view``, and q, its projection, on the instances that ``grounded`` touches (elsewhere q = p)."""

    view: View
    grounded: Grounded
    projected: Projected | None

    def of_terms(self, terms: list[Term]) -> tuple[FloatArray, FloatArray]:
        """Σ over the terms of E[table] at every position, under p and under q."""
        view, found = self.view, self.projected
        p = _values(terms, view.model.structure, view.potentials, view.marginals.node)
        q = p.copy()
        if found is not None:
            here = view.model.structure.positions(self.grounded.touched)
            there = [Term(term.at[here], term.table) for term in terms]
            q[here] = _values(there, found.structure, found.potentials, found.marginals.node)
        return p, q

    def of_count(self, statement: Statement) -> tuple[FloatArray, FloatArray]:
        """The expected number in every instance, under p and under q."""
        feature = statement.feature
        if feature.statistic is not None:
            return self._of_statistic(statement)
        instance, n = self.view.sample.instance, len(self.view.sample.number)
        p, q = self.of_terms(feature.terms)
        sums = (np.bincount(instance, weights=v, minlength=n).astype(np.float64) for v in (p, q))
        return next(sums), next(sums)

    def _of_statistic(self, statement: Statement) -> tuple[FloatArray, FloatArray]:
        view, found, statistic = self.view, self.projected, statement.feature.statistic
        assert isinstance(view.model.structure, Chains)
        assert statistic is not None
        structure = PricedChains.of(view.model.structure, (statistic,), *view.estimator.inference_)
        p = _means(structure, view.potentials, 0, view)
        q = p.copy()
        if found is None:
            return p, q
        touched, tilt = self.grounded.touched, self.grounded.tilt
        if statement.forbidden is not None:
            # What rules leave is the least or the greatest count in each.
            q[touched] = (
                statistic.least if statement.constraint.relation.interval[1] == statistic.least else statistic.most
            )
            return p, q
        rows = np.flatnonzero(self.grounded.owner == statement.number)
        assert tilt is not None
        parts = tilt.features.whole
        if parts is not None and len(rows) and found.marginals.whole is not None:
            column = int(parts.table[np.flatnonzero(np.isin(parts.row, rows))[0]].argmax())
            q[touched] = found.marginals.whole[:, column]
        return p, q


def _means(chains: PricedChains, potentials: Potentials, column: int, view: View) -> FloatArray:
    found = chains.infer(Potentials(potentials.node, potentials.edge), view.model.workers)
    assert found.whole is not None
    return np.asarray(found.whole[:, column]).copy()


def reach(feature: Component, n: int) -> tuple[FloatArray, FloatArray]:
    """The least and the greatest value of f′ at every position."""
    least, most = np.zeros(n), np.zeros(n)
    for term in feature.terms:
        least[term.at] += term.table.min()
        most[term.at] += term.table.max()
    return least, most


def _values(terms: list[Term], structure: Any, potentials: Potentials, node: FloatArray) -> FloatArray:
    values = np.zeros(len(node))
    for term in (p for p in terms if not p.on_edges):
        values[term.at] += node[term.at] @ term.table
    on_edges = [p for p in terms if p.on_edges and p.at.any()]
    if on_edges:
        for positions, edge in _edges(structure, potentials):
            for term in on_edges:
                values[positions] += term.at[positions] * np.einsum("tij,ij->t", edge, term.table)
    return values


def _edges(structure: Chains, potentials: Potentials) -> Iterator[tuple[IntArray, FloatArray]]:
    """Positions, and the marginals of the edges that lead to each (0 at the start of a sequence)."""
    assert potentials.edge is not None
    step = max(1, _ROOM // potentials.node.shape[1] ** 2)
    parts = np.split(np.arange(len(structure)), np.flatnonzero(np.diff(structure.first // step)) + 1)
    for sequences in parts:
        positions, few = structure.positions(sequences), structure.take(sequences)
        n = len(positions)
        # At the start of a sequence the number of a kind means nothing.
        kind = few.kind.copy()
        kind[few.first] = 0
        each = replace(few, kind=np.arange(n, dtype=np.int32), n_kinds=n)
        whole = None if potentials.whole is None else potentials.whole[sequences]
        found = each.infer(Potentials(potentials.node[positions].copy(), potentials.edge[kind], whole))
        assert found.edge is not None
        yield positions, found.edge
