"""What a page is about: a fitted model and what it says of some data, as plain values."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tiltfit.arrays import FloatArray, IntArray
from tiltfit.data.inputs import Unit
from tiltfit.data.sequences import Sequences, as_sequences
from tiltfit.errors import DataError, TiltfitError, TiltfitWarning, UnsupportedError
from tiltfit.estimators.classifier import TiltClassifier
from tiltfit.estimators.tagger import TiltTagger
from tiltfit.report.constraints import ConstraintReport
from tiltfit.report.targets import Targets, targets_of
from tiltfit.samples.labels import as_objects, row_targets, tag_targets


@dataclass(frozen=True, eq=False)
class Account:
    """``p`` and ``q``: probabilities (positions × classes) under the model and projected onto the constraints as they
    apply to these data (None: that cannot be told, and ``notes`` say why). ``predicted``: the number of each position's
    label; ``truth``: of its true one (−1: not known; beyond the classes: none of them). ``sequences``: X, if its
    positions are tokens. ``notes``: what went otherwise than one would expect."""

    estimator: TiltClassifier | TiltTagger
    X: Any
    classes: list[str]
    p: FloatArray
    q: FloatArray | None
    predicted: IntArray
    truth: IntArray
    sequences: Sequences | None = None
    names: Sequence[str] = ()
    notes: tuple[str, ...] = ()

    @property
    def unit(self) -> Unit:
        unit: Unit = self.estimator._unit  # type: ignore[assignment]
        return unit

    @property
    def report(self) -> ConstraintReport:
        report: ConstraintReport = self.estimator.constraint_report_
        return report

    @property
    def targets(self) -> Targets:
        return targets_of(self.estimator._constraints, self.classes, self.unit)

    @property
    def n(self) -> int:
        """Documents, rows or tokens."""
        return len(self.p)

    @property
    def known(self) -> IntArray:
        """The positions whose label is known."""
        return np.flatnonzero(self.truth >= 0)

    @property
    def confidence(self) -> FloatArray:
        """The model's probability of what it predicts."""
        return np.asarray(self.p[np.arange(self.n), self.predicted])

    @property
    def offsets(self) -> IntArray:
        """Where documents or sequences begin."""
        return np.arange(self.n + 1) if self.sequences is None else self.sequences.offsets

    def name(self, code: int) -> str:
        """What a label is called."""
        return self.names[code] if code < len(self.names) else "another label"


def account_of(estimator: Any, X: Any, y: Any = None) -> Account:
    """Ask the model about X. y may hold None where a label is not known."""
    if not isinstance(estimator, TiltClassifier | TiltTagger):
        raise UnsupportedError(
            f"A page is about a fitted TiltClassifier or TiltTagger, but got {type(estimator).__name__}."
        )
    check_is_fitted(estimator)
    make = _of_sequences if isinstance(estimator, TiltTagger) else _of_documents
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", TiltfitWarning)
        account = make(estimator, X, y)
    notes = [str(w.message) for w in said if issubclass(w.category, TiltfitWarning)]
    for other in (w for w in said if not issubclass(w.category, TiltfitWarning)):
        warnings.warn_explicit(other.message, other.category, other.filename, other.lineno)
    return Account(**{**vars(account), "notes": tuple(dict.fromkeys([*account.notes, *notes]))})


def _of_documents(estimator: Any, X: Any, y: Any) -> Account:
    p = estimator.predict_proba(X)
    if not len(p):
        raise DataError("There are no documents to report on.")
    names, truth = _labels(np.full(len(p), None) if y is None else y, estimator, len(p))
    q, notes = _projected(lambda: estimator.project(X))
    return Account(estimator, X, _classes(estimator), p, q, p.argmax(axis=1), truth, None, names, notes)


def _of_sequences(estimator: Any, X: Any, y: Any) -> Account:
    sequences = as_sequences(X)
    if not sequences.n:
        raise DataError("There are no tokens to report on.")
    names, truth = _tags([None] * sequences.n_sequences if y is None else y, estimator, sequences)
    p = np.concatenate(estimator.predict_marginals(sequences))
    q, notes = _projected(lambda: np.concatenate(estimator.project(sequences)))
    number = {str(name): k for k, name in enumerate(estimator.classes_.tolist())}
    predicted = np.array([number[str(t)] for row in estimator.predict(sequences) for t in row], dtype=np.intp)
    return Account(estimator, X, _classes(estimator), p, q, predicted, truth, sequences, names, notes)


def _classes(estimator: Any) -> list[str]:
    return [str(name) for name in estimator.classes_.tolist()]


def _labels(y: Any, estimator: Any, n: int) -> tuple[list[str], IntArray]:
    """What labels are called, and the number of each; a file may know the class 1 as "1"."""
    classes = estimator.classes_.tolist()
    respelt = {str(name): name for name in classes}
    values = [v if isinstance(v, list | tuple | set | frozenset) else respelt.get(str(v), v) for v in as_objects(y)]
    return _classes(estimator), row_targets(values, n, classes).labels


def _tags(y: Any, estimator: Any, sequences: Sequences) -> tuple[list[str], IntArray]:
    """Tags that the model does not know come after the others."""
    names = _classes(estimator)
    found, codes, _ = tag_targets(y, sequences, named=estimator.classes_.tolist(), least=1)
    number = {name: k for k, name in enumerate(names)}
    # -1 that is no class means unlabelled; the last entry is for codes of -1.
    table = [-1 if t == -1 and str(t) not in names else number.setdefault(str(t), len(number)) for t in found.tolist()]
    return list(number), np.array([*table, -1], dtype=np.intp)[codes]


def _projected(project: Any) -> tuple[FloatArray | None, tuple[str, ...]]:
    try:
        return np.asarray(project(), dtype=np.float64), ()
    except TiltfitError as error:
        return None, (f"The data could not be projected onto the constraints: {error}",)
