"""Numbers in sixteen bits: the upper half of those of single precision (bfloat16).

The same range as single precision, from 10⁻³⁸ to 10³⁸, and eight binary digits: the nearest is off by 1/257 at most.
NumPy and Numba know no such type; arrays of it are of ``uint16``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core.errors import TypingError
from numba.extending import intrinsic

_FLOAT, _INT16, _INT32 = ir.FloatType(), ir.IntType(16), ir.IntType(32)
_HALF, _NAN = 16, 0x7FC0


def _number_code(_: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    if signature.args[0] != types.uint16:
        return arguments[0]
    return builder.bitcast(builder.shl(builder.zext(arguments[0], _INT32), _INT32(_HALF)), _FLOAT)


def _stored_code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    number = context.cast(builder, arguments[1], signature.args[1], types.float32)
    if signature.return_type != types.uint16:
        return context.cast(builder, arguments[1], signature.args[1], signature.return_type)
    bits = builder.bitcast(number, _INT32)
    # To the nearest, of two that are as near to the even one.
    odd = builder.and_(builder.lshr(bits, _INT32(_HALF)), _INT32(1))
    rounded = builder.add(builder.add(bits, _INT32(2 ** (_HALF - 1) - 1)), odd)
    upper = builder.trunc(builder.lshr(rounded, _INT32(_HALF)), _INT16)
    # Rounding could make a number of what is none.
    return builder.select(builder.fcmp_unordered("uno", number, number), _INT16(_NAN), upper)


def _checked(kind: Any) -> None:
    if kind not in (types.uint16, types.float32, types.float64):
        raise TypingError(f"numbers are kept in 16, 32 or 64 bits, not as {kind}")


@intrinsic
def _number(_: Any, stored: Any) -> Any:
    _checked(stored)
    return (types.float32 if stored == types.uint16 else stored)(stored), _number_code


@intrinsic
def _stored(_: Any, like: Any, number: Any) -> Any:
    _checked(like)
    return like(like, number), _stored_code


number = cast(Callable[[Any], Any], _number)
"""What an element of an array holds: of ``uint16`` the number in single precision, of others itself."""

stored = cast(Callable[[Any, Any], Any], _stored)
"""stored(like, number): a number as it is kept in an array with elements such as ``like``."""
