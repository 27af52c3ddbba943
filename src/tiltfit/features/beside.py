"""Dense vectors of positions beside sparse attributes: the sum of two operators.

    score([U; W]) = V·U + X·W           expect(node) = [Vᵀ·node; Xᵀ·node]
    V = G·T,        V·U = G·(T·U),      Vᵀ·node = Tᵀ·(Gᵀ·node)

T (types × dimensions) holds every vector once, G (positions × types) says which one a position has. A word has the same
vector wherever it stands, so the dense products are of the vocabulary, not of the text. Vectors that differ from
position to position have T = V.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tiltfit.arrays import FloatArray, IntArray
from tiltfit.execution.workers import Workers
from tiltfit.features.attributes import AttributeFeatures
from tiltfit.features.observed import ObservedFeatures
from tiltfit.features.scaling import units
from tiltfit.inference.potentials import Potentials

_ROWS = (
    1 << 11
)  # of a dense product taken at a time: where they are cut depends on nothing else, so neither do the bits


@dataclass(frozen=True, eq=False)
class Vectors:
    """V: position i has the vector ``table[codes[i]]``; without ``codes``, ``table[i]``."""

    table: FloatArray
    codes: IntArray | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Positions, dimensions."""
        return len(self.table) if self.codes is None else len(self.codes), self.table.shape[1]

    def take(self, positions: npt.NDArray[Any]) -> Vectors:
        """Those of these positions, without types that none of them has."""
        if self.codes is None:
            return Vectors(self.table[positions])
        types, codes = np.unique(self.codes[positions], return_inverse=True)
        return Vectors(self.table[types], codes.ravel())

    def toarray(self) -> FloatArray:
        """V itself."""
        return self.table if self.codes is None else self.table[self.codes]


@dataclass(frozen=True, eq=False)
class Beside:
    """[V, X]: vectors and attributes of the same positions."""

    vectors: Vectors
    attributes: sparse.csr_array

    @property
    def shape(self) -> tuple[int, int]:
        """Positions, dimensions and attributes."""
        n, dimensions = self.vectors.shape
        return n, dimensions + self.attributes.shape[1]


@dataclass(frozen=True, eq=False)
class VectorFeatures:
    """Dimensions of vectors × labels; weights are one flat vector, a row per dimension."""

    vectors: Vectors
    n_labels: int
    workers: Workers = field(default_factory=Workers)

    @property
    def n_attributes(self) -> int:
        return self.vectors.shape[1]

    @property
    def n_weights(self) -> int:
        return self.n_attributes * self.n_labels

    @property
    def size(self) -> float:
        """Σ |V| over all positions and dimensions."""
        lengths = np.abs(self.vectors.table).sum(axis=1)
        return float(np.sum(lengths if self.vectors.codes is None else lengths[self.vectors.codes]))

    def score(self, weights: FloatArray) -> Potentials:
        """V·U. O(types·dimensions·labels + positions·labels)."""
        T, U = self.vectors.table, weights.reshape(-1, self.n_labels)
        found = self.workers.buffers.empty(len(T), self.n_labels)

        def run(first: int, last: int) -> None:
            for rows in _slices(first, last):
                np.matmul(T[rows], U, out=found[rows])

        self.workers.run(run, self._ends, each=self._each)
        return Potentials(found) if self._types is None else self._types.score(found.ravel())

    def expect(self, node: FloatArray, edge: FloatArray | None = None, out: FloatArray | None = None) -> FloatArray:
        """Vᵀ·node, at the same cost. ``out``: where to write."""
        T, L = self.vectors.table, self.n_labels
        sums = node if self._types is None else self._types.expect(node).reshape(-1, L)
        parts = self.workers.buffers.empty(max(1, len(self._ends) - 1), self.n_attributes, L)
        parts[0] = 0.0  # there may be no rows at all

        def run(first: int, last: int) -> None:
            for part, rows in zip(parts[first:last], _slices(first, last), strict=True):
                np.matmul(T[rows].T, sums[rows], out=part)

        self.workers.run(run, self._ends, each=self._each)
        flat = self.workers.buffers.empty(self.n_weights) if out is None else out
        np.sum(parts, axis=0, out=flat.reshape(-1, L))
        return flat

    def units(self) -> FloatArray | None:
        """The unit of every weight (``scaling``); None if no dimension has large values."""
        found = units(self.vectors.table)
        return None if found is None else np.repeat(found, self.n_labels)

    def take(self, positions: npt.NDArray[Any]) -> VectorFeatures:
        """The same features at these positions only."""
        return VectorFeatures(self.vectors.take(positions), self.n_labels, self.workers)

    @cached_property
    def _types(self) -> AttributeFeatures | None:
        """G; None if it is the identity."""
        codes = self.vectors.codes
        if codes is None:
            return None
        n = len(codes)
        one = sparse.csr_array(
            (np.ones(n), codes.astype(np.int32), np.arange(n + 1, dtype=np.int32)), shape=(n, len(self.vectors.table))
        )
        return AttributeFeatures(one, self.n_labels, self.workers, intercept=False)

    @cached_property
    def _ends(self) -> IntArray:
        """The rows of T before every slice, and all of them."""
        n = len(self.vectors.table)
        return np.append(np.arange(0, n, _ROWS), n).astype(np.intp)

    @property
    def _each(self) -> float:
        """Nanoseconds per row of T."""
        return 0.1 * self.n_weights


def _slices(first: int, last: int) -> list[slice]:
    return [slice(k * _ROWS, (k + 1) * _ROWS) for k in range(first, last)]


@dataclass(frozen=True, eq=False)
class BesideFeatures:
    """Features of vectors and of attributes, both without intercepts; weights are those of ``dense``, then those of
    ``others``."""

    dense: VectorFeatures
    others: AttributeFeatures | ObservedFeatures

    @property
    def workers(self) -> Workers:
        return self.others.workers

    @property
    def n_labels(self) -> int:
        return self.others.n_labels

    @cached_property
    def n_weights(self) -> int:
        return self.dense.n_weights + self.others.n_weights

    @property
    def nodes(self) -> BesideFeatures:
        """The features of positions: all of them."""
        return self

    @cached_property
    def X(self) -> sparse.csr_array:
        """[V, X] as one matrix, for what does not look at all of it, or does not mind that it is large."""
        return sparse.csr_array(
            sparse.hstack([sparse.csr_array(m) for m in (self.dense.vectors.toarray(), self.others.X)], format="csr")
        )

    @property
    def size(self) -> float:
        """Σ |V| + Σ |X| over all positions."""
        return self.dense.size + self.others.size

    def score(self, weights: FloatArray) -> Potentials:
        """V·U + X·W."""
        of_vectors, of_attributes = self._split(weights)
        node = self.others.score(of_attributes).node
        node += self.dense.score(of_vectors).node
        return Potentials(node)

    def expect(self, node: FloatArray, edge: FloatArray | None = None, out: FloatArray | None = None) -> FloatArray:
        """Vᵀ·node, then Xᵀ·node. ``out``: where to write."""
        flat = self.workers.buffers.empty(self.n_weights) if out is None else out
        of_vectors, of_attributes = self._split(flat)
        self.dense.expect(node, out=of_vectors)
        self.others.expect(node, out=of_attributes)
        return flat

    def table(self, weights: FloatArray) -> FloatArray:
        """Weights as a table, (dimensions, then attributes) × labels."""
        of_vectors, of_attributes = self._split(weights)
        return np.concatenate([of_vectors.reshape(-1, self.n_labels), self.others.table(of_attributes)])

    def flat(self, table: FloatArray) -> FloatArray:
        """The inverse of ``table``."""
        d = self.dense.n_attributes
        return np.concatenate([np.ravel(table[:d]), self.others.flat(table[d:])])

    def merged(self) -> tuple[BesideFeatures, IntArray] | None:
        """One weight for attributes that occur at the same positions; see ``AttributeFeatures.merged``."""
        found = self.others.merged()
        if found is None:
            return None
        others, group = found
        d = self.dense.n_attributes
        return BesideFeatures(self.dense, others), np.concatenate([np.arange(d), d + group])

    def units(self) -> FloatArray | None:
        """The unit of every weight (``scaling``); None if nothing has large values."""
        both = self.dense.units(), self.others.units()
        if both[0] is None and both[1] is None:
            return None
        sizes = self.dense.n_weights, self.others.n_weights
        return np.concatenate([np.ones(n) if u is None else u for u, n in zip(both, sizes, strict=True)])

    def take(self, positions: npt.NDArray[Any]) -> BesideFeatures:
        """The same features at these positions only."""
        return BesideFeatures(self.dense.take(positions), self.others.take(positions))

    def narrow(self, positions: IntArray, kinds: IntArray | None = None) -> tuple[BesideFeatures, IntArray]:
        """The features at these positions with all dimensions and the attributes that occur there alone, and which rows
        of the table of weights these are."""
        others, rows = self.others.narrow(positions, kinds)
        d = self.dense.n_attributes
        return BesideFeatures(self.dense.take(positions), others), np.concatenate([np.arange(d), d + rows])

    def _split(self, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        return weights[: self.dense.n_weights], weights[self.dense.n_weights :]
