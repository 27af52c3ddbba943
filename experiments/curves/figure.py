"""Macro-F1 by the number of words (above) and of labels (below)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from experiments.command import Finished
from experiments.curves.cells import Plan
from experiments.curves.page import labels, usual, words, worth, worth_in_words
from experiments.spread import error

ZERO = 0.5
"""The place of 0 labels on a logarithmic axis."""


def plot(plan: Plan) -> Callable[[Finished, Path], None]:
    """A column a collection."""

    def draw(found: Finished, path: Path) -> None:
        from matplotlib.figure import Figure

        names = list(plan.curves)
        figure = Figure(figsize=(3.7 * len(names) + 0.4, 6.4), layout="constrained")
        panels = figure.subplots(2, len(names), squeeze=False, sharey=True)
        for k, name in enumerate(names):
            _words(panels[0, k], plan, found, name)
            _labels(panels[1, k], plan, found, name)
            every = float(np.mean(labels(plan, found, name, "all", False)))
            for panel in panels[:, k]:
                panel.axhline(every, color="0.6", linestyle=":")
                panel.text(
                    0.02, every + 0.01, "all labels", color="0.4", fontsize=8, transform=panel.get_yaxis_transform()
                )
                panel.grid(alpha=0.3)
                panel.set_ylim(0, 1)
        for panel in panels[:, 0]:
            panel.set_ylabel("macro-F1, test part")
        figure.suptitle("A few labelled words do the work of many labelled documents")
        figure.savefig(path, dpi=120, metadata={"Software": None})

    return draw


def _words(panel: Any, plan: Plan, found: Finished, name: str) -> None:
    numbers = plan.curves[name].words
    ap, vote = ([words(plan, found, name, n, method) for n in numbers] for method in ("ap", "vote"))
    _line(panel, numbers, ap, "C0")
    _line(panel, numbers, vote, "C3", "--")
    _say(panel, 0.22, "alternating projections (solid)", "C0")
    _say(panel, 0.12, "majority vote → LR (dashed)", "C3")
    _ticks(panel, numbers, [str(n) for n in numbers])
    panel.set_xlabel("words per label, nothing labelled")
    panel.set_title(name)


def _labels(panel: Any, plan: Plan, found: Finished, name: str) -> None:
    c = plan.curves[name]
    with_words = [labels(plan, found, name, n, True) for n in (0, *c.told)]
    alone = [labels(plan, found, name, n, False) for n in c.alone]
    _line(panel, (ZERO, *c.told), with_words, "C0")
    _line(panel, c.alone, alone, "C1")
    _say(panel, 0.22, f"labels and {usual(name)} words per label", "C0")
    _say(panel, 0.12, "labels alone", "C1")
    reached, goal = worth(plan, found, name), float(np.mean(with_words[0]))
    panel.hlines(goal, ZERO, reached or c.alone[-1], color="C0", linestyle=":", linewidth=1)
    if reached is not None:
        panel.vlines(reached, 0, goal, color="C0", linestyle=":", linewidth=1)
    _ticks(panel, (ZERO, *c.alone), ["0", *map(str, c.alone)])
    panel.set_xlabel("labels per class")
    panel.set_title(f"the words are worth {worth_in_words(plan, found, name)} labels per class", fontsize=9)


def _say(panel: Any, height: float, text: str, color: str) -> None:
    behind = {"facecolor": "white", "edgecolor": "none", "pad": 1}
    panel.text(0.97, height, text, color=color, fontsize=9, ha="right", transform=panel.transAxes, bbox=behind)


def _ticks(panel: Any, places: Sequence[float], names: Sequence[str]) -> None:
    panel.set_xscale("log")
    panel.set_xticks(places, names, fontsize=8)
    panel.minorticks_off()


def _line(panel: Any, x: Sequence[float], values: Sequence[list[float]], color: str, dashes: str = "-") -> None:
    """Means, and standard errors where there are several splits."""
    mean = np.array([np.mean(found) for found in values])
    panel.plot(x, mean, dashes, color=color, marker=".")
    if len(values[0]) > 1:
        spread = np.array([error(found) for found in values])
        panel.fill_between(x, mean - spread, mean + spread, color=color, alpha=0.2, linewidth=0)
