"""Distance to an interval: one family that holds L2, equality, at most, at least, box and L1.

    d(m)  = max(lo − m, m − hi, 0)                       how far m is outside [lo, hi]
    U(m)  = d²/(2s)            while d ≤ s·w,            quadratic with slack s,
            w·d − s·w²/2       beyond,                   then linear with slope w
    U*(η) = hi·η⁺ − lo·η⁻ + s·η²/2,   |η| ≤ w            where η⁺ = max(η, 0), η⁻ = max(−η, 0)

=============  ==========================  ========  =======
name           [lo, hi]                    slack s   slope w
=============  ==========================  ========  =======
``l2``         [u, u]                      β         ∞
``equality``   [u, u]                      slack     ∞
``at_most``    (−∞, u]                     slack     ∞
``at_least``   [u, ∞)                      slack     ∞
``box``        [lo, hi]                    slack     ∞
``l1``         [u, u]                      0         1/β
=============  ==========================  ========  =======

With s = 0 and w = ∞ it is the indicator of [lo, hi]. An infinite end takes no part: its side of the dual is closed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tiltfit.arrays import BoolArray, FloatArray, IntArray
from tiltfit.penalties.penalty import PENALTIES, NamedPenalty, Penalty


@dataclass(frozen=True, eq=False)
class Interval(Penalty):
    """U(m) = huber(d(m)), d the distance to [low, high]; arrays with one entry per row. See the module's formulas."""

    low: FloatArray
    high: FloatArray
    slack: FloatArray
    slope: FloatArray

    def times(self, factor: FloatArray) -> Interval:
        return Interval(self.low, self.high, self.slack / factor, self.slope * factor)

    @property
    def hard(self) -> BoolArray:
        return np.asarray((self.slack == 0) & np.isinf(self.slope))

    def softened(self, slack: FloatArray) -> Interval:
        return Interval(self.low, self.high, np.where(self.hard, slack, self.slack), self.slope)

    def squared(self) -> Interval:
        bounded = (self.slack == 0) & np.isfinite(self.slope)
        if not bounded.any():
            return self
        slack = np.where(bounded, 0.5 / self.slope, self.slack)
        return Interval(self.low, self.high, slack, np.where(bounded, np.inf, self.slope))

    def value(self, m: FloatArray) -> FloatArray:
        d = self._distance(m)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            quadratic = np.where(d > 0, d * d / (2 * self.slack), 0.0)  # slack 0: d²/0 = inf, the indicator
            linear = self.slope * d - np.where(self.slack > 0, self.slack * self.slope**2 / 2, 0.0)
        return np.where(d <= self._bend(), quadratic, np.where(np.isinf(self.slope), quadratic, linear))

    def conjugate(self, eta: FloatArray) -> FloatArray:
        with np.errstate(invalid="ignore"):
            edges = np.where(eta > 0, self.high * eta, np.where(eta < 0, self.low * eta, 0.0))
        inside = np.abs(eta) <= self.slope
        return np.where(inside, edges + self.slack * eta**2 / 2, np.inf)

    def grad_conjugate(self, eta: FloatArray) -> FloatArray:
        # At η = 0 every point of [low, high] will do; a one-sided bound gives its only end.
        both = np.isfinite(self.low) & np.isfinite(self.high)
        with np.errstate(invalid="ignore"):
            middle = np.where(both, (self.low + self.high) / 2, np.where(np.isfinite(self.low), self.low, self.high))
        edge = np.where(eta > 0, self.high, np.where(eta < 0, self.low, middle))
        return edge + self.slack * eta

    def curvature_conjugate(self, eta: FloatArray) -> FloatArray:
        return self.slack + 0.0 * eta

    def dual_bounds(self) -> tuple[FloatArray, FloatArray]:
        lower = np.where(np.isfinite(self.low), -self.slope, 0.0)
        upper = np.where(np.isfinite(self.high), self.slope, 0.0)
        return lower, upper

    def domain(self) -> tuple[FloatArray, FloatArray]:
        soft = (self.slack > 0) | np.isfinite(self.slope)
        return np.where(soft, -np.inf, self.low), np.where(soft, np.inf, self.high)

    def grad(self, m: FloatArray) -> FloatArray | None:
        if np.any(self.slack == 0):
            return None
        side = np.where(m > self.high, 1.0, -1.0)
        return side * np.minimum(self._distance(m) / self.slack, self.slope)

    def parts(self) -> tuple[Interval, IntArray]:
        rows = np.arange(len(self), dtype=np.intp)
        two_sided = np.isfinite(self.low) & np.isfinite(self.high) & (self.low < self.high)
        origin = np.concatenate([rows, rows[two_sided]])
        low, high = self.low[origin], self.high[origin]
        low[: len(self)][two_sided] = -np.inf
        high[len(self) :] = np.inf
        return Interval(low, high, self.slack[origin], self.slope[origin]), origin

    def instance_form(self) -> tuple[IntArray, FloatArray]:
        kind = np.zeros(len(self), dtype=np.intp)
        return kind, np.column_stack([self.low, self.high, self.slack, self.slope])

    def violation(self, m: FloatArray) -> FloatArray:
        return self._distance(m)

    def _distance(self, m: FloatArray) -> FloatArray:
        return np.maximum(np.maximum(self.low - m, m - self.high), 0.0)

    def _bend(self) -> FloatArray:
        with np.errstate(invalid="ignore"):
            return np.where(self.slack > 0, self.slack * self.slope, 0.0)


def _rows(*values: npt.ArrayLike) -> list[FloatArray]:
    arrays = np.broadcast_arrays(*(np.atleast_1d(np.asarray(v, dtype=np.float64)) for v in values))
    return [np.array(a) for a in arrays]


def l2(target: npt.ArrayLike, beta: npt.ArrayLike) -> Interval:
    """U(m) = (m − u)²/(2β);  U*(η) = η·u + β·η²/2."""
    u, s, w = _rows(target, beta, np.inf)
    return Interval(u, u.copy(), s, w)


def equality(target: npt.ArrayLike, slack: npt.ArrayLike = 0.0) -> Interval:
    """U(m) = 0 if m = u, else ∞;  U*(η) = η·u (+ slack·η²/2)."""
    return l2(target, slack)


def at_most(target: npt.ArrayLike, slack: npt.ArrayLike = 0.0) -> Interval:
    """U(m) = 0 if m ≤ u, else ∞;  U*(η) = η·u for η ≥ 0, else ∞ (+ slack·η²/2)."""
    return box(-np.inf, target, slack)


def at_least(target: npt.ArrayLike, slack: npt.ArrayLike = 0.0) -> Interval:
    """U(m) = 0 if m ≥ u, else ∞;  U*(η) = η·u for η ≤ 0, else ∞ (+ slack·η²/2)."""
    return box(target, np.inf, slack)


def box(low: npt.ArrayLike, high: npt.ArrayLike, slack: npt.ArrayLike = 0.0) -> Interval:
    """U(m) = 0 if lo ≤ m ≤ hi, else ∞;  U*(η) = u·η + ε|η| with u the middle and ε half the width (+ slack·η²/2)."""
    lo, hi, s, w = _rows(low, high, slack, np.inf)
    return Interval(lo, hi, s, w)


def l1(target: npt.ArrayLike, beta: npt.ArrayLike) -> Interval:
    """U(m) = |m − u|/β;  U*(η) = η·u for |η| ≤ 1/β, else ∞."""
    u, s, b = _rows(target, 0.0, beta)
    return Interval(u, u.copy(), s, 1 / b)


PENALTIES.register("l2", NamedPenalty(l2), origin=l2)
PENALTIES.register("l1", NamedPenalty(l1, power=1), origin=l1)
