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
from tiltfit.methods.history import Fit, Journal, Round
from tiltfit.methods.method import Run
from tiltfit.methods.problem import Evaluation, Problem
from tiltfit.models.model import linear
from tiltfit.optimize.result import Minimum, Stop
from tiltfit.projections.moment import add_ridge, moment_projection

_CUT = 0.1  # how much of its starting gradient an M-projection may leave
_INNER_ITERATIONS = 200

LOOSE = 0.5  # tolerance of sampled projections on the way: prices go on from round to round, as the chains do
WINDOW = 8  # rounds
_FALLS = 0.95  # of the gradient from window to window: above, it no longer falls


def alternate(problem: Problem, start: FloatArray, run: Run, *, inner_tol: float = 1e-6) -> Fit:
    """Alternate from ``start`` until max|∇O| ≤ tol·max|∇O(0)|, or until O can hardly fall any further.

    Rounds shrink geometrically, often slowly, so the fall to come is extrapolated from the last two rounds; it must be
    below tol/100 of the fall so far. With ``run.development``, the weights are those of its best round.
    """
    active = problem.active  # elsewhere q = p, whatever the weights
    limit = active.gradient_tol(run.tol, inner_tol)
    weights, last, stop = start, None, Stop.MAX_ITER
    journal = Journal(run.callback, run.development)
    journal.begin(start)
    now = first = active.evaluate(weights, last, inner_tol)
    drop = np.inf
    for number in range(1, run.max_iter + 1):
        target, current = moment_target(problem, weights, now)
        fitted = moment_step(problem, now, target, weights, limit)
        # With q fixed, O and the objective of Eq. 9 differ by a constant, so O falls by as much as Eq. 9 does.
        after = now.value + fitted.value - current
        weights, last = fitted.x, now.start
        spent = fitted.n_eval + (0 if now.projection is None else now.projection.n_eval)
        journal.add(Round.of(number, run.max_iter, now, objective=after, moment=after, evaluations=spent), weights)
        before, now = now.value, active.evaluate(weights, last, inner_tol)
        last_drop, drop = drop, before - now.value
        if now.steepest <= limit:
            stop = Stop.CONVERGED
        elif journal.stop is not None:
            stop = journal.stop
        elif not fitted.converged and fitted.n_iter == 0:
            stop = fitted.stop
        elif remaining(drop, last_drop) <= 0.01 * run.tol * (first.value - now.value):
            stop = Stop.FLAT
        else:
            continue
        break
    kept = journal.settle(weights)
    if kept is not weights:
        now = active.evaluate(kept, last, inner_tol)
    return journal.finished(kept, now, stop)


def alternate_sampled(problem: Problem, start: FloatArray, run: Run) -> Fit:
    """The same where q can only be sampled (paper §6), by Markov chains that go on from round to round.

    log Z of p is exact, so an M-projection is as good as its target, Σ ω Ê_q[f]. O itself is not known, only its
    gradient, and that with noise: the fit is over when max|∇O| is ``tol`` of what it was at ``start``, or has stopped
    falling from one window of rounds to the next, since what is left is noise. The weights of the last window are
    averaged then, which takes out most of it. With ``run.development``, the weights are those of its best round.
    """
    active = problem.active
    weights, last, limit, stop = start, None, 0.0, Stop.MAX_ITER
    journal = Journal(run.callback, run.development)
    journal.begin(start)
    recent: list[FloatArray] = []
    for number in range(1, run.max_iter + 1):
        now = active.evaluate(weights, last, LOOSE)
        last, limit = now.start, limit or run.tol * now.steepest
        target, _ = moment_target(active, weights, now)
        fitted = moment_step(active, now, target, weights, limit)
        weights = fitted.x
        recent = [*recent, weights][-WINDOW:]
        spent = fitted.n_eval + (0 if now.projection is None else now.projection.n_eval)
        one = Round.of(
            number, run.max_iter, now, objective=np.nan, information=np.nan, moment=fitted.value, evaluations=spent
        )  # fmt: skip
        if journal.add(one, weights):
            stop = journal.stop or stop
        elif now.steepest <= limit:
            stop = Stop.CONVERGED
        elif settled([r.gradient for r in journal.rounds]):
            stop, weights = Stop.NOISE, np.mean(recent, axis=0)
        else:
            continue
        break
    weights = journal.settle(weights)
    return journal.finished(weights, active.evaluate(weights, last, run.tol, told=True), stop)


def settled(gradients: list[float]) -> bool:
    """True if they no longer fall from one window of rounds to the next."""
    if len(gradients) < 2 * WINDOW:
        return False
    return min(gradients[-WINDOW:]) > _FALLS * min(gradients[:-WINDOW][-WINDOW:])


def moment_target(problem: Problem, weights: FloatArray, now: Evaluation) -> tuple[FloatArray, float]:
    """T = Σ ω E_q[f], the target of an M-projection, and its objective where it starts.

    By ∇O = Σ ω (E_p[f] − E_q[f]) + α∘λ, T follows from the gradient and the moments of p, on all instances.
    """
    sums = linear(problem.model, "a moment projection").moments(weights, problem.omega)
    target = sums.expectation
    target -= now.gradient
    ridge = add_ridge(problem.alpha, weights, target)
    return target, sums.log_z - float(weights @ target) + ridge


def remaining(drop: float, last_drop: float) -> float:
    """Σ of the drops to come if they keep shrinking as the last two did: drop·r/(1 − r)."""
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
