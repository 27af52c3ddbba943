"""Attributes that often occur together are summed once.

    X = Y·[I; C]        X·W = Y₁·W + Y₂·(C·W)        Xᵀ·R = Y₁ᵀ·R + Cᵀ·(Y₂ᵀ·R),        Y = [Y₁ Y₂]

A *bundle* is a set of attributes, a row of C; a position has bundles (Y₂) and attributes in none of them (Y₁). A token
that is a full stop is punctuation, and its shape and its ending say so again: on citations two thirds of the non-zeros
go. Bundles are found by joining the pair of neighbours in the rows of X that occurs more often than those it overlaps
with, everywhere at once, and then joining pairs of what has been joined.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

_OFTEN = 8  # occurrences that make a pair worth a sum of its own
_ROUNDS = 4
_GAIN = 0.1  # a round that saves less than this share of the non-zeros is the last


@dataclass(frozen=True, eq=False)
class Bundles:
    """``rows``: Y, positions × (attributes, then bundles); ``parts``: C, bundles × attributes. All entries are 1."""

    rows: sparse.csr_array
    parts: sparse.csr_array


def bundled(X: sparse.csr_array) -> Bundles | None:
    """Bundles of the columns of X, whose entries are all 1; None where they would save little. O(non-zeros).

    >>> X = sparse.csr_array(np.repeat([[1.0, 1, 0], [1, 1, 1]], 9, axis=0))
    >>> found = bundled(X)
    >>> found.parts.toarray().tolist(), found.rows.nnz, X.nnz
    ([[1.0, 1.0, 0.0], [1.0, 1.0, 1.0]], 18, 45)
    """
    starts, ends = X.indptr[:-1].copy(), X.indptr[1:].copy()
    values = X.indices.astype(np.int32)
    n_attributes, total = X.shape[1], X.nnz
    parts = sparse.csr_array((0, n_attributes))
    for _ in range(_ROUNDS):
        pairs = _join(starts, ends, values, n_attributes + parts.shape[0])
        left = int(np.sum(ends - starts))
        if not len(pairs):
            break
        parts = _extended(parts, pairs)
        if left > (1 - _GAIN) * total:
            break
        total = left
    if left >= (1 - _GAIN) * X.nnz:
        return None
    lengths = ends - starts
    kept = np.repeat(starts - (np.cumsum(lengths) - lengths), lengths) + np.arange(left)
    return _ordered(values[kept], np.concatenate([[0], np.cumsum(lengths)]), parts)


def _ordered(values: npt.NDArray[np.int32], indptr: npt.NDArray[np.integer], parts: sparse.csr_array) -> Bundles:
    """The most frequent bundle first, so that sums that are often needed stand together; without those that have all
    become parts of larger ones."""
    n_bundles, n_attributes = parts.shape
    counts = np.bincount(values, minlength=n_attributes + n_bundles)[n_attributes:]
    order = np.argsort(-counts, kind="stable")[: np.count_nonzero(counts)]
    number = np.arange(n_attributes + n_bundles, dtype=np.int32)
    number[n_attributes + order] = n_attributes + np.arange(len(order))
    return Bundles(_ones(number[values], indptr, n_attributes + len(order)), sparse.csr_array(parts[order]))


def _join(
    starts: npt.NDArray[np.integer], ends: npt.NDArray[np.integer], values: npt.NDArray[np.int32], next_number: int
) -> npt.NDArray[np.int32]:
    """One round, in place; the pairs that are joined from now on, two numbers each."""
    from tiltfit.kernels.pairs import count_pairs, join_pairs

    size = 1 << int(2 * max(1, np.sum(ends - starts))).bit_length()
    keys, counts, numbers = np.full(size, -1, np.int64), np.zeros(size, np.int32), np.full(size, -1, np.int32)
    count_pairs(starts, ends, values, keys, counts)
    pairs = np.empty((int(np.count_nonzero(counts >= _OFTEN)), 2), np.int32)
    found = join_pairs(starts, ends, values, keys, counts, _OFTEN, numbers, next_number, pairs)
    return pairs[:found]


def _extended(parts: sparse.csr_array, pairs: npt.NDArray[np.int32]) -> sparse.csr_array:
    """C with a row for each pair of attributes or of earlier rows."""
    n_attributes = parts.shape[1]
    joined = _ones(pairs.ravel(), 2 * np.arange(len(pairs) + 1), n_attributes + parts.shape[0])
    new = joined[:, :n_attributes] + joined[:, n_attributes:] @ parts
    return sparse.csr_array(sparse.vstack((parts, new)))


def _ones(indices: npt.NDArray[np.integer], indptr: npt.NDArray[np.integer], n_columns: int) -> sparse.csr_array:
    return sparse.csr_array((np.ones(len(indices)), indices, indptr), shape=(len(indptr) - 1, n_columns))
