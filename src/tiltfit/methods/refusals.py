"""How methods refuse options and constraints: in one style of messages."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any, TypeGuard

import numpy as np

from tiltfit.arguments import whole
from tiltfit.errors import DataError, UnsupportedError, listed

_REASONS = 3  # that a message lists


def wrong_option(name: str, value: object, must: str) -> DataError:
    """The error for a wrong option: a sentence that names it, and says what would work.

    >>> str(wrong_option("tau", 2, "a number between 0 and 1"))
    "method_options={'tau': 2} must be a number between 0 and 1."
    """
    return DataError(f"method_options={{{name!r}: {value!r:.80}}} must be {must}.", parameter="method_options")


def check_number(name: str, value: object, must: str, *, high: float = np.inf, above: bool = False) -> None:
    """Refuse all but finite numbers of at least 0 (``above``: of more) and at most ``high``."""
    if not is_real(value) or not 0 <= value <= high or (above and value == 0) or value == np.inf:
        raise wrong_option(name, value, must)


def check_whole(name: str, value: object, least: int = 1) -> None:
    """Refuse all but integers of at least ``least``."""
    found = whole(value)
    if found is None or found < least:
        raise wrong_option(name, value, f"a whole number of at least {least}")


def more_rounds(rounds: int) -> str:
    """The advice for a method whose own rounds were too few."""
    return f"Raise method_options={{'max_rounds': {rounds}}}."


def is_real(value: Any) -> TypeGuard[float]:
    """True if it is a number, and neither a truth value nor NaN."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool | np.bool_) and value == value


def refuse_constraints(method: str, why_not: Sequence[tuple[str, str]], otherwise: str = "") -> None:
    """Refuse constraints that a method cannot take, all of them by name, with the reason and what would work.

    >>> refuse_constraints("ge", [("a", "it is hard"), ("b", "it is hard"), ("c", "it has a kink")])
    Traceback (most recent call last):
    tiltfit.errors.UnsupportedError: method='ge' cannot take 3 constraints. 'a' and 'b': it is hard. 'c': it has a kink.
    """
    if not why_not:
        return
    by_reason: dict[str, list[str]] = {}
    for name, why in why_not:
        by_reason.setdefault(why, []).append(name)
    told = [f"{listed(names)}: {why}." for why, names in by_reason.items()]
    shown = [*told[:_REASONS], *([f"And {len(told) - _REASONS} more."] if len(told) > _REASONS else [])]
    what = "the constraint" if len(why_not) == 1 else f"{len(why_not)} constraints."
    raise UnsupportedError(
        " ".join([f"method={method!r} cannot take {what}", *shown, *([f"{otherwise}."] if otherwise else [])]),
        constraint=why_not[0][0],
    )
