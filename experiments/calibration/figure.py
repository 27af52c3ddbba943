"""Reliability diagrams: how often right by how sure, a panel a collection."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from experiments.calibration.cells import AP, LABEL_MODEL, MODEL, SUPERVISED, VOTE, Believed, Plan
from experiments.calibration.page import NAMES, values
from experiments.command import Finished

STYLES = {AP: ("C0", "o-"), VOTE: ("C3", "s--"), LABEL_MODEL: ("C4", "^--"), SUPERVISED: ("0.5", ".-")}


def plot(plan: Plan) -> Callable[[Finished, Path], None]:
    def draw(found: Finished, path: Path) -> None:
        from matplotlib.figure import Figure

        names = list(plan.seeds)
        figure = Figure(figsize=(3.5 * len(names) + 0.4, 4.3), layout="constrained")
        panels = np.atleast_1d(figure.subplots(1, len(names), sharex=True, sharey=True))
        for panel, name in zip(panels, names, strict=True):
            _panel(panel, plan, found, name)
        panels[0].set_ylabel("how often it is right, test part")
        figure.supxlabel("how sure the model is of the label that it predicts (mean of each bin)", fontsize=10)
        figure.suptitle(TITLE)
        figure.savefig(path, dpi=120, metadata={"Software": None})

    return draw


TITLE = "Alternating projections are right more often than they say, votes mostly less often"


def _panel(panel: Any, plan: Plan, found: Finished, name: str) -> None:
    panel.plot([0, 1], [0, 1], color="k", linewidth=0.8)
    for way, (color, style) in STYLES.items():
        if way not in plan.ways:
            continue
        cells = [found[Believed(name, seed, way).key][MODEL] for seed in range(plan.seeds[name])]
        count, sure, right = (
            np.sum([cell[f"bin_{what}"] for cell in cells], axis=0) for what in ("count", "sure", "right")
        )
        some = count > 0
        error = np.mean(values(plan, found, name, way, MODEL, "calibration_error"))
        label = f"{NAMES[way]} (error {error:.2f})"
        panel.plot(sure[some] / count[some], right[some] / count[some], style, color=color, ms=3.5, label=label)
    panel.text(0.03, 0.97, "right more often\nthan it says", va="top", fontsize=8, color="0.4")
    panel.set_xlim(0, 1)
    panel.set_ylim(0, 1)
    panel.set_title(name)
    panel.grid(alpha=0.3)
    panel.legend(fontsize=7.5, loc="lower right", framealpha=0.6)
