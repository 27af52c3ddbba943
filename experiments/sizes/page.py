"""What is measured, and docs/sizes.md."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from benchmarks.page import table

from experiments.command import Finished
from experiments.defaults.tasks import QUICK_TASKS, SIZES, TASKS, Task
from experiments.development import TICKETS
from experiments.sizes.cells import CORA, REFERENCES, Counted, Labelled
from tiltfit.projections.components import REFERENCE

MOST_CHANGED, MOST_LOST = 0.01, 0.005
"""Of the predictions; of the score, by statements, on average over the data at any number of labels."""

HOW = f"""\
Training and development parts only, default settings, the tasks of [the defaults](defaults.md) (first run). Unlabelled
documents, or tokens, count together as {REFERENCE:,.0f}, however many they are
([how](mathematics.md#the-objective-eq-6)).

**Not measured again since**: in these figures documents that no statement touches counted as well, and unlabelled data
counted as {REFERENCE:,.0f} beside labels, too, where they now weigh as much as labelled ones.
"""
SIZES_TOLD = """\
## Sizes

A tenth of the documents or sequences to learn from, and all of them. *Changed*: the share of predictions that are
others when every instance without a label has weight ten (must be below 1%).
"""
LABELS_TOLD = """\
## Labels and statements

Scores with labels alone, and with statements as well. Tickets (1,600) and references (300) are generated, macro-F1 and
token accuracy, {seeds} seeds that the demo does not use; Cora: N labelled citations, {subsets} subsets, the words of
Table 2, development part. Statements must not cost more than 0.5 points on average at any number of labels.
"""


@dataclass(frozen=True)
class Plan:
    """``labels``: of each data, the numbers of labels and of seeds."""

    tasks: tuple[Task, ...] = TASKS
    labels: tuple[tuple[str, tuple[int, ...], int], ...] = (
        (TICKETS, (0, 20, 50, 100, 200), 3),
        (REFERENCES, (0, 5, 20, 50, 100), 3),
        (CORA, (5, 20, 300), 3),
    )

    def counted(self) -> list[Counted]:
        return [Counted(task, size) for task in self.tasks for size in SIZES]

    def labelled(self, data: str, n: int) -> list[Labelled]:
        seeds = next(seeds for name, _, seeds in self.labels if name == data)
        return [Labelled(data, n, seed) for seed in range(1 if (data, n) == (CORA, 300) else seeds)]

    def cells(self) -> list[Any]:
        return [*self.counted(), *(cell for data, ns, _ in self.labels for n in ns for cell in self.labelled(data, n))]


FULL = Plan()
QUICK = Plan(QUICK_TASKS, ((TICKETS, (0, 20), 1), (REFERENCES, (5,), 1)))


def page(plan: Plan, found: Finished) -> str:
    seeds, subsets = plan.labels[0][2], plan.labels[-1][2]
    told = LABELS_TOLD.format(seeds=seeds, subsets=subsets)
    sections = [HOW, SIZES_TOLD, sizes(plan, found), told, labels(plan, found), conclusion(plan, found)]
    return "\n\n".join(section.strip() for section in sections) + "\n"


def sizes(plan: Plan, found: Finished) -> str:
    rows = []
    for task in plan.tasks:
        row = [task.name]
        for size in SIZES:
            figures = found[Counted(task, size).key]
            row += [f"{figures['n']:,}", f"{figures['score']:.3f}", f"{figures['calibration']:.3f}"]
            row += [f"{100 * figures['changed']:.2f}%"]
        rows.append(row)
    head = [f"{name}{size}" for size in SIZES for name in ("", "score, ", "calibration, ", "changed, ")]
    return table(["task", *head], rows)


def labels(plan: Plan, found: Finished) -> str:
    rows = []
    for data, ns, _ in plan.labels:
        for n in ns:
            alone, both = means(found, plan.labelled(data, n))
            gain = "" if alone is None else f"{100 * (both - alone):+.1f}"
            rows.append([data, str(n), "" if alone is None else f"{alone:.3f}", f"{both:.3f}", gain])
    return table(["data", "labels", "labels alone", "and statements", "gain"], rows)


def means(found: Finished, cells: Sequence[Labelled]) -> tuple[float | None, float]:
    """The mean scores of labels alone (None without a label), and with statements."""
    alone = [found[cell.key]["labels"] for cell in cells]
    return None if None in alone else fmean(alone), fmean(found[cell.key]["both"] for cell in cells)


def gains(plan: Plan, found: Finished) -> dict[tuple[str, int], float]:
    """What statements add to labels, by data and number of labels."""
    told = {}
    for data, ns, _ in plan.labels:
        for n in ns:
            alone, both = means(found, plan.labelled(data, n))
            if alone is not None:
                told[data, n] = both - alone
    return told


def conclusion(plan: Plan, found: Finished) -> str:
    """The largest change, and where statements gain least."""
    whole = [cell for cell in plan.counted() if cell.size == SIZES[-1]]
    most = max(whole, key=lambda cell: float(found[cell.key]["changed"]))
    by_place = gains(plan, found)
    least = min(by_place, key=lambda place: by_place[place])
    return (
        f"The largest change with all data is {100 * found[most.key]['changed']:.2f}% ({most.task.name}). Statements "
        f"gain least with {least[1]} labels on {least[0]}: {100 * by_place[least]:+.1f} points."
    )


def summary(plan: Plan, found: Finished) -> dict[str, Any]:
    """The largest change, and the smallest gain of statements."""
    whole = [found[cell.key]["changed"] for cell in plan.counted() if cell.size == SIZES[-1]]
    return {"changed": max(whole), "gain": min(gains(plan, found).values())}


def missed(plan: Plan, found: Finished) -> list[str]:
    """What must hold and does not."""
    whole = [cell for cell in plan.counted() if cell.size == SIZES[-1]]
    changed = [cell.task.name for cell in whole if found[cell.key]["changed"] >= MOST_CHANGED]
    lost = [f"{data}, {n} labels" for (data, n), gain in gains(plan, found).items() if gain < -MOST_LOST]
    return [*(f"predictions change: {name}" for name in changed), *(f"statements cost: {where}" for where in lost)]
