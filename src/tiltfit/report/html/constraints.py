"""The constraint report as an HTML table, for pages and for notebooks, and its section of a page."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from tiltfit.report.account import Account
from tiltfit.report.constraints import ConstraintReport
from tiltfit.report.entry import Entry, drift_of, numbers_of
from tiltfit.report.html.charts import strip
from tiltfit.report.html.element import Element, Node, element
from tiltfit.report.html.layout import count, figure, left_out, legend, section
from tiltfit.report.html.tables import Column, table
from tiltfit.report.targets import Key, Target, key_of

SIGNS = {"met": "✓", "rules": "✓", "each": "✓", "missed": "≈", "learning": "…", "violated": "✕", "rests": "–"}
"""Signs that distinguish verdicts without colour."""

_MOST, _HARDLY = 7.0, 1.005  # larger prices are shown as more than e⁷; smaller factors would be shown as 1
_ROWS = 150  # rows

_STATES = {
    "met": "met",
    "missed": "soft and off by more than half a percent",
    "violated": "impossible together",
    "rests": "inactive",
    "rules": "acting as rules",
    "learning": "being learned",
    "each": "met in each",
}
_ABOUT = {
    "Model": "its expectation under the model",
    "Projected": "its expectation under the model tilted by all constraints",
    "Price": "log-odds that it adds to its event at one firing: how hard the data fight it",
    "Support": "how often its condition fires",
    "Drift": "how far its expectation has moved recently",
}


def constraint_table(
    report: ConstraintReport,
    targets: Mapping[Key, Target] | None = None,
    pictures: Sequence[Node] | None = None,
    *,
    caption: str = "Constraints",
    only: Sequence[int] | None = None,
) -> Element:
    """Return a table with one row per entry (``only``: of these). ``targets``: what was asked, if known beyond the
    sentence; ``pictures``: one per entry, in a separate column."""
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
    """Return the statement; ``again``: the sentence is in the row above, for another class."""
    part = f" [{entry.component}]" if entry.component is not None else ""
    if again:
        return (element("strong", entry.name + part if entry.name is not None else part.strip()),)
    if entry.name is None:
        return (entry.sentence + part,)
    return (element("strong", entry.name + part), element("span", entry.sentence, class_="note"))


def _meaning(entry: Entry) -> Node:
    """Return what the price does to the odds of the event at one firing; ``Entry.meaning`` says it at length."""
    if not entry.price:
        return None
    what = "share" if entry.component is not None else "odds"
    factor = math.exp(min(abs(entry.price), _MOST))
    more = "more than " if abs(entry.price) > _MOST else ""
    effect = f"{what} {'×' if entry.price > 0 else '÷'} {more}{factor:.3g}"
    if factor < _HARDLY:
        effect = "hardly moves"
    return element("span", effect, class_="note", title=entry.meaning)


def verdict(entry: Entry) -> Element:
    """Return a sign and the verdict in words."""
    words = entry.verdict if entry.sampled is None else f"{entry.verdict}; {entry.sampled}"
    sign = element("span", SIGNS.get(entry.status, ""), class_="sign", aria_hidden="true")
    return element("span", sign, " ", words, class_=f"verdict {entry.status}")


def constraints_section(account: Account) -> Element:
    report, targets = account.report, account.targets
    if not len(report):
        return section("constraints", "Constraints", element("p", "The model has no constraints."))
    shown = most_telling(report, _ROWS)
    pictures = [strip(entry, targets.get(key_of(entry))) for entry in report]
    return section(
        "constraints",
        "Constraints",
        element("p", f"{_counts(report)} Figures are those of the data it was fitted on. The ",
                element("em", "price"), " of a constraint is how hard the data fight it: nothing, where the model "
                "agrees by itself."),
        figure(None, legend([("ring", "model"), ("dot", "projected"), ("band", "asked")])),
        constraint_table(report, targets, pictures, only=shown,
                         caption="Targets, results and prices"),
        left_out(len(report) - len(shown), "constraint"),
    )  # fmt: skip


def most_telling(report: ConstraintReport, most: int) -> Sequence[int]:
    """Return the entries to show, in their order: all, or those that are off, inactive or most expensive."""
    if len(report) <= most:
        return range(len(report))
    rank = {"violated": 0, "rests": 1, "missed": 2}
    order = sorted(range(len(report)), key=lambda k: (rank.get(report[k].status, 3), -abs(report[k].price or 0.0)))
    return sorted(order[:most])


def _counts(report: ConstraintReport) -> str:
    found = Counter(entry.status for entry in report)
    states = [f"{n} {_STATES[status]} {SIGNS[status]}" for status, n in found.most_common()]
    return f"{count(len(report), 'statement')}: {', '.join(states)}."
