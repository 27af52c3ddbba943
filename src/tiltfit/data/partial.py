"""Partial labels: a ``set`` or ``frozenset`` in y says that the label is one of its members.

A set of one is that label, a set of all classes says nothing. Lists and tuples are not sets: y has one entry a place.
What means "unlabelled" (None, NaN, −1) or is an empty text is no member of a set: it would be one more class, which
nobody has meant. −1 and "" are, where ``classes`` names them, and −1 where y has at most one other value (±1 data).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tiltfit.arrays import BoolArray
from tiltfit.data.inputs import is_missing
from tiltfit.errors import DataError


def is_partial(value: object) -> bool:
    """Whether an entry of y is a set."""
    return isinstance(value, set | frozenset)


def single(value: Any) -> Any:
    """The label that a set of one is; anything else as it is, and so a set of what may be no label.

    >>> single({"a"}), single("a"), single({"a", "b"}) == {"a", "b"}, single({-1})
    ('a', 'a', True, {-1})
    """
    if not is_partial(value) or len(value) != 1:
        return value
    member = next(iter(value))
    return value if is_missing(member) or is_mark(member) else member


def is_mark(value: object) -> bool:
    """Whether it is −1 or an empty text, which may stand for "unlabelled"."""
    return value == "" or is_minus_one(value)


def is_minus_one(value: object) -> bool:
    """Whether it is the number −1."""
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool) and value == -1


def refuse_marks(held: Sequence[Any], where: str, declared: Sequence[object] | None, n_others: int) -> None:
    """Refuse −1 and "" in a set where they are no labels. ``n_others``: how many other values y has."""
    for value in filter(is_mark, held):
        if declared is not None:
            is_label = any(is_mark(c) and is_minus_one(c) == is_minus_one(value) for c in declared)
        else:
            is_label = is_minus_one(value) and n_others < 2
        if not is_label:
            what = "-1, which means unlabelled" if is_minus_one(value) else "an empty text, which is no label"
            raise DataError(
                f"{where} is a set with {what}. Leave it out of the set (None alone means that nothing is known), or "
                "name it with classes= if it is a class."
            )


def members(value: Any, where: str) -> list[Any]:
    """The labels of a set; raises for one that leaves nothing, or holds what is no label."""
    if not value:
        raise DataError(f"{where} is an empty set, which leaves no label. None means that nothing is known.")
    if any(is_missing(v) for v in value):
        raise DataError(f"{where} is a set with a missing value in it. None alone means that nothing is known.")
    return sorted(value, key=repr)  # sets have no order, but messages and results should not change from run to run


def ruled_out(sets: Mapping[int, Sequence[int]], n: int, n_classes: int) -> BoolArray | None:
    """What sets rule out, places × classes; None if that is nothing. ``sets``: the class numbers at some places.

    >>> ruled_out({1: [0, 2]}, 2, 3).tolist(), ruled_out({0: [0, 1]}, 1, 2)
    ([[False, False, False], [False, True, False]], None)
    """
    if all(len(allowed) == n_classes for allowed in sets.values()):
        return None
    mask = np.zeros((n, n_classes), dtype=np.bool_)
    for i, allowed in sets.items():
        mask[i] = True
        mask[i, list(allowed)] = False
    return mask
