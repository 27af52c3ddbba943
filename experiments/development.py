"""Development splits of the collections: for choosing parameters, so the test parts stay unseen.

A benchmark tests on ``load_task(name).test``. Here only ``load_task(name).train`` is read; the seed re-splits *that*
part (70 : 30). ``load_task(name, seed=s, development=True)`` would do the same for s = 0, but where a collection has no
split of its own, another seed draws another test part, and what seed 0 tests on would be trained on.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from benchmarks.labelled_words import DEFAULT_WORDS, WORDS_A_LABEL, load_task, oracle_constraints
from scipy import sparse
from sklearn.model_selection import train_test_split

from tiltfit import Constraint, ConstraintSet, expect, feature
from tiltfit.demo.tickets import CONSTRAINTS, generate
from tiltfit.demo.tickets import split as split_tickets
from tiltfit.features.text import LENGTH, fit_bag_of_words
from tiltfit.language.texts import Word

Labels = npt.NDArray[np.str_]
TARGET = 0.9
TICKETS = "tickets"


@dataclass(frozen=True, eq=False)
class Split:
    """Texts to learn from and texts to judge by; the constraints come from the former."""

    name: str
    classes: tuple[str, ...]
    texts: tuple[str, ...]
    labels: Labels
    judged_texts: tuple[str, ...]
    judged_labels: Labels
    constraints: tuple[Constraint, ...]
    times: int = 1
    """The number of times that each text counts."""

    def resize(self, size: str, seed: int) -> Split:
        """Learn from ``all`` texts, from a number of them at random (smaller ones are part of larger ones), from
        ``all + judged``: also from the texts (never the labels) of the judged side, or from ``all × k``: as many as if
        each came k times.

        The constraints stay: what people know does not depend on how many documents they have collected.
        """
        if size == "all":
            return self
        if size.startswith("all × "):
            return replace(self, times=int(size.removeprefix("all × ")))
        if size == "all + judged":
            unknown = np.full(len(self.judged_texts), "")
            return replace(self, texts=self.texts + self.judged_texts, labels=np.append(self.labels, unknown))
        rows = np.random.default_rng(seed).permutation(len(self.texts))[: int(size)]
        return replace(self, texts=tuple(self.texts[i] for i in rows), labels=self.labels[rows])


@dataclass(frozen=True, eq=False)
class Features:
    """Both sides of a split as matrices over the same words."""

    words: tuple[str, ...]
    train: sparse.csr_array
    judged: sparse.csr_array

    def constraints(self, split: Split, *, true_targets: bool = False) -> list[Constraint]:
        """The split's constraints, on columns instead of on words; a word that no text has cannot fire and is left out.

        ``true_targets``: each with the label's true share among the texts with the word, instead of 0.9.
        """
        column = {name: j for j, name in enumerate(self.words)}
        made = []
        for constraint in split.constraints:
            if not isinstance(constraint.given, Word) or constraint.given.text not in column:
                continue
            word = constraint.given.text
            names = constraint.event.names
            share = self._share(split.labels, column[word], names) if true_targets else TARGET
            made.append(expect(*names, given=feature(word)).about(share))
        return made

    def _share(self, labels: Labels, column: int, names: tuple[Any, ...]) -> float:
        rows = self.train[:, [column]].nonzero()[0]
        return float(np.mean(np.isin(labels[rows], names)))


@lru_cache(maxsize=1)
def development_part(name: str) -> tuple[list[str], Labels]:
    """The benchmark's training part; its test part goes no further than this function."""
    task = load_task(name)
    return task.train, task.train_labels


@lru_cache(maxsize=1)
def development_split(name: str, seed: int, size: str = "all") -> Split:
    """Split the training part again, and state labelled words from the larger side; then ``Split.resize``."""
    return _whole_split(name, seed).resize(size, seed)


@lru_cache(maxsize=1)
def _whole_split(name: str, seed: int) -> Split:
    if name == TICKETS:
        return _tickets(seed)
    texts, labels = development_part(name)
    learn, judge = train_test_split(np.arange(len(texts)), test_size=0.3, random_state=seed, stratify=labels)
    train = [texts[i] for i in learn]
    constraints = oracle_constraints(train, labels[learn], WORDS_A_LABEL.get(name, DEFAULT_WORDS), TARGET)
    return Split(
        name,
        tuple(np.unique(labels).tolist()),
        tuple(train),
        labels[learn],
        tuple(texts[i] for i in judge),
        labels[judge],
        tuple(constraints),
    )


def features(split: Split, weighting: str, length: float | None) -> Features:
    """``tfidf``, ``counts``, ``binary`` as the library makes them, or ``log`` = 1 + log count.

    ``length``: that of every document; None leaves it as it comes.
    """
    found = _bag(split, "counts" if weighting == "log" else weighting)
    train, judged = found.train, found.judged
    if weighting == "log":
        train, judged = _logs(train), _logs(judged)
    if weighting == "tfidf":
        scale = (length or LENGTH) / LENGTH
        return Features(found.words, train * scale, judged * scale)
    if length is not None:
        train, judged = _of_length(train, length), _of_length(judged, length)
    return Features(found.words, train, judged)


def _tickets(seed: int) -> Split:
    """The demo's generated tickets with its own statements; the demo itself is judged on seed 0, which is left out."""
    train, judged = split_tickets(generate(2400, seed + 1))
    stated = ConstraintSet.from_toml(CONSTRAINTS)
    return Split(
        TICKETS,
        tuple(np.unique(train.labels).tolist()),
        tuple(train.texts),
        np.array(train.labels),
        tuple(judged.texts),
        np.array(judged.labels),
        tuple(stated),
    )


@lru_cache(maxsize=3)
def _bag(split: Split, weighting: str) -> Features:
    bag, train = fit_bag_of_words(split.texts, weighting)
    return Features(bag.words, train, bag.transform(split.judged_texts))


def _logs(counts: sparse.csr_array) -> sparse.csr_array:
    logs = counts.copy()
    logs.data = 1 + np.log(logs.data)
    return logs


def _of_length(X: sparse.csr_array, length: float) -> sparse.csr_array:
    lengths = np.sqrt(np.asarray(X.power(2).sum(axis=1)).ravel())
    scaled = X.copy()
    scaled.data *= np.repeat(length / np.where(lengths > 0, lengths, 1.0), np.diff(X.indptr))
    return scaled
