"""The exponential of numbers ≤ 0, of one number and of vectors.

    x = n·ln 2 + r,  |r| ≤ ½ ln 2        eˣ = 2ⁿ·eʳ        eʳ = 1 + r + r²·(½ + Σ_{1 ≤ k ≤ 10} c_k·rᵏ)

The c_k make eʳ exact at the zeros of the Chebyshev polynomial of degree ten: between them it is off by 10⁻¹⁸ at most,
for which Taylor's series needs a term more. 1 + r is left to the end, so that the errors of all else are small beside
it. The C library's exponential takes one number at a time; loops of this one vectorise.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, cast

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic

from tiltfit.kernels.compile import kernel
from tiltfit.kernels.tiles import Code

_LEAST = -708.0  # e^−708 ≈ 3·10⁻³⁰⁸ is close to the least number that has all its digits
_ROUND = 1.5 * 2.0**52  # added to a number, it leaves the nearest integer in the lowest bits
_LOG2_E = 1 / math.log(2)
_LN2_HIGH = 6.93147180369123816490e-01  # its last bits are zero, so n·LN2_HIGH is exact
_LN2_LOW = 1.90821492927058770002e-10
_BIAS = 1023  # of the exponent of a double
_SERIES = (
    0.5, 0.16666666666666669, 0.041666666666666664, 0.008333333333330065,
    0.0013888888888886554, 0.00019841269863040559, 2.4801587317135174e-05, 2.7557268480289716e-06,
    2.755728298404137e-07, 2.51003758422237e-08, 2.091122973665872e-09,
)  # fmt: skip


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
    """eˣ for x ≤ 0 to one unit in the last place; 0 below −708, NaN for NaN. No branches, so loops of it vectorise."""
    inside = _LEAST if x < _LEAST else x
    shifted = inside * _LOG2_E + _ROUND
    n = shifted - _ROUND
    r = (inside - n * _LN2_HIGH) - n * _LN2_LOW
    series = _SERIES[10]
    series = series * r + _SERIES[9]
    series = series * r + _SERIES[8]
    series = series * r + _SERIES[7]
    series = series * r + _SERIES[6]
    series = series * r + _SERIES[5]
    series = series * r + _SERIES[4]
    series = series * r + _SERIES[3]
    series = series * r + _SERIES[2]
    series = series * r + _SERIES[1]
    series = series * r + _SERIES[0]
    power = from_bits((bits(shifted) + _BIAS) << 52)
    value = power * (series * r * r + r + 1.0)
    return 0.0 if x < _LEAST else value


def exp_of_vectors(code: Code, vectors: list[Any], *, bounded: bool = False) -> list[Any]:
    """``exp_of_negative`` of every lane, step by step for all vectors, so that they wait together. ``bounded``: nothing
    is below −708, so that this need not be looked at.

    To one unit in the last place as well, though not always the same number: the series is summed in another order.
    """
    builder, integers = code.builder, ir.VectorType(ir.IntType(64), code.n_lanes)
    if not bounded:
        below = [builder.fcmp_ordered("<", x, code.constant(_LEAST)) for x in vectors]
        vectors = [builder.select(mask, code.constant(_LEAST), x) for mask, x in zip(below, vectors, strict=True)]
    shifted = [code.plus(code.times(x, code.constant(_LOG2_E)), code.constant(_ROUND)) for x in vectors]
    whole = [builder.fsub(x, code.constant(_ROUND)) for x in shifted]
    rest = [code.minus(x, code.times(n, code.constant(_LN2_HIGH))) for x, n in zip(vectors, whole, strict=True)]
    rest = [code.minus(r, code.times(n, code.constant(_LN2_LOW))) for r, n in zip(rest, whole, strict=True)]
    # Even and odd terms by themselves: half the wait of one term after the other.
    square = [code.times(r, r) for r in rest]
    even, odd = ([code.constant(_SERIES[k])] * len(vectors) for k in (10, 9))
    for k in range(8, -1, -2):
        even = [code.plus(code.times(e, s), code.constant(_SERIES[k])) for e, s in zip(even, square, strict=True)]
    for k in range(7, 0, -2):
        odd = [code.plus(code.times(o, s), code.constant(_SERIES[k])) for o, s in zip(odd, square, strict=True)]
    series = [code.plus(code.times(o, r), e) for o, r, e in zip(odd, rest, even, strict=True)]
    small = [code.plus(code.times(x, s), r) for x, s, r in zip(series, square, rest, strict=True)]
    bias, digits = (ir.Constant(integers, [value] * code.n_lanes) for value in (_BIAS, 52))
    exponent = [builder.add(builder.bitcast(x, integers), bias) for x in shifted]
    power = [builder.bitcast(builder.shl(n, digits), code.kind) for n in exponent]
    values = [code.times(p, code.plus(x, code.constant(1.0))) for p, x in zip(power, small, strict=True)]
    if bounded:
        return values
    return [builder.select(mask, code.constant(0.0), value) for mask, value in zip(below, values, strict=True)]
