"""Words that an oracle has labelled, as in Druck, Mann & McCallum (2008): for set-ups that are compared with MALLET's.

``n`` words of highest information gain are shown to an oracle that knows the labels of the training part. It names a
word's *majority labels*: all whose count of the word is more than half of the largest. Like a person, it rejects a word
that has more of them than half of all labels. Of the documents with a word 90 % have one of its majority labels, each
an equal part of that, and the other labels share the rest evenly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tiltfit import Constraint, expect
from tiltfit.features.selection import most_informative
from tiltfit.language.condition import Condition
from tiltfit.language.conditions import feature
from tiltfit.language.values import Label

NEAR = 0.5
"""A label is a majority label if it has more than this part of what the most frequent one has."""


@dataclass(frozen=True)
class LabelledWord:
    """A word, its majority labels, and how many of the documents with it should have them."""

    word: str
    labels: tuple[str, ...]
    target: float = 0.9

    @property
    def given(self) -> Condition:
        return feature(self.word)

    def shares(self, classes: Sequence[str]) -> dict[Label, float]:
        """The target distribution over all classes."""
        inside, outside = self.target / len(self.labels), (1 - self.target) / (len(classes) - len(self.labels))
        return {c: inside if c in self.labels else outside for c in classes}

    def kl(self, classes: Sequence[str]) -> list[Constraint]:
        """Classes are distributed as the target: KL."""
        return [expect(given=self.given).distributed_as(self.shares(classes))]

    def l2(self, classes: Sequence[str]) -> list[Constraint]:
        """Every class is about its share of the target: the squared distance of distributions."""
        return [expect(c, given=self.given).about(share) for c, share in self.shares(classes).items()]

    def each(self) -> list[Constraint]:
        """Every majority label is about its share of the target; nothing is said of the others."""
        return [expect(label, given=self.given).about(self.target / len(self.labels)) for label in self.labels]

    def either(self, classes: Sequence[str]) -> list[Constraint]:
        """One of the majority labels in nine of ten: nothing is said of which."""
        return [expect(*self.labels, given=self.given).about(self.target)]


def oracle_words(
    counts: sparse.csr_array,
    codes: npt.NDArray[np.intp],
    classes: Sequence[str],
    words: Sequence[str],
    n: int,
) -> list[LabelledWord]:
    """The words that the oracle has labelled among the ``n`` most informative ones. ``counts``: documents × words."""
    best = most_informative(counts, codes, len(classes), n=min(n, counts.shape[1])).columns
    return ask(counts[:, best], codes, classes, [words[int(j)] for j in best])


def ask(
    counts: sparse.csr_array,
    codes: npt.NDArray[np.intp],
    classes: Sequence[str],
    words: Sequence[str],
) -> list[LabelledWord]:
    """The statements of the oracle about ``words``, one per column; rejected ones are missing."""
    totals = np.asarray(counts.T @ np.eye(len(classes))[codes])
    found = []
    for word, row in zip(words, totals, strict=True):
        labels = np.flatnonzero(row > NEAR * row.max()) if len(classes) > 2 else row.argmax(keepdims=True)
        if len(labels) <= len(classes) // 2:
            found.append(LabelledWord(word, tuple(classes[int(k)] for k in labels)))
    return found
