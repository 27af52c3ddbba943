"""The calibration section: how sure the model is and, where there are labels, how often it is right."""

from __future__ import annotations

import numpy as np

from tiltfit.arrays import FloatArray
from tiltfit.report.account import Account
from tiltfit.report.html.charts import Axes, dot, line, rect, shares, svg, ticks
from tiltfit.report.html.element import Element, Node, element
from tiltfit.report.html.layout import caption, count, figure, percent, section
from tiltfit.report.reliability import Reliability, reliability

_BARS = 20


def calibration_section(account: Account) -> Element:
    what = account.unit.removesuffix("s")
    known = account.known
    histogram = figure(_histogram(account.confidence, account.unit), caption(_sure(account)))
    if not len(known):
        return section(
            "calibration",
            "Confidence",
            element("p", "Without labels it is unknown how often the model is right: this shows how sure it is."),
            histogram,
        )
    found = reliability(account.confidence[known], account.predicted[known] == account.truth[known])
    lead = f"{found.verdict} The calibration error is {percent(found.error)}, on {count(len(known), what)} with labels."
    few = "With so few labels, this is a rough picture." if len(known) < 100 else None
    return section(
        "calibration",
        "Calibration",
        element("p", lead, None if few is None else f" {few}"),
        element("div", figure(_diagram(found), caption(
            "How often predictions are right, against how sure the model is of them; each dot stands for "
            "equally many. On the dashed line it is right as often as it says; above it is too modest, below too "
            "sure.")), histogram,
            class_="figures"),
    )  # fmt: skip


def _sure(account: Account) -> str:
    median = float(np.median(account.confidence))
    return f"How sure the model is of what it predicts: half of its predictions have at least {percent(median)}."


def _diagram(found: Reliability) -> Element:
    axes = Axes((0.0, 1.0), (0.0, 1.0), 260.0)
    nodes = axes.frame(shares(), shares(), "how sure it is", "how often it is right")
    nodes.append(line(axes.at_x(0), axes.at_y(0), axes.at_x(1), axes.at_y(1), "diagonal"))
    for sure, right in zip(found.confidence.tolist(), found.accuracy.tolist(), strict=True):
        nodes.append(line(axes.at_x(sure), axes.at_y(sure), axes.at_x(sure), axes.at_y(right), "move"))
    nodes.append(axes.path(found.confidence.tolist(), found.accuracy.tolist(), "curve"))
    for sure, right in zip(found.confidence.tolist(), found.accuracy.tolist(), strict=True):
        nodes.append(dot(axes.at_x(sure), axes.at_y(right), "projected"))
    return svg(f"Reliability diagram. {found.verdict}", nodes, 260.0)


def _histogram(confidence: FloatArray, unit: str) -> Element:
    counts, edges = np.histogram(confidence, bins=_BARS, range=(0.0, 1.0))
    most = float(counts.max())
    axes = Axes((0.0, 1.0), (0.0, most * 1.05), 260.0)
    nodes: list[Node] = axes.frame(shares(), ticks(0.0, most, 5), "how sure it is", unit)
    bottom = axes.at_y(0.0)
    for n, left, right in zip(counts.tolist(), edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        if n:
            x, top = axes.at_x(left) + 0.75, axes.at_y(n)
            nodes.append(rect(x, top, axes.at_x(right) - 0.75 - x, bottom - top, "bar"))
    return svg(f"Histogram of the model's probability of the predicted label, {len(confidence):,} {unit}", nodes, 260.0)
