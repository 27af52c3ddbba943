"""The inner loops of forward–backward, of its factors, and of sums over attributes, on registers.

Labels are padded to a multiple of four, and a *tile* is up to 32 of them: eight registers of four numbers. All sums of
a tile stay in registers while the loop over the other label runs. Numba cannot say that, as the number of labels is
known only at run time, so these loops are written in LLVM's terms, once for every width from 4 to 32; more labels take
several tiles. Terms are added in an order that depends on the number of labels alone.

Arrays are C-contiguous; their last axis is the padded labels, and padding holds zeros. Nothing is checked here.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils

from tiltfit.kernels.constants import LANES
from tiltfit.kernels.llvm.code import SIDE_BY_SIDE, VECTOR, Code, exp_of_vectors, inline

_INT1, _INT32, _INT64 = ir.IntType(1), ir.IntType(32), ir.IntType(64)
_WHOLE = ir.VectorType(_INT64, LANES)
_TOGETHER = 4  # vectors whose exponentials are taken together: more would not fit the registers
_LOWEST = float("-inf")


@inline(types.float64)
def forward_tile(
    code: Code, count: Any, ahead: Any, t: Any, table: Any, k: Any, n_labels: Any, local: Any, column: Any, scale: Any,
    least: Any,
) -> Any:  # fmt: skip
    """ahead[t, C] ← (ahead[t−1]·table[k, :, C]) ∘ local[t, C]·scale,  C = column … column + 4·count − 1; its sum.

    ``least[4]`` keeps, by lane, the least number above zero that was seen. O(L·count).
    """
    builder = code.builder
    scale = code.spread(scale)
    result = cgutils.alloca_once(builder, ir.DoubleType())  # type: ignore[no-untyped-call]

    def body(width: int) -> None:
        row = code.element(ahead, builder.sub(t, _INT64(1)), _INT64(0))
        corner = code.element(table, k, _INT64(0), column)
        new = code.product(row, corner, builder.extract_value(table.shape, 2), n_labels, width)
        smallest = code.load(least.data)
        for n in range(width):
            new[n] = code.times(new[n], code.times(code.load(code.element(local, t, column), n), scale))
            code.store(new[n], code.element(ahead, t, column), n)
            value = code.where_positive(new[n], new[n], 1.0)
            smallest = builder.select(builder.fcmp_ordered("<", value, smallest), value, smallest)
        code.store(smallest, least.data)
        builder.store(code.tree(code.lanes(code.tree(new))), result)

    code.by_width(count, body)
    return builder.load(result)


@inline(types.void)
def backward_tile(
    code: Code, count: Any, back: Any, t: Any, table: Any, k: Any, n_labels: Any, local: Any, ahead: Any, column: Any,
    scale: Any,
) -> None:  # fmt: skip
    """With b = back[t]·table[k, :, C]:  back[t−1, C] ← local[t−1, C]∘b·scale where ahead[t−1, C] is not zero, and
    local[t−1, C] ← ahead[t−1, C]∘b,  C = column … column + 4·count − 1. O(L·count).
    """
    builder = code.builder
    scale = code.spread(scale)

    def body(width: int) -> None:
        before = builder.sub(t, _INT64(1))
        row, corner = code.element(back, t, _INT64(0)), code.element(table, k, _INT64(0), column)
        b = code.product(row, corner, builder.extract_value(table.shape, 2), n_labels, width)
        place = code.element(local, before, column)
        for n in range(width):
            seen = code.load(code.element(ahead, before, column), n)
            value = code.times(code.times(code.load(place, n), scale), b[n])
            code.store(code.where_positive(seen, value, 0.0), code.element(back, before, column), n)
            code.store(code.times(seen, b[n]), place, n)

    code.by_width(count, body)


@inline(types.void)
def product_tile(
    code: Code, count: Any, rows: Any, i: Any, table: Any, k: Any, n_labels: Any, out: Any, o: Any, column: Any
) -> None:
    """out[o, C] ← rows[i]·table[k, :, C],  C = column … column + 4·count − 1. O(L·count)."""
    builder = code.builder

    def body(width: int) -> None:
        row, corner = code.element(rows, i, _INT64(0)), code.element(table, k, _INT64(0), column)
        for n, value in enumerate(code.product(row, corner, builder.extract_value(table.shape, 2), n_labels, width)):
            code.store(value, code.element(out, o, column), n)

    code.by_width(count, body)


@inline(types.void)
def step_tile(
    code: Code, count: Any, rows: Any, i: Any, table: Any, k: Any, n_labels: Any, extra: Any, x: Any, scale: Any,
    s: Any, raw: Any, o: Any, out: Any, column: Any,
) -> None:  # fmt: skip
    """raw[o, C] ← rows[i]·table[k, :, C] + extra[x, C] and out[o, C] ← raw[o, C]∘scale[s, C],
    C = column … column + 4·count − 1. O(L·count).
    """
    builder = code.builder

    def body(width: int) -> None:
        row, corner = code.element(rows, i, _INT64(0)), code.element(table, k, _INT64(0), column)
        for n, value in enumerate(code.product(row, corner, builder.extract_value(table.shape, 2), n_labels, width)):
            total = code.plus(value, code.load(code.element(extra, x, column), n))
            code.store(total, code.element(raw, o, column), n)
            factor = code.load(code.element(scale, s, column), n)
            code.store(code.times(total, factor), code.element(out, o, column), n)

    code.by_width(count, body)


@inline(types.void)
def outer_tile(
    code: Code, count: Any, ahead: Any, back: Any, order: Any, start: Any, stop: Any, out: Any, k: Any, n_labels: Any,
    column: Any, weight: Any,
) -> None:  # fmt: skip
    """out[k, :, C] += weight·Σ ahead[t−1] ⊗ back[t, C] over t in order[start:stop] (int32),
    C = column … column + 4·count − 1. O((stop − start)·L·count).
    """
    builder = code.builder
    weight = code.spread(weight)

    def body(width: int) -> None:
        side = SIDE_BY_SIDE[width]
        with cgutils.for_range_slice(builder, _INT64(0), n_labels, _INT64(side), intp=_INT64) as (row, _):

            def terms(n: Any) -> list[tuple[Any, Any]]:
                t = code.int64(builder.load(builder.gep(order.data, [n])))
                left, right = code.element(ahead, builder.sub(t, _INT64(1)), row), code.element(back, t, column)
                factors = [code.spread(builder.load(builder.gep(left, [_INT64(i)]))) for i in range(side)]
                # Column by column: with all columns loaded at once, sums would be pushed out of their registers.
                return [(factor, value) for value in (code.load(right, c) for c in range(width)) for factor in factors]

            sums = code.sums(start, stop, 1, side * width, terms)
            for i in range(side):
                line = code.element(out, k, builder.add(row, _INT64(i)), column)
                for c in range(width):
                    code.store(code.plus(code.load(line, c), code.times(weight, sums[c * side + i])), line, c)

    code.by_width(count, body)


@inline(types.void)
def scatter_tile(
    code: Code, count: Any, indices: Any, data: Any, start: Any, stop: Any, row: Any, table: Any, column: Any
) -> None:
    """table[indices[k], C] += data[k]·row[C] for start ≤ k < stop,  C = column … column + 4·count − 1.
    O((stop − start)·count).
    """
    builder = code.builder

    def body(width: int) -> None:
        values = [code.load(code.element(row, column), n) for n in range(width)]
        with cgutils.for_range_slice(builder, start, stop, _INT64(1), intp=_INT64) as (k, _):
            number = code.int64(builder.load(builder.gep(indices.data, [k])))
            factor = code.spread(builder.load(builder.gep(data.data, [k])))
            line = code.element(table, number, column)
            for n in range(width):
                code.store(code.plus(code.load(line, n), code.times(factor, values[n])), line, n)

    code.by_width(count, body)


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


@inline(types.float64)
def greatest_tile(code: Code, count: Any, node: Any, row: Any, column: Any) -> Any:
    """max node[row, C], NaN left out; −inf if nothing is left.  C = column … column + 4·count − 1, as far as there are
    labels. O(count)."""
    builder = code.builder
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


@inline(types.void)
def factors_tile(
    code: Code, count: Any, node: Any, row: Any, column: Any, top: Any, local: Any, t: Any, least: Any
) -> None:
    """local[t, C] ← exp(node[row, C] − top), 0 beyond the last label,  C = column … column + 4·count − 1.

    ``least[4]`` keeps, by lane, the least finite node − top that was seen. O(count).
    """
    builder = code.builder
    top = code.spread(top)

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
