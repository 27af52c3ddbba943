"""How training went: one figure of each round."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from tiltfit.displays.canvas import PROJECTED, axes, fitted, shown, tidy
from tiltfit.errors import DataError, did_you_mean

FIGURES = {
    "objective": "objective (Eq. 6)",
    "gradient": "largest entry of the gradient",
    "worst_violation": "worst violation of a constraint",
    "gap": "duality gap of the projection",
    "dev_score": "score on the development set",
}
_LOGARITHMIC = ("gradient", "gap")


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
        """``figure``: objective, gradient, worst_violation, gap or dev_score. ``kwargs`` go to matplotlib's plot."""
        history = fitted(estimator).history_
        if figure not in FIGURES:
            known = ", ".join(FIGURES)
            raise DataError(f"figure={figure!r} is unknown: use one of {known}.{did_you_mean(figure, FIGURES)}")
        told = [(r.round, float(v)) for r in history if (v := getattr(r, figure)) is not None and v == v]
        if not told:
            what = "it was learned in a stream, which keeps no rounds" if not history else f"no round has a {figure}"
            raise DataError(f"There is nothing to plot: {what}.")
        display = cls([k for k, _ in told], [v for _, v in told], figure=figure, name=name)
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
