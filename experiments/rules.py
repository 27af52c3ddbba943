"""Texts on which rules vote: ``youtube``, ``sms`` and ``trec``. Votes are conditions, never features.

A rule looks at the text alone, so "the rule votes for this label" is a condition on the text: whether it is one of
those on which the rule did. The model sees the words.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from benchmarks.corpora import data_root

from tiltfit import Constraint, expect, when
from tiltfit.errors import DataFileError

TARGET = 0.9
ABSTAINS = -1
FILES = {"youtube": Path("youtube", "youtube"), "sms": Path("rules", "sms"), "trec": Path("rules", "trec")}
"""Where a collection is, below the data folder."""

Vote = tuple[int, str]
"""The number of a rule, and the label that it votes for."""


@dataclass(frozen=True, eq=False)
class VotedTexts:
    """One entry per text. ``votes``: the rules that do not abstain."""

    texts: tuple[str, ...]
    labels: npt.NDArray[np.str_]
    votes: tuple[tuple[Vote, ...], ...]

    def take(self, rows: Iterable[int]) -> VotedTexts:
        rows = list(rows)
        return VotedTexts(tuple(self.texts[i] for i in rows), self.labels[rows], tuple(self.votes[i] for i in rows))

    def firings(self) -> dict[Vote, frozenset[str]]:
        """The texts with each vote, in the order of the rules."""
        found: dict[Vote, set[str]] = {}
        for text, votes in zip(self.texts, self.votes, strict=True):
            for vote in votes:
                found.setdefault(vote, set()).add(text)
        return {vote: frozenset(found[vote]) for vote in sorted(found)}

    def constraints(self, target: float = TARGET) -> list[Constraint]:
        """About ``target`` of the texts on which a rule votes have its label: one for each rule that votes here."""
        return [
            expect(label, given=when(texts.__contains__, f"rule {rule}")).about(target, name=f"rule {rule}: {label}")
            for (rule, label), texts in self.firings().items()
        ]


def voted_texts(name: str, part: str) -> VotedTexts:
    """One part (``train``, ``valid``, ``test``) of a collection."""
    rows = [row for row in _rows(name) if row["split"] == part]
    return VotedTexts(
        tuple(str(row["text"]) for row in rows),
        np.array([str(row["label"]) for row in rows]),
        tuple(_votes(row) for row in rows),
    )


def _votes(row: dict[str, Any]) -> tuple[Vote, ...]:
    """Votes are listed with the rule's number (``votes``), or one per rule (``weak_labels``)."""
    if "votes" in row:
        return tuple((int(rule), str(label)) for rule, label in row["votes"])
    return tuple((rule, str(label)) for rule, label in enumerate(row["weak_labels"]) if label != ABSTAINS)


def _rows(name: str) -> list[dict[str, Any]]:
    root = data_root()
    path = None if root is None else (root / FILES[name]).with_suffix(".jsonl.gz")
    if path is None or not path.is_file():
        raise DataFileError(
            f"The collection {name!r} is not here. Set TILTFIT_DATA to the folder that holds {FILES[name].parent}/."
        )
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]
