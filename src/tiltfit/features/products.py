"""The two products behind model features: X·W, and Xᵀ·R for a residual R; X is sparse, W and R have a column per label.

Xᵀ·R is taken in one of two ways, column of X by column. Most columns have few non-zeros: they gather the rows of R that
they need, one write per column. A few columns are most of the non-zeros (the word before is a comma): their sums are
one small table that stays in the cache, to which the rows of R are added one after the other.

Where products are needed again and again, as a solver does, attributes that often occur together are summed once
(``bundles``), and rows of about the same number of non-zeros are taken one after the other.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tiltfit import kernels
from tiltfit.arrays import FloatArray, IntArray
from tiltfit.execution.workers import Workers
from tiltfit.features.bundles import Bundles, bundled

_FREQUENT = 64  # non-zeros that make a column frequent
_TABLE = 1 << 17  # numbers in the table of frequent columns, at most: it should fit the second-level cache
_LARGE = 1 << 19  # numbers in R from which on gathering its rows waits for memory
_FEW, _MANY = 1 << 12, 1 << 20  # non-zeros between which it may pay to look for bundles
_BLOCK = 1 << 11  # rows that are sorted at a time
_CHUNKS = 8  # tables that are filled independently, at most


class Compressed(NamedTuple):
    """A matrix in compressed rows. ``data`` None: all entries are 1. ``rows``: which row each of them is."""

    indptr: npt.NDArray[np.integer]
    indices: npt.NDArray[np.integer]
    data: FloatArray | None
    rows: npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Product:
    """``X``: CSR, positions × attributes; ``scale``: a factor of each attribute, F = diag(scale), None: 1. ``reused``:
    it is used again and again, so that it pays to prepare for it (bundles, sorted rows)."""

    X: sparse.csr_array
    n_labels: int
    workers: Workers = field(default_factory=Workers)
    scale: FloatArray | None = None
    reused: bool = False

    def score(self, W: FloatArray, base: FloatArray) -> FloatArray:
        """base + X·F·W. O(non-zeros·labels)."""
        n, d = self._shape
        assert len(W) == d  # rows of W from there on would be taken for bundles
        out = self.workers.buffers.empty(n, self.n_labels)
        self._add(self._rows, W, self._product(self._parts, W, self.scale), base, out, self._inner)
        return out

    def expect(self, R: FloatArray, out: FloatArray) -> None:
        """out ← F·Xᵀ·R. O(non-zeros·labels)."""
        assert len(R) == self._shape[0]
        rows = np.ascontiguousarray(R)
        self._add(self._columns, rows, self._product(self._bundle_columns, rows), self._zero, out, None, self.scale)
        frequent = self._frequent
        if len(frequent):
            out[frequent] = self._scattered(rows) * (1.0 if self.scale is None else self.scale[frequent, None])

    def _product(self, matrix: Compressed, dense: FloatArray, scale: FloatArray | None = None) -> FloatArray:
        """matrix·diag(scale)·dense."""
        n = len(matrix.rows)
        if n == 0:
            return self._no_rows
        out = self.workers.buffers.empty(n, self.n_labels)
        self._add(matrix, dense, self._no_rows, self._zero, out, scale)
        return out

    def _add(
        self,
        matrix: Compressed,
        dense: FloatArray,
        more: FloatArray,
        base: FloatArray,
        out: FloatArray,
        inner: FloatArray | None = None,
        outer: FloatArray | None = None,
    ) -> None:
        """out ← diag(outer)·(base + matrix·diag(inner)·[dense; more])."""

        def run(first: int, last: int) -> None:
            kernels.sparse.add_product(*matrix, dense, more, inner, outer, base, out, first, last)

        self.workers.run(run, matrix.indptr, each=self._each)

    def _scattered(self, rows: FloatArray) -> FloatArray:
        """Xᵀ·R of the frequent columns."""
        columns = self._frequent_columns
        indptr, indices, data = map(np.ascontiguousarray, (columns.indptr, columns.indices, columns.data))
        chunks = int(np.clip(len(indices) // (16 * len(self._frequent)), 1, _CHUNKS))
        inner = np.searchsorted(indptr, np.linspace(0, indptr[-1], chunks + 1)[1:-1])
        cuts = np.concatenate([[0], inner, [len(indptr) - 1]]).astype(np.intp)
        tables = self.workers.buffers.empty(chunks, len(self._frequent), -(-self.n_labels // 4) * 4)

        def run(first: int, last: int) -> None:
            kernels.sparse.scatter_rows(indptr, indices, data, rows, cuts, tables, first, last)

        self.workers.run(run, indptr[cuts], each=self._each)
        return np.asarray(tables.sum(axis=0)[:, : self.n_labels])

    @property
    def _each(self) -> float:
        """Nanoseconds per non-zero."""
        return 0.3 * self.n_labels

    @cached_property
    def _shape(self) -> tuple[int, int]:
        """Positions, attributes."""
        return self.X.shape[0], self.X.shape[1]

    @cached_property
    def _zero(self) -> FloatArray:
        """A row of nothing."""
        return np.zeros(self.n_labels)

    @cached_property
    def _no_rows(self) -> FloatArray:
        return np.empty((0, self.n_labels))

    @cached_property
    def _frequent(self) -> IntArray:
        """The columns that are summed in a table."""
        n, d = self.X.shape
        if n * self.n_labels < _LARGE:
            return np.empty(0, dtype=np.intp)
        counts = np.bincount(self.X.indices, minlength=d)
        found = np.flatnonzero(counts > _FREQUENT)
        room = _TABLE // self.n_labels
        return np.sort(found[np.argsort(-counts[found], kind="stable")[:room]])

    @cached_property
    def _frequent_columns(self) -> sparse.csr_array:
        """The frequent columns of X, positions × frequent columns."""
        number = np.full(self.X.shape[1], -1, dtype=np.int32)
        number[self._frequent] = np.arange(len(self._frequent))
        return restricted(self.X, number, len(self._frequent))

    @cached_property
    def _inner(self) -> FloatArray | None:
        """The factors of attributes and of bundles, which have theirs from their parts."""
        return None if self.scale is None else np.append(self.scale, np.ones(len(self._parts.indptr) - 1))

    @cached_property
    def _is_binary(self) -> bool:
        """True if all entries are 1, so that they need not be read."""
        return bool(np.all(self.X.data == 1.0))

    @cached_property
    def _bundles(self) -> Bundles | None:
        """None where they would not help: work on larger matrices waits for rare columns, which are in no bundle."""
        in_range = _FEW <= self.X.nnz <= _MANY and self.X.shape[0] * self.n_labels < _LARGE
        wanted = self.reused and in_range and self._is_binary and self.X.has_canonical_format
        return bundled(self.X) if wanted else None

    @cached_property
    def _rows(self) -> Compressed:
        """X, or positions × (columns, bundles)."""
        return self._compressed(self.X if self._bundles is None else self._bundles.rows)

    @cached_property
    def _parts(self) -> Compressed:
        """Bundles × columns."""
        parts = sparse.csr_array((0, self.X.shape[1])) if self._bundles is None else self._bundles.parts
        return self._compressed(parts)

    @cached_property
    def _bundle_columns(self) -> Compressed:
        """Bundles × positions."""
        n, d = self.X.shape
        columns = sparse.csr_array((n, 0)) if self._bundles is None else self._bundles.rows[:, d:]
        return self._compressed(sparse.csc_array(columns).T)

    @cached_property
    def _columns(self) -> Compressed:
        """Xᵀ, with nothing in the rows of frequent columns; or columns × (positions, bundles)."""
        columns = self.X
        if len(self._frequent):
            number = np.arange(self.X.shape[1], dtype=np.int32)
            number[self._frequent] = -1
            columns = restricted(self.X, number, len(number))
        elif self._bundles is not None:
            columns = sparse.vstack((self._bundles.rows[:, : self.X.shape[1]], self._bundles.parts))
        return self._compressed(sparse.csc_array(columns).T)

    def _compressed(self, matrix: sparse.csr_array) -> Compressed:
        """As kernels take it. Within blocks, rows are sorted by their number of non-zeros if that pays: the processor
        then foresees where each ends."""
        indptr, indices, data = matrix.indptr, matrix.indices, matrix.data
        rows = np.arange(len(indptr) - 1, dtype=np.int32)
        if self.reused:
            sorted_rows = np.lexsort((np.diff(indptr), rows // _BLOCK))
            rows = sorted_rows.astype(np.int32)
            places, counts = between(indptr, sorted_rows)
            indptr = np.concatenate([[0], np.cumsum(counts)]).astype(indptr.dtype)
            indices, data = indices[places], data if self._is_binary else data[places]
        indptr, indices, data = map(np.ascontiguousarray, (indptr, indices, data))
        return Compressed(indptr, indices, None if self._is_binary else data, rows)


def restricted(X: sparse.csr_array, number: npt.NDArray[np.integer], n_columns: int) -> sparse.csr_array:
    """Column j becomes ``number[j]``; columns of number −1 are dropped."""
    found = number.astype(np.int32, copy=False)[X.indices]
    kept = found >= 0
    ends = np.concatenate([[0], np.cumsum(kept, dtype=X.indptr.dtype)])[X.indptr].astype(X.indptr.dtype)
    return sparse.csr_array((X.data[kept], found[kept], ends), shape=(X.shape[0], n_columns))


def between(indptr: npt.NDArray[Any], rows: IntArray) -> tuple[IntArray, IntArray]:
    """The numbers from ``indptr[r]`` up to ``indptr[r + 1]``, row after row, and how many each row has: where the
    entries of these rows are in the ``data`` and ``indices`` of a matrix."""
    counts = indptr[rows + 1] - indptr[rows]
    ends = np.cumsum(counts)
    where = np.repeat(indptr[rows] - (ends - counts), counts)
    where += np.arange(len(where), dtype=where.dtype)
    return where, counts


def narrowed(X: sparse.csr_array, rows: IntArray) -> tuple[sparse.csr_array, IntArray]:
    """These rows, with the columns alone that have an entry there; and which columns these are."""
    where, counts = between(X.indptr, rows)
    columns, place = np.unique(X.indices[where], return_inverse=True)
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    arrays = (X.data[where], place.astype(np.int32).ravel(), indptr)
    return sparse.csr_array(arrays, shape=(len(rows), len(columns))), columns.astype(np.intp)
