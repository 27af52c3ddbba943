"""Texts with statements at 0.9 and no labels: rules on trec, sms and youtube, labelled words on four collections.

Split 0 is the collection's own, if it has one; the others are random ones of the same texts.
"""

from __future__ import annotations

from itertools import chain

import numpy as np
from experiments.believe.cells import RULES, Given
from experiments.rules import VotedTexts, voted_texts
from sklearn.model_selection import train_test_split

from benchmarks.labelled_words import load_task


def load(name: str, split: int) -> Given:
    """What to learn from, what is said of it, and what to judge by."""
    if name not in RULES:
        task = load_task(name, seed=split, official=split == 0)
        return Given(task.train, task.train_labels, task.constraints, task.test, task.test_labels)
    train, test = voted_texts(name, "train"), voted_texts(name, "test")
    if split:
        everything = _joined(train, test)
        rows = np.arange(len(everything.texts))
        learned, aside = train_test_split(
            rows, test_size=len(test.texts), random_state=split, stratify=everything.labels
        )
        train, test = everything.take(learned), everything.take(aside)
    return Given(list(train.texts), train.labels, train.constraints(), list(test.texts), test.labels)


def _joined(*parts: VotedTexts) -> VotedTexts:
    return VotedTexts(
        tuple(chain.from_iterable(part.texts for part in parts)),
        np.concatenate([part.labels for part in parts]),
        tuple(chain.from_iterable(part.votes for part in parts)),
    )
