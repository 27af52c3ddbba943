"""One measurement: a way to learn from rules, on one split. Choices are made by cells that are judged on the
valid part, and never see the test part."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import accuracy_score, f1_score

from experiments.command import Cell, Finished
from experiments.youtube.collection import ABSTAINS, SPAM, Part, Parts, Split, parts
from tiltfit import TiltClassifier

USUAL = "0.9"
TRIED = ("0.6", "0.7", "0.8", USUAL, "0.95")
ESTIMATED, WITH_SPAM, TRUE, NOTHING = "estimated", "estimated, and spam", "true", "nothing"
FROM_RULES = ("ap", "ge", "vote", "label_model")
CHOOSING = ("ap", "ge", "label_model")
"""A vote does not look at the target."""

OWN = Split()


@dataclass(frozen=True)
class Way:
    """``stated``: a target for all rules; ``estimated``: each rule's share on the valid part (``and spam``: that of
    all spam, too); ``true``: on the whole training part, which nobody has. ``labels`` to learn from: none, those of the
    valid part, or all of training."""

    method: str
    stated: str
    labels: str = "none"

    @property
    def key(self) -> str:
        return f"{self.method}, rules {self.stated}, labels {self.labels}"

    def targets(self, found: Parts) -> list[float]:
        if self.stated in (ESTIMATED, WITH_SPAM, TRUE):
            return found.shares(found.train if self.stated == TRUE else found.valid)
        return [float(self.stated)] * len(found.fires)

    def fit(self, found: Parts) -> TiltClassifier:
        spam = float(np.mean(found.valid.labels == SPAM)) if self.stated == WITH_SPAM else None
        constraints = [] if self.stated == NOTHING else found.constraints(self.targets(found), spam)
        texts, y = found.train.texts, np.full(len(found.train.texts), None, dtype=object)
        if self.labels == "all":
            y = found.train.labels.astype(object)
        if self.labels == "valid":
            texts, y = texts + found.valid.texts, np.append(y, found.valid.labels)
        classifier = TiltClassifier(constraints, classes=found.classes, method=self.method, n_jobs=1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # statements that cannot all be met are part of what is measured
            return classifier.fit(list(texts), y if self.labels != "none" else None)


@dataclass(frozen=True)
class Judged:
    """A way on one split, judged on its valid or on its test part."""

    split: Split
    way: Way
    part: str = "test"

    @property
    def key(self) -> str:
        return f"{self.split.name} | {self.part} | {self.way.key}"

    def measure(self) -> dict[str, Any]:
        found = parts(self.split)
        judged: Part = found.valid if self.part == "valid" else found.test
        predicted = self.way.fit(found).predict(list(judged.texts))
        return {
            "accuracy": float(accuracy_score(judged.labels, predicted)),
            "f1": float(f1_score(judged.labels, predicted, pos_label=SPAM)),
        }


@dataclass(frozen=True)
class Rules:
    """The rules: how often each votes, how often it is right, and which pattern votes as it does."""

    @property
    def key(self) -> str:
        return "rules"

    def measure(self) -> dict[str, Any]:
        found = parts(OWN)
        return {
            "label": list(found.elected),
            "votes": [int(np.sum(column != ABSTAINS)) for column in found.train.votes.T],
            "share": found.shares(found.train),
            "estimated": found.shares(found.valid),
            "valid_votes": [int(np.sum(column != ABSTAINS)) for column in found.valid.votes.T],
            "differs": [_differs(found, k, pattern) for k, pattern in enumerate(PATTERNS[: len(found.fires)])],
        }


PATTERNS: tuple[str | None, ...] = (
    "my", "subscribe", "http", "please|plz", "song", "check.*out", r"^\s*(\S+\s+){0,3}\S*\s*$", None, None, None,
)  # fmt: skip
"""Case does not count. The seventh: fewer than five words. The last three are no patterns."""


@dataclass(frozen=True)
class Plan:
    """On which splits, and whether the targets are chosen."""

    splits: tuple[Split, ...]
    tried: tuple[str, ...] = TRIED

    def first(self, _: Finished) -> Sequence[Cell]:
        """On valid parts alone."""
        trials = [
            Judged(split, Way(method, target), "valid")
            for split in self.splits
            for method in CHOOSING
            for target in self.tried
        ]
        return [Rules(), *trials]

    def second(self, found: Finished) -> Sequence[Cell]:
        """On test parts."""
        cells = [Judged(split, way) for split in self.splits for way in FIXED]
        cells += [Judged(split, self.chosen(found, split, method)) for split in self.splits for method in CHOOSING]
        return list({cell.key: cell for cell in cells}.values())

    def chosen(self, found: Finished, split: Split, method: str) -> Way:
        """The target that is best on the valid part; the nearest to the usual one if several are."""

        def goodness(target: str) -> tuple[float, float]:
            cell = found[Judged(split, Way(method, target), "valid").key]
            return cell["accuracy"], -abs(float(target) - float(USUAL))

        return Way(method, max(self.tried, key=goodness))


FIXED = (
    *(Way(method, USUAL) for method in FROM_RULES),
    *(Way(method, ESTIMATED) for method in FROM_RULES),
    *(Way(method, WITH_SPAM) for method in FROM_RULES),
    *(Way(method, TRUE) for method in FROM_RULES),
    *(Way(method, WITH_SPAM, "valid") for method in FROM_RULES),
    Way("supervised", NOTHING, "valid"),
    Way("supervised", NOTHING, "all"),
)
"""Nothing is chosen here."""


def _differs(found: Parts, rule: int, pattern: str | None) -> int | None:
    """On how many comments of all parts the pattern and the rule disagree."""
    if pattern is None:
        return None
    texts = {text for part in (found.train, found.valid, found.test) for text in part.texts}
    return sum((re.search(pattern, text, re.IGNORECASE) is not None) != (text in found.fires[rule]) for text in texts)
