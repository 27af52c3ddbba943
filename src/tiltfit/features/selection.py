"""Which words say most about the labels: for experiments whose constraints come from an oracle, and for suggestions."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import sparse

FloatArray = npt.NDArray[np.float64]


def information_gain(X: sparse.csr_array, labels: npt.NDArray[np.intp], n_labels: int) -> FloatArray:
    """IG(word) = H(Y) − P(w)·H(Y | w present) − P(¬w)·H(Y | w absent), in nats; one number a column of X.

    Presence is X > 0. O(non-zeros).
    """
    counts = presence_counts(X, labels, n_labels)
    total = np.bincount(labels, minlength=n_labels).astype(np.float64)
    n = total.sum()
    n_present = counts.sum(axis=1)
    present = _entropy(counts)
    absent = _entropy(total[None, :] - counts)
    return np.asarray(_entropy(total[None, :])[0] - (n_present * present + (n - n_present) * absent) / n)


def presence_counts(X: sparse.csr_array, labels: npt.NDArray[np.intp], n_labels: int) -> FloatArray:
    """How many documents of each label contain each column: columns × labels."""
    present = X.astype(np.float64)
    present.data = (present.data != 0).astype(np.float64)
    onehot = np.zeros((X.shape[0], n_labels))
    onehot[np.arange(X.shape[0]), labels] = 1.0
    return np.asarray(present.T @ onehot)


def _entropy(counts: FloatArray) -> FloatArray:
    total = counts.sum(axis=1, keepdims=True)
    shares = np.divide(counts, total, out=np.zeros_like(counts), where=total > 0)
    logs = np.log(shares, out=np.zeros_like(shares), where=shares > 0)
    return np.asarray(-np.sum(shares * logs, axis=1))


def labelled_words(
    X: sparse.csr_array, labels: npt.NDArray[np.intp], n_labels: int, *, per_label: int, dominance: float = 0.5
) -> list[tuple[int, int]]:
    """An oracle's labelled words: pairs (column, label), the ``per_label`` most informative columns of each label.

    A word belongs to the label that most documents with it have. Like a person, the oracle rejects a word whose label
    is not dominant: whose share of these documents is below ``dominance``.
    """
    counts = presence_counts(X, labels, n_labels)
    majority = counts.argmax(axis=1)
    share = counts.max(axis=1) / np.maximum(counts.sum(axis=1), 1.0)
    gain = np.where(share >= dominance, information_gain(X, labels, n_labels), -np.inf)
    best = np.argsort(-gain, kind="stable")
    best = best[np.isfinite(gain[best])]
    return [(int(j), label) for label in range(n_labels) for j in best[majority[best] == label][:per_label]]
