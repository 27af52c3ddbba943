"""Rows of a table of weights that are touched now and then: the ridge they missed, and steps of their own length.

Row r was settled at ``settled[r]`` of a clock that has run on to ``clock``: what is between is the ridge it missed.
"""

from __future__ import annotations

import numpy as np

from tiltfit.arrays import FloatArray, IndexArray
from tiltfit.kernels.compile import kernel


@kernel
def settle_adaptive(
    value: FloatArray,
    square: FloatArray,
    settled: FloatArray,
    rows: IndexArray,
    clock: float,
    rate: float,
    first: int,
    last: int,
) -> FloatArray:
    """λ ← λ / (1 + rate·missed/√S) of these rows, in place; returns them. Rows from ``first`` to before ``last`` have
    no ridge. O(rows·labels)."""
    out = np.empty((len(rows), value.shape[1]))
    for k in range(len(rows)):
        r = rows[k]
        missed = 0.0 if first <= r < last else rate * (clock - settled[r])
        settled[r] = clock
        if missed > 0.0:
            for y in range(value.shape[1]):
                root = np.sqrt(square[r, y])
                # A choice and no branch, so that several labels are taken at once.
                value[r, y] *= root / (root + missed) if root > 0.0 else 1.0
        for y in range(value.shape[1]):
            out[k, y] = value[r, y]
    return out


@kernel
def adaptive_steps(
    value: FloatArray, square: FloatArray, rows: IndexArray, gradient: FloatArray, rate: float
) -> FloatArray:
    """S ← S + g² of these rows, in place, and rate·g/√S. O(rows·labels).

    A weight that was given to start from (S = 0, λ ≠ 0) has S = 10⁴·g² before its first step, which is so a hundredth
    of what it would be for one that knows nothing.
    """
    steps = np.empty(gradient.shape)
    for k in range(len(rows)):
        r = rows[k]
        for y in range(value.shape[1]):
            g, s = gradient[k, y], square[r, y]
            given = (s == 0.0) & (value[r, y] != 0.0)
            s += g * g * (10001.0 if given else 1.0)
            square[r, y] = s
            steps[k, y] = rate * g / np.sqrt(s) if s > 0.0 else 0.0
    return steps


@kernel
def take_steps(value: FloatArray, rows: IndexArray, steps: FloatArray, share: float) -> None:
    """λ ← λ + share·step of these rows, in place. O(rows·labels)."""
    for k in range(len(rows)):
        r = rows[k]
        for y in range(value.shape[1]):
            value[r, y] += share * steps[k, y]


@kernel
def settle_plain(
    value: FloatArray, settled: FloatArray, rows: IndexArray, clock: float, first: int, last: int
) -> FloatArray:
    """λ ← λ·e^(−missed) of these rows, in place; returns them. Rows from ``first`` to before ``last`` have no ridge.
    O(rows·labels)."""
    out = np.empty((len(rows), value.shape[1]))
    for k in range(len(rows)):
        r = rows[k]
        factor = 1.0 if first <= r < last else np.exp(settled[r] - clock)
        settled[r] = clock
        for y in range(value.shape[1]):
            value[r, y] *= factor
            out[k, y] = value[r, y]
    return out
