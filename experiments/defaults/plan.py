"""What is tried, and the criterion, which was fixed (this docstring committed) before the grid was run.

**Criterion.** The score of a setting on a task is its mean over runs and over the sizes n/10 and n. Its *loss* there is
its distance, in points, to the best setting of that task. The setting with the smallest mean loss is chosen, each task
counting once.

1. All settings are tried on the tasks that are not large. The *shortlist* is the four settings with the smallest mean
   loss there, the two with the smallest on documents, the two with the smallest on sequences, and the default before.
   Only these are tried on large tasks and counted ten times; losses are then distances to the best of them, on all
   tasks.
2. A setting is out if counting every instance ten times changes more than 1 % of the predictions of any task without
   labels (first run). Should that leave nothing, the limit is half a point above the smallest such change, and the page
   says so.
3. Ties, within half a point of the smallest mean loss, go to the setting that meets more statements within five points
   (in whole per cent, over tasks), then to the one with the smaller mean calibration error.
4. One setting for documents and sequences alike, unless it is more than a point behind the best pair in mean loss; then
   the pair, each chosen as above among the tasks of its kind.

**Settings.** Bounded pulls, P ∈ {3, 10, 30} and T ∈ {0, 3,000, 10,000, 30,000}, with free intercepts for documents and
penalised ones for taggers, as is the default; P = 10 with T ∈ {0, 10,000} also with both free and both penalised.
Squares with penalised intercepts: unit β = 0.05 (the default before), unit β = 0.01 (the paper), support β ∈ {0.1, 1}.

Before this was committed, P = 10 with T = 0 and 10,000 and the default before had been run once on some of the tasks,
to see how long they take. When the documents that are not large were done, and before the grid was tabulated, the rest
was cut to what the machine affords: four runs of Cora instead of six, 100 references once instead of 300 twice, and a
shortlist of four, two and two instead of six, three and three with all squares.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from experiments.command import Finished, Stage
from experiments.defaults.cells import Cell
from experiments.defaults.choice import Verdict, shortlist, verdict
from experiments.defaults.settings import FREE, PENALISED, Bounded, Setting, Square
from experiments.defaults.tasks import QUICK_TASKS, SIZES, TASKS, TIMES_TEN, Task

PULLS, OF_ALL = (3.0, 10.0, 30.0), (0.0, 3_000.0, 10_000.0, 30_000.0)
BOUNDED = tuple(Setting(Bounded(p, t)) for p in PULLS for t in OF_ALL)
INTERCEPTS = tuple(Setting(Bounded(10.0, t), kind) for t in (0.0, 10_000.0) for kind in (FREE, PENALISED))
BEFORE = Setting(Square("unit", 0.05), PENALISED)
SQUARES = (
    BEFORE,
    Setting(Square("unit", 0.01), PENALISED),
    *(Setting(Square("support", beta), PENALISED) for beta in (0.1, 1.0)),
)
SETTINGS = (*BOUNDED, *INTERCEPTS, *SQUARES)


@dataclass(frozen=True)
class Plan:
    tasks: tuple[Task, ...] = TASKS
    settings: tuple[Setting, ...] = SETTINGS
    always: tuple[Setting, ...] = (BEFORE,)
    """On the shortlist in any case."""
    beside: tuple[Setting, ...] = (Setting(Bounded(10.0)),)
    """Measured as the shortlist is, to show what intercepts do there; not to be chosen unless it is on the list."""

    @property
    def stages(self) -> tuple[Stage, ...]:
        return (self.first, self.second)

    def first(self, _: Finished) -> list[Cell]:
        return list(self._cells(self.of(large=False), self.settings, SIZES))

    def second(self, found: Finished) -> list[Cell]:
        listed = list(dict.fromkeys([*self.listed(found), *self.beside]))
        cells = self._cells(self.of(large=True), listed, SIZES)
        unlabelled = [task for task in self.tasks if not task.labelled]
        return [*cells, *self._cells(unlabelled, listed, (TIMES_TEN,), runs=1)]

    def listed(self, found: Finished) -> list[Setting]:
        """The shortlist, in the order of the settings."""
        best = {*shortlist(found, self.of(large=False), self.settings), *self.always}
        return [setting for setting in self.settings if setting in best]

    def verdict(self, found: Finished) -> Verdict:
        """The criterion above."""
        return verdict(found, self.tasks, self.listed(found))

    def of(self, *, large: bool | None = None, sequences: bool | None = None) -> list[Task]:
        """The tasks that are (or are not) large, or of sequences."""
        return [
            task
            for task in self.tasks
            if (large is None or task.large is large) and (sequences is None or task.sequences is sequences)
        ]

    def _cells(
        self, tasks: Sequence[Task], settings: Sequence[Setting], sizes: Sequence[str], runs: int | None = None
    ) -> Iterator[Cell]:
        """Settings innermost: what is learned from is loaded once."""
        seen = set()
        for task in tasks:
            for run in range(task.runs if runs is None else min(runs, task.runs)):
                for size in sizes:
                    for setting in settings:
                        cell = Cell(task, run, size, setting.on(sequences=task.sequences))
                        if cell.key not in seen:  # auto is free or penalised, which may be listed as well
                            yield cell
                        seen.add(cell.key)


FULL = Plan()
QUICK = Plan(
    QUICK_TASKS,
    (Setting(Bounded(10.0)), Setting(Bounded(10.0, 10_000.0)), BEFORE),
    (BEFORE,),
    (),
)
