"""Rows that are about one sequence each: their prices are found sequence by sequence, inside the information
projection.

    min_q  Σ_s w_s D(q_s ‖ p_s) + U(m(q)) + Σ_r V_r(m_r(q_{s(r)}))

For fixed shared prices the second sum falls apart into one small problem per sequence (``inference.sequence_rows``). As
with ``instances``, what remains is a concave function of the shared prices alone (envelope theorem).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from tiltfit.arrays import FloatArray, IntArray
from tiltfit.execution.workers import Workers
from tiltfit.inference import sequence_rows as inference
from tiltfit.inference.chain import Chains
from tiltfit.inference.potentials import Marginals, Potentials
from tiltfit.penalties.interval import box
from tiltfit.penalties.penalty import Penalty
from tiltfit.penalties.stacked import stack
from tiltfit.projections.components import Component
from tiltfit.projections.kinds import distinct
from tiltfit.samples.sample import Sample


@dataclass(frozen=True, eq=False)
class SequenceRows:
    """The rows as inference takes them, their penalty, supports, and the weights of sequences."""

    rows: inference.SequenceRows
    penalty: Penalty
    support: FloatArray
    weight: FloatArray

    def __len__(self) -> int:
        return len(self.support)

    def solve(
        self, potentials: Potentials, start: FloatArray, cap: float, workers: Workers, tol: float
    ) -> tuple[Marginals, FloatArray, FloatArray, bool]:
        """q of every sequence, the prices that give it, m of every row, and whether all sequences converged.

        ``tol``: how far prices may be off, about.
        """
        found = self.rows.solve(potentials, start, cap, workers, weight=self.weight, tol=tol, overwrite=True)
        return found.marginals, found.prices, found.means, bool(found.solved.all())

    def take(self, instances: IntArray, structure: Chains) -> tuple[SequenceRows, IntArray]:
        """The rows of these sequences alone, which ``structure`` holds in this order, and which rows these are."""
        rows, kept = self.rows.take(instances, structure)
        return SequenceRows(rows, self.penalty.take(kept), self.support[kept], self.weight[instances]), kept

    def eta(self, prices: FloatArray) -> FloatArray:
        """η = −c·ν, kept inside the dual bounds, where rounding may have carried it one unit too far."""
        return np.clip(-self.support * prices, *self.penalty.dual_bounds())

    def shares(self, potentials: Potentials, workers: Workers) -> FloatArray:
        """m of every row without any price: what the solver finds for penalties that allow everything."""
        kind, parameters = box(np.full(len(self), -np.inf), np.full(len(self), np.inf)).instance_form()
        free = replace(self.rows, kind=kind, parameters=parameters)
        return free.solve(potentials, np.zeros(len(self)), 0.0, workers, weight=self.weight).means

    def tilted(self, potentials: Potentials, prices: FloatArray) -> tuple[Chains, Potentials]:
        """Potentials with what the prices of single sequences add to them, on edges of kinds of their own."""
        chains, on_nodes, on_edges = self.rows.chains, self.rows.node, self.rows.edge
        assert potentials.edge is not None
        node, n = potentials.node.copy(), len(chains.kind)
        np.add.at(node, on_nodes.place, _priced(on_nodes, prices)[:, None] * on_nodes.tables[on_nodes.table])
        tables = on_edges.tables.reshape(len(on_edges.tables), -1)
        shape = (n, len(tables))
        added = sparse.csr_array((_priced(on_edges, prices), (on_edges.place, on_edges.table)), shape=shape)
        kinds = sparse.csr_array((np.ones(n), (np.arange(n), chains.kind)), shape=(n, chains.n_kinds))
        example, number = distinct(sparse.csr_array(sparse.hstack([kinds, added], format="csr")))
        edge = potentials.edge[chains.kind[example]]
        edge += np.asarray(added[example] @ tables).reshape(edge.shape)
        return Chains(chains.offsets, number.astype(np.int32), len(example)), Potentials(node, edge)


def _priced(features: inference.Features, prices: FloatArray) -> FloatArray:
    return np.asarray(prices[features.row] * features.value)


def sequence_rows(found: list[Component], structure: Chains, touched: IntArray, sample: Sample) -> SequenceRows:
    """The rows of ``found`` on ``structure``, which holds the instances ``touched``."""
    positions = sample.structure.positions(touched)
    place_here = np.full(sample.inputs.n, -1, dtype=np.intp)
    place_here[positions] = np.arange(len(positions))
    n_labels = len(sample.classes)
    node, edge = ([np.empty((0, 3), dtype=np.intp)] for _ in range(2))  # place, row, table
    tables: tuple[list[FloatArray], list[FloatArray]] = ([], [])
    sequence, first = [], 0
    for component in found:
        instances = np.flatnonzero(component.group_of >= 0)
        by_group = np.empty(len(component), dtype=np.intp)
        by_group[component.group_of[instances]] = np.searchsorted(touched, instances)
        for term in component.terms:
            at, group = component.places(term, sample)
            entries, listed = (edge, tables[1]) if term.on_edges else (node, tables[0])
            entries.append(np.column_stack([place_here[at], first + group, np.full(len(at), len(listed))]))
            listed.append(term.table)
        sequence.append(by_group)
        first += len(component)
    penalty, support = stack([c.penalty for c in found]), np.concatenate([c.support for c in found])
    kind, parameters = penalty.instance_form()
    of_row = np.concatenate(sequence)
    weight = sample.weight[touched]
    rows = inference.SequenceRows(
        chains=structure,
        sequence=of_row,
        node=_features(node, tables[0], (n_labels,)),
        edge=_features(edge, tables[1], (n_labels, n_labels)),
        kind=kind,
        parameters=np.ascontiguousarray(parameters),
        scale=weight[of_row] / support,
        offset=np.zeros(len(support)),
    )
    return SequenceRows(rows, penalty, support, weight)


def _features(entries: list[IntArray], tables: list[FloatArray], shape: tuple[int, ...]) -> inference.Features:
    place, row, table = np.concatenate(entries).T
    values = np.stack(tables) if tables else np.zeros((1, *shape))
    return inference.Features(place, row, table, np.ones(len(place)), values)
