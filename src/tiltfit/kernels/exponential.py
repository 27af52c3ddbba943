"""The exponential of numbers ≤ 0, and the softmax.

    x = n·ln 2 + r,  |r| ≤ ½ ln 2        eˣ = 2ⁿ·eʳ        eʳ = 1 + r + r²·(½ + Σ_{1 ≤ k ≤ 10} c_k·rᵏ)

The c_k make eʳ exact at the zeros of the Chebyshev polynomial of degree ten: between them it is off by 10⁻¹⁸ at most,
for which Taylor's series needs a term more. 1 + r is left to the end, so that the errors of all else are small beside
it. The C library's exponential takes one number at a time; loops of this one vectorise.
"""

from __future__ import annotations

import numpy as np

from tiltfit.arrays import FloatArray
from tiltfit.kernels.compile import kernel
from tiltfit.kernels.constants import BIAS, LEAST, LN2_HIGH, LN2_LOW, LOG2_E, ROUND, SERIES
from tiltfit.kernels.halves import bits, from_bits


@kernel
def exp_of_negative(x: float) -> float:
    """eˣ for x ≤ 0 to one unit in the last place; 0 below −708, NaN for NaN. No branches, so loops of it vectorise."""
    inside = LEAST if x < LEAST else x
    shifted = inside * LOG2_E + ROUND
    n = shifted - ROUND
    r = (inside - n * LN2_HIGH) - n * LN2_LOW
    series = SERIES[10]
    series = series * r + SERIES[9]
    series = series * r + SERIES[8]
    series = series * r + SERIES[7]
    series = series * r + SERIES[6]
    series = series * r + SERIES[5]
    series = series * r + SERIES[4]
    series = series * r + SERIES[3]
    series = series * r + SERIES[2]
    series = series * r + SERIES[1]
    series = series * r + SERIES[0]
    power = from_bits((bits(shifted) + BIAS) << 52)
    value = power * (series * r * r + r + 1.0)
    return 0.0 if x < LEAST else value


_BLOCK = 1024  # numbers in a block: they stay in the first-level cache


@kernel
def softmax_rows(node: FloatArray, log_z: FloatArray, start: int, stop: int) -> None:
    """node[i] ← exp(node[i] − log_z[i]),  log_z[i] ← log Σ exp node[i],  for start ≤ i < stop. O(rows·L).

    Rows are taken a block at a time, so that one long loop computes the exponentials of all of them: it vectorises
    whatever the number of labels. A row whose labels are all forbidden (−inf) gets log Z = −inf and p = 0.
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
