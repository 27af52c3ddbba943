"""The loss of each collection with another β."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from statistics import fmean

from experiments.command import Finished
from experiments.defaults.cells import Cell, Scores
from experiments.defaults.plan import CHOSEN, Plan
from experiments.development import TICKETS


def losses(plan: Plan, scores: Scores) -> dict[str, dict[float, float]]:
    """For each collection: β → macro-F1 behind that of its best β, scale and length as chosen."""
    settings = [s for s in plan.sized if s.scale == CHOSEN.scale]
    collections = plan.seeds | ({TICKETS: plan.tickets["all"]} if "all" in plan.tickets else {})
    found = {
        name: {s.beta: fmean(scores[Cell(name, seed, s)].macro_f1 for seed in range(n)) for s in settings}
        for name, n in collections.items()
    }
    return {name: {beta: max(row.values()) - f1 for beta, f1 in row.items()} for name, row in found.items()}


def plot(plan: Plan) -> Callable[[Finished, Path], None]:
    def draw(found: Finished, path: Path) -> None:
        from matplotlib.figure import Figure
        from matplotlib.ticker import NullLocator

        rows = losses(plan, Scores(found))
        figure = Figure(figsize=(7.6, 4.2), layout="constrained")
        panel = figure.subplots()
        for k, (name, row) in enumerate(rows.items()):
            style = "--" if name == TICKETS else "-"
            panel.plot(list(row), [-loss for loss in row.values()], f"C{k}{style}", marker="o", label=name)
        betas = list(next(iter(rows.values())))
        panel.axvline(CHOSEN.beta, color="0.5", linestyle=":")
        panel.set_xscale("log")
        panel.set_xticks(betas, [f"{beta:g}" for beta in betas])
        panel.xaxis.set_minor_locator(NullLocator())
        panel.legend(frameon=False, fontsize=9, loc="lower left")
        panel.set_xlabel(f"β: softer constraints to the right (dotted: the default, {CHOSEN.beta:g})")
        panel.set_ylabel("macro-F1 against the best β")
        panel.grid(alpha=0.3)
        figure.suptitle("No β is best everywhere; the default loses little anywhere")
        figure.savefig(path, dpi=120, metadata={"Software": None})

    return draw
