"""Model features f(x, y): every attribute of a position, once per label, plus an intercept.

A feature set is a linear operator with its adjoint:

    score(weights)[i, y]  = Σ_a X[i, a]·W[a, y] + b[y]
    expect(node)[a, y]    = Σ_i X[i, a]·node[i, y],     expect(node)[b, y] = Σ_i node[i, y]

so that ⟨score(w), node⟩ = ⟨w, expect(node)⟩ for every w and node (tested).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tiltfit.arrays import FloatArray, IntArray
from tiltfit.execution.workers import Workers
from tiltfit.features.merging import twins
from tiltfit.features.products import Product, narrowed, restricted
from tiltfit.features.scaling import units
from tiltfit.inference.potentials import Potentials

_WORTH = 0.95  # with more of the weights left than this, merging them does not pay
_BLOCK = 512  # merged attributes that are sorted by how many they stand for: few runs, and neighbours stay near


@dataclass(frozen=True, eq=False)
class AttributeFeatures:
    """Attributes × labels. ``X``: CSR array or dense array, positions × attributes.

    Weights are one flat vector: ``W`` (attributes × labels, a row an attribute), then the intercepts if there are any.
    ``scale``: a factor of each attribute, beside a sparse X (see ``merging``).
    """

    X: sparse.csr_array | FloatArray
    n_labels: int
    workers: Workers = field(default_factory=Workers)
    intercept: bool = True
    scale: FloatArray | None = None

    @cached_property
    def n_attributes(self) -> int:
        return int(self.X.shape[1])

    @cached_property
    def n_weights(self) -> int:
        return (self.n_attributes + self.intercept) * self.n_labels

    @property
    def nodes(self) -> Self:
        """The features of positions: all of them."""
        return self

    @property
    def size(self) -> float:
        """Σ |X| over all positions and attributes."""
        return float(np.sum(np.abs(self.X.data if sparse.issparse(self.X) else self.X)))

    def unpack(self, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Views ``W[attributes, labels]`` and ``b[labels]`` (without intercepts zeros, not to be written to)."""
        table = weights.reshape(-1, self.n_labels)
        return (table[:-1], table[-1]) if self.intercept else (table, self._no_intercept)

    def score(self, weights: FloatArray) -> Potentials:
        """X·W + b. O(non-zeros·labels)."""
        W, b = self.unpack(weights)
        return Potentials(np.asarray(self.X @ W + b) if self._product is None else self._product.score(W, b))

    def expect(self, node: FloatArray, edge: FloatArray | None = None, out: FloatArray | None = None) -> FloatArray:
        """Xᵀ·node, then the column sums of node: a flat vector like the weights. O(non-zeros·labels).

        There are no features of edges here, so ``edge`` adds nothing. ``out``: where to write.
        """
        flat = self.workers.buffers.empty(self.n_weights) if out is None else out
        table, d = flat.reshape(-1, self.n_labels), self.n_attributes
        if self._product is None:
            table[:d] = self.X.T @ node
        else:
            self._product.expect(node, table[:d])
        if self.intercept:
            table[d] = node.sum(axis=0)
        return flat

    def table(self, weights: FloatArray) -> FloatArray:
        """Weights as a table, attributes × labels."""
        return self.unpack(weights)[0]

    def flat(self, table: FloatArray) -> FloatArray:
        """The inverse of ``table``, for features without intercepts."""
        return np.ascontiguousarray(table).ravel()

    def whole(self, weights: FloatArray) -> FloatArray:
        """Weights with those of columns that have none here (``OccupiedFeatures``) as zeros."""
        return weights

    def own(self, whole: FloatArray) -> FloatArray:
        """The inverse of ``whole``."""
        return whole

    def take(self, rows: npt.NDArray[Any]) -> Self:
        """The same features at these positions only."""
        return replace(self, X=self.X[rows])

    def narrow(self, rows: npt.NDArray[Any], kinds: IntArray | None = None) -> tuple[AttributeFeatures, IntArray]:
        """The features at these positions with the attributes that occur there alone, and which rows of the table of
        weights (attributes, then the intercepts) these are."""
        if sparse.issparse(self.X):
            here, occurring = narrowed(self.X, rows)
        else:
            here, occurring = self.X[rows], np.arange(self.n_attributes)
        table_rows = np.append(occurring, self.n_attributes) if self.intercept else occurring
        scale = None if self.scale is None else self.scale[occurring]
        return AttributeFeatures(here, self.n_labels, self.workers, self.intercept, scale), table_rows

    def merged(self) -> tuple[AttributeFeatures, IntArray] | None:
        """The same features with one weight for attributes that occur at the same positions, and the number of the new
        attribute of each row of weights (``merging``); None if hardly any do."""
        if not sparse.issparse(self.X) or not np.all(self.X.data == 1.0) or self.scale is not None:
            return None
        X = sparse.csr_array(self.X)
        group = twins(X)
        sizes = np.bincount(group)
        n_groups = len(sizes)
        if n_groups > _WORTH * self.n_attributes:
            return None
        group = np.argsort(np.lexsort((sizes, np.arange(n_groups) // _BLOCK)))[group]
        number = np.full(self.n_attributes, -1)
        number[np.unique(group, return_index=True)[1]] = np.arange(n_groups)
        X, scale = restricted(X, number, n_groups), np.sqrt(np.bincount(group))
        X.sort_indices()
        merged = AttributeFeatures(X, self.n_labels, self.workers, self.intercept, scale)
        return merged, np.append(group, n_groups) if self.intercept else group

    def units(self) -> FloatArray | None:
        """The unit of every weight (``scaling``); None if no attribute has large values."""
        found = units(self.X)
        if found is None:
            return None
        return np.repeat(np.append(found, 1.0) if self.intercept else found, self.n_labels)

    @cached_property
    def _no_intercept(self) -> FloatArray:
        return np.zeros(self.n_labels)

    @cached_property
    def _product(self) -> Product | None:
        """None where X is dense."""
        if not sparse.issparse(self.X):
            return None
        # Merged features are those of a solver, which needs them in every iteration.
        reused = self.scale is not None
        return Product(sparse.csr_array(self.X), self.n_labels, self.workers, self.scale, reused)


@dataclass(frozen=True, eq=False, kw_only=True)
class OccupiedFeatures(AttributeFeatures):
    """The same where most columns are empty, as those of hashed names are: only the others have weights in the flat
    vector. A ridge takes those of empty columns to 0 anyway.

    ``X`` has the columns ``columns`` of ``n_columns``; tables have all of them.
    """

    columns: npt.NDArray[np.intp]
    n_columns: int

    @staticmethod
    def of(
        X: sparse.csr_array | FloatArray, n_labels: int, workers: Workers, intercept: bool = True
    ) -> OccupiedFeatures:
        """``X`` with all columns, many of them empty."""
        X = sparse.csr_array(X)
        filled = np.bincount(X.indices, minlength=X.shape[1]) > 0
        columns = np.flatnonzero(filled)
        number = np.where(filled, np.cumsum(filled) - 1, -1)
        narrow = restricted(X, number, len(columns))
        return OccupiedFeatures(narrow, n_labels, workers, intercept, columns=columns, n_columns=X.shape[1])

    def whole(self, weights: FloatArray) -> FloatArray:
        table = np.zeros((self.n_columns + self.intercept, self.n_labels))
        table[self._rows] = weights.reshape(-1, self.n_labels)
        return table.ravel()

    def own(self, whole: FloatArray) -> FloatArray:
        return np.asarray(whole.reshape(-1, self.n_labels)[self._rows]).ravel()

    def table(self, weights: FloatArray) -> FloatArray:
        return self.whole(weights).reshape(-1, self.n_labels)[: self.n_columns]

    def flat(self, table: FloatArray) -> FloatArray:
        return self.own(super().flat(table))

    @property
    def _rows(self) -> npt.NDArray[np.intp]:
        """Rows of the whole table that have weights."""
        return np.append(self.columns, self.n_columns) if self.intercept else self.columns
