"""Comments, their labels, and the votes of ten rules on them."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from benchmarks.corpora import data_root
from sklearn.model_selection import train_test_split

from tiltfit import Constraint, expect, when
from tiltfit.errors import DataFileError

NAME = "youtube"
SPAM = "1"
ABSTAINS = -1
VALID, TEST = 120, 250
"""The sizes of these parts of the collection's own split; random ones have the same sizes, or nearly."""

Labels = npt.NDArray[np.str_]
Votes = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Part:
    """``votes``: comments × rules."""

    texts: tuple[str, ...]
    labels: Labels
    votes: Votes

    def take(self, rows: npt.NDArray[np.intp]) -> Part:
        return Part(tuple(self.texts[i] for i in rows), self.labels[rows], self.votes[rows])


@dataclass(frozen=True, eq=False)
class Parts:
    """Comments to learn from, a few with labels, and those to judge by; and what all of them know of the rules."""

    train: Part
    valid: Part
    test: Part
    fires: tuple[frozenset[str], ...]
    """The comments on which each rule votes."""
    elected: tuple[str, ...]
    """The label that each rule votes for."""

    @property
    def classes(self) -> tuple[str, ...]:
        return tuple(sorted(set(self.train.labels.tolist())))

    def constraints(self, targets: Sequence[float], spam: float | None = None) -> list[Constraint]:
        """About so many of the comments on which a rule votes have its label: one constraint a rule; and one more if
        the share of spam is known."""
        rules = enumerate(zip(self.fires, self.elected, targets, strict=True))
        stated = [
            expect(label, given=when(fires.__contains__, f"rule {k}")).about(target)
            for k, (fires, label, target) in rules
        ]
        return stated if spam is None else [*stated, expect(SPAM).about(spam)]

    def shares(self, part: Part) -> list[float]:
        """(right votes + 1)/(votes + 2) of each rule: its share, as far as the labels of a part can tell."""
        found = []
        for label, column in zip(self.elected, part.votes.T, strict=True):
            voted = column != ABSTAINS
            found.append(float((np.sum(part.labels[voted] == label) + 1) / (voted.sum() + 2)))
        return found


@dataclass(frozen=True)
class Split:
    """The collection's own, or one at random. Spam is copied: the copies of a text are in one part, all of them, or
    (``once``) the first alone."""

    seed: int | None = None
    once: bool = False

    @property
    def name(self) -> str:
        kind = "once" if self.once else "together"
        return "own split" if self.seed is None else f"random split {self.seed}, copies {kind}"

    def rows(self, everything: Part, part: npt.NDArray[np.str_]) -> list[npt.NDArray[np.intp]]:
        """Of training, valid and test part. ``part``: of the own split."""
        if self.seed is None:
            return [np.flatnonzero(part == name) for name in ("train", "valid", "test")]
        first, text = np.unique(np.array(everything.texts, dtype=object), return_index=True, return_inverse=True)[1:]
        labels, texts = everything.labels[first], np.arange(len(first))
        n = len(first) if self.once else len(text)
        options = {"random_state": self.seed}
        rest, test = train_test_split(texts, test_size=TEST / n, stratify=labels, **options)
        rest, valid = train_test_split(rest, test_size=VALID / (n - TEST), stratify=labels[rest], **options)
        if self.once:
            return [first[chosen] for chosen in (rest, valid, test)]
        return [np.flatnonzero(np.isin(text, chosen)) for chosen in (rest, valid, test)]


@lru_cache(maxsize=1)
def parts(split: Split) -> Parts:
    """The comments of a split, and the rules."""
    rows = _rows()
    everything = Part(
        tuple(str(row["text"]) for row in rows),
        np.array([str(row["label"]) for row in rows]),
        np.array([row["weak_labels"] for row in rows], dtype=np.int64),
    )
    chosen = split.rows(everything, np.array([str(row["split"]) for row in rows]))
    fires = tuple(
        frozenset(text for text, vote in zip(everything.texts, column, strict=True) if vote != ABSTAINS)
        for column in everything.votes.T
    )
    elected = tuple(str(column.max()) for column in everything.votes.T)
    train, valid, test = (everything.take(rows) for rows in chosen)
    return Parts(train, valid, test, fires, elected)


def _rows() -> list[dict[str, object]]:
    root = data_root()
    if root is None:
        raise DataFileError(f"The collection {NAME!r} is not here. Set TILTFIT_DATA to the folder that holds {NAME}/.")
    with gzip.open(root / NAME / f"{NAME}.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]
