"""Alternating projections where q can only be sampled (paper §6).

    q ← stochastic information projection at λ, by Markov chains that go on from round to round
    λ ← argmin_λ  Σ_i ω_i log Z_λ(x_i) − λ·T̂ + ½‖λ‖²_α,      T̂ = Σ ω Ê_q[f]   (Eq. 9, target moments from samples)

log Z of p is exact, so an M-projection is as good as its target. O itself is not known, only its gradient, and that
with noise: the fit is over when the gradient has stopped falling from one window of rounds to the next, for what is
left is noise. The weights of the last window are averaged then, which takes out most of it.
"""

from __future__ import annotations

import numpy as np

from tiltfit.methods.alternating import moment_step, moment_target
from tiltfit.methods.history import Callback, Fit, FloatArray, Round
from tiltfit.methods.problem import Evaluation, Problem
from tiltfit.optimize.result import Minimum
from tiltfit.projections.information import Start

_WINDOW = 6  # rounds
_FALLS = 0.9  # of the gradient from window to window: above, it does not fall any more


def alternate_sampled(
    problem: Problem, start: FloatArray, *, max_iter: int, tol: float, callback: Callback | None = None
) -> Fit:
    """Alternate from ``start`` until max|∇O| ≤ tol·max|∇O(0)|, or until it no longer stands out of the noise."""
    active = problem.active
    limit = active.gradient_tol(tol)
    weights, last = start, None
    history: list[Round] = []
    recent: list[FloatArray] = []
    message, converged = f"stopped after {max_iter} rounds", False
    for number in range(1, max_iter + 1):
        now = active.evaluate(weights, last, tol)
        last = _start(now)
        target, _ = moment_target(active, weights, now)
        fitted = moment_step(active, now, target, weights, limit)
        weights = fitted.x
        recent = [*recent, weights][-_WINDOW:]
        history.append(_round(number, max_iter, now, fitted))
        if callback is not None and callback(history[-1]):
            message = "stopped by the callback"
        elif now.steepest <= limit:
            converged, message = True, "gradient below tolerance"
        elif _settled([r.gradient for r in history]):
            converged, message = True, "what is left of the gradient is noise"
            weights = np.mean(recent, axis=0)
        else:
            continue
        break
    final = active.evaluate(weights, last, tol, told=True)
    if final.projection is not None and not final.projection.converged:
        converged, message = False, "the last information projection did not settle"
    return Fit(weights, final.projection, float("nan"), tuple(history), converged, message)


def _settled(gradients: list[float]) -> bool:
    if len(gradients) < 2 * _WINDOW:
        return False
    return min(gradients[-_WINDOW:]) > _FALLS * min(gradients[:-_WINDOW][-_WINDOW:])


def _start(now: Evaluation) -> Start | None:
    return None if now.projection is None else now.projection.start


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
