"""Models that somebody else trains (``models.learner``): Eq. 6 as a loss on their scores, and the rounds of a fit.

    O(s) = Σ_labelled w·(−log p_s(y|x)) + γ·min_q [Σ_unlabelled w·D(q‖p_s) + U(m(q))],      p_s(y|x) ∝ exp(s(x, y))

    ∂O/∂s = ω·(p − q)

Rows that are neither labelled nor touched by a constraint add exactly zero and are not shown to the learner.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from tiltfit.arrays import FloatArray
from tiltfit.errors import DataError, UnmetConstraintWarning, warn_user
from tiltfit.methods.alternating_projections import MISS
from tiltfit.methods.history import Fit, Journal, Round
from tiltfit.methods.method import Run, Training
from tiltfit.methods.problem import Evaluation, Problem
from tiltfit.models.learner import Learned, Lesson, Matrix
from tiltfit.models.scores import Scores
from tiltfit.optimize.plateau import Plateau
from tiltfit.optimize.result import Stop

_TOL = 1e-8
_LOUD = 100.0


class ScoreLoss:
    """O of the rows that add something to it (``rows``), as a function of their scores.

    The last evaluation is kept, and the next information projection begins where it ended: values do not depend on
    that, up to the tolerance of projections.
    """

    def __init__(self, problem: Problem) -> None:
        self.rows = np.union1d(problem.labelled, problem.touched)
        few = problem.take(self.rows)
        model = Scores.of(few.model.structure, few.model.n_labels)
        self._problem = replace(few, model=model, alpha=np.zeros(model.n_weights))
        self._last: tuple[FloatArray, Evaluation] | None = None

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.rows), self._problem.model.n_labels

    @property
    def omega(self) -> FloatArray:
        return self._problem.omega

    def evaluate(self, scores: FloatArray) -> Evaluation:
        """O and its projection, for scores that are finite."""
        start = None
        if self._last is not None:
            known, found = self._last
            if np.array_equal(known, scores):
                return found
            start = found.start
        found = self._problem.evaluate(scores.ravel(), start, _TOL, told=True)
        self._last = scores.copy(), found
        return found

    def value_and_grad(self, scores: FloatArray) -> tuple[float, FloatArray]:
        found = self.evaluate(scores)
        return float(found.value), found.gradient.reshape(self.shape)

    def hess(self, scores: FloatArray) -> FloatArray:
        p = self._problem.model.infer(scores.ravel()).node
        return np.asarray(self.omega[:, None] * p * (1 - p))

    def projected(self, scores: FloatArray) -> FloatArray:
        return _q(self._problem, scores, self.evaluate(scores))

    def stated(self) -> FloatArray:
        """q from a uniform p, when constraints pull a hundred times as hard: what they say by themselves."""
        problem, tilt = self._problem, self._problem.tilt
        if tilt is not None:
            weak = {name: getattr(tilt, name) / _LOUD for name in ("weight", "support", "offset")}
            problem = replace(problem, tilt=replace(tilt, **weak), weight=problem.weight / _LOUD)
        return _q(problem, np.zeros(self.shape), problem.evaluate(np.zeros(problem.model.n_weights), None, _TOL))


def _q(problem: Problem, scores: FloatArray, found: Evaluation) -> FloatArray:
    """q of all rows: the label where it is known, p where no constraint acts."""
    q = problem.model.infer(scores.ravel()).node
    if found.projection is not None:
        q[problem.touched] = found.projection.marginals.node
    known = problem.labelled
    q[known] = np.eye(q.shape[1])[problem.labels[known]]
    return q


def softened(problem: Problem) -> Problem:
    """The same with slack where hard constraints contradict each other: O would be infinite everywhere."""
    tilt = problem.tilt
    if tilt is None:
        return problem
    found = problem.evaluate(np.zeros(problem.model.n_weights), None, _TOL).projection
    if found is None or not tilt.misses_hard(found.violation, by=MISS / 2):
        return problem
    warn_user(
        "Hard constraints contradict each other on this data and were given slack: the report shows which. Relax a "
        "target, or give one of them slack=.",
        UnmetConstraintWarning,
    )
    return replace(problem, tilt=tilt.softened(MISS))


def learn(training: Training, lesson: Lesson, problem: Problem, run: Run) -> tuple[Fit, Learned]:
    """Minimise O of ``problem`` for as many rounds as it falls, or as the learner makes. The weights of the fit are
    the scores of all rows of ``training``."""
    learner = lesson.learner
    loss, journal = ScoreLoss(problem), Journal(run.callback)
    plateau, most = Plateau(run.tol, _labels), learner.n_rounds or run.max_iter
    learned, stop = None, Stop.PASSES if learner.n_rounds else Stop.MAX_ITER
    for number, (learned, found) in enumerate(learner.rounds(lesson.among(loss.rows), loss, lesson.settings), 1):
        scores = checked(found, loss.shape, learner.name)
        now = loss.evaluate(scores)
        now = replace(now, value=now.value + learned.penalty)
        if journal.add(Round.of(number, most, now, number), scores) or number == most:
            break
        if learner.n_rounds is None and plateau.reached(now.value, scores):
            stop = Stop.FLAT
            break
    if learned is None:
        raise DataError(f"model={learner.name} made no round of training.", parameter="model")
    everywhere = scores_of(learned, lesson.X, problem.model.n_labels, learner.name)
    fit = journal.finished(everywhere.ravel(), now, journal.stop or stop)
    return _reported(training, problem, fit), learned


def _reported(training: Training, problem: Problem, fit: Fit) -> Fit:
    """The fit with q as the projection of its model onto all constraints of ``training``, if it was not learned from
    these."""
    if problem.tilt is not None or training.problem.tilt is None:
        return fit
    found = training.problem.evaluate(fit.weights, None, 1e-6, told=True)
    return replace(fit, projection=found.projection)


def scores_of(learned: Learned, X: Matrix, n_labels: int, name: str) -> FloatArray:
    """The scores of the rows of X, checked."""
    return checked(learned.scores(X), (X.shape[0], n_labels), name)


def checked(scores: npt.NDArray[np.float64], shape: tuple[int, int], name: str) -> FloatArray:
    """The scores that a model gives, or a DataError that says what is wrong with them."""
    found: FloatArray = np.asarray(scores, dtype=np.float64)
    if found.shape != shape:
        raise DataError(
            f"model={name} gives scores of the shape {found.shape} for {shape[0]} rows, but there are {shape[1]} "
            f"classes: {shape} is needed.",
            parameter="model",
        )
    bad = np.flatnonzero(~np.isfinite(found).all(axis=1))
    if len(bad):
        raise DataError(
            f"model={name} gives NaN or infinite scores in {len(bad)} rows (row {bad[0]} first). Scale its features, "
            "or let it take smaller steps.",
            parameter="model",
        )
    return found


def _labels(scores: FloatArray) -> npt.NDArray[np.intp]:
    return np.asarray(scores.argmax(axis=1))
