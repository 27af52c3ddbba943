"""Softmax inference against SciPy, also where scores are extreme or labels forbidden."""

from __future__ import annotations

from decimal import Decimal, localcontext

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


@pytest.fixture(scope="module")
def exponentials():
    """10⁵ numbers in rows of five, and eˣ as a double and what it lacks."""
    rng = np.random.default_rng(0)
    x = np.concatenate([-rng.random(49_996), -708 * rng.random(50_000), [0.0, -0.0, -1e-300, -708.0]])
    with localcontext(prec=25):
        exact = [Decimal(v).exp() for v in x.tolist()]
        nearest = [float(value) for value in exact]
        rest = [float(value - Decimal(near)) for value, near in zip(exact, nearest, strict=True)]
    return x.reshape(-1, 5), np.reshape(nearest, (-1, 5)), np.reshape(rest, (-1, 5))


def one_at_a_time(x):
    from tiltfit.kernels.exponential import exp_of_negative

    return np.array([[exp_of_negative(v) for v in row] for row in x.tolist()])


def by_label(x):
    """Vectors of labels. A label of score 0 is the greatest of its row, so that nothing is taken off the others."""
    from tiltfit.kernels.chain import load

    local = np.empty((len(x), 8))
    load(np.column_stack([np.zeros(len(x)), x]), 0, len(x), local, np.empty(4))
    return local[:, 1:6]


def by_sequence(x):
    """Vectors of eight sequences."""
    from tiltfit.kernels.chunks import _forward, new_group_scratch

    n, scratch = len(x) // 8, new_group_scratch(len(x) // 8, 6)
    scratch.first[:], scratch.length[:] = n * np.arange(8), n
    assert _forward(np.column_stack([np.zeros(len(x)), x]), scratch, np.ones((8, 8)), n, np.inf)
    return scratch.local[:, 1:6].transpose(2, 0, 1).reshape(x.shape)


@pytest.mark.parametrize("exp", [one_at_a_time, by_label, by_sequence])
def test_the_exponential_to_one_unit_in_the_last_place(exp, exponentials):
    x, nearest, rest = exponentials
    assert np.max(np.abs((exp(x) - nearest) - rest) / np.spacing(nearest)) <= 1.0


@pytest.mark.parametrize("exp", [one_at_a_time, by_label])
def test_the_exponential_of_numbers_far_below(exp):
    ends = np.tile([0.0, -708.1, -1e300, -np.inf, -745.0], (8, 1))
    assert exp(ends).tolist() == [[1.0, 0.0, 0.0, 0.0, 0.0]] * 8


def test_the_exponential_of_nan():
    from tiltfit.kernels.exponential import exp_of_negative

    assert np.isnan(exp_of_negative(np.nan))
    assert np.isnan(by_label(np.full((8, 5), np.nan))).all()


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
