"""Constraints as notebooks show them, before any fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tiltfit.language.sentences import describe
from tiltfit.report.html.element import Node, element
from tiltfit.report.html.tables import Column, fragment, table

if TYPE_CHECKING:
    from tiltfit.language.constraint import Constraint, ConstraintSet

_MOST = 100  # rows


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
    for c in constraints[:_MOST]:
        row: list[Node] = [*([c.name or "–"] if named else []), describe(c, unit), _strength(c)]
        rows.append([*row, *([c.rationale] if why else [])])
    n, classes = len(constraints), ", ".join(map(str, constraints.classes or ()))
    caption = f"{n:,} constraint{'' if n == 1 else 's'}{f' on {classes}' if classes else ''}"
    more = element("p", f"Left out: {n - _MOST:,} constraints.", class_="note") if n > _MOST else None
    return fragment(table(caption, columns, rows), more)


def _strength(constraint: Constraint) -> str:
    if constraint.is_hard:
        return "hard"
    if constraint.slack:
        return f"soft edge, slack {constraint.slack:g}"
    return "soft" if constraint.beta is None else f"soft, beta {constraint.beta:g}"
