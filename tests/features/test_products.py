"""Both products with a sparse matrix, and weights of observed pairs: as in NumPy, at any number of threads."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from tiltfit.execution.workers import Workers
from tiltfit.features import products
from tiltfit.features.observed import ObservedFeatures
from tiltfit.features.products import Product, restricted


def zipf(rng, n, d):
    """Some columns fire nearly everywhere, most hardly ever; one row and one column are empty."""
    chance = 1 / (1 + np.arange(d))
    X = (rng.random((n, d)) < chance) * rng.normal(size=(n, d))
    X[:, -1] = 0.0
    X[rng.integers(n)] = 0.0
    return sparse.csr_array(X)


@pytest.fixture
def eager(monkeypatch):
    """Columns count as frequent early, so that small matrices go both ways."""
    monkeypatch.setattr(products, "_LARGE", 0)
    monkeypatch.setattr(products, "_FREQUENT", 3)


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("n_labels", [1, 2, 4, 7, 22, 31, 32, 33, 70])
def test_frequent_columns_are_summed_as_the_others(n_labels):
    rng = np.random.default_rng(n_labels)
    X = zipf(rng, 60, 25)
    product = Product(X, n_labels)
    assert 0 < len(product._frequent) < 24
    R, out = rng.normal(size=(60, n_labels)), np.full((25, n_labels), np.nan)
    product.expect(R, out)
    np.testing.assert_allclose(out, X.T @ R, atol=1e-12)
    W, base = rng.normal(size=(25, n_labels)), rng.normal(size=n_labels)
    np.testing.assert_allclose(product.score(W, base), X @ W + base, atol=1e-12)


def test_the_table_of_frequent_columns_stays_small(eager, monkeypatch):
    monkeypatch.setattr(products, "_TABLE", 12)
    X = zipf(np.random.default_rng(0), 200, 25)
    counts = np.bincount(X.indices, minlength=25)
    assert sorted(counts[Product(X, 4)._frequent]) == sorted(counts)[-3:]


def test_residuals_that_fit_the_cache_need_no_table():
    assert not len(Product(zipf(np.random.default_rng(0), 500, 5), 3)._frequent)


@pytest.mark.parametrize("n_labels", [3, 22])
def test_products_have_the_same_bits_at_any_number_of_threads(n_labels):
    rng = np.random.default_rng(0)
    n = products._LARGE // n_labels + 1
    X = zipf(rng, n, 12)
    one, three = (Product(X, n_labels, Workers(k)) for k in (1, 3))
    R, W = rng.normal(size=(n, n_labels)), rng.normal(size=(12, n_labels))
    found = [np.empty((12, n_labels)) for _ in range(2)]
    for product, out in zip((one, three), found, strict=True):
        product.expect(R, out)
    assert len(one._frequent)
    assert np.array_equal(*found)
    assert np.array_equal(one.score(W, np.zeros(n_labels)), three.score(W, np.zeros(n_labels)))


def test_restricted_renumbers_columns_and_drops_others():
    X = sparse.csr_array(np.array([[1.0, 2.0, 0.0], [0.0, 0.0, 3.0], [4.0, 0.0, 0.0]]))
    found = restricted(X, np.array([1, -1, 0]), 2)
    assert found.toarray().tolist() == [[0.0, 1.0], [3.0, 0.0], [0.0, 4.0]]


@settings(max_examples=40)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 30),
    d=st.integers(1, 12),
    n_labels=st.sampled_from([1, 2, 5, 17, 40]),
)
def test_observed_features_are_adjoint_and_agree_with_numpy(seed, n, d, n_labels):
    rng = np.random.default_rng(seed)
    X = sparse.csr_array(sparse.random_array((n, d), density=0.4, rng=rng))
    labels = rng.integers(-1, n_labels, size=n)
    labels[rng.random(n) < 0.5] = 0  # attributes with one label beside those with many
    features = ObservedFeatures.of(X, labels, n_labels, Workers())
    pairs = {(int(a), int(y)) for i, y in enumerate(labels) if y >= 0 for a in X[[i]].indices}
    assert features.n_weights == len(pairs)
    weights, node = rng.normal(size=features.n_weights), rng.normal(size=(n, n_labels))
    W = features.table(weights)
    assert {(int(a), int(y)) for a, y in np.argwhere(W)} == pairs
    assert np.array_equal(features.flat(W), weights)
    np.testing.assert_allclose(features.score(weights).node, X @ W, atol=1e-12)
    np.testing.assert_allclose(features.expect(node), features.flat(X.T @ node), atol=1e-12)
    rows = np.flatnonzero(rng.random(n) < 0.5)
    np.testing.assert_allclose(features.take(rows).score(weights).node, (X @ W)[rows], atol=1e-12)


def test_observed_pairs_go_both_ways_and_have_the_same_bits_at_any_number_of_threads():
    rng = np.random.default_rng(0)
    X = zipf(rng, 10_000, 600)
    labels = np.where(rng.random(10_000) < 0.9, 0, rng.integers(20, size=10_000))
    one, three = (ObservedFeatures.of(X, labels, 20, Workers(k)) for k in (1, 3))
    assert 0 < len(one._in_table) < one.n_weights
    weights, node = rng.normal(size=one.n_weights), rng.normal(size=(10_000, 20))
    assert np.array_equal(one.score(weights).node, three.score(weights).node)
    assert np.array_equal(one.expect(node), three.expect(node))
