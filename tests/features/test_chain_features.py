"""Features of chains and of observed pairs: linear operators with their adjoints, and the tables they stand for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from tiltfit.execution.workers import Workers
from tiltfit.features.attributes import AttributeFeatures
from tiltfit.features.chains import ChainFeatures
from tiltfit.features.constraints import ConstraintFeatures, Parts
from tiltfit.features.observed import ObservedFeatures
from tiltfit.inference.chain import Chains
from tiltfit.inference.potentials import Marginals


def make(seed, n=9, d=6, n_labels=3, n_kinds=4, n_edge=2, observed=False, workers=None):
    rng = np.random.default_rng(seed)
    X = sparse.csr_array(sparse.random_array((n, d), density=0.5, rng=rng))
    labels = rng.integers(-1, n_labels, size=n)
    workers = workers or Workers()
    nodes = AttributeFeatures(X, n_labels, workers, intercept=False)
    if observed:
        nodes = ObservedFeatures.of(X, labels, n_labels, workers)
    kinds = np.column_stack([np.ones(n_kinds), rng.normal(size=(n_kinds, n_edge - 1))])
    return ChainFeatures(nodes, kinds), X.toarray(), labels, rng


@settings(max_examples=30)
@given(
    seed=st.integers(0, 10_000), n=st.integers(1, 9), d=st.integers(1, 7), n_labels=st.integers(1, 40),
    n_kinds=st.integers(1, 5), n_edge=st.integers(1, 3), observed=st.booleans(),
)  # fmt: skip
def test_scores_are_sums_of_weights_and_expect_is_the_adjoint(seed, n, d, n_labels, n_kinds, n_edge, observed):
    features, X, _, rng = make(seed, n, d, n_labels, n_kinds, n_edge, observed)
    weights = rng.normal(size=features.n_weights)
    W, T = features.tables(weights)
    assert W.shape == (d, n_labels)
    assert T.shape == (n_edge, n_labels, n_labels)
    got = features.score(weights)
    np.testing.assert_allclose(got.node, X @ W, atol=1e-12)
    np.testing.assert_allclose(got.edge, np.einsum("ka,aij->kij", features.kinds, T), atol=1e-12)
    node, edge = rng.normal(size=got.node.shape), rng.normal(size=got.edge.shape)
    inner = np.sum(got.node * node) + np.sum(got.edge * edge)
    assert inner == pytest.approx(float(weights @ features.expect(node, edge)), abs=1e-9)
    np.testing.assert_array_equal(features.flat(W, T), weights)


@pytest.mark.parametrize("observed", [False, True])
def test_expectations_entry_by_entry(observed):
    features, X, labels, rng = make(3, observed=observed)
    node, edge = rng.random((9, 3)), rng.random((4, 3, 3))
    W, T = features.tables(features.expect(node, edge))
    full = X.T @ node
    if observed:
        seen = np.zeros((6, 3), dtype=bool)
        for i, label in enumerate(labels):
            if label >= 0:
                seen[X[i] != 0, label] = True
        assert 0 < seen.sum() < seen.size
        assert features.nodes.n_weights == seen.sum()
        full = np.where(seen, full, 0.0)
    np.testing.assert_allclose(W, full, atol=1e-12)
    np.testing.assert_allclose(T, np.einsum("ka,kij->aij", features.kinds, edge), atol=1e-12)


@pytest.mark.parametrize("observed", [False, True])
def test_some_positions_only(observed):
    features, X, _, rng = make(4, observed=observed)
    rows = np.array([5, 2, 2, 8])
    weights = rng.normal(size=features.n_weights)
    part = features.take(rows)
    assert part.n_weights == features.n_weights
    np.testing.assert_allclose(part.score(weights).node, features.score(weights).node[rows])
    node, edge = rng.normal(size=(4, 3)), rng.normal(size=(4, 3, 3))
    W, _ = part.tables(part.expect(node, edge))
    seen = features.nodes.table(np.ones(features.nodes.n_weights)) > 0
    np.testing.assert_allclose(W, np.where(seen, X[rows].T @ node, 0.0), atol=1e-12)


@pytest.mark.parametrize("observed", [False, True])
def test_same_bits_at_any_number_of_threads(observed):
    one, two, three = (make(5, 4000, 50, 7, observed=observed, workers=Workers(k))[0] for k in (1, 2, 3))
    rng = np.random.default_rng(0)
    weights, node, edge = rng.normal(size=one.n_weights), rng.normal(size=(4000, 7)), rng.normal(size=(4, 7, 7))
    for other in (two, three):
        assert np.array_equal(one.score(weights).node, other.score(weights).node)
        assert np.array_equal(one.expect(node, edge), other.expect(node, edge))


def test_nothing_observed_has_transitions_only():
    X = sparse.csr_array(np.ones((3, 2)))
    features = ChainFeatures(ObservedFeatures.of(X, np.full(3, -1), 2, Workers()), np.ones((1, 1)))
    assert features.n_weights == 4
    np.testing.assert_array_equal(features.score(np.ones(4)).node, np.zeros((3, 2)))
    np.testing.assert_array_equal(features.expect(np.ones((3, 2)), np.full((1, 2, 2), 2.0)), np.full(4, 2.0))


@settings(max_examples=30)
@given(seed=st.integers(0, 10_000), n=st.integers(1, 8), rows=st.integers(1, 4), n_labels=st.integers(2, 4))
def test_constraint_features_of_positions_and_edges_are_adjoint(seed, n, rows, n_labels):
    rng = np.random.default_rng(seed)

    def parts(places, width):
        n_parts = int(rng.integers(0, 5))
        fires = sparse.csr_array((rng.random((places, n_parts)) < 0.5).astype(float))
        return Parts(fires, rng.normal(size=(n_parts, width)), rng.integers(rows, size=n_parts))

    features = ConstraintFeatures(rows, parts(n, n_labels), parts(3, n_labels**2))
    prices = rng.normal(size=rows)
    got = features.score(prices)
    slow_node, slow_edge = np.zeros((n, n_labels)), np.zeros((3, n_labels**2))
    for found, slow in ((features.node, slow_node), (features.edge, slow_edge)):
        for i, p in zip(*found.fires.nonzero(), strict=True):
            slow[i] += prices[found.row[p]] * found.table[p]
    np.testing.assert_allclose(got.node, slow_node, atol=1e-12)
    np.testing.assert_allclose(got.edge, slow_edge.reshape(3, n_labels, n_labels), atol=1e-12)
    node, edge = rng.normal(size=got.node.shape), rng.normal(size=got.edge.shape)
    inner = np.sum(got.node * node) + np.sum(got.edge * edge)
    assert inner == pytest.approx(float(prices @ features.expect(node, edge)), abs=1e-9)


def test_edges_of_marginals_are_weighted_already():
    chains = Chains(np.array([0, 2, 4]), np.zeros(4, dtype=np.int32), 1)
    rng = np.random.default_rng(1)
    weight = np.array([2.0, 0.5])
    from tiltfit.inference.potentials import Potentials

    marginals = chains.infer(Potentials(rng.normal(size=(4, 2)), rng.normal(size=(1, 2, 2))), weight=weight)
    fires = sparse.csr_array(np.ones((4, 1)))
    stay = ConstraintFeatures(
        2,
        Parts(fires, np.array([[1.0, 0.0]]), np.array([0])),
        Parts(sparse.csr_array(np.ones((1, 1))), np.ones((1, 4)), np.array([1])),
    )
    sums = stay.weighted(Marginals(marginals.log_z, marginals.node, marginals.edge), chains, weight)
    assert sums[0] == pytest.approx(float(weight @ (marginals.node[::2, 0] + marginals.node[1::2, 0])))
    assert sums[1] == pytest.approx(2.5)  # an edge a sequence, with its weight
