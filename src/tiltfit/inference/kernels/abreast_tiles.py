"""The inner loops of ``abreast``: a vector holds one number of each of eight sequences.

Arrays are [steps, labels, 8], C-contiguous; tables of edges are those of ``chain``. Written in LLVM's terms for the
reason that ``tiles`` gives: sums stay in registers. Nothing is checked here.
"""

from __future__ import annotations

from typing import Any

from llvmlite import binding, ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils

from tiltfit.inference.kernels.exponential import exp_of_vectors
from tiltfit.inference.kernels.tiles import LANES, VECTOR, Code, contiguous, inline

ABREAST = 8  # two registers of four: a factor that is loaded once serves both
WIDEST = 5  # labels whose sums are taken at a time: ten of the sixteen registers
# Sequences and rows of a that sums over edges take at a time: with WIDEST labels these fill the sixteen registers of
# four numbers, or the thirty-two of eight that AVX-512 has.
EDGE_LANES, EDGE_ROWS = (8, 4) if binding.get_host_cpu_features().get("avx512f") else (4, 2)
_PAIR = 2  # labels whose exponentials are taken at a time
_INT32, _INT64 = ir.IntType(32), ir.IntType(64)
_ZERO, _ONE = _INT64(0), _INT64(1)


def _code(context: Any, builder: Any, signature: Any, arguments: Any) -> Code:
    return Code(context, builder, signature, arguments, ABREAST)


def _mixed(code: Code, one: Any, other: Any, *order: int) -> Any:
    """The numbers of two vectors in the order given."""
    return code.builder.shuffle_vector(one, other, ir.Constant(ir.VectorType(_INT32, len(order)), list(order)))


def _turned(code: Code, rows: list[Any]) -> list[Any]:
    """Four vectors of four numbers, transposed."""
    halves = [(_mixed(code, a, b, 0, 4, 2, 6), _mixed(code, a, b, 1, 5, 3, 7)) for a, b in (rows[:2], rows[2:])]
    pairs = list(zip(*halves, strict=True))
    return [_mixed(code, *pair, *order) for order in ((0, 1, 4, 5), (2, 3, 6, 7)) for pair in pairs]


def _rows(code: Code, node: Any, rows: Any, column: Any) -> list[Any]:
    """The addresses of node[rows[n], column]."""
    builder = code.builder
    numbers = [builder.load(builder.gep(rows.data, [_INT64(n)])) for n in range(ABREAST)]
    return [builder.bitcast(code.element(node, number, column), VECTOR.as_pointer()) for number in numbers]


def _gather_code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    code = _code(context, builder, signature, arguments)
    column, t = code.integers(2, 4)
    node, rows, local, top = code.arrays(0, 1, 3, 5)
    found = [builder.load(address, align=8) for address in _rows(code, node, rows, column)]
    halves = zip(_turned(code, found[:LANES]), _turned(code, found[LANES:]), strict=True)
    place, greatest = code.element(local, t, column, _ZERO), code.load(top.data)
    for n, (one, other) in enumerate(halves):
        scores = _mixed(code, one, other, *range(ABREAST))
        code.store(scores, place, n)
        greatest = builder.select(builder.fcmp_ordered(">", scores, greatest), scores, greatest)
    code.store(greatest, top.data)
    return context.get_dummy_value()


@inline
def gather_block(_: Any, node: Any, rows: Any, column: Any, local: Any, t: Any, top: Any) -> Any:
    """local[t, C, n] ← node[rows[n], C],  C = column … column + 3;  ``top[8]`` keeps the greatest that was seen."""
    contiguous(node, rows, local, top)
    return types.void(node, rows, column, local, t, top), _gather_code


def _scatter_code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    code = _code(context, builder, signature, arguments)
    t, column = code.integers(1, 4)
    local, node, rows = code.arrays(0, 2, 3)
    place = code.element(local, t, column, _ZERO)
    found = [code.load(place, n) for n in range(LANES)]
    first, second = (_turned(code, [_mixed(code, v, v, *h) for v in found]) for h in (range(LANES), range(LANES, 8)))
    for values, address in zip((*first, *second), _rows(code, node, rows, column), strict=True):
        builder.store(values, address, align=8)
    return context.get_dummy_value()


@inline
def scatter_block(_: Any, local: Any, t: Any, node: Any, rows: Any, column: Any) -> Any:
    """node[rows[n], C] ← local[t, C, n],  C = column … column + 3, n = 0 … 7."""
    contiguous(local, node, rows)
    return types.void(local, t, node, rows, column), _scatter_code


def _factors_code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    code = _code(context, builder, signature, arguments)
    count, t, column = code.integers(0, 2, 3)
    local, top, low = code.arrays(1, 4, 5)

    def body(width: int) -> None:
        place, greatest, least = code.element(local, t, column, _ZERO), code.load(top.data), code.load(low.data)
        below = [builder.fsub(code.load(place, n), greatest) for n in range(width)]
        for value in below:
            least = builder.select(builder.fcmp_ordered("<", value, least), value, least)
        for n, value in enumerate(exp_of_vectors(code, below)):
            code.store(value, place, n)
        code.store(least, low.data)

    code.by_width(count, body, _PAIR)
    return context.get_dummy_value()


@inline
def factors_block(_: Any, count: Any, local: Any, t: Any, column: Any, top: Any, low: Any) -> Any:
    """local[t, C] ← exp(local[t, C] − top),  C = column … column + count − 1, one label or two;  ``low[8]`` keeps the
    least difference that was seen."""
    contiguous(local, top, low)
    return types.void(count, local, t, column, top, low), _factors_code


def _product(code: Code, rows: Any, t: Any, table: Any, n_labels: Any, column: Any, width: int) -> list[Any]:
    """Σ_i rows[t, i]·table[i, C],  C = column … column + width − 1."""
    builder = code.builder
    row, corner = code.element(rows, t, _ZERO, _ZERO), code.element(table, _ZERO, column)
    stride = builder.extract_value(table.shape, 1)

    def terms(i: Any) -> list[tuple[Any, Any]]:
        line = builder.gep(corner, [builder.mul(i, stride)])
        values = code.load(builder.gep(row, [builder.mul(i, _INT64(ABREAST))]))
        return [(values, code.spread(builder.load(builder.gep(line, [_INT64(c)])))) for c in range(width)]

    return code.sums(_ZERO, n_labels, 1, width, terms)


def _forward_code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    code = _code(context, builder, signature, arguments)
    count, t, n_labels, column = code.integers(0, 2, 4, 8)
    ahead, table, local, scale, total = code.arrays(1, 3, 5, 6, 7)

    def body(width: int) -> None:
        new = _product(code, ahead, builder.sub(t, _ONE), table, n_labels, column, width)
        factor, sum_place = code.load(code.element(scale, t, _ZERO)), code.element(total, t, _ZERO)
        psi, place = code.element(local, t, column, _ZERO), code.element(ahead, t, column, _ZERO)
        new = [code.times(value, code.times(code.load(psi, n), factor)) for n, value in enumerate(new)]
        for n, value in enumerate(new):
            code.store(value, place, n)
        code.store(code.plus(code.load(sum_place), code.tree(new)), sum_place)

    code.by_width(count, body, WIDEST)
    return context.get_dummy_value()


@inline
def forward_block(
    _: Any, count: Any, ahead: Any, t: Any, table: Any, n_labels: Any, local: Any, scale: Any, total: Any, column: Any
) -> Any:
    """ahead[t, C] ← (ahead[t−1]·table[:, C])∘local[t, C]·scale[t] and total[t] += Σ ahead[t, C],
    C = column … column + count − 1. O(L·count)."""
    contiguous(ahead, table, local, scale, total)
    return types.void(count, ahead, t, table, n_labels, local, scale, total, column), _forward_code


def _backward_code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    code = _code(context, builder, signature, arguments)
    count, t, n_labels, column = code.integers(0, 2, 4, 9)
    back, table, local, ahead, scale, end = code.arrays(1, 3, 5, 6, 7, 8)

    def body(width: int) -> None:
        found = _product(code, back, builder.add(t, _ONE), table, n_labels, column, width)
        factor, last = code.load(code.element(scale, t, _ZERO)), code.load(code.element(end, t, _ZERO))
        place, seen = code.element(local, t, column, _ZERO), code.element(ahead, t, column, _ZERO)
        out = code.element(back, t, column, _ZERO)
        for n, value in enumerate(found):
            b = code.plus(value, last)
            code.store(code.times(code.times(code.load(place, n), factor), b), out, n)
            code.store(code.times(code.load(seen, n), b), place, n)

    code.by_width(count, body, WIDEST)
    return context.get_dummy_value()


@inline
def backward_block(
    _: Any, count: Any, back: Any, t: Any, table: Any, n_labels: Any, local: Any, ahead: Any, scale: Any, end: Any,
    column: Any,
) -> Any:  # fmt: skip
    """With b = back[t+1]·table[:, C] + end[t]:  back[t, C] ← local[t, C]∘b·scale[t] and local[t, C] ← ahead[t, C]∘b,
    C = column … column + count − 1. O(L·count)."""
    contiguous(back, table, local, ahead, scale, end)
    return types.void(count, back, t, table, n_labels, local, ahead, scale, end, column), _backward_code


def _outer_code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    code = Code(context, builder, signature, arguments, EDGE_LANES)
    count, steps, n_labels, column, lane = code.integers(0, 3, 5, 6, 7)
    ahead, back, out, weight = code.arrays(1, 2, 4, 8)

    def body(width: int) -> None:
        factor = code.load(code.element(weight, lane))
        with cgutils.for_range_slice(builder, _ZERO, n_labels, _INT64(EDGE_ROWS), intp=_INT64) as (row, _):

            def terms(t: Any) -> list[tuple[Any, Any]]:
                left, right = code.element(ahead, builder.sub(t, _ONE), row, lane), code.element(back, t, column, lane)
                factors = [code.load(left, ABREAST // EDGE_LANES * i) for i in range(EDGE_ROWS)]
                values = (code.load(right, ABREAST // EDGE_LANES * c) for c in range(width))
                return [(f, value) for value in values for f in factors]

            sums = code.sums(_ONE, steps, 1, EDGE_ROWS * width, terms)
            for i in range(EDGE_ROWS):
                line = code.element(out, builder.add(row, _INT64(i)), column, _ZERO)
                for c in range(width):
                    code.store(code.plus(code.load(line, c), code.times(factor, sums[EDGE_ROWS * c + i])), line, c)

    code.by_width(count, body, WIDEST)
    return context.get_dummy_value()


@inline
def outer_block(
    _: Any, count: Any, ahead: Any, back: Any, steps: Any, out: Any, n_labels: Any, column: Any, lane: Any, weight: Any
) -> Any:
    """out[:, C] += weight∘Σ ahead[t−1] ⊗ back[t, C] over 1 ≤ t < steps,  C = column … column + count − 1, sequence by
    sequence for lane … lane + EDGE_LANES − 1; ``out`` is [P, P, EDGE_LANES], and labels are padded to a multiple of
    EDGE_ROWS. O(steps·L·count)."""
    contiguous(ahead, back, out, weight)
    return types.void(count, ahead, back, steps, out, n_labels, column, lane, weight), _outer_code
