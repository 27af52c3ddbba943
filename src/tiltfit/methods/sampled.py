"""Alternating projections where q can only be sampled (paper §6).

    q ← stochastic information projection at λ, by Markov chains that go on from round to round
    λ ← argmin_λ  Σ_i ω_i log Z_λ(x_i) − λ·T̂ + ½‖λ‖²_α,      T̂ = Σ ω Ê_q[f]   (Eq. 9, target moments from samples)

log Z of p is exact, so an M-projection is as good as its target. O itself is not known, only its gradient, and that
with noise: the fit is over when the gradient has stopped falling from one window of rounds to the next, for what is
left is noise. The weights of the last window are averaged then, which takes out most of it.
"""

from __future__ import annotations

import numpy as np

from tiltfit.arrays import FloatArray
from tiltfit.methods.alternating import moment_step, moment_target
from tiltfit.methods.history import Callback, Fit, Round
from tiltfit.methods.journal import Development, Journal
from tiltfit.methods.problem import Evaluation, Problem
from tiltfit.optimize.result import Minimum

LOOSE = 0.5  # tolerance of the projections on the way: prices go on from round to round, as the chains do
WINDOW = 8  # rounds
_FALLS = 0.95  # of the gradient from window to window: above, it does not fall any more


def alternate_sampled(
    problem: Problem,
    start: FloatArray,
    *,
    max_iter: int,
    tol: float,
    callback: Callback | None = None,
    development: Development | None = None,
) -> Fit:
    """Alternate from ``start`` until max|∇O| is ``tol`` of what it was there, or no longer stands out of the noise.

    With ``development``, the weights are those of its best round, not averaged.
    """
    active = problem.active
    weights, last, limit = start, None, 0.0
    journal = Journal(callback, development)
    journal.begin(start)
    recent: list[FloatArray] = []
    message, converged = f"stopped after {max_iter} rounds", False
    for number in range(1, max_iter + 1):
        now = active.evaluate(weights, last, LOOSE)
        last, limit = now.start, limit or tol * now.steepest
        target, _ = moment_target(active, weights, now)
        fitted = moment_step(active, now, target, weights, limit)
        weights = fitted.x
        recent = [*recent, weights][-WINDOW:]
        if journal.add(_round(number, max_iter, now, fitted), weights):
            converged, message = journal.is_enough, str(journal.reason)
        elif now.steepest <= limit:
            converged, message = True, "gradient below tolerance"
        elif settled([r.gradient for r in journal.rounds]):
            converged, message = True, "what is left of the gradient is noise"
            weights = np.mean(recent, axis=0)
        else:
            continue
        break
    weights = journal.settle(weights)
    return journal.finished(weights, active.evaluate(weights, last, tol, told=True), converged, message)


def settled(gradients: list[float]) -> bool:
    """Whether they no longer fall from one window of rounds to the next."""
    if len(gradients) < 2 * WINDOW:
        return False
    return min(gradients[-WINDOW:]) > _FALLS * min(gradients[:-WINDOW][-WINDOW:])


def _round(number: int, max_iter: int, now: Evaluation, fitted: Minimum) -> Round:
    unknown = float("nan")
    return Round(
        round=number,
        max_iter=max_iter,
        objective=unknown,
        information=unknown,
        moment=fitted.value,
        gap=now.gap,
        worst_violation=now.worst_violation,
        gradient=now.steepest,
        evaluations=fitted.n_eval + (now.projection.n_eval if now.projection is not None else 0),
    )
