"""Alternating projections, the paper's algorithm (§2.3): coordinate descent on (λ, q) of the joint objective, Eq. 6.

    q ← argmin_q O(λ, q)      information projection, Eq. 8
    λ ← argmin_λ O(λ, q)      moment projection, Eq. 9

O falls at every half step. The M-projection need not be exact for that: it stops once it has cut the gradient it began
with to a tenth, since the next information projection moves q anyway.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from tiltfit.arrays import FloatArray
from tiltfit.methods.history import Callback, Fit, Round
from tiltfit.methods.journal import Development, Journal
from tiltfit.methods.problem import Evaluation, Problem
from tiltfit.optimize.result import Minimum
from tiltfit.projections.moment import add_ridge, moment_projection

_CUT = 0.1  # how much of its starting gradient an M-projection may leave
_INNER_ITERATIONS = 200


def alternate(
    problem: Problem,
    start: FloatArray,
    *,
    max_iter: int,
    tol: float,
    inner_tol: float = 1e-6,
    callback: Callback | None = None,
    development: Development | None = None,
) -> Fit:
    """Alternate from ``start`` until max|∇O| ≤ tol·max|∇O(0)|, or until O can hardly fall any further.

    Rounds shrink geometrically, often slowly, so the fall to come is extrapolated from the last two rounds; it must be
    below tol/100 of the fall so far. With ``development``, the weights are those of its best round.
    """
    active = problem.active  # elsewhere q = p, whatever the weights
    limit = active.gradient_tol(tol, inner_tol)
    weights, last = start, None
    journal = Journal(callback, development)
    journal.begin(start)
    message, converged = f"stopped after {max_iter} rounds", False
    now = first = active.evaluate(weights, last, inner_tol)
    drop = np.inf
    for number in range(1, max_iter + 1):
        target, current = moment_target(problem, weights, now)
        fitted = moment_step(problem, now, target, weights, limit)
        # With q fixed, O and the objective of Eq. 9 differ by a constant, so O falls by as much as Eq. 9 does.
        after = now.value + fitted.value - current
        weights = fitted.x
        last = now.start
        journal.add(_round(number, max_iter, now, after, fitted), weights)
        before, now = now.value, active.evaluate(weights, last, inner_tol)
        last_drop, drop = drop, before - now.value
        if now.steepest <= limit:
            converged, message = True, "gradient below tolerance"
        elif journal.reason is not None:
            converged, message = journal.is_enough, journal.reason
        elif not fitted.converged and fitted.n_iter == 0:
            message = f"the moment projection stopped: {fitted.message}"
        elif remaining(drop, last_drop) <= 0.01 * tol * (first.value - now.value):
            converged, message = True, "objective no longer falls"
        else:
            continue
        break
    kept = journal.settle(weights)
    if kept is not weights:
        now = active.evaluate(kept, last, inner_tol)
    return journal.finished(kept, now, converged, message)


def moment_target(problem: Problem, weights: FloatArray, now: Evaluation) -> tuple[FloatArray, float]:
    """T = Σ ω E_q[f], what an M-projection matches, and its objective where it starts.

    By ∇O = Σ ω (E_p[f] − E_q[f]) + α∘λ, T follows from the gradient and the moments of p, on all instances.
    """
    sums = problem.model.moments(weights, problem.omega)
    target = sums.expectation
    target -= now.gradient
    ridge = add_ridge(problem.alpha, weights, target)
    return target, sums.log_z - float(weights @ target) + ridge


def remaining(drop: float, last_drop: float) -> float:
    """Σ of the drops to come if they go on shrinking as the last two did: drop·r/(1 − r)."""
    if not np.isfinite(last_drop) or last_drop <= 0:
        return np.inf
    ratio = min(max(drop, 0.0) / last_drop, 1.0)
    return np.inf if ratio == 1.0 else max(drop, 0.0) * ratio / (1 - ratio)


def moment_step(problem: Problem, now: Evaluation, target: FloatArray, weights: FloatArray, limit: float) -> Minimum:
    """An M-projection onto ``target``, as far as it is worth going before q moves."""
    return moment_projection(
        partial(problem.model.moments, weight=problem.omega),
        target,
        problem.alpha,
        weights,
        gradient_tol=max(0.1 * limit, _CUT * now.steepest if now.projection is not None else 0.0),
        max_iter=_INNER_ITERATIONS,
        workers=problem.model.workers,
    )


def _round(number: int, max_iter: int, now: Evaluation, after: float, fitted: Minimum) -> Round:
    projection = now.projection
    return Round(
        round=number,
        max_iter=max_iter,
        objective=after,
        information=now.value,
        moment=after,
        gap=now.gap,
        worst_violation=now.worst_violation,
        gradient=now.steepest,
        evaluations=fitted.n_eval + (projection.n_eval if projection is not None else 0),
    )
