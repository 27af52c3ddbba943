"""Bundles of attributes: the same matrix in fewer non-zeros, found as by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from tests.oracles import bundles as oracle

from tiltfit.execution.workers import Workers
from tiltfit.features import bundles, products
from tiltfit.features.bundles import bundled
from tiltfit.features.products import Product


def typed(rng, n, n_types=12, each=4, rare=30):
    """Positions of a few types, each with attributes of its own and of others, and one rare attribute at each."""
    types = sparse.csr_array((rng.random((n_types, 2 * each)) < 0.6).astype(float))
    here = rng.integers(n_types, size=n)
    own = sparse.csr_array((np.ones(n), rng.integers(rare, size=n), np.arange(n + 1)), shape=(n, rare))
    return sparse.csr_array(sparse.hstack((types[here], own, types[np.roll(here, 1)])))


def unbundled(found, n_columns):
    return found.rows[:, :n_columns] + found.rows[:, n_columns:] @ found.parts


@settings(max_examples=60, deadline=None)
@given(rows=st.lists(st.lists(st.integers(0, 5), max_size=7), min_size=1, max_size=12), least=st.integers(1, 4))
def test_a_round_joins_as_by_hand(rows, least):
    lengths = np.array([len(row) for row in rows])
    ends = np.cumsum(lengths)
    starts, values = ends - lengths, np.array([v for row in rows for v in row], dtype=np.int32)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bundles, "_OFTEN", least)
        pairs = bundles._join(starts, ends, values, 100)
    expected, numbers = oracle.join(rows, least, 100)
    assert [values[a:b].tolist() for a, b in zip(starts, ends, strict=True)] == expected
    assert [tuple(pair) for pair in pairs.tolist()] == numbers


@pytest.mark.parametrize("seed", range(4))
def test_it_is_the_same_matrix_in_fewer_non_zeros(seed):
    X = typed(np.random.default_rng(seed), 400)
    found = bundled(X)
    assert found is not None
    assert found.rows.nnz < 0.6 * X.nnz
    np.testing.assert_array_equal(unbundled(found, X.shape[1]).toarray(), X.toarray())
    assert set(found.parts.data) == {1.0}
    often = np.bincount(found.rows.indices, minlength=found.rows.shape[1])[X.shape[1] :]
    assert often.min() > 0
    assert np.all(np.diff(often) <= 0)  # the most frequent first


def test_attributes_that_do_not_occur_together_are_left_alone():
    assert bundled(sparse.csr_array(np.eye(50))) is None
    assert bundled(sparse.csr_array((5, 3))) is None
    once = np.random.default_rng(0).permutation(400).reshape(100, 4)
    assert bundled(sparse.csr_array((np.ones(400), once.ravel(), np.arange(0, 401, 4)), shape=(100, 400))) is None


@pytest.mark.parametrize("n_labels", [1, 3, 13, 40])
@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("scaled", [False, True])
def test_products_go_through_bundles(monkeypatch, n_labels, workers, scaled):
    monkeypatch.setattr(products, "_FEW", 0)
    rng = np.random.default_rng(n_labels)
    X = typed(rng, 3000)
    scale = rng.normal(size=X.shape[1]) if scaled else None
    product, alone = (Product(X, n_labels, Workers(k), scale, reused=True) for k in (workers, 1))
    assert product._bundles is not None
    W, base, R = (rng.normal(size=shape) for shape in ((X.shape[1], n_labels), n_labels, (3000, n_labels)))
    F = np.ones((X.shape[1], 1)) if scale is None else scale[:, None]
    np.testing.assert_allclose(product.score(W, base), X @ (F * W) + base, atol=1e-12)
    out, other = np.full((2, X.shape[1], n_labels), np.nan)
    product.expect(R, out)
    np.testing.assert_allclose(out, F * (X.T @ R), atol=1e-10)
    alone.expect(R, other)
    np.testing.assert_array_equal(out, other)
    np.testing.assert_array_equal(product.score(W, base), alone.score(W, base))


@pytest.mark.parametrize("kind", ["counts", "duplicates", "large", "tiny", "used once"])
def test_matrices_without_bundles(monkeypatch, kind):
    rng = np.random.default_rng(0)
    X = typed(rng, 3000)
    if kind == "counts":
        X.data[3] = 2.0
    elif kind == "duplicates":  # the same column twice in a row counts twice
        row = X.indptr[np.flatnonzero(np.diff(X.indptr) > 1)[0]]
        X.indices[row + 1] = X.indices[row]
        X.has_canonical_format = False
    elif kind == "large":
        monkeypatch.setattr(products, "_LARGE", X.shape[0] * 3)
    elif kind == "tiny":
        monkeypatch.setattr(products, "_FEW", X.nnz + 1)
    product = Product(X, 3, reused=kind != "used once")
    assert product._bundles is None
    W, R, out = rng.normal(size=(X.shape[1], 3)), rng.normal(size=(3000, 3)), np.empty((X.shape[1], 3))
    np.testing.assert_allclose(product.score(W, np.zeros(3)), X @ W, atol=1e-12)
    product.expect(R, out)
    np.testing.assert_allclose(out, X.T @ R, atol=1e-10)
