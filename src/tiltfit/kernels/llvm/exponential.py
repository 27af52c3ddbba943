"""eˣ of vectors of numbers ≤ 0, by the series of ``kernels.exponential``."""

from __future__ import annotations

from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]

from tiltfit.kernels.constants import BIAS, LEAST, LN2_HIGH, LN2_LOW, LOG2_E, ROUND, SERIES
from tiltfit.kernels.llvm.code import Code


def exp_of_vectors(code: Code, vectors: list[Any], *, bounded: bool = False) -> list[Any]:
    """eˣ of every lane, x ≤ 0, step by step for all vectors, so that they wait together. ``bounded``: nothing is below
    −708, and this is not checked.

    To one unit in the last place, like ``exponential.exp_of_negative``, though not always the same number: the series
    is summed in another order.
    """
    builder, integers = code.builder, ir.VectorType(ir.IntType(64), code.n_lanes)
    if not bounded:
        below = [builder.fcmp_ordered("<", x, code.constant(LEAST)) for x in vectors]
        vectors = [builder.select(mask, code.constant(LEAST), x) for mask, x in zip(below, vectors, strict=True)]
    shifted = [code.plus(code.times(x, code.constant(LOG2_E)), code.constant(ROUND)) for x in vectors]
    whole = [builder.fsub(x, code.constant(ROUND)) for x in shifted]
    rest = [code.minus(x, code.times(n, code.constant(LN2_HIGH))) for x, n in zip(vectors, whole, strict=True)]
    rest = [code.minus(r, code.times(n, code.constant(LN2_LOW))) for r, n in zip(rest, whole, strict=True)]
    # Even and odd terms by themselves: half the wait of one term after the other.
    square = [code.times(r, r) for r in rest]
    even, odd = ([code.constant(SERIES[k])] * len(vectors) for k in (10, 9))
    for k in range(8, -1, -2):
        even = [code.plus(code.times(e, s), code.constant(SERIES[k])) for e, s in zip(even, square, strict=True)]
    for k in range(7, 0, -2):
        odd = [code.plus(code.times(o, s), code.constant(SERIES[k])) for o, s in zip(odd, square, strict=True)]
    series = [code.plus(code.times(o, r), e) for o, r, e in zip(odd, rest, even, strict=True)]
    small = [code.plus(code.times(x, s), r) for x, s, r in zip(series, square, rest, strict=True)]
    bias, digits = (ir.Constant(integers, [value] * code.n_lanes) for value in (BIAS, 52))
    exponent = [builder.add(builder.bitcast(x, integers), bias) for x in shifted]
    power = [builder.bitcast(builder.shl(n, digits), code.kind) for n in exponent]
    values = [code.times(p, code.plus(x, code.constant(1.0))) for p, x in zip(power, small, strict=True)]
    if bounded:
        return values
    return [builder.select(mask, code.constant(0.0), value) for mask, value in zip(below, values, strict=True)]
