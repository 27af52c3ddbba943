"""docs/believe.md and its figure."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.page import table

from experiments.believe.cells import DEV, RULES, Text
from experiments.believe.plan import FIGURES, Figure, Plan
from experiments.command import Finished

HOW = """\
{part} `TiltClassifier(constraints)` and `TiltTagger(constraints)` as they are, without a label (Cora: N labelled
citations; the demo's tagger: 20), core dependencies only. *Before*: with the defaults until then (`beta=0.05`, a
square). *Must* and *goal* were set before the defaults were changed.
"""
PARTS = {"test": "Test parts;", DEV: "**A quick run, on development parts**:"}

RECIPES = """\
- **Text sets**: rules at 0.9 on youtube (accuracy), sms (F1 of spam) and trec (accuracy), and the most informative
  words at 0.9 on movie, webkb, sector and 20 newsgroups (macro-F1). Calibration error over ten bins of the top
  probability.
- **Entities**: tags of sources at 0.9, O at 0.97 where no source speaks; entity F1.
- **294 words**: the most informative words of 20 newsgroups (official split, bodies), whatever their class; words with
  two or three majority labels are stated as sets. Macro-F1.
- **Five statements**: the most informative word of each label on 500 generated tickets; how far the model is from the
  one that it misses most. (*Before* is of other messages; on these the square missed by 13 points at most.)
- **Table 1** and **Cora** are read from [table1](table1.md) and [table3](table3.md). The cells of the former are older
  than two of the defaults (swallowed classes, sizes), which do nothing where there are labels, as on Cora.
"""


def page(plan: Plan, found: Finished) -> str:
    sections = [HOW.format(part=PARTS[plan.part]), results(plan, found), verdict(plan, found)]
    sections += [
        "![How far each figure is on its way](figures/believe.png)",
        RECIPES,
        "## Text sets",
        texts(plan, found),
    ]
    return "\n\n".join(section.strip() for section in sections) + "\n"


def summary(plan: Plan, found: Finished) -> dict[str, Any]:
    """The figures by title."""
    return {figure.title: value for figure, value in measured(plan, found)}


def measured(plan: Plan, found: Finished) -> list[tuple[Figure, float]]:
    """The figures that the plan has, each with its value."""
    values = [(figure, figure.value(plan, found)) for figure in FIGURES]
    return [(figure, value) for figure, value in values if value is not None]


def results(plan: Plan, found: Finished) -> str:
    rows = []
    for figure, value in measured(plan, found):
        shown = f"{value:.3f}"
        mark = "goal" if figure.reached(value, figure.goal) else "must" if figure.reached(value, figure.must) else "-"
        row = [figure.title, *(f"{limit:.3f}" for limit in (figure.now, figure.must, figure.goal))]
        rows.append([*row, f"**{shown}**" if mark != "-" else shown, mark])
    return table(["", "before", "must", "goal", "measured", "reached"], rows)


def verdict(plan: Plan, found: Finished) -> str:
    """What is reached, and what is not."""
    shown = measured(plan, found)
    musts = [figure for figure, value in shown if figure.reached(value, figure.must)]
    goals = [figure for figure, value in shown if figure.reached(value, figure.goal)]
    worse = [f.title for f, value in shown if not f.reached(value, f.now)]
    text = f"{len(musts)} of {len(shown)} figures are what they must be, {len(goals)} reach their goals."
    return text + (f" Worse than before: {'; '.join(worse)}." if worse else " None is worse than before.")


def missed(plan: Plan, found: Finished) -> list[str]:
    return [
        f"{figure.title}: {value:.3f}, must be {figure.must:.3f}"
        for figure, value in measured(plan, found)
        if not figure.reached(value, figure.must)
    ]


def texts(plan: Plan, found: Finished) -> str:
    rows = []
    for cell in plan.texts:
        figures = found[cell.key]
        row = [f"{_kind(cell)}: {cell.name}", f"{figures['score']:.3f}", f"{figures['calibration']:.3f}"]
        rows.append([*row, f"{figures['seconds']:.1f}"])
    return table(["", "score", "calibration error", "seconds"], rows)


def _kind(cell: Text) -> str:
    return "rules" if cell.name in RULES else "words"


def plot(plan: Plan, found: Finished, path: Path) -> None:
    """Every figure between what it was (0) and its goal (1), with what it must be."""
    from matplotlib.figure import Figure as Canvas

    shown = measured(plan, found)
    canvas = Canvas(figsize=(8.4, 0.36 * len(shown) + 1.4), layout="constrained")
    panel = canvas.subplots()
    for row, (figure, value) in enumerate(shown):
        reached = figure.reached(value, figure.must)
        progress = min(max(figure.progress(value), -0.5), 1.5)
        panel.plot([0, progress], [row, row], color="0.8", linewidth=3, zorder=1)
        panel.plot(progress, row, "o", color="C2" if reached else "C3", zorder=3)
        panel.plot(figure.progress(figure.must), row, "|", color="0.3", markersize=14, zorder=2)
    panel.set_yticks(range(len(shown)), [figure.title for figure, _ in shown], fontsize=8)
    panel.invert_yaxis()
    panel.axvline(0, color="0.6", linestyle=":")
    panel.axvline(1, color="0.6", linestyle=":")
    panel.set_xlim(-0.55, 1.55)
    panel.set_xticks([0, 1], ["before", "goal"])
    canvas.suptitle("What the defaults give (dots), and what they must (bars)", fontsize=11)
    canvas.savefig(path, dpi=120, metadata={"Software": None})
