"""Collections, their splits and their words.

A *word* is a run of letters and digits, in lower case (the library's own notion). Headers of 20 newsgroups and of webkb
and the tags of webkb are not text; sector comes as stemmed words without order. *Content words* are what the oracle may
be shown, and on counts also all that a model sees: two letters or more, in at least ``RARE`` documents to learn from,
and not one of scikit-learn's English stop words. With the defaults of the library a model sees all words, as tf-idf.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import numpy.typing as npt
from benchmarks.corpora import load_corpus
from scipy import sparse
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS
from sklearn.model_selection import train_test_split

from tiltfit.features.text import fit_bag_of_words, scale_counts

HELD_OUT = 0.25
RARE = 3

Labels = npt.NDArray[np.str_]
Rows = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Sides:
    """Documents to learn from and documents to score, as counts of the words of the former. The labels of the former
    are for the oracle (and the supervised model) alone."""

    words: npt.NDArray[np.str_]
    train: sparse.csr_array
    labels: Labels
    judged: sparse.csr_array
    judged_labels: Labels

    @cached_property
    def classes(self) -> tuple[str, ...]:
        return tuple(np.unique(self.labels).tolist())

    @cached_property
    def codes(self) -> Rows:
        return np.searchsorted(np.array(self.classes), self.labels)

    @cached_property
    def frequency(self) -> Rows:
        """Documents to learn from that have each word."""
        return np.bincount(self.train.indices, minlength=len(self.words))

    @cached_property
    def content(self) -> Rows:
        """The columns of content words."""
        stop = np.array([len(word) < 2 or word in ENGLISH_STOP_WORDS for word in self.words])
        return np.flatnonzero(~stop & (self.frequency >= min(RARE, 1 + len(self.labels) // 100)))

    @cached_property
    def tfidf(self) -> tuple[sparse.csr_array, sparse.csr_array]:
        """The texts as the library encodes them by default."""
        idf = 1 + np.log((1 + len(self.labels)) / (1 + self.frequency))
        return (
            scale_counts(self.train.copy(), idf[self.train.indices]),
            scale_counts(self.judged.copy(), idf[self.judged.indices]),
        )


@lru_cache(maxsize=1)
def sides(collection: str, seed: int, *, development: bool, documents: int | None = None) -> Sides:
    """75 : 25 of all documents at random, every label alike (``documents``: of so many of them).

    ``development``: the documents to learn from of split ``seed``, split again. Nothing of its test side is read.
    """
    corpus = load_corpus(collection)
    learn, judge = split(corpus.labels, seed, development=development, documents=documents)
    bag, train = fit_bag_of_words([corpus.texts[i] for i in learn], "counts")
    judged = bag.transform([corpus.texts[i] for i in judge])
    return Sides(np.array(bag.words), train, corpus.labels[learn], judged, corpus.labels[judge])


def split(labels: Labels, seed: int, *, development: bool, documents: int | None = None) -> tuple[Rows, Rows]:
    """Rows to learn from and rows to score."""
    rows = np.arange(len(labels))
    if documents is not None and documents < len(rows):
        rows, _ = train_test_split(rows, train_size=documents, random_state=0, stratify=labels)
    for _ in range(1 + development):
        learn, judge = train_test_split(rows, test_size=HELD_OUT, random_state=seed, stratify=labels[rows])
        rows = learn
    return learn, judge
