"""Numbers that stand side by side in many rows, counted and replaced by one (``features.bundles``).

    n(a, b) = how often b follows a        x a b z → x c z  where  n(a, b) ≥ least, n(a, b) > n(x, a), n(a, b) ≥ n(b, z)

Rows are lists of numbers: row i is ``values[starts[i]:ends[i]]``. Pairs are counted in a table of slots, a power of two
of them and at least twice as many as there are pairs, searched from where a pair's hash says.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tiltfit.arrays import IndexArray
from tiltfit.kernels.compile import kernel

_FREE = -1
_SPREAD = np.uint64(0x9E3779B97F4A7C15)  # 2⁶⁴ by the golden ratio: neighbouring keys land far apart


@kernel
def _slot(keys: IndexArray, a: int, b: int) -> Any:
    """The slot of the pair, or the free one for it."""
    key = np.int64(a) << 32 | np.int64(b)
    mixed = np.uint64(key) * _SPREAD
    at = np.int64(mixed >> np.uint64(32)) & (len(keys) - 1)
    while keys[at] != _FREE and keys[at] != key:
        at = (at + 1) & (len(keys) - 1)
    if keys[at] == _FREE:
        keys[at] = key
    return at


@kernel
def count_pairs(starts: IndexArray, ends: IndexArray, values: IndexArray, keys: IndexArray, counts: IndexArray) -> None:
    """counts[slot] ← how often each pair of neighbours occurs. ``keys`` are −1 and ``counts`` 0 before. O(values)."""
    for i in range(len(starts)):
        for j in range(starts[i], ends[i] - 1):
            counts[_slot(keys, values[j], values[j + 1])] += 1


@kernel
def join_pairs(
    starts: IndexArray,
    ends: IndexArray,
    values: IndexArray,
    keys: IndexArray,
    counts: IndexArray,
    least: int,
    numbers: IndexArray,
    next_number: int,
    pairs: IndexArray,
) -> int:
    """Replace pairs that occur ``least`` times, and oftener than the pairs that they overlap with and that are still
    there; rows become shorter.

    A pair gets the next number when it is first replaced: ``pairs[k]`` is the k-th new one. ``numbers``: −1 before, one
    a slot. Returns how many there are. O(values).
    """
    found = 0
    for i in range(len(starts)):
        at, j, end, before = starts[i], starts[i], ends[i], 0
        slot = _slot(keys, values[j], values[j + 1]) if j + 1 < end else 0
        while j < end:
            if j + 1 == end:
                values[at] = values[j]
                at, j = at + 1, j + 1
                continue
            after = _slot(keys, values[j + 1], values[j + 2]) if j + 2 < end else -1
            here = counts[slot]
            if here >= least and here > before and (after < 0 or here >= counts[after]):
                if numbers[slot] < 0:
                    numbers[slot] = next_number + found
                    pairs[found, 0], pairs[found, 1] = values[j], values[j + 1]
                    found += 1
                values[at] = numbers[slot]
                at, j, before = at + 1, j + 2, 0
                slot = _slot(keys, values[j], values[j + 1]) if j + 1 < end else 0
            else:
                values[at] = values[j]
                at, j, before, slot = at + 1, j + 1, here, after
        ends[i] = at
    return found
