"""The joint solver: eliminate q and minimise O(λ) = min_q O(λ, q) by one L-BFGS over λ.

O is smooth (C¹; piecewise C² with hard constraints), and by Danskin's theorem ∇O(λ) is the M-projection's gradient at
the current q. Each evaluation solves an information projection, warm-started at the last prices. Positions that no
constraint touches add exactly zero and are left out, so unlike alternation it is not slowed by them: it reaches the
same stationary points in far fewer passes.

An information projection that is not solved exactly gives a lower bound of O and a wrong gradient, so its tolerance
follows the outer gradient down.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from tiltfit.arrays import FloatArray
from tiltfit.methods.history import Development, Fit, Journal, Round
from tiltfit.methods.method import Run
from tiltfit.methods.problem import Evaluation, Problem
from tiltfit.optimize.lbfgs import Measure, minimise
from tiltfit.optimize.result import Stop
from tiltfit.projections.information import Start

_LOOSEST, _TIGHTEST = 1e-2, 1e-8
_ROUNDING, _LEFT = 1e-12, 1e-3
"""Of O: what rounding hides, and by what part of ``tol`` O may be off where its curvature or a step tells so."""
_FOLLOW, _FOLLOW_BOUNDED = 0.05, 0.01
"""Inner tolerance as a fraction of the outer gradient. An information projection solved to a scaled gradient of ε has q
wrong by about ε²/2 in divergence, so that a unit of weight sees an error of order ε·√(Σw); a twentieth of the gradient
keeps it out of the line search and needs a quarter of the inner evaluations that a fixed tight tolerance does. A
bounded pull adds no curvature of its own, so that the same ε leaves its rows further from their targets."""
_NEARBY = 1e-5
"""The tolerance of the first information projection from weights that are not zero: they may be next to a solution."""


class _Trial(NamedTuple):
    """The part of an evaluation that is reported if the line search accepts it."""

    value: float
    steepest: float
    gap: float
    worst_violation: float

    @classmethod
    def of(cls, now: Evaluation, measure: Measure) -> _Trial:
        # Only inner tolerances follow the gradient; without projections it need not be looked through.
        largest = measure.of(now.gradient) if now.projection is not None else np.inf
        return cls(now.value, largest, now.gap, now.worst_violation)


def solve_jointly(problem: Problem, start: FloatArray, run: Run) -> Fit:
    """Minimise O from ``start`` until O and the labels that the model gives no longer change (``optimize.plateau``).

    With ``run.development``, the weights are those of its best round. Weights that no data tells apart are one
    weight on the way (``features.merging``), unless ``start`` does tell them apart.
    """
    problem = problem.active
    if problem.merged is None or not problem.merged[1].is_even(start):
        return _minimised(problem, start, run, Measure.plain(len(start)))
    smaller, merging = problem.merged
    if run.development is not None:
        score = run.development.score
        few = replace(run.development, score=lambda weights: score(merging.expand(weights)))
        run = replace(run, development=few)
    begin = merging.contract(start)
    fit = _minimised(smaller, begin, run, merging.measure)
    if np.array_equal(fit.weights, begin):  # it has not moved: the start as it was, to the last digit
        return replace(fit, weights=start.copy())
    return replace(fit, weights=merging.expand(fit.weights))


def _minimised(problem: Problem, start: FloatArray, run: Run, measure: Measure) -> Fit:
    """``solve_jointly`` in the weights of ``problem``. ``measure``: max|∇O|, of ∇O in these weights."""
    journal = Journal(run.callback, run.development, every=_scored_every(problem, run.development))
    rounds, search = journal.rounds, _Search(problem, measure)

    def progress(_: int, value: float, largest: float, weights: FloatArray) -> bool:
        accepted = search.accept(value)
        number, figures = len(rounds) + 1, {"gap": accepted.gap, "worst_violation": accepted.worst_violation}
        return journal.add(
            Round.undivided(number, run.max_iter, value, largest, search.evaluations, **figures), weights
        )

    arrived = problem.plateau(run.tol).reached
    journal.begin(start)
    weights = start
    while True:
        found = minimise(
            search,
            weights,
            gradient_tol=problem.rounding,
            arrived=arrived,
            curvature=problem.curvature,
            negligible=max(_ROUNDING, _LEFT * run.tol),
            units=problem.units,
            max_iter=run.max_iter - len(rounds),
            progress=progress,
            workers=problem.model.workers,
            measure=measure,
        )
        weights = found.x
        # A line search that fails may have been misled by information projections solved too loosely.
        if found.stop is not Stop.LINE_SEARCH or len(rounds) >= run.max_iter or not search.tighten():
            break
    stop = found.stop if found.converged or len(rounds) < run.max_iter else Stop.MAX_ITER
    weights = journal.settle(weights)
    return journal.finished(weights, problem.evaluate(weights, search.last, _TIGHTEST), journal.stop or stop)


class _Search:
    """O as L-BFGS calls it: every information projection begins where the last one ended."""

    def __init__(self, problem: Problem, measure: Measure) -> None:
        self._problem, self._measure = problem, measure
        follow = _FOLLOW_BOUNDED if problem.tilt is not None and problem.tilt.is_bounded else _FOLLOW
        self._follow = follow / np.sqrt(max(1.0, float(np.sum(problem.omega))))
        self._trials: list[_Trial] = []  # since the last accepted step
        self.last: Start | None = None
        self.evaluations = 0

    def __call__(self, weights: FloatArray) -> tuple[float, FloatArray]:
        if self._trials:
            tol = min(max(self._follow * self._trials[-1].steepest, _TIGHTEST), _LOOSEST)
        else:
            tol = _NEARBY if np.any(weights) else _LOOSEST
        now = self._problem.evaluate(weights, self.last, tol)
        self._trials.append(_Trial.of(now, self._measure))  # not `now`, whose gradient is as large as the weights
        self.evaluations += 1
        self.last = now.start or self.last
        return now.value, now.gradient

    def accept(self, value: float) -> _Trial:
        """The trial of this value, which a line search accepted: it may be an earlier one than its last."""
        while self._trials[-1].value != value:
            self._trials.pop()
        self._trials[:] = self._trials[-1:]
        return self._trials[0]

    def tighten(self) -> bool:
        """Solve information projections a hundred times as closely, unless they are solved to the end already."""
        possible = self._follow >= _TIGHTEST
        self._follow *= 0.01
        return bool(possible)


def _scored_every(problem: Problem, development: Development | None) -> int:
    """Rounds from score to score: a round evaluates O at least once, so scoring takes no longer than solving."""
    return 1 if development is None else -(-development.size // max(1, len(problem.labels)))
