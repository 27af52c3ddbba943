"""Constraints as HTML tables, for pages and for notebooks: as stated, and with what became of them; and their section
of a page."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tiltfit.language.sentences import describe
from tiltfit.report.account import Account
from tiltfit.report.constraints import MOST, ConstraintReport, Entry, drift_of, numbers_of
from tiltfit.report.html.charts import strip
from tiltfit.report.html.element import Element, Node, element
from tiltfit.report.html.layout import Column, count, fragment, left_out, legend, section, table
from tiltfit.report.targets import Key, Target, key_of

if TYPE_CHECKING:
    from tiltfit.language.constraint import Constraint, ConstraintSet


SIGNS = {"met": "✓", "rules": "✓", "each": "✓", "missed": "≈", "learning": "…", "violated": "✕", "rests": "–"}
"""Signs that distinguish verdicts without colour."""

_NUMBERS = ("Model", "Predicted", "Projected", "Pull", "Price", "Support")
_HARDLY = 1.005  # smaller factors would be shown as 1
_ROWS = 150  # of a report
_STATED = 100  # rows before any fit

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
    "Predicted": "its value for the labels that the model predicts",
    "Projected": "its expectation under the model tilted by all constraints",
    "Pull": "change of the objective for each unit that its target is raised: how hard the data fight it",
    "Price": "log-odds that it adds to its event at one firing",
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
    shown = [name for name in _NUMBERS if name.lower() not in report.empty]
    headings += [*shown, *(["Drift"] if streamed else []), "Verdict"]
    numeric = {*_NUMBERS, "Drift"}
    columns = [Column(h, h in numeric, _ABOUT.get(h)) for h in headings]
    rows = []
    for k in range(len(report)) if only is None else only:
        entry = report[k]
        numbers = numbers_of(entry)._asdict()
        again = k > 0 and (report[k - 1].name, report[k - 1].sentence) == (entry.name, entry.sentence)
        row: list[Node | tuple[Node, ...]] = [_statement(entry, again)]
        if pictures:
            row.append(pictures[k])
        if targets:
            target = targets.get(key_of(entry))
            row.append(None if target is None else target.words)
        row += [(numbers["price"], _meaning(entry)) if h == "Price" else numbers[h.lower()] for h in shown]
        row += [drift_of(entry)] if streamed else []
        rows.append([*row, verdict(entry)])
    return table(caption, columns, rows, class_="constraints")


def _statement(entry: Entry, again: bool) -> tuple[Node, ...]:
    """Return the statement; ``again``: the sentence is in the row above, for another class."""
    if entry.name is None:
        return (element("strong", entry.part.strip()) if again else entry.statement,)
    name = element("strong", entry.name + entry.part)
    return (name,) if again else (name, element("span", entry.sentence, class_="note"))


def _meaning(entry: Entry) -> Node:
    """Return what the price does to the odds of the event at one firing; ``Entry.meaning`` says it at length."""
    if not entry.price:
        return None
    what = "share" if entry.component is not None else "odds"
    factor = math.exp(min(abs(entry.price), MOST))
    more = "more than " if abs(entry.price) > MOST else ""
    effect = f"{what} {'×' if entry.price > 0 else '÷'} {more}{factor:.3g}" if factor >= _HARDLY else "hardly moves"
    return element("span", effect, class_="note", title=entry.meaning)


def verdict(entry: Entry) -> Element:
    """Return a sign and the verdict in words."""
    sign = element("span", SIGNS.get(entry.status, ""), class_="sign", aria_hidden="true")
    return element("span", sign, " ", entry.full_verdict, class_=f"verdict {entry.status}")


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
                element("em", "pull"), " of a constraint is how hard the data fight it: nothing, where the model "
                "agrees by itself. Its ", element("em", "price"), " is the share of that at one place."),
        element("figure", legend([("ring", "model"), ("dot", "projected"), ("band", "asked")])),
        constraint_table(report, targets, pictures, only=shown,
                         caption="Targets, results, pulls and prices"),
        left_out(len(report) - len(shown), "constraint"),
    )  # fmt: skip


def most_telling(report: ConstraintReport, most: int) -> Sequence[int]:
    """Return the entries to show, in their order: all, or those that are off, inactive or pull hardest."""
    if len(report) <= most:
        return range(len(report))
    rank = {"violated": 0, "rests": 1, "missed": 2}
    order = sorted(range(len(report)), key=lambda k: (rank.get(report[k].status, 3), -report[k].resistance))
    return sorted(order[:most])


def _counts(report: ConstraintReport) -> str:
    found = Counter(entry.status for entry in report)
    states = [f"{n} {_STATES[status]} {SIGNS[status]}" for status, n in found.most_common()]
    return f"{count(len(report), 'statement')}: {', '.join(states)}."


def constraint_html(constraint: Constraint) -> str:
    """Return one constraint: its name, sentence and rationale, and the code that makes it."""
    name = None if constraint.name is None else element("strong", f"{constraint.name}: ")
    why = None if constraint.rationale is None else element("span", constraint.rationale, class_="note")
    return fragment(element("p", name, describe(constraint), why), element("code", repr(constraint)))


def set_html(constraints: ConstraintSet) -> str:
    """Return a table with one row per constraint."""
    unit = constraints._unit
    named = any(c.name is not None for c in constraints)
    why = any(c.rationale is not None for c in constraints)
    columns = [*([Column("Name")] if named else []), Column("Statement"), Column("Strength")]
    columns += [Column("Rationale")] if why else []
    rows: list[list[Node]] = []
    for c in constraints[:_STATED]:
        row: list[Node] = [*([c.name or "–"] if named else []), describe(c, unit), _strength(c)]
        rows.append([*row, *([c.rationale] if why else [])])
    n, classes = len(constraints), ", ".join(map(str, constraints.classes or ()))
    caption = count(n, "constraint") + (f" on {classes}" if classes else "")
    more = left_out(n - _STATED, "constraint")
    return fragment(table(caption, columns, rows), more)


def _strength(constraint: Constraint) -> str:
    if constraint.is_hard:
        return "hard"
    if constraint.slack:
        return f"soft edge, slack {constraint.slack:g}"
    if constraint.relation.within is not None:
        return f"soft, within {constraint.relation.within:g}"
    return "soft" if constraint.beta is None else f"soft, beta {constraint.beta:g}"
