"""Rows that are about one sequence each: their prices are found sequence by sequence.

    min_q  Σ_s w_s D(q_s ‖ p_s) + Σ_r U_r(m_r(q)),      m_r = scale_r·E_q[f_r] + offset_r

falls apart into one small problem a sequence (``kernels.sequence_rows``), all solved in one parallel pass.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from tiltfit.arrays import FloatArray, IntArray
from tiltfit.execution.workers import Workers
from tiltfit.inference.chain import Chains
from tiltfit.inference.potentials import Marginals, Potentials

if TYPE_CHECKING:
    from tiltfit.kernels.sequence_rows import Edges, Firings


@dataclass(frozen=True, eq=False)
class Features:
    """f_r(x, y) = Σ_i value[i]·tables[table[i]] over the entries i with row[i] = r, at place[i].

    Places are positions, tables [V, L] over labels; or edges, named by the position they lead to, tables [M, L, L] over
    pairs of labels.
    """

    place: IntArray
    row: IntArray
    table: IntArray
    value: FloatArray
    tables: FloatArray

    def take(self, place: IntArray, row: IntArray) -> Features:
        """Places and rows get the numbers ``place`` and ``row``; what has none (−1) is left out."""
        kept = np.flatnonzero((place[self.place] >= 0) & (row[self.row] >= 0))
        return Features(
            place[self.place[kept]], row[self.row[kept]], self.table[kept], self.value[kept], self.tables
        )  # fmt: skip


class Solution(NamedTuple):
    """q of every sequence, the prices that give it, m of every row, and which sequences converged."""

    marginals: Marginals
    prices: FloatArray
    means: FloatArray
    solved: npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class SequenceRows:
    """Row r is about ``sequence[r]``; ``kind`` and ``parameters`` are its penalty as ``Penalty.instance_form`` has
    it, ``scale`` (> 0) and ``offset`` make its mean of E[f_r]. A sequence may have any number of rows.
    """

    chains: Chains
    sequence: IntArray
    node: Features
    edge: Features
    kind: IntArray
    parameters: FloatArray
    scale: FloatArray
    offset: FloatArray

    def __len__(self) -> int:
        return len(self.sequence)

    def solve(
        self,
        potentials: Potentials,
        start: FloatArray,
        cap: float,
        workers: Workers | None = None,
        *,
        weight: FloatArray | None = None,
        tol: float = 1e-11,
        overwrite: bool = False,
    ) -> Solution:
        """q ∝ exp(potentials + Σ_r prices_r·f_r) at the optimum; log Z and edges as in ``Chains.infer``.

        ``start``: prices to start from, ``tol``: approximately how far they may be off. Prices of hard rows stay within
        ±cap, where those that cannot hold end.
        """
        from tiltfit.kernels.chain import aligned, edge_tables
        from tiltfit.kernels.sequence_rows import solve_sequences

        node, edge = self.chains.checked(potentials, overwrite=overwrite)
        base, n_labels = edge_tables(edge), node.shape[1]
        log_z, solved = np.empty(len(self.chains)), np.ones(len(self.chains), dtype=np.bool_)
        weights = np.ones(len(self.chains)) if weight is None else np.ascontiguousarray(weight, dtype=np.float64)
        cuts = self.chains.cuts(n_labels)
        sums = aligned((len(cuts) - 1, *base.factor.shape))
        order, indptr, edges, fires = self._layout
        rows = self._records(order)
        rows["theta"] = start[order]

        def run(a: int, b: int) -> None:
            solve_sequences(
                node, base, log_z, rows, indptr, solved, weights, self.chains.offsets, edges, fires, cap, tol, cuts,
                sums, a, b,
            )  # fmt: skip

        (workers or Workers()).run(run, self._work[cuts])
        pairs = np.ascontiguousarray(sums.sum(axis=0)[:, :n_labels, :n_labels])
        prices, means = np.empty(len(self)), np.empty(len(self))
        prices[order], means[order] = rows["theta"], rows["scale"] * rows["new_expectation"] + rows["offset"]
        return Solution(Marginals(log_z, node, pairs), prices, means, solved)

    def take(self, sequences: IntArray, chains: Chains) -> tuple[SequenceRows, IntArray]:
        """The rows of these sequences, which ``chains`` holds in this order; and which rows these are."""
        positions = self.chains.positions(sequences)
        number, place = np.full(len(self.chains), -1, dtype=np.intp), np.full(len(self.chains.kind), -1, dtype=np.intp)
        number[sequences], place[positions] = np.arange(len(sequences)), np.arange(len(positions))
        kept = np.flatnonzero(number[self.sequence] >= 0)
        row = np.full(len(self), -1, dtype=np.intp)
        row[kept] = np.arange(len(kept))
        few = SequenceRows(
            chains=chains,
            sequence=number[self.sequence[kept]],
            node=self.node.take(place, row),
            edge=self.edge.take(place, row),
            kind=self.kind[kept],
            parameters=self.parameters[kept],
            scale=self.scale[kept],
            offset=self.offset[kept],
        )
        return few, kept

    def _records(self, order: IntArray) -> npt.NDArray[np.void]:
        """The rows as the kernel takes them."""
        from tiltfit.kernels.proximal import ROW

        rows = np.zeros(len(self), dtype=ROW)
        rows["kind"], rows["scale"], rows["offset"] = self.kind[order], self.scale[order], self.offset[order]
        for k, name in enumerate(("first", "second", "third", "fourth")):
            rows[name] = self.parameters[order, k]
        return rows

    @cached_property
    def _work(self) -> IntArray:
        """Cumulative work by sequence: approximately positions times rows."""
        n_rows = np.bincount(self.sequence, minlength=len(self.chains))
        return np.concatenate([[0], np.cumsum(self.chains.lengths * (1 + 8 * n_rows))]).astype(np.intp)

    @cached_property
    def _layout(self) -> tuple[IntArray, IntArray, Edges, Firings]:
        """As the kernel takes it: rows by sequence (``order``, ``indptr``), what fires on edges and on nodes."""
        from tiltfit.kernels.chain import padded
        from tiltfit.kernels.sequence_rows import Edges

        order = np.argsort(self.sequence, kind="stable").astype(np.intp)
        counts = np.bincount(self.sequence, minlength=len(self.chains))
        indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.intp)
        slot = np.empty(len(self), dtype=np.intp)
        slot[order] = np.arange(len(self)) - np.repeat(indptr[:-1], counts)
        n, (n_tables, n_labels) = int(self.chains.offsets[-1]), self.edge.tables.shape[:2]
        tables = np.zeros((n_tables, padded(n_labels), padded(n_labels)))
        tables[:, :n_labels, :n_labels] = self.edge.tables
        on_edges = _firings(self.edge, slot, n, tables)
        pattern, example = self._patterns(on_edges)
        edges = Edges(
            pattern,
            Chains(self.chains.offsets, pattern, len(example)).by_kind,
            self._kinds[example],
            _at(on_edges, example),
        )
        return order, indptr, edges, _firings(self.node, slot, n, np.ascontiguousarray(self.node.tables, dtype=float))

    @cached_property
    def _kinds(self) -> IntArray:
        """The kind of every edge; 0 at the first positions of sequences, which no edge leads to."""
        kinds = self.chains.kind.astype(np.intp)
        kinds[self.chains.first] = 0
        return kinds

    def _patterns(self, fires: Firings) -> tuple[npt.NDArray[np.int32], IntArray]:
        """Edges on which the same fires get one number: the number of every edge, and an example of each.

        Told apart by one entry after the other, for all edges at once.
        """
        pattern = self._kinds.copy()
        counts = np.diff(fires.indptr)
        slot, table = fires.entries["slot"], fires.entries["table"]
        value = np.unique(fires.entries["value"], return_inverse=True)[1].ravel()
        for k in range(int(counts.max(initial=0))):
            has = np.flatnonzero(counts > k)
            entry = fires.indptr[has] + k
            number = pattern[has]
            for part in (slot[entry], table[entry], value[entry]):
                number = np.unique(number * (part.max() + 1) + part, return_inverse=True)[1].ravel()
            pattern[has] = pattern.max() + 1 + number
        example, number = np.unique(pattern, return_index=True, return_inverse=True)[1:]
        return number.ravel().astype(np.int32), example.astype(np.intp)


def _firings(features: Features, slot: IntArray, n_places: int, tables: FloatArray) -> Firings:
    """Entries by place, and within a place by row."""
    from tiltfit.kernels.sequence_rows import ENTRY, Firings

    order = np.lexsort((features.table, features.row, features.place))
    entries = np.empty(len(order), dtype=ENTRY)
    entries["slot"], entries["table"] = slot[features.row[order]], features.table[order]
    entries["value"] = features.value[order]
    counts = np.bincount(features.place, minlength=n_places)
    return Firings(np.concatenate([[0], np.cumsum(counts)]).astype(np.intp), entries, tables)


def _at(fires: Firings, places: IntArray) -> Firings:
    """The entries of some places alone."""
    counts = np.diff(fires.indptr)[places]
    ends = np.cumsum(counts)
    entry = np.repeat(fires.indptr[places] - (ends - counts), counts) + np.arange(int(counts.sum()))
    return fires._replace(indptr=np.concatenate([[0], ends]).astype(np.intp), entries=fires.entries[entry])
