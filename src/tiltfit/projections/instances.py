"""Rows that are about one instance each, a position or a sequence: their prices are found instance by instance, inside
the information projection.

    min_q  Σ_j w_j D(q_j ‖ p_j) + U(m(q)) + Σ_r V_r(m_r(q_{i(r)}))

For fixed shared prices the second sum falls apart into one small problem per position (``kernels.instances``: there,
m_r is the share of an event) or sequence (``inference.sequence_rows``), all solved in one parallel pass. What remains
is a concave function of the shared prices alone, whose gradient at the inner optimum is the ordinary one (envelope
theorem).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import sparse

from tiltfit import kernels
from tiltfit.arrays import FloatArray, IntArray
from tiltfit.execution.workers import Workers
from tiltfit.features.products import between
from tiltfit.inference import sequence_rows as inference
from tiltfit.inference.chain import Chains
from tiltfit.inference.independent import Independent, infer
from tiltfit.inference.potentials import Marginals, Potentials
from tiltfit.inference.structure import Structure
from tiltfit.penalties.interval import box
from tiltfit.penalties.penalty import Penalty
from tiltfit.penalties.stacked import stack
from tiltfit.projections.components import Component
from tiltfit.projections.kinds import distinct
from tiltfit.samples.sample import Sample


class _Rows:
    """What both kinds of rows share."""

    penalty: Penalty
    support: FloatArray

    def __len__(self) -> int:
        return len(self.support)

    def eta(self, prices: FloatArray) -> FloatArray:
        """η = −c·ν, kept inside the dual bounds, where rounding may have carried it one unit too far."""
        return np.clip(-self.support * prices, *self.penalty.dual_bounds())


@dataclass(frozen=True, eq=False)
class InstanceRows(_Rows):
    """Row r is about ``position[r]`` and of the labels ``events[event[r]]`` (0/1); ``support[r]`` is that position's
    weight. ``block[r]`` numbers the distribution over all labels that the row is part of (−1: none). ``n`` is the
    number of positions.
    """

    n: int
    position: IntArray
    event: IntArray
    events: FloatArray
    block: IntArray
    penalty: Penalty
    support: FloatArray

    def solve(
        self, potentials: Potentials, start: FloatArray, cap: float, workers: Workers, tol: float = 0.0
    ) -> tuple[Marginals, FloatArray, FloatArray, bool]:
        """q at every position, the prices that give it, the share of every row, and whether all positions converged.

        They are exact to rounding, so that ``tol`` has no effect.
        """
        node = np.array(potentials.node, dtype=np.float64, order="C")
        log_z, share, prices = np.empty(len(node)), np.empty(len(self)), start.copy()
        solved = np.ones(len(node), dtype=np.bool_)
        indptr, order, kind, parameters = self._layout
        solve_positions = kernels.instances.solve_positions

        def run(a: int, b: int) -> None:
            solve_positions(
                node, log_z, share, prices, solved, indptr, order, self.event, self.events, self.block, kind,
                parameters, self.support, cap, a, b,
            )  # fmt: skip

        workers.run(run, (indptr + np.arange(self.n + 1)) * self.events.shape[1])
        return Marginals(log_z, node), prices, share, bool(solved.all())

    def take(self, instances: IntArray, structure: Structure | None = None) -> tuple[InstanceRows, IntArray]:
        """The rows of these positions alone, which are numbered in this order, and which rows these are. O(rows there),
        once they are sorted."""
        indptr, order, _, _ = self._layout
        where, counts = between(indptr, instances)
        kept = order[where]
        rows = InstanceRows(
            n=len(instances),
            position=np.repeat(np.arange(len(instances)), counts),
            event=self.event[kept],
            events=self.events,
            block=self.block[kept],
            penalty=self.penalty.take(kept),
            support=self.support[kept],
        )
        return rows, kept

    def shares(self, potentials: Potentials, workers: Workers) -> FloatArray:
        """The share of every row's event without any price."""
        node = infer(potentials, workers).node
        return np.asarray(np.einsum("ry,ry->r", node[self.position], self.events[self.event]))

    def of_labels(self, labels: IntArray) -> FloatArray:
        """The share of every row's event if the positions have these labels: 0 or 1."""
        return np.asarray(self.events[self.event, labels[self.position]])

    def tilted(self, potentials: Potentials, prices: FloatArray) -> tuple[Structure, Potentials]:
        """Potentials with what the prices of single positions add to them."""
        node = potentials.node.copy()
        np.add.at(node, self.position, prices[:, None] * self.events[self.event])
        return Independent(self.n), Potentials(node)

    @cached_property
    def _layout(self) -> tuple[IntArray, IntArray, IntArray, FloatArray]:
        """As the kernel takes it: rows by position (``indptr``, ``order``), and their penalties as numbers."""
        kind, parameters = self.penalty.instance_form()
        counts = np.bincount(self.position, minlength=self.n)
        indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.intp)
        order = np.argsort(self.position, kind="stable").astype(np.intp)
        return indptr, order, kind, np.ascontiguousarray(parameters)


@dataclass(frozen=True, eq=False)
class SequenceRows(_Rows):
    """The rows as inference takes them, their penalty, supports, and the weights of sequences."""

    rows: inference.SequenceRows
    penalty: Penalty
    support: FloatArray
    weight: FloatArray

    def solve(
        self, potentials: Potentials, start: FloatArray, cap: float, workers: Workers, tol: float
    ) -> tuple[Marginals, FloatArray, FloatArray, bool]:
        """q of every sequence, the prices that give it, m of every row, and whether all sequences converged.

        ``tol``: approximately how far prices may be off.
        """
        found = self.rows.solve(potentials, start, cap, workers, weight=self.weight, tol=tol, overwrite=True)
        return found.marginals, found.prices, found.means, bool(found.solved.all())

    def take(self, instances: IntArray, structure: Structure) -> tuple[SequenceRows, IntArray]:
        """The rows of these sequences alone, which ``structure`` holds in this order, and which rows these are."""
        assert structure.chains is not None
        rows, kept = self.rows.take(instances, structure.chains)
        return SequenceRows(rows, self.penalty.take(kept), self.support[kept], self.weight[instances]), kept

    def shares(self, potentials: Potentials, workers: Workers) -> FloatArray:
        """m of every row without any price: what the solver finds for penalties that allow everything."""
        kind, parameters = box(np.full(len(self), -np.inf), np.full(len(self), np.inf)).instance_form()
        free = replace(self.rows, kind=kind, parameters=parameters)
        return free.solve(potentials, np.zeros(len(self)), 0.0, workers, weight=self.weight).means

    def of_labels(self, labels: IntArray) -> FloatArray:
        """m of every row if the positions have these labels."""
        on_nodes, on_edges, n = self.rows.node, self.rows.edge, len(self)
        at_nodes = on_nodes.value * on_nodes.tables[on_nodes.table, labels[on_nodes.place]]
        pairs = labels[on_edges.place - 1], labels[on_edges.place]
        at_edges = on_edges.value * on_edges.tables[(on_edges.table, *pairs)]
        sums = np.bincount(on_nodes.row, weights=at_nodes, minlength=n)
        sums = sums + np.bincount(on_edges.row, weights=at_edges, minlength=n)
        return np.asarray(self.rows.scale * sums + self.rows.offset)

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


LocalRows = InstanceRows | SequenceRows


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
