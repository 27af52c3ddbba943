"""Prices that are learned a few instances at a time: the information projection of a stream.

    θ_r ← Π[θ_r + G_r/H_r·min(1, b_r/v_r^¾)]       G_r = n_r·∇U*(−c_r·θ_r) − Σ_i w_i E_q[f′_r(x_i, y)]
                                                   H_r = ¼·Σ_places f′_r·(all that fires there) + n_r·c_r·U*″
    μ_r ← Π[μ_r + η·(k·∇U*(−μ_r)/n̄ − Σ_i w_i E_q[f′_r(x_i, y)]/c_r)],   μ = c∘θ          (the paper's step 3, §2.3)

The first is the default. n_r is the support of row r among the instances of the step and c_r that in all data: of the
whole sum u, a firing gets its share where it happens (u/(n − m) as printed, at every instance, fires or not, has the
same sum). H bounds the curvature of the dual there, so that G/H is a step of Newton's method; b_r of the v_r instances
with the row so far are those of the step. Π keeps prices where U* is finite.

The second is as printed, for k unlabelled instances of n̄ in all; all rows move at every step, and hardly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from tiltfit.arrays import BoolArray, FloatArray, IntArray
from tiltfit.features.constraints import ConstraintFeatures, Parts
from tiltfit.penalties.interval import box
from tiltfit.penalties.penalty import Penalty
from tiltfit.penalties.stacked import stack
from tiltfit.projections.grounding import Key

_CAP = 50.0  # odds of e⁵⁰ to one: a hard constraint that cannot hold is not priced beyond
_RECENT = 1000.0  # approximate number of firings over which recent expectations are averaged

SUMS = ("support", "of_p", "of_q", "other_p", "other_q")
"""Sums of which expectations are told, over all firings and over the last ones: supports, Σ w E[f′] under p and q, and
for shares of another event that of the other."""

COLUMNS = ("dual", "second", "visits", "owed", "share", *SUMS, *(f"recent_{name}" for name in SUMS))
"""The columns of the table, one value per row: its dual variable, that of its other bound, the number of instances with
it, the support that it has not made a step for yet, which share of another event it is compared with (NaN: none), and
``SUMS``."""


@dataclass(frozen=True)
class Described:
    """A new row: its penalty at a support of 1, which share of another event it is compared with (NaN: none), and
    whether the penalty grows with the support."""

    penalty: Penalty
    share: float
    per_firing: bool


@dataclass(eq=False)
class Ledger:
    """The rows of a stream, by what they are about. ``penalty``: theirs at a support of 1; ``per_firing``: whether it
    grows with the support (``scale="support"``). ``declared``: supports in all data where they are known, else 0. It
    changes in place."""

    keys: list[Key] = field(default_factory=list)
    penalty: Penalty = field(default_factory=lambda: box(np.empty(0), np.empty(0)))
    table: FloatArray = field(default_factory=lambda: np.zeros((len(COLUMNS), 0)))
    declared: FloatArray = field(default_factory=lambda: np.empty(0))
    per_firing: BoolArray = field(default_factory=lambda: np.empty(0, dtype=np.bool_))

    def __len__(self) -> int:
        return len(self.keys)

    def __post_init__(self) -> None:
        self._number = {key: k for k, key in enumerate(self.keys)}

    def column(self, name: str) -> FloatArray:
        """A view of what is kept of every row under that name."""
        return np.asarray(self.table[COLUMNS.index(name)])

    def enter(self, keys: Sequence[Key], describe: Callable[[Key], Described]) -> IntArray:
        """The numbers of these rows; new ones are entered as they are described."""
        new = [key for key in dict.fromkeys(keys) if key not in self._number]
        if new:
            self._number |= {key: len(self.keys) + k for k, key in enumerate(new)}
            self.keys += new
            found = [describe(key) for key in new]
            self.penalty = stack([*([self.penalty] if len(self.penalty) else []), *(row.penalty for row in found)])
            added = np.zeros((len(COLUMNS), len(new)))
            added[COLUMNS.index("share")] = [row.share for row in found]
            self.table = np.concatenate([self.table, added], axis=1)
            self.declared = np.concatenate([self.declared, np.zeros(len(new))])
            self.per_firing = np.concatenate([self.per_firing, [row.per_firing for row in found]])
        return np.array([self._number[key] for key in keys], dtype=np.intp)

    def total(self, rows: IntArray, growth: float) -> FloatArray:
        """c: the support in all data: as declared, else what was seen, times ``growth``."""
        return np.where(self.declared[rows] > 0, self.declared[rows], self.column("support")[rows] * growth)

    def prices(self, rows: IntArray, total: FloatArray, *, printed: bool) -> FloatArray:
        """θ of these rows."""
        duals = self.column("dual")[rows] + self.column("second")[rows]
        return np.asarray(np.divide(duals, total, out=np.zeros(len(rows)), where=total > 0) if printed else duals)

    def meet(self, rows: IntArray, support: FloatArray) -> None:
        """Instances have come that add to the supports of these rows. Not all rows need fire there: the mean number of
        something is one over all instances."""
        self.column("support")[rows] += support
        self.column("owed")[rows] += support

    def fire(self, rows: IntArray, visits: FloatArray) -> FloatArray:
        """These rows fire in so many instances; the support that has come since they fired last, these included."""
        self.column("visits")[rows] += visits
        owed = self.column("owed")[rows]
        self.column("owed")[rows] = 0.0
        return owed

    def step(
        self,
        rows: IntArray,
        total: FloatArray,
        support: FloatArray,
        visits: FloatArray,
        sums: FloatArray,
        bend: FloatArray,
    ) -> FloatArray:
        """The first formula; ``sums``: Σ w E_q[f′], ``bend``: ¼·Σ of H. Rows without support stay as they are.

        Returns H over ``bend``, row by row: how many times its own price a row would need for p to be where it pulls.
        """
        fires = support > 0
        stiff = np.ones(len(rows))
        rows, total = rows[fires], total[fires]
        support, visits, sums, bend = (a[fires] for a in (support, visits, sums, bend))
        part, origin, duals = self._parts(rows, total)
        c, n = total[origin], support[origin]
        low, high = part.dual_bounds()
        eta = np.clip(-c * duals, low, high)
        slope = n * part.grad_conjugate(eta) - sums[origin]
        curvature = np.maximum(bend[origin], 1e-12) + n * c * part.curvature_conjugate(eta)
        slower = np.minimum(1.0, visits / self.column("visits")[rows] ** 0.75)[origin]
        moved = duals + slope / curvature * slower
        self._keep(rows, origin, np.clip(moved, np.maximum(-high / c, -_CAP), np.minimum(-low / c, _CAP)))
        stiff[np.flatnonzero(fires)] = (curvature / np.maximum(bend[origin], 1e-12))[: len(rows)]
        return stiff

    def step_as_printed(self, rows: IntArray, growth: float, sums: FloatArray, share: float, eta: float) -> None:
        """The second formula; ``sums``: Σ w E_q[f′] of ``rows``, ``share``: k/n̄."""
        everything = np.arange(len(self))
        total = self.total(everything, growth)
        met = np.zeros(len(self))
        met[rows] = sums
        part, origin, duals = self._parts(everything, total)
        low, high = part.dual_bounds()
        mean = np.divide(met, total, out=np.zeros(len(self)), where=total > 0)
        moved = duals + eta * (share * part.grad_conjugate(np.clip(-duals, low, high)) - mean[origin])
        self._keep(everything, origin, np.where(total[origin] > 0, np.clip(moved, -high, -low), duals))

    def remember(self, rows: IntArray, sums: dict[str, FloatArray]) -> None:
        """Keep the sums of these rows for the report; the support is added already."""
        keep = np.exp(-sums["support"] / _RECENT)
        for name, value in sums.items():
            self.column(f"recent_{name}")[rows] = keep * self.column(f"recent_{name}")[rows] + value
            if name != "support":
                self.column(name)[rows] += value

    def told(self, rows: IntArray, under: str, *, recent: bool = True) -> FloatArray:
        """Expectations under "p" or "q" as people are about them, of late or of all that was met."""
        prefix = "recent_" if recent else ""
        of, other, support = (self.column(prefix + name)[rows] for name in (f"of_{under}", f"other_{under}", "support"))
        share = self.column("share")[rows]
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(np.isnan(share), of / support, share + np.where(other > 0, of / other, 0.0))

    def told_total(self, rows: IntArray, growth: float) -> FloatArray:
        """The support in all data of what is told: for a share of another event, how often that happens under q."""
        total, support, other = self.total(rows, growth), self.column("support")[rows], self.column("other_q")[rows]
        is_share = ~np.isnan(self.column("share")[rows]) & (support > 0)
        return np.asarray(total * np.divide(other, support, out=np.ones(len(rows)), where=is_share))

    def unit(self, rows: IntArray, under: str = "q") -> FloatArray:
        """A unit of m in units of what is told."""
        support, other = self.column("recent_support")[rows], self.column(f"recent_other_{under}")[rows]
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(np.isnan(self.column("share")[rows]) | (other <= 0), 1.0, support / other)

    def cost(self, growth: float) -> float:
        """U at the expectations under q as they were met; where it is infinite (hard constraints) it adds nothing."""
        rows = np.flatnonzero(self.column("recent_support") > 0)
        value = self._penalty(rows, self.total(rows, growth)).value(self.expectation(rows))
        return float(np.sum(value[np.isfinite(value)]))

    def expectation(self, rows: IntArray, under: str = "q") -> FloatArray:
        """m(q) of rows that have fired, of late; or m(p)."""
        return self.column(f"recent_of_{under}")[rows] / self.column("recent_support")[rows]

    def worst_violation(self) -> float:
        """The largest distance between an expectation under q and where its penalty is least."""
        rows = np.flatnonzero(self.column("recent_support") > 0)
        return float(np.max(self.penalty.take(rows).violation(self.expectation(rows)), initial=0.0))

    def _penalty(self, rows: IntArray, total: FloatArray) -> Penalty:
        """U of these rows at the supports ``total``."""
        penalty, grows = self.penalty.take(rows), self.per_firing[rows]
        return penalty.times(np.where(grows & (total > 0), total, 1.0)) if grows.any() else penalty

    def _parts(self, rows: IntArray, total: FloatArray) -> tuple[Penalty, IntArray, FloatArray]:
        """The smooth parts of U, the row of each, and its dual variable."""
        part, origin = self._penalty(rows, total).parts()
        first = np.zeros(len(origin), dtype=np.bool_)
        first[np.unique(origin, return_index=True)[1]] = True
        return part, origin, np.where(first, self.column("dual")[rows][origin], self.column("second")[rows][origin])

    def _keep(self, rows: IntArray, origin: IntArray, duals: FloatArray) -> None:
        first = np.zeros(len(origin), dtype=np.bool_)
        first[np.unique(origin, return_index=True)[1]] = True
        self.column("dual")[rows[origin[first]]] = duals[first]
        self.column("second")[rows[origin[~first]]] = duals[~first]


def bend(
    features: ConstraintFeatures, weight: FloatArray, edges: FloatArray, instances: FloatArray, component: IntArray
) -> FloatArray:
    """¼·Σ_places f′_r·Σ_r′ f′_r′: a bound of the variance of every row's sum, with what other rows do at the same
    place, where places are independent. ``weight``: of positions; ``edges``: how many there are of each kind;
    ``instances``: the weights of these."""
    sums = _crowding(features.node, weight, features.n_rows, component)
    if features.edge is not None:
        sums += _crowding(features.edge, edges, features.n_rows, component)
    if features.whole is not None:
        sums += _crowding(features.whole, instances, features.n_rows, component)
    return sums / 4


def _crowding(parts: Parts, weight: FloatArray, n_rows: int, component: IntArray) -> FloatArray:
    reach = np.ptp(parts.table, axis=1) if parts.table.size else np.zeros(len(parts.table))
    # The classes of a distribution vary together: their covariance is at most ½, however many there are.
    together = np.where(component[parts.row] >= 0, 2 / max(2, parts.table.shape[1]), 1.0)
    crowd = np.repeat(weight * (parts.fires @ (reach * together)), np.diff(parts.fires.indptr))
    sums = reach * np.bincount(parts.fires.indices, weights=crowd * parts.fires.data, minlength=len(reach))
    return np.asarray(np.bincount(parts.row, weights=sums, minlength=n_rows), dtype=np.float64)
