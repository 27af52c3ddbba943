"""Minimisation inside bounds, for the dual of the information projection: SciPy's L-BFGS-B behind our result type."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import Bounds, minimize

from tiltfit.optimize.result import FloatArray, Minimum


def minimise_bounded(
    objective: Callable[[FloatArray], tuple[float, FloatArray]],
    start: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    *,
    gradient_tol: float,
    max_iter: int = 1000,
) -> Minimum:
    """Minimise ``objective(x) -> (value, gradient)`` over lower ≤ x ≤ upper.

    Stops when the largest entry of the projected gradient is at most ``gradient_tol``.
    """
    inside = np.clip(start, lower, upper)
    found = minimize(
        objective,
        inside,
        jac=True,
        method="L-BFGS-B",
        bounds=Bounds(lower, upper),
        # ftol 0: only the gradient decides; L-BFGS-B then ends in its line search when rounding is reached.
        options={"maxiter": max_iter, "maxfun": 4 * max_iter, "ftol": 0.0, "gtol": gradient_tol, "maxcor": 20},
    )
    gradient = np.asarray(found.jac, dtype=np.float64)
    x = np.asarray(found.x, dtype=np.float64)
    remaining = float(np.max(np.abs(projected_gradient(x, gradient, lower, upper)), initial=0.0))
    # A line search cannot tell values apart that differ by less than rounding, so with curvature near one (the caller
    # scales for that) a gradient of about √(ε·|f|) is as good as it gets.
    floor = 10 * np.sqrt(np.finfo(np.float64).eps * max(1.0, abs(float(found.fun))))
    converged = remaining <= max(gradient_tol, floor)
    return Minimum(x, float(found.fun), gradient, int(found.nit), int(found.nfev), converged, str(found.message))


def projected_gradient(x: FloatArray, gradient: FloatArray, lower: FloatArray, upper: FloatArray) -> FloatArray:
    """x − clip(x − gradient): zero exactly at a minimum inside the bounds."""
    return x - np.clip(x - gradient, lower, upper)
