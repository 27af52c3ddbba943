"""The data of a comparison: what is learned from, and what is judged on.

All methods get the same classes, those of ``classes=``, of the constraint file, of all labels in y (also of those that
``labelled=`` takes away) or of the constraints, so that their figures are about the same question.
"""

from __future__ import annotations

import numbers
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import _num_samples

from tiltfit.arrays import IntArray
from tiltfit.comparison.evidence import Truth
from tiltfit.comparison.worker import TaskName, Work
from tiltfit.data.sequences import as_sequences
from tiltfit.errors import DataError, TiltfitWarning, UnknownLabelError, UnsupportedError, did_you_mean
from tiltfit.estimators.development import naming_dev
from tiltfit.language.constraint import ConstraintSet
from tiltfit.language.values import exact
from tiltfit.samples.labels import as_objects, row_targets, tag_targets

TASKS = ("auto", "classify", "tag")
_TEST = "test=(X_test, y_test)"


@dataclass(frozen=True, eq=False)
class Parts:
    """``work``: what is learned from. ``names``: all labels, those of the models first. ``codes``: the number of every
    position's label in the test part (−1: none); ``offsets``: where its instances begin."""

    work: Work
    names: list[Any]
    codes: IntArray
    offsets: IntArray
    train: int
    labelled: int

    @property
    def known(self) -> npt.NDArray[np.bool_]:
        """Which positions of the test part have a label."""
        return np.asarray(self.codes >= 0)

    @property
    def owner(self) -> IntArray:
        """The instance of every position."""
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))

    @property
    def judged(self) -> IntArray:
        """The instances of the test part that have any label."""
        return np.unique(self.owner[self.known])

    @property
    def truth(self) -> Truth:
        """The labelled positions, their instances numbered anew."""
        owner = self.owner[self.known]
        return Truth(np.searchsorted(self.judged, owner), self.codes[self.known], len(self.judged), len(self.names))

    def nested(self, codes: IntArray) -> list[list[Any]]:
        """One label a position as lists, one an instance; None where there is none."""
        labels = [None if k < 0 else self.names[k] for k in codes.tolist()]
        return [labels[a:b] for a, b in zip(self.offsets[:-1], self.offsets[1:], strict=True)]


def prepare(
    constraints: Any,
    X: Any,
    y: Any,
    test: Any,
    *,
    task: str,
    classes: Iterable[object] | None,
    labelled: Any,
    seed: int,
) -> Parts:
    """Check and encode the data; raises by name before any work starts."""
    X_test, y_test = _pair(test)
    kind = _task(task, y_test)
    said = ConstraintSet.of(constraints, "tokens" if kind == "tag" else None)
    encode = _of_sequences if kind == "tag" else _of_documents
    names, codes, offsets = encode(X, y, said, classes)
    said = said.with_classes(names, "tokens" if kind == "tag" else None)
    marked = np.unique(np.searchsorted(offsets, np.flatnonzero(codes >= 0), side="right") - 1)
    values, kept = _keep(y, marked, labelled, np.random.default_rng([seed, 0]))
    with naming_dev(_TEST):
        truth = _test_tags if kind == "tag" else _test_labels
        all_names, test_codes, test_offsets = truth(X_test, y_test, names)
        if not np.any(test_codes >= 0):
            raise DataError("nothing is labelled, so there is nothing to judge by.")
    work = Work(kind, said, names, X, values, X_test, seed)
    return Parts(work, all_names, test_codes, test_offsets, len(offsets) - 1, kept)


def _pair(test: Any) -> tuple[Any, Any]:
    if not isinstance(test, tuple | list) or len(test) != 2:
        raise DataError(f"test= must be a pair (X_test, y_test) of labelled data, but is {test!r:.60}.")
    if test[1] is None:
        raise DataError(f"{_TEST} needs labels, but y_test is None.")
    return test[0], test[1]


def _task(task: str, y_test: Any) -> TaskName:
    if task == "classify":
        return "classify"
    if task == "tag":
        return "tag"
    if task != "auto":
        raise UnsupportedError(f"task={task!r} is unknown: use one of {', '.join(TASKS)}.{did_you_mean(task, TASKS)}")
    first = next((label for label in y_test if label is not None), None)
    # Of sequences, y holds a list of labels each; of documents, a label.
    several = hasattr(first, "__len__") and not isinstance(first, str | set | frozenset)
    return "tag" if several else "classify"


Encoded = tuple[list[Any], IntArray, IntArray]  # labels, the number of each position's, where instances begin


def _of_documents(X: Any, y: Any, said: ConstraintSet, classes: Iterable[object] | None) -> Encoded:
    n = n_instances(X)
    found, codes, _ = row_targets(
        y, n, said.classes if classes is None else classes, [name for c in said for name in c.names]
    )
    return found.tolist(), codes, np.arange(n + 1)


def _of_sequences(X: Any, y: Any, said: ConstraintSet, classes: Iterable[object] | None) -> Encoded:
    sequences = as_sequences(X, allow_empty=False)
    named = [name for constraint in said for name in constraint.names]
    found, codes, _ = tag_targets(y, sequences, said.classes if classes is None else classes, named)
    return found.tolist(), codes, sequences.offsets


def n_instances(X: Any) -> int:
    """How many rows X has."""
    if isinstance(X, Mapping):
        return len(next(iter(X.values()), ()))
    try:
        return int(_num_samples(X))
    except TypeError as error:
        raise DataError(f"X is {X!r:.60}: pass texts, a matrix or a table.") from error


def _keep(y: Any, marked: IntArray, labelled: Any, rng: np.random.Generator) -> tuple[list[Any] | None, int]:
    """y with the labels of ``labelled`` instances alone, drawn among those that have any; and how many have. With the
    same seed, fewer are a part of more."""
    if labelled is None:
        return (None if y is None else list(as_objects(y))), len(marked)
    if not isinstance(labelled, numbers.Integral) or isinstance(labelled, bool) or int(labelled) < 0:
        raise DataError(f"labelled={labelled!r} must be a whole number: of how many instances to keep the labels.")
    if int(labelled) > len(marked):
        raise DataError(f"labelled={labelled}, but only {len(marked)} of the training data have labels.")
    if y is None:
        return None, 0
    values: list[Any] = [None] * len(y)
    known = y if isinstance(y, list | tuple) else as_objects(y)
    for i in rng.permutation(marked)[: int(labelled)].tolist():
        values[i] = known[i]
    return values, int(labelled)


def _test_labels(X: Any, y: Any, names: list[Any]) -> Encoded:
    n = n_instances(X)
    respelt = _spellings(names)
    values = [value if isinstance(value, list | tuple) else respelt.get(str(value), value) for value in as_objects(y)]
    codes = row_targets(values, n, names).labels
    return names, codes, np.arange(n + 1)


def _test_tags(X: Any, y: Any, names: list[Any]) -> Encoded:
    """Labels that no model knows come after the others: all of them are mistakes."""
    sequences, respelt = as_sequences(X), _spellings(names)
    found, codes, _ = tag_targets(y, sequences, named=names, least=1)
    number = {exact(name): k for k, name in enumerate(names)}
    all_names, table = list(names), np.full(len(found) + 1, -1, dtype=np.intp)
    for k, label in enumerate(found.tolist()):
        plain = respelt.get(str(label), label)
        if exact(plain) not in number and plain == -1:
            continue  # it is no class, so it means unlabelled
        if exact(plain) not in number:
            number[exact(plain)] = len(all_names)
            all_names.append(plain)
        table[k] = number[exact(plain)]
    codes = table[codes]
    _warn_unknown(codes, all_names, len(names))
    return all_names, codes, sequences.offsets


def _warn_unknown(codes: IntArray, names: list[Any], n_known: int) -> None:
    unknown = Counter(codes[codes >= n_known].tolist())
    if unknown and not np.any((codes >= 0) & (codes < n_known)):
        label = names[min(unknown)]
        guess = did_you_mean(label, names[:n_known])
        raise UnknownLabelError(f"no label, such as {label!r}, is one of the classes ({names[:n_known]}).{guess}")
    for k, n in unknown.items():
        warnings.warn(
            f"{n} tokens of the test part are labelled {names[k]!r}, which is not one of the classes: for every method "
            f"they count as mistakes.{did_you_mean(names[k], names[:n_known])}",
            TiltfitWarning,
            stacklevel=5,
        )


def _spellings(names: list[Any]) -> dict[str, Any]:
    """A file of columns knows only text, so that "1" must find a class 1."""
    return {str(name): name for name in names}
