"""Axes to draw on, and the colours that all plots share. They need matplotlib (``pip install "tiltfit[plot]"``)."""

from __future__ import annotations

from typing import Any

from tiltfit.errors import DataError, UnsupportedError

PROJECTED, MODEL, TARGET, QUIET = "#1b6ca8", "#444444", "#4f7f2a", "#bbbbbb"


def axes(ax: Any, size: tuple[float, float] | None = None) -> Any:
    """Return the axes given, or new ones in a pyplot figure, which notebooks show."""
    if ax is not None:
        if not hasattr(ax, "plot") or not hasattr(ax, "figure"):
            raise DataError(f"ax={ax!r:.60} is not a matplotlib axes: leave it out, or pass one from plt.subplots().")
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise UnsupportedError('A plot needs matplotlib: pip install "tiltfit[plot]".') from error
    return plt.subplots(figsize=size, layout="constrained")[1]


def printable(name: str) -> str:
    """Return a name in one line, without control characters."""
    shown = " ".join(name.split())
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in shown)


def shown(name: str, most: int = 60) -> str:
    """Return a user's text for a plot: without control characters, and without formulas between dollars."""
    text = printable(name).replace("$", r"\$")
    return text if len(text) <= most else text[: most - 1] + "…"


def tidy(ax: Any, *, grid: str = "y") -> None:
    """Remove frame lines and draw a light grid."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis=grid, color=QUIET, linewidth=0.4)
    ax.set_axisbelow(True)
