"""Where to start: the objective is not convex in λ, so the start decides which stationary point is found.

``zeros``        p is q₀ (uniform) everywhere
``supervised``   the fit to the labelled rows alone
``constraints``  one moment projection onto q at λ = 0: what the constraints say, before the model says anything
``random``       normal weights of standard deviation 0.1
"""

from __future__ import annotations

from functools import partial

import numpy as np
import numpy.typing as npt

from tiltfit.errors import DataError
from tiltfit.methods.alternating import moment_target
from tiltfit.methods.problem import Problem
from tiltfit.projections.moment import moment_projection

FloatArray = npt.NDArray[np.float64]

STARTS = ("zeros", "supervised", "constraints", "random")
_SPREAD = 0.1


def starting_point(kind: str, problem: Problem, rng: np.random.Generator, tol: float) -> FloatArray:
    """The weights to start from."""
    zeros = np.zeros(problem.model.n_weights)
    if kind == "zeros":
        return zeros
    if kind == "random":
        return _SPREAD * rng.normal(size=len(zeros))
    if kind == "supervised":
        if not len(problem.labelled):
            raise DataError("init='supervised' needs labelled rows, but y has none. Use init='constraints'.")
        problem = problem.take(problem.labelled)
    else:
        problem = problem.active
    now = problem.evaluate(zeros, None, 1e-6)
    moments = partial(problem.model.moments, weight=problem.omega)
    limit = problem.gradient_tol(tol)
    target, _ = moment_target(problem, zeros, now)
    return moment_projection(moments, target, problem.alpha, zeros, gradient_tol=limit, max_iter=200).x
