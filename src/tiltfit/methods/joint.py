"""The joint solver: eliminate q and minimise O(λ) = min_q O(λ, q) by one L-BFGS over λ.

O is smooth (C¹; piecewise C² with hard constraints), and by Danskin's theorem ∇O(λ) is the M-projection's gradient at
the current q. Each evaluation solves an information projection, warm-started at the last prices. Positions that no
constraint touches add exactly zero and are left out, so unlike alternation it is not slowed by them: it reaches the
same stationary points in far fewer passes.

An information projection that is not solved exactly gives a lower bound of O and a wrong gradient, so its tolerance
follows the outer gradient down.
"""

from __future__ import annotations

import numpy as np

from tiltfit.methods.history import Callback, Fit, FloatArray, Round
from tiltfit.methods.problem import Evaluation, Problem
from tiltfit.optimize.lbfgs import minimise

_LOOSEST, _TIGHTEST = 1e-2, 1e-8
_FOLLOW = 0.05
"""Inner tolerance as a fraction of the outer gradient. An information projection solved to a scaled gradient of ε has q
wrong by about ε²/2 in divergence, so that a unit of weight sees an error of order ε·√(Σw); a twentieth of the gradient
keeps it out of the line search and needs a quarter of the inner evaluations that a fixed tight tolerance does."""


def solve_jointly(
    problem: Problem, start: FloatArray, *, max_iter: int, tol: float, callback: Callback | None = None
) -> Fit:
    """Minimise O from ``start`` until max|∇O| ≤ tol·Σw."""
    limit = problem.gradient_tol(tol)
    problem = problem.active()
    history: list[Round] = []
    duals: FloatArray | None = None
    last: Evaluation | None = None
    evaluations = 0
    follow = _FOLLOW / (np.sqrt(max(1.0, float(np.sum(problem.weight)))) * max(1.0, problem.gamma))

    def objective(weights: FloatArray) -> tuple[float, FloatArray]:
        nonlocal duals, last, evaluations
        outer = np.inf if last is None else last.steepest
        last = problem.evaluate(weights, duals, float(np.clip(follow * outer, _TIGHTEST, _LOOSEST)))
        evaluations += 1
        if last.projection is not None:
            duals = last.projection.duals
        return last.value, last.gradient

    def progress(number: int, value: float, steepest: float) -> bool:
        projection = last.projection if last is not None else None
        history.append(
            Round(
                round=len(history) + 1,
                max_iter=max_iter,
                objective=value,
                information=value,
                moment=value,
                gap=projection.gap if projection is not None else 0.0,
                worst_violation=float(np.max(projection.violation, initial=0.0)) if projection is not None else 0.0,
                gradient=steepest,
                evaluations=evaluations,
            )
        )
        return callback is not None and bool(callback(history[-1]))

    weights = start
    while True:
        left = max_iter - len(history)
        found = minimise(objective, weights, gradient_tol=limit, value_tol=1e-3 * tol, max_iter=left, progress=progress)
        weights = found.x
        # A line search that fails may have been misled by information projections solved too loosely.
        if found.converged or "line search" not in found.message or follow < _TIGHTEST or len(history) >= max_iter:
            break
        follow *= 0.01
    final = problem.evaluate(weights, duals, _TIGHTEST)
    return Fit(weights, final.projection, final.value, tuple(history), found.converged, found.message)
