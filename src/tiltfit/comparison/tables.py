"""A comparison as tables that fit into 80 columns: figures, differences to the reference, and why some have none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tiltfit.comparison.figures import Metric
from tiltfit.comparison.result import Comparison, Figure, Row
from tiltfit.report.plots import printable

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table
    from rich.text import Text

_HEADINGS = {
    "macro_f1": "macro\nF1",
    "segment_f1": "segment\nF1",
    "log_loss": "log\nloss",
    "calibration_error": "calibr.\nerror",
}


def tables(comparison: Comparison) -> list[RenderableType]:
    """The parts to show, top to bottom."""
    from rich.text import Text

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


def _title(comparison: Comparison) -> str:
    unit = "sequences" if comparison.task == "tag" else "documents"
    tokens = f" ({comparison.positions:,} tokens)" if comparison.task == "tag" else ""
    labelled = f"{comparison.labelled:,} labelled" if comparison.labelled else "none labelled"
    return f"{comparison.train:,} {unit} to learn from, {labelled}; {comparison.test:,} to be judged on{tokens}"


def _figures(comparison: Comparison) -> Table:
    table = _table("method", [_HEADINGS.get(m.key, m.title) for m in comparison.metrics])
    for heading in ("worst\nviolation", "seconds", "peak\nmemory"):
        table.add_column(heading, justify="right", no_wrap=True)
    best = _Best(comparison)
    for row in comparison:
        if not row.ok:
            table.add_row(_text(row.name), _dim(row.status), *["-"] * (len(comparison.metrics) + 2))
            continue
        cells = [_two(_three(row.figures[m.key].value), _interval(row.figures[m.key]), best.is_best(row, m.key))
                 for m in comparison.metrics]  # fmt: skip
        rest = [
            best.cell(row, "worst_violation", lambda v: f"{v:.1%}"),
            best.cell(row, "seconds", seconds),
            best.cell(row, "memory", memory),
        ]
        table.add_row(_text(row.name), *cells, *rest)
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
            _text(row.name), *(_two(f"{f.difference:+.3f}", _spread(f), False, _colour(m, f)) for m, f in figures)
        )
    if comparison.n_bootstrap:
        table.caption = f"below each its {comparison.level:.0%} interval on the same draws; * leaves out zero"
    return table


class _Best:
    """The best value of every column, if at least two have one."""

    def __init__(self, comparison: Comparison) -> None:
        self._best: dict[str, float] = {}
        for metric in comparison.metrics:
            values = [row.figures[metric.key].value for row in comparison if row.ok]
            if len(values) > 1:
                self._best[metric.key] = max(values) if metric.higher else min(values)
        for key in ("worst_violation", "seconds", "memory"):
            least = [value for row in comparison if (value := getattr(row, key)) is not None]
            if len(least) > 1:
                self._best[key] = min(least)

    def is_best(self, row: Row, key: str) -> bool:
        value = row.figures[key].value if key in row.figures else getattr(row, key, None)
        return value is not None and value == self._best.get(key)

    def cell(self, row: Row, key: str, told: Callable[[Any], str]) -> Text:
        from rich.text import Text

        value = getattr(row, key)
        return Text("-" if value is None else told(value), style="bold" if self.is_best(row, key) else "")


def _table(first: str, headings: Sequence[str]) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    between = 1 if len(headings) < 5 else 0  # 80 columns hold no more; the box brings one more itself
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold", padding=(0, between, 0, 0))
    table.caption_justify, table.caption_style = "left", "dim"
    table.add_column(Text(first), overflow="fold", min_width=8)
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    return table


def _two(figure: str, below: str, bold: bool, colour: str = "") -> Text:
    """A figure and what stands below it."""
    from rich.text import Text

    text = Text(figure, style=" ".join([colour, "bold" if bold else ""]).strip())
    return text.append(f"\n{below}", style="not bold dim") if below else text


def _dim(word: str) -> Text:
    from rich.text import Text

    return Text(word, style="dim")


def _text(name: str) -> Text:
    """A name as it is: neither markup nor control characters reach the terminal."""
    from rich.text import Text

    return Text(printable(name))


def _remark(head: str, text: str) -> RenderableType:
    from rich.padding import Padding
    from rich.text import Text

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
