"""Labelled words with targets that are off, and words with the wrong label. Nothing is chosen: defaults, test parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from experiments.command import Cell, Finished
from experiments.development import TARGET
from experiments.stated_words import Scene, StatedWord, scene, usually
from tiltfit import Constraint

OFFSETS = (-0.4, -0.3, -0.2, -0.1, 0.0, 0.1, 0.2, 0.3, 0.4)
LEAST, MOST = 0.01, 0.99
"""Targets are cut here: a hard 0 or 1 would be a rule for every document, and no expectation."""

WIDTH, SLACK = 0.1, 0.05
"""Of intervals, to either side; of soft edges: the default β of ``about``."""

ABOUT, BETWEEN, AT_LEAST = "about", "between", "at least"
SOFT_BETWEEN, SOFT_AT_LEAST = "between, slack", "at least, slack"


def _cut(target: float) -> float:
    return min(MOST, max(LEAST, target))


RELATIONS: dict[str, Callable[[StatedWord, float], Constraint]] = {
    ABOUT: lambda w, u: w.expected.about(_cut(u)),
    SOFT_AT_LEAST: lambda w, u: w.expected.at_least(_cut(u), slack=SLACK),
    SOFT_BETWEEN: lambda w, u: w.expected.between(_cut(u - WIDTH), _cut(u + WIDTH), slack=SLACK),
    AT_LEAST: lambda w, u: w.expected.at_least(_cut(u)),
    BETWEEN: lambda w, u: w.expected.between(_cut(u - WIDTH), _cut(u + WIDTH)),
}
"""From a word and a target u."""

VOTE, LABEL_MODEL = "vote", "label_model"
METHODS = (VOTE, LABEL_MODEL)
HOWS = (ABOUT, SOFT_AT_LEAST, AT_LEAST, *METHODS)
"""The relation for words with the wrong label; each word at 0.9."""

TENTHS = (0, 1, 2, 3)


@dataclass(frozen=True)
class Off:
    """Each word's target is its true share and ``offset``, all alike."""

    collection: str
    seed: int
    relation: str
    offset: float

    @property
    def key(self) -> str:
        return f"{self.collection} | test {self.seed} | {self.relation} true {self.offset:+g}"

    def measure(self) -> dict[str, Any]:
        found, state = scene(self.collection, self.seed), RELATIONS[self.relation]
        return found.measure([state(word, word.share + self.offset) for word in found.usual])


@dataclass(frozen=True)
class Mislabelled:
    """``tenths`` of ten words have another label than their own. ``how``: a relation (of alternating projections, at
    0.9) or another method."""

    collection: str
    seed: int
    tenths: int
    how: str

    @property
    def key(self) -> str:
        return f"{self.collection} | test {self.seed} | {self.tenths} in ten mislabelled, {self.how}"

    def measure(self) -> dict[str, Any]:
        found = scene(self.collection, self.seed)
        words = mislabel(found, self.tenths, self.seed)
        if self.how in METHODS:
            return found.measure(usually(words), self.how)
        return found.measure([RELATIONS[self.how](word, TARGET) for word in words])


def mislabel(found: Scene, tenths: int, seed: int) -> list[StatedWord]:
    """The usual words, so many of ten (at random) with another label (at random). More of them keep those of fewer."""
    words, rng = found.usual, np.random.default_rng(seed)
    order, draws = rng.permutation(len(words)), rng.random(len(words))
    for k in order[: round(len(words) * tenths / 10)]:
        others = [label for label in found.split.classes if label != words[k].label]
        words[k] = replace(words[k], label=others[int(draws[k] * len(others))])
    return words


@dataclass(frozen=True)
class Plan:
    """``seeds``: how many splits of each collection; ``offsets``: how far targets are off; ``tenths``: how many of
    ten words have the wrong label."""

    seeds: dict[str, int]
    offsets: tuple[float, ...] = OFFSETS
    tenths: tuple[int, ...] = TENTHS

    def cells(self, _: Finished) -> Sequence[Cell]:
        """Those of one split in a row, so that its words are counted once."""
        found: list[Cell] = []
        for name, n in self.seeds.items():
            for seed in range(n):
                found += [Off(name, seed, r, offset) for r in RELATIONS for offset in self.offsets]
                found += [Mislabelled(name, seed, k, how) for k in self.tenths for how in HOWS]
        return found
