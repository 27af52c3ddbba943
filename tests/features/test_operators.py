"""Feature sets are linear operators with their adjoints, sparse and dense alike, at any number of threads."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from tests.oracles.tilts import label_features

from tiltfit.execution.workers import Workers
from tiltfit.features.attributes import AttributeFeatures


def random_sparse(rng, n, d, density=0.4, index_dtype=np.int32):
    X = sparse.csr_array(sparse.random_array((n, d), density=density, rng=rng))
    X.indices, X.indptr = X.indices.astype(index_dtype), X.indptr.astype(index_dtype)
    return X


@settings(deadline=None, max_examples=40)
@given(
    seed=st.integers(0, 1000),
    n=st.integers(1, 8),
    d=st.integers(1, 12),
    n_labels=st.integers(1, 70),  # labels go through the kernel in tiles of up to 32 columns
    dense=st.booleans(),
    index_dtype=st.sampled_from([np.int32, np.int64]),
)
def test_attribute_features_are_adjoint_and_agree_with_numpy(seed, n, d, n_labels, dense, index_dtype):
    rng = np.random.default_rng(seed)
    X = random_sparse(rng, n, d, index_dtype=index_dtype)
    features = AttributeFeatures(X.toarray() if dense else X, n_labels)
    weights, node = rng.normal(size=features.n_weights), rng.normal(size=(n, n_labels))
    W, b = features.unpack(weights)
    score, expectation = features.score(weights).node, features.expect(node)
    np.testing.assert_allclose(score, X.toarray() @ W + b, atol=1e-12)
    np.testing.assert_allclose(features.unpack(expectation)[0], X.toarray().T @ node, atol=1e-12)
    assert np.sum(score * node) == pytest.approx(weights @ expectation)


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 1000), n=st.integers(1, 8), rows=st.integers(1, 6), n_labels=st.integers(2, 5))
def test_constraint_features_are_adjoint_and_agree_with_loops(seed, n, rows, n_labels):
    rng = np.random.default_rng(seed)
    fires, events = rng.random((n, rows)) < 0.5, (rng.random((rows, n_labels)) < 0.5).astype(float)
    features = label_features(sparse.csr_array(fires.astype(float)), events)
    prices, node = rng.normal(size=rows), rng.normal(size=(n, n_labels))
    slow = np.zeros((n, n_labels))
    for i in range(n):
        for r in range(rows):
            slow[i] += fires[i, r] * prices[r] * events[r]
    np.testing.assert_allclose(features.score(prices).node, slow, atol=1e-12)
    assert np.sum(slow * node) == pytest.approx(prices @ features.expect(node))


@pytest.mark.parametrize("n_labels", [1, 3, 4, 10, 37])
def test_same_bits_at_any_number_of_threads(n_labels):
    rng = np.random.default_rng(0)
    X = random_sparse(rng, 3000, 200, density=0.1)
    one, three = AttributeFeatures(X, n_labels, Workers(1)), AttributeFeatures(X, n_labels, Workers(3))
    weights, node = rng.normal(size=one.n_weights), rng.normal(size=(3000, n_labels))
    assert np.array_equal(one.score(weights).node, three.score(weights).node)
    assert np.array_equal(one.expect(node), three.expect(node))


@pytest.mark.parametrize("n_labels", [*range(1, 70), 105])
def test_the_product_writes_every_column_whatever_was_there(n_labels):
    from tiltfit.kernels.sparse import add_product

    rng = np.random.default_rng(n_labels)
    X = random_sparse(rng, 6, 9)
    X = sparse.csr_array(sparse.vstack([X, sparse.csr_array((1, 9))]))  # the last row is empty
    dense, base, out = rng.normal(size=(9, n_labels)), rng.normal(size=n_labels), np.full((9, n_labels), np.nan)
    rows, inner, outer = np.array([0, 8, 2, 3, 6, 4, 5], np.int32), rng.normal(size=9), rng.normal(size=9)
    for data in (X.data, None):
        for cut in (9, 5):  # all rows in one table, or in two
            for scaled in (False, True):
                out[:] = np.nan
                F, G = (inner, outer) if scaled else (None, None)
                add_product(
                    X.indptr, X.indices, data, rows, dense[:cut].copy(), dense[cut:].copy(), F, G, base, out, 1, 7
                )  # fmt: skip
                expected = (X if data is not None else X != 0) @ (dense * inner[:, None] if scaled else dense) + base
                expected *= outer[rows, None] if scaled else 1.0
                np.testing.assert_allclose(out[rows[1:]], expected[1:], atol=1e-12)
                assert np.isnan(out[[0, 1, 7]]).all()  # nothing outside its range


def test_strided_arrays_inside_a_sparse_matrix():
    rng = np.random.default_rng(0)
    X = random_sparse(rng, 6, 9)
    strided = X.copy()
    strided.data, strided.indices = np.repeat(X.data, 2)[::2], np.repeat(X.indices, 2)[::2]
    weights = rng.normal(size=30)
    assert np.array_equal(
        AttributeFeatures(strided, 3).score(weights).node, AttributeFeatures(X, 3).score(weights).node
    )
