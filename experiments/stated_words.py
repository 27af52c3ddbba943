"""Labelled words on one split of a collection, as matrices: words are counted once, and then fitted to many statements.

The oracle who labels words sees the labels of the side that is learned from, and nothing of the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from benchmarks.labelled_words import DEFAULT_WORDS, WORDS_A_LABEL, oracle_constraints

from experiments.development import TARGET, Features, Split, features
from experiments.rivals.cells import judge, some_labels, split_of
from tiltfit import Constraint, TiltClassifier, expect, feature
from tiltfit.language.expect import Expectation
from tiltfit.language.texts import Word

MOST = 50
"""The number of ranked words per label."""


@dataclass(frozen=True)
class StatedWord:
    """``share``: that of the label among the documents with the word, as it is."""

    word: str
    label: str
    share: float

    @property
    def expected(self) -> Expectation:
        """A constraint, but for its relation."""
        return expect(self.label, given=feature(self.word))


@dataclass(frozen=True, eq=False)
class Scene:
    """``ranked``: the most informative words of each label, best first."""

    split: Split
    found: Features
    ranked: tuple[StatedWord, ...]

    def words(self, per_label: int) -> list[StatedWord]:
        """So many words of each label."""
        return [word for label in self.split.classes for word in self._of(label)[:per_label]]

    @property
    def usual(self) -> list[StatedWord]:
        """As many as in the benchmarks."""
        return self.words(WORDS_A_LABEL.get(self.split.name, DEFAULT_WORDS))

    def classifier(self, constraints: Sequence[Constraint], method: str = "ap") -> TiltClassifier:
        names = self.found.words
        return TiltClassifier(constraints, classes=self.split.classes, feature_names=names, method=method, n_jobs=1)

    def measure(
        self, constraints: Sequence[Constraint], method: str = "ap", labels: str = "none", seed: int = 0
    ) -> dict[str, Any]:
        """Fit, and judge on the other side. ``labels``: "none", "all", or how many of each class."""
        y = some_labels(self.split.labels, labels, seed)
        return judge(self.classifier(constraints, method), self.found.train, y, self.split, self.found.judged)

    def _of(self, label: str) -> list[StatedWord]:
        return [word for word in self.ranked if word.label == label]


def usually(words: Sequence[StatedWord]) -> list[Constraint]:
    """Each word at 0.9, as in the paper."""
    return [word.expected.about(TARGET) for word in words]


@lru_cache(maxsize=1)
def scene(name: str, seed: int) -> Scene:
    """The benchmark's split (of collections without one: of this seed), tf-idf."""
    split = split_of(name, seed)
    found = features(split, "tfidf")
    column = {word: j for j, word in enumerate(found.words)}
    present = found.train.tocsc()
    ranked = []
    for constraint in oracle_constraints(list(split.texts), split.labels, MOST, TARGET):
        assert isinstance(constraint.given, Word)
        word, (label,) = constraint.given.text, constraint.event.names
        j = column[word]
        rows = present.indices[present.indptr[j] : present.indptr[j + 1]]
        ranked.append(StatedWord(word, str(label), float(np.mean(split.labels[rows] == label))))
    return Scene(split, found, tuple(ranked))
