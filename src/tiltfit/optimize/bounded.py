"""Minimisation of convex functions inside bounds, for the dual of the information projection: SciPy's L-BFGS-B behind
our result type."""

from __future__ import annotations

import numpy as np
from scipy.optimize import Bounds, minimize

from tiltfit.arrays import FloatArray
from tiltfit.optimize.result import Minimum, Objective, Stop

_FAR = 1e15
"""The bound of a variable that has none. If every variable is bounded on both sides, the first step of L-BFGS-B is the
gradient (just right where curvature is near one); else it has length one, however near the minimum we start."""


def minimise_bounded(
    objective: Objective,
    start: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    *,
    gradient_tol: float,
    max_iter: int = 1000,
) -> Minimum:
    """Minimise ``objective(x) -> (value, gradient)``, convex, over lower ≤ x ≤ upper.

    Stops when the largest entry of the projected gradient is at most ``gradient_tol``.
    """
    search = _Search(objective, lower, upper, gradient_tol)
    x, value, n_iter = np.clip(start, lower, upper), np.inf, 0
    while True:
        try:
            found = minimize(
                search,
                x,
                jac=True,
                method="L-BFGS-B",
                bounds=Bounds(np.maximum(lower, -_FAR), np.minimum(upper, _FAR)),
                # ftol 0: only the gradient decides; L-BFGS-B then ends in its line search when rounding is reached.
                options={"maxiter": max_iter, "maxfun": 4 * max_iter, "ftol": 0.0, "gtol": 0.0, "maxcor": 20},
            )
        except _Reached:
            return search.minimum(search.n_eval - 1, Stop.CONVERGED)
        n_iter += int(found.nit)
        # A line search cannot tell values apart that differ by less than rounding, so with curvature near one (the
        # caller scales for that) a gradient of about √(ε·|f|) is as good as it gets.
        floor = 10 * np.sqrt(np.finfo(np.float64).eps * max(1.0, abs(float(found.fun))))
        if search.remaining <= floor:
            return search.minimum(n_iter, Stop.FLAT)
        # Among bounds L-BFGS-B may stop moving where there is much to gain. Without what it remembers it goes on.
        if not found.fun < value or n_iter >= max_iter or search.n_eval >= 4 * max_iter:
            break
        x, value = np.asarray(found.x, dtype=np.float64), float(found.fun)
    x, gradient = (np.asarray(part, dtype=np.float64) for part in (found.x, found.jac))
    spent = n_iter >= max_iter or search.n_eval >= 4 * max_iter
    stop = Stop.MAX_ITER if spent else Stop.LINE_SEARCH
    return Minimum(x, float(found.fun), gradient, n_iter, search.n_eval, stop)


class _Reached(Exception):
    """The gradient is small enough."""


class _Search:
    """The objective, which remembers where the gradient was least.

    In a convex problem that is the best point, whatever a line search thinks of it: near the minimum values differ by
    less than rounding and say nothing any more, while gradients still do.
    """

    def __init__(self, objective: Objective, lower: FloatArray, upper: FloatArray, tol: float) -> None:
        self._objective, self._lower, self._upper, self._tol = objective, lower, upper, tol
        self.n_eval, self.remaining = 0, np.inf
        self.x, self.value, self.gradient = np.empty(0), np.inf, np.empty(0)

    def __call__(self, x: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = self._objective(x)
        self.n_eval += 1
        remaining = float(np.max(np.abs(projected_gradient(x, gradient, self._lower, self._upper)), initial=0.0))
        if remaining < self.remaining:
            self.remaining, self.x, self.value, self.gradient = remaining, x.copy(), value, gradient
        if remaining <= self._tol:
            raise _Reached
        return value, gradient

    def minimum(self, n_iter: int, stop: Stop) -> Minimum:
        return Minimum(self.x, self.value, self.gradient, n_iter, self.n_eval, stop)


def projected_gradient(x: FloatArray, gradient: FloatArray, lower: FloatArray, upper: FloatArray) -> FloatArray:
    """x − clip(x − gradient): zero exactly at a minimum inside the bounds."""
    return x - np.clip(x - gradient, lower, upper)
