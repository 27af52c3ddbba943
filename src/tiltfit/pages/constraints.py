"""The constraint table, with a picture of each constraint."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tiltfit.markup.element import Element, element
from tiltfit.pages.account import Account
from tiltfit.pages.layout import count, figure, left_out, legend, section
from tiltfit.pages.strip import strip
from tiltfit.report.constraints import ConstraintReport
from tiltfit.report.html import SIGNS, constraint_table
from tiltfit.report.targets import key_of

_MOST = 150  # rows

_STATES = {
    "met": "met",
    "missed": "soft, pulling, off by more than half a per cent",
    "violated": "impossible together",
    "rests": "at rest",
    "rules": "acting as rules",
    "learning": "being learned",
    "each": "met in each",
}


def constraints_section(account: Account) -> Element:
    report, targets = account.report, account.targets
    if not len(report):
        return section("constraints", "Constraints", element("p", "The model has no constraints."))
    shown = most_telling(report, _MOST)
    pictures = [strip(entry, targets.get(key_of(entry))) for entry in report]
    return section(
        "constraints",
        "Constraints",
        element("p", f"{_counts(report)} Figures are those of the data it was fitted on. The ",
                element("em", "price"), " of a constraint is how hard the data fight it: nothing, where the model "
                "agrees by itself."),
        figure(None, legend([("ring", "model"), ("dot", "projected"), ("band", "asked")])),
        constraint_table(report, targets, pictures, only=shown,
                         caption="What was asked, what came of it, and its price"),
        left_out(len(report) - len(shown), "constraint"),
    )  # fmt: skip


def most_telling(report: ConstraintReport, most: int) -> Sequence[int]:
    """The entries to show, in their order: all, or those that are off, find nothing or cost most."""
    if len(report) <= most:
        return range(len(report))
    rank = {"violated": 0, "rests": 1, "missed": 2}
    order = sorted(range(len(report)), key=lambda k: (rank.get(report[k].status, 3), -abs(report[k].price or 0.0)))
    return sorted(order[:most])


def _counts(report: ConstraintReport) -> str:
    found = Counter(entry.status for entry in report)
    told = [f"{n} {_STATES[status]} {SIGNS[status]}" for status, n in found.most_common()]
    return f"{count(len(report), 'statement')}: {', '.join(told)}."
