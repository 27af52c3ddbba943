"""The inner loop of a sparse matrix times a dense one, on registers and with prefetches.

Summing scattered rows of a dense matrix waits for memory, not for arithmetic. Two things hide the wait: the sums stay
in registers for the whole of a sparse row, and the dense row needed some non-zeros later is asked for now. Numba can
say neither: the number of labels is known only at run time, and it has no prefetch. On 20 newsgroups this took scoring
from 23 to 9 ms and the adjoint from 17 to 8.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils

from tiltfit.kernels.constants import AHEAD
from tiltfit.kernels.llvm.code import Code, inline

_INT32, _INT64, _BYTES = ir.IntType(32), ir.IntType(64), ir.IntType(8).as_pointer()


def sparse_tile(lanes: int, count: int) -> Callable[..., None]:
    """A loop over rows in ``count`` vectors of ``lanes`` numbers. The last one is moved back to end with the tile, so
    ``width`` may be anything from lanes·(count − 1) (at least ``lanes``) to lanes·count: columns in two vectors are
    computed twice, alike."""

    @inline(types.void, lanes)
    def tile(
        code: Code, indptr: Any, indices: Any, data: Any, rows: Any, first: Any, last: Any, dense: Any, more: Any,
        inner: Any, outer: Any, column: Any, width: Any, base: Any, out: Any,
    ) -> None:  # fmt: skip
        """out[i, C] ← outer[i]·(base[C] + Σ_j data[j]·inner[n]·[dense; more][n, C]),    C = column … column + width − 1

        for i = rows[r], indptr[r] ≤ j < indptr[r + 1], n = indices[j], first ≤ r < last (``data``, ``inner``, ``outer``
        None: all ones). Terms are added in the order of the non-zeros, whatever the tiles.
        """
        builder = code.builder
        offsets = [_INT64(8 * lanes * n) for n in range(count - 1)]
        offsets.append(builder.mul(builder.sub(width, _INT64(lanes)), _INT64(8)))
        start = builder.mul(column, _INT64(8))
        corner, stride = _beyond(builder, dense.data, start), builder.extract_value(dense.strides, 0)
        # Where ``more`` would begin if its rows were numbered from 0: then one number serves both.
        n_dense = builder.extract_value(dense.shape, 0)
        other = _beyond(builder, more.data, builder.sub(start, builder.mul(n_dense, stride)))
        result, step = _beyond(builder, out.data, start), builder.extract_value(out.strides, 0)
        final = builder.sub(builder.extract_value(indices.shape, 0), _INT64(1))

        def item(values: Any, n: Any) -> Any:
            return builder.load(builder.gep(values.data, [n]))

        def vectors(pointer: Any) -> list[Any]:
            return [builder.bitcast(_beyond(builder, pointer, offset), code.kind.as_pointer()) for offset in offsets]

        def dense_row(n: Any) -> Any:
            table = builder.select(builder.icmp_signed("<", n, n_dense), corner, other)
            return _beyond(builder, table, builder.mul(n, stride))

        begin = [builder.load(place, align=8) for place in vectors(_beyond(builder, base.data, start))]
        # Promoted to registers: their address is never taken.
        sums = [cgutils.alloca_once(builder, code.kind) for _ in range(count)]  # type: ignore[no-untyped-call]
        with cgutils.for_range_slice(builder, first, last, _INT64(1), intp=_INT64) as (r, _):
            for total, value in zip(sums, begin, strict=True):
                builder.store(value, total)
            begins, ends = (code.int64(item(indptr, n)) for n in (r, builder.add(r, _INT64(1))))
            with cgutils.for_range_slice(builder, begins, ends, _INT64(1), intp=_INT64) as (j, _):
                number = code.int64(item(indices, j))
                later = builder.add(j, _INT64(AHEAD))
                later = builder.select(builder.icmp_signed("<", later, final), later, final)
                later = dense_row(code.int64(item(indices, later)))
                for n in (*range(0, count - 1, 2), count - 1):  # a cache line holds two vectors of four
                    _prefetch(builder, _beyond(builder, later, offsets[n]))
                terms = [builder.load(place, align=8) for place in vectors(dense_row(number))]
                for values, index in ((data, j), (inner, number)):
                    if values is not None:
                        factor = code.spread(item(values, index))
                        terms = [code.times(factor, term) for term in terms]
                for total, term in zip(sums, terms, strict=True):
                    builder.store(code.plus(builder.load(total), term), total)
            i = code.int64(item(rows, r))
            found = [builder.load(total) for total in sums]
            if outer is not None:
                factor = code.spread(item(outer, i))
                found = [builder.fmul(factor, value) for value in found]
            for value, place in zip(found, vectors(_beyond(builder, result, builder.mul(i, step))), strict=True):
                builder.store(value, place, align=8)

    return tile


def _beyond(builder: Any, pointer: Any, offset: Any) -> Any:
    """The address ``offset`` bytes further."""
    return builder.gep(builder.bitcast(pointer, _BYTES), [offset])


def _prefetch(builder: Any, address: Any) -> None:
    """Ask for a cache line; an address that is not mapped is ignored."""
    function = ir.FunctionType(ir.VoidType(), [_BYTES, _INT32, _INT32, _INT32])
    prefetch = builder.module.declare_intrinsic("llvm.prefetch", [_BYTES], function)
    builder.call(prefetch, [address, _INT32(0), _INT32(3), _INT32(1)])  # to read, to keep, data


@inline(types.void)
def ask_for(code: Code, array: Any, k: Any) -> None:
    """Ask for the cache line of ``array[k]``, one axis, contiguous: it will be needed soon."""
    _prefetch(code.builder, code.builder.bitcast(code.builder.gep(array.data, [k]), _BYTES))
