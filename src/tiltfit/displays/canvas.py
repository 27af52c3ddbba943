"""Axes to draw on, and the colours that all displays share."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import check_is_fitted

from tiltfit.comparison.tables import printable
from tiltfit.errors import DataError, UnsupportedError
from tiltfit.estimators.classifier import TiltClassifier
from tiltfit.estimators.tagger import TiltTagger

PROJECTED, MODEL, TARGET, QUIET = "#1b6ca8", "#444444", "#4f7f2a", "#bbbbbb"


def axes(ax: Any, size: tuple[float, float] | None = None) -> Any:
    """The axes given, or new ones in a figure of pyplot's, which notebooks show."""
    if ax is not None:
        if not hasattr(ax, "plot") or not hasattr(ax, "figure"):
            raise DataError(f"ax={ax!r:.60} is no matplotlib axes: leave it out, or pass what plt.subplots() gives.")
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise UnsupportedError('A plot needs matplotlib: pip install "tiltfit[plot]".') from error
    return plt.subplots(figsize=size, layout="constrained")[1]


def fitted(estimator: Any) -> Any:
    """The estimator, if there is something to plot of it."""
    if not isinstance(estimator, TiltClassifier | TiltTagger):
        raise UnsupportedError(
            f"Displays are about a fitted TiltClassifier or TiltTagger, but got {type(estimator).__name__}."
        )
    check_is_fitted(estimator)
    return estimator


def shown(name: str, most: int = 60) -> str:
    """Text of the user's on a plot: without control characters, and no formula between dollars."""
    text = printable(name).replace("$", r"\$")
    return text if len(text) <= most else text[: most - 1] + "…"


def tidy(ax: Any, *, grid: str = "y") -> None:
    """Less ink."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis=grid, color=QUIET, linewidth=0.4)
    ax.set_axisbelow(True)
