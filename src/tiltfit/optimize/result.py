"""What optimisers share: the function they minimise, their result, and why a search ended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from tiltfit.arrays import FloatArray

Objective = Callable[[FloatArray], tuple[float, FloatArray]]
"""Value and gradient."""


class Stop(Enum):
    """Why a search ended. ``converged`` says whether that is where it wanted to end.

    The value is the sentence that people read; fields in braces are numbers of the search (``methods.history.Fit``).
    """

    CONVERGED = "the gradient is zero within rounding"
    FLAT = "nothing is left to gain"
    NOISE = "what is left of the gradient is noise"
    CLOSED_FORM = "the weights follow from counts in closed form"
    STABLE = "the labels no longer change"
    EARLY = "no better on the development set for {patience} rounds"
    PASSES = "all passes over the data are made"
    LATE = "fitted without the bounds on transitions, segments and whole sequences, which came last, for a few rounds"
    MAX_ITER = "stopped after {rounds} rounds"
    LINE_SEARCH = "the line search found no better point (rounding, or a wrong gradient)"
    NOT_FINITE = "the objective is not finite at the start"
    CALLBACK = "stopped by the callback"
    UNSTABLE = "labels still change after {rounds} rounds"
    UNSOLVED = "the last information projection was not solved (gap {gap:.2g})"
    UNSETTLED = "the last information projection did not settle"

    @property
    def converged(self) -> bool:
        return self in _GOOD


_GOOD = {Stop.CONVERGED, Stop.FLAT, Stop.NOISE, Stop.CLOSED_FORM, Stop.STABLE, Stop.EARLY, Stop.PASSES, Stop.LATE}


@dataclass(frozen=True, eq=False)
class Minimum:
    """The best point found, its value and gradient, and how the search ended."""

    x: FloatArray
    value: float
    gradient: FloatArray
    n_iter: int
    n_eval: int
    stop: Stop

    @property
    def converged(self) -> bool:
        return self.stop.converged
