"""Alternating projections that start where a stiffer problem ends: ``method="continuation"``.

    min_λ  O(λ) with 10·α, then with α from there

The objective is that of alternating projections (Eq. 6). It is not convex, so the start matters: a strong ridge has few
local optima, and its solution is a safe place to start from.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from tiltfit import Fit, Method, Run, Training, register_method
from tiltfit.errors import DataError
from tiltfit.methods.joint import solve_jointly


@dataclass(frozen=True)
class Options:
    """``stiffness``: how many times stronger the first ridge is."""

    stiffness: float = 10.0

    def __post_init__(self) -> None:
        if not self.stiffness >= 1:
            raise DataError(f"stiffness={self.stiffness!r} must be at least 1.", parameter="stiffness")


def fit(training: Training, start: npt.NDArray[np.float64], run: Run) -> Fit:
    """Solve the stiff problem quietly, then the one that was asked for."""
    stiff = replace(training.problem, alpha=run.options.stiffness * training.problem.alpha)
    quiet = replace(run, callback=None, development=None)
    return solve_jointly(training.problem, solve_jointly(stiff, start, quiet).weights, run)


CONTINUATION = register_method(Method("continuation", "alternating projections by continuation", fit, options=Options))
