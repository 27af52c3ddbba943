"""One constraint as a strip: what was asked (a bar or a band), the model (a ring), the projection (a dot)."""

from __future__ import annotations

from tiltfit.markup.element import Element, Node
from tiltfit.pages.axes import dot, line, rect, ring, svg
from tiltfit.report.entry import Entry
from tiltfit.report.targets import Target

_WIDTH, _HEIGHT, _MARGIN, _MIDDLE = 120.0, 24.0, 7.0, 12.0


def strip(entry: Entry, target: Target | None) -> Element | None:
    """None where there is nothing to place: the constraint rests, or acts by rules."""
    if entry.projected is None:
        return None
    stated = () if target is None else target.bounds
    top = 1.0 if not entry.counts else 1.15 * max(1e-9, entry.projected, entry.model or 0.0, *stated)

    def at(value: float) -> float:
        return _MARGIN + (_WIDTH - 2 * _MARGIN) * min(max(value / top, 0.0), 1.0)

    nodes: list[Node] = [line(_MARGIN, _MIDDLE, _WIDTH - _MARGIN, _MIDDLE, "axis")]
    if target is not None:
        low, high = at(max(0.0, target.low)), at(min(top, target.high))
        nodes.append(rect(low, 4, high - low, _HEIGHT - 8, "band"))
        nodes += [line(at(bound), 2, at(bound), _HEIGHT - 2, "target") for bound in target.bounds]
    if entry.model is not None:
        nodes.append(line(at(entry.model), _MIDDLE, at(entry.projected), _MIDDLE, "move"))
        nodes.append(ring(at(entry.model), _MIDDLE, "model"))
    nodes.append(dot(at(entry.projected), _MIDDLE, "projected"))
    model = "" if entry.model is None else f"model {entry.amount(entry.model)}, "
    asked = "" if target is None else f"asked {target.words}, "
    return svg(f"{asked}{model}projected {entry.amount(entry.projected)}", nodes, _HEIGHT, _WIDTH, "strip")
