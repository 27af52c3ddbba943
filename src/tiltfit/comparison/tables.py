"""A comparison as tables that fit into 80 columns: figures, differences to the reference, and why some have none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from tiltfit.comparison.figures import Figure, Metric
from tiltfit.comparison.result import Comparison, Row
from tiltfit.report.plots import printable

_HEADINGS = {
    "macro_f1": "macro\nF1",
    "segment_f1": "segment\nF1",
    "log_loss": "log\nloss",
    "calibration_error": "calibr.\nerror",
}


def tables(comparison: Comparison) -> list[RenderableType]:
    """The parts to show, top to bottom."""
    done = [row for row in comparison if row.ok]
    shown: list[RenderableType] = [Text(_title(comparison)), Text(""), _figures(comparison)]
    if len(done) > 1:
        shown += [Text(""), _differences(comparison, done)]
    missed = [row for row in done if row.worst_constraint is not None]
    if missed:
        shown += [Text(""), Text("Worst violation: the constraint that the model misses most on the training data")]
        shown += [_remark(row.name, row.worst_constraint or "") for row in missed]
    noted = [row for row in comparison if row.notes]
    if noted:
        shown += [Text(""), *(_remark(row.name, "; ".join(row.notes)) for row in noted)]
    others = [row for row in comparison if not row.ok]
    if others:
        shown += [Text(""), *(_remark(f"{row.name} {row.status}", row.reason or "") for row in others)]
    return shown


def memory(n: int) -> str:
    """Bytes for people."""
    return f"{n / 1e6:,.1f} MB" if n < 1e8 else f"{n / 1e6:,.0f} MB" if n < 1e10 else f"{n / 1e9:,.1f} GB"


def seconds(s: float) -> str:
    """Seconds for people: two digits that count.

    >>> seconds(0.0123), seconds(3.21), seconds(1234.5)
    ('0.01', '3.2', '1,234')
    """
    return f"{s:.2f}" if s < 1 else f"{s:.1f}" if s < 100 else f"{s:,.0f}"


_COSTS: dict[str, tuple[str, Callable[[Any], str]]] = {
    "worst_violation": ("worst\nviolation", "{:.1%}".format),
    "seconds": ("seconds", seconds),
    "memory": ("peak\nmemory", memory),
}


def _title(comparison: Comparison) -> str:
    unit = "sequences" if comparison.task == "tag" else "documents"
    tokens = f" ({comparison.positions:,} tokens)" if comparison.task == "tag" else ""
    labelled = f"{comparison.labelled:,} labelled" if comparison.labelled else "none labelled"
    return f"{comparison.train:,} {unit} to learn from, {labelled}; {comparison.test:,} to be judged on{tokens}"


def _figures(comparison: Comparison) -> Table:
    table = _table("method", [_HEADINGS.get(m.key, m.title) for m in comparison.metrics])
    for heading, _ in _COSTS.values():
        table.add_column(heading, justify="right", no_wrap=True)
    best = _best(comparison)
    for row in comparison:
        if not row.ok:
            table.add_row(_text(row.name), Text(row.status, style="dim"), *["-"] * (len(comparison.metrics) + 2))
            continue
        cells = []
        for key in (m.key for m in comparison.metrics):
            figure = row.figures[key]
            cells.append(_two(_three(figure.value), _interval(figure), bold=figure.value == best.get(key)))
        for key, (_, told) in _COSTS.items():
            value = getattr(row, key)
            cells.append(_two("-") if value is None else _two(told(value), bold=value == best.get(key)))
        table.add_row(_text(row.name), *cells)
    if comparison.n_bootstrap:
        table.caption = f"below each figure its {comparison.level:.0%} interval ({comparison.n_bootstrap:,} draws)"
    return table


def _differences(comparison: Comparison, done: Sequence[Row]) -> Table:
    metrics = comparison.metrics
    table = _table(
        _text(f"difference to {comparison.reference}").plain, [_HEADINGS.get(m.key, m.title) for m in metrics]
    )
    for row in done:
        if row.name == comparison.reference:
            continue
        figures = [(metric, row.figures[metric.key]) for metric in metrics]
        table.add_row(
            _text(row.name), *(_two(f"{f.difference:+.3f}", _spread(f), colour=_colour(m, f)) for m, f in figures)
        )
    if comparison.n_bootstrap:
        table.caption = f"below each its {comparison.level:.0%} interval on the same draws; * leaves out zero"
    return table


def _best(comparison: Comparison) -> dict[str, float]:
    """The best value of every column, if at least two rows have one."""
    found: dict[str, float] = {}
    for metric in comparison.metrics:
        values = [row.figures[metric.key].value for row in comparison if row.ok]
        if len(values) > 1:
            found[metric.key] = max(values) if metric.higher else min(values)
    for key in _COSTS:
        least = [value for row in comparison if (value := getattr(row, key)) is not None]
        if len(least) > 1:
            found[key] = min(least)
    return found


def _table(first: str, headings: Sequence[str]) -> Table:
    between = 1 if len(headings) < 5 else 0  # 80 columns hold no more; the box brings one more itself
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold", padding=(0, between, 0, 0))
    table.caption_justify, table.caption_style = "left", "dim"
    table.add_column(Text(first), overflow="fold", min_width=8)
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    return table


def _two(figure: str, below: str = "", *, bold: bool = False, colour: str = "") -> Text:
    """A figure and what stands below it."""
    text = Text(figure, style=" ".join([colour, "bold" if bold else ""]).strip())
    return text.append(f"\n{below}", style="not bold dim") if below else text


def _text(name: str) -> Text:
    """A name as it is: neither markup nor control characters reach the terminal."""
    return Text(printable(name))


def _remark(head: str, text: str) -> RenderableType:
    return Padding(Text.assemble(_text(head), ": ", _text(text)), (0, 0, 0, 2), expand=False)


def _colour(metric: Metric, figure: Figure) -> str:
    if not figure.differs or figure.difference is None:
        return ""
    return "green" if (figure.difference > 0) == metric.higher else "red"


def _three(value: float) -> str:
    return f"{value:.3f}" if value < 100 else f"{value:.3g}"


def _interval(figure: Figure) -> str:
    if figure.low is None or figure.high is None:
        return ""
    return f"{_short(figure.low)}–{_short(figure.high)}"


def _spread(figure: Figure) -> str:
    if figure.difference_low is None or figure.difference_high is None:
        return ""
    mark = "*" if figure.differs else ""
    return f"{_short(figure.difference_low, '+')}…{_short(figure.difference_high, '+')}{mark}"


def _short(value: float, sign: str = "") -> str:
    """Two digits behind the point, and no zero before it."""
    return f"{value:{sign}.2f}".replace("0.", ".", 1) if abs(value) < 0.995 else f"{value:{sign}.2f}"
