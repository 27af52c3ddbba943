"""Weights that are learned a few rows at a time, at a cost of those rows alone.

The ridge α/2·‖λ‖² pulls at every weight at every step. A clock keeps count of what it did since a row was seen last,
and the row makes up for it when it is needed again (*lazy regularisation*): no step sweeps over all weights.

Two rules for a step along a gradient g, n the number of instances:

``Adaptive``   S ← S + g²,   λ ← λ + ρ·g/√S                        each weight its own step (Duchi et al. 2011)
               λ ← λ/(1 + ρ·τ/√S),  τ = Σ_missed α/n                the ridge, implicitly: it cannot overshoot
``Printed``    λ ← λ·Π_missed(1 − η_t·α/n),   λ ← λ + η_t·g         η_t = 1/(t + 1/η₀): the paper's (§2.3)

What else they differ in:

``squares``       True if the rule needs S
``ridge_first``   True if a gradient is taken after the ridge of its own step; that of ``Printed`` is taken before it,
                  as in the paper
``limit``         the share of the way to where labels and constraints pull that a step may go: beyond, nothing would
                  call it back from where a constraint holds by itself
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tiltfit import kernels
from tiltfit.arrays import FloatArray, IntArray


@dataclass(eq=False)
class LazyTable:
    """Rows of weights. ``settled``: up to where of the clock each has its ridge. ``square``: S (no columns where a rule
    does without). ``free``: rows without ridge, the first of them and the one after the last. It changes in place."""

    value: FloatArray
    square: FloatArray
    settled: FloatArray
    free: tuple[int, int] = (0, 0)

    @staticmethod
    def zeros(n_rows: int, width: int, *, squares: bool, free: tuple[int, int] = (0, 0)) -> LazyTable:
        # Written to, so that all memory is taken now and not little by little, as rows are met.
        value, settled = np.full((n_rows, width), 0.0), np.full(n_rows, 0.0)
        return LazyTable(value, np.full((n_rows, width if squares else 0), 0.0), settled, free)

    def move(self, which: IntArray, steps: FloatArray, share: float = 1.0) -> None:
        """Take these steps, or a share of them."""
        kernels.lazy.take_steps(self.value, which, steps, share)

    def copy(self) -> LazyTable:
        return LazyTable(self.value.copy(), self.square.copy(), self.settled.copy(), self.free)


@dataclass(frozen=True)
class Adaptive:
    """ρ = ``reach``/``size``: so far may the first step move a score, where attributes of an instance sum to ``size``
    on average. So the scale of the attributes does not matter."""

    squares: ClassVar[bool] = True
    ridge_first: ClassVar[bool] = True
    limit: ClassVar[float] = 1.0

    reach: float

    def tick(self, t: float, ridge: float) -> float:
        """The time that an instance takes on the clock; ``ridge``: α/n."""
        return ridge

    def rows(self, table: LazyTable, which: IntArray, clock: float, size: float) -> FloatArray:
        """The weights of these rows, ridge included."""
        rate = self.reach / size
        return kernels.lazy.settle_adaptive(table.value, table.square, table.settled, which, clock, rate, *table.free)

    def steps(
        self, table: LazyTable, which: IntArray, gradient: FloatArray, t: float, clock: float, size: float
    ) -> FloatArray:
        """How far these rows go, which have their ridge; S is brought up to date."""
        return kernels.lazy.adaptive_steps(table.value, table.square, which, gradient, self.reach / size)


@dataclass(frozen=True)
class Printed:
    """η_t = 1/(t + 1/η₀); ``eta0``: η₀."""

    squares: ClassVar[bool] = False
    ridge_first: ClassVar[bool] = False
    limit: ClassVar[float] = float("inf")

    eta0: float

    def step(self, t: float) -> float:
        """η_t, t counting instances from 1."""
        return 1 / (t + 1 / self.eta0)

    def tick(self, t: float, ridge: float) -> float:
        """The time that an instance takes on the clock; ``ridge``: α/n, which may not take more than all there is."""
        return float(-np.log1p(-min(self.step(t) * ridge, 1 - 1e-12)))

    def rows(self, table: LazyTable, which: IntArray, clock: float, size: float) -> FloatArray:
        """The weights of these rows, ridge included."""
        return kernels.lazy.settle_plain(table.value, table.settled, which, clock, *table.free)

    def steps(
        self, table: LazyTable, which: IntArray, gradient: FloatArray, t: float, clock: float, size: float
    ) -> FloatArray:
        """How far these rows go, which get their ridge up to ``clock``."""
        self.rows(table, which, clock, size)
        return self.step(t) * gradient


Rule = Adaptive | Printed
"""The length of a step, and the effect of the ridge meanwhile."""
