"""Plots of fitted models for notebooks, in scikit-learn's style.

``Display.from_estimator(...)`` draws, the display keeps what it drew (``ax_``, ``figure_``), and ``plot(ax=...)`` draws
it again elsewhere. They need matplotlib (``pip install "tiltfit[plot]"``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

from tiltfit.errors import DataError, did_you_mean
from tiltfit.explain.account import account_of, fitted
from tiltfit.report.constraints import ConstraintReport, Entry
from tiltfit.report.plots import MODEL, PROJECTED, TARGET, axes, shown, tidy
from tiltfit.report.reliability import Reliability
from tiltfit.report.targets import Key, Target, key_of, targets_of

FIGURES = {
    "objective": "objective (Eq. 6)",
    "gradient": "largest entry of the gradient",
    "worst_violation": "worst violation of a constraint",
    "gap": "duality gap of the projection",
    "dev_score": "score on the development set",
}
_LOGARITHMIC = ("gradient", "gap")


class ConstraintDisplay:
    """Shares of all constraints in one picture: a green bar (or band) is what was asked, a ring the model, a dot the
    projection. Constraints on counts, inactive ones and those that act as rules have no share and are left out.
    """

    ax_: Any
    figure_: Any

    def __init__(self, report: ConstraintReport, targets: Mapping[Key, Target] | None = None) -> None:
        self.report, self.targets = report, targets or {}

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, most: int = 30) -> Self:
        """Draw at most ``most`` constraints, those that pull hardest."""
        model = fitted(estimator, "Displays are")
        targets = targets_of(model.constraints_, model.classes_.tolist(), model.unit_)
        return cls(model.constraint_report_, targets).plot(ax=ax, most=most)

    def plot(self, ax: Any = None, *, most: int = 30) -> Self:
        """Draw on ``ax``, or on new axes."""
        rows = [e for e in self.report if e.projected is not None and not e.counts]
        if not rows:
            raise DataError("There is nothing to plot: no constraint has a share.")
        kept = {id(e) for e in sorted(rows, key=lambda e: -e.resistance)[: max(1, most)]}
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


class ConvergenceDisplay:
    """A figure of ``history_`` against the rounds.

    >>> from tiltfit import ConvergenceDisplay
    >>> ConvergenceDisplay([1, 2, 3], [9.0, 4.0, 3.5]).values
    [9.0, 4.0, 3.5]
    """

    ax_: Any
    figure_: Any
    line_: Any

    def __init__(
        self, rounds: Sequence[int], values: Sequence[float], *, figure: str = "objective", name: str | None = None
    ) -> None:
        self.rounds, self.values, self.figure, self.name = list(rounds), list(values), figure, name

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, figure: str = "objective", name: str | None = None, ax: Any = None, **kwargs: Any
    ) -> Self:
        """Draw ``figure``: objective, gradient, worst_violation, gap or dev_score; ``kwargs`` go to matplotlib."""
        history = fitted(estimator, "Displays are").history_
        if figure not in FIGURES:
            known = ", ".join(FIGURES)
            raise DataError(f"figure={figure!r} is unknown: use one of {known}.{did_you_mean(figure, FIGURES)}")
        points = [(r.round, float(v)) for r in history if (v := getattr(r, figure)) is not None and v == v]
        if not points:
            what = "it was learned in a stream, which keeps no rounds" if not history else f"no round has a {figure}"
            raise DataError(f"There is nothing to plot: {what}.")
        display = cls([k for k, _ in points], [v for _, v in points], figure=figure, name=name)
        return display.plot(ax=ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw on ``ax``, or on new axes."""
        self.ax_ = axes(ax, (5.0, 3.2))
        self.figure_ = self.ax_.figure
        style = {"color": PROJECTED, "label": None if self.name is None else shown(self.name), **kwargs}
        (self.line_,) = self.ax_.plot(self.rounds, self.values, **style)
        if self.figure in _LOGARITHMIC and all(v > 0 for v in self.values):
            self.ax_.set_yscale("log")
        self.ax_.set(xlabel="round", ylabel=FIGURES.get(self.figure, self.figure))
        if self.name is not None:
            self.ax_.legend(frameon=False)
        tidy(self.ax_)
        return self


class ReliabilityDisplay:
    """Accuracy against confidence, the probability of the predicted label, in bins of equal mass; on the dashed line
    the probabilities are right. (scikit-learn's ``CalibrationDisplay`` is for two classes.)
    """

    ax_: Any
    figure_: Any
    line_: Any

    def __init__(self, found: Reliability, *, name: str | None = None) -> None:
        self.reliability, self.name = found, name

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, name: str | None = None, ax: Any = None, **kwargs: Any
    ) -> Self:
        """Draw the reliability on X; y may hold None where a label is unknown. ``kwargs`` go to matplotlib's plot."""
        found = account_of(fitted(estimator, "Displays are"), X, y).reliability
        if found is None:
            raise DataError("Reliability needs labels, but nothing in y has one.")
        return cls(found, name=name).plot(ax=ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw on ``ax``, or on new axes."""
        self.ax_ = axes(ax, (4.2, 4.0))
        self.figure_ = self.ax_.figure
        self.ax_.plot([0, 1], [0, 1], "--", color=MODEL, linewidth=1)
        label = f"calibration error {self.reliability.error:.1%}"
        label = label if self.name is None else f"{shown(self.name)}: {label}"
        style = {"color": PROJECTED, "marker": "o", "markersize": 4, "label": label, **kwargs}
        (self.line_,) = self.ax_.plot(self.reliability.confidence, self.reliability.accuracy, **style)
        self.ax_.set(xlim=(0, 1), ylim=(0, 1.02), xlabel="confidence", ylabel="accuracy", aspect="equal")
        self.ax_.legend(frameon=False, fontsize=8, loc="upper left")
        tidy(self.ax_)
        return self
