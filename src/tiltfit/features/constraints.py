"""Constraint features f′(x, y): something fires at a place *and* the label there is one of an event's.

    score(prices)[i, y]  = Σ_p fires[i, p]·prices[row_p]·table[p, y]
    expect(values)[r]    = Σ_{p of row r} Σ_i fires[i, p]·Σ_y table[p, y]·values[i, y]

the same pair of adjoint operators as the model's features. Places are positions; for what happens between two
positions, kinds of edges, whose "labels" are pairs of labels; and for what only a whole sequence has, sequences, whose
"labels" are the statistics. A row may have parts of several sorts: a segment of a field begins on an edge or at the
start of a sequence.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tiltfit.arrays import FloatArray, IntArray
from tiltfit.execution.buffers import Buffers
from tiltfit.features.products import narrowed
from tiltfit.inference.potentials import Marginals, Potentials
from tiltfit.inference.structure import Structure
from tiltfit.inference.tangent import Direction


@dataclass(frozen=True, eq=False)
class Parts:
    """``fires``: CSR, places × parts; ``table``: parts × labels (or pairs of them); ``row``: the row of each part."""

    fires: sparse.csr_array
    table: FloatArray
    row: IntArray

    def score(self, prices: FloatArray) -> FloatArray:
        """O(places·labels)."""
        scores = np.zeros((self.fires.shape[0], self.table.shape[1]))
        self.add_scores(prices, scores)
        return scores

    def add_scores(self, prices: FloatArray, out: FloatArray) -> None:
        """``out`` += score(prices), C-contiguous. O(places + firings·labels)."""
        self._add(self._arrays[0], prices, out)

    def scores_where_firing(self, prices: FloatArray) -> tuple[npt.NDArray[np.int32], FloatArray]:
        """The scores of the places where something fires, and the number of each place among them (−1: it is none).
        O(firings·labels)."""
        indptr = self._arrays[0]
        indptr = np.append(indptr[:-1][self.places], indptr[-1])  # places where nothing fires have no entries
        scores = np.zeros((len(indptr) - 1, self.table.shape[1]))
        self._add(indptr, prices, scores)
        return self._number, scores

    def expect(self, values: FloatArray, n_rows: int, weight: FloatArray | None = None) -> FloatArray:
        """``weight``: of places; 1 if absent. O(firings·labels)."""
        from tiltfit.kernels.sparse import add_expectations

        sums = np.zeros(n_rows)
        assert len(values) == self.fires.shape[0]
        assert self._last_row < n_rows
        if self.fires.nnz:
            seen = np.ascontiguousarray(values, dtype=np.float64)
            add_expectations(*self._arrays, weight, self._table, self.row, seen, sums)
        return sums

    def take(self, places: IntArray) -> Parts:
        """These places with the parts that fire there."""
        fires, firing = narrowed(self.fires, places)
        return Parts(fires, self.table[firing], self.row[firing])

    def numbered(self, number: IntArray) -> Parts:
        """Row r is called ``number[r]``."""
        return Parts(self.fires, self.table, number[self.row])

    def _add(self, indptr: npt.NDArray[np.int32], prices: FloatArray, out: FloatArray) -> None:
        from tiltfit.kernels.sparse import add_scores

        if self.fires.nnz:
            add_scores(indptr, *self._arrays[1:], prices[self.row], self._table, out)

    @cached_property
    def places(self) -> IntArray | slice:
        """The places where something fires; everywhere else scores are zero and nothing is looked at."""
        found = np.flatnonzero(np.diff(self.fires.indptr))
        return slice(None) if len(found) == self.fires.shape[0] else found

    @cached_property
    def _number(self) -> npt.NDArray[np.int32]:
        """The number of every place among those where something fires."""
        number = np.full(self.fires.shape[0], -1, dtype=np.int32)
        at = np.arange(self.fires.shape[0])[self.places]
        number[at] = np.arange(len(at), dtype=np.int32)
        return number

    @cached_property
    def _arrays(self) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], FloatArray]:
        """``fires`` as kernels take it."""
        fires = self.fires
        indptr, indices = (np.ascontiguousarray(a, dtype=np.int32) for a in (fires.indptr, fires.indices))
        return indptr, indices, np.ascontiguousarray(fires.data, dtype=np.float64)

    @cached_property
    def _last_row(self) -> int:
        assert np.all(self.row >= 0)
        return int(np.max(self.row, initial=-1))

    @cached_property
    def _table(self) -> FloatArray:
        return np.ascontiguousarray(self.table, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class ConstraintFeatures:
    """``n_rows`` rows with parts on positions and, for chains, on kinds of edges and on whole sequences."""

    n_rows: int
    node: Parts
    edge: Parts | None = None
    whole: Parts | None = None

    def score(self, prices: FloatArray) -> Potentials:
        """The potentials that the prices add."""
        node, whole = self.node.score(prices), None if self.whole is None else self.whole.score(prices)
        if self.edge is None:
            return Potentials(node, whole=whole)
        n_labels = node.shape[1]
        return Potentials(node, self.edge.score(prices).reshape(-1, n_labels, n_labels), whole)

    def direction(self, prices: FloatArray) -> Direction:
        """``score(prices)``, without the positions at which nothing fires."""
        assert self.whole is None  # statistics of whole sequences have no tangents
        place, node = self.node.scores_where_firing(prices)
        n_labels = node.shape[1]
        edge = None
        if self.edge is not None and self.edge.fires.nnz:
            edge = self.edge.score(prices).reshape(-1, n_labels, n_labels)
        return Direction(place, node, edge)

    def tilted(self, base: Potentials, prices: FloatArray, buffers: Buffers | None = None) -> Potentials:
        """``base`` + score(prices), in new arrays. Beside a copy of ``base``, O(firings·labels)."""
        node = (buffers or Buffers()).copy(base.node)
        self.node.add_scores(prices, node)
        edge, whole = base.edge, base.whole
        if self.edge is not None and self.edge.fires.nnz and edge is not None:
            edge = edge + self.edge.score(prices).reshape(edge.shape)
        if self.whole is not None:
            added = self.whole.score(prices)
            whole = added if whole is None else whole + added
        return Potentials(node, edge, whole)

    def expect(
        self,
        node: FloatArray,
        edge: FloatArray | None = None,
        weight: FloatArray | None = None,
        whole: FloatArray | None = None,
    ) -> FloatArray:
        """Σ E[f′] of every row; ``weight``: of positions, if ``node`` is not weighted already. ``edge`` and ``whole``
        always are."""
        sums = self.node.expect(node, self.n_rows, weight)
        if self.edge is not None:
            assert edge is not None
            sums += self.edge.expect(edge.reshape(len(edge), -1), self.n_rows)
        if self.whole is not None:
            assert whole is not None
            sums += self.whole.expect(whole, self.n_rows)
        return sums

    def part(self, positions: IntArray, instances: IntArray) -> ConstraintFeatures:
        """At these positions and instances, with all rows and all kinds of edges."""
        node, whole = self.node, self.whole
        return ConstraintFeatures(
            self.n_rows,
            Parts(sparse.csr_array(node.fires[positions]), node.table, node.row),
            self.edge,
            None if whole is None else Parts(sparse.csr_array(whole.fires[instances]), whole.table, whole.row),
        )

    def take(
        self, positions: IntArray, kinds: IntArray | None, instances: IntArray
    ) -> tuple[ConstraintFeatures, IntArray]:
        """At these places alone, with the rows that fire there; and which rows these are."""
        node = self.node.take(positions)
        edge = None if self.edge is None or kinds is None else self.edge.take(kinds)
        whole = None if self.whole is None else self.whole.take(instances)
        listed = [parts for parts in (node, edge, whole) if parts is not None]
        rows = np.unique(np.concatenate([parts.row for parts in listed])).astype(np.intp)
        number = np.full(self.n_rows, -1, dtype=np.intp)
        number[rows] = np.arange(len(rows))
        few = (None if parts is None else parts.numbered(number) for parts in (edge, whole))
        return ConstraintFeatures(len(rows), node.numbered(number), *few), rows

    def split(self, first: IntArray) -> tuple[ConstraintFeatures, ConstraintFeatures]:
        """The rows ``first``, and all the others, each in their order."""
        inside = np.zeros(self.n_rows, dtype=np.bool_)
        inside[first] = True
        return self._only(inside), self._only(~inside)

    def _only(self, wanted: npt.NDArray[np.bool_]) -> ConstraintFeatures:
        number = np.cumsum(wanted) - 1

        def kept(parts: Parts | None) -> Parts | None:
            if parts is None:
                return None
            keep = np.flatnonzero(wanted[parts.row])
            return Parts(sparse.csr_array(parts.fires[:, keep]), parts.table[keep], number[parts.row[keep]])

        node = kept(self.node)
        assert node is not None
        return ConstraintFeatures(int(wanted.sum()), node, kept(self.edge), kept(self.whole))

    def weighted(self, marginals: Marginals, structure: Structure, weight: FloatArray) -> FloatArray:
        """``expect`` of marginals whose edges are weighted already; ``weight``: one per instance."""
        whole = None if marginals.whole is None else marginals.whole * weight[:, None]
        spread = None if np.all(weight == 1.0) else structure.spread(weight)
        return self.expect(marginals.node, marginals.edge, spread, whole)
