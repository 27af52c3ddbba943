"""The mean loss by P and T, for documents and for sequences."""

from __future__ import annotations

from pathlib import Path
from statistics import fmean

from experiments.command import Finished
from experiments.defaults.choice import losses
from experiments.defaults.plan import OF_ALL, PULLS, SQUARES, Plan
from experiments.defaults.settings import Bounded, Setting


def plot(plan: Plan, found: Finished, path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.6, 4.2), layout="constrained")
    panels = figure.subplots(1, 2)
    for panel, (name, kind) in zip(panels, (("documents", False), ("sequences", True)), strict=True):
        tasks = [task for task in plan.of(large=False) if task.sequences is kind]
        behind = {s: 100 * fmean(row.values()) for s, row in losses(found, tasks, plan.settings).items()}
        for k, pull in enumerate(PULLS):
            shown = [(x, Setting(Bounded(pull, t))) for x, t in enumerate(OF_ALL)]
            line = [(x, behind[s]) for x, s in shown if s in behind]
            if line:
                panel.plot(*zip(*line, strict=True), f"C{k}o-", label=f"P = {pull:g}")
        for k, square in enumerate(s for s in SQUARES if s in behind):
            panel.axhline(behind[square], color=f"C{k + 4}", linestyle=":", label=str(square.strength))
        panel.set_xticks(range(len(OF_ALL)), [f"{t:,.0f}" for t in OF_ALL])
        panel.set_ylim(bottom=0)
        panel.set_title(name)
        panel.set_xlabel("T, growth of the pull with the share spoken of")
        panel.grid(alpha=0.3)
    panels[0].set_ylabel("mean loss, points (tasks that are not large)")
    panels[1].legend(frameon=False, fontsize=8)
    figure.suptitle("How far each strength is behind the best one of each task")
    figure.savefig(path, dpi=120, metadata={"Software": None})
