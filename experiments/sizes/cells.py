"""One fit with default settings on development data: at a size, counted ten times, or with some labels."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from benchmarks.citations import LABELS, citations, few_labelled, lexicons, table_2

from experiments.defaults.cells import fitted, flat
from experiments.defaults.tasks import WHOLE, Job, Task, macro_f1, some, token_accuracy
from experiments.development import TICKETS, development_split
from tiltfit import ConstraintSet, TiltClassifier, TiltTagger
from tiltfit.demo import citations as references

TIMES = 10.0


def estimator(job: Job, *, stated: bool = True) -> TiltClassifier | TiltTagger:
    """The one with default settings. ``stated``: with the statements, not from the labels alone."""
    kind = TiltTagger if job.sequences else TiltClassifier
    return kind(list(job.constraints) if stated else (), classes=list(job.classes), n_jobs=1, **job.options)


@dataclass(frozen=True)
class Counted:
    """A task at a size, and with every instance without a label counted ten times."""

    task: Task
    size: str

    @property
    def key(self) -> str:
        return f"{self.task.name} | {self.size}"

    def measure(self) -> dict[str, Any]:
        """``score``, ``calibration`` error and ``n``; ``changed``: the share of predictions that are others when all is
        counted ten times, with ``counted``, their score."""
        job = self.task.job(0, self.size)
        once, often = (fitted(job, estimator(job), weight) for weight in (None, TIMES))
        kept = {name: once.figures[name] for name in ("score", "calibration", "met", "n")}
        changed = float(np.mean(flat(once.predicted) != flat(often.predicted)))
        return {**kept, "changed": changed, "counted": often.figures["score"]}


@dataclass(frozen=True)
class Labelled:
    """``n`` labels beside the statements, and the labels alone. ``data``: tickets, references or citations."""

    data: str
    n: int
    seed: int

    @property
    def key(self) -> str:
        return f"{self.data} | {self.n} labels | seed {self.seed}"

    def measure(self) -> dict[str, Any]:
        """``both``: the score with labels and statements; ``labels``: with labels alone (None without a label)."""
        job = DATA[self.data](self.n, self.seed)
        return {"both": _score(job), "labels": _score(job, stated=False) if self.n else None}


def _score(job: Job, *, stated: bool = True) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # statements that are not quite met: part of what is measured
        found = estimator(job, stated=stated).fit(job.X, job.y)
    return float(job.score(job.truth, found.predict(job.judged)))


def tickets(n: int, seed: int) -> Job:
    """The demo's generator and statements; its seed is left out. The first ``n`` texts have labels."""
    split = development_split(TICKETS, seed)
    y = [str(label) if i < n else None for i, label in enumerate(split.labels)]
    judged, truth = list(split.judged_texts), split.judged_labels
    return Job(list(split.texts), judged, truth, split.constraints, split.classes, macro_f1, y=y)


N_REFERENCES, N_JUDGED = 300, 100


def generated_references(n: int, seed: int) -> Job:
    """The same of the demo's references."""
    train, test = references.split(N_REFERENCES, N_JUDGED, seed=seed + 1)
    X, judged = ([list(r.tokens) for r in part] for part in (train, test))
    y = [list(r.labels) if i < n else None for i, r in enumerate(train)]
    stated = list(ConstraintSet.of(references.CONSTRAINTS))
    truth = [list(r.labels) for r in test]
    return Job(X, judged, truth, stated, references.LABELS, token_accuracy, sequences=True, y=y)


def cora(n: int, seed: int) -> Job:
    """Development citations and the words of Table 2, as Table 3 has them; ``seed``: the subset with labels."""
    dev = citations("dev")
    X, y = few_labelled(n, seed)
    more = [list(dev.tokens[i]) for i in some(len(dev.tokens), WHOLE, 0)]
    return Job(
        [list(row) for row in X] + more, more, list(dev.y or []), table_2(), LABELS, token_accuracy, sequences=True,
        y=[*y, *[None] * len(more)], options={"features": {"lexicons": lexicons()}},
    )  # fmt: skip


REFERENCES, CORA = "references", "Cora"
DATA = {TICKETS: tickets, REFERENCES: generated_references, CORA: cora}
