"""The distance of a gradient from zero."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tiltfit import kernels
from tiltfit.arrays import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Measure:
    """max |g_i|/divisor[k] over bounds[k] ≤ i < bounds[k + 1] and all k. Divisors are positive."""

    bounds: IntArray
    divisor: FloatArray

    @staticmethod
    def plain(n: int) -> Measure:
        """max |g_i| of n numbers."""
        return Measure(np.array([0, n]), np.ones(1))

    def of(self, gradient: FloatArray) -> float:
        """The measure of a gradient; NaN if it has one."""
        return float(kernels.vectors.largest(gradient, self.bounds, self.divisor))

    def along(self, gradient: FloatArray, direction: npt.NDArray[Any]) -> tuple[float, float]:
        """gradient·direction, and the measure of the gradient, in one pass."""
        slope, size = kernels.vectors.slope_and_largest(gradient, direction, self.bounds, self.divisor)
        return slope, size


def steepest(gradient: FloatArray) -> float:
    """max|gradient|, NaN if there is one."""
    return Measure.plain(len(gradient)).of(gradient)
