"""What y says of sequences: a class number for every position, −1 where it is unlabelled.

y is None, or holds for every sequence None (nothing is known) or one label a position, None or NaN where it is unknown.
−1 means unlabelled when ``classes`` is given without it, or when y has at least two other values; else it is a label.
A set in the place of a label says that the label is one of its members (``data.partial``).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tiltfit.arrays import BoolArray, IntArray
from tiltfit.data.inputs import is_missing
from tiltfit.data.partial import is_minus_one, is_partial, members, refuse_marks, ruled_out, single
from tiltfit.errors import DataError, UnknownLabelError, did_you_mean

if TYPE_CHECKING:
    from tiltfit.data.sequences import Sequences


UNLABELLED = -1
_KINDS = (str, bool, int, float)
_NAMES = {str: "text", bool: "truth value", int: "whole number", float: "decimal number"}
_PLAIN = {str, bool, int}  # taken as they are: the way of nearly every label
Key = tuple[type, Any]  # 1, 1.0 and True are equal in Python, but three labels


def encode_tags(
    y: object,
    sequences: Sequences,
    classes: Iterable[object] | None = None,
    named: Iterable[object] = (),
    least: int = 2,
) -> tuple[npt.NDArray[Any], IntArray]:
    """Sorted classes, and the class number of every position (−1: unlabelled).

    Classes are ``classes`` if given, else the labels of y and, where these are fewer than two, ``named``, the labels
    that constraints name; there must be ``least`` of them.

    >>> from tiltfit.data.sequences import as_sequences
    >>> found, codes = encode_tags([["b", None], None], as_sequences([["x", "y"], ["z"]]), classes=["a", "b"])
    >>> found.tolist(), codes.tolist()
    (['a', 'b'], [1, -1, -1])
    """
    return encode_known_tags(y, sequences, classes, named, least)[:2]


def encode_known_tags(
    y: object,
    sequences: Sequences,
    classes: Iterable[object] | None = None,
    named: Iterable[object] = (),
    least: int = 2,
) -> tuple[npt.NDArray[Any], IntArray, BoolArray | None]:
    """As ``encode_tags``, and what sets rule out (positions × classes; None: nothing)."""
    declared = None if classes is None else [_label(c, "A label of classes") for c in classes]
    seen: dict[Key, int] = {}  # label -> number in order of appearance
    sets: dict[int, list[Key]] = {}
    codes = _appearances(y, sequences, seen, sets)
    _refuse_empty(sequences, seen, codes, declared)
    _take_marks(sequences, seen, sets, codes, declared)
    known = _without_minus_one(list(seen), [key for held in sets.values() for key in held], declared)
    inside = [key for held in sets.values() for key in held if key not in known]
    found = _classes(declared, [*known, *dict.fromkeys(inside)], named, y, least)
    number = {_key(c): k for k, c in enumerate(found.tolist())}
    table = np.full(len(seen) + 1, UNLABELLED, dtype=np.intp)  # the last entry is that of −1
    for key in known:
        if key not in number:
            i = int(np.flatnonzero(codes == seen[key])[0])
            raise _unknown(sequences, i, "is labelled", key[1], found.tolist())
        table[seen[key]] = number[key]
    for i, held in sets.items():
        for key in held:
            if key not in number:
                raise _unknown(sequences, i, "is a set with the label", key[1], found.tolist())
    allowed = {i: [number[key] for key in held] for i, held in sets.items()}
    return found, table[codes], ruled_out(allowed, sequences.n, len(found))


def _appearances(y: object, sequences: Sequences, seen: dict[Key, int], sets: dict[int, list[Key]]) -> IntArray:
    """The number in ``seen`` of every position's label; fills ``seen``, and ``sets`` where y holds one."""
    codes = np.full(sequences.n, UNLABELLED, dtype=np.intp)
    if y is None:
        return codes
    rows = _rows(y, sequences.n_sequences)
    for k, (row, start, end) in enumerate(zip(rows, sequences.offsets[:-1], sequences.offsets[1:], strict=True)):
        if _is_unknown(row):
            continue
        labels = _labels(row, k)
        if len(labels) != end - start:
            raise DataError(
                f"Sequence {k} has {end - start} positions, but y[{k}] has {len(labels)} labels. "
                "Give one label per position (None where it is unknown).",
                instance=k,
            )
        for i, given in enumerate(labels, start):
            value = given if type(given) in _PLAIN else single(given)
            if type(value) in _PLAIN:
                codes[i] = seen.setdefault((type(value), value), len(seen))
            elif is_partial(value):
                where = sequences.place(i, "y")
                sets[i] = [_key(_label(v, f"A label in {where}")) for v in members(value, where)]
            elif not _is_unknown(value):
                codes[i] = seen.setdefault(_key(_label(value, sequences.place(i, "y"))), len(seen))
    return codes


def _refuse_empty(sequences: Sequences, seen: dict[Key, int], codes: IntArray, declared: list[Any] | None) -> None:
    """In files an empty label is none; here nobody can tell."""
    number = seen.get((str, ""))
    if number is not None and "" not in (declared or ()):
        i = int(np.argmax(codes == number))
        raise sequences.refused(i, "is an empty text. Write None where a label is not known.", "y")


def _is_unknown(value: object) -> bool:
    # An array compared with itself is an array, neither true nor false.
    return not hasattr(value, "__len__") and is_missing(value)


def _rows(y: Any, n: int) -> list[Any]:
    if isinstance(y, str | bytes) or not (isinstance(y, Sequence | np.ndarray) or hasattr(y, "to_numpy")):
        raise DataError(f"y must be a list with the labels of each sequence (or None), but is {y!r:.80}.")
    rows = list(y)
    if len(rows) != n:
        raise DataError(f"X holds {n} sequences, but y has {len(rows)} entries: one list of labels (or None) each.")
    return rows


def _labels(row: Any, k: int) -> list[Any]:
    if isinstance(row, list | tuple):
        return list(row)
    if hasattr(row, "tolist") and getattr(row, "ndim", 1) == 1 and not isinstance(row, np.generic):
        return list(row.tolist())
    if hasattr(row, "to_list"):
        return list(row.to_list())
    raise DataError(
        f"y[{k}] is {row!r:.80}, but must be a list with one label for each position of sequence {k} "
        "(None where it is unknown), or None.",
        instance=k,
    )


def _without_minus_one(seen: list[Key], inside: list[Key], declared: list[Any] | None) -> list[Key]:
    """``inside``: the labels of sets, which are labels of y."""
    others = [key for key in seen if not is_minus_one(key[1])]
    is_class = _n_others(seen, inside) < 2 if declared is None else any(map(is_minus_one, declared))
    return seen if is_class else others


def _n_others(seen: Iterable[Key], inside: Iterable[Key]) -> int:
    """How many labels besides −1 there are."""
    return len({key for key in [*seen, *inside] if not is_minus_one(key[1])})


def _take_marks(
    sequences: Sequences, seen: dict[Key, int], sets: dict[int, list[Key]], codes: IntArray, declared: list[Any] | None
) -> None:
    """Refuses sets with what is no label in them; those of one label that are left are that label."""
    n_others = _n_others(seen, [key for held in sets.values() for key in held])
    for i, held in list(sets.items()):
        refuse_marks([value for _, value in held], sequences.place(i, "y"), declared, n_others)
        if len(held) == 1:
            codes[i] = seen.setdefault(sets.pop(i)[0], len(seen))


def _classes(
    declared: list[Any] | None, known: list[Key], named: Iterable[object], y: object, least: int
) -> npt.NDArray[Any]:
    if declared is not None:
        found = declared
        if len({_key(c) for c in found}) < len(found):
            raise DataError(f"classes names a label twice: {found}.")
    else:
        unique = {_key(c): c for c in (_label(v, "A label of a constraint") for v in named)}
        # One label is not all there are, so that the constraints are asked, too.
        shown = {key: key[1] for key in known}
        found = list((shown if len(shown) > 1 else shown | unique).values())
    if not found:
        lacking = "is None" if y is None else "has no label"
        raise DataError(
            f"A tagger needs labels, but y {lacking}, and neither classes= nor a constraint names any. (For clusters, "
            "method='em' of an HMM needs no more than their names: classes=.)"
        )
    if len(found) < least:
        raise DataError(
            f"There is only one class, {found[0]!r}: a tagger needs at least two. Name them all with classes=."
        )
    by_kind = {type(value): value for value in reversed(found)}
    if len(by_kind) > 1:
        # NumPy would make one kind of them, of which not all are labels of y.
        a, b = sorted(by_kind.values(), key=found.index)[:2]
        kinds = f"a {_NAMES[type(a)]} and a {_NAMES[type(b)]}"
        raise DataError(f"The labels {a!r} and {b!r} are of different types, {kinds}. Write all labels as one kind.")
    return np.array(sorted(found))


def _label(value: object, where: str) -> Any:
    """A label as a plain str, bool, int or float."""
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, _KINDS) and not (isinstance(plain, float) and not math.isfinite(plain)):
        return next(kind for kind in _KINDS if isinstance(plain, kind))(plain)
    raise DataError(f"{where} is {value!r:.80}. A label is a text, a number or a bool; None means unlabelled.")


def _key(value: Any) -> Key:
    return type(value), value


def _unknown(sequences: Sequences, i: int, does: str, value: object, classes: list[Any]) -> UnknownLabelError:
    same = next((c for c in classes if str(c) == str(value)), None)
    hint = did_you_mean(value, classes) if same is None else f" {same!r} and {value!r} are of different types."
    known = ", ".join(map(repr, classes))
    found = sequences.refused(i, f"{does} {value!r}, which is not one of the classes ({known}).{hint}", "y")
    return UnknownLabelError(*found.args, instance=found.instance)
