"""Attributes that occur at the same positions: one weight for all of them.

    z = Σ_k w_k        f·w = f·z        min ½α Σ_k w_k² over w of sum z  =  ½(α/m)·z²,  at w_k = z/m

for m attributes that fire together. No data tells them apart, and the ridge shares their sum out evenly: so the minimum
over z, with α/m, is the minimum over w, and the gradient is the same number. Words that occur once come with their own
endings and neighbours, which nothing else has either: a quarter of the weights and more.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Merging:
    """Weights as rows of ``n_labels``: row r belongs to the merged row ``group[r]``; every merged row has a member."""

    group: IntArray
    n_labels: int

    def is_even(self, weights: FloatArray) -> bool:
        """Whether rows that are merged have the same weights: then ``contract`` loses nothing."""
        table = weights.reshape(-1, self.n_labels)
        _, first = np.unique(self.group, return_index=True)
        return bool(np.array_equal(table[first][self.group], table))

    def contract(self, weights: FloatArray) -> FloatArray:
        """z: the sums of the merged rows."""
        table = weights.reshape(-1, self.n_labels)
        out = np.zeros((int(self.group.max()) + 1, self.n_labels))
        np.add.at(out, self.group, table)
        return out.ravel()

    def expand(self, weights: FloatArray) -> FloatArray:
        """w = z/m: every row has an even share of its sum."""
        table = weights.reshape(-1, self.n_labels) / np.bincount(self.group)[:, None]
        return table[self.group].ravel()

    def ridge(self, alpha: FloatArray) -> FloatArray | None:
        """α/m; None where α differs among rows that are merged."""
        counts = np.bincount(self.group)
        if alpha.strides == (0,):
            return np.repeat(alpha[0] / counts, self.n_labels)
        table, merged = alpha.reshape(-1, self.n_labels), np.empty((len(counts), self.n_labels))
        merged[self.group] = table
        return (merged / counts[:, None]).ravel() if np.array_equal(merged[self.group], table) else None


def twins(X: sparse.csr_array) -> IntArray:
    """For every column of X, whose entries are all 1, the number of its set of equal columns, by first appearance.

    Columns are compared by sums of random numbers, one a row, and those that agree once more, entry by entry.
    O(non-zeros).

    >>> twins(sparse.csr_array(np.array([[1.0, 0, 1, 0], [1, 1, 1, 0]]))).tolist()
    [0, 1, 0, 2]
    """
    ones = np.ones(X.nnz, dtype=np.int8)
    columns = sparse.csc_array(sparse.csr_array((ones, X.indices, X.indptr), shape=X.shape))
    mark = np.random.default_rng(0).integers(2**64, size=X.shape[0], dtype=np.uint64)
    ends = np.concatenate([np.zeros(1, np.uint64), np.cumsum(mark[columns.indices])])[columns.indptr]
    _, first, group = np.unique(np.diff(ends), return_index=True, return_inverse=True)
    number = np.empty(len(first), dtype=np.intp)
    number[np.argsort(first)] = np.arange(len(first))
    return number[group] if _agree(columns, first[group]) else np.arange(X.shape[1])


def _agree(columns: sparse.csc_array, other: IntArray) -> bool:
    """Whether every column is the same as column ``other``."""
    starts, lengths = columns.indptr[:-1], np.diff(columns.indptr)
    if not np.array_equal(lengths[other], lengths):
        return False
    moved = np.repeat(starts[other] - starts, lengths) + np.arange(columns.nnz)
    return bool(np.array_equal(columns.indices[moved], columns.indices))
