"""Words as model features: a bag of words, weighted.

``tfidf``    (1 + log count)·(1 + log((1 + n)/(1 + df))), each document scaled to length ten
``counts``   how often each word occurs
``binary``   whether each word occurs

``hashing``, for words that are not known beforehand, is in ``hashed_text``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tiltfit.errors import DataError, did_you_mean

WEIGHTINGS = ("tfidf", "counts", "binary")
VECTORIZERS = ("auto", *WEIGHTINGS, "hashing")

TOKENS = r"(?u)\b\w+\b"
"""One-letter words count: "C" and "R" are words, and so is every sign of a script that writes words as one."""

NO_WORDS = "The texts contain no words at all, so there is nothing to learn from."

LENGTH = 10.0
"""The length of a tf-idf document. With documents of length one, a ridge of α = 1 holds the weights down so far that a
dozen constraints cannot move them; length ten is α = 0.01 at length one."""


@dataclass(frozen=True, eq=False)
class BagOfWords:
    """A fitted vocabulary and how its counts are weighted; ``idf`` is None unless the weighting uses it."""

    words: tuple[str, ...]
    weighting: str
    idf: npt.NDArray[np.float64] | None

    @property
    def names(self) -> tuple[str, ...]:
        """Of the columns: the words."""
        return self.words

    def transform(self, texts: Sequence[str]) -> sparse.csr_array:
        """Documents × words."""
        counter = _counter(self.weighting, vocabulary=list(self.words))
        return self._weigh(sparse.csr_array(counter.transform(texts), dtype=np.float64))

    def _weigh(self, counts: sparse.csr_array) -> sparse.csr_array:
        if self.weighting != "tfidf":
            return counts
        return scale_counts(counts, None if self.idf is None else self.idf[counts.indices])


def scale_counts(counts: sparse.csr_array, idf: npt.NDArray[np.float64] | None = None) -> sparse.csr_array:
    """(1 + log count), times ``idf`` (one an entry) if given, each document scaled to length ten; in place."""
    counts.data = 1 + np.log(counts.data)
    if idf is not None:
        counts.data *= idf
    lengths = np.sqrt(np.add.reduceat(np.append(counts.data**2, 0.0), counts.indptr[:-1]))
    lengths[np.diff(counts.indptr) == 0] = 1.0  # an empty document stays empty
    counts.data *= LENGTH / np.repeat(lengths, np.diff(counts.indptr))
    return counts


def fit_bag_of_words(texts: Sequence[str], weighting: str) -> tuple[BagOfWords, sparse.csr_array]:
    """Learn the vocabulary of ``texts``; returns it with the transformed texts."""
    if weighting not in WEIGHTINGS:
        raise DataError(
            f"vectorizer={weighting!r} is unknown: use {', '.join(map(repr, VECTORIZERS))} or a scikit-learn "
            f"vectorizer.{did_you_mean(weighting, VECTORIZERS)}"
        )
    counter = _counter(weighting)
    try:
        counts = sparse.csr_array(counter.fit_transform(texts), dtype=np.float64)
    except ValueError as error:  # scikit-learn's "empty vocabulary"
        raise DataError(NO_WORDS) from error
    idf = None
    if weighting == "tfidf":
        document_frequency = np.bincount(counts.indices, minlength=counts.shape[1])
        idf = 1 + np.log((1 + counts.shape[0]) / (1 + document_frequency))
    bag = BagOfWords(tuple(counter.get_feature_names_out().tolist()), weighting, idf)
    return bag, bag._weigh(counts)


def _counter(weighting: str, **options: Any) -> Any:
    from sklearn.feature_extraction.text import CountVectorizer

    return CountVectorizer(token_pattern=TOKENS, binary=weighting == "binary", **options)
