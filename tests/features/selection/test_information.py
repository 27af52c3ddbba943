"""Information gain against scikit-learn's mutual information, and the oracle's choice of words."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.metrics import mutual_info_score

from tiltfit.errors import DataError
from tiltfit.features.selection import information_gain, labelled_words, most_informative


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 1000), n=st.integers(2, 30), n_labels=st.integers(2, 4))
def test_information_gain_is_mutual_information(seed, n, n_labels):
    rng = np.random.default_rng(seed)
    X, labels = rng.integers(0, 3, size=(n, 5)).astype(float), rng.integers(n_labels, size=n)
    got = information_gain(sparse.csr_array(X), labels, n_labels)
    expected = [mutual_info_score(X[:, j] > 0, labels) for j in range(5)]
    np.testing.assert_allclose(got, expected, atol=1e-12)
    ranking = most_informative(sparse.csr_array(X), labels, n_labels, n=3)
    assert ranking.columns.tolist() == np.argsort(-got, kind="stable")[:3].tolist()
    np.testing.assert_array_equal(ranking.scores, got[ranking.columns])


def test_stored_zeros_are_no_presence():
    X = sparse.csr_array((np.array([1.0, 0.0]), (np.array([0, 1]), np.array([0, 0]))), shape=(2, 1))
    assert information_gain(X, np.array([0, 1]), 2)[0] == pytest.approx(np.log(2))


def test_oracle_takes_the_best_words_of_each_label_and_rejects_the_undecided():
    labels = np.repeat([0, 1], 50)
    sure_0, sure_1 = labels == 0, labels == 1
    weak_1 = sure_1 & (np.arange(100) % 2 == 0)
    undecided = np.arange(100) % 2 == 0
    undecided[:4] = False
    X = sparse.csr_array(np.column_stack([undecided, weak_1, sure_0, sure_1]).astype(float))
    assert labelled_words(X, labels, 2, per_label=1, dominance=0.9) == [(2, 0), (3, 1)]
    assert labelled_words(X, labels, 2, per_label=2, dominance=0.9) == [(2, 0), (3, 1), (1, 1)]


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (np.array([0, 2]), "from 0 to 1"),
        (np.array([-1, 0]), "from 0 to 1"),
        (np.array([0.0, 1.0]), "integers from 0"),
        (np.array(["a", "b"]), "integers from 0"),
        (np.array([0, 1, 1]), "2 documents and labels of the shape"),
    ],
)
def test_labels_that_are_no_codes(labels, message):
    with pytest.raises(DataError, match=message):
        information_gain(sparse.csr_array(np.eye(2)), labels, 2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"per_label": -1}, "per_label=-1"),
        ({"per_label": 1.5}, "per_label=1.5"),
        ({"per_label": 1, "dominance": 2}, "dominance=2"),
    ],
)
def test_amounts_that_cannot_be(options, message):
    with pytest.raises(DataError, match=message):
        labelled_words(sparse.csr_array(np.eye(2)), np.array([0, 1]), 2, **options)
