"""Model features of the pairs of attribute and label that occur in labelled data; all other weights are zero.

    score(weights)[i, y] = Σ_a X[i, a]·W[a, y],     W[attribute_p, label_p] = weights[p]
    expect(node)[p]      = Σ_i X[i, attribute_p]·node[i, label_p]

Most attributes occur with one or two labels, so that there are far fewer weights than attributes × labels.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tiltfit.execution.workers import Workers
from tiltfit.inference.potentials import Potentials

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class ObservedFeatures:
    """``X``: CSR, positions × attributes. Attribute a has the labels ``label[first[a]:first[a + 1]]``."""

    X: sparse.csr_array
    n_labels: int
    first: npt.NDArray[np.int32]
    label: npt.NDArray[np.int32]
    workers: Workers = field(default_factory=Workers)

    @staticmethod
    def of(X: sparse.csr_array, labels: IntArray, n_labels: int, workers: Workers) -> ObservedFeatures:
        """The pairs that positions with a known label (not −1) show."""
        known = np.flatnonzero(labels >= 0)
        rows = sparse.csr_array(X[known])
        of_entry = np.repeat(labels[known], np.diff(rows.indptr))
        pairs = np.unique(rows.indices.astype(np.int64) * n_labels + of_entry)
        first = np.searchsorted(pairs, n_labels * np.arange(X.shape[1] + 1, dtype=np.int64))
        return ObservedFeatures(X, n_labels, first.astype(np.int32), (pairs % n_labels).astype(np.int32), workers)

    @property
    def n_attributes(self) -> int:
        return int(self.X.shape[1])

    @property
    def n_weights(self) -> int:
        return len(self.label)

    def score(self, weights: FloatArray) -> Potentials:
        """O(Σ over non-zeros of the labels of their attribute)."""
        from tiltfit.inference.kernels.observed import add_scores

        node = np.zeros((self.X.shape[0], self.n_labels))
        X, flat = self.X, np.ascontiguousarray(weights)
        self.workers.run(
            lambda a, b: add_scores(X.indptr, X.indices, X.data, self.first, self.label, flat, node, a, b), X.indptr
        )
        return Potentials(node)

    def expect(self, node: FloatArray, edge: FloatArray | None = None, out: FloatArray | None = None) -> FloatArray:
        """O(Σ over non-zeros of the labels of their attribute)."""
        from tiltfit.inference.kernels.observed import sum_pairs

        flat = np.empty(self.n_weights) if out is None else out
        T, values = self._transposed, np.ascontiguousarray(node)
        self.workers.run(
            lambda a, b: sum_pairs(T.indptr, T.indices, T.data, self.first, self.label, values, flat, a, b), T.indptr
        )
        return flat

    def take(self, rows: npt.NDArray[Any]) -> ObservedFeatures:
        """The same features at these positions only."""
        return ObservedFeatures(sparse.csr_array(self.X[rows]), self.n_labels, self.first, self.label, self.workers)

    def table(self, weights: FloatArray) -> FloatArray:
        """Weights as a table, attributes × labels."""
        table = np.zeros((self.n_attributes, self.n_labels))
        table[self._attribute, self.label] = weights
        return table

    def flat(self, table: FloatArray) -> FloatArray:
        """The observed entries of a table."""
        return np.asarray(table[self._attribute, self.label], dtype=np.float64)

    @cached_property
    def _attribute(self) -> IntArray:
        return np.repeat(np.arange(self.n_attributes), np.diff(self.first))

    @cached_property
    def _transposed(self) -> sparse.csr_array:
        return sparse.csr_array(sparse.csc_array(self.X).T)
