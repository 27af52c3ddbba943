"""The words that say most about known labels: for experiments whose constraints come from an oracle, and for
suggestions where some documents are labelled."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tiltfit.arrays import FloatArray
from tiltfit.errors import DataError
from tiltfit.features.selection.ranking import Ranking, check_counts, presence, rank

Codes = npt.NDArray[np.integer[Any]]


def information_gain(X: sparse.csr_array, labels: Codes, n_labels: int) -> FloatArray:
    """IG(word) = H(Y) − P(w)·H(Y | w present) − P(¬w)·H(Y | w absent), in nats; one number per column of X.

    Presence is X > 0; labels are codes, 0 to ``n_labels`` − 1. O(non-zeros).
    """
    counts = presence_counts(X, labels, n_labels)
    total = np.bincount(labels, minlength=n_labels).astype(np.float64)
    n = total.sum()
    n_present = counts.sum(axis=1)
    present = _entropy(counts)
    absent = _entropy(total[None, :] - counts)
    return np.asarray(_entropy(total[None, :])[0] - (n_present * present + (n - n_present) * absent) / n)


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
    onehot = np.zeros((matrix.shape[0], n_labels))
    onehot[np.arange(matrix.shape[0]), codes] = 1.0
    return np.asarray(presence(matrix).T @ onehot)


def labelled_words(
    X: sparse.csr_array, labels: Codes, n_labels: int, *, per_label: int, dominance: float = 0.5
) -> list[tuple[int, int]]:
    """An oracle's labelled words: pairs (column, label), the ``per_label`` most informative columns of each label.

    A word belongs to the label that most documents with it have. Like a person, the oracle rejects a word whose label
    is not dominant: whose share of these documents is below ``dominance``.
    """
    if isinstance(per_label, bool) or not isinstance(per_label, int | np.integer) or per_label < 1:
        raise DataError(f"per_label={per_label!r} must be an integer of at least 1.")
    if not 0 <= dominance <= 1:
        raise DataError(f"dominance={dominance!r} must be between 0 and 1.")
    counts = presence_counts(X, labels, n_labels)
    majority = counts.argmax(axis=1)
    share = counts.max(axis=1) / np.maximum(counts.sum(axis=1), 1.0)
    gain = np.where(share >= dominance, information_gain(X, labels, n_labels), -np.inf)
    best = np.argsort(-gain, kind="stable")
    best = best[np.isfinite(gain[best])]
    return [(int(j), label) for label in range(n_labels) for j in best[majority[best] == label][:per_label]]


def _entropy(counts: FloatArray) -> FloatArray:
    total = counts.sum(axis=1, keepdims=True)
    shares = np.divide(counts, total, out=np.zeros_like(counts), where=total > 0)
    logs = np.log(shares, out=np.zeros_like(shares), where=shares > 0)
    return np.asarray(-np.sum(shares * logs, axis=1))
