"""Is a model as often right as it says? Whatever the number of classes, for documents and for tokens."""

from __future__ import annotations

from typing import Any, Self

from tiltfit.displays.canvas import MODEL, PROJECTED, axes, fitted, shown, tidy
from tiltfit.errors import DataError
from tiltfit.pages.account import account_of
from tiltfit.pages.reliability import Reliability, reliability


class ReliabilityDisplay:
    """Accuracy against confidence, the probability of what is predicted, in bins of equal mass; on the dashed line the
    model is as good as its word. (scikit-learn's ``CalibrationDisplay`` is for two classes.)
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
        """``y`` may hold None where a label is not known. ``kwargs`` go to matplotlib's plot."""
        account = account_of(fitted(estimator), X, y)
        known = account.known
        if not len(known):
            raise DataError("Reliability needs labels, but nothing in y has one.")
        found = reliability(account.confidence[known], account.predicted[known] == account.truth[known])
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
