"""Model features of the pairs of attribute and label that occur in labelled data; all other weights are zero.

    score(weights)[i, y] = Σ_a X[i, a]·W[a, y],     W[attribute_p, label_p] = weights[p]
    expect(node)[p]      = Σ_i X[i, attribute_p]·node[i, label_p]

Most attributes occur with one or two labels, so that there are far fewer weights than attributes × labels. Those that
occur with many are most of the work, though: they have rows of a small dense table (with zeros where there is no pair),
and go through the kernels of ``products``. The others are lists of pairs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tiltfit.arrays import FloatArray, IntArray
from tiltfit.errors import UnsupportedError
from tiltfit.execution.workers import Workers
from tiltfit.features.products import Product, restricted
from tiltfit.features.scaling import units
from tiltfit.inference.potentials import Potentials

_MANY = 8  # a row of the table is worth its zeros if one label in so many is there
_EACH = 2.0  # nanoseconds a pair of a list takes


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

    @property
    def nodes(self) -> ObservedFeatures:
        """The features of positions: all of them."""
        return self

    @property
    def size(self) -> float:
        """Σ |X| over all positions and attributes."""
        return float(np.sum(np.abs(self.X.data)))

    def score(self, weights: FloatArray) -> Potentials:
        """O(non-zeros·labels) at most; attributes with few labels cost their pairs."""
        from tiltfit.kernels.sparse import add_pairs

        flat, lists = np.ascontiguousarray(weights), self._lists
        table = self.workers.buffers.empty(self._product.X.shape[1], self.n_labels)
        table[:] = 0.0
        table.ravel()[self._cell_in_table] = flat[self._in_table]
        node = self._product.score(table, np.zeros(self.n_labels))

        def run(first: int, last: int) -> None:
            add_pairs(lists.indptr, lists.indices, lists.data, self.label, flat, node, first, last)

        self.workers.run(run, lists.indptr, each=_EACH)
        return Potentials(node)

    def expect(self, node: FloatArray, edge: FloatArray | None = None, out: FloatArray | None = None) -> FloatArray:
        """The adjoint, at the same cost."""
        from tiltfit.kernels.sparse import sum_pairs

        flat = self.workers.buffers.empty(self.n_weights) if out is None else out
        values, (indptr, cells, data) = np.ascontiguousarray(node), self._cells
        numbers = values.reshape(-1)
        self.workers.run(lambda a, b: sum_pairs(indptr, cells, data, numbers, flat, a, b), indptr, each=_EACH)
        table = self.workers.buffers.empty(self._product.X.shape[1], self.n_labels)
        self._product.expect(values, table)
        flat[self._in_table] = table.ravel()[self._cell_in_table]
        return flat

    def merged(self) -> None:
        """Nothing: few weights are left."""

    def units(self) -> FloatArray | None:
        """The unit of every weight (``scaling``); None if no attribute has large values."""
        found = units(self.X)
        return None if found is None else found[self._attribute]

    def narrow(self, rows: npt.NDArray[Any], kinds: IntArray | None = None) -> NoReturn:
        """Refused: which pairs occur must be known before the first step."""
        raise UnsupportedError("weights='observed' must know all labels beforehand: use weights='all' online.")

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
    def _row(self) -> npt.NDArray[np.int32]:
        """The row of every attribute in the dense table; −1: it is a list of pairs."""
        many = _MANY * np.diff(self.first) > self.n_labels
        return np.where(many, np.cumsum(many) - 1, -1).astype(np.int32)

    @cached_property
    def _product(self) -> Product:
        """The attributes in the table."""
        return Product(restricted(self.X, self._row, int(self._row.max(initial=-1)) + 1), self.n_labels, self.workers)

    @cached_property
    def _in_table(self) -> IntArray:
        """The pairs in the table."""
        return np.flatnonzero(self._row[self._attribute] >= 0)

    @cached_property
    def _cell_in_table(self) -> IntArray:
        """The place of each of them there."""
        pairs = self._in_table
        return self._row[self._attribute[pairs]].astype(np.intp) * self.n_labels + self.label[pairs]

    @cached_property
    def _lists(self) -> sparse.csr_array:
        """Positions × pairs, of the attributes that are lists of pairs."""
        listed = restricted(self.X, np.where(self._row < 0, np.arange(self.n_attributes), -1), self.n_attributes)
        start, count = self.first[listed.indices], np.diff(self.first)[listed.indices]
        ends = np.concatenate([[0], np.cumsum(count)])
        pairs = np.repeat(start - ends[:-1], count) + np.arange(ends[-1])
        kind = np.int32 if max(ends[-1], self.n_weights) < 2**31 else np.int64
        parts = (np.repeat(listed.data, count), pairs.astype(kind), ends[listed.indptr].astype(kind))
        return sparse.csr_array(parts, shape=(self.X.shape[0], self.n_weights))

    @cached_property
    def _cells(self) -> tuple[npt.NDArray[Any], npt.NDArray[Any], FloatArray]:
        """For each of these pairs its cells, positions × labels, by number: CSR with one column a cell."""
        by_pair = sparse.csr_array(sparse.csc_array(self._lists).T)
        label = np.repeat(self.label, np.diff(by_pair.indptr))
        cells = by_pair.indices.astype(np.int64) * self.n_labels + label
        kind = np.int32 if self.X.shape[0] * self.n_labels < 2**31 else np.int64
        return by_pair.indptr, cells.astype(kind), by_pair.data
