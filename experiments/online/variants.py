"""The default of online learning with one thing changed. What does not help is not in the library; it is here."""

from __future__ import annotations

import time
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from benchmarks.online import PASSES, Prepared

from tiltfit.arrays import FloatArray
from tiltfit.methods.online import REACH, Learner, Online
from tiltfit.optimize.lazy import Adaptive, Printed, Rule
from tiltfit.projections.ledger import COLUMNS, Ledger


class Common(Printed):
    """η_t = c/√t for all weights alike; ``eta0``: c."""

    def step(self, t: float) -> float:
        return float(self.eta0 / np.sqrt(t))


class CommonOnline(Online):
    """The default, but with one step for all weights."""

    @property
    def rule(self) -> Rule:
        return Common(self.eta0)


class SlowLedger(Ledger):
    """The default, but prices have steps that fall as 1/v and not as 1/v^¾."""

    def step(self, rows: Any, total: Any, support: Any, visits: Any, sums: Any, bend: Any) -> FloatArray:
        before = self.table.copy()
        stiff = super().step(rows, total, support, visits, sums, bend)
        slower = np.maximum(1.0, self.column("visits")[rows]) ** -0.25
        for name in ("dual", "second"):
            old = before[COLUMNS.index(name)][rows]
            self.column(name)[rows] = old + slower * (self.column(name)[rows] - old)
        return stiff


class Unlimited(Adaptive):
    """The default, but steps may go past where constraints pull."""

    limit: ClassVar[float] = float("inf")


class UnlimitedOnline(Online):
    """The default with such steps."""

    @property
    def rule(self) -> Rule:
        return Unlimited(REACH)


VARIANTS = {
    "default (64 a step)": "",
    "1 a step": "batch_size",
    "16 a step": "batch_size",
    "256 a step": "batch_size",
    "one step for all weights, c = 0.01": "common",
    "one step for all weights, c = 0.1": "common",
    "one step for all weights, c = 1": "common",
    "one step for all weights, c = 10": "common",
    "prices by 1/v": "slow",
    "no limit to steps": "unlimited",
    "weights averaged over the last half of the pass": "averaged",
}


def learner(data: Prepared, variant: str) -> tuple[Learner, npt.NDArray[np.intp]]:
    """The default with one thing changed."""
    kind = VARIANTS[variant]
    found, rows = data.learner(**({"batch_size": int(variant.split(maxsplit=1)[0])} if kind == "batch_size" else {}))
    if kind == "common":
        step = float(variant.rsplit(maxsplit=1)[-1])
        found.online = CommonOnline(horizon=found.online.horizon, eta0=step)
    if kind == "unlimited":
        found.online = UnlimitedOnline(horizon=found.online.horizon)
    if kind == "slow":
        fast = found.ledger
        found.ledger = SlowLedger(fast.keys, fast.penalty, fast.table, fast.declared, fast.per_firing)
    return found, rows


def vary(data: Prepared, variant: str, passes: int = PASSES) -> dict[str, Any]:
    """Macro-F1 pass by pass, and seconds of all."""
    found, rows = learner(data, variant)
    rng, scores, seconds = np.random.default_rng(0), [], 0.0
    for _ in range(passes):
        order = rng.permutation(len(data.problem.weight))
        parts = np.array_split(order, max(1, len(order) // 160)) if VARIANTS[variant] == "averaged" else [order]
        kept: list[FloatArray] = []
        for number, part in enumerate(parts):
            started = time.perf_counter()
            found.learn(data.problem, data.grounded, part, rows)
            seconds += time.perf_counter() - started
            if 2 * number >= len(parts) - 1:
                kept = [(kept[0] if kept else 0.0) + found.flat_weights()]
        scores.append(data.macro_f1(kept[0]))  # a multiple of the mean has the same best classes
    return {"macro_f1": scores, "seconds": seconds}
