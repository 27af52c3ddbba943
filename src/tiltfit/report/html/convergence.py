"""The convergence section: training, round by round."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tiltfit.methods.history import Round
from tiltfit.report.account import Account
from tiltfit.report.html.charts import Axes, Ticks, dot, svg, ticks
from tiltfit.report.html.element import Element, Node, element
from tiltfit.report.html.layout import caption, count, figure, section


def convergence_section(account: Account) -> Element:
    training = account.training
    history, message = training.history, training.message
    if not history:
        return section("convergence", "Convergence", element("p", "It was learned in a stream, which keeps no rounds."))
    ended = "It converged" if training.converged else "It did not converge"
    lead = f"{ended} after {count(len(history), 'round')}{f': {message}' if message else ''}."
    pictures = [
        _line(history, "objective", "The objective that training minimises (Eq. 6).", log=False),
        _line(history, "gradient", "The largest entry of the gradient, on a logarithmic scale.", log=True),
        _line(history, "worst_violation", "The distance of the worst constraint from its target.", log=False),
        _line(history, "dev_score", "The score on the development set.", log=False),
    ]  # fmt: skip
    return section("convergence", "Convergence", element("p", lead), element("div", *pictures, class_="figures"))


def _line(history: Sequence[Round], name: str, words: str, *, log: bool) -> Element | None:
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
    return figure(svg(f"{title} {ends}", nodes), caption(f"{words} {ends[0].upper()}{ends[1:]}."))


def _powers(low: float, high: float) -> Ticks:
    whole = list(range(math.ceil(low), math.floor(high) + 1))
    step = max(1, math.ceil(len(whole) / 5))
    found = [(float(k), f"{10.0**k:g}") for k in whole[::step]]
    return found if len(found) > 1 else [(low, f"{10**low:.2g}"), (high, f"{10**high:.2g}")]
