"""One split of a collection and one set of words: every method learns from the same statements, without a label.

``base``           GE on counts of the labelled words alone
``GE``, ``AP``     on counts of content words; α = 1, β = 0.01, constraints alike (``scale="unit"``), as in the paper
``AP, defaults``   what ``TiltClassifier(constraints).fit(texts)`` does: tf-idf of all words, the library's strengths
``vote``           majority vote of the statements, then logistic regression; tf-idf
``supervised``     logistic regression with all labels; tf-idf
"""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.metrics import accuracy_score, f1_score

from experiments.oracle_words import LabelledWord
from experiments.table1.data import Sides, sides
from experiments.table1.words import Amount, candidates, labelled
from tiltfit import TiltClassifier

PAPER_OPTIONS: dict[str, Any] = {"alpha": 1.0, "beta": 0.01, "scale": "unit", "tol": 1e-4}
ROUNDS, FEWER_ROUNDS, LARGE = 200, 100, 5000
"""Long documents make counts hard to fit; what is reached after so many rounds is what is scored. GE and AP have fewer
where there are more than ``LARGE`` documents to learn from: it is there that they cost most."""

BASE, GE, AP, OURS, VOTE, SUPERVISED = "base", "GE", "AP", "AP, defaults", "vote", "supervised"
WORD_OF = {BASE: "ge", GE: "ge", AP: "ap", OURS: "ap", VOTE: "vote", SUPERVISED: "supervised"}
COUNTED = (BASE, GE, AP)


@dataclass(frozen=True)
class Cell:
    """``amounts``: of words; ``development``: on the side to learn from of the split, split again; ``documents``: of so
    many only."""

    collection: str
    seed: int
    source: str
    amounts: tuple[Amount, ...]
    methods: tuple[str, ...]
    development: bool = False
    documents: int | None = None

    @property
    def key(self) -> str:
        part = "development" if self.development else "test"
        some = "" if self.documents is None else f" | {self.documents} documents"
        how = "; ".join(map(str, self.amounts))
        return f"{self.collection}{some} | {part} {self.seed} | {self.source} {how} | {'; '.join(self.methods)}"

    def measure(self) -> dict[str, Any]:
        """By amount: the figures of each method, and how many words there were."""
        found = sides(self.collection, self.seed, development=self.development, documents=self.documents)
        started = time.process_time()
        columns = {str(amount): candidates(found, amount) for amount in self.amounts}
        choosing = time.process_time() - started
        told = {amount: self._told(found, chosen) for amount, chosen in columns.items()}
        return {"documents": len(found.labels), "choosing_seconds": choosing, "amounts": told}

    def _told(self, found: Sides, columns: npt.NDArray[np.intp]) -> dict[str, Any]:
        words = labelled(found, columns)
        return {
            "shown": len(columns),
            "labelled": len(words),
            "constraints": sum(len(word.labels) for word in words),
            "examples": [f"{word.word}: {', '.join(word.labels)}" for word in words[:8]],
            "methods": {method: learn(found, words, method) for method in self.methods},
        }


def learn(found: Sides, words: list[LabelledWord], method: str) -> dict[str, Any]:
    """Fit and score. ``seconds``: processor time of ``fit``."""
    columns = _columns(found, words, method)
    train, judged = (found.train, found.judged) if method in COUNTED else found.tfidf
    classifier = TiltClassifier(
        [] if method == SUPERVISED else [constraint for word in words for constraint in word.each()],
        classes=found.classes,
        feature_names=found.words[columns].tolist(),
        method=WORD_OF[method],
        n_jobs=1,
        **(options(found, method) if method in COUNTED else {}),
    )
    started = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # rounds used up: part of what is measured
        classifier.fit(train[:, columns], found.labels if method == SUPERVISED else None)
    seconds = time.process_time() - started
    predicted = classifier.predict(judged[:, columns])
    return {
        "macro_f1": float(f1_score(found.judged_labels, predicted, average="macro")),
        "accuracy": float(accuracy_score(found.judged_labels, predicted)),
        "seconds": seconds,
        "rounds": int(classifier.n_iter_),
        "converged": bool(classifier.converged_),
    }


def options(found: Sides, method: str) -> dict[str, Any]:
    """Of methods on counts."""
    many = method != BASE and len(found.labels) > LARGE
    return {**PAPER_OPTIONS, "max_iter": FEWER_ROUNDS if many else ROUNDS}


def _columns(found: Sides, words: list[LabelledWord], method: str) -> npt.NDArray[np.intp]:
    """The words that the model sees: the labelled words, content words, or all words."""
    if method == BASE:
        return np.flatnonzero(np.isin(found.words, [word.word for word in words]))
    return found.content if method in COUNTED else np.arange(len(found.words))
