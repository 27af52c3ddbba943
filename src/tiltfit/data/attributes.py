"""Attributes of positions, as users of CRFsuite write them: a list of names, or a dict of names and values.

["w=the", "shape=x"]                          each attribute 1
{"bias": 1.0, "upper": True, "word": "the"}   a number is the value, a bool 1 or 0, a text "word=the" with value 1
{"next": {"word": "cat"}}                     nested: "next:word=cat" (a list or set of names: "next:name")
"""

from __future__ import annotations

import math
import numbers
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
from scipy import sparse

from tiltfit.errors import DataError

Attributes = Mapping[str, Any] | Iterable[str]

_NESTED = ":"
_VALUE = "="
_MAX_DEPTH = 16  # a dict that contains itself would never end


@dataclass(frozen=True, eq=False)
class AttributeRows(Sequence[Attributes]):
    """Positions as given (``items``) and as numbers: ``matrix`` (positions × attributes), one name per column."""

    items: Sequence[Attributes]
    names: list[str]
    matrix: sparse.csr_array

    def __len__(self) -> int:
        return len(self.items)

    @overload
    def __getitem__(self, index: int) -> Attributes: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Attributes]: ...
    def __getitem__(self, index: int | slice) -> Attributes | Sequence[Attributes]:
        return self.items[index]

    @staticmethod
    def of(items: Sequence[Attributes], refused: Callable[[int, str], DataError] | None = None) -> AttributeRows:
        """Read the attributes of every position; ``refused(i, why)`` makes the error about position i."""
        if isinstance(items, AttributeRows):
            return items
        columns: dict[str, int] = {}
        indices, values, ends = array("q"), array("d"), array("q", [0])
        for i, item in enumerate(items):
            try:
                for name, value in _pairs(item):
                    indices.append(columns.setdefault(name, len(columns)))
                    values.append(value)
            except _Refused as error:
                why = str(error)
                raise (DataError(f"Position {i} {why}") if refused is None else refused(i, why)) from None
            ends.append(len(indices))
        parts = (np.array(values), np.array(indices, dtype=np.int32), np.array(ends, dtype=np.int64))
        matrix = sparse.csr_array(parts, shape=(len(items), len(columns)))
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
        return AttributeRows(items, list(columns), matrix)


class _Refused(Exception):
    """The reason why attributes cannot be read; the caller adds the place."""


def _pairs(item: Any, depth: int = 0) -> Iterator[tuple[str, float]]:
    """(name, value) of every attribute."""
    if depth > _MAX_DEPTH:
        raise _Refused(f"holds attributes nested more than {_MAX_DEPTH} deep.")
    if not isinstance(item, Mapping):
        # Sets have no order, and the order of strings in them differs from run to run.
        for name in sorted(item, key=str) if isinstance(item, set | frozenset) else item:
            yield _name(name), 1.0
        return
    for key, value in item.items():
        name = _name(key)
        match value:
            case str():
                yield f"{name}{_VALUE}{value}", 1.0
            case Mapping() | list() | tuple() | set() | frozenset():
                for inner, number in _pairs(value, depth + 1):
                    yield f"{name}{_NESTED}{inner}", number
            case _:
                yield name, _number(name, value)


def _name(value: object) -> str:
    if isinstance(value, str):
        return value
    raise _Refused(f"holds the attribute {value!r}, but the name of an attribute is a string.")


def _number(name: str, value: object) -> float:
    if isinstance(value, numbers.Real | np.bool_):
        number = float(value)
        if math.isfinite(number):
            return number
    raise _Refused(
        f"has the attribute {name!r} with the value {value!r}. Use a finite number, True or False, or a text; "
        "or leave it out."
    )
