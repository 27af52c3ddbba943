"""Development splits of the collections: for choosing parameters, so the test parts stay unseen.

A benchmark tests on ``load_task(name).test``. Here only ``load_task(name).train`` is read; the seed re-splits *that*
part (70 : 30). ``load_task(name, seed=s, development=True)`` would do the same for s = 0, but where a collection has no
split of its own, another seed draws another test part, and what seed 0 tests on would be trained on.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from benchmarks.labelled_words import DEFAULT_WORDS, WORDS_A_LABEL, load_task, oracle_constraints
from scipy import sparse
from sklearn.model_selection import train_test_split

from tiltfit import Constraint, ConstraintSet, expect, feature
from tiltfit.demo.tickets import CONSTRAINTS, generate
from tiltfit.demo.tickets import split as split_tickets
from tiltfit.features.text import fit_bag_of_words
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

    def take(self, rows: npt.NDArray[np.intp]) -> Split:
        """Learn from some of the texts. The constraints stay: what people know does not depend on how many documents
        they have collected."""
        return replace(self, texts=tuple(self.texts[i] for i in rows), labels=self.labels[rows])


@dataclass(frozen=True, eq=False)
class Features:
    """Both sides of a split as matrices over the same words."""

    words: tuple[str, ...]
    train: sparse.csr_array
    judged: sparse.csr_array

    def constraints(self, split: Split) -> list[Constraint]:
        """The split's constraints, on columns instead of on words; a word that no text has cannot fire and is left
        out."""
        words = set(self.words)
        given = [(c.event.names, c.given) for c in split.constraints]
        return [
            expect(*names, given=feature(word.text)).about(TARGET)
            for names, word in given
            if isinstance(word, Word) and word.text in words
        ]


@lru_cache(maxsize=1)
def development_part(name: str) -> tuple[list[str], Labels]:
    """The benchmark's training part; its test part goes no further than this function."""
    task = load_task(name)
    return task.train, task.train_labels


@lru_cache(maxsize=1)
def development_split(name: str, seed: int) -> Split:
    """Split the training part again, and state labelled words from the larger side."""
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


@lru_cache(maxsize=3)
def features(split: Split, weighting: str) -> Features:
    """``tfidf``, ``counts`` or ``binary``, as the library makes them."""
    bag, train = fit_bag_of_words(split.texts, weighting)
    return Features(bag.words, train, bag.transform(split.judged_texts))


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
