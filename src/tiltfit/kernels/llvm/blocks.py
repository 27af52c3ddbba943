"""The inner loops of ``chunks``, eight sequences side by side: a vector holds one number of each of eight sequences.

Arrays are [steps, labels, 8], C-contiguous; tables of edges are those of ``chain``. Sums stay in registers (``tiles``).
Nothing is checked here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from llvmlite import binding, ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils

from tiltfit.kernels.constants import ABREAST, LANES, WIDEST_BLOCK
from tiltfit.kernels.llvm.code import VECTOR, Code, exp_of_vectors, inline

# Sequences and rows of a that sums over edges take at a time: with WIDEST_BLOCK labels these fill the sixteen registers
# of four numbers, or the thirty-two of eight that AVX-512 has.
EDGE_LANES, EDGE_ROWS = (8, 4) if binding.get_host_cpu_features().get("avx512f") else (4, 2)
_PAIR = 2  # labels whose exponentials are taken at a time
_SMALL = 1e-100  # products of sums that are smaller, or larger than 1/_SMALL, should go no further
_INT32, _INT64 = ir.IntType(32), ir.IntType(64)
_ZERO, _ONE = _INT64(0), _INT64(1)


def _mixed(code: Code, one: Any, other: Any, *order: int) -> Any:
    """The numbers of two vectors in the order given."""
    return code.builder.shuffle_vector(one, other, ir.Constant(ir.VectorType(_INT32, len(order)), list(order)))


def _turned(code: Code, rows: list[Any]) -> list[Any]:
    """Four vectors of four numbers, transposed."""
    halves = [(_mixed(code, a, b, 0, 4, 2, 6), _mixed(code, a, b, 1, 5, 3, 7)) for a, b in (rows[:2], rows[2:])]
    pairs = list(zip(*halves, strict=True))
    return [_mixed(code, *pair, *order) for order in ((0, 1, 4, 5), (2, 3, 6, 7)) for pair in pairs]


def _rows(code: Code, node: Any, first: Any, length: Any, t: Any) -> list[Any]:
    """The address in ``node`` of step t of every sequence; its last position once it has ended."""
    builder, addresses = code.builder, []
    for n in range(ABREAST):
        start, size = (builder.load(builder.gep(array.data, [_INT64(n)])) for array in (first, length))
        last = builder.sub(size, _ONE)
        step = builder.select(builder.icmp_signed("<", t, last), t, last)
        addresses.append(code.element(node, builder.add(start, step), _ZERO))
    return addresses


def _at(code: Code, addresses: list[Any], column: Any) -> list[Any]:
    """The addresses of the vectors of four numbers from this column on."""
    builder = code.builder
    return [builder.bitcast(builder.gep(address, [column]), VECTOR.as_pointer()) for address in addresses]


def _fours(code: Code, n_labels: Any) -> Iterator[Any]:
    """First columns of vectors of four that cover all labels: the last one is moved back to end with them."""
    last = code.builder.sub(n_labels, _INT64(LANES))
    with cgutils.for_range_slice(code.builder, _ZERO, n_labels, _INT64(LANES), intp=_INT64) as (column, _):
        yield code.builder.select(code.builder.icmp_signed("<", column, last), column, last)


def _goes_on(code: Code, length: Any, t: Any) -> Any:
    """t < length[n], for every n."""
    builder, whole = code.builder, ir.VectorType(_INT64, ABREAST)
    lengths = builder.load(builder.bitcast(length.data, whole.as_pointer()), align=8)
    return builder.icmp_signed("<", code.spread(t), lengths)


def _greater(code: Code, one: Any, other: Any) -> Any:
    return code.builder.select(code.builder.fcmp_ordered(">", one, other), one, other)


@inline(types.void, ABREAST)
def load_step(code: Code, node: Any, first: Any, local: Any, t: Any, length: Any, tops: Any, low: Any) -> None:
    """local[t, y, n] ← exp(node[r_n, y] − top_n),  r_n = first[n] + min(t, length[n] − 1),  top_n = max_y node[r_n, y],
    which is added to tops[n] if t < length[n];  ``low[8]`` keeps the least difference that was seen: where it is below
    −708, what is found makes no sense. Four labels at least. O(L)."""
    builder = code.builder
    n_labels, place = builder.extract_value(node.shape, 1), code.element(local, t, _ZERO, _ZERO)
    # Promoted to registers: their address is never taken.
    greatest, least = (cgutils.alloca_once(builder, code.kind) for _ in range(2))  # type: ignore[no-untyped-call]
    builder.store(code.constant(float("-inf")), greatest)
    addresses = _rows(code, node, first, length, t)
    for column in _fours(code, n_labels):
        found = [builder.load(address, align=8) for address in _at(code, addresses, column)]
        halves = zip(_turned(code, found[:LANES]), _turned(code, found[LANES:]), strict=True)
        scores = [_mixed(code, one, other, *range(ABREAST)) for one, other in halves]
        here = builder.gep(place, [builder.mul(column, _INT64(ABREAST))])
        for n, score in enumerate(scores):
            code.store(score, here, n)
        highest = _greater(code, _greater(code, *scores[:2]), _greater(code, *scores[2:]))
        builder.store(_greater(code, highest, builder.load(greatest)), greatest)
    shift = builder.load(greatest)
    builder.store(code.load(low.data), least)

    def factors(first: Any, width: int) -> None:
        here = builder.gep(place, [builder.mul(first, _INT64(ABREAST))])
        below = [builder.fsub(code.load(here, n), shift) for n in range(width)]
        for value in below:
            seen = builder.load(least)
            builder.store(builder.select(builder.fcmp_ordered("<", value, seen), value, seen), least)
        for n, value in enumerate(exp_of_vectors(code, below, bounded=True)):
            code.store(value, here, n)

    even = builder.and_(n_labels, _INT64(-_PAIR))
    with cgutils.for_range_slice(builder, _ZERO, even, _INT64(_PAIR), intp=_INT64) as (label, _):
        factors(label, _PAIR)
    with builder.if_then(builder.icmp_signed("<", even, n_labels)):
        factors(even, 1)
    added = builder.select(_goes_on(code, length, t), shift, code.constant(0.0))
    code.store(builder.fadd(code.load(tops.data), added), tops.data)
    code.store(builder.load(least), low.data)


@inline(types.void, ABREAST)
def scale_step(code: Code, total: Any, t: Any, length: Any, scale: Any) -> None:
    """scale[t, n] ← 1/total[t−1, n] if t < length[n], else 0."""
    builder = code.builder
    last = code.load(code.element(total, builder.sub(t, _ONE), _ZERO))
    factor = builder.select(_goes_on(code, length, t), builder.fdiv(code.constant(1.0), last), code.constant(0.0))
    code.store(factor, code.element(scale, t, _ZERO))


@inline(types.boolean, ABREAST)
def multiply_step(code: Code, total: Any, t: Any, length: Any, product: Any) -> Any:
    """product[n] ← product[n]·total[t, n] where t < length[n]; whether all are well within what a number can hold."""
    builder = code.builder
    factor = builder.select(_goes_on(code, length, t), code.load(code.element(total, t, _ZERO)), code.constant(1.0))
    found = builder.fmul(code.load(product.data), factor)
    code.store(found, product.data)
    inside = [
        builder.fcmp_ordered(sign, found, code.constant(limit)) for sign, limit in ((">", _SMALL), ("<", 1 / _SMALL))
    ]
    lanes = builder.bitcast(builder.and_(*inside), ir.IntType(ABREAST))
    return builder.icmp_signed("==", lanes, ir.Constant(lanes.type, -1))


@inline(types.void, ABREAST)
def scatter_step(code: Code, local: Any, t: Any, node: Any, first: Any, length: Any) -> None:
    """node[first[n] + min(t, length[n] − 1), y] ← local[t, y, n]. Four labels at least. O(L)."""
    builder = code.builder
    addresses, place = _rows(code, node, first, length, t), code.element(local, t, _ZERO, _ZERO)
    for column in _fours(code, builder.extract_value(node.shape, 1)):
        here = builder.gep(place, [builder.mul(column, _INT64(ABREAST))])
        found = [code.load(here, n) for n in range(LANES)]
        halves = (range(LANES), range(LANES, ABREAST))
        one, other = (_turned(code, [_mixed(code, v, v, *half) for v in found]) for half in halves)
        for values, address in zip((*one, *other), _at(code, addresses, column), strict=True):
            builder.store(values, address, align=8)


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


@inline(types.void, ABREAST)
def forward_block(
    code: Code, count: Any, ahead: Any, t: Any, table: Any, n_labels: Any, local: Any, scale: Any, total: Any,
    column: Any,
) -> None:  # fmt: skip
    """ahead[t, C] ← (ahead[t−1]·table[:, C])∘local[t, C]·scale[t] and total[t] += Σ ahead[t, C],
    C = column … column + count − 1. O(L·count)."""
    builder = code.builder

    def body(width: int) -> None:
        new = _product(code, ahead, builder.sub(t, _ONE), table, n_labels, column, width)
        factor, sum_place = code.load(code.element(scale, t, _ZERO)), code.element(total, t, _ZERO)
        psi, place = code.element(local, t, column, _ZERO), code.element(ahead, t, column, _ZERO)
        new = [code.times(value, code.times(code.load(psi, n), factor)) for n, value in enumerate(new)]
        for n, value in enumerate(new):
            code.store(value, place, n)
        code.store(code.plus(code.load(sum_place), code.tree(new)), sum_place)

    code.by_width(count, body, WIDEST_BLOCK)


@inline(types.void, ABREAST)
def backward_block(
    code: Code, count: Any, back: Any, t: Any, table: Any, n_labels: Any, local: Any, ahead: Any, scale: Any, end: Any,
    column: Any,
) -> None:  # fmt: skip
    """With b = back[t+1]·table[:, C] + end[t]:  back[t, C] ← local[t, C]∘b·scale[t] and local[t, C] ← ahead[t, C]∘b,
    C = column … column + count − 1. O(L·count)."""
    builder = code.builder

    def body(width: int) -> None:
        found = _product(code, back, builder.add(t, _ONE), table, n_labels, column, width)
        factor, last = code.load(code.element(scale, t, _ZERO)), code.load(code.element(end, t, _ZERO))
        place, seen = code.element(local, t, column, _ZERO), code.element(ahead, t, column, _ZERO)
        out = code.element(back, t, column, _ZERO)
        for n, value in enumerate(found):
            b = code.plus(value, last)
            code.store(code.times(code.times(code.load(place, n), factor), b), out, n)
            code.store(code.times(code.load(seen, n), b), place, n)

    code.by_width(count, body, WIDEST_BLOCK)


@inline(types.void, EDGE_LANES)
def outer_block(
    code: Code, count: Any, ahead: Any, back: Any, steps: Any, out: Any, n_labels: Any, column: Any, lane: Any,
    weight: Any,
) -> None:  # fmt: skip
    """out[:, C] += weight∘Σ ahead[t−1] ⊗ back[t, C] over 1 ≤ t < steps,  C = column … column + count − 1, sequence by
    sequence for lane … lane + EDGE_LANES − 1; ``out`` is [P, P, EDGE_LANES], and labels are padded to a multiple of
    EDGE_ROWS. O(steps·L·count)."""
    builder = code.builder

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

    code.by_width(count, body, WIDEST_BLOCK)
