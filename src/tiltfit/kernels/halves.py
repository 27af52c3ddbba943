"""Numbers as bits, and numbers in sixteen bits: the upper half of those of single precision (bfloat16).

The same range as single precision, from 10⁻³⁸ to 10³⁸, and eight binary digits: the nearest is off by 1/257 at most.
NumPy and Numba know no such type; arrays of it are of ``uint16``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import TypingError, types
from numba.extending import overload, register_jitable

_HALF, _NAN = np.uint32(16), np.uint16(0x7FC0)


@register_jitable
def bits(value: Any) -> Any:
    """The bits of a float64 as an int64."""
    return np.float64(value).view(np.int64)


@register_jitable
def from_bits(value: Any) -> Any:
    """The float64 of these bits, an int64."""
    return np.int64(value).view(np.float64)


def number(stored: Any) -> Any:
    """The number that an element of an array holds: of ``uint16`` that in single precision, of others itself."""
    raise NotImplementedError("for compiled code alone")


def stored(like: Any, number: Any) -> Any:
    """A number as it is kept in an array with elements such as ``like``."""
    raise NotImplementedError("for compiled code alone")


@register_jitable
def _upper_half(value: Any) -> Any:
    """The nearest number of sixteen bits; of two that are as near, the even one."""
    single = np.float32(value)
    whole = single.view(np.uint32)
    odd = np.uint32(np.uint32(whole >> _HALF) & np.uint32(1))
    rounded = np.uint32(np.uint32(whole + np.uint32(0x7FFF)) + odd)
    # Rounding could turn NaN into a number.
    return _NAN if single != single else np.uint16(rounded >> _HALF)


@overload(number, strict=False)
def _number(stored: Any) -> Callable[[Any], Any]:
    _check(stored)
    if stored == types.uint16:
        return lambda stored: np.uint32(np.uint32(stored) << _HALF).view(np.float32)
    return lambda stored: stored


@overload(stored, strict=False)
def _stored(like: Any, number: Any) -> Callable[[Any, Any], Any]:
    _check(like)
    if like == types.uint16:
        return lambda like, number: _upper_half(number)
    kind = np.float32 if like == types.float32 else np.float64
    return lambda like, number: kind(number)


def _check(kind: Any) -> None:
    if kind not in (types.uint16, types.float32, types.float64):
        raise TypingError(f"numbers are kept in 16, 32 or 64 bits, not as {kind}")
