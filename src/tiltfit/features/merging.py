"""Attributes that occur at the same positions: one weight for all of them.

    v = Σ_k w_k / √m        f·w = √m·f·v        Σ_k w_k² = v²,  if all w_k are the same

for m attributes that fire together. No data tells them apart, and the ridge shares their sum out evenly: weights that
start the same stay the same. As v is as long as w, L-BFGS sees the same inner products in fewer numbers; only the
length of its first step is not quite that of w. Words that occur once come with their own endings and neighbours, which
nothing else has either: a quarter of the weights and more.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from tiltfit.arrays import FloatArray, IntArray
from tiltfit.optimize.lbfgs import Measure


@dataclass(frozen=True, eq=False)
class Merging:
    """Weights as rows of ``n_labels``: row r belongs to the merged row ``group[r]``; every merged row has a member."""

    group: IntArray
    n_labels: int

    def is_even(self, weights: FloatArray) -> bool:
        """True if rows that are merged have the same weights: then ``contract`` loses nothing."""
        table = weights.reshape(-1, self.n_labels)
        return bool(np.array_equal(table[self._first][self.group], table))

    def contract(self, weights: FloatArray) -> FloatArray:
        """v, of even weights."""
        return (weights.reshape(-1, self.n_labels)[self._first] * self.root[:, None]).ravel()

    def expand(self, merged: FloatArray) -> FloatArray:
        """w = v/√m."""
        return (merged.reshape(-1, self.n_labels) / self.root[:, None])[self.group].ravel()

    @cached_property
    def _first(self) -> IntArray:
        """A member of every merged row."""
        return np.unique(self.group, return_index=True)[1]

    @cached_property
    def root(self) -> FloatArray:
        """√m of every merged row."""
        return np.sqrt(np.bincount(self.group))

    @cached_property
    def measure(self) -> Measure:
        """max|∇| in the weights before merging, of a merged gradient: each of m has ∂v/√m. Rows with the same √m that
        follow one another are measured together."""
        first = np.flatnonzero(np.diff(self.root, prepend=0.0))
        return Measure(np.append(first, len(self.root)) * self.n_labels, self.root[first])

    def ridge(self, alpha: FloatArray) -> FloatArray | None:
        """α of every merged weight; None where it differs among weights that are merged."""
        if alpha.strides == (0,):
            return np.broadcast_to(alpha[0], len(self.root) * self.n_labels)
        table, merged = alpha.reshape(-1, self.n_labels), np.empty((len(self.root), self.n_labels))
        merged[self.group] = table
        return merged.ravel() if np.array_equal(merged[self.group], table) else None


def twins(X: sparse.csr_array) -> IntArray:
    """For every column of X, whose entries are all 1, the number of its set of equal columns, by first appearance.

    Columns are compared by sums of random numbers, one per row, and those that agree once more, entry by entry.
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
    """True if every column is the same as column ``other``."""
    starts, lengths = columns.indptr[:-1], np.diff(columns.indptr)
    if not np.array_equal(lengths[other], lengths):
        return False
    moved = np.repeat(starts[other] - starts, lengths) + np.arange(columns.nnz)
    return bool(np.array_equal(columns.indices[moved], columns.indices))
