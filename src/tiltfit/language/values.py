"""Labels, texts and numbers as the constraint language keeps them: plain Python values, compared by type and value.

Python says 1 == True == 1.0; the language does not: these are three labels.
"""

from __future__ import annotations

import itertools
import math
import numbers
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields
from typing import Any, ClassVar

import numpy as np

from tiltfit.arguments import whole
from tiltfit.errors import ConstraintError

Label = str | int | float | bool

_INT_LIMIT = 2**63  # TOML's integers have 64 bits
_FLOAT_INT = 2.0**53  # up to here every whole float is an exact integer


def text(value: object, what: str) -> str:
    """A non-empty string that UTF-8 can hold."""
    if not isinstance(value, str):
        raise ConstraintError(f"{what} must be a string, but is {value!r}.")
    if not value:
        raise ConstraintError(f"{what} must not be empty.")
    return _encodable(value, what)


def label(value: object, what: str = "A label") -> Label:
    """A label as a plain str, int, float or bool; NumPy scalars and enum members lose their wrapping, not their type.

    >>> label(np.int64(3)), label(np.str_("a")), label(np.bool_(True))
    (3, 'a', True)
    """
    if isinstance(value, np.generic):
        value = value.item()
    for kind, checked in _LABELS.items():
        if isinstance(value, kind):
            return checked(value, what)
    if is_collection(value):
        raise ConstraintError(f"{what} must be one value, but is {value!r}. Pass several labels one by one.")
    raise ConstraintError(f"{what} must be a string, a number or a bool, but is {value!r}.")


def is_collection(value: object) -> bool:
    """True if the value holds several values, as a list or a set does."""
    return isinstance(value, list | tuple | set | frozenset)


def labels(values: Iterable[object], what: str) -> tuple[Label, ...]:
    """Distinct labels in the order given."""
    found = tuple(label(v, f"A label of {what}") for v in values)
    seen = set()
    for value in found:
        if exact(value) in seen:
            raise ConstraintError(f"{what} names the label {value!r} twice.")
        seen.add(exact(value))
    return found


def real(value: object, what: str) -> float:
    """A finite float (−0 becomes 0)."""
    if type(value) is bool or not isinstance(value, numbers.Real):
        raise ConstraintError(f"{what} must be a number, but is {value!r}.")
    try:
        found = float(value)
    except OverflowError:
        found = math.inf
    if not math.isfinite(found):
        raise ConstraintError(f"{what} must be finite, but is {value!r}.")
    return found + 0.0


def threshold(value: object, what: str) -> int | float:
    """A finite number to compare a column with: one value, one spelling (30.0 is 30), and large integers stay exact."""
    number = whole(value)
    if number is not None:
        return _in_range(number, what)
    return plain(real(value, what))


def plain(value: float) -> int | float:
    """A whole number without its ``.0``, as people write it."""
    return int(value) if value.is_integer() and abs(value) < _FLOAT_INT else value


def match(name: Label, classes: Sequence[object]) -> int | None:
    """Position of a label among the classes; 1 also finds 1.0, but neither finds True or "1".

    >>> match("b", ["a", "b"]), match(1, [0.0, 1.0]), match(1, [False, True]), match("1", [0, 1])
    (1, 1, None, None)
    """
    wanted = exact(name)
    known = [label(c) for c in classes]
    same = (i for i, candidate in enumerate(known) if exact(candidate) == wanted)
    equal = (i for i, candidate in enumerate(known) if is_number(name) and is_number(candidate) and candidate == name)
    return next(itertools.chain(same, equal), None)


def is_number(value: Label) -> bool:
    """True if a label is a number; bools are not."""
    return not isinstance(value, str | bool)


def exact(value: object) -> object:
    """A hashable stand-in that is equal only for values of equal type."""
    return tuple(map(exact, value)) if isinstance(value, tuple) else (type(value), value)


class Exact:
    """Mixin for frozen dataclasses: equal when the types and all fields are, to the type of every label.

    Fields named in ``unordered`` hold sets, written as tuples in the order the user gave.
    """

    unordered: ClassVar[tuple[str, ...]] = ()

    def identity(self) -> tuple[object, ...]:
        """The value that equality and hash compare."""
        return (type(self), *(self._field(f.name) for f in fields(self)))  # type: ignore[arg-type]

    def _field(self, name: str) -> object:
        value = getattr(self, name)
        return frozenset(exact(v) for v in value) if name in self.unordered else exact(value)

    def __eq__(self, other: object) -> bool:
        return self.identity() == other.identity() if type(other) is type(self) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.identity())

    def _set(self, **values: Any) -> None:
        """Replace fields by their checked form; only for ``__post_init__``."""
        for name, value in values.items():
            object.__setattr__(self, name, value)


def _encodable(value: str, what: str) -> str:
    found = str.__str__(value)
    try:
        found.encode()
    except UnicodeEncodeError:
        raise ConstraintError(f"{what} holds half a character (a lone surrogate): {found!r}.") from None
    return found


def _in_range(value: int, what: str) -> int:
    if not -_INT_LIMIT <= value < _INT_LIMIT:
        raise ConstraintError(f"{what} must fit in 64 bits, but has {value.bit_length()}.")
    return int.__int__(value)


def _finite(value: float, what: str) -> float:
    if not math.isfinite(value):
        raise ConstraintError(f"{what} must not be {float(value)!r}: it would equal no label of the data.")
    return float.__float__(value)


_LABELS: dict[type, Callable[[Any, str], Label]] = {
    bool: lambda value, what: value,
    str: _encodable,
    int: _in_range,
    float: _finite,
}
"""The types of labels, bool before int, and what makes a plain value of each."""
