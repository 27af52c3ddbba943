"""Documents as a sparse matrix: 20 newsgroups where it is at hand, else generated ones of the same shape."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from benchmarks.corpora import available, load_corpus
from tiltfit import Constraint, expect, word
from tiltfit.features.selection import labelled_words
from tiltfit.features.text import fit_bag_of_words

_CHUNK = 100_000  # documents generated at once, to bound the memory that it takes


@dataclass(frozen=True, eq=False)
class Documents:
    """``X``: documents × words, float64; ``labels``: class numbers; ``words``: names of the columns."""

    name: str
    X: sparse.csr_array
    labels: npt.NDArray[np.intp]
    words: list[str]

    @property
    def n_classes(self) -> int:
        return int(self.labels.max()) + 1

    @property
    def csr_bytes(self) -> int:
        return int(self.X.data.nbytes + self.X.indices.nbytes + self.X.indptr.nbytes)

    def constraints(self, per_label: int) -> list[Constraint]:
        """About 90 % of the documents with each of the most informative words have that word's majority label."""
        chosen = labelled_words(self.X, self.labels, self.n_classes, per_label=per_label)
        return [expect(y, given=word(self.words[j])).about(0.9) for j, y in chosen]


def newsgroups() -> Documents:
    """The training part of 20 newsgroups, tf-idf, all words; generated documents of that shape where it is absent."""
    if not available("20newsgroups"):
        made = generate(11_314, n_words=125_000, n_classes=20, length=160)
        return Documents("generated documents (20 newsgroups is not on this machine)", made.X, made.labels, made.words)
    corpus = load_corpus("20newsgroups")
    assert corpus.split is not None
    train = np.flatnonzero(corpus.split == "train")
    bag, X = fit_bag_of_words([corpus.texts[i] for i in train], "tfidf")
    _, labels = np.unique(corpus.labels[train], return_inverse=True)
    return Documents("20 newsgroups, training part, tf-idf, all words", X, labels.astype(np.intp), list(bag.words))


def generate(n: int, *, n_words: int, n_classes: int, length: int, seed: int = 0) -> Documents:
    """Counts of ``length`` tokens a document: four fifths from Zipf's law over all words, one fifth from the words of
    the document's class (every ``n_classes``-th word, so classes have words of every frequency)."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(n_classes, size=n)
    everything = np.cumsum(1 / (np.arange(n_words) + 10.0))
    own = np.cumsum(1 / (np.arange(n_words // n_classes) + 10.0))
    parts = []
    for first in range(0, n, _CHUNK):
        label = labels[first : first + _CHUNK]
        n_own = length // 5
        shared = np.searchsorted(everything, rng.random((len(label), length - n_own)) * everything[-1])
        special = np.searchsorted(own, rng.random((len(label), n_own)) * own[-1]) * n_classes + label[:, None]
        columns = np.concatenate([shared, special], axis=1).astype(np.int32)
        indptr = np.arange(len(label) + 1, dtype=np.int32) * length
        part = sparse.csr_array((np.ones(columns.size), columns.ravel(), indptr), shape=(len(label), n_words))
        part.sum_duplicates()
        parts.append(part)
    X = sparse.csr_array(sparse.vstack(parts, format="csr"))
    return Documents(f"{n:,} generated documents", X, labels.astype(np.intp), [f"w{j}" for j in range(n_words)])
