"""One fit: so many labelled words, so many labels. Nothing is chosen: defaults, test parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from experiments.command import Cell, Finished
from experiments.stated_words import scene, usually

WORDS = (1, 2, 5, 10, 20, 50)
LABELS = (1, 2, 5, 10, 20, 50, 100)
FURTHER = 200
"""For labels alone, to see where they reach what the words give."""

METHODS = ("ap", "vote")


@dataclass(frozen=True)
class Words:
    """So many words of each label, at 0.9; nothing labelled."""

    collection: str
    seed: int
    per_label: int
    method: str

    @property
    def key(self) -> str:
        return f"{self.collection} | test {self.seed} | {self.per_label} words a label, {self.method}"

    def measure(self) -> dict[str, Any]:
        found = scene(self.collection, self.seed)
        return found.measure(usually(found.words(self.per_label)), self.method)


@dataclass(frozen=True)
class Labels:
    """So many labels of each class (drawn at random, more of them keep those of fewer; or "all"), with the usual words
    at 0.9 or without any. Without constraints alternating projections are supervised learning: q = p everywhere."""

    collection: str
    seed: int
    n: str
    told: bool

    @property
    def key(self) -> str:
        words = "and the usual words" if self.told else "alone"
        return f"{self.collection} | test {self.seed} | {self.n} labels a class {words}"

    def measure(self) -> dict[str, Any]:
        found = scene(self.collection, self.seed)
        labels = "none" if self.n == "0" else self.n
        if self.told:
            return found.measure(usually(found.usual), "ap", labels, self.seed)
        return found.measure([], "supervised", labels, self.seed)


@dataclass(frozen=True)
class Curves:
    """Of one collection: how many splits, and which points."""

    seeds: int
    words: tuple[int, ...] = WORDS
    told: tuple[int, ...] = LABELS
    alone: tuple[int, ...] = (*LABELS, FURTHER)


@dataclass(frozen=True)
class Plan:
    curves: dict[str, Curves] = field(default_factory=dict)

    def cells(self, _: Finished) -> Sequence[Cell]:
        """Those of one split in a row, so that its words are counted once."""
        found: list[Cell] = []
        for name, c in self.curves.items():
            for seed in range(c.seeds):
                found += [Words(name, seed, n, method) for n in c.words for method in METHODS]
                found += [Labels(name, seed, str(n), True) for n in (0, *c.told)]
                found += [Labels(name, seed, str(n), False) for n in (*c.alone, "all")]
        return found
