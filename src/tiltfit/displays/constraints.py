"""Every constraint: what was asked, what the model says, what the projection makes of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from tiltfit.displays.canvas import MODEL, PROJECTED, TARGET, axes, fitted, shown, tidy
from tiltfit.errors import DataError
from tiltfit.report.constraints import ConstraintReport
from tiltfit.report.entry import Entry
from tiltfit.report.targets import Key, Target, key_of, targets_of


class ConstraintDisplay:
    """Shares of all constraints in one picture: a green bar (or band) is what was asked, a ring the model, a dot the
    projection. Constraints on counts, and those that rest or act by rules, have no share and are left out.
    """

    ax_: Any
    figure_: Any

    def __init__(self, report: ConstraintReport, targets: Mapping[Key, Target] | None = None) -> None:
        self.report, self.targets = report, targets or {}

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, most: int = 30) -> Self:
        """``most``: how many constraints to draw, those first whose price is largest."""
        model = fitted(estimator)
        targets = targets_of(model._constraints, model.classes_.tolist(), model._unit)
        return cls(model.constraint_report_, targets).plot(ax=ax, most=most)

    def plot(self, ax: Any = None, *, most: int = 30) -> Self:
        """Draw on ``ax``, or on new axes."""
        rows = [e for e in self.report if e.projected is not None and not e.counts]
        if not rows:
            raise DataError("There is nothing to plot: no constraint has a share.")
        kept = {id(e) for e in sorted(rows, key=lambda e: -abs(e.price or 0.0))[: max(1, most)]}
        rows = [e for e in rows if id(e) in kept]
        self.ax_ = axes(ax, (7.0, 1.2 + 0.28 * len(rows)))
        self.figure_ = self.ax_.figure
        for y, entry in enumerate(rows):
            self._row(entry, y)
        self.ax_.set_yticks(range(len(rows)), [shown(e.title, 48) for e in rows], fontsize=8)
        self.ax_.set_ylim(len(rows) - 0.4, -0.6)  # the first on top
        self.ax_.set_xlim(-0.02, 1.02)
        self.ax_.xaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
        self.ax_.set_xlabel("share")
        handles, labels = self.ax_.get_legend_handles_labels()
        first = dict(zip(labels, handles, strict=True))
        self.ax_.legend(first.values(), first.keys(), frameon=False, fontsize=8, ncols=3, loc="lower left",
                        bbox_to_anchor=(0.0, 1.0))  # fmt: skip
        tidy(self.ax_, grid="x")
        return self

    def _row(self, entry: Entry, y: int) -> None:
        target = self.targets.get(key_of(entry))
        if target is not None:
            low, high = max(0.0, target.low), min(1.0, target.high)
            self.ax_.barh([y], [high - low], left=[low], height=0.5, color=TARGET, alpha=0.25)
            bounds = list(target.bounds)
            self.ax_.plot(bounds, [y] * len(bounds), "|", color=TARGET, markersize=12, markeredgewidth=2, label="asked")
        if entry.model is not None:
            self.ax_.plot([entry.model, entry.projected], [y, y], color=PROJECTED, linewidth=1, alpha=0.6)
            self.ax_.plot([entry.model], [y], "o", color=MODEL, markerfacecolor="none", markersize=8, label="model")
        self.ax_.plot([entry.projected], [y], "o", color=PROJECTED, markersize=5, label="projected")
