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

from tiltfit.execution.room import Room
from tiltfit.inference.chain import Chains
from tiltfit.inference.independent import Independent
from tiltfit.inference.potentials import Marginals, Potentials

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Parts:
    """``fires``: CSR, places × parts; ``table``: parts × labels (or pairs of them); ``row``: the row of each part."""

    fires: sparse.csr_array
    table: FloatArray
    row: IntArray

    def score(self, prices: FloatArray) -> FloatArray:
        """O(firings·labels), and a zero elsewhere."""
        scores = np.zeros((self.fires.shape[0], self.table.shape[1]))
        scores[self._places] = self._scores(prices)
        return scores

    def add_scores(self, prices: FloatArray, out: FloatArray) -> None:
        """``out`` += score(prices). O(firings·labels)."""
        out[self._places] += self._scores(prices)

    def expect(self, values: FloatArray, n_rows: int, weight: FloatArray | None = None) -> FloatArray:
        """``weight``: of places; 1 if absent. O(firings·labels)."""
        seen = values[self._places]
        if weight is not None:
            seen = seen * weight[self._places, None]
        sums = np.einsum("py,py->p", self._transposed @ seen, self.table)
        return np.asarray(np.bincount(self.row, weights=sums, minlength=n_rows), dtype=np.float64)

    def _scores(self, prices: FloatArray) -> FloatArray:
        """The scores of the places where something fires."""
        return np.asarray(self._firing @ (prices[self.row][:, None] * self.table))

    @cached_property
    def _places(self) -> IntArray | slice:
        """Where something fires; everywhere else scores are zero and nothing is looked at."""
        found = np.flatnonzero(np.diff(self.fires.indptr))
        return slice(None) if len(found) == self.fires.shape[0] else found

    @cached_property
    def _firing(self) -> sparse.csr_array:
        """The rows of ``fires`` that are not empty."""
        return sparse.csr_array(self.fires[self._places])

    @cached_property
    def _transposed(self) -> sparse.csr_array:
        return sparse.csr_array(self._firing.T.tocsr())


@dataclass(frozen=True, eq=False)
class ConstraintFeatures:
    """``n_rows`` rows with parts on positions and, for chains, on kinds of edges and on whole sequences."""

    n_rows: int
    node: Parts
    edge: Parts | None = None
    whole: Parts | None = None

    def score(self, prices: FloatArray) -> Potentials:
        """What the prices add to the potentials."""
        node, whole = self.node.score(prices), None if self.whole is None else self.whole.score(prices)
        if self.edge is None:
            return Potentials(node, whole=whole)
        n_labels = node.shape[1]
        return Potentials(node, self.edge.score(prices).reshape(-1, n_labels, n_labels), whole)

    def tilted(self, base: Potentials, prices: FloatArray, room: Room | None = None) -> Potentials:
        """``base`` + score(prices), in arrays of its own. Beside a copy of ``base``, O(firings·labels)."""
        node = (room or Room()).copy(base.node)
        self.node.add_scores(prices, node)
        edge, whole = base.edge, base.whole
        if self.edge is not None and edge is not None:
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

    def weighted(self, marginals: Marginals, structure: Independent | Chains, weight: FloatArray) -> FloatArray:
        """``expect`` of marginals whose edges are weighted already; ``weight``: one an instance."""
        whole = None if marginals.whole is None else marginals.whole * weight[:, None]
        return self.expect(marginals.node, marginals.edge, structure.spread(weight), whole)
