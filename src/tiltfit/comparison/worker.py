"""One cell: fit its estimator, predict the test part. Here, or in a separate process.

Seconds are those of ``fit``. A small part of the data is fitted first, so that no cell is charged with loading compiled
code; memory is what ``fit`` took on top of data and program.
"""

from __future__ import annotations

import os
import pickle
import sys
import time
import traceback
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from sklearn.utils import _safe_indexing

from tiltfit.arrays import FloatArray, IntArray
from tiltfit.comparison.cells import Cell
from tiltfit.comparison.memory import watch
from tiltfit.errors import TiltfitError, UnsupportedError
from tiltfit.estimators.classifier import TiltClassifier
from tiltfit.estimators.estimator import TiltEstimator
from tiltfit.estimators.tagger import TiltTagger
from tiltfit.language.constraint import ConstraintSet
from tiltfit.methods.catalogue import METHODS
from tiltfit.models.registry import MODELS
from tiltfit.registry import GROUP
from tiltfit.report.constraints import ConstraintReport
from tiltfit.samples.task import Task

_FEW = 100  # instances that are fitted first


@dataclass(frozen=True, eq=False)
class Work:
    """The task, the data and the constraints that all cells share."""

    task: Task
    constraints: ConstraintSet
    classes: list[Any]
    X: Any
    y: list[Any] | None
    X_test: Any
    seed: int

    @property
    def estimator(self) -> type[TiltClassifier] | type[TiltTagger]:
        return TiltTagger if self.task.is_sequences else TiltClassifier


@dataclass(frozen=True, eq=False)
class Done:
    """The outcome of a cell. ``predicted``: a class number for each position of the test part, ``proba``: positions ×
    classes. ``worst``: how far the model is from the constraint that it misses most, and which that is."""

    predicted: IntArray
    proba: FloatArray
    model: str
    seconds: float
    memory: int | None
    rounds: int
    converged: bool
    worst: tuple[float, str] | None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Failed:
    """The reason for no outcome: ``refused`` on purpose, with the reason, or ``failed``."""

    status: Literal["refused", "failed"]
    reason: str
    trace: str = ""


def run(work: Work, cell: Cell, *, alone: bool = False) -> Done | Failed:
    """Fit and predict; whatever goes wrong is a result. ``alone``: nothing else goes on in this process, so that its
    memory is the cell's."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("ignore")
        for category in (RuntimeWarning, UserWarning):
            warnings.simplefilter("always", category)
        try:
            done = _run(work, cell, alone)
        except TiltfitError as error:
            return Failed("refused", str(error))
        except Exception as error:
            reason = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
            return Failed("failed", reason, traceback.format_exc())
    told = tuple(dict.fromkeys(str(warning.message) for warning in said))
    return Done(**{**vars(done), "warnings": told})


def serve() -> None:
    """Answer one question: work and cell come on standard input, the answer goes to standard output."""
    answer = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever else is printed must not mix with the answer
    work, cell = pickle.load(sys.stdin.buffer), pickle.load(sys.stdin.buffer)
    with answer:
        pickle.dump(run(work, cell, alone=True), answer)


def _run(work: Work, cell: Cell, alone: bool) -> Done:
    if alone:
        _refuse_unknown(cell)
    _warm_up(work, cell)
    estimator = _estimator(work, cell)
    peak, start = watch() if alone else lambda: None, time.perf_counter()
    estimator.fit(work.X, work.y)
    seconds, memory = time.perf_counter() - start, peak()
    predicted, proba = _predict(estimator, work)
    return Done(
        predicted=predicted,
        proba=proba,
        model=str(estimator.model),
        seconds=seconds,
        memory=memory,
        rounds=int(estimator.n_iter_),
        converged=bool(estimator.converged_),
        worst=_worst(estimator.constraint_report_),
    )


def _refuse_unknown(cell: Cell) -> None:
    """Refuse, in a new process, a method or model that only the process of the caller knows."""
    for name, known in (("method", METHODS), ("model", MODELS)):
        word = cell.parameters.get(name)
        if word is not None and word not in known:
            raise UnsupportedError(
                f"{name}={word!r} is registered in the calling process only, and a new one does not know it. Pass "
                f"isolate=False, or give the extension an entry point in the group {GROUP!r}.",
                parameter=name,
            )


def _estimator(work: Work, cell: Cell, **parameters: Any) -> Any:
    given = {**cell.parameters, **parameters}
    said = work.constraints if METHODS[cell.method].takes else ()
    return work.estimator(said, classes=work.classes, random_state=work.seed, **given)


def _warm_up(work: Work, cell: Cell) -> None:
    """Fit a few instances in two rounds, some of them labelled. Errors there are left to the fit of all."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            n = len(work.y) if work.y is not None else None
            labelled = [] if work.y is None else [i for i, label in enumerate(work.y) if label is not None][: _FEW // 2]
            rows = sorted({*labelled, *range(min(_FEW, n if n is not None else _rows(work.X)))})
            y = None if work.y is None else [work.y[i] for i in rows]
            _estimator(work, cell, max_iter=2).fit(_take(work.X, rows), y)
        except Exception:
            return


def _rows(X: Any) -> int:
    return len(next(iter(X.values()))) if isinstance(X, Mapping) else X.shape[0] if hasattr(X, "shape") else len(X)


def _take(X: Any, rows: list[int]) -> Any:
    if isinstance(X, Mapping):
        return {name: _safe_indexing(column, rows) for name, column in X.items()}
    return _safe_indexing(X, rows)


def _predict(estimator: TiltEstimator, work: Work) -> tuple[IntArray, FloatArray]:
    number = {label: k for k, label in enumerate(estimator.classes_.tolist())}
    if [*number] != work.classes:
        raise TiltfitError(f"It was fitted for the classes {[*number]} instead of {work.classes}.")
    labels = work.task.flat(estimator.predict(work.X_test))
    proba = estimator.infer(work.X_test).marginals.node
    if not np.all(np.isfinite(proba)):
        raise TiltfitError("It predicts probabilities that are not numbers.")
    return np.array([number[label] for label in labels], dtype=np.intp), np.asarray(proba, dtype=np.float64)


def _worst(report: ConstraintReport) -> tuple[float, str] | None:
    """By how much the model itself misses the constraint that it misses most."""
    missed = [(e.relative(e.model_violation, e.model), e.title) for e in report if e.model_violation is not None]
    return max(missed, key=lambda miss: miss[0], default=None)
