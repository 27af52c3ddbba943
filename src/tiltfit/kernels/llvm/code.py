"""Instructions over vectors of numbers, from which the inner loops of this package are made."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, cast

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.extending import intrinsic

from tiltfit.kernels.constants import BIAS, LANES, LEAST, LN2_HIGH, LN2_LOW, LOG2_E, ROUND, SERIES, WIDEST

VECTOR = ir.VectorType(ir.DoubleType(), LANES)
_INT32, _INT64 = ir.IntType(32), ir.IntType(64)
_FUSE = ("contract",)  # multiply–add may be one instruction; nothing else may be reordered
# Rows of the matrix that are summed side by side, by width: enough independent sums hide the four cycles of a
# multiply–add, and more than sixteen registers do not exist. All divide four, so the padding covers the last rows.
SIDE_BY_SIDE = {1: 4, 2: 4, 3: 4, 4: 2, 5: 2, 6: 2, 7: 1, 8: 1}


def inline(result: Any, lanes: int = LANES) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make an intrinsic that returns ``result`` of the function that writes its code. This gets a ``Code``, which the
    intrinsic is called without, and the arguments as ``Code.argument`` has them; arrays must be C-contiguous."""

    def decorate(write: Callable[..., Any]) -> Callable[..., Any]:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            code = Code(context, builder, lanes)
            found = write(code, *map(code.argument, signature.args, arguments))
            return context.get_dummy_value() if found is None else found

        @wraps(write)
        def typed(_: Any, *kinds: Any) -> Any:
            if any(getattr(kind, "layout", "C") != "C" for kind in kinds):
                raise TypingError(f"{write.__name__} takes C-contiguous arrays only")
            return result(*kinds), generate

        return cast(Callable[..., Any], intrinsic(typed))

    return decorate


class Code:
    """Instructions over vectors of ``lanes`` numbers."""

    def __init__(self, context: Any, builder: Any, lanes: int = LANES) -> None:
        self.builder, self._context = builder, context
        self.n_lanes, self.kind = lanes, ir.VectorType(ir.DoubleType(), lanes)

    def argument(self, kind: Any, value: Any) -> Any:
        """An argument of this type as instructions take it: the parts of an array, an integer with 64 bits, a number;
        None where there is no array."""
        if kind is types.none:
            return None
        if kind in types.integer_domain:
            return self.int64(value)
        return value if kind is types.float64 else self._context.make_array(kind)(self._context, self.builder, value)

    def int64(self, value: Any) -> Any:
        """A whole number, which may have fewer bits, with 64."""
        return self.builder.sext(value, _INT64) if value.type.width < 64 else value

    def element(self, array: Any, *index: Any) -> Any:
        """The address of an element of a C-contiguous array."""
        flat = index[0]
        for axis, i in enumerate(index[1:], start=1):
            flat = self.builder.add(self.builder.mul(flat, self.builder.extract_value(array.shape, axis)), i)
        return self.builder.gep(array.data, [flat])

    def load(self, address: Any, n: int = 0) -> Any:
        """The n-th vector from an address on."""
        return self.builder.load(self.vector(address, n), align=8)

    def store(self, value: Any, address: Any, n: int = 0) -> None:
        self.builder.store(value, self.vector(address, n), align=8)

    def vector(self, address: Any, n: int = 0) -> Any:
        """The address of the n-th vector from an address on."""
        return self.builder.bitcast(self.builder.gep(address, [_INT64(self.n_lanes * n)]), self.kind.as_pointer())

    def spread(self, value: Any) -> Any:
        """``value`` in every lane of a vector."""
        nothing = ir.Constant(ir.VectorType(value.type, self.n_lanes), ir.Undefined)
        first, order = self.builder.insert_element(nothing, value, _INT32(0)), ir.VectorType(_INT32, self.n_lanes)
        return self.builder.shuffle_vector(first, nothing, ir.Constant(order, [0] * self.n_lanes))

    def plus(self, left: Any, right: Any) -> Any:
        return self.builder.fadd(left, right, flags=_FUSE)

    def minus(self, left: Any, right: Any) -> Any:
        return self.builder.fsub(left, right, flags=_FUSE)

    def times(self, left: Any, right: Any) -> Any:
        return self.builder.fmul(left, right, flags=_FUSE)

    def where_positive(self, value: Any, this: Any, otherwise: float) -> Any:
        """``this`` where the value is above zero or NaN."""
        above = self.builder.fcmp_unordered(">", value, self.constant(0.0))
        return self.builder.select(above, this, self.constant(otherwise))

    def constant(self, value: float) -> Any:
        """``value`` in every lane."""
        return ir.Constant(self.kind, [value] * self.n_lanes)

    def tree(self, values: list[Any]) -> Any:
        """The sum of vectors, or of numbers."""
        while len(values) > 1:
            pairs = [self.plus(a, b) for a, b in zip(values[::2], values[1::2], strict=False)]
            values = pairs + values[2 * len(pairs) :]
        return values[0]

    def lanes(self, vector: Any) -> list[Any]:
        return [self.builder.extract_element(vector, _INT32(n)) for n in range(self.n_lanes)]

    def sums(
        self, start: Any, stop: Any, step: int, count: int, terms: Callable[[Any], list[tuple[Any, Any]]]
    ) -> list[Any]:
        """``count`` vectors Σ left·right over a loop; ``terms(i)`` are the pairs that step i adds, one a vector."""
        # Variables are promoted to registers: their address is never taken.
        places = [cgutils.alloca_once(self.builder, self.kind) for _ in range(count)]  # type: ignore[no-untyped-call]
        for place in places:
            self.builder.store(self.constant(0.0), place)
        with cgutils.for_range_slice(self.builder, start, stop, _INT64(step), intp=_INT64) as (i, _):
            for place, (left, right) in zip(places, terms(i), strict=True):
                self.builder.store(self.plus(self.builder.load(place), self.times(left, right)), place)
        return [self.builder.load(place) for place in places]

    def product(self, row: Any, table: Any, stride: Any, n_rows: Any, count: int) -> list[Any]:
        """Σ_i row[i]·table[i, …] in ``count`` vectors; ``row`` and ``table`` are addresses."""
        side = SIDE_BY_SIDE[count]

        def terms(first: Any) -> list[tuple[Any, Any]]:
            pairs = []
            for n in range(side):
                i = self.builder.add(first, _INT64(n))
                factor = self.spread(self.builder.load(self.builder.gep(row, [i])))
                line = self.builder.gep(table, [self.builder.mul(i, stride)])
                pairs += [(factor, self.load(line, c)) for c in range(count)]
            return pairs

        sums = self.sums(_INT64(0), n_rows, side, side * count, terms)
        return [self.tree(sums[c::count]) for c in range(count)]

    def by_width(self, count: Any, body: Callable[[int], None], widest: int = WIDEST) -> None:
        """``body`` for the width that ``count`` has at run time, from 1 to ``widest``."""
        after = self.builder.append_basic_block("after")
        blocks = [self.builder.append_basic_block(f"width{n}") for n in range(1, widest + 1)]
        switch = self.builder.switch(count, blocks[-1])
        for n, block in enumerate(blocks, start=1):
            switch.add_case(_INT64(n), block)
            with self.builder.goto_block(block):
                body(n)
                self.builder.branch(after)
        self.builder.position_at_end(after)


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
