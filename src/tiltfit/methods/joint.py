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
from tiltfit.methods.history import Callback, Fit, Round
from tiltfit.methods.journal import Development, Journal
from tiltfit.methods.problem import Evaluation, Problem
from tiltfit.optimize.lbfgs import minimise
from tiltfit.optimize.measure import Measure
from tiltfit.projections.information import Start

_LOOSEST, _TIGHTEST = 1e-2, 1e-8
_FOLLOW = 0.05
"""Inner tolerance as a fraction of the outer gradient. An information projection solved to a scaled gradient of ε has q
wrong by about ε²/2 in divergence, so that a unit of weight sees an error of order ε·√(Σw); a twentieth of the gradient
keeps it out of the line search and needs a quarter of the inner evaluations that a fixed tight tolerance does."""


class _Trial(NamedTuple):
    """What is told of an evaluation if the line search accepts it."""

    value: float
    steepest: float
    gap: float
    worst_violation: float

    @classmethod
    def of(cls, now: Evaluation, measure: Measure) -> _Trial:
        # Only inner tolerances follow the gradient; without projections it need not be looked through.
        largest = measure.of(now.gradient) if now.projection is not None else np.inf
        return cls(now.value, largest, now.gap, now.worst_violation)


def solve_jointly(
    problem: Problem,
    start: FloatArray,
    *,
    max_iter: int,
    tol: float,
    callback: Callback | None = None,
    development: Development | None = None,
) -> Fit:
    """Minimise O from ``start`` until max|∇O| ≤ tol·max|∇O(0)| (or nothing can be gained within rounding).

    With hard constraints it then goes on to a tenth of that, and again, while it wins more than 10·``tol`` of the fall.
    With ``development``, the weights are those of its best round. Weights that no data tells apart are one weight on
    the way, unless ``start`` does tell them apart.
    """
    problem = problem.active
    merged = problem.merged
    if merged is None or not merged[1].is_even(start):
        return _solve(problem, start, Measure.plain(len(start)), max_iter, tol, callback, development)
    smaller, merging = merged
    if development is not None:
        score = development.score
        development = replace(development, score=lambda weights: score(merging.expand(weights)))
    begin = merging.contract(start)
    fit = _solve(smaller, begin, merging.measure, max_iter, tol, callback, development)
    if np.array_equal(fit.weights, begin):  # it is still where it began: to the last digit
        return replace(fit, weights=start.copy())
    return replace(fit, weights=merging.expand(fit.weights))


def _solve(
    problem: Problem,
    start: FloatArray,
    measure: Measure,
    max_iter: int,
    tol: float,
    callback: Callback | None,
    development: Development | None,
) -> Fit:
    """``solve_jointly`` in the weights of ``problem``. ``measure``: max|∇O|, of ∇O in these weights."""
    limit = problem.gradient_tol(tol, measure=measure)
    journal = Journal(callback, development, every=_scored_every(problem, development))
    journal.begin(start)
    history = journal.rounds
    last: Start | None = None
    trials: list[_Trial] = []  # since the last accepted step
    evaluations = 0
    follow = _FOLLOW / (np.sqrt(max(1.0, float(np.sum(problem.weight)))) * max(1.0, problem.gamma))

    def objective(weights: FloatArray) -> tuple[float, FloatArray]:
        nonlocal last, evaluations
        outer = trials[-1].steepest if trials else np.inf
        now = problem.evaluate(weights, last, min(max(follow * outer, _TIGHTEST), _LOOSEST))
        trials.append(_Trial.of(now, measure))  # not `now` itself, whose gradient is as large as the weights
        evaluations += 1
        if now.projection is not None:
            last = now.projection.start
        return now.value, now.gradient

    def progress(_: int, value: float, largest: float, weights: FloatArray) -> bool:
        # A line search may accept an earlier trial than its last.
        while trials[-1].value != value:
            trials.pop()
        accepted = trials[-1]
        trials[:] = [accepted]
        told = Round(
            round=len(history) + 1,
            max_iter=max_iter,
            objective=value,
            information=value,
            moment=value,
            gap=accepted.gap,
            worst_violation=accepted.worst_violation,
            gradient=largest,
            evaluations=evaluations,
        )
        return journal.add(told, weights)

    weights, reached = start, np.inf
    while True:
        found = minimise(
            objective,
            weights,
            gradient_tol=limit,
            max_iter=max_iter - len(history),
            progress=progress,
            workers=problem.model.workers,
            measure=measure,
        )
        weights = found.x
        if found.converged:
            # Hard rows make ∇O(0) so large that a thousandth of it says little: O itself must have stopped falling.
            before, reached = reached, found.value
            fall = (history[0].objective if history else reached) - reached
            if not problem.is_hard or before - reached <= 10 * tol * fall or len(history) >= max_iter:
                break
            limit = min(0.1 * limit, 0.1 * measure.of(found.gradient))
            continue
        # A line search that fails may have been misled by information projections solved too loosely.
        if "line search" not in found.message or follow < _TIGHTEST or len(history) >= max_iter:
            break
        follow *= 0.01
    weights = journal.settle(weights)
    final = problem.evaluate(weights, last, _TIGHTEST)
    converged, message = found.converged, found.message
    if journal.reason is not None:
        converged, message = journal.is_enough, journal.reason
    elif len(history) >= max_iter and not converged:
        message = f"stopped after {max_iter} rounds"
    return journal.finished(weights, final, converged, message)


def _scored_every(problem: Problem, development: Development | None) -> int:
    """Rounds from score to score: a round evaluates O at least once, so scoring takes no longer than solving."""
    return 1 if development is None else -(-development.size // max(1, len(problem.labels)))
