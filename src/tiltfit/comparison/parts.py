"""The data of a comparison: the training part and the test part.

All methods get the same classes, those of ``classes=``, of the constraint file, of all labels in y (also of those that
``labelled=`` takes away) or of the constraints, so that their figures are about the same question.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tiltfit.arrays import IntArray
from tiltfit.comparison.figures import Truth
from tiltfit.comparison.worker import Work
from tiltfit.data.inputs import Inputs
from tiltfit.errors import DataError, TiltfitWarning, UnknownLabelError, did_you_mean
from tiltfit.estimators.development import naming_dev
from tiltfit.estimators.options import whole_parameter
from tiltfit.language.constraint import ConstraintSet
from tiltfit.language.values import exact
from tiltfit.samples.labels import as_objects, find_unlabelled, row_targets, tag_targets
from tiltfit.samples.task import task_named

_TEST = "test=(X_test, y_test)"


@dataclass(frozen=True, eq=False)
class Parts:
    """``work``: what is learned from. ``names``: all labels, those of the models first. ``codes``: the number of every
    position's label in the test part (−1: none); ``offsets``: where its instances begin."""

    work: Work
    names: list[Any]
    codes: IntArray
    offsets: IntArray
    labelled: int

    @property
    def known(self) -> npt.NDArray[np.bool_]:
        """The positions of the test part that have a label."""
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
        """One label per position as lists, one per instance; None where there is none."""
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
    kind = task_named(task, [label for label in y_test if label is not None][:1])
    said = ConstraintSet.of(constraints, kind.unit)
    inputs = kind.read(X, allow_empty=not kind.is_sequences)
    declared, named = said.classes if classes is None else classes, [name for c in said for name in c.names]
    found, codes, _ = kind.targets(y, inputs, declared, named)
    names, offsets = found.tolist(), _offsets(inputs)
    said = said.with_classes(names, kind.unit)
    marked = np.unique(np.searchsorted(offsets, np.flatnonzero(codes >= 0), side="right") - 1)
    values, kept = _keep(y, marked, labelled, np.random.default_rng([seed, 0]))
    with naming_dev(_TEST, "test"):
        tested = kind.read(X_test)
        all_names, test_codes = (_test_tags if kind.is_sequences else _test_labels)(tested, y_test, names)
        if not np.any(test_codes >= 0):
            raise DataError("nothing is labelled, so there is nothing to judge by.")
    work = Work(kind, said, names, X, values, len(offsets) - 1, X_test, seed)
    return Parts(work, all_names, test_codes, _offsets(tested), kept)


def _pair(test: Any) -> tuple[Any, Any]:
    if not isinstance(test, tuple | list) or len(test) != 2:
        raise DataError(f"test= must be a pair (X_test, y_test) of labelled data, but is {test!r:.60}.")
    if test[1] is None:
        raise DataError(f"{_TEST} needs labels, but y_test is None.")
    return test[0], test[1]


def _offsets(inputs: Inputs) -> IntArray:
    """The first position of every instance, and the end."""
    return np.concatenate([[0], np.cumsum(inputs.lengths)]).astype(np.intp)


def _keep(y: Any, marked: IntArray, labelled: Any, rng: np.random.Generator) -> tuple[list[Any] | None, int]:
    """y with the labels of ``labelled`` instances alone, drawn among those that have any; and how many have. With the
    same seed, fewer are a part of more."""
    if labelled is None:
        return (None if y is None else list(as_objects(y))), len(marked)
    whole_parameter("labelled", labelled, 0)
    if int(labelled) > len(marked):
        raise DataError(f"labelled={labelled}, but only {len(marked)} of the training data have labels.")
    if y is None:
        return None, 0
    kept = {*rng.permutation(marked)[: int(labelled)].tolist()}
    return [value if i in kept else None for i, value in enumerate(as_objects(y))], int(labelled)


def _test_labels(inputs: Any, y: Any, names: list[Any]) -> tuple[list[Any], IntArray]:
    """The labels, and the number of each document's."""
    respelt = _spellings(names)
    values = as_objects(y)
    unknown = find_unlabelled(values, names)  # None has a spelling, too, and a class may be called that
    named = [v if free else respelt.get(str(v), v) for v, free in zip(values, unknown.tolist(), strict=True)]
    return names, row_targets(named, inputs.n, names).labels


def _test_tags(inputs: Any, y: Any, names: list[Any]) -> tuple[list[Any], IntArray]:
    """The same of tokens. Labels that no model knows come after the others: all of them are mistakes."""
    respelt = _spellings(names)
    found, codes, _ = tag_targets(y, inputs, named=names, least=1)
    number = {exact(name): k for k, name in enumerate(names)}
    all_names, table = list(names), np.full(len(found) + 1, -1, dtype=np.intp)
    for k, label in enumerate(found.tolist()):
        plain = respelt.get(str(label), label)
        if exact(plain) not in number and plain == -1:
            continue  # it is not a class, so it means unlabelled
        if exact(plain) not in number:
            number[exact(plain)] = len(all_names)
            all_names.append(plain)
        table[k] = number[exact(plain)]
    codes = table[codes]
    _warn_unknown(codes, all_names, len(names))
    return all_names, codes


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
