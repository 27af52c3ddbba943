"""Strong-Wolfe line search (Nocedal & Wright, algorithms 3.5 and 3.6).

Finds a step t with  φ(t) ≤ φ(0) + c₁·t·φ′(0)  and  |φ′(t)| ≤ c₂·|φ′(0)|,  φ(t) = f(x + t·direction).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tiltfit import kernels
from tiltfit.arrays import FloatArray
from tiltfit.optimize.measure import Measure

SUFFICIENT_DECREASE = 1e-4  # c₁
CURVATURE = 0.9  # c₂: loose, as quasi-Newton directions are well scaled
MAX_TRIALS = 25


class Trial(NamedTuple):
    """φ at one step, with the full gradient so that it need not be computed again. ``steepest``: its measure."""

    step: float
    value: float
    slope: float
    steepest: float
    gradient: FloatArray


class Found(NamedTuple):
    """The accepted trial (None if no step lowers the value), x + step·direction there, and the evaluations spent."""

    trial: Trial | None
    point: FloatArray
    n_eval: int


def strong_wolfe(
    objective: Callable[[FloatArray], tuple[float, FloatArray]],
    x: FloatArray,
    direction: npt.NDArray[Any],
    origin: Trial,
    first: float,
    point: FloatArray,
    measure: Measure,
) -> Found:
    """Search along ``direction`` from ``x``. ``point``: x + first·direction, where it begins; it is moved along."""
    best: Trial | None = None
    low, high = origin, None
    step = first
    for n_eval in range(1, MAX_TRIALS + 1):
        if n_eval > 1:
            kernels.vectors.go_along(x, step, direction, point)
        value, gradient = objective(point)
        slope, steepest = measure.along(gradient, direction) if math.isfinite(value) else (np.inf, np.inf)
        trial = Trial(step, value, slope, steepest, gradient)
        if trial.value < (best or origin).value:
            best = trial
        limit = origin.value + SUFFICIENT_DECREASE * step * origin.slope
        if not math.isfinite(value) or value > limit or (value >= low.value and low is not origin):
            high = trial
        elif abs(trial.slope) <= -CURVATURE * origin.slope:
            return Found(trial, point, n_eval)
        else:
            if trial.slope * ((high.step if high else np.inf) - low.step) >= 0:
                high = low
            low = trial
        if high is None:
            step = _beyond(origin, trial)
        else:
            if abs(high.step - low.step) <= 1e-12 * max(step, 1e-300):
                break
            step = _between(low, high)
    # No step meets both conditions to working precision: any real decrease is still progress.
    if best is not None:
        kernels.vectors.go_along(x, best.step, direction, point)
    return Found(best, point, n_eval)


def _beyond(origin: Trial, trial: Trial) -> float:
    """The step at which the slope would vanish if it went on rising as it did so far; at least 2 and at most 1000 times
    as far.

    A first step is a guess that can be orders of magnitude too short; doubling alone would pay an evaluation for each.
    """
    rise = trial.slope - origin.slope
    guess = trial.step * -origin.slope / rise if rise > 0 else 10.0 * trial.step
    return float(np.clip(guess, 2.0 * trial.step, 1000.0 * trial.step))


def _between(low: Trial, high: Trial) -> float:
    """The minimiser of the cubic through both ends, kept away from them; the middle where the cubic is no help."""
    width = high.step - low.step
    if not np.isfinite(high.value):
        return low.step + 0.1 * width
    bend = low.slope + high.slope - 3 * (high.value - low.value) / width
    under = bend * bend - low.slope * high.slope
    if under < 0 or not np.isfinite(under):
        return low.step + 0.5 * width
    root = np.copysign(np.sqrt(under), width)
    guess = high.step - width * (high.slope + root - bend) / (high.slope - low.slope + 2 * root)
    if not np.isfinite(guess):
        return low.step + 0.5 * width
    edge = 0.1 * abs(width)
    return float(np.clip(guess, min(low.step, high.step) + edge, max(low.step, high.step) - edge))
