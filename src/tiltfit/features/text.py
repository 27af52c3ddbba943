"""Words as model features: a bag of words, weighted.

``tfidf``    (1 + log count)·(1 + log((1 + n)/(1 + df))), each document scaled to length ten
``counts``   how often each word occurs
``binary``   1 if a word occurs

``hashing``  as tfidf, without a vocabulary: each word is hashed into one of a fixed number of columns

Of hashed words, count is how often the words of a column occur, and df of n documents have one of them. In a stream n
and df are those of the documents so far, the document itself included.

Besides words, tf-idf can have pairs of words that follow one another, and pieces of 3 to 5 characters within words
(``UNITS``). Several such views of the same texts stand side by side (``Views``), each scaled so that a document has
length ten in all of them together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tiltfit.data.words import normal, tokenise
from tiltfit.errors import DataError, did_you_mean
from tiltfit.features.hashing import SIZE, Buckets, checked_size

WEIGHTINGS = ("tfidf", "counts", "binary")
WORDS_AND_MEANING, WORDS_AND_SENTENCES = "words+meaning", "words+sentences"
VECTORIZERS = ("auto", *WEIGHTINGS, "hashing", WORDS_AND_MEANING, WORDS_AND_SENTENCES)

UNITS = ("words", "pairs", "characters")

WITHOUT_MARKS = r"(?u)\b\w+\b"
"""The words of vocabularies from before marks were part of words. In both kinds one-letter words count: "C" and "R" are
words, and so is every sign of a script that writes words as one."""

NO_WORDS = "The texts contain no words at all, so there is nothing to learn from."

LENGTH = 10.0
"""The length of a tf-idf document. With documents of length one, a ridge of α = 1 holds the weights down so far that a
dozen constraints cannot move them; length ten is α = 0.01 at length one."""

SHORT = 300
"""Characters: texts whose median is below are short."""


@dataclass(frozen=True, eq=False)
class BagOfWords:
    """A fitted vocabulary and how its counts are weighted; ``idf`` is None unless the weighting uses it. ``unit``: what
    is counted, one of ``UNITS``. ``marks``: whether marks are part of words, as in all but old files."""

    words: tuple[str, ...]
    weighting: str
    idf: npt.NDArray[np.float64] | None
    unit: str = "words"
    marks: bool = True

    @property
    def names(self) -> tuple[str, ...]:
        """Of the columns: the words. A piece of characters can look like a word, so its name says what it is."""
        return self.words if self.unit != "characters" else tuple(f"chars:{piece}" for piece in self.words)

    def transform(self, texts: Sequence[str]) -> sparse.csr_array:
        """Documents × words."""
        counter = _counter(self.weighting, self.unit, self.marks, vocabulary=list(self.words))
        return self._weigh(sparse.csr_array(counter.transform(texts), dtype=np.float64))

    def _weigh(self, counts: sparse.csr_array) -> sparse.csr_array:
        if self.weighting != "tfidf":
            return counts
        return scale_counts(counts, None if self.idf is None else self.idf[counts.indices])


def scale_counts(counts: sparse.csr_array, idf: npt.NDArray[np.float64] | None = None) -> sparse.csr_array:
    """(1 + log count), times ``idf`` (one per entry) if given, each document scaled to length ten; in place."""
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
            f"vectorizer={weighting!r} is unknown: use {', '.join(map(repr, VECTORIZERS))}, a scikit-learn "
            f"vectorizer or an encoder.{did_you_mean(weighting, VECTORIZERS)}"
        )
    try:
        return _learn(texts, weighting)
    except ValueError as error:  # scikit-learn's "empty vocabulary"
        raise DataError(NO_WORDS, parameter="X") from error


def _learn(
    texts: Sequence[str], weighting: str, unit: str = "words", min_df: int = 1
) -> tuple[BagOfWords, sparse.csr_array]:
    counter = _counter(weighting, unit, min_df=min_df)
    counts = sparse.csr_array(counter.fit_transform(texts), dtype=np.float64)
    idf = None
    if weighting == "tfidf":
        document_frequency = np.bincount(counts.indices, minlength=counts.shape[1])
        idf = 1 + np.log((1 + counts.shape[0]) / (1 + document_frequency))
    bag = BagOfWords(tuple(counter.get_feature_names_out().tolist()), weighting, idf, unit)
    return bag, bag._weigh(counts)


@dataclass(frozen=True, eq=False)
class Views:
    """Several tf-idf views of the same texts, side by side:  [x₁ … x_V]/√V,  ‖x_v‖ = 10.

    A document that is empty in some views is shorter than ten."""

    bags: tuple[BagOfWords, ...]
    weighting: ClassVar[str] = "views"

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for bag in self.bags for name in bag.names)

    @property
    def units(self) -> tuple[str, ...]:
        """What is counted, view by view."""
        return tuple(bag.unit for bag in self.bags)

    def transform(self, texts: Sequence[str]) -> sparse.csr_array:
        """Documents × columns of all views."""
        return _side_by_side([bag.transform(texts) for bag in self.bags])


def fit_views(texts: Sequence[str], words: BagOfWords) -> tuple[Views, sparse.csr_array]:
    """The view ``words`` and, of what occurs in two texts or more, pairs of words; characters where texts are short,
    since a long one has thousands of pieces, and they say little that its words do not."""
    bags, matrices = [words], [words.transform(texts)]
    is_short = float(np.median([len(text) for text in texts])) < SHORT
    for unit in UNITS[1:] if is_short else UNITS[1:2]:
        try:
            bag, matrix = _learn(texts, "tfidf", unit, min_df=2)
        except ValueError:  # nothing occurs in two texts
            continue
        bags.append(bag)
        matrices.append(matrix)
    return Views(tuple(bags)), _side_by_side(matrices)


def _side_by_side(matrices: Sequence[sparse.csr_array]) -> sparse.csr_array:
    joined = sparse.csr_array(sparse.hstack(matrices, format="csr"))
    joined.data /= np.sqrt(len(matrices))
    return joined


@dataclass(frozen=True, eq=False)
class HashedWords:
    """Hashed words after ``n`` documents, of which ``frequency`` have each column (no entries before the first).
    ``marks`` is as for ``BagOfWords``.

    Words count as they are, not with random signs. Signs are for inner products of documents, where collisions cancel
    on average; here weights are learned for the columns, and with signs counts could be zero or negative, which have no
    logarithm.
    """

    size: int = SIZE
    n: int = 0
    frequency: npt.NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    marks: bool = True
    weighting: ClassVar[str] = "hashing"

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", checked_size("size", self.size))

    @property
    def names(self) -> Buckets:
        """The names of the columns, made when they are needed."""
        return Buckets(self.size)

    def transform(self, texts: Sequence[str]) -> sparse.csr_array:
        """Documents × columns, as of now."""
        counts = self._counts(texts)
        if not self.n:
            return scale_counts(counts)
        return scale_counts(counts, (1 + np.log((1 + self.n) / (1 + self.frequency)))[counts.indices])

    def fit(self, texts: Sequence[str]) -> tuple[HashedWords, sparse.csr_array]:
        """After these documents, which are weighted by the counts of all of them."""
        counts = self._counts(texts)
        return (bag := self._after(counts)), bag.transform(texts)

    def learn(self, texts: Sequence[str]) -> tuple[HashedWords, sparse.csr_array]:
        """After these documents, each of which is weighted by the counts up to itself: how a stream is cut into calls
        makes no difference."""
        counts = self._counts(texts)
        lengths = np.diff(counts.indptr)
        document = np.repeat(np.arange(len(lengths)), lengths)
        by_column = np.argsort(counts.indices, kind="stable")
        column = counts.indices[by_column]
        start = np.searchsorted(column, column)
        earlier = np.empty(len(column), dtype=np.int64)
        earlier[by_column] = np.arange(len(column)) - start
        known = self.frequency[counts.indices] if self.n else 0
        idf = 1 + np.log((2 + self.n + document) / (2 + known + earlier))
        return self._after(counts), scale_counts(counts, idf)

    def _counts(self, texts: Sequence[str]) -> sparse.csr_array:
        if not len(texts):  # scikit-learn's hasher looks at the first
            return sparse.csr_array((0, self.size))
        return sparse.csr_array(_hasher(self.size, self.marks).transform(texts), dtype=np.float64)

    def _after(self, counts: sparse.csr_array) -> HashedWords:
        here = np.bincount(counts.indices, minlength=self.size)
        return replace(self, n=self.n + counts.shape[0], frequency=here + self.frequency if self.n else here)


def _counter(weighting: str, unit: str = "words", marks: bool = True, **options: Any) -> Any:
    from sklearn.feature_extraction.text import CountVectorizer

    if unit == "characters":
        prepared = {"preprocessor": _prepared} if marks else {}
        return CountVectorizer(analyzer="char_wb", ngram_range=(3, 5), **prepared, **options)
    length = 2 if unit == "pairs" else 1
    binary = weighting == "binary"
    return CountVectorizer(ngram_range=(length, length), binary=binary, **_tokens(marks), **options)


def _hasher(size: int, marks: bool) -> Any:
    from sklearn.feature_extraction.text import HashingVectorizer

    return HashingVectorizer(n_features=size, norm=None, alternate_sign=False, **_tokens(marks))


def _tokens(marks: bool) -> dict[str, Any]:
    """What scikit-learn is told of words."""
    if not marks:
        return {"token_pattern": WITHOUT_MARKS}
    return {"preprocessor": _prepared, "tokenizer": tokenise, "token_pattern": None}


def _prepared(text: str) -> str:
    return normal(text.lower())
