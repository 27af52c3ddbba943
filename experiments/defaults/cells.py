"""One cell of a table: a setting, learned on one split, judged by macro-F1."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from sklearn.metrics import f1_score

from experiments.command import Finished
from experiments.development import TICKETS, Split, development_split, features
from tiltfit import Constraint, TiltClassifier
from tiltfit.data.inputs import TextInputs
from tiltfit.methods.votes import majority_vote

# Alternation can need hundreds of rounds (EM's rate); where it does, its answer after these is what a user would see.
ROUNDS = {"joint": 500, "alternating": 60}


@dataclass(frozen=True)
class Setting:
    """The options that vary. ``length`` is None where documents keep the length their weighting gives them."""

    scale: str = "unit"
    beta: float = 0.01
    alpha: float = 1.0
    weighting: str = "tfidf"
    length: float | None = 10.0
    solver: str = "joint"
    tol: float = 1e-3
    true_targets: bool = False

    def __str__(self) -> str:
        text = f"{self.scale} β={self.beta:g}, α={self.alpha:g}, {self.vectorizer}, {self.solver}, tol={self.tol:g}"
        return text + (", true targets" if self.true_targets else "")

    @property
    def vectorizer(self) -> str:
        name = {"log": "log counts"}.get(self.weighting, self.weighting)
        return name if self.length is None else f"{name} to length {self.length:g}"


@dataclass(frozen=True)
class Cell:
    """The place where a setting (or a reference method) is tried."""

    collection: str
    seed: int
    method: Setting | str
    size: str = "all"

    @property
    def key(self) -> str:
        return f"{self.collection} | {self.seed} | {self.size} | {self.method}"

    def measure(self) -> dict[str, Any]:
        """Learn without a label (except ``all labels``), judge on the other side of the development split."""
        split = development_split(self.collection, self.seed, self.size)
        if isinstance(self.method, Setting):
            return asdict(_constrained(split, self.method))
        return asdict(REFERENCES[self.method](split))


@dataclass(frozen=True)
class Score:
    """``constraints``: how many act; ``seconds``: processor time of ``fit``; ``missed``: how far q stays from the
    targets, on average."""

    macro_f1: float
    documents: int
    constraints: int
    seconds: float
    rounds: int
    converged: bool
    missed: float = 0.0


class Scores:
    """Finished scores by cell."""

    def __init__(self, found: Finished) -> None:
        self._found = found

    def __getitem__(self, cell: Cell) -> Score:
        return Score(**self._found[cell.key])


def _constrained(split: Split, setting: Setting) -> Score:
    if split.name == TICKETS:  # its conditions look at the texts: patterns, phrases, any of several words
        classifier = _classifier(split.constraints, split, setting, None)
        return _judge(classifier, split, list(split.texts), None, list(split.judged_texts), len(split.constraints))
    data = features(split, setting.weighting, setting.length)
    constraints = data.constraints(split, true_targets=setting.true_targets)
    classifier = _classifier(constraints, split, setting, data.words)
    return _judge(classifier, split, data.train, None, data.judged, len(constraints))


def _classifier(
    constraints: Sequence[Constraint], split: Split, setting: Setting, names: Sequence[str] | None
) -> TiltClassifier:
    return TiltClassifier(
        constraints,
        classes=split.classes,
        feature_names=names,
        solver=setting.solver,
        scale=setting.scale,
        alpha=setting.alpha,
        beta=setting.beta,
        max_iter=ROUNDS[setting.solver],
        tol=setting.tol,
        n_jobs=1,
    )


def _voted(split: Split) -> Score:
    """Logistic regression (the supervised classifier) on the texts that a majority vote labels."""
    data = features(split, "tfidf", None)
    votes = majority_vote(split.constraints, TextInputs(split.texts), split.classes)
    labels = np.array(split.classes)[votes.winner[votes.decided]]
    classifier = TiltClassifier(classes=split.classes, n_jobs=1)
    return _judge(classifier, split, data.train[votes.decided], labels, data.judged, len(split.constraints))


def _supervised(split: Split) -> Score:
    data = features(split, "tfidf", None)
    return _judge(
        TiltClassifier(classes=split.classes, n_jobs=1), split, data.train, split.labels, data.judged, constraints=0
    )


REFERENCES: dict[str, Callable[[Split], Score]] = {
    "majority vote, then regression": _voted,
    "all labels": _supervised,
}


def _judge(classifier: TiltClassifier, split: Split, X: object, y: object, judged: object, constraints: int) -> Score:
    started = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # constraints not met, rounds used up: part of what is measured
        classifier.fit(X, y, sample_weight=None if split.times == 1 else np.full(len(split.texts), float(split.times)))
    seconds = time.process_time() - started
    f1 = f1_score(split.judged_labels, classifier.predict(judged), average="macro")
    missed = [entry.violation for entry in classifier.constraint_report_]
    return Score(
        macro_f1=float(f1),
        documents=len(split.texts) * split.times,
        constraints=constraints,
        seconds=seconds,
        rounds=classifier.n_iter_,
        converged=bool(classifier.converged_),
        missed=float(np.mean(missed)) if missed else 0.0,
    )
