"""The words of topics: what documents talk about, found without labels."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from tiltfit.arrays import FloatArray
from tiltfit.errors import DataError
from tiltfit.features.selection.ranking import Ranking, check_counts, check_number

_ROWS = 1000  # documents at a time


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
    if topics.ndim != 2 or topics.shape[1] != matrix.shape[1]:
        raise DataError(f"X has {matrix.shape[1]} columns and topics the shape {topics.shape}: give topics × columns.")
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
    check_number("n", n, matrix.shape[1])
    check_number("per_topic", per_topic, matrix.shape[1])
    if not 0 <= relevance <= 1:
        raise DataError(f"relevance={relevance} must be between 0 and 1.")
    if topics is None:
        topics = learn_topics(matrix, n_topics, passes=passes, random_state=random_state)
    elif topics.ndim != 2 or topics.shape[1] != matrix.shape[1]:
        raise DataError(f"X has {matrix.shape[1]} columns and topics the shape {topics.shape}: give topics × columns.")
    return _rank_topics(topics, np.asarray(matrix.sum(axis=0), dtype=np.float64), per_topic, relevance, n)


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
