"""Words that are used alike, found in unlabelled sequences: word lists for templates, from a few seed words.

    cos(e_v, e_w),   E = U·√S,   U·S·Vᵀ ≈ max(0, log n(w, c)·n / (n(w)·n(c)))

The contexts c of a word w are the tokens just before it, just after it, and anywhere within ``window``, each in a
separate table; the positive pointwise mutual information of all three is reduced to ``dimensions``. Schütze (1995);
Haghighi & Klein (2006) linked words to prototypes so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import svds

from tiltfit.arguments import integer
from tiltfit.arrays import FloatArray, IntArray
from tiltfit.errors import DataError
from tiltfit.features.lexicons import MAX_LEXICONS


@dataclass(frozen=True, eq=False)
class WordVectors:
    """Unit vectors (words × dimensions); the product of two is how alike their words are used, from −1 to 1."""

    words: tuple[str, ...]
    vectors: FloatArray

    @staticmethod
    def of(
        sequences: Iterable[Sequence[str]],
        *,
        dimensions: int = 50,
        window: int = 10,
        contexts: int = 1000,
        min_count: int = 5,
    ) -> WordVectors:
        """Of the words that occur ``min_count`` times; contexts are the most frequent ``contexts`` words."""
        dimensions, window = integer("dimensions", dimensions, 1), integer("window", window, 1)
        contexts, min_count = integer("contexts", contexts, 1), integer("min_count", min_count, 1)
        rows = [_lower(row, f"sequence {i}") for i, row in enumerate(sequences)]
        counts = Counter(token for row in rows for token in row)
        words = tuple(word for word, count in counts.most_common() if count >= min_count)
        n_contexts = min(contexts, len(words))
        if min(len(words), 3 * n_contexts) <= dimensions:
            raise DataError(
                f"{len(words)} words occur {min_count} times or more: too few for dimensions={dimensions}. Give more "
                "sequences, or lower one of dimensions= and min_count=."
            )
        table = sparse.hstack([_surprise(part) for part in _tables(_codes(rows, words, window), window, n_contexts)])
        left, values, _ = svds(sparse.csr_array(table), dimensions, v0=np.ones(min(table.shape)))
        vectors = left * np.sqrt(values)
        return WordVectors(words, vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-300))

    def lexicons(self, seeds: Iterable[str], *, top: int = 3, least: float = 0.35) -> dict[str, list[str]]:
        """For every seed that has a vector, ``like <seed>``: the words for which it is among the ``top`` most similar
        seeds, and at least so similar."""
        top = integer("top", top, 1)
        if not -1 <= least <= 1:
            raise DataError(f"least={least!r} must be between -1 and 1, as similarities are.")
        known = {word: i for i, word in enumerate(self.words)}
        named = [seed for seed in dict.fromkeys(_lower(seeds, "seeds")) if seed in known]
        if not named or len(named) > MAX_LEXICONS:
            raise DataError(
                f"{len(named)} of the seeds are words with a vector; from 1 to {MAX_LEXICONS} can have a lexicon each."
            )
        alike = self.vectors @ self.vectors[[known[seed] for seed in named]].T
        best = np.argsort(-alike, axis=1, kind="stable")[:, :top]
        found: dict[str, list[str]] = {f"like {seed}": [] for seed in named}
        lists = list(found.values())
        for i, word in enumerate(self.words):
            for j in best[i]:
                if alike[i, j] >= least:
                    lists[j].append(word)
        return found


def similar_words(
    sequences: Iterable[Sequence[str]], seeds: Iterable[str], *, top: int = 3, least: float = 0.35, **options: int
) -> dict[str, list[str]]:
    """Lexicons of words that are used like each of the seeds, for ``TokenTemplates(lexicons=…)``; ``top`` and ``least``
    as for ``WordVectors.lexicons``, ``options`` as for ``WordVectors.of``.

    >>> rows = [[a, b, c] for a in ("big", "small") for b in ("cat", "dog") for c in ("runs", "eats")] * 3
    >>> rows += [[a, b, c] for a in ("two", "three") for b in ("pounds", "euros") for c in ("paid", "due")] * 3
    >>> found = similar_words(rows, ["cat", "euros"], dimensions=2, window=2)
    >>> "dog" in found["like cat"], "dog" in found["like euros"]
    (True, False)
    """
    return WordVectors.of(sequences, **options).lexicons(seeds, top=top, least=least)


def _lower(tokens: Iterable[str], what: str) -> list[str]:
    """The tokens in lower case; a text is not a list of tokens."""
    if isinstance(tokens, str):
        raise DataError(f"{what} is the text {tokens[:30]!r}, but must be a list of words: text.split() makes one.")
    found = list(tokens)
    for token in found:
        if not isinstance(token, str):
            raise DataError(f"{what} holds {token!r}, but words must be strings.")
    return [token.lower() for token in found]


def _codes(rows: Sequence[Sequence[str]], words: Sequence[str], gap: int) -> IntArray:
    """The number of every token's word in one row, −1 if it has none; sequences stand ``gap`` apart."""
    number = {word: i for i, word in enumerate(words)}
    between = [-1] * gap
    return np.array([code for row in rows for code in (*(number.get(t, -1) for t in row), *between)], dtype=np.intp)


def _tables(codes: IntArray, window: int, n_contexts: int) -> list[sparse.csr_array]:
    """Counts of how often each context is just before a word, just after it, and within the window on either side."""
    n_words = int(codes.max()) + 1

    def count(words: IntArray, contexts: IntArray) -> sparse.csr_array:
        both = (words >= 0) & (contexts >= 0) & (contexts < n_contexts)
        return sparse.csr_array((np.ones(int(both.sum())), (words[both], contexts[both])), shape=(n_words, n_contexts))

    around = sparse.csr_array((n_words, n_contexts))
    for d in range(1, window + 1):
        around = around + count(codes[d:], codes[:-d]) + count(codes[:-d], codes[d:])
    return [count(codes[1:], codes[:-1]), count(codes[:-1], codes[1:]), around]


def _surprise(counts: sparse.csr_array) -> sparse.csr_array:
    """max(0, log n(w, c)·n / (n(w)·n(c)))"""
    pairs = sparse.coo_array(counts)
    pairs.sum_duplicates()
    by_word, by_context = np.asarray(counts.sum(axis=1)), np.asarray(counts.sum(axis=0))
    value = np.log(pairs.data * by_word.sum() / (by_word[pairs.row] * by_context[pairs.col]))
    return sparse.csr_array((np.maximum(value, 0.0), (pairs.row, pairs.col)), shape=counts.shape)
