"""Rows of log-potentials to rows of factors, on registers: a row at a time, all its vectors side by side.

    ψ_t = exp(s_t − max s_t)

An exponential is a chain of some twenty operations that wait for each other; the vectors of a row are independent
chains, and the next row's do not wait for them either.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils

from tiltfit.kernels.constants import LANES
from tiltfit.kernels.llvm.code import VECTOR, Code, contiguous, inline
from tiltfit.kernels.llvm.exponential import exp_of_vectors

_INT1, _INT32, _INT64 = ir.IntType(1), ir.IntType(32), ir.IntType(64)
_WHOLE = ir.VectorType(_INT64, LANES)
_TOGETHER = 4  # vectors whose exponentials are taken together: more would not fit the registers
_LOWEST = float("-inf")


def _scores(code: Code, node: Any, row: Any, column: Any, width: int) -> list[Any]:
    """node[row, C], −inf beyond the last label. Only the last vector of a row can go beyond it."""
    builder = code.builder
    address = code.element(node, row, column)
    left = builder.sub(builder.extract_value(node.shape, 1), builder.add(column, _INT64(LANES * (width - 1))))
    lanes = ir.Constant(_WHOLE, list(range(LANES)))
    mask = builder.icmp_signed("<", lanes, code.spread(left))
    pointer = VECTOR.as_pointer()
    kind = ir.FunctionType(VECTOR, [pointer, _INT32, ir.VectorType(_INT1, LANES), VECTOR])
    masked = cgutils.get_or_insert_function(builder.module, kind, "llvm.masked.load.v4f64.p0v4f64")  # type: ignore[no-untyped-call]
    last = builder.call(masked, [code.vector(address, width - 1), _INT32(8), mask, code.constant(_LOWEST)])
    return [*(code.load(address, n) for n in range(width - 1)), last]


def _greatest_code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    code = Code(context, builder, signature, arguments)
    count, row, column = code.integers(0, 2, 3)
    (node,) = code.arrays(1)
    result = cgutils.alloca_once(builder, ir.DoubleType())  # type: ignore[no-untyped-call]

    def greater(one: Any, other: Any) -> Any:
        return builder.select(builder.fcmp_ordered(">", one, other), one, other)

    def body(width: int) -> None:
        top = code.constant(_LOWEST)  # second in every comparison: it stays where the other is NaN
        for scores in _scores(code, node, row, column, width):
            top = greater(scores, top)
        a, b, c, d = code.lanes(top)
        builder.store(greater(greater(a, b), greater(c, d)), result)

    code.by_width(count, body)
    return builder.load(result)


@inline
def greatest_tile(_: Any, count: Any, node: Any, row: Any, column: Any) -> Any:
    """max node[row, C], NaN left out; −inf if nothing is left.  C = column … column + 4·count − 1, as far as there are
    labels. O(count)."""
    contiguous(node)
    return types.float64(count, node, row, column), _greatest_code


def _factors_code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    code = Code(context, builder, signature, arguments)
    (count, row, column, t), top = code.integers(0, 2, 3, 6), code.spread(arguments[4])
    node, local, least = code.arrays(1, 5, 7)

    def body(width: int) -> None:
        smallest = code.load(least.data)
        below = [builder.fsub(scores, top) for scores in _scores(code, node, row, column, width)]
        for n in range(0, width, _TOGETHER):
            for m, value in enumerate(exp_of_vectors(code, below[n : n + _TOGETHER]), start=n):
                code.store(value, code.element(local, t, column), m)
        for value in below:
            finite = builder.select(builder.fcmp_ordered(">", value, code.constant(_LOWEST)), value, code.constant(0.0))
            smallest = builder.select(builder.fcmp_ordered("<", finite, smallest), finite, smallest)
        code.store(smallest, least.data)

    code.by_width(count, body)
    return context.get_dummy_value()


@inline
def factors_tile(_: Any, count: Any, node: Any, row: Any, column: Any, top: Any, local: Any, t: Any, least: Any) -> Any:
    """local[t, C] ← exp(node[row, C] − top), 0 beyond the last label,  C = column … column + 4·count − 1.

    ``least[4]`` keeps, by lane, the least finite node − top that was seen. O(count).
    """
    contiguous(node, local, least)
    return types.void(count, node, row, column, top, local, t, least), _factors_code
