"""What y says: which rows are labelled, which classes there are, and what counts as unlabelled."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import assert_all_finite, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from tiltfit.arrays import BoolArray, IntArray
from tiltfit.data.inputs import is_missing
from tiltfit.data.partial import is_mark, is_minus_one, is_partial, members, refuse_marks, ruled_out, single
from tiltfit.errors import DataError, TiltfitWarning, UnknownLabelError, did_you_mean, nearest
from tiltfit.language.constraint import ConstraintSet
from tiltfit.language.values import exact, label

UNLABELLED = -1
"""The class number of an unlabelled row."""

Classes = npt.NDArray[Any]


def encode_labels(
    y: object, n: int, declared: Iterable[object] | None, constraints: ConstraintSet
) -> tuple[Classes, IntArray]:
    """Sorted classes, and the class number of every row (−1: unlabelled, or a set of labels)."""
    return encode_known(y, n, declared, constraints)[:2]


def encode_known(
    y: object, n: int, declared: Iterable[object] | None, constraints: ConstraintSet
) -> tuple[Classes, IntArray, BoolArray | None]:
    """Sorted classes, the class number of every row (−1: unlabelled), and what sets rule out (rows × classes).

    Classes come from ``declared``, else from the constraint file, else from y; from the constraints' labels, too, where
    y shows fewer than two.
    """
    declared = declared if declared is not None else constraints.classes
    named = list(declared) if declared is not None else None
    values = _without_marks(_as_column(y, n), named)
    unlabelled = find_unlabelled(values, named)
    known = values[~unlabelled]
    if len(known):
        check_classification_targets(np.array(known.tolist()))
    sets = _sets(values)
    classes = _classes(named, [*known, *set_members(values)], constraints, y)
    codes = np.full(n, UNLABELLED, dtype=np.intp)
    codes[~unlabelled] = _look_up(known, classes)
    allowed = {i: _look_up(held, classes, f"The set y[{i}]") for i, held in sets.items()}
    return classes, codes, ruled_out({i: found.tolist() for i, found in allowed.items()}, n, len(classes))


def find_unlabelled(values: npt.NDArray[Any], declared: Sequence[object] | None) -> npt.NDArray[np.bool_]:
    """None, NaN, pd.NA and sets always; −1 when ``declared`` lacks it, or when y has at least two other values.

    Otherwise −1 is a label, as in binary data coded ±1. Sets are labels known in part: no row to count hits on.

    >>> find_unlabelled(np.array([-1, 0, 1]), None).tolist(), find_unlabelled(np.array([-1, 1]), None).tolist()
    ([True, False, False], [False, False])
    """
    if values.dtype.kind in "OfmM":
        missing = np.array([is_partial(v) or is_missing(v) for v in values], dtype=np.bool_)
    else:
        missing = np.zeros(len(values), dtype=np.bool_)
    minus_one = np.array([is_minus_one(v) for v in values], dtype=np.bool_)
    if not minus_one.any():
        return missing
    if declared is not None:
        is_class = any(is_minus_one(c) for c in declared)
    else:
        is_class = _n_others(values[~missing], set_members(values)) < 2
    return missing if is_class else missing | minus_one


def _n_others(known: npt.NDArray[Any], inside: Sequence[Any]) -> int:
    """How many values besides −1 labels and sets have."""
    return len({exact(_plain(v)) for v in [*known, *inside] if not is_minus_one(v)})


def _without_marks(values: npt.NDArray[Any], declared: Sequence[object] | None) -> npt.NDArray[Any]:
    """Refuses sets with what is no label in them; those of one label that are left are that label."""
    sets = _sets(values)
    marked = {i: held for i, held in sets.items() if any(map(is_mark, held))}
    if not marked:
        return values
    known = np.array([not (is_partial(v) or is_missing(v)) for v in values], dtype=np.bool_)
    n_others = _n_others(values[known], [v for held in sets.values() for v in held])
    for i, held in marked.items():
        refuse_marks(held, f"y[{i}]", declared, n_others)
    values = values.copy()
    for i, held in marked.items():
        if len(held) == 1:
            values[i] = held[0]
    return values


def as_objects(y: Any) -> npt.NDArray[Any]:
    """y as an array; lists become arrays of objects, so that None and labels can stand side by side. Sets of one are
    the label they hold."""
    if isinstance(y, list | tuple):
        values = np.empty(len(y), dtype=object)
        values[:] = y
    else:
        values = np.asarray(y.to_numpy() if hasattr(y, "to_numpy") else y)
    if values.dtype.kind == "O" and values.ndim == 1 and any(is_partial(v) for v in values):
        values = np.fromiter(map(single, values), dtype=object, count=len(values))
    return values


def set_members(values: npt.NDArray[Any]) -> list[Any]:
    """The labels of all entries that are sets."""
    return [v for held in _sets(values).values() for v in held]


def _sets(values: npt.NDArray[Any]) -> dict[int, list[Any]]:
    """The labels of every entry that is a set."""
    if values.dtype.kind != "O":
        return {}
    return {i: members(v, f"y[{i}]") for i, v in enumerate(values) if is_partial(v)}


def warn_unspoken_classes(
    classes: Classes, labels: IntArray, constraints: ConstraintSet, banned: BoolArray | None = None
) -> None:
    """Two classes that nothing tells apart will share what is left over, and a misspelt label is such a class.
    ``banned``: what sets in y rule out; they speak of the other classes."""
    named = {exact(name) for c in constraints for name in c.names}
    seen = np.isin(np.arange(len(classes)), labels)
    if banned is not None:
        seen |= (~banned[banned.any(axis=1)]).any(axis=0)
    silent = [c for k, c in enumerate(classes.tolist()) if exact(_plain(c)) not in named and not seen[k]]
    if len(silent) > 1:
        warnings.warn(
            f"Neither a label nor a constraint speaks of the classes {silent}: nothing can tell them apart.",
            TiltfitWarning,
            stacklevel=4,
        )


def _warn_alike(found: list[Any]) -> None:
    """Classes that the constraints name may be misspelt."""
    texts = [name for name in found if isinstance(name, str)]
    for k, name in enumerate(texts):
        guess = nearest(name, texts[:k], cutoff=0.92)
        if guess is not None:
            warnings.warn(
                f"Labels and constraints speak of {guess!r} and of {name!r}: if these are one class, one is misspelt. "
                "classes= says which there are.",
                TiltfitWarning,
                stacklevel=5,
            )


def _as_column(y: object, n: int) -> npt.NDArray[Any]:
    if y is None:
        return np.full(n, None, dtype=object)
    if isinstance(y, list | tuple):
        if any(isinstance(v, list | tuple | np.ndarray) for v in y):
            raise DataError(
                "y holds several labels a row. Multi-label y is not supported: train one model a label. (A set means "
                "that the label is one of its members.)"
            )
        # NumPy would turn a list of numbers and texts into texts; as objects, such labels are refused when sorted.
        if not any(is_missing(v) for v in y) and len({isinstance(v, str) for v in y}) == 1:
            y = np.asarray(y)
    values = as_objects(y)
    if values.ndim == 2 and values.shape[1] > 1:
        raise DataError(
            f"y should be a 1d array, got an array of shape {values.shape} instead. "
            "Multi-label y is not supported: train one model a label."
        )
    column = column_or_1d(values, warn=True)
    if column.dtype.kind == "f":
        assert_all_finite(column, allow_nan=True, input_name="y")
    if len(column) != n:
        raise DataError(f"X and y have different lengths: {n} and {len(column)}.")
    return np.asarray(column)


def _classes(named: list[object] | None, known: Sequence[Any], constraints: ConstraintSet, y: object) -> Classes:
    if named is not None:
        found = [_plain(v) for v in named]
        if len({exact(v) for v in found}) < len(found):
            raise DataError(f"classes names a label twice: {found}.")
    else:
        labels = {exact(_plain(v)): _plain(v) for v in known}
        spoken = {exact(name): name for c in constraints for name in c.names}
        # One label is not all there are, so that the constraints are asked, too.
        found = list((labels if len(labels) > 1 else labels | spoken).values())
        if len(labels) < 2:
            _warn_alike(found)
    if not found:
        who = "requires y to be passed, but the target y is None" if y is None else "has no label in y"
        raise DataError(
            f"TiltClassifier {who}, and there are no constraints: pass labels, constraints or both. (For clusters, "
            "method='em' of a generative model needs neither, but names for them: classes=.)"
        )
    if len(found) < 2:
        raise DataError(
            f"There is only one class, {found[0]!r}: a classifier needs at least two. Name them all with classes=."
        )
    try:
        return np.array(sorted(found))
    except TypeError as error:
        raise DataError(
            f"The classes {found} are of kinds that cannot be sorted together. Write all labels as one kind."
        ) from error


def _look_up(known: Sequence[Any] | npt.NDArray[Any], classes: Classes, where: str = "y") -> IntArray:
    number = {_plain(c): k for k, c in enumerate(classes)}
    codes = np.empty(len(known), dtype=np.intp)
    for i, value in enumerate(known):
        plain = _plain(value)
        if plain not in number:
            same = next((c for c in number if str(c) == str(plain)), None)
            hint = did_you_mean(plain, number) if same is None else f" {same!r} and {plain!r} are of different types."
            all_of_them = ", ".join(map(repr, number))
            raise UnknownLabelError(
                f"{where} holds the label {plain!r}, which is not one of the classes ({all_of_them}).{hint}"
            )
        codes[i] = number[plain]
    return codes


def _plain(value: object) -> Any:
    return label(value, "A label in y")
