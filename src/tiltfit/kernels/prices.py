"""A few prices by the proximal Newton method, as a machine that asks for one evaluation at a time.

    min_θ  w·log Z(θ) + Σ_k [c_k·offset_k·θ_k + U_k*(−c_k θ_k)]

Whoever knows log Z (a forward–backward, say) evaluates it and E[f] at ``trial`` of every row, puts the latter into
``new_expectation`` and calls ``advance`` until that returns True. The Hessian w·Cov(f) comes from differences of
gradients w·E[f] and is then kept up to date by secants (with one price this is the secant method); each step minimises
the quadratic model of log Z plus the exact penalties (``proximal``), and a line search makes it safe.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tiltfit.arrays import FloatArray
from tiltfit.kernels.compile import kernel
from tiltfit.kernels.proximal import Records, cost, model_step, residual, set_bounds

# The state of a search. ``phase``: what the last evaluation was for; ``stale``: the Hessian is out of date; ``fresh``:
# it is all from differences.
SEARCH = np.dtype(
    [
        ("phase", np.int64), ("column", np.int64), ("steps", np.int64), ("halvings", np.int64),
        ("stale", np.bool_), ("fresh", np.bool_), ("converged", np.bool_),
        ("weight", np.float64), ("log_z", np.float64), ("step", np.float64), ("fall", np.float64),
        ("size", np.float64), ("tol", np.float64),
    ]
)  # fmt: skip
_START, _DIFFERENCES, _LINE, _FINISH = 0, 1, 2, 3

_MAX_STEPS = 60
_MAX_HALVINGS = 40
_PATIENCE = 12  # steps after which a guess at the Hessian that does not lead anywhere is given up
_FEW = 3  # rows whose Hessian is worth an evaluation each; more start from a guess and learn it on the way
_MEAN_TOL = 1e-13  # residuals of m below this are rounding
_DIFFERENCE = 1e-6


@kernel
def begin(search: Any, rows: Records, weight: float, cap: float, tol: float) -> None:
    """Start from ``theta``; steps shorter than ``tol`` (relative to 1 + |θ|) end the search."""
    search.tol = tol
    search.phase, search.column, search.steps, search.halvings = _START, 0, 0, 0
    search.stale, search.fresh, search.converged = True, False, False
    search.weight, search.log_z, search.step, search.fall, search.size = weight, 0.0, 1.0, 0.0, np.inf
    for k in range(len(rows)):
        row = rows[k]
        row.trial = 0.0
        if weight > 0.0:
            set_bounds(row, weight, cap)
            row.trial = min(max(row.theta, row.low), row.high)


@kernel
def advance(search: Any, rows: Records, matrices: FloatArray, log_z: float) -> bool:
    """Take in the evaluation at ``trial``. True: the search is over, and this evaluation was at its end.

    ``matrices``: two, at least as large as the number of rows. O(rows³) beside the evaluation.
    """
    hessian, here = matrices[0], search.phase != _DIFFERENCES
    if search.phase == _START:
        if log_z == -np.inf or search.weight == 0.0 or len(rows) == 0:
            return _give_up(search, rows)
        _move_there(search, rows, log_z)
        if len(rows) > _FEW:
            _guess(search, rows, hessian)
    elif search.phase == _DIFFERENCES:
        if not _take_column(search, rows, hessian):
            return _ask_column(search, rows, search.column + 1)
    elif search.phase == _LINE:
        if not _lower(search, rows, log_z):
            return _shorten(search, rows)
        search.stale |= search.halvings > 0 or not _secant(search, rows, hessian)
        search.fresh = False
        _move_there(search, rows, log_z)
    if search.phase == _FINISH or (here and _settled(search, rows)):
        return True
    if search.stale:
        return _ask_column(search, rows, 0)
    if _propose(search, rows, hessian, matrices[1]):
        return _ask_step(search, rows)
    return here or _ask_end(search, rows)


@kernel
def _give_up(search: Any, rows: Records) -> bool:
    """Nothing depends on the prices."""
    for k in range(len(rows)):
        rows[k].theta = 0.0
    search.converged = True
    return True


@kernel
def _move_there(search: Any, rows: Records, log_z: float) -> None:
    search.log_z = log_z
    for k in range(len(rows)):
        rows[k].theta, rows[k].expectation = rows[k].trial, rows[k].new_expectation


@kernel
def _guess(search: Any, rows: Records, hessian: FloatArray) -> None:
    """A Hessian to start from: the variance of a number of rare events is about its mean."""
    n = len(rows)
    for i in range(n):
        for j in range(n):
            hessian[i, j] = 0.0
        hessian[i, i] = search.weight * max(abs(rows[i].expectation), 1e-3)
    search.stale = False


@kernel
def _settled(search: Any, rows: Records) -> bool:
    """Return whether the means are what the penalties want, or it is time to stop."""
    worst = 0.0
    for k in range(len(rows)):
        m = rows[k].scale * rows[k].expectation + rows[k].offset
        worst = max(worst, residual(rows[k], rows[k].theta, m) / (1.0 + abs(m)))
    search.converged = worst <= _MEAN_TOL
    search.steps += 1
    return bool(search.converged or search.steps > _MAX_STEPS)


@kernel
def _ask_column(search: Any, rows: Records, column: int) -> bool:
    search.phase, search.column = _DIFFERENCES, column
    for k in range(len(rows)):
        rows[k].trial = rows[k].theta
    rows[column].trial += _DIFFERENCE
    return False


@kernel
def _take_column(search: Any, rows: Records, hessian: FloatArray) -> bool:
    """One column of the Hessian; whether it was the last."""
    n = len(rows)
    for k in range(n):
        change = rows[k].new_expectation - rows[k].expectation
        hessian[k, search.column] = search.weight * change / _DIFFERENCE
    if search.column + 1 < n:
        return False
    for i in range(n):
        hessian[i, i] = max(hessian[i, i], 0.0)
        for j in range(i):
            hessian[i, j] = hessian[j, i] = 0.5 * (hessian[i, j] + hessian[j, i])
    search.stale, search.fresh = False, True
    return True


@kernel
def _propose(search: Any, rows: Records, hessian: FloatArray, factor: FloatArray) -> bool:
    """The step that the model wants; whether there is one."""
    for k in range(len(rows)):
        rows[k].gradient = search.weight * rows[k].expectation
    size, search.fall = model_step(rows, hessian, factor)
    search.converged = size <= search.tol
    # Steps that hardly shrink mean that the Hessian will be of little use further on.
    search.stale = size > 0.3 * search.size and (len(rows) <= _FEW or search.steps > _PATIENCE)
    search.size, search.step, search.halvings = size, 1.0, 0
    return not search.converged


@kernel
def _ask_step(search: Any, rows: Records) -> bool:
    search.phase = _LINE
    for k in range(len(rows)):
        rows[k].trial = rows[k].theta + search.step * rows[k].move
    return False


@kernel
def _lower(search: Any, rows: Records, log_z: float) -> bool:
    """Return whether the trial is low enough, up to rounding."""
    change = search.weight * (log_z - search.log_z)
    for k in range(len(rows)):
        change += cost(rows[k], rows[k].trial) - cost(rows[k], rows[k].theta)
    return bool(change <= 1e-4 * search.step * search.fall + 1e-14 * (1.0 + abs(search.weight * log_z)))


@kernel
def _shorten(search: Any, rows: Records) -> bool:
    """A shorter step; after many, either rounding is all that is left, or the Hessian is wrong."""
    search.step *= 0.5
    search.halvings += 1
    if search.halvings < _MAX_HALVINGS:
        return _ask_step(search, rows)
    search.converged = -search.fall <= 1e-9 * (1.0 + abs(search.weight * search.log_z))
    if search.converged or search.fresh:
        return _ask_end(search, rows)
    return _ask_column(search, rows, 0)


@kernel
def _ask_end(search: Any, rows: Records) -> bool:
    search.phase = _FINISH
    for k in range(len(rows)):
        rows[k].trial = rows[k].theta
    return False


@kernel
def _secant(search: Any, rows: Records, hessian: FloatArray) -> bool:
    """The BFGS update of the Hessian by the step from θ to the trial; False where it says nothing."""
    n, curvature, bend = len(rows), 0.0, 0.0
    for k in range(n):
        rows[k].move = rows[k].trial - rows[k].theta
        rows[k].change = search.weight * (rows[k].new_expectation - rows[k].expectation)
    for k in range(n):
        rows[k].bent = 0.0
        for j in range(n):
            rows[k].bent += hessian[k, j] * rows[j].move
        curvature += rows[k].move * rows[k].change
        bend += rows[k].move * rows[k].bent
    if not (curvature > 0.0 and bend > 0.0):
        return False
    for i in range(n):
        for j in range(n):
            hessian[i, j] += rows[i].change * rows[j].change / curvature - rows[i].bent * rows[j].bent / bend
    return True
