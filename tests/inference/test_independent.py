"""Softmax inference against SciPy, also where scores are extreme or labels forbidden."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp, softmax

from tiltfit.execution.workers import Workers
from tiltfit.inference.independent import Independent, infer
from tiltfit.inference.potentials import Potentials


@settings(deadline=None, max_examples=50)
@given(
    seed=st.integers(0, 1000),
    n=st.integers(0, 9),
    n_labels=st.integers(1, 7),
    scale=st.sampled_from([0.0, 1.0, 100.0, 5e4]),
    forbid=st.booleans(),
)
def test_agrees_with_scipy(seed, n, n_labels, scale, forbid):
    rng = np.random.default_rng(seed)
    node = scale * rng.normal(size=(n, n_labels))
    if forbid:
        node[rng.random(node.shape) < 0.3] = -np.inf
        node[:, 0] = 0.0
    got = infer(Potentials(node))
    np.testing.assert_allclose(got.log_z, logsumexp(node, axis=1), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(got.node, softmax(node, axis=1), rtol=1e-10, atol=1e-300)


@settings(deadline=None, max_examples=50)
@given(seed=st.integers(0, 1000), n=st.integers(0, 5), n_labels=st.integers(1, 5), k=st.integers(1, 7))
def test_the_best_labels_by_sorting(seed, n, n_labels, k):
    node = np.random.default_rng(seed).integers(-2, 3, size=(n, n_labels)).astype(float)
    node[node == -2] = -np.inf
    labels, scores = Independent(n).k_best(Potentials(node), k)
    assert labels.shape == scores.T.shape == (k, n)
    for i, row in enumerate(node):
        ranked = sorted((y for y in range(n_labels) if row[y] > -np.inf), key=lambda y: (-row[y], y))[:k]
        missing = k - len(ranked)
        assert labels[:, i].tolist() == ranked + [-1] * missing
        assert scores[i].tolist() == [row[y] for y in ranked] + [-np.inf] * missing


def test_all_labels_forbidden_is_zero_mass_not_nan():
    got = infer(Potentials(np.full((1, 3), -np.inf)))
    assert got.log_z[0] == -np.inf
    assert got.node.tolist() == [[0.0, 0.0, 0.0]]


def test_the_exponential_to_one_unit_in_the_last_place():
    from tiltfit.inference.kernels.softmax import exp_of_negative

    rng = np.random.default_rng(0)
    x = np.concatenate([-rng.random(3000), -708 * rng.random(3000), [0.0, -0.0, -1e-300, -708.0]])
    got = np.array([exp_of_negative(v) for v in x])
    np.testing.assert_allclose(got, np.exp(x), rtol=np.finfo(float).eps, atol=0)
    assert exp_of_negative(-708.1) == exp_of_negative(-np.inf) == 0.0
    assert np.isnan(exp_of_negative(np.nan))


@pytest.mark.parametrize("n_labels", [1, 2, 7, 64, 3000])
def test_more_rows_than_fit_a_block(n_labels):
    node = 10 * np.random.default_rng(0).normal(size=(5000 // n_labels + 2, n_labels))
    got = infer(Potentials(node))
    np.testing.assert_allclose(got.log_z, logsumexp(node, axis=1), rtol=1e-12)
    np.testing.assert_allclose(got.node, softmax(node, axis=1), rtol=1e-12)


def test_nan_is_not_swallowed():
    got = infer(Potentials(np.array([[0.0, np.nan], [0.0, 0.0]])))
    assert np.isnan(got.log_z[0])
    assert np.isnan(got.node[0]).any()
    assert got.node[1].tolist() == [0.5, 0.5]


def test_overwriting_gives_the_same_and_takes_the_place_of_the_potentials():
    node = np.random.default_rng(0).normal(size=(9, 4))
    kept = infer(Potentials(node))
    got = infer(Potentials(node), overwrite=True)
    assert got.node is node
    assert np.array_equal(got.node, kept.node)


@pytest.mark.parametrize("n_labels", [1, 2, 5, 11])
def test_same_bits_at_any_number_of_threads_and_input_untouched(n_labels):
    node = np.random.default_rng(0).normal(size=(50_000, n_labels))
    kept = node.copy()
    one, three = infer(Potentials(node), Workers(1)), infer(Potentials(node), Workers(3))
    assert np.array_equal(one.node, three.node)
    assert np.array_equal(one.log_z, three.log_z)
    assert np.array_equal(node, kept)
