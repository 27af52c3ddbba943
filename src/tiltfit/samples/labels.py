"""Decode y: a class number for every position (−1: unlabelled), and the labels that sets in y rule out.

For documents, y holds one label per row; for sequences it holds, per sequence, None (nothing is known) or one label per
position. None, NaN and pd.NA mean unlabelled. −1 does where ``classes`` is given without it, or where y has at least
two other values; otherwise it is a label, as in data coded ±1.

A ``set`` or ``frozenset`` in y says that the label is one of its members: a set of one is that label, a set of all
classes says nothing. Lists and tuples are not sets. None, NaN, −1 and the empty text are not members of a set: each
would be one more class, which nobody meant. −1 and "" are where ``classes`` names them, and −1 where y has at most one
other value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.utils import assert_all_finite, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from tiltfit.arrays import BoolArray, IntArray
from tiltfit.data.inputs import is_missing
from tiltfit.data.sequences import Sequences
from tiltfit.errors import DataError, TiltfitWarning, UnknownLabelError, did_you_mean, nearest, warn_user
from tiltfit.language.constraint import ConstraintSet
from tiltfit.language.values import exact, label

UNLABELLED = -1
"""The class number of an unlabelled position."""

_PLAIN = {str, bool, int}  # taken as they are: the case of nearly every label
_MISSING = {"nan", "NaN", "<NA>", "NaT", "None"}  # what None, NaN and pd.NA become as texts
_KINDS = {str: "text", bool: "truth value", int: "whole number", float: "decimal number"}
Key = tuple[type, Any]  # 1, 1.0 and True are equal in Python, but three labels


class Targets(NamedTuple):
    """``classes``: sorted. ``labels``: the class number of every position. ``banned``: the labels that sets rule out
    (positions × classes; None: nothing)."""

    classes: npt.NDArray[Any]
    labels: IntArray
    banned: BoolArray | None


def row_targets(
    y: object, n: int, classes: Iterable[object] | None = None, named: Iterable[object] = (), least: int = 2
) -> Targets:
    """Decode one label per row. The classes are ``classes`` if given, else the labels of y and, where these are fewer
    than two, also ``named``, the labels that constraints name; there must be ``least`` of them.

    >>> found = row_targets(["b", None, {"a", "b"}], 3, classes=["a", "b", "c"])
    >>> found.classes.tolist(), found.labels.tolist(), found.banned[2].tolist()
    (['a', 'b', 'c'], [1, -1, -1], [False, False, True])
    """
    declared = None if classes is None else [_class(c) for c in classes]
    found = rows_of(np.empty(0, dtype=object) if y is None else _as_column(y, n), n)
    known = [value for _, value in found.known(declared)]
    if known:
        # Each three times: of labels that occur once scikit-learn thinks that they are measurements.
        check_classification_targets(np.repeat(np.array(known), 3))
    return found.targets(declared, named, least, y is None)


def tag_targets(
    y: object,
    sequences: Sequences,
    classes: Iterable[object] | None = None,
    named: Iterable[object] = (),
    least: int = 2,
) -> Targets:
    """Decode one label per position of every sequence; parameters as for ``row_targets``.

    >>> from tiltfit.data.sequences import as_sequences
    >>> found = tag_targets([["b", None], None], as_sequences([["x", "y"], ["z"]]), classes=["a", "b"])
    >>> found.classes.tolist(), found.labels.tolist()
    (['a', 'b'], [1, -1, -1])
    """
    declared = None if classes is None else [_class(c) for c in classes]
    return tags_of(y, sequences).targets(declared, named, least, y is None)


class Decoder:
    """The entries of y, one per position (none if y is None), for ``n`` positions. ``strict``: labels of y are compared
    with the classes by type and value, all classes are of one type, and the empty text is not a label."""

    def __init__(
        self,
        values: Sequence[Any],
        place: Callable[[int], str],
        instance: Callable[[int], int],
        *,
        n: int | None = None,
        strict: bool = False,
    ) -> None:
        self.place, self.instance, self.strict = place, instance, strict
        self.seen: dict[Key, int] = {}  # label -> number in order of appearance
        self.sets: dict[int, list[Key]] = {}
        self.codes = np.full(len(values) if n is None else n, UNLABELLED, dtype=np.intp)
        seen, codes = self.seen, self.codes
        for i, given in enumerate(values):
            value = given if type(given) in _PLAIN else single(given)
            if type(value) in _PLAIN:
                codes[i] = seen.setdefault((type(value), value), len(seen))
            elif is_partial(value):
                self.sets[i] = [self._key(v, i, f"A label in {place(i)}") for v in self._members(value, i)]
            elif not _is_unknown(value):
                codes[i] = seen.setdefault(self._key(value, i, place(i)), len(seen))

    def known(self, declared: list[Any] | None) -> list[Key]:
        """The labels outside sets, −1 left out where it means unlabelled."""
        is_class = self._n_others < 2 if declared is None else any(map(is_minus_one, declared))
        return [key for key in self.seen if is_class or not is_minus_one(key[1])]

    def shown(self) -> list[Any]:
        """All labels, those in sets as well."""
        return [value for _, value in dict.fromkeys([*self.known(None), *self._inside])]

    def targets(self, declared: list[Any] | None, named: Iterable[object], least: int, is_none: bool) -> Targets:
        if self.strict and (str, "") in self.seen and "" not in (declared or ()):
            i = int(np.argmax(self.codes == self.seen[str, ""]))
            raise self._refused(i, "is an empty text. Write None where a label is not known.")
        self._take_marks(declared)
        known = self.known(declared)
        keys = list(dict.fromkeys([*known, *self._inside]))
        found = self._classes(declared, keys, named, least, is_none)
        number = {self._same(key_of(c)): k for k, c in enumerate(found.tolist())}
        self._refuse_unknown(keys, number, found.tolist())
        table = np.full(len(self.seen) + 1, UNLABELLED, dtype=np.intp)  # the last entry is that of −1
        for key in known:
            table[self.seen[key]] = number[self._same(key)]
        allowed = {i: [number[self._same(key)] for key in held] for i, held in self.sets.items()}
        return Targets(found, table[self.codes], ruled_out(allowed, len(self.codes), len(found)))

    def _same(self, key: Key) -> Any:
        """The key by which a label of y finds its class: a data frame may hold the class 1 as 1.0."""
        return key if self.strict else key[1]

    def _key(self, value: Any, i: int, where: str) -> Key:
        try:
            return key_of(label(value, where))
        except ValueError:
            raise DataError(
                f"{where} is {value!r:.80}. A label is a text, a number or a bool; None means unlabelled.",
                parameter="y",
                instance=self.instance(i),
            ) from None

    def _members(self, value: Any, i: int) -> list[Any]:
        if not value:
            raise self._refused(i, "is an empty set, which leaves no label. None means that nothing is known.")
        if any(is_missing(v) for v in value):
            raise self._refused(i, "is a set with a missing value in it. None alone means that nothing is known.")
        return sorted(value, key=repr)  # sets have no order, but messages and results should not change from run to run

    def _refused(self, i: int, why: str) -> DataError:
        return DataError(f"{self.place(i)} {why}", parameter="y", instance=self.instance(i))

    @property
    def _inside(self) -> list[Key]:
        """The labels in sets."""
        return [key for held in self.sets.values() for key in held]

    @property
    def _n_others(self) -> int:
        """The number of labels besides −1, inside and outside sets."""
        return len({key for key in [*self.seen, *self._inside] if not is_minus_one(key[1])})

    def _take_marks(self, declared: list[Any] | None) -> None:
        """Refuse −1 and "" in a set where they are not labels; sets of one of them that are left are that label."""
        n_others = self._n_others
        for i, held in list(self.sets.items()):
            for _, value in held:
                minus_one = is_minus_one(value)
                if not minus_one and value != "":
                    continue
                if declared is not None:
                    is_label = any(is_minus_one(c) if minus_one else c == "" for c in declared)
                else:
                    is_label = minus_one and n_others < 2
                if not is_label:
                    what = "-1, which means unlabelled" if minus_one else "an empty text, which is not a label"
                    raise self._refused(
                        i,
                        f"is a set with {what}. Leave it out of the set (None alone means that nothing is known), or "
                        "name it with classes= if it is a class.",
                    )
            if len(held) == 1:
                self.codes[i] = self.seen.setdefault(self.sets.pop(i)[0], len(self.seen))

    def _classes(
        self, declared: list[Any] | None, known: list[Key], named: Iterable[object], least: int, is_none: bool
    ) -> npt.NDArray[Any]:
        if declared is not None:
            found = declared
            if len({key_of(c) for c in found}) < len(found):
                raise DataError(f"classes names a label twice: {found}.", parameter="classes")
        else:
            shown = {key: key[1] for key in known}
            # One label is not all there are, so the constraints are asked as well.
            others = {key_of(c): c for c in (label(v, "A label of a constraint") for v in named)}
            found = list((shown if len(shown) > 1 else shown | others).values())
            if len(shown) < 2 and not self.strict:
                _warn_alike(found)
            self._warn_missing()
        if not found:
            who, model = ("A tagger", "an HMM") if self.strict else ("TiltClassifier", "a generative model")
            lacks = (
                "requires y to be passed, but the target y is None" if is_none else "needs labels, but y has no label"
            )
            raise DataError(
                f"{who} {lacks}, and neither classes= nor a constraint names any: pass labels, constraints or both. "
                f"(For clusters, method='em' of {model} needs neither, but names for them: classes=.)"
            )
        if len(found) < least:
            who = "tagger" if self.strict else "classifier"
            raise DataError(
                f"There is only one class, {found[0]!r}: a {who} needs at least two. Name them all with classes=."
            )
        self._refuse_kinds(found)
        return np.array(sorted(found))

    def _warn_missing(self) -> None:
        """A text that stands for a missing value elsewhere is a label all the same: it may be one."""
        for key, number in self.seen.items():
            if key[0] is str and key[1] in _MISSING:
                rows = np.flatnonzero(self.codes == number)
                warn_user(
                    f"y holds the text {key[1]!r} as a label, {len(rows):,} times, first at "
                    f"{self.place(int(rows[0]))}: it is a class. If the label is missing there, write None (np.array "
                    "makes texts of NaN, unless dtype=object); if it is a class, name it with classes=.",
                    TiltfitWarning,
                )

    def _refuse_kinds(self, found: list[Any]) -> None:
        """NumPy would make one type of several, and not all of the results are labels of y."""
        first = {type(value) if self.strict else type(value) is str: value for value in reversed(found)}
        if len(first) > 1:
            a, b = sorted(first.values(), key=found.index)[:2]
            kinds = f"a {_KINDS[type(a)]} and a {_KINDS[type(b)]}"
            raise DataError(
                f"The labels {a!r} and {b!r} are of different types, {kinds}. Write all labels as one type."
            )

    def _refuse_unknown(self, keys: list[Key], number: Mapping[Any, int], classes: list[Any]) -> None:
        strange = {key for key in keys if self._same(key) not in number}
        if not strange:
            return
        seen = list(self.seen)
        codes = [self.seen[key] for key in strange if key in self.seen]
        at = {int(i): seen[self.codes[i]] for i in np.flatnonzero(np.isin(self.codes, codes))}
        at |= {i: key for i, held in self.sets.items() for key in held if key in strange}
        i = min(at, key=lambda i: (i in self.sets, i))
        value = at[i][1]
        same = next((c for c in classes if str(c) == str(value)), None)
        hint = did_you_mean(value, classes) if same is None else f" {same!r} and {value!r} are of different types."
        what = "is a set with" if i in self.sets else "has"
        raise UnknownLabelError(
            f"{self.place(i)} {what} the label {value!r}, which is not one of the classes "
            f"({', '.join(map(repr, classes))}).{hint}",
            parameter="y",
            instance=self.instance(i),
            instances=dict.fromkeys(map(self.instance, sorted(at))),
        )


def find_unlabelled(values: npt.NDArray[Any], declared: Sequence[object] | None) -> BoolArray:
    """Return where rows have no label: None, NaN, pd.NA and sets always; −1 where it means unlabelled.

    Sets are labels known in part: such rows are not counted as hits or misses.

    >>> find_unlabelled(np.array([-1, 0, 1]), None).tolist(), find_unlabelled(np.array([-1, 1]), None).tolist()
    ([True, False, False], [False, False])
    """
    found = rows_of(values)
    known = found.known(None if declared is None else list(declared))
    return ~np.isin(found.codes, [found.seen[key] for key in known])


def refuse_other_kind(truth: Iterable[Any], classes: Sequence[Any]) -> None:
    """Refuse texts where classes are numbers, and numbers where they are texts: no such label can be right."""
    ours = isinstance(classes[0], str)
    strange = next((value for value in truth if isinstance(value, str) != ours), None)
    if strange is not None:
        mine, theirs = ("texts", "a number") if ours else ("numbers", "a text")
        raise DataError(
            f"y holds the label {strange!r}, {theirs}, but the classes of the model are {mine}, such as "
            f"{classes[0]!r}. Write the labels as the model has them.",
            parameter="y",
        )


def warn_unspoken_classes(
    classes: npt.NDArray[Any], labels: IntArray, constraints: ConstraintSet, banned: BoolArray | None = None
) -> None:
    """Warn about classes that nothing distinguishes: they share what is left over, and a misspelt label is one of them.
    ``banned``: what sets in y rule out; they are about the other classes."""
    named = {exact(name) for c in constraints for name in c.names}
    seen = np.isin(np.arange(len(classes)), labels)
    if banned is not None:
        seen |= (~banned[banned.any(axis=1)]).any(axis=0)
    silent = [c for k, c in enumerate(classes.tolist()) if exact(c) not in named and not seen[k]]
    if len(silent) > 1:
        warn_user(
            f"Neither a label nor a constraint is about the classes {silent}: nothing can tell them apart.",
            TiltfitWarning,
        )


def is_list(value: Any) -> bool:
    """Return whether a value holds several things in order; a text does not, nor does a set of labels."""
    return (
        hasattr(value, "__len__")
        and hasattr(value, "__iter__")
        and not isinstance(value, str | bytes | set | frozenset)
    )


def is_tagged(y: Any) -> bool:
    """Return whether y holds lists of labels, one per sequence."""
    return is_list(y) and any(is_list(row) for row in y)


def is_partial(value: object) -> bool:
    """Return whether an entry of y is a set."""
    return isinstance(value, set | frozenset)


def is_minus_one(value: object) -> bool:
    """Return whether a value is the number −1."""
    return isinstance(value, int | float | np.integer | np.floating) and value == -1


def single(value: Any) -> Any:
    """The label that a set of one is; anything else as it is, and so a set of what may not be a label.

    >>> single({"a"}), single("a"), single({"a", "b"}) == {"a", "b"}, single({-1})
    ('a', 'a', True, {-1})
    """
    if not is_partial(value) or len(value) != 1:
        return value
    member = next(iter(value))
    return value if is_missing(member) or member == "" or is_minus_one(member) else member


def ruled_out(sets: Mapping[int, Sequence[int]], n: int, n_classes: int) -> BoolArray | None:
    """The labels that sets rule out (positions × classes); None if there are none. ``sets``: position → class numbers.

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


def as_objects(y: Any) -> npt.NDArray[Any]:
    """y as an array; lists become arrays of objects, so None and labels can stand side by side. Sets of one are the
    label they hold."""
    if isinstance(y, list | tuple):
        values = np.empty(len(y), dtype=object)
        values[:] = y
    else:
        values = np.asarray(y.to_numpy() if hasattr(y, "to_numpy") else y)
    if values.dtype.kind == "O" and values.ndim == 1 and any(is_partial(v) for v in values):
        values = np.fromiter(map(single, values), dtype=object, count=len(values))
    return values


def key_of(value: Any) -> Key:
    """A label to compare by: its type and value."""
    return type(value), value


def rows_of(values: npt.NDArray[Any], n: int | None = None) -> Decoder:
    """The entries of y, one per row."""
    plain = values.tolist() if values.dtype.kind in "biufUO" else list(values)
    return Decoder(plain, lambda i: f"y[{i}]", lambda i: i, n=n)


def tags_of(y: Any, sequences: Sequences) -> Decoder:
    """The entries of y, one per position of every sequence."""
    values = () if y is None else _flat(y, sequences)
    return Decoder(values, lambda i: sequences.where(i, "y"), sequences.sequence_of, n=sequences.n, strict=True)


def _class(value: object) -> Any:
    try:
        return label(value, "A label of classes")
    except ValueError:
        raise DataError(
            f"A label of classes is {value!r:.80}. A label is a text, a number or a bool.",
            parameter="classes",
        ) from None


def _is_unknown(value: object) -> bool:
    # An array compared with itself is an array, neither true nor false.
    return not hasattr(value, "__len__") and is_missing(value)


def _warn_alike(found: list[Any]) -> None:
    """Classes that the constraints name may be misspelt."""
    texts = [name for name in found if type(name) is str]
    for k, name in enumerate(texts):
        guess = nearest(name, texts[:k], cutoff=0.92)
        if guess is not None:
            warn_user(
                f"Labels and constraints name {guess!r} and {name!r}: if these are one class, one is misspelt. "
                "classes= says which there are.",
                TiltfitWarning,
            )


def _as_column(y: object, n: int) -> npt.NDArray[Any]:
    """y as scikit-learn has it: an array with one entry per row."""
    if isinstance(y, list | tuple):
        if any(isinstance(v, list | tuple | np.ndarray) for v in y):
            raise DataError(
                "y holds several labels per row. Multi-label y is not supported: train one model per label. (A set "
                "means that the label is one of its members.)"
            )
        # NumPy would turn a list of numbers and texts into texts; as objects, such labels are refused when sorted.
        if not any(is_missing(v) for v in y) and len({isinstance(v, str) for v in y}) == 1:
            y = np.asarray(y)
    values = as_objects(y)
    if values.ndim == 2 and values.shape[1] > 1:
        raise DataError(
            f"y should be a 1d array, got an array of shape {values.shape} instead. "
            "Multi-label y is not supported: train one model per label.",
            parameter="y",
        )
    column = column_or_1d(values, warn=True)
    if column.dtype.kind == "f":
        assert_all_finite(column, allow_nan=True, input_name="y")
    if len(column) != n:
        raise DataError(f"X and y have different lengths: {n} and {len(column)}.", parameter="y")
    return np.asarray(column)


def _flat(y: Any, sequences: Sequences) -> list[Any]:
    """One entry per position."""
    if isinstance(y, str | bytes) or not (isinstance(y, Sequence | np.ndarray) or hasattr(y, "to_numpy")):
        raise DataError(f"y must be a list with the labels of each sequence (or None), but is {y!r:.80}.")
    rows = list(y)
    if len(rows) != sequences.n_sequences:
        raise DataError(
            f"X holds {sequences.n_sequences} sequences, but y has {len(rows)} entries: one list of labels (or None) "
            "per sequence is needed.",
            parameter="y",
        )
    flat: list[Any] = []
    for k, (row, n) in enumerate(zip(rows, sequences.lengths.tolist(), strict=True)):
        if _is_unknown(row):
            flat += [None] * n
            continue
        labels = _row(row, k)
        if len(labels) != n:
            raise DataError(
                f"Sequence {k} has {n} positions, but y[{k}] has {len(labels)} labels. "
                "Give one label per position (None where it is unknown).",
                parameter="y",
                instance=k,
            )
        flat += labels
    return flat


def _row(row: Any, k: int) -> list[Any]:
    if isinstance(row, list | tuple):
        return list(row)
    if hasattr(row, "tolist") and getattr(row, "ndim", 1) == 1:
        return list(row.tolist())
    if hasattr(row, "to_list"):
        return list(row.to_list())
    raise DataError(
        f"y[{k}] is {row!r:.80}, but must be a list with one label for each position of sequence {k} "
        "(None where it is unknown), or None.",
        parameter="y",
        instance=k,
    )
