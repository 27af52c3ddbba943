"""Rows of a table of weights that are touched now and then: the ridge they missed, and steps of their own length.

Row r was settled at ``settled[r]`` of a clock that has run on to ``clock``: what is between is the ridge it missed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tiltfit.inference.kernels.compile import kernel

FloatArray = npt.NDArray[np.float64]
IndexArray = npt.NDArray[Any]


@kernel
def settle_adaptive(
    value: FloatArray, square: FloatArray, settled: FloatArray, rows: IndexArray, clock: float, rate: float, free: int
) -> FloatArray:
    """λ ← λ / (1 + rate·missed/√S) of these rows, in place; returns them. Row ``free`` has no ridge. O(rows·labels)."""
    out = np.empty((len(rows), value.shape[1]))
    for k in range(len(rows)):
        r = rows[k]
        missed = 0.0 if r == free else rate * (clock - settled[r])
        settled[r] = clock
        for y in range(value.shape[1]):
            if missed > 0.0 and square[r, y] > 0.0:
                value[r, y] /= 1.0 + missed / np.sqrt(square[r, y])
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
    steps = np.zeros(gradient.shape)
    for k in range(len(rows)):
        r = rows[k]
        for y in range(value.shape[1]):
            g = gradient[k, y]
            if g != 0.0:
                if square[r, y] == 0.0 and value[r, y] != 0.0:
                    square[r, y] = 1e4 * g * g
                square[r, y] += g * g
                steps[k, y] = rate * g / np.sqrt(square[r, y])
    return steps


@kernel
def settle_plain(value: FloatArray, settled: FloatArray, rows: IndexArray, clock: float, free: int) -> FloatArray:
    """λ ← λ·e^(−missed) of these rows, in place; returns them. Row ``free`` has no ridge. O(rows·labels)."""
    out = np.empty((len(rows), value.shape[1]))
    for k in range(len(rows)):
        r = rows[k]
        factor = 1.0 if r == free else np.exp(settled[r] - clock)
        settled[r] = clock
        for y in range(value.shape[1]):
            value[r, y] *= factor
            out[k, y] = value[r, y]
    return out
