"""docs/figures/table1.png: one panel per set of words, one line per collection; the paper's figures and ours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from experiments.command import Finished
from experiments.spread import error
from experiments.table1.cells import AP, BASE, GE, OURS, SUPERVISED, VOTE
from experiments.table1.plan import PAPER, Plan, Setting
from experiments.table1.words import INFOGAIN, LDA

TITLES = {INFOGAIN: "Most informative words (infogain)", LDA: "Words of topics (LDA)"}
STYLES = {
    VOTE: ("s", "#999999"),
    BASE: ("v", "#c9a227"),
    GE: ("D", "#3a7d44"),
    AP: ("^", "#6a4c93"),
    OURS: ("o", "#c1121f"),
}
OFFSETS = {VOTE: -0.30, BASE: -0.15, GE: 0.0, AP: 0.15, OURS: 0.32}


def plot(plan: Plan, found: Finished, path: Path) -> bool:
    """False where Matplotlib is not installed."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return False
    sources = [s for s in (INFOGAIN, LDA) if any(source == s for _, source in plan.settings)]
    names = list(dict.fromkeys(name for name, _ in plan.settings))[::-1]
    figure = Figure(figsize=(11.5, 1.6 + 1.25 * len(names)), layout="constrained")
    panels = np.atleast_1d(figure.subplots(1, len(sources), sharey=True, sharex=True))
    for panel, source in zip(panels, sources, strict=True):
        for row, name in enumerate(names):
            _line(panel, plan, found, (name, source), row, labels=row == len(names) - 1)
        panel.set_title(TITLES[source], fontsize=11)
        panel.set_xlabel("macro-F1 on test documents ± standard error")
        panel.grid(axis="x", alpha=0.3)
    panels[0].set_yticks(range(len(names)), names)
    panels[0].set_ylim(-0.6, len(names) - 0.25)
    above = sum(np.mean(plan.values(found, setting, OURS)) > PAPER[setting][AP] for setting in plan.settings)
    figure.suptitle(
        f"From labelled words alone: AP with our defaults is above the paper's AP in {above} of {len(plan.settings)}\n"
        "(filled: ours, hollow: the paper's)",
        fontsize=12.5,
    )
    figure.savefig(path, dpi=130, metadata={"Software": None})
    return True


def _line(panel: Any, plan: Plan, found: Finished, setting: Setting, row: int, *, labels: bool) -> None:
    for method, (marker, colour) in STYLES.items():
        values, y = plan.values(found, setting, method), row + OFFSETS[method]
        centre = float(np.mean(values))
        panel.errorbar([centre], [y], xerr=[error(values)], fmt=marker, color=colour, ms=6, capsize=2)
        if labels:
            left = method == OURS  # all labels are on its right
            reach = [centre - error(values) if left else centre + error(values), PAPER[setting].get(method, centre)]
            at, away = (min(reach), (-8, -3.5)) if left else (max(reach), (8, -3.5))
            side = "right" if left else "left"
            panel.annotate(method, (at, y), away, textcoords="offset points", color=colour, fontsize=8.5, ha=side)
        if method in PAPER[setting]:
            panel.plot([PAPER[setting][method]], [y], marker, mec=colour, mfc="white", ms=6, zorder=1)
    top = float(np.mean(plan.values(found, setting, SUPERVISED)))
    panel.plot([top, top], [row - 0.4, row + 0.4], color="black", lw=1, ls=":")
    if labels:
        panel.annotate("all labels", (top, row + 0.42), ha="center", fontsize=8.5)
