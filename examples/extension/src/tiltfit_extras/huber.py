"""A penalty that is quadratic near its target and linear beyond: ``about(0.9, penalty="huber")``."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tiltfit import Penalty, register_penalty

FloatArray = npt.NDArray[np.float64]
NEAR = 0.1


@dataclass(frozen=True, eq=False)
class Huber(Penalty):
    """U(m)  = d²/2β                  where |d| ≤ δ,  d = m − u
            δ/β·(|d| − δ/2)          beyond
    U*(η) = η·u + β·η²/2             for |η| ≤ δ/β, otherwise ∞
    """

    target: FloatArray
    beta: FloatArray

    def value(self, m: FloatArray) -> FloatArray:
        d = np.abs(m - self.target)
        return np.where(d <= NEAR, d**2 / 2, NEAR * (d - NEAR / 2)) / self.beta

    def conjugate(self, eta: FloatArray) -> FloatArray:
        inside = eta * self.target + self.beta * eta**2 / 2
        return np.where(np.abs(eta) <= NEAR / self.beta, inside, np.inf)

    def grad_conjugate(self, eta: FloatArray) -> FloatArray:
        return np.asarray(self.target + self.beta * eta)

    def curvature_conjugate(self, eta: FloatArray) -> FloatArray:
        return np.asarray(self.beta + 0.0 * eta)

    def dual_bounds(self) -> tuple[FloatArray, FloatArray]:
        return -NEAR / self.beta, NEAR / self.beta

    def domain(self) -> tuple[FloatArray, FloatArray]:
        return np.full(len(self), -np.inf), np.full(len(self), np.inf)

    def times(self, factor: FloatArray) -> Huber:
        return Huber(self.target, self.beta / factor)

    def grad(self, m: FloatArray) -> FloatArray:
        return np.asarray(np.clip(m - self.target, -NEAR, NEAR) / self.beta)


register_penalty("huber", Huber)
