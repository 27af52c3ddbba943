"""Information gain against scikit-learn's mutual information, and the oracle's choice of words."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.metrics import mutual_info_score

from tiltfit.features.selection import information_gain, labelled_words


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 1000), n=st.integers(2, 30), n_labels=st.integers(2, 4))
def test_information_gain_is_mutual_information(seed, n, n_labels):
    rng = np.random.default_rng(seed)
    X, labels = rng.integers(0, 3, size=(n, 5)).astype(float), rng.integers(n_labels, size=n)
    got = information_gain(sparse.csr_array(X), labels, n_labels)
    expected = [mutual_info_score(X[:, j] > 0, labels) for j in range(5)]
    np.testing.assert_allclose(got, expected, atol=1e-12)


def test_oracle_takes_the_best_words_of_each_label_and_rejects_the_undecided():
    labels = np.repeat([0, 1], 50)
    sure_0, sure_1 = labels == 0, labels == 1
    weak_1 = sure_1 & (np.arange(100) % 2 == 0)
    undecided = np.arange(100) % 2 == 0
    undecided[:4] = False
    X = sparse.csr_array(np.column_stack([undecided, weak_1, sure_0, sure_1]).astype(float))
    assert labelled_words(X, labels, 2, per_label=1, dominance=0.9) == [(2, 0), (3, 1)]
    assert labelled_words(X, labels, 2, per_label=2, dominance=0.9) == [(2, 0), (3, 1), (1, 1)]
