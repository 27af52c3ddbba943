"""A comparison as dots and intervals, one panel a figure. Needs matplotlib (``pip install "tiltfit[plot]"``)."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tiltfit.comparison.figures import METRICS, Metric
from tiltfit.comparison.result import Comparison, Row
from tiltfit.comparison.tables import seconds
from tiltfit.errors import DataError, UnsupportedError, did_you_mean
from tiltfit.report.plots import printable

_REFERENCE, _OTHER, _QUIET, _FAINT = "#1b6ca8", "#444444", "#bbbbbb", "#888888"
_COSTS = (
    Metric("worst_violation", "worst violation of a constraint", False),
    Metric("seconds", "seconds to fit", False),
    Metric("memory", "peak memory, MB", False),
)
_WIDE, _COLUMNS = 3.1, 4  # inches a panel, panels a row


def figure_class() -> Any:
    """matplotlib's ``Figure``, which needs no window; raises if matplotlib is not there."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise UnsupportedError('A plot needs matplotlib: pip install "tiltfit[plot]".') from error
    return Figure


def file_format(path: str | os.PathLike[str]) -> str:
    """The format that the ending of a file names; refused if matplotlib cannot write it."""
    figure = figure_class()()
    known = figure.canvas.get_supported_filetypes()
    ending = Path(path).suffix.removeprefix(".").lower()
    if ending not in known:
        raise DataError(f"{path}: a plot is written as {', '.join(sorted(known))}: name the file so, such as plot.png.")
    return ending


def save(comparison: Comparison, path: str | os.PathLike[str]) -> None:
    """All panels into one file, which is replaced whole or not at all."""
    from tiltfit.storage.atomic import replacing

    ending, buffer = file_format(path), io.BytesIO()
    draw_all(comparison).savefig(buffer, format=ending, dpi=150)
    with replacing(path) as file:
        file.write(buffer.getvalue())


def draw_all(comparison: Comparison) -> Any:
    """A matplotlib figure with a panel for everything that there are figures of."""
    done = [row for row in comparison if row.ok]
    panels = [m for m in (*comparison.metrics, *_COSTS) if any(_value(row, m)[0] is not None for row in done)]
    if not panels:
        raise DataError("There is nothing to plot: no method ran.")
    columns = min(len(panels), _COLUMNS)
    lines = -(-len(panels) // columns)
    size = (1.2 + _WIDE * columns, lines * (1.1 + 0.3 * len(comparison)) + 0.5)
    figure = figure_class()(figsize=size, layout="constrained")
    axes = figure.subplots(lines, columns, squeeze=False, sharey=True)
    for k, ax in enumerate(axes.ravel()):
        if k < len(panels):
            _panel(ax, comparison.rows, panels[k], comparison.reference)
        else:
            ax.axis("off")
    interval = f"; lines: {comparison.level:.0%} bootstrap intervals" if comparison.n_bootstrap else ""
    unit = "sequences" if comparison.task == "tag" else "documents"
    figure.suptitle(
        f"{comparison.test:,} test {unit}{interval}; dashed: {_shown(comparison.reference or '')}", fontsize=9
    )
    return figure


def draw(comparison: Comparison, ax: Any, key: str) -> None:
    """One panel into axes of the user's."""
    if not hasattr(ax, "errorbar"):
        raise DataError(f"plot({ax!r:.60}): pass the name of a file, or matplotlib axes.")
    known = {metric.key: metric for metric in (*METRICS, *_COSTS)}
    if key not in known:
        raise DataError(f"metric={key!r} is unknown: use one of {', '.join(known)}.{did_you_mean(key, known)}")
    if all(_value(row, known[key])[0] is None for row in comparison):
        raise DataError(f"There is nothing to plot: no method has a figure {key!r}.")
    rows = [row for row in comparison if not row.ok or _value(row, known[key])[0] is not None]
    _panel(ax, rows, known[key], comparison.reference)


def _panel(ax: Any, rows: Sequence[Row], metric: Metric, reference: str | None) -> None:
    values = [_value(row, metric)[0] for row in rows]
    best = [v for v in values if v is not None]
    target = (max(best) if metric.higher else min(best)) if len(best) > 1 else None
    for y, row in enumerate(rows):
        value, low, high = _value(row, metric)
        if value is None:
            if not row.ok:  # the tables say why
                ax.annotate(row.status, (0.02, y), xycoords=("axes fraction", "data"), va="center", fontsize=7,
                            style="italic", color=_FAINT)  # fmt: skip
            continue
        colour = _REFERENCE if row.name == reference else _OTHER
        if row.name == reference:
            ax.axvline(value, color=_REFERENCE, linewidth=0.8, linestyle="--", zorder=0)
        if low is not None:
            ax.plot([low, high], [y, y], color=colour, linewidth=2, solid_capstyle="round")
        ax.plot([value], [y], "o", color=colour, markersize=6)
        ax.annotate(
            _told(value, metric), (value, y), (0, 6), textcoords="offset points", ha="center", fontsize=7,
            fontweight="bold" if value == target else "normal", color=colour,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5},
        )  # fmt: skip
    ax.set_yticks(range(len(rows)), [_shown(row.name) for row in rows])
    ax.set_ylim(len(rows) - 0.4, -0.6)  # the first on top
    ax.set_title(f"{metric.title} ({'higher' if metric.higher else 'lower'} is better)", fontsize=9)
    ax.margins(x=0.15)
    if metric in _COSTS:  # twice as far is twice as much
        ax.set_xlim(0, 1.15 * max(*best, 1e-9))
    ax.grid(axis="x", color=_QUIET, linewidth=0.4)
    ax.tick_params(labelsize=8)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(axis="y", length=0)


def _value(row: Row, metric: Metric) -> tuple[float | None, float | None, float | None]:
    """A figure and the ends of its interval."""
    if metric.key in row.figures:
        figure = row.figures[metric.key]
        return figure.value, figure.low, figure.high
    value = getattr(row, metric.key, None)
    return (value / 1e6 if metric.key == "memory" and value is not None else value), None, None


def _shown(name: str) -> str:
    return printable(name).replace("$", r"\$")  # between dollars, matplotlib reads formulas


def _told(value: float, metric: Metric) -> str:
    if metric.key == "worst_violation":
        return f"{value:.1%}"
    if metric.key == "seconds":
        return seconds(value)
    return f"{value:,.1f}" if metric.key == "memory" else f"{value:.3f}"
