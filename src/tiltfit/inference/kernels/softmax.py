"""Softmax over the rows of a matrix.

Rows are taken a block at a time, so that one long loop computes the exponentials of all of them: it vectorises whatever
the number of labels. That loop has its own exponential, since the C library's takes one number at a time.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic

from tiltfit.inference.kernels.compile import kernel

FloatArray = npt.NDArray[np.float64]

_BLOCK = 1024  # numbers in a block: they stay in the first-level cache
LEAST = -708.0  # e^−708 ≈ 3·10⁻³⁰⁸ is close to the least number that has all its digits
ROUND = 1.5 * 2.0**52  # added to a number, it leaves the nearest integer in the lowest bits
LOG2_E = 1 / math.log(2)
LN2_HIGH = 6.93147180369123816490e-01  # its last bits are zero, so n·LN2_HIGH is exact
LN2_LOW = 1.90821492927058770002e-10
BIAS = 1023  # of the exponent of a double
TAYLOR = tuple(1 / math.factorial(k) for k in range(14))


def _reinterpret(source: Any, target: Any, target_bits: Any) -> Callable[[Any], Any]:
    """A function that reads the bits of one type as another."""

    @intrinsic
    def same_bits(_: Any, value: Any) -> Any:
        return target(source), lambda _c, builder, _s, arguments: builder.bitcast(arguments[0], target_bits)

    return cast(Callable[[Any], Any], same_bits)


bits = _reinterpret(types.float64, types.int64, ir.IntType(64))
from_bits = _reinterpret(types.int64, types.float64, ir.DoubleType())


@kernel
def exp_of_negative(x: float) -> float:
    """eˣ for x ≤ 0 to one unit in the last place; 0 below −708, NaN for NaN. No branches, so loops of it vectorise.

    x = n·ln 2 + r with |r| ≤ ½ ln 2;  eˣ = 2ⁿ·eʳ, and eʳ by fourteen terms of its series.
    """
    inside = LEAST if x < LEAST else x
    shifted = inside * LOG2_E + ROUND
    n = shifted - ROUND
    r = (inside - n * LN2_HIGH) - n * LN2_LOW
    series = TAYLOR[13]
    series = series * r + TAYLOR[12]
    series = series * r + TAYLOR[11]
    series = series * r + TAYLOR[10]
    series = series * r + TAYLOR[9]
    series = series * r + TAYLOR[8]
    series = series * r + TAYLOR[7]
    series = series * r + TAYLOR[6]
    series = series * r + TAYLOR[5]
    series = series * r + TAYLOR[4]
    series = series * r + TAYLOR[3]
    series = series * r + TAYLOR[2]
    power = from_bits((bits(shifted) + BIAS) << 52)
    value = power * (series * r * r + r + 1.0)
    return 0.0 if x < LEAST else value


@kernel
def softmax_rows(node: FloatArray, log_z: FloatArray, start: int, stop: int) -> None:
    """node[i] ← exp(node[i] − log_z[i]),  log_z[i] ← log Σ exp node[i],  for start ≤ i < stop. O(rows·L).

    A row whose labels are all forbidden (−inf) gets log Z = −inf and p = 0.
    """
    n_labels = node.shape[1]
    step = max(1, _BLOCK // max(1, n_labels))
    for first in range(start, stop, step):
        block = node[first : min(first + step, stop)]
        log_sum = log_z[first : first + len(block)]
        for i in range(len(block)):
            top = -np.inf
            for y in range(n_labels):
                top = max(top, block[i, y])
            log_sum[i] = top
            if top != -np.inf:
                for y in range(n_labels):
                    block[i, y] -= top
        flat = block.reshape(block.size)
        for k in range(len(flat)):
            flat[k] = exp_of_negative(flat[k])
        for i in range(len(block)):
            total = 0.0
            for y in range(n_labels):
                total += block[i, y]
            if total != 0.0:
                log_sum[i] += np.log(total)
                for y in range(n_labels):
                    block[i, y] /= total
