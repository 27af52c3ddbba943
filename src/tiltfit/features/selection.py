"""Words that are worth labelling: rankings of the columns of a matrix, for suggestions and for experiments.

``most_informative``   by what they say of known labels: information gain
``topic_words``        as the words of topics that are learned without labels: latent Dirichlet allocation
``topic_shares``       the topics of each document
``most_uncertain``     by how much the documents with them puzzle a model

All take documents × words, X ≥ 0, and give a ``Ranking``: columns, best first, with their scores. Any matrix with one
column per condition will do: words, phrases, attributes of tokens (one row per token).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tiltfit.arguments import integer, whole
from tiltfit.arrays import FloatArray, IntArray
from tiltfit.errors import DataError, did_you_mean

Codes = npt.NDArray[np.integer[Any]]
Weighting = Literal["total", "weighted"]

_ROWS = 1000  # documents at a time


@dataclass(frozen=True, eq=False)
class Ranking:
    """Columns of X, best first, and what each of them scores. Equal scores are in the order of the columns, unless a
    ranker says otherwise."""

    columns: IntArray
    scores: FloatArray

    def __len__(self) -> int:
        return len(self.columns)

    def named(self, words: Sequence[str]) -> list[tuple[str, float]]:
        """Words with their scores; ``words`` are the names of all columns of X."""
        if len(self) and self.columns.max() >= len(words):
            raise DataError(
                f"The ranking has column {self.columns.max()}, but there are {len(words)} words: give the names of all "
                "columns of X."
            )
        return [(words[int(j)], float(score)) for j, score in zip(self.columns, self.scores, strict=True)]


def rank(scores: FloatArray, n: int | None) -> Ranking:
    """The ``n`` columns of highest score, or all of them."""
    _check_asked("n", n, len(scores))
    best = np.argsort(-scores, kind="stable")[:n]
    return Ranking(best, scores[best])


def _check_asked(name: str, n: int | None, columns: int) -> None:
    """Refuse to rank more columns than there are, or none."""
    if n is not None and not (whole(n) is not None and 0 < n <= columns):
        raise DataError(f"{name}={n}, but X has {columns} columns: ask for 1 to {columns} of them.")


def check_counts(X: Any) -> sparse.csr_array:
    """X as a sparse matrix of numbers that are finite and not negative; DataError says what else it is."""
    matrix = sparse.csr_array(X, dtype=np.float64)
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise DataError(f"X has the shape {matrix.shape}: a ranking needs at least one document and one column.")
    if not np.all(np.isfinite(matrix.data)):
        raise DataError("X holds NaN or infinite numbers: a ranking needs counts or weights of words.")
    if matrix.data.min(initial=0.0) < 0:
        raise DataError(f"X holds {matrix.data.min():g}: a ranking needs counts or weights that are not negative.")
    return matrix


def presence(X: sparse.csr_array) -> sparse.csr_array:
    """1 where X is not 0."""
    present = X.copy()
    present.data = (present.data != 0).astype(np.float64)
    return present


def information_gain(X: sparse.csr_array, labels: Codes, n_labels: int) -> FloatArray:
    """IG(word) = H(Y) − P(w)·H(Y | w present) − P(¬w)·H(Y | w absent), in nats; one number per column of X.

    Presence is X > 0; labels are codes, 0 to ``n_labels`` − 1. O(non-zeros).
    """
    counts = presence_counts(X, labels, n_labels)
    total = np.bincount(labels, minlength=n_labels).astype(np.float64)
    n = total.sum()
    n_present = counts.sum(axis=1)
    present, absent = _entropy_of_counts(counts), _entropy_of_counts(total - counts)
    return np.asarray(_entropy(total / n) - (n_present * present + (n - n_present) * absent) / n)


def most_informative(X: sparse.csr_array, labels: Codes, n_labels: int, *, n: int | None = None) -> Ranking:
    """The ``n`` columns of highest information gain (all, if None).

    >>> X = sparse.csr_array([[1, 1, 0], [2, 0, 1], [0, 1, 1], [0, 0, 1]])
    >>> most_informative(X, np.array([0, 0, 1, 1]), 2, n=2).named(["puck", "the", "bat"])
    [('puck', 0.693...), ('bat', 0.215...)]
    """
    return rank(information_gain(X, labels, n_labels), n)


def presence_counts(X: sparse.csr_array, labels: Codes, n_labels: int) -> FloatArray:
    """The number of documents of each label that contain each column: columns × labels."""
    matrix = check_counts(X)
    codes = np.asarray(labels)
    if codes.shape != (matrix.shape[0],):
        raise DataError(f"There are {matrix.shape[0]} documents and labels of the shape {codes.shape}: give one each.")
    if codes.dtype.kind not in "iu" or codes.min() < 0 or codes.max() >= n_labels:
        raise DataError(f"Labels must be integers from 0 to {n_labels - 1}: as np.unique(..., return_inverse=True).")
    return np.asarray(presence(matrix).T @ np.eye(n_labels)[codes])


def labelled_words(
    X: sparse.csr_array, labels: Codes, n_labels: int, *, per_label: int, dominance: float = 0.5
) -> list[tuple[int, int]]:
    """An oracle's labelled words: pairs (column, label), the ``per_label`` most informative columns of each label.

    A word belongs to the label that most documents with it have. Like a person, the oracle rejects a word whose label
    is not dominant: whose share of these documents is below ``dominance``.
    """
    per_label = integer("per_label", per_label, 1)
    if not 0 <= dominance <= 1:
        raise DataError(f"dominance={dominance!r} must be between 0 and 1.")
    counts = presence_counts(X, labels, n_labels)
    majority = counts.argmax(axis=1)
    share = counts.max(axis=1) / np.maximum(counts.sum(axis=1), 1.0)
    gain = np.where(share >= dominance, information_gain(X, labels, n_labels), -np.inf)
    best = np.argsort(-gain, kind="stable")
    best = best[np.isfinite(gain[best])]
    return [(int(j), label) for label in range(n_labels) for j in best[majority[best] == label][:per_label]]


def uncertainty(X: sparse.csr_array, probabilities: FloatArray, *, weighting: Weighting = "weighted") -> FloatArray:
    """With c(w) documents that hold the word w, and H(p) = −Σ_y p(y)·log p(y) of what a model predicts for each:

        total       T(w) = Σ_{i: w ∈ x_i} H(p_i)
        weighted    log c(w) · T(w)/c(w)

    one number per column of X, in nats; 0·log 0 = 0. ``total`` is how much uncertainty a statement about the word could
    touch; it favours words that are everywhere. ``weighted`` is the mean uncertainty of documents with the word, times
    a frequency that counts less and less: 0 for a word of one document. Both are of Druck, Settles & McCallum (2009),
    Active learning by labeling features. ``probabilities``: documents × labels (``predict_proba``, or marginals of
    tokens with a row of X each). O(non-zeros).
    """
    known = get_args(Weighting)
    if weighting not in known:
        use = " or ".join(map(repr, known))
        raise DataError(f"weighting={weighting!r} is unknown: use {use}.{did_you_mean(weighting, known)}")
    matrix = check_counts(X)
    entropy = _entropies(probabilities, matrix.shape[0])
    present = presence(matrix)
    total = np.asarray(present.T @ entropy)
    if weighting == "total":
        return total
    documents = np.asarray(present.sum(axis=0)).ravel()
    often = np.maximum(documents, 1.0)  # log 1 = 0: words of one document or none
    return np.asarray(np.log(often) * total / often)


def most_uncertain(
    X: sparse.csr_array, probabilities: FloatArray, *, n: int | None = None, weighting: Weighting = "weighted"
) -> Ranking:
    """The ``n`` columns of highest ``uncertainty`` (all, if None).

    >>> X = sparse.csr_array([[1, 0, 1], [1, 0, 1], [0, 1, 1], [0, 1, 0]])
    >>> sure, torn = [1.0, 0.0], [0.5, 0.5]
    >>> most_uncertain(X, np.array([sure, sure, torn, torn]), n=2).named(["puck", "season", "the"])
    [('season', 0.480...), ('the', 0.253...)]
    """
    return rank(uncertainty(X, probabilities, weighting=weighting), n)


def _entropies(probabilities: FloatArray, rows: int) -> FloatArray:
    p = np.asarray(probabilities, dtype=np.float64)
    if p.ndim != 2 or p.shape[0] != rows:
        raise DataError(f"There are {rows} documents and probabilities of the shape {p.shape}: give a row each.")
    if not np.all(p >= 0) or not np.allclose(p.sum(axis=1), 1.0, atol=1e-6):  # NaN is not ≥ 0
        raise DataError("Probabilities must not be negative, and those of each document must sum to one.")
    return _entropy(p)


def _entropy_of_counts(counts: FloatArray) -> FloatArray:
    """The entropy of each row; 0 where nothing is counted."""
    total = counts.sum(axis=1, keepdims=True)
    return _entropy(np.divide(counts, total, out=np.zeros_like(counts), where=total > 0))


def _entropy(p: FloatArray) -> FloatArray:
    """−Σ_y p(y)·log p(y) over the last axis, in nats; 0·log 0 = 0."""
    logs = np.log(p, out=np.zeros_like(p), where=p > 0)
    return np.asarray(-np.sum(p * logs, axis=-1))


def learn_topics(X: sparse.csr_array, n_topics: int, *, passes: int = 10, random_state: int = 0) -> FloatArray:
    """p(word | topic) of latent Dirichlet allocation (Blei, Ng & Jordan 2003): topics × columns, each row sums to one.

        θ_i ~ Dirichlet(1/K);  φ_k ~ Dirichlet(1/K);  every token of document i: z ~ θ_i, word ~ φ_z

    by scikit-learn's online variational Bayes, ``passes`` times over the documents. X are counts, without stop words if
    topics are not to begin with them. One seed gives one answer. O(passes · non-zeros · topics), with a large constant:
    leave out rare words.
    """
    matrix = check_counts(X)
    if n_topics < 1 or passes < 1:
        raise DataError(f"n_topics={n_topics} and passes={passes} must be 1 or more.")
    if matrix.nnz == 0:
        raise DataError("X is empty: no document has any word, so there are no topics.")
    from sklearn.decomposition import LatentDirichletAllocation

    model = LatentDirichletAllocation(
        n_topics,
        learning_method="online",
        max_iter=passes,
        batch_size=256,
        max_doc_update_iter=30,
        random_state=random_state,
    )
    weights = model.fit(matrix).components_
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def topic_shares(X: sparse.csr_array, topics: FloatArray, *, steps: int = 10) -> FloatArray:
    """p(topic | document) under given topics: documents × topics, by EM with the topics held fixed.

        θ_i(k) ∝ (1/K + Σ_w x_iw · θ_i(k)·φ_k(w) / Σ_l θ_i(l)·φ_l(w))

    A document without words has 1/K of each. O(steps · non-zeros · topics); memory O(documents · topics).
    """
    matrix = check_counts(X)
    n_topics = topics.shape[0]
    _check_topics(topics, matrix)
    shares = np.full((matrix.shape[0], n_topics), 1 / n_topics)
    words = np.ascontiguousarray(topics.T)
    for begin in range(0, matrix.shape[0], _ROWS):
        part = matrix[begin : begin + _ROWS]
        row = np.repeat(np.arange(part.shape[0]), np.diff(part.indptr))
        found = shares[begin : begin + _ROWS]
        for _ in range(steps):
            mixed = np.einsum("jk,jk->j", found[row], words[part.indices])
            per = np.divide(part.data, mixed, out=np.zeros_like(mixed), where=mixed > 0)
            weights = sparse.csr_array((per, part.indices, part.indptr), shape=part.shape)
            found = found * (weights @ words) + 1 / n_topics
            found /= found.sum(axis=1, keepdims=True)
        shares[begin : begin + _ROWS] = found
    return shares


def topic_words(
    X: sparse.csr_array,
    *,
    n: int | None = None,
    n_topics: int = 50,
    per_topic: int = 10,
    relevance: float = 1.0,
    passes: int = 10,
    random_state: int = 0,
    topics: FloatArray | None = None,
) -> Ranking:
    """The ``per_topic`` words of each topic of ``learn_topics``, without duplicates; of all these the ``n`` best.

        score(w) = 1 / (the best place of w in any topic);    equal scores: the more probable first

    so the first words of all topics come first, then the second ones. A topic's words are in the order of
    log φ_k(w) − (1 − relevance)·log p(w) (Sievert & Shirley 2014): with 1, the most probable ones; smaller numbers
    prefer words that are the topic's own. Columns that no document has are left out. ``topics``: those of
    ``learn_topics(X, ...)``, if they are known already.
    """
    matrix = check_counts(X)
    _check_asked("n", n, matrix.shape[1])
    _check_asked("per_topic", per_topic, matrix.shape[1])
    if not 0 <= relevance <= 1:
        raise DataError(f"relevance={relevance} must be between 0 and 1.")
    if topics is None:
        topics = learn_topics(matrix, n_topics, passes=passes, random_state=random_state)
    _check_topics(topics, matrix)
    return _rank_topics(topics, np.asarray(matrix.sum(axis=0), dtype=np.float64), per_topic, relevance, n)


def _check_topics(topics: FloatArray, matrix: sparse.csr_array) -> None:
    if topics.ndim != 2 or topics.shape[1] != matrix.shape[1]:
        raise DataError(f"X has {matrix.shape[1]} columns and topics the shape {topics.shape}: give topics × columns.")


def _rank_topics(topics: FloatArray, totals: FloatArray, per_topic: int, relevance: float, n: int | None) -> Ranking:
    used = np.flatnonzero(totals > 0)
    value = np.log(topics[:, used]) - (1 - relevance) * np.log(totals[used] / totals.sum())
    order = np.argsort(-value, axis=1, kind="stable")[:, :per_topic]
    place = np.full(len(used), np.inf)
    for position, columns in enumerate(order.T, start=1):
        place[columns] = np.minimum(place[columns], position)
    found = np.flatnonzero(np.isfinite(place))
    best = found[np.lexsort((-topics[:, used].max(axis=0)[found], place[found]))][:n]
    return Ranking(used[best], 1 / place[best])
