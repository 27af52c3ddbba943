"""The exponential of numbers ≤ 0.

    x = n·ln 2 + r,  |r| ≤ ½ ln 2        eˣ = 2ⁿ·eʳ        eʳ = 1 + r + r²·(½ + Σ_{1 ≤ k ≤ 10} c_k·rᵏ)

The c_k make eʳ exact at the zeros of the Chebyshev polynomial of degree ten: between them it is off by 10⁻¹⁸ at most,
for which Taylor's series needs a term more. 1 + r is left to the end, so that the errors of all else are small beside
it. The C library's exponential takes one number at a time; loops of this one vectorise.
"""

from __future__ import annotations

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
