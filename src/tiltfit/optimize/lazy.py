"""Weights that are learned a few rows at a time, at a cost of those rows alone.

The ridge α/2·‖λ‖² pulls at every weight at every step. A clock keeps count of what it did since a row was seen last,
and the row makes up for it when it is needed again (*lazy regularisation*): no step sweeps over all weights.

Two rules for a step along a gradient g, n the number of instances:

``Adaptive``   S ← S + g²,   λ ← λ + ρ·g/√S                        each weight its own step (Duchi et al. 2011)
               λ ← λ/(1 + ρ·τ/√S),  τ = Σ_missed α/n                the ridge, implicitly: it cannot overshoot
``Printed``    λ ← λ·Π_missed(1 − η_t·α/n),   λ ← λ + η_t·g         η_t = 1/(t + 1/η₀): the paper's (§2.3)

The gradient of ``Printed`` is that before the ridge of its own step, as in the paper.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from tiltfit.arrays import FloatArray, IntArray


@dataclass(eq=False)
class LazyTable:
    """Rows of weights. ``settled``: up to where of the clock each has its ridge. ``square``: S (no columns where a rule
    does without). ``free``: a row without ridge (−1: none). It changes in place."""

    value: FloatArray
    square: FloatArray
    settled: FloatArray
    free: int = -1

    @staticmethod
    def zeros(n_rows: int, width: int, *, squares: bool, free: int = -1) -> LazyTable:
        # Written to, so that all memory is taken now and not little by little, as rows are met.
        value, settled = np.full((n_rows, width), 0.0), np.full(n_rows, 0.0)
        return LazyTable(value, np.full((n_rows, width if squares else 0), 0.0), settled, free)

    def move(self, which: IntArray, steps: FloatArray, share: float = 1.0) -> None:
        """Take these steps, or a share of them."""
        from tiltfit.kernels.lazy import take_steps

        take_steps(self.value, which, steps, share)

    def copy(self) -> LazyTable:
        return LazyTable(self.value.copy(), self.square.copy(), self.settled.copy(), self.free)


class Rule(Protocol):
    """The length of a step, and the effect of the ridge meanwhile."""

    @property
    def squares(self) -> bool: ...
    @property
    def ridge_first(self) -> bool: ...
    def tick(self, t: float, ridge: float) -> float: ...
    def rows(self, table: LazyTable, which: IntArray, clock: float, size: float) -> FloatArray: ...
    @property
    def limit(self) -> float: ...
    def steps(
        self, table: LazyTable, which: IntArray, gradient: FloatArray, t: float, clock: float, size: float
    ) -> FloatArray: ...


@dataclass(frozen=True)
class Adaptive:
    """ρ = ``reach``/``size``: so far may the first step move a score, where attributes of an instance sum to ``size``
    on average. So the scale of the attributes does not matter."""

    reach: float

    @property
    def squares(self) -> bool:
        return True

    @property
    def ridge_first(self) -> bool:
        """True if a gradient is taken after the ridge of its own step."""
        return True

    def tick(self, t: float, ridge: float) -> float:
        """The time that an instance takes on the clock; ``ridge``: α/n."""
        return ridge

    def rows(self, table: LazyTable, which: IntArray, clock: float, size: float) -> FloatArray:
        """The weights of these rows, ridge included."""
        from tiltfit.kernels.lazy import settle_adaptive

        rate = self.reach / size
        return settle_adaptive(table.value, table.square, table.settled, which, clock, rate, table.free)

    @property
    def limit(self) -> float:
        """Which share of the way to where labels and constraints pull a step may go: beyond, nothing would call it back
        from where a constraint holds by itself."""
        return 1.0

    def steps(
        self, table: LazyTable, which: IntArray, gradient: FloatArray, t: float, clock: float, size: float
    ) -> FloatArray:
        """How far these rows go, which have their ridge; S is brought up to date."""
        from tiltfit.kernels.lazy import adaptive_steps

        return adaptive_steps(table.value, table.square, which, gradient, self.reach / size)


@dataclass(frozen=True)
class Printed:
    """η_t = 1/(t + 1/η₀); ``eta0``: η₀."""

    eta0: float

    @property
    def squares(self) -> bool:
        return False

    @property
    def ridge_first(self) -> bool:
        """True if a gradient is taken after the ridge of its own step."""
        return False

    def step(self, t: float) -> float:
        """η_t, t counting instances from 1."""
        return 1 / (t + 1 / self.eta0)

    def tick(self, t: float, ridge: float) -> float:
        """The time that an instance takes on the clock; ``ridge``: α/n, which may not take more than all there is."""
        return float(-np.log1p(-min(self.step(t) * ridge, 1 - 1e-12)))

    def rows(self, table: LazyTable, which: IntArray, clock: float, size: float) -> FloatArray:
        """The weights of these rows, ridge included."""
        from tiltfit.kernels.lazy import settle_plain

        return settle_plain(table.value, table.settled, which, clock, table.free)

    @property
    def limit(self) -> float:
        """None: as in the paper."""
        return float("inf")

    def steps(
        self, table: LazyTable, which: IntArray, gradient: FloatArray, t: float, clock: float, size: float
    ) -> FloatArray:
        """How far these rows go, which get their ridge up to ``clock``."""
        self.rows(table, which, clock, size)
        return self.step(t) * gradient
