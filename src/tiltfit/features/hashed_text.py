"""Words as model features without a vocabulary: each word hashed into one of a fixed number of columns.

(1 + log count), each document scaled to length ten, where count is how often the words of a column occur. There is no
idf: how many documents have a word is not known in a stream.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from tiltfit.features.hashing import SIZE, Buckets
from tiltfit.features.text import TOKENS, scale_counts


@dataclass(frozen=True)
class HashedWords:
    """Nothing is fitted: a text has the same row whatever came before it.

    Words count as they are, not with random signs. Signs are for inner products of documents, where collisions cancel
    on average; here weights are learned for the columns, and with signs counts could be zero or negative, which have no
    logarithm.
    """

    size: int = SIZE
    weighting: ClassVar[str] = "hashing"

    def __post_init__(self) -> None:
        Buckets(self.size)

    @property
    def names(self) -> Buckets:
        """Of the columns; made when they are asked for."""
        return Buckets(self.size)

    def transform(self, texts: Sequence[str]) -> sparse.csr_array:
        """Documents × columns."""
        if not len(texts):  # scikit-learn's hasher looks at the first
            return sparse.csr_array((0, self.size))
        counts = sparse.csr_array(_hasher(self.size).transform(texts), dtype=np.float64)
        return scale_counts(counts)


def _hasher(size: int) -> Any:
    from sklearn.feature_extraction.text import HashingVectorizer

    return HashingVectorizer(n_features=size, token_pattern=TOKENS, norm=None, alternate_sign=False)
