"""The words whose labels would help a model most."""

from __future__ import annotations

from typing import Literal

import numpy as np
from scipy import sparse

from tiltfit.arrays import FloatArray
from tiltfit.errors import DataError, did_you_mean
from tiltfit.features.selection.ranking import Ranking, check_counts, presence, rank

Weighting = Literal["total", "weighted"]
WEIGHTINGS = ("total", "weighted")


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
    if weighting not in WEIGHTINGS:
        raise DataError(
            f"weighting={weighting!r} is unknown: use {' or '.join(map(repr, WEIGHTINGS))}."
            f"{did_you_mean(weighting, WEIGHTINGS)}"
        )
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
    logs = np.log(p, out=np.zeros_like(p), where=p > 0)
    return np.asarray(-np.sum(p * logs, axis=1))
