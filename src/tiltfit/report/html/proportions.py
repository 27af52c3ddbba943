"""How often each label is given: by the model, projected, by labels there are, and as stated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tiltfit.report.account import Account
from tiltfit.report.html.charts import WIDTH, Axes, diamond, dot, label, line, rect, ring, shares, svg
from tiltfit.report.html.element import Element, Node, element
from tiltfit.report.html.layout import figure, left_out, legend, percent, section
from tiltfit.report.html.tables import Column, table

_MOST = 20  # labels that are shown
_ROW = 22.0
_ROOM = 108.0  # for names


@dataclass(frozen=True)
class Proportion:
    """Shares of one label. ``stated``: lowest and highest that was asked without a condition, if it was."""

    name: str
    model: float
    projected: float | None = None
    labelled: float | None = None
    stated: tuple[float, float] | None = None


def proportions(account: Account) -> list[Proportion]:
    """Return one per class, the most frequent first."""
    model = account.p.mean(axis=0)
    projected = None if account.q is None else account.q.mean(axis=0)
    truth = account.truth[account.known]
    labelled = np.bincount(truth, minlength=len(account.names))[: len(account.classes)] / max(1, len(truth))
    found = [
        Proportion(
            name,
            float(model[k]),
            None if projected is None else float(projected[k]),
            float(labelled[k]) if len(truth) else None,
            account.stated.get(name),
        )
        for k, name in enumerate(account.classes)
    ]
    return sorted(found, key=lambda one: -one.model)


def proportions_section(account: Account) -> Element:
    found = proportions(account)
    shown = found[:_MOST]
    what = "tokens" if account.sequences is not None else account.unit
    keys = [("ring", "model")]
    keys += [("dot", "projected")] if account.q is not None else []
    keys += [("diamond", "labels in these data")] if len(account.known) else []
    keys += [("band", "stated")] if any(one.stated for one in shown) else []
    return section(
        "proportions",
        "Label proportions",
        element("p", f"The share of {what} that get each label: mean probabilities, not counts of the most probable "
                "label."),
        figure(_chart(shown), legend(keys)),
        element("details", element("summary", "The same in numbers"), _table(shown)),
        left_out(len(found) - len(shown), "label"),
    )  # fmt: skip


def _chart(rows: Sequence[Proportion]) -> Element:
    height = 46 + _ROW * len(rows)
    most = max([0.0, *(s for one in rows for s in (one.model, one.projected, one.labelled) if s is not None)])
    most = max([most, *(one.stated[0] for one in rows if one.stated)])
    top = next(t for t in (0.1, 0.25, 0.5, 1.0) if most <= t * 0.97 or t == 1.0)
    axes = Axes((0.0, top), (0.0, 1.0), height, _ROOM)
    nodes: list[Node] = []
    for share, words in shares() if top > 0.5 else [(top * k / 5, f"{top * k / 5:.0%}") for k in range(6)]:
        at = axes.at_x(share)
        nodes += [line(at, 6, at, height - 36, "grid"), label(words, at, height - 22, "middle")]
    for k, one in enumerate(rows):
        nodes += _row(one, axes, 18 + _ROW * k, top)
    nodes.append(label("share", (_ROOM + WIDTH) / 2, height - 5, "middle", "title"))
    listed = "; ".join(f"{one.name} {one.model:.0%}" for one in rows[:8])
    return svg(f"Shares of the labels under the model: {listed}{' …' if len(rows) > 8 else ''}", nodes, height)


def _row(one: Proportion, axes: Axes, y: float, top: float) -> list[Node]:
    name = one.name if len(one.name) <= 15 else one.name[:14] + "…"
    nodes: list[Node] = [label(name, _ROOM - 10, y + 4, "end", "name")]
    if one.stated is not None:
        low, high = axes.at_x(max(0.0, one.stated[0])), axes.at_x(min(top, one.stated[1]))
        nodes.append(rect(low, y - 7, high - low, 14, "band"))
        nodes += [line(at, y - 8, at, y + 8, "target") for at in sorted({low, high}) if _within(one.stated, at, axes)]
    if one.projected is not None:
        nodes.append(line(axes.at_x(one.model), y, axes.at_x(one.projected), y, "move"))
    if one.labelled is not None:
        nodes.append(diamond(axes.at_x(min(one.labelled, top)), y, "labels"))
    if one.projected is not None:
        nodes.append(dot(axes.at_x(one.projected), y, "projected"))
    nodes.append(ring(axes.at_x(one.model), y, "model"))
    return nodes


def _within(stated: tuple[float, float], at: float, axes: Axes) -> bool:
    """Return whether there is a bound at ``at``: not where the statement is open."""
    return any(0 < bound < 1 and abs(axes.at_x(bound) - at) < 0.5 for bound in stated)


def _table(rows: Sequence[Proportion]) -> Element:
    columns = [Column("Label"), Column("Model", True), Column("Projected", True), Column("Labels", True)]
    body = [(one.name, percent(one.model), percent(one.projected), percent(one.labelled), _stated(one)) for one in rows]
    return table("Label proportions", [*columns, Column("Stated", True)], body)


def _stated(one: Proportion) -> str:
    if one.stated is None:
        return ""
    low, high = one.stated
    if low == high:
        return percent(low)
    if high >= 1:
        return f"at least {percent(low)}"
    return f"at most {percent(high)}" if low <= 0 else f"{percent(low)} to {percent(high)}"
