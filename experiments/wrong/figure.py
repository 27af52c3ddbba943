"""Macro-F1 by how far targets are off, and by how many words have the wrong label."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from experiments.command import Finished
from experiments.spread import error
from experiments.wrong.cells import (
    ABOUT,
    AT_LEAST,
    BETWEEN,
    LABEL_MODEL,
    SOFT_AT_LEAST,
    SOFT_BETWEEN,
    VOTE,
    Plan,
)
from experiments.wrong.page import mislabelled, off

STYLES = {
    ABOUT: ("about", "C0", "-"),
    SOFT_AT_LEAST: ("at least, with slack", "C2", "-"),
    SOFT_BETWEEN: ("between, with slack", "C1", "-"),
    AT_LEAST: ("at least, hard", "C2", ":"),
    BETWEEN: ("between, hard", "C1", ":"),
}
METHODS = {
    ABOUT: ("alternating projections (about)", "C0", "-"),
    VOTE: ("majority vote → LR", "C3", "--"),
    LABEL_MODEL: ("label model → LR", "C4", "--"),
}


def plot(plan: Plan) -> Callable[[Finished, Path], None]:
    """A column a collection."""

    def draw(found: Finished, path: Path) -> None:
        from matplotlib.figure import Figure

        names = list(plan.seeds)
        figure = Figure(figsize=(3.9 * len(names) + 0.4, 6.6), layout="constrained")
        panels = figure.subplots(2, len(names), squeeze=False, sharey="row")
        for k, name in enumerate(names):
            above, below = panels[0, k], panels[1, k]
            for relation, style in STYLES.items():
                offsets = plan.offsets
                line(above, offsets, [off(plan, found, name, relation, offset) for offset in offsets], style)
            for how, style in METHODS.items():
                line(below, plan.tenths, [mislabelled(plan, found, name, tenths, how) for tenths in plan.tenths], style)
            above.set_title(name)
            above.set_xlabel("too low  ←  every target − true share  →  too high")
            below.set_xlabel("words in ten with the wrong label")
            below.set_xticks(plan.tenths)
        for panel in panels.flat:
            panel.grid(alpha=0.3)
            panel.set_ylim(0.15, 0.95)
        panels[0, 0].set_ylabel("macro-F1, test part")
        panels[1, 0].set_ylabel("macro-F1, test part")
        panels[0, 0].legend(fontsize=8, loc="lower left")
        panels[1, 0].legend(fontsize=8, loc="lower left")
        figure.suptitle(TITLE)
        figure.savefig(path, dpi=120, metadata={"Software": None})

    return draw


TITLE = "Say rather too much than too little, and say it softly: what wrong constraints cost"


def line(panel: Any, x: Sequence[float], values: Sequence[list[float]], style: tuple[str, str, str]) -> None:
    """Means, and standard errors where there are several splits."""
    title, color, dashes = style
    mean = np.array([np.mean(found) for found in values])
    panel.plot(x, mean, dashes, color=color, label=title, marker=".")
    if len(values[0]) > 1:
        spread = np.array([error(found) for found in values])
        panel.fill_between(x, mean - spread, mean + spread, color=color, alpha=0.2, linewidth=0)
