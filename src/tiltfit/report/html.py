"""The constraint report as an HTML table: for pages and for notebooks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from tiltfit.markup.element import Element, Node, element
from tiltfit.markup.tables import Column, table
from tiltfit.report.constraints import ConstraintReport
from tiltfit.report.entry import Entry, drift_of, numbers_of
from tiltfit.report.targets import Key, Target, key_of

SIGNS = {"met": "✓", "rules": "✓", "each": "✓", "missed": "≈", "learning": "…", "violated": "✕", "rests": "–"}
"""What tells a verdict apart without its colour."""

_MOST, _HARDLY = 7.0, 1.005  # larger prices are told as more than e⁷; smaller factors would be told as 1
_ABOUT = {
    "Model": "its expectation under the model",
    "Projected": "its expectation under the model tilted by all constraints",
    "Price": "log-odds that it adds to its event at one firing: how hard the data fight it",
    "Support": "how often its condition fires",
    "Drift": "how far its expectation has moved of late",
}


def constraint_table(
    report: ConstraintReport,
    targets: Mapping[Key, Target] | None = None,
    pictures: Sequence[Node] | None = None,
    *,
    caption: str = "Constraints",
    only: Sequence[int] | None = None,
) -> Element:
    """One row an entry (``only``: of these). ``targets``: what was asked, if it is known beyond the sentence;
    ``pictures``: one an entry, in a column of their own."""
    streamed = any(entry.drift is not None for entry in report)
    headings = ["Constraint", *(["Where it stands"] if pictures else []), *(["Target"] if targets else [])]
    headings += ["Model", "Projected", "Price", "Support", *(["Drift"] if streamed else []), "Verdict"]
    numeric = {"Model", "Projected", "Price", "Support", "Drift"}
    columns = [Column(h, h in numeric, _ABOUT.get(h)) for h in headings]
    rows = []
    for k in range(len(report)) if only is None else only:
        entry = report[k]
        support, model, projected, price = numbers_of(entry)
        again = k > 0 and (report[k - 1].name, report[k - 1].sentence) == (entry.name, entry.sentence)
        row: list[Node | tuple[Node, ...]] = [_statement(entry, again)]
        if pictures:
            row.append(pictures[k])
        if targets:
            target = targets.get(key_of(entry))
            row.append(None if target is None else target.words)
        row += [model, projected, (price, _meaning(entry)), support]
        row += [drift_of(entry)] if streamed else []
        rows.append([*row, verdict(entry)])
    return table(caption, columns, rows, class_="constraints")


def _statement(entry: Entry, again: bool) -> tuple[Node, ...]:
    """``again``: the sentence stands in the row above, for another class."""
    part = f" [{entry.component}]" if entry.component is not None else ""
    if again:
        return (element("strong", entry.name + part if entry.name is not None else part.strip()),)
    if entry.name is None:
        return (entry.sentence + part,)
    return (element("strong", entry.name + part), element("span", entry.sentence, class_="note"))


def _meaning(entry: Entry) -> Node:
    """What the price does to the odds of the event at one firing; ``Entry.meaning`` says it at length."""
    if not entry.price:
        return None
    what = "share" if entry.component is not None else "odds"
    factor = math.exp(min(abs(entry.price), _MOST))
    more = "more than " if abs(entry.price) > _MOST else ""
    told = f"{what} {'×' if entry.price > 0 else '÷'} {more}{factor:.3g}"
    if factor < _HARDLY:
        told = "hardly moves"
    return element("span", told, class_="note", title=entry.meaning)


def verdict(entry: Entry) -> Element:
    """A sign and the verdict in words."""
    told = entry.verdict if entry.sampled is None else f"{entry.verdict}; {entry.sampled}"
    sign = element("span", SIGNS.get(entry.status, ""), class_="sign", aria_hidden="true")
    return element("span", sign, " ", told, class_=f"verdict {entry.status}")
