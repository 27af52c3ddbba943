"""Accuracy by method, a row for what is stated of the rules."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from experiments.command import Finished
from experiments.spread import error
from experiments.youtube.cells import ESTIMATED, NOTHING, USUAL, WITH_SPAM, Plan
from experiments.youtube.collection import TEST, VALID
from experiments.youtube.page import NAMES, STATED, TITLES, kinds, of_kind, values

MARKS = {"ap": ("o", "C0"), "vote": ("s", "C1"), "label_model": ("^", "C2")}
ROWS = (USUAL, ESTIMATED, WITH_SPAM)


def plot(plan: Plan) -> Callable[[Finished, Path], None]:
    """One panel a kind of split."""

    def draw(found: Finished, path: Path) -> None:
        from matplotlib.figure import Figure

        shown = kinds(plan)
        figure = Figure(figsize=(3.4 * len(shown) + 2.2, 3.8), layout="constrained")
        panels = np.atleast_1d(figure.subplots(1, len(shown), sharex=True, sharey=True))
        for panel, kind in zip(panels, shown, strict=True):
            _panel(panel, plan, found, kind)
            panel.set_title(TITLES[kind], fontsize=10)
        panels[0].set_yticks(range(len(ROWS)), [STATED[row] for row in ROWS])
        panels[0].set_ylim(len(ROWS) - 0.5, -0.9)
        panels[0].set_xlim(right=1.0)
        figure.supxlabel("accuracy on test comments, with standard errors", fontsize=10)
        figure.suptitle(TITLE, fontsize=12)
        figure.savefig(path, dpi=120, metadata={"Software": None})

    return draw


TITLE = (
    "Ten spam rules: alternating projections are level with majority vote;\n"
    "knowing the share of each rule helps them on the own split alone"
)


def _panel(panel: Any, plan: Plan, found: Finished, kind: bool | None) -> None:
    for row, stated in enumerate(ROWS):
        for place, (method, (marker, color)) in enumerate(MARKS.items()):
            figures = of_kind(values(plan, found, method, stated), kind)
            x, y = float(np.mean(figures)), row + 0.22 * (place - 1)
            spread = error(figures) if len(figures) > 1 else np.sqrt(x * (1 - x) / TEST)
            panel.errorbar(x, y, xerr=spread, fmt=marker, color=color, capsize=3)
            if kind is None and row == len(ROWS) - 1:
                panel.annotate(f"{NAMES[method]}  ", (x - spread, y), ha="right", va="center", color=color, fontsize=9)
    for labels, title, where in (("valid", f"{VALID} labels,\nno rules ", "right"), ("all", " all labels", "left")):
        x = float(np.mean(of_kind(values(plan, found, "supervised", NOTHING, labels), kind)))
        panel.axvline(x, color="0.6", linestyle=":")
        panel.text(x, -0.6, title, color="0.4", ha=where, va="center", fontsize=8)
    panel.grid(axis="x", alpha=0.3)
