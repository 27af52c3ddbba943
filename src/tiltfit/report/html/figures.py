"""The sections of a page that are charts: label proportions, coverage, calibration and convergence."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tiltfit.arrays import FloatArray
from tiltfit.methods.history import Round
from tiltfit.report.account import MOST_CONDITIONS, Account, Coverage
from tiltfit.report.html.charts import WIDTH, Axes, Ticks, diamond, dot, label, line, rect, ring, shares, svg, ticks
from tiltfit.report.html.element import Element, Node, element
from tiltfit.report.html.layout import Column, count, left_out, legend, percent, section, table
from tiltfit.report.reliability import Reliability

_MOST = 20  # labels that are shown
_ROW, _ROOM = 22.0, 108.0  # the height of a label's row, and the room for its name
_NEVER = 5  # constraints named that never fire
_BARS, _SQUARE = 20, 260.0  # bars of a histogram, and the height of charts of confidence


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
    """Return how often each label is given: by the model, projected, by labels there are, and as stated."""
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
        element("figure", _proportion_chart(shown), legend(keys)),
        element("details", element("summary", "The same in numbers"), _proportion_table(shown)),
        left_out(len(found) - len(shown), "label"),
    )  # fmt: skip


def _proportion_chart(rows: Sequence[Proportion]) -> Element:
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
        nodes += _proportion_row(one, axes, 18 + _ROW * k, top)
    nodes.append(label("share", (_ROOM + WIDTH) / 2, height - 5, "middle", "title"))
    listed = "; ".join(f"{one.name} {one.model:.0%}" for one in rows[:8])
    return svg(f"Shares of the labels under the model: {listed}{' …' if len(rows) > 8 else ''}", nodes, height)


def _proportion_row(one: Proportion, axes: Axes, y: float, top: float) -> list[Node]:
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


def _proportion_table(rows: Sequence[Proportion]) -> Element:
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


def coverage_section(account: Account) -> Element:
    """Return on how much of the data conditions fire."""
    found = account.coverage
    if found.unknown is not None:
        why = f"Where the constraints apply could not be found on these data: {found.unknown}"
        return section("coverage", "Coverage", element("p", why))
    never = None
    if found.never:
        some = "; ".join(f"“{title}”" for title in found.never[:_NEVER])
        more = f"; and {len(found.never) - _NEVER} more" if len(found.never) > _NEVER else ""
        who = "One constraint never fires" if len(found.never) == 1 else f"{len(found.never)} constraints never fire"
        never = element("p", f"{who} here: {some}{more}.")
    return section(
        "coverage",
        "Coverage",
        element("p", _coverage_lead(account, found)),
        element("figure", _coverage_bar(found, account.unit), element("figcaption",
            f"{account.unit.capitalize()} by the number of conditions that fire there. About the others the model "
            "knows only what it generalises from these.")),
        never,
    )  # fmt: skip


def _coverage_lead(account: Account, found: Coverage) -> str:
    of_all = f"Some condition fires on {percent(found.share)} of {sum(found.depth):,} {account.unit}"
    if account.sequences is None:
        return f"{of_all}."
    reached = percent(found.instances / max(1, found.all_instances))
    return f"{of_all}, in {reached} of {count(found.all_instances, 'sequence')}."


def _coverage_bar(found: Coverage, unit: str) -> Element:
    """Return one bar in parts; each part has its number and share below."""
    total, room, at = sum(found.depth), WIDTH - 8, 4.0
    names = ["none", *(str(k) for k in range(1, MOST_CONDITIONS)), f"{MOST_CONDITIONS} or more"]
    nodes: list[Node] = []
    for k, (n, name) in enumerate(zip(found.depth, names, strict=True)):
        width = room * n / max(1, total)
        nodes.append(rect(at, 6, width - 1, 26, f"part p{k}"))
        x = 4.0 + room * k / len(names)
        nodes.append(rect(x, 46, 10, 10, f"part p{k}"))
        nodes.append(label(name, x + 15, 55, "start", "name"))
        nodes.append(label(f"{n:,} ({percent(n / max(1, total))})", x, 73, "start"))
        at += width
    counts = ", ".join(f"{name}: {n:,}" for n, name in zip(found.depth, names, strict=True))
    return svg(f"{unit.capitalize()} by the number of conditions that fire: {counts}", nodes, 80.0)


def calibration_section(account: Account) -> Element:
    """Return how sure the model is and, where there are labels, how often it is right."""
    median = percent(float(np.median(account.confidence)))
    sure = f"How sure the model is of what it predicts: half of its predictions have at least {median}."
    histogram = element("figure", _histogram(account.confidence, account.unit), element("figcaption", sure))
    found, n = account.reliability, len(account.known)
    if found is None:
        lead = "Without labels it is unknown how often the model is right: this shows how sure it is."
        return section("calibration", "Confidence", element("p", lead), histogram)
    labelled = count(n, account.unit.removesuffix("s"))
    lead = f"{found.verdict} The calibration error is {percent(found.error)}, on {labelled} with labels."
    few = " With so few labels, this is a rough picture." if n < 100 else None
    return section(
        "calibration",
        "Calibration",
        element("p", lead, few),
        element("div", element("figure", _diagram(found), element("figcaption",
            "How often predictions are right, against how sure the model is of them; each dot stands for "
            "equally many. On the dashed line it is right as often as it says; above it is too modest, below too "
            "sure.")), histogram,
            class_="figures"),
    )  # fmt: skip


def _diagram(found: Reliability) -> Element:
    axes = Axes((0.0, 1.0), (0.0, 1.0), _SQUARE)
    nodes = axes.frame(shares(), shares(), "how sure it is", "how often it is right")
    nodes.append(line(axes.at_x(0), axes.at_y(0), axes.at_x(1), axes.at_y(1), "diagonal"))
    sure, right = found.confidence.tolist(), found.accuracy.tolist()
    at = [(axes.at_x(s), axes.at_y(s), axes.at_y(r)) for s, r in zip(sure, right, strict=True)]
    nodes += [line(x, diagonal, x, y, "move") for x, diagonal, y in at]
    nodes += [axes.path(sure, right, "curve"), *(dot(x, y, "projected") for x, _, y in at)]
    return svg(f"Reliability diagram. {found.verdict}", nodes, _SQUARE)


def _histogram(confidence: FloatArray, unit: str) -> Element:
    counts, edges = np.histogram(confidence, bins=_BARS, range=(0.0, 1.0))
    most = float(counts.max())
    axes = Axes((0.0, 1.0), (0.0, most * 1.05), _SQUARE)
    nodes: list[Node] = axes.frame(shares(), ticks(0.0, most, 5), "how sure it is", unit)
    bottom = axes.at_y(0.0)
    for n, left, right in zip(counts.tolist(), edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        if n:
            x, top = axes.at_x(left) + 0.75, axes.at_y(n)
            nodes.append(rect(x, top, axes.at_x(right) - 0.75 - x, bottom - top, "bar"))
    return svg(
        f"Histogram of the model's probability of the predicted label, {len(confidence):,} {unit}", nodes, _SQUARE
    )


def convergence_section(account: Account) -> Element:
    """Return training, round by round."""
    training = account.training
    history, message = training.history, training.message
    if not history:
        return section("convergence", "Convergence", element("p", "It was learned in a stream, which keeps no rounds."))
    ended = "It converged" if training.converged else "It did not converge"
    lead = f"{ended} after {count(len(history), 'round')}{f': {message}' if message else ''}."
    pictures = [
        _history_line(history, "objective", "The objective that training minimises (Eq. 6).", log=False),
        _history_line(history, "gradient", "The largest entry of the gradient, on a logarithmic scale.", log=True),
        _history_line(history, "worst_violation", "The distance of the worst constraint from its target.", log=False),
        _history_line(history, "dev_score", "The score on the development set.", log=False),
    ]  # fmt: skip
    return section("convergence", "Convergence", element("p", lead), element("div", *pictures, class_="figures"))


def _history_line(history: Sequence[Round], name: str, words: str, *, log: bool) -> Element | None:
    """Return one column of the history against the rounds; None where it is known in fewer than two of them."""
    values = [(r.round, getattr(r, name)) for r in history]
    points = [(k, float(v)) for k, v in values if v is not None and math.isfinite(v) and (v > 0 or not log)]
    if len(points) < 2:
        return None
    xs = [float(k) for k, _ in points]
    ys = [math.log10(v) if log else v for _, v in points]
    low, high = min(ys), max(ys)
    low, high = (low - 0.05, high + 0.05) if high - low < 1e-9 * max(1.0, abs(high)) else (low, high)
    margin = 0.06 * (high - low)
    axes = Axes((xs[0], xs[-1]), (low - margin, high + margin))
    y_ticks: Ticks = _powers(low, high) if log else ticks(low, high)
    title = name.replace("_", " ")
    nodes: list[Node] = axes.frame(ticks(xs[0], xs[-1]), y_ticks, "round", title)
    nodes.append(axes.path(xs, ys, "curve"))
    nodes.append(dot(axes.at_x(xs[-1]), axes.at_y(ys[-1]), "projected"))
    ends = f"from {points[0][1]:,.4g} to {points[-1][1]:,.4g} in {count(len(history), 'round')}"
    return element(
        "figure", svg(f"{title} {ends}", nodes), element("figcaption", f"{words} {ends[0].upper()}{ends[1:]}.")
    )


def _powers(low: float, high: float) -> Ticks:
    whole = list(range(math.ceil(low), math.floor(high) + 1))
    step = max(1, math.ceil(len(whole) / 5))
    found = [(float(k), f"{10.0**k:g}") for k in whole[::step]]
    return found if len(found) > 1 else [(low, f"{10**low:.2g}"), (high, f"{10**high:.2g}")]
