"""One cell: a setting on a task at one size, learned and scored."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from experiments.defaults.settings import Bounded, Setting, Square
from experiments.defaults.tasks import TENTH, TIMES_TEN, WHOLE, Job, Task, demo, tickets
from tiltfit import TiltClassifier, TiltTagger
from tiltfit.arrays import FloatArray
from tiltfit.language.relations import About
from tiltfit.language.sentences import describe
from tiltfit.report.constraints import Entry

NEAR = 0.05
"""A statement is met if the model is within five points of it."""
BINS = 10


@dataclass(frozen=True)
class Cell:
    """``setting``: settled for the kind of the task (``Setting.on``)."""

    task: Task
    run: int
    size: str
    setting: Setting

    @property
    def key(self) -> str:
        return f"{self.task.name} | {self.run} | {self.size} | {self.setting}"

    def measure(self) -> dict[str, Any]:
        """``score``; ``met``: the share of ``about`` statements within five points under the model; ``calibration``
        error; ``rounds`` and processor ``seconds`` of ``fit``; ``n``: documents or sequences to learn from; and, for
        ``n × 10``, the share of predictions that ``changed`` against ``n``."""
        if self.size != TIMES_TEN:
            return _once(self).figures
        once = _once(replace(self, size=WHOLE))
        often = _fitted(self.task.job(self.run, self.size), self.setting, weight=10.0)
        return {**often.figures, "changed": float(np.mean(flat(once.predicted) != flat(often.predicted)))}


@dataclass(frozen=True, eq=False)
class Fit:
    """What was measured of a fit, and what it predicts."""

    figures: dict[str, Any]
    predicted: Any


@cache
def _once(cell: Cell) -> Fit:
    """Kept, since what is counted ten times is compared with it."""
    return _fitted(cell.task.job(cell.run, cell.size), cell.setting)


def _fitted(job: Job, setting: Setting, weight: float | None = None) -> Fit:
    _compile(sequences=job.sequences)
    return fitted(job, estimated(job, setting), weight)


def fitted(job: Job, estimator: TiltClassifier | TiltTagger, weight: float | None = None) -> Fit:
    """Fit and score. ``weight``: of every instance that is not labelled."""
    n = _size(job.X)
    started = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # constraints not met, rounds used up: part of what is measured
        estimator.fit(job.X, job.y, sample_weight=None if weight is None else _weights(job, n, weight))
    seconds = time.process_time() - started
    predicted, best, sure = _predicted(job, estimator)
    met = [e.model_violation <= NEAR for e in stated(estimator) if e.model_violation is not None]
    figures = {
        "score": job.score(job.truth, predicted),
        "met": float(np.mean(met)),
        "calibration": calibration_error(sure, flat(job.truth) == best),
        "rounds": estimator.n_iter_,
        "seconds": seconds,
        "converged": bool(estimator.converged_),
        "n": n,
        "statements": len(met),
    }
    return Fit(figures, predicted)


@cache
def _compile(*, sequences: bool) -> None:
    """Fit to a few generated data, so that compilation does not count as learning time."""
    few = demo(300, 200, 0, TENTH) if sequences else tickets(0, TENTH)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # words that so few do not have
        for strength in (Bounded(10.0), Square("unit", 0.05)):
            fitted = estimated(few, Setting(strength).on(sequences=sequences)).fit(few.X)
            _predicted(few, fitted)


def estimated(job: Job, setting: Setting) -> TiltClassifier | TiltTagger:
    """The estimator of a setting, not yet fitted."""
    constraints = setting.strength.restated(job.constraints, job.sample())
    kind = TiltTagger if job.sequences else TiltClassifier
    return kind(constraints, classes=list(job.classes), n_jobs=1, **setting.parameters, **job.options)


def stated(estimator: TiltClassifier | TiltTagger) -> list[Entry]:
    """The entries of the statements ``about`` a share, not about a number."""
    shares = {describe(c, estimator.unit_) for c in estimator.constraints_ if isinstance(c.relation, About)}
    return [e for e in estimator.constraint_report_ if e.sentence in shares and not e.counts]


def calibration_error(sure: FloatArray, right: npt.NDArray[np.bool_]) -> float:
    """Σ_b n_b·|accuracy_b − confidence_b| / n over ten bins of the top probability.

    >>> calibration_error(np.array([0.95, 0.91]), np.array([True, False])).__round__(2)
    0.43
    """
    bins = np.minimum((sure * BINS).astype(np.intp), BINS - 1)
    gaps = np.bincount(bins, weights=sure - right, minlength=BINS)
    return float(np.abs(gaps).sum() / len(sure))


def _predicted(job: Job, estimator: Any) -> tuple[Any, Any, FloatArray]:
    """Labels; and of every document or token the most probable label and its probability (of sequences, the most
    probable one as a whole may have others)."""
    p = (
        np.concatenate(estimator.predict_marginals(job.judged))
        if job.sequences
        else estimator.predict_proba(job.judged)
    )
    best = estimator.classes_[p.argmax(axis=1)]
    return estimator.predict(job.judged) if job.sequences else best, best, p.max(axis=1)


def flat(labels: Any) -> npt.NDArray[Any]:
    """One label per document or token."""
    if len(labels) and isinstance(labels[0], str):
        return np.asarray(labels)
    return np.array([label for row in labels for label in row])


def _weights(job: Job, n: int, weight: float) -> FloatArray:
    return np.array([weight if job.y is None or job.y[i] is None else 1.0 for i in range(n)])


def _size(X: Any) -> int:
    return int(X.shape[0]) if hasattr(X, "shape") else int(getattr(X, "n_sequences", 0) or len(X))
