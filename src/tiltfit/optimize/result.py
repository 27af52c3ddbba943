"""What an optimiser returns."""

from __future__ import annotations

from dataclasses import dataclass

from tiltfit.arrays import FloatArray


@dataclass(frozen=True, eq=False)
class Minimum:
    """The best point found, its value and gradient, and how the search ended."""

    x: FloatArray
    value: float
    gradient: FloatArray
    n_iter: int
    n_eval: int
    converged: bool
    message: str
