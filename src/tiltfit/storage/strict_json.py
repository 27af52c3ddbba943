"""JSON without surprises: what is written is read back equal, or refused.

Refused on both sides: numbers that are not finite, keys that are not strings, repeated keys, half characters
(lone surrogates) and nesting deeper than ``MAX_DEPTH``. Lists and tuples are both JSON lists, and come back as lists.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NoReturn, TypeAlias

from tiltfit.errors import ModelFileError, UnsupportedError

JSON: TypeAlias = "bool | int | float | str | Sequence[JSON] | Mapping[str, JSON] | None"

MAX_DEPTH = 64

# Parsed JSON takes more memory than its text: `[]` is two bytes of text and, nested, a hundred of objects.
# The tests measure that this is enough.
MEMORY_PER_BYTE = 64


class _Refused(Exception):
    """A value that JSON cannot hold, and the keys that lead to it, innermost first."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.keys: list[object] = []

    def sentence(self, root: str) -> str:
        return root + "".join(f"[{key!r}]" for key in reversed(self.keys)) + " " + self.reason


def encode(value: Mapping[str, JSON], *, name: str) -> bytes:
    """UTF-8 text of ``value``; keys keep their order. Raises UnsupportedError that says where and why.

    >>> encode({"classes": ["été", "b"], "tol": 1e-05}, name="document")
    b'{"classes":["\\xc3\\xa9t\\xc3\\xa9","b"],"tol":1e-05}'
    """
    try:
        _check(value, MAX_DEPTH)
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=dict)
    except _Refused as refused:
        raise UnsupportedError(f"A model file cannot hold this: {refused.sentence(name)}") from None
    except ValueError as error:  # an integer with more digits than Python is willing to print
        raise UnsupportedError(f"A model file cannot hold {name}: {error}.") from error
    return text.encode("utf-8")


def decode(data: bytes, *, name: str) -> dict[str, Any]:
    """The object that ``data`` says, or ModelFileError."""
    try:
        value = json.loads(data.decode("utf-8"), object_pairs_hook=_unique, parse_constant=_no_constant)
        if not isinstance(value, dict):
            raise ModelFileError(f"{name} must be a JSON object, not {_kind(value)}")
        _check(value, MAX_DEPTH)
    except ModelFileError:
        raise
    except _Refused as refused:
        raise ModelFileError(refused.sentence(name)) from None
    except RecursionError:
        raise ModelFileError(f"{name} is nested deeper than {MAX_DEPTH} levels") from None
    except ValueError as error:  # not UTF-8, not JSON, or a number of absurd length
        raise ModelFileError(f"{name} is not valid JSON ({error})") from error
    return value


def _check(value: object, depth: int) -> None:
    match value:  # bool is an int, and NumPy's float64 and str_ are a float and a str: all are written as they are
        case str():
            _check_characters(value)
        case float():
            if not math.isfinite(value):
                raise _Refused(
                    f"is {value!r}, which JSON does not have. Put numbers that may not be finite in an array."
                )
        case None | int():
            pass
        case _:
            _check_items(value, depth)


def _check_items(value: object, depth: int) -> None:
    items: Iterable[tuple[object, object]]
    if depth == 0:
        raise _Refused(f"is nested deeper than {MAX_DEPTH} levels.")
    match value:
        case Mapping():
            for key in value:
                if not isinstance(key, str):
                    raise _Refused(f"has the key {key!r} ({_kind(key)}). Use strings as keys.")
                _check_characters(key)
            items = value.items()
        case list() | tuple():
            items = enumerate(value)
        case _:
            raise _Refused(f"is {_kind(value)}. Use None, bool, int, float, str, lists and mappings, or an array.")
    for key, item in items:
        try:
            _check(item, depth - 1)
        except _Refused as refused:
            refused.keys.append(key)
            raise


def _check_characters(text: str) -> None:
    if text.isascii():
        return
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise _Refused(
            f"has the text {text[:40]!a}, which contains half a character (a lone surrogate). "
            'Read texts with errors="replace".'
        ) from None


def _kind(value: object) -> str:
    kind = type(value)  # with its module: numpy's bool is not bool
    return f"a {kind.__name__}" if kind.__module__ == "builtins" else f"a {kind.__module__}.{kind.__name__}"


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise _Refused(f"repeats the key {twice[:40]!a}.")
    return result


def _no_constant(name: str) -> NoReturn:
    raise _Refused(f"contains {name}, which JSON does not have.")
