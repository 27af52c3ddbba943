"""Small charts in SVG: axes, ticks, marks.

Charts are 360 units wide, about the width of a phone: their text is then as large as the text around them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tiltfit.report.constraints import Entry
from tiltfit.report.html.element import Element, Node, element
from tiltfit.report.targets import Target

WIDTH, HEIGHT = 360.0, 220.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 48.0, 10.0, 10.0, 40.0
_MOST_POINTS = 400  # of a line; more would not be visible
_STRIP_WIDTH, _STRIP_HEIGHT, _STRIP_MARGIN, _STRIP_MIDDLE = 120.0, 24.0, 7.0, 12.0


@dataclass(frozen=True)
class Axes:
    """The ranges of numbers that fill the chart, up to its margins."""

    x: tuple[float, float]
    y: tuple[float, float]
    height: float = HEIGHT
    left: float = _LEFT

    def at_x(self, value: float) -> float:
        low, high = self.x
        return self.left + (WIDTH - self.left - _RIGHT) * (value - low) / (high - low)

    def at_y(self, value: float) -> float:
        low, high = self.y
        return self.height - _BOTTOM - (self.height - _TOP - _BOTTOM) * (value - low) / (high - low)

    def frame(self, x: Ticks, y: Ticks, x_title: str, y_title: str) -> list[Node]:
        """Return grid lines, numbers and titles."""
        bottom = self.at_y(self.y[0])
        nodes: list[Node] = []
        for value, words in y:
            at = self.at_y(value)
            nodes.append(line(self.left, at, WIDTH - _RIGHT, at, "grid"))
            nodes.append(label(words, self.left - 6, at + 4, "end"))
        for value, words in x:
            nodes.append(label(words, self.at_x(value), bottom + 15, "middle"))
        nodes.append(line(self.left, bottom, WIDTH - _RIGHT, bottom, "axis"))
        nodes.append(label(x_title, (self.left + WIDTH - _RIGHT) / 2, self.height - 5, "middle", "title"))
        middle = _number((_TOP + bottom) / 2)
        nodes.append(element("text", y_title, x="0", y="0", transform=f"translate(11 {middle}) rotate(-90)",
                             text_anchor="middle", class_="title"))  # fmt: skip
        return nodes

    def path(self, xs: Sequence[float], ys: Sequence[float], class_: str) -> Element:
        """Return a line through points."""
        step = max(1, len(xs) // _MOST_POINTS)
        kept = sorted({*range(0, len(xs), step), len(xs) - 1}) if len(xs) else []
        points = " ".join(f"{_number(self.at_x(xs[i]))},{_number(self.at_y(ys[i]))}" for i in kept)
        return element("polyline", points=points, class_=class_)


Ticks = Sequence[tuple[float, str]]


def shares(low: float = 0.0) -> Ticks:
    """Return the ticks of a scale of shares, from ``low``."""
    return [(k / 4, f"{k * 25}%") for k in range(5) if k / 4 >= low]


def ticks(low: float, high: float, most: int = 4) -> list[tuple[float, str]]:
    """Return some round numbers between two.

    >>> [words for _, words in ticks(0.0, 43.0)], [words for _, words in ticks(1510.0, 2710.0)]
    (['0', '20', '40'], ['2,000', '2,500'])
    """
    if not high > low:
        return [(low, f"{low:,.4g}")]
    step = 10.0 ** math.floor(math.log10((high - low) / most))
    step = next(s for s in (step, 2 * step, 5 * step, 10 * step) if (high - low) / s <= most)
    first = math.ceil(low / step)
    values = [k * step for k in range(first, math.floor(high / step + 1e-9) + 1)]
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    return [(value, f"{value:,.{digits}f}") for value in values]


def svg(title: str, nodes: Sequence[Node], height: float = HEIGHT, width: float = WIDTH, class_: str = "") -> Element:
    """Return a picture; ``title`` describes it to those who cannot see it."""
    return element(
        "svg", element("title", title), *nodes, viewBox=f"0 0 {_number(width)} {_number(height)}", role="img",
        aria_label=title, focusable="false", class_=class_ or None,
    )  # fmt: skip


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> Element:
    return element("line", x1=_number(x1), y1=_number(y1), x2=_number(x2), y2=_number(y2), class_=class_)


def label(words: str, x: float, y: float, anchor: str, class_: str | None = None) -> Element:
    return element("text", words, x=_number(x), y=_number(y), text_anchor=anchor, class_=class_)


def rect(x: float, y: float, width: float, height: float, class_: str) -> Element:
    return element("rect", x=_number(x), y=_number(y), width=_number(max(0.0, width)),
                   height=_number(max(0.0, height)), class_=class_)  # fmt: skip


def ring(x: float, y: float, class_: str) -> Element:
    """Return the mark of the model: hollow."""
    return element("circle", cx=_number(x), cy=_number(y), r="5.5", class_=f"ring {class_}")


def dot(x: float, y: float, class_: str) -> Element:
    """Return the mark of the projection: filled."""
    return element("circle", cx=_number(x), cy=_number(y), r="3.5", class_=f"dot {class_}")


def diamond(x: float, y: float, class_: str) -> Element:
    """Return the mark of labels."""
    at = [(x, y - 5.5), (x + 5.5, y), (x, y + 5.5), (x - 5.5, y)]
    return element("polygon", points=" ".join(f"{_number(a)},{_number(b)}" for a, b in at), class_=f"diamond {class_}")


def strip(entry: Entry, target: Target | None) -> Element | None:
    """Return one constraint as a strip: what was asked (a bar or a band), the model (a ring), the projection (a dot).

    None where there is nothing to place: the constraint is inactive, or acts as a rule.
    """
    if entry.projected is None:
        return None
    stated = () if target is None else target.bounds
    top = 1.0 if not entry.counts else 1.15 * max(1e-9, entry.projected, entry.model or 0.0, *stated)

    def at(value: float) -> float:
        return _STRIP_MARGIN + (_STRIP_WIDTH - 2 * _STRIP_MARGIN) * min(max(value / top, 0.0), 1.0)

    nodes: list[Node] = [line(_STRIP_MARGIN, _STRIP_MIDDLE, _STRIP_WIDTH - _STRIP_MARGIN, _STRIP_MIDDLE, "axis")]
    if target is not None:
        low, high = at(max(0.0, target.low)), at(min(top, target.high))
        nodes.append(rect(low, 4, high - low, _STRIP_HEIGHT - 8, "band"))
        nodes += [line(at(bound), 2, at(bound), _STRIP_HEIGHT - 2, "target") for bound in target.bounds]
    if entry.model is not None:
        nodes.append(line(at(entry.model), _STRIP_MIDDLE, at(entry.projected), _STRIP_MIDDLE, "move"))
        nodes.append(ring(at(entry.model), _STRIP_MIDDLE, "model"))
    nodes.append(dot(at(entry.projected), _STRIP_MIDDLE, "projected"))
    model = "" if entry.model is None else f"model {entry.amount(entry.model)}, "
    asked = "" if target is None else f"asked {target.words}, "
    return svg(f"{asked}{model}projected {entry.amount(entry.projected)}", nodes, _STRIP_HEIGHT, _STRIP_WIDTH, "strip")


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")
