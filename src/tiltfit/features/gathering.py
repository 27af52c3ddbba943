"""Rows of attributes for many positions from the rows of a few types.

Positions share their attributes with every other position of the same type (token, class, bucket), so a matrix of
positions × attributes is gathered from a small one of types × attributes: O(non-zeros), without a Python object for any
position.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from scipy import sparse

from tiltfit.arrays import IntArray

_CHUNK = 1 << 16  # positions gathered at a time: keeps the index arithmetic small beside the result


@dataclass(frozen=True, eq=False)
class Incidence:
    """The values of each type: those of type t are ``indices[indptr[t]:indptr[t + 1]]``, numbers in ``values``."""

    indptr: IntArray
    indices: IntArray
    values: list[str]

    @staticmethod
    def of(rows: Iterable[Sequence[str]]) -> Incidence:
        """Number the values in order of appearance."""
        numbers: dict[str, int] = {}
        indices: list[int] = []
        ends = [0]
        for row in rows:
            indices += [numbers.setdefault(value, len(numbers)) for value in row]
            ends.append(len(indices))
        return Incidence(np.array(ends, dtype=np.intp), np.array(indices, dtype=np.intp), list(numbers))

    @property
    def lengths(self) -> IntArray:
        return np.diff(self.indptr)


@dataclass(frozen=True, eq=False)
class Block:
    """Attributes of positions: position i has those of the type ``codes[i]``."""

    codes: IntArray
    types: Incidence

    def counts(self) -> IntArray:
        """At how many positions each value occurs."""
        frequency = np.bincount(self.codes, minlength=len(self.types.lengths))
        weights = np.repeat(frequency, self.types.lengths)
        # Sums of whole numbers below 2⁵³: exact in floating point.
        return np.bincount(self.types.indices, weights, minlength=len(self.types.values)).astype(np.intp)

    def restrict(self, columns: IntArray) -> Block:
        """Value v becomes ``columns[v]``; values of column −1 are dropped."""
        found = columns[self.types.indices] if len(columns) else self.types.indices
        known = found >= 0
        before = np.concatenate([[0], np.cumsum(known)])
        return Block(self.codes, Incidence(before[self.types.indptr], found[known], self.types.values))


def distinct(items: Sequence[str]) -> tuple[list[str], IntArray]:
    """The distinct items in order of appearance, and the number of each item's.

    >>> types, codes = distinct(["b", "a", "b"])
    >>> types, codes.tolist()
    (['b', 'a'], [0, 1, 0])
    """
    numbers: dict[str, int] = {}
    codes = np.fromiter((numbers.setdefault(t, len(numbers)) for t in items), dtype=np.intp, count=len(items))
    return list(numbers), codes


def shifted(codes: IntArray, offsets: IntArray, distance: int, outside: int) -> IntArray:
    """The code of the neighbour at ``distance``; ``outside`` before a sequence, ``outside + 1`` after it."""
    if distance == 0:
        return codes
    lengths = np.diff(offsets)
    neighbour = np.arange(len(codes)) + distance
    if distance < 0:
        missing = neighbour < np.repeat(offsets[:-1], lengths)
    else:
        missing = neighbour >= np.repeat(offsets[1:], lengths)
    found = codes[np.where(missing, 0, neighbour)]
    found[missing] = outside if distance < 0 else outside + 1
    return found


def within(block: Block, offsets: IntArray, distance: int) -> Block:
    """Each position has, once, the values of all positions of its sequence that are at most ``distance`` away.

    Time and memory grow with positions × distance × values of a position.
    """
    n = len(block.codes)
    near = neighbours(np.repeat(np.arange(len(offsets) - 1), np.diff(offsets)), distance)
    own = gather([block], n, len(block.types.values)).astype(np.int32)
    found = sparse.csr_array(near @ own)
    return Block(
        np.arange(n), Incidence(found.indptr.astype(np.intp), found.indices.astype(np.intp), block.types.values)
    )


def neighbours(sequence: IntArray, distance: int) -> sparse.csr_array:
    """Positions × positions, 1 for two of the same sequence that are at most ``distance`` apart, or the same.
    ``sequence``: the number of each position's."""
    n, rows, columns = len(sequence), [], []
    for d in range(-distance, distance + 1):
        inside = np.arange(max(0, -d), max(0, n - max(0, d)))
        inside = inside[sequence[inside] == sequence[inside + d]]
        rows.append(inside)
        columns.append(inside + d)
    pairs = np.concatenate(rows), np.concatenate(columns)
    return sparse.csr_array((np.ones(len(pairs[0]), dtype=np.int32), pairs), shape=(n, n))


def gather(blocks: Sequence[Block], n: int, n_columns: int) -> sparse.csr_array:
    """Positions × columns, 1 where a block says so. Blocks must not share columns."""
    groups = _merge(blocks, n_columns)
    indptr = np.zeros(n + 1, dtype=np.int64)
    for codes, types in groups:
        indptr[1:] += types.lengths[codes]
    np.cumsum(indptr, out=indptr)
    kind = np.int32 if max(indptr[-1], n_columns) < 2**31 else np.int64
    indices = np.empty(indptr[-1], dtype=kind)
    filled = indptr[:-1].copy()
    for codes, types in groups:
        for start in range(0, n, _CHUNK):
            part = slice(start, start + _CHUNK)
            count = types.lengths[codes[part]]
            inner = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
            source = np.repeat(types.indptr[codes[part]], count) + inner
            indices[np.repeat(filled[part], count) + inner] = types.indices[source]
            filled[part] += count
    return sparse.csr_array((np.ones(len(indices)), indices, indptr.astype(kind)), shape=(n, n_columns))


def _merge(blocks: Sequence[Block], n_columns: int) -> list[tuple[IntArray, Incidence]]:
    """Blocks on the same codes become one, so that their rows are gathered once."""
    groups: dict[int, list[Block]] = {}
    for block in blocks:
        groups.setdefault(id(block.codes), []).append(block)
    merged = []
    for members in groups.values():
        total = reduce(operator.add, (_table(block.types, n_columns) for block in members))
        total.sort_indices()
        types = Incidence(total.indptr.astype(np.intp), total.indices.astype(np.intp), [])
        merged.append((members[0].codes, types))
    return merged


def _table(types: Incidence, n_columns: int) -> sparse.csr_array:
    ones = np.ones(len(types.indices), dtype=np.int8)
    return sparse.csr_array((ones, types.indices, types.indptr), shape=(len(types.lengths), n_columns))
