"""Limited-memory BFGS with a strong-Wolfe line search, for smooth functions of millions of variables.

An iteration costs some 6·memory·n multiplications (``history``) and one or two evaluations. At its peak it holds
memory/2 + 4 vectors (2·memory + 4 if they are short) beside what the objective needs.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tiltfit.arrays import FloatArray
from tiltfit.execution.workers import Workers
from tiltfit.optimize.history import History
from tiltfit.optimize.line_search import Trial, strong_wolfe
from tiltfit.optimize.measure import Measure
from tiltfit.optimize.result import Minimum, Stop

Objective = Callable[[FloatArray], tuple[float, FloatArray]]
Progress = Callable[[int, float, float, FloatArray], bool | None]

_ROUNDING = 1e-12
"""A Newton-like step that promises less than this fraction of the value is beyond what the value can show."""


def minimise(
    objective: Objective,
    start: FloatArray,
    *,
    gradient_tol: float,
    max_iter: int = 1000,
    memory: int = 6,
    progress: Progress | None = None,
    workers: Workers | None = None,
    measure: Measure | None = None,
) -> Minimum:
    """Minimise ``objective(x) -> (value, gradient)`` from ``start``.

    Stops when max|gradient| ≤ ``gradient_tol``, or when a step along the best direction known could not change the
    value by more than rounding. ``measure``: what to take for max|gradient|. ``progress(iteration, value,
    max|gradient|, x)`` is called after each step and may return True to stop. If the line search fails, the best point
    so far is returned with ``Stop.LINE_SEARCH``.

    >>> import numpy as np
    >>> found = minimise(lambda x: (float((x - 3) @ (x - 3)), 2 * (x - 3)), np.zeros(4), gradient_tol=1e-9)
    >>> found.x.round(6).tolist(), found.converged
    ([3.0, 3.0, 3.0, 3.0], True)
    """
    x = np.array(start, dtype=np.float64)
    value, gradient = objective(x)
    n_eval = 1
    workers = workers or Workers()
    history = History(memory, len(x), workers)

    def done(n_iter: int, stop: Stop) -> Minimum:
        return Minimum(x, value, gradient, n_iter, n_eval, stop)

    if not np.isfinite(value) or not np.all(np.isfinite(gradient)):
        return done(0, Stop.NOT_FINITE)
    measure = measure or Measure.plain(len(x))
    largest = measure.of(gradient)
    for n_iter in range(max_iter):
        if largest <= gradient_tol:
            return done(n_iter, Stop.CONVERGED)
        first = 1.0 if n_iter > 0 else min(1.0, 1.0 / float(np.sum(np.abs(gradient))))
        direction, point, slope = history.direction(gradient, x, first)
        if not slope < 0:  # only rounding can do this; start afresh from the steepest descent
            history.clear()
            direction, point, slope = history.direction(gradient, x, first)
        found = strong_wolfe(
            objective, x, direction, Trial(0.0, value, slope, largest, gradient), first, point, measure
        )
        n_eval += found.n_eval
        if found.trial is None:
            if n_iter > 0 and -slope <= _ROUNDING * max(1.0, abs(value)):
                return done(n_iter, Stop.FLAT)
            return done(n_iter, Stop.LINE_SEARCH)
        history.move(found.trial.step, gradient, found.trial.gradient)
        x, value, largest, gradient = found.point, found.trial.value, found.trial.steepest, found.trial.gradient
        del found, direction, point
        if progress is not None and progress(n_iter + 1, value, largest, x):
            return done(n_iter + 1, Stop.CALLBACK)
    return done(max_iter, Stop.CONVERGED if largest <= gradient_tol else Stop.MAX_ITER)
