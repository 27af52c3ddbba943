"""Words as model features without a vocabulary: each word hashed into one of a fixed number of columns.

(1 + log count)·(1 + log((1 + n)/(1 + df))), each document scaled to length ten, where count is how often the words of a
column occur, and df of n documents have one of them. In a stream n and df are those of the documents so far, the
document itself included.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tiltfit.features.hashing import SIZE, Buckets
from tiltfit.features.text import TOKENS, scale_counts

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class HashedWords:
    """Hashed words after ``n`` documents, of which ``frequency`` have each column (no entries before the first).

    Words count as they are, not with random signs. Signs are for inner products of documents, where collisions cancel
    on average; here weights are learned for the columns, and with signs counts could be zero or negative, which have no
    logarithm.
    """

    size: int = SIZE
    n: int = 0
    frequency: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    weighting: ClassVar[str] = "hashing"

    def __post_init__(self) -> None:
        Buckets(self.size)

    @property
    def names(self) -> Buckets:
        """Of the columns; made when they are asked for."""
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
        return sparse.csr_array(_hasher(self.size).transform(texts), dtype=np.float64)

    def _after(self, counts: sparse.csr_array) -> HashedWords:
        here = np.bincount(counts.indices, minlength=self.size)
        return replace(self, n=self.n + counts.shape[0], frequency=here + self.frequency if self.n else here)


def _hasher(size: int) -> Any:
    from sklearn.feature_extraction.text import HashingVectorizer

    return HashingVectorizer(n_features=size, token_pattern=TOKENS, norm=None, alternate_sign=False)
