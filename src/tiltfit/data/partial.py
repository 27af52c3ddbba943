"""Partial labels: a ``set`` or ``frozenset`` in y says that the label is one of its members.

A set of one is that label, a set of all classes says nothing. Lists and tuples are not sets: y has one entry a place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tiltfit.data.inputs import is_missing
from tiltfit.errors import DataError

BoolArray = npt.NDArray[np.bool_]


def is_partial(value: object) -> bool:
    """Whether an entry of y is a set."""
    return isinstance(value, set | frozenset)


def single(value: Any) -> Any:
    """The label that a set of one is; anything else as it is.

    >>> single({"a"}), single("a"), single({"a", "b"}) == {"a", "b"}
    ('a', 'a', True)
    """
    return next(iter(value)) if is_partial(value) and len(value) == 1 else value


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
