"""One fit, and how sure it is of what it predicts. Nothing is chosen: defaults, test parts."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from experiments.command import Cell, Finished
from experiments.development import Split
from experiments.stated_words import scene, usually
from tiltfit.arrays import FloatArray
from tiltfit.comparison.figures import Truth, figures, gather
from tiltfit.report.reliability import BINS, bins

AP, TRUE_SHARES, GE, VOTE, LABEL_MODEL, SUPERVISED = "ap", "ap, true shares", "ge", "vote", "label_model", "supervised"
WAYS = (AP, TRUE_SHARES, GE, VOTE, LABEL_MODEL, SUPERVISED)
PROJECTED = (AP, TRUE_SHARES, GE)
"""Methods of which q is also evaluated: those that aim at the constraints."""

MODEL, TILTED = "p", "q"


@dataclass(frozen=True)
class Believed:
    """A method on one split: p, and q where it makes sense (projected onto the constraints on the test part)."""

    collection: str
    seed: int
    way: str

    @property
    def key(self) -> str:
        return f"{self.collection} | test {self.seed} | {self.way}"

    def measure(self) -> dict[str, Any]:
        found = scene(self.collection, self.seed)
        words = found.usual
        constraints = usually(words)
        if self.way == TRUE_SHARES:
            constraints = [word.expected.about(word.share) for word in words]
        supervised = self.way == SUPERVISED
        method = AP if self.way == TRUE_SHARES else self.way
        classifier = found.classifier(() if supervised else constraints, method)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # words that no test text has
            classifier.fit(found.found.train, found.split.labels if supervised else None)
            measured = {MODEL: reliability(found.split, classifier.predict_proba(found.found.judged))}
            if self.way in PROJECTED:
                measured[TILTED] = reliability(found.split, classifier.project(found.found.judged))
        return measured


def reliability(split: Split, proba: FloatArray) -> dict[str, Any]:
    """The figures of ``tiltfit compare``, how sure it is on average; by bin: how sure, how often right, how many."""
    label = np.searchsorted(np.array(split.classes), split.judged_labels)
    predicted = proba.argmax(axis=1)
    truth = Truth(np.arange(len(label)), label, len(label), len(split.classes))
    whole = figures(gather(truth, predicted, proba), np.ones((1, len(label))))
    sure, right = proba.max(axis=1), predicted == label
    bin_ = bins(sure)
    count = np.bincount(bin_, minlength=BINS)
    return {
        **{key: float(value[0]) for key, value in whole.items()},
        "sure": float(sure.mean()),
        "bin_count": count.tolist(),
        "bin_sure": np.bincount(bin_, sure, BINS).tolist(),
        "bin_right": np.bincount(bin_, right, BINS).tolist(),
    }


@dataclass(frozen=True)
class Plan:
    """``seeds``: how many splits of each collection."""

    seeds: dict[str, int]
    ways: tuple[str, ...] = WAYS

    def cells(self, _: Finished) -> Sequence[Cell]:
        return [Believed(name, seed, way) for name, n in self.seeds.items() for seed in range(n) for way in self.ways]
