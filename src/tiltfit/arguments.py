"""Plain checks of what users pass: whole numbers, mappings of names, lists of strings."""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from tiltfit.errors import DataError


def whole(value: object) -> int | None:
    """The value as an int if it is an integer of Python or NumPy; None for anything else, bools included.

    >>> import numpy as np
    >>> whole(3), whole(np.int64(3)), whole(True), whole(3.0)
    (3, 3, None, None)
    """
    return int(value) if isinstance(value, numbers.Integral) and not isinstance(value, bool | np.bool_) else None


def integer(name: str, value: object, least: int, most: int | None = None) -> int:
    """The value as an int; DataError, by the name of the argument, unless it is an integer in this range."""
    found = whole(value)
    if found is None or found < least or (most is not None and found > most):
        bounds = f"of at least {least}" if most is None else f"from {least} to {most}"
        raise DataError(f"{name}={value!r:.80} must be an integer {bounds}.", parameter=name)
    return found


def check_mapping(name: str, value: object, of: str) -> dict[Any, Any]:
    """A mapping of names as a dict; DataError for anything else. ``of``: what the names are given to."""
    if not isinstance(value, Mapping):
        raise DataError(f"{name}= must be a mapping of names to {of}, but is {value!r:.80}.")
    return dict(value)


def are_strings(values: Iterable[object]) -> bool:
    """True if all of them are strings."""
    return all(isinstance(value, str) for value in values)
