"""Rows of labels, four at a time: products of rows, and rows that are added up.

Written in LLVM's terms, as ``tiles``: Numba would check for every row whether it overlaps another and whether its index
is negative, which takes longer than the few products of a row. Arrays are C-contiguous, their last axis is the padded
labels. Nothing is checked here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils

from tiltfit.inference.kernels.tiles import LANES, inline

_INT32, _INT64 = ir.IntType(32), ir.IntType(64)
_VECTOR = ir.VectorType(ir.DoubleType(), LANES)
_FUSE = ("contract",)  # multiply–add may be one instruction; nothing else may be reordered


class _Rows:
    """The arguments of an intrinsic: arrays and integers by number."""

    def __init__(self, context: Any, builder: Any, signature: Any, arguments: Any) -> None:
        self.builder, self._context, self._types, self._arguments = builder, context, signature.args, arguments

    def _array(self, number: int) -> Any:
        return self._context.make_array(self._types[number])(self._context, self.builder, self._arguments[number])

    def start(self, number: int, *index: int) -> Any:
        """The address of a row of an array; ``index`` are the numbers of the integers before the last axis."""
        array, flat = self._array(number), _INT64(0)
        for axis, i in enumerate(index):
            value = self._arguments[i]
            value = self.builder.sext(value, _INT64) if value.type.width < 64 else value
            flat = self.builder.add(flat, value)
            flat = self.builder.mul(flat, self.builder.extract_value(array.shape, axis + 1))
        return self.builder.gep(array.data, [flat])

    def spread(self, number: int) -> Any:
        """A number in every lane of a vector."""
        nothing = ir.Constant(_VECTOR, ir.Undefined)
        first = self.builder.insert_element(nothing, self._arguments[number], _INT32(0))
        return self.builder.shuffle_vector(first, nothing, ir.Constant(ir.VectorType(_INT32, LANES), [0] * LANES))

    def each_four(self, number: int, body: Callable[[Callable[[Any], Any]], None]) -> None:
        """``body`` for every four numbers of an array of one axis; it gets a function from rows to their four."""
        width = self.builder.extract_value(self._array(number).shape, 0)
        with cgutils.for_range_slice(self.builder, _INT64(0), width, _INT64(LANES), intp=_INT64) as (column, _):
            body(lambda row: self.builder.bitcast(self.builder.gep(row, [column]), _VECTOR.as_pointer()))

    def product(self, addresses: list[Any]) -> Any:
        value = self.builder.load(addresses[0], align=8)
        for address in addresses[1:]:
            value = self.builder.fmul(value, self.builder.load(address, align=8), flags=_FUSE)
        return value


def _multiply_code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    rows = _Rows(context, builder, signature, arguments)
    room, factors = rows.start(0), [rows.start(1, 2), rows.start(3), rows.start(7, 8, 9), rows.start(4, 5, 6)]

    def body(four: Callable[[Any], Any]) -> None:
        builder.store(rows.product([four(factor) for factor in factors]), four(room), align=8)

    rows.each_four(0, body)
    return context.get_dummy_value()


@inline
def multiply_rows(
    _: Any, room: Any, local: Any, row: Any, gain: Any, phi: Any, k: Any, left: Any, phi_t: Any, k_next: Any, right: Any
) -> Any:
    """room ← local[row] ∘ gain ∘ phi_t[k_next, right] ∘ phi[k, left]. O(P)."""
    return types.void(room, local, row, gain, phi, k, left, phi_t, k_next, right), _multiply_code


def _pair_code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    rows = _Rows(context, builder, signature, arguments)
    room, factors = rows.start(0), [rows.start(1, 2), rows.start(3, 4, 5)]

    def body(four: Callable[[Any], Any]) -> None:
        builder.store(rows.product([four(factor) for factor in factors]), four(room), align=8)

    rows.each_four(0, body)
    return context.get_dummy_value()


@inline
def multiply_pair(_: Any, room: Any, ahead: Any, row: Any, phi_t: Any, k: Any, right: Any) -> Any:
    """room ← ahead[row] ∘ phi_t[k, right]. O(P)."""
    return types.void(room, ahead, row, phi_t, k, right), _pair_code


def _add_code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    rows = _Rows(context, builder, signature, arguments)
    out, room, scale = rows.start(0, 1, 2), rows.start(3), rows.spread(4)

    def body(four: Callable[[Any], Any]) -> None:
        more = builder.fmul(scale, builder.load(four(room), align=8), flags=_FUSE)
        builder.store(builder.fadd(builder.load(four(out), align=8), more, flags=_FUSE), four(out), align=8)

    rows.each_four(3, body)
    return context.get_dummy_value()


@inline
def add_row(_: Any, out: Any, k: Any, row: Any, room: Any, scale: Any) -> Any:
    """out[k, row] += scale·room. O(P)."""
    return types.void(out, k, row, room, scale), _add_code
