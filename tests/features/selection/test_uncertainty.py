"""Uncertainty of words against sums over documents."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.stats import entropy

from tiltfit.errors import DataError
from tiltfit.features.selection import most_uncertain, uncertainty


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 1000), n=st.integers(1, 20), n_labels=st.integers(2, 4))
def test_uncertainty_by_brute_force(seed, n, n_labels):
    rng = np.random.default_rng(seed)
    X, p = rng.integers(0, 3, size=(n, 4)), rng.dirichlet(np.full(n_labels, 0.3), size=n)
    p[0] = np.eye(n_labels)[0]  # 0·log 0
    total, weighted = [], []
    for j in range(4):
        holding = [entropy(p[i]) for i in range(n) if X[i, j] > 0]
        total.append(sum(holding))
        weighted.append(np.log(len(holding)) * np.mean(holding) if holding else 0.0)
    matrix = sparse.csr_array(X)
    np.testing.assert_allclose(uncertainty(matrix, p, weighting="total"), total, atol=1e-12)
    np.testing.assert_allclose(uncertainty(matrix, p), weighted, atol=1e-12)
    assert most_uncertain(matrix, p, n=1, weighting="total").scores[0] == pytest.approx(max(total))


def test_closed_forms():
    X = sparse.csr_array(np.ones((8, 1)))
    even, sure = np.full((8, 4), 0.25), np.tile([1.0, 0, 0, 0], (8, 1))
    assert uncertainty(X, even, weighting="total")[0] == pytest.approx(8 * np.log(4))
    assert uncertainty(X, even)[0] == pytest.approx(np.log(8) * np.log(4))
    assert uncertainty(X, sure)[0] == 0


@pytest.mark.parametrize(
    ("p", "message"),
    [
        (np.full((3, 2), 0.5), "2 documents and probabilities of the shape"),
        (np.array([0.5, 0.5]), "give a row each"),
        (np.array([[0.5, 0.4], [0.5, 0.5]]), "sum to one"),
        (np.array([[1.5, -0.5], [0.5, 0.5]]), "not be negative"),
        (np.array([[np.nan, 0.5], [0.5, 0.5]]), "not be negative"),
    ],
)
def test_what_is_no_probability(p, message):
    with pytest.raises(DataError, match=message):
        uncertainty(sparse.csr_array(np.eye(2)), p)


def test_an_unknown_weighting():
    with pytest.raises(DataError, match='Did you mean "total"'):
        uncertainty(sparse.csr_array(np.eye(2)), np.full((2, 2), 0.5), weighting="totl")  # type: ignore[arg-type]
