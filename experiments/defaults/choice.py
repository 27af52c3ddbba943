"""The criterion of ``plan``, on finished cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from experiments.command import Finished
from experiments.defaults.cells import Cell
from experiments.defaults.settings import Setting
from experiments.defaults.tasks import SIZES, TIMES_TEN, Task

LISTED, LISTED_OF_KIND = 4, 2
"""The length of the shortlist, over all tasks and over those of a kind."""
MOST_CHANGED = 0.01
TIE = 0.005
PAIR = 0.01
"""How far the common setting may be behind the best pair."""


def figure(found: Finished, task: Task, setting: Setting, name: str = "score", sizes: Sequence[str] = SIZES) -> float:
    """The mean of a figure over runs and sizes."""
    settled = setting.on(sequences=task.sequences)
    return fmean(found[Cell(task, run, size, settled).key][name] for size in sizes for run in range(task.runs))


def changed(found: Finished, task: Task, setting: Setting) -> float:
    """The share of predictions that change when every instance counts ten times."""
    return float(found[Cell(task, 0, TIMES_TEN, setting.on(sequences=task.sequences)).key]["changed"])


def losses(found: Finished, tasks: Sequence[Task], settings: Sequence[Setting]) -> dict[Setting, dict[Task, float]]:
    """The distance of each setting to the best of them, by task."""
    scores = {s: {task: figure(found, task, s) for task in tasks} for s in settings}
    best = {task: max(scores[s][task] for s in settings) for task in tasks}
    return {s: {task: best[task] - scores[s][task] for task in tasks} for s in settings}


def shortlist(found: Finished, tasks: Sequence[Task], settings: Sequence[Setting]) -> list[Setting]:
    """The settings with the smallest mean losses: over all tasks, over documents, and over sequences."""
    behind = losses(found, tasks, settings)

    def best(n: int, tasks: Sequence[Task]) -> list[Setting]:
        return sorted(settings, key=lambda s: fmean(behind[s][task] for task in tasks))[:n] if tasks else []

    kinds = [best(LISTED_OF_KIND, [task for task in tasks if task.sequences is kind]) for kind in (False, True)]
    return list(dict.fromkeys([*best(LISTED, tasks), *kinds[0], *kinds[1]]))


@dataclass(frozen=True)
class Summary:
    """A setting over tasks: means, and the largest loss and change with their tasks."""

    setting: Setting
    losses: dict[Task, float]
    changes: dict[Task, float]
    met: float
    calibration: float
    rounds: float
    seconds: float

    @property
    def loss(self) -> float:
        return fmean(self.losses.values())

    @property
    def worst(self) -> Task:
        return max(self.losses, key=lambda task: self.losses[task])

    @property
    def changed(self) -> float:
        return max(self.changes.values(), default=0.0)


@dataclass(frozen=True)
class Choice:
    """``summaries``: of the shortlist, the smallest loss first; ``allowed``: the largest change that was let pass;
    ``chosen``: by the criterion; ``regardless``: what it would be if changes did not count."""

    summaries: tuple[Summary, ...]
    allowed: float
    chosen: Summary
    regardless: Summary

    def of(self, setting: Setting) -> Summary:
        return next(s for s in self.summaries if s.setting == setting)


def choose(found: Finished, tasks: Sequence[Task], listed: Sequence[Setting]) -> Choice:
    """The choice among the shortlist by these tasks."""
    behind = losses(found, tasks, listed)

    def mean(setting: Setting, name: str) -> float:
        return fmean(figure(found, task, setting, name) for task in tasks)

    summaries = [
        Summary(
            setting,
            behind[setting],
            {task: changed(found, task, setting) for task in tasks if not task.labelled},
            *(mean(setting, name) for name in ("met", "calibration", "rounds", "seconds")),
        )
        for setting in listed
    ]
    summaries.sort(key=lambda s: s.loss)
    smallest = min(s.changed for s in summaries)
    allowed = MOST_CHANGED if smallest <= MOST_CHANGED else smallest + TIE
    passing = [s for s in summaries if s.changed <= allowed]
    return Choice(tuple(summaries), allowed, _best(passing), _best(summaries))


def _best(summaries: Sequence[Summary]) -> Summary:
    """The smallest loss; of those within half a point of it, the one that meets most."""
    tied = [s for s in summaries if s.loss <= min(other.loss for other in summaries) + TIE]
    return min(tied, key=lambda s: (-round(s.met, 2), s.calibration))


@dataclass(frozen=True)
class Verdict:
    """The best common setting, the best of each kind, and by how much the pair is ahead of the common one."""

    common: Choice
    documents: Choice
    sequences: Choice
    ahead: float

    @property
    def is_pair(self) -> bool:
        return self.ahead > PAIR

    def setting(self, *, sequences: bool) -> Setting:
        """The chosen setting of a kind."""
        if not self.is_pair:
            return self.common.chosen.setting
        return (self.sequences if sequences else self.documents).chosen.setting


def verdict(found: Finished, tasks: Sequence[Task], listed: Sequence[Setting]) -> Verdict:
    """The criterion."""
    kinds = [[task for task in tasks if task.sequences is kind] for kind in (False, True)]
    common, documents, sequences = (choose(found, some, listed) for some in (tasks, *kinds))
    pair = [*documents.chosen.losses.values(), *sequences.chosen.losses.values()]
    return Verdict(common, documents, sequences, common.chosen.loss - fmean(pair))
