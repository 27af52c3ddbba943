"""Vectors beside attributes against the same numbers as one matrix."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from tiltfit.execution.workers import Workers
from tiltfit.features.attributes import AttributeFeatures, OccupiedFeatures
from tiltfit.features.beside import Beside, BesideFeatures, VectorFeatures, Vectors
from tiltfit.features.chains import ChainFeatures
from tiltfit.features.merging import Merging
from tiltfit.features.observed import ObservedFeatures


def made(seed, n, types, d, attributes, n_labels, workers=None, scale=1.0):
    """The operator; its vectors are those of ``types`` types, or, if that is None, different everywhere."""
    rng = np.random.default_rng(seed)
    workers = workers or Workers()
    X = sparse.csr_array((rng.random((n, attributes)) < 0.4).astype(float))
    if types is None:
        vectors = Vectors(scale * rng.normal(size=(n, d)))
    else:
        vectors = Vectors(scale * rng.normal(size=(types, d)), rng.integers(types, size=n))
    others = AttributeFeatures(X, n_labels, workers, intercept=False)
    whole = np.hstack([vectors.toarray(), X.toarray()])
    return BesideFeatures(VectorFeatures(vectors, n_labels, workers), others), whole, rng


SIZES = {
    "seed": st.integers(0, 1000),
    "n": st.integers(1, 8),
    "types": st.none() | st.integers(1, 5),
    "d": st.integers(1, 5),
    "attributes": st.integers(0, 6),
    "n_labels": st.integers(1, 5),
}


@settings(deadline=None, max_examples=60)
@given(**SIZES)
def test_it_is_the_operator_of_both_matrices_side_by_side_and_its_adjoint(**sizes):
    features, whole, rng = made(**sizes)
    weights, node = rng.normal(size=features.n_weights), rng.normal(size=(sizes["n"], sizes["n_labels"]))
    score, expectation = features.score(weights).node, features.expect(node)
    table = weights.reshape(-1, sizes["n_labels"])
    np.testing.assert_allclose(score, whole @ table, atol=1e-12)
    np.testing.assert_allclose(expectation, (whole.T @ node).ravel(), atol=1e-12)
    assert np.sum(score * node) == pytest.approx(weights @ expectation, abs=1e-10)
    np.testing.assert_allclose(features.X.toarray(), whole)
    np.testing.assert_array_equal(features.table(weights), table)
    np.testing.assert_array_equal(features.flat(table), weights)
    assert features.size == pytest.approx(np.abs(whole).sum())
    assert Beside(features.dense.vectors, features.others.X).shape == whole.shape


@settings(deadline=None, max_examples=40)
@given(**SIZES, rows=st.lists(st.integers(0, 7), max_size=6))
def test_some_positions_alone(rows, **sizes):
    features, whole, rng = made(**sizes)
    rows = np.array([r for r in rows if r < sizes["n"]], dtype=np.intp)
    weights = rng.normal(size=features.n_weights)
    here, some = whole[rows], weights.reshape(-1, sizes["n_labels"])
    np.testing.assert_allclose(features.take(rows).score(weights).node, here @ some, atol=1e-12)
    narrow, kept = features.narrow(rows)
    np.testing.assert_allclose(narrow.score(some[kept].ravel()).node, here @ some, atol=1e-12)
    node = rng.normal(size=(len(rows), sizes["n_labels"]))
    np.testing.assert_allclose(narrow.expect(node), (here.T @ node)[kept].ravel(), atol=1e-12)


def test_types_that_do_not_occur_are_dropped():
    vectors = Vectors(np.arange(8.0).reshape(4, 2), np.array([3, 0, 3]))
    some = vectors.take(np.array([0, 2]))
    assert some.table.tolist() == [[6.0, 7.0]]
    assert some.codes.tolist() == [0, 0]


def test_attributes_that_occur_together_are_merged_and_vectors_are_not():
    rng = np.random.default_rng(0)
    once = (rng.random((20, 3)) < 0.5).astype(float)
    X = sparse.csr_array(np.repeat(once, 2, axis=1))
    dense = VectorFeatures(Vectors(rng.normal(size=(20, 2))), 3)
    features = ChainFeatures(BesideFeatures(dense, AttributeFeatures(X, 3, intercept=False)), np.ones((1, 1)))
    merged, group = features.merged()
    merging = Merging(group, 3)
    assert merged.n_weights == features.n_weights - 3 * 3
    even = merging.expand(rng.normal(size=merged.n_weights))
    np.testing.assert_allclose(merged.score(merging.contract(even)).node, features.score(even).node, atol=1e-12)
    node, edge = rng.normal(size=(20, 3)), rng.normal(size=(1, 3, 3))
    # v·(merged f) = w·f for even w = expand(v), so merged expectations are those of expand's adjoint.
    v = rng.normal(size=merged.n_weights)
    assert v @ merged.expect(node, edge) == pytest.approx(merging.expand(v) @ features.expect(node, edge))


@pytest.mark.parametrize("others", ["observed", "occupied"])
def test_other_operators_of_attributes(others):
    rng = np.random.default_rng(1)
    X = sparse.csr_array((rng.random((12, 9)) < 0.3) * (np.arange(9) % 3 > 0).astype(float))
    labels = rng.integers(-1, 3, size=12)
    plain = (
        ObservedFeatures.of(X, labels, 3, Workers())
        if others == "observed"
        else OccupiedFeatures.of(X, 3, Workers(), intercept=False)
    )
    V = rng.normal(size=(12, 2))
    features = BesideFeatures(VectorFeatures(Vectors(V), 3), plain)
    weights = rng.normal(size=features.n_weights)
    table = features.table(weights)
    assert table.shape == (11, 3)
    np.testing.assert_array_equal(features.flat(table), weights)
    np.testing.assert_allclose(features.score(weights).node, np.hstack([V, X.toarray()]) @ table, atol=1e-12)
    assert features.merged() is None or others == "occupied"


def test_units_of_large_values():
    assert made(0, 5, 3, 2, 4, 2)[0].units() is None
    units = made(0, 5, 3, 2, 4, 2, scale=1e4)[0].units().reshape(-1, 2)
    assert np.all(units[:2] > 100)
    assert np.all(units[2:] == 1)


@pytest.mark.parametrize("types", [None, 5000])
def test_same_bits_at_any_number_of_threads(types):
    one, _, rng = made(0, 9000, types, 40, 30, 5, Workers(1))
    three = made(0, 9000, types, 40, 30, 5, Workers(3))[0]
    weights, node = rng.normal(size=one.n_weights), rng.normal(size=(9000, 5))
    assert np.array_equal(one.score(weights).node, three.score(weights).node)
    assert np.array_equal(one.expect(node), three.expect(node))
