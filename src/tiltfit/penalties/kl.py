"""Generalised Kullback–Leibler divergence from the target distribution to the expected one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import kl_div

from tiltfit.arrays import FloatArray, IntArray
from tiltfit.penalties.penalty import Penalty


@dataclass(frozen=True, eq=False)
class GeneralisedKL(Penalty):
    """U(m)  = w·[u·log(u/m) − u + m],   m ≥ 0   (u = 0: w·m; 0·log 0 = 0)

    U*(η) = −w·u·log(1 − η/w),        η < w   (u = 0: 0 for η ≤ w)
    U*′(η) = u / (1 − η/w)

    Since m is a share, m ≤ 1, a maximiser has u/(1 − η/w) ≤ 1: η ≤ w(1 − u). That is the dual bound, and it keeps
    the solver away from the pole at η = w.
    """

    target: FloatArray
    weight: FloatArray

    def times(self, factor: FloatArray) -> GeneralisedKL:
        return GeneralisedKL(self.target, self.weight * factor)

    def value(self, m: FloatArray) -> FloatArray:
        inside = np.where(m >= 0, kl_div(self.target, np.maximum(m, 0.0)), np.inf)
        return np.asarray(self.weight * inside, dtype=np.float64)

    def conjugate(self, eta: FloatArray) -> FloatArray:
        room = 1 - eta / self.weight
        with np.errstate(divide="ignore", invalid="ignore"):
            inside = np.where(self.target > 0, -self.weight * self.target * np.log(np.maximum(room, 0.0)), 0.0)
        return np.where(room < 0, np.inf, inside)

    def grad_conjugate(self, eta: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.target > 0, self.target / (1 - eta / self.weight), 0.0)

    def curvature_conjugate(self, eta: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.target > 0, self.target / self.weight / (1 - eta / self.weight) ** 2, 0.0)

    def dual_bounds(self) -> tuple[FloatArray, FloatArray]:
        return np.full(len(self), -np.inf), self.weight * (1 - self.target)

    def domain(self) -> tuple[FloatArray, FloatArray]:
        return np.zeros(len(self)), np.full(len(self), np.inf)

    def instance_form(self) -> tuple[IntArray, FloatArray]:
        unused = np.zeros(len(self))
        return np.ones(len(self), dtype=np.intp), np.column_stack([self.target, unused, unused, self.weight])

    def grad(self, m: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.weight * np.where(self.target > 0, 1 - self.target / m, 1.0)


def kl(target: npt.ArrayLike, beta: npt.ArrayLike) -> GeneralisedKL:
    """U(m) = [u·log(u/m) − u + m]/β."""
    u, b = np.broadcast_arrays(np.atleast_1d(np.asarray(target, dtype=np.float64)), np.asarray(beta, dtype=np.float64))
    return GeneralisedKL(np.array(u), 1 / b)
