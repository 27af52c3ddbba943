"""Constraint features f′(x, y): something fires at a place *and* the label there is one of an event's.

    score(prices)[i, y]  = Σ_p fires[i, p]·prices[row_p]·table[p, y]
    expect(values)[r]    = Σ_{p of row r} Σ_i fires[i, p]·Σ_y table[p, y]·values[i, y]

the same pair of adjoint operators as the model's features. Places are positions and, for what happens between two
positions, kinds of edges, whose "labels" are pairs of labels. A row may have parts of both sorts: a segment of a field
begins on an edge or at the start of a sequence.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy import sparse

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
        """O(firings·labels)."""
        return np.asarray(self.fires @ (prices[self.row][:, None] * self.table))

    def expect(self, values: FloatArray, n_rows: int) -> FloatArray:
        """O(firings·labels)."""
        sums = np.einsum("py,py->p", self._transposed @ values, self.table)
        return np.asarray(np.bincount(self.row, weights=sums, minlength=n_rows), dtype=np.float64)

    @cached_property
    def _transposed(self) -> sparse.csr_array:
        return sparse.csr_array(self.fires.T.tocsr())


@dataclass(frozen=True, eq=False)
class ConstraintFeatures:
    """``n_rows`` rows with parts on positions and, for chains, on kinds of edges."""

    n_rows: int
    node: Parts
    edge: Parts | None = None

    def score(self, prices: FloatArray) -> Potentials:
        """What the prices add to the potentials."""
        node = self.node.score(prices)
        if self.edge is None:
            return Potentials(node)
        n_labels = node.shape[1]
        return Potentials(node, self.edge.score(prices).reshape(-1, n_labels, n_labels))

    def expect(self, node: FloatArray, edge: FloatArray | None = None) -> FloatArray:
        """Σ E[f′] of every row; ``node`` and ``edge`` are weighted sums already."""
        sums = self.node.expect(node, self.n_rows)
        if self.edge is not None:
            assert edge is not None
            sums += self.edge.expect(edge.reshape(len(edge), -1), self.n_rows)
        return sums

    def weighted(self, marginals: Marginals, weight: FloatArray) -> FloatArray:
        """``expect`` of marginals whose edges are weighted already; ``weight``: one a position."""
        return self.expect(marginals.node * weight[:, None], marginals.edge)
