"""Attributes that occur at the same positions share a weight: the same scores, ridge, gradient and minimum."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from tests.oracles.sequences import World

from tiltfit import expect, word
from tiltfit.features.attributes import AttributeFeatures
from tiltfit.features.chains import ChainFeatures
from tiltfit.features.merging import Merging, twins
from tiltfit.inference.chain import Chains
from tiltfit.methods.history import Development
from tiltfit.methods.joint import solve_jointly
from tiltfit.methods.method import Run
from tiltfit.methods.problem import Problem
from tiltfit.models.log_linear import LogLinear


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.booleans(), min_size=5, max_size=5), max_size=4))
def test_twins_are_equal_columns(rows):
    X = np.array(rows, dtype=float).reshape(-1, 5)
    numbers = {}
    assert twins(sparse.csr_array(X)).tolist() == [numbers.setdefault(tuple(c), len(numbers)) for c in X.T.tolist()]


def test_columns_whose_marks_agree_by_chance_stay_apart(monkeypatch):
    class Same:
        def integers(self, high, size, dtype):
            return np.zeros(size, dtype)

    monkeypatch.setattr(np.random, "default_rng", lambda seed: Same())
    assert twins(sparse.csr_array(np.array([[1.0, 0, 1], [0, 1, 0]]))).tolist() == [0, 1, 2]
    assert twins(sparse.csr_array(np.array([[1.0, 1, 1], [0, 1, 0]]))).tolist() == [0, 1, 2]
    assert twins(sparse.csr_array(np.array([[1.0, 1], [0, 0]]))).tolist() == [0, 0]


def doubled(rng, n, d):
    """Every third column three times, and seven that never occur."""
    X = (rng.random((n, d)) < 0.4).astype(float)
    return sparse.csr_array(np.hstack([X, X[:, ::3], X[:, ::3], np.zeros((n, 7))]))


@pytest.mark.parametrize("intercept", [False, True])
def test_merged_features_score_and_expect_the_same(intercept):
    rng = np.random.default_rng(0)
    features = ChainFeatures(AttributeFeatures(doubled(rng, 12, 9), 3, intercept=intercept), np.ones((1, 2)))
    found = features.merged()
    assert found is not None
    merged, group = found
    merging = Merging(group, 3)
    uneven, node, edge = rng.normal(size=features.n_weights), rng.normal(size=(12, 3)), rng.normal(size=(1, 3, 3))
    assert not merging.is_even(uneven)
    v = rng.normal(size=merged.n_weights)
    assert len(v) == features.n_weights - 3 * 12
    weights = merging.expand(v)
    assert merging.is_even(weights)
    np.testing.assert_allclose(merging.contract(weights), v, rtol=1e-15)
    assert v @ v == pytest.approx(weights @ weights)
    for table in ("node", "edge"):
        expected = getattr(features.score(weights), table)
        np.testing.assert_allclose(getattr(merged.score(v), table), expected, atol=1e-12)
    gradient = features.expect(node, edge)
    np.testing.assert_allclose(merging.expand(merged.expect(node, edge)), gradient, atol=1e-12)
    same = np.broadcast_to(np.float64(0.7), len(weights))
    for alpha in (same, 0.7 + group.repeat(3)):
        ridge = merging.ridge(alpha)
        assert ridge is not None
        assert ridge @ v**2 == pytest.approx(alpha @ weights**2)
    assert merging.ridge(rng.random(len(weights))) is None


def test_what_is_not_merged():
    X = doubled(np.random.default_rng(0), 12, 9)
    assert AttributeFeatures(X.toarray(), 3).merged() is None
    assert AttributeFeatures(2 * X, 3).merged() is None
    assert AttributeFeatures(sparse.csr_array(np.eye(9)), 3).merged() is None


def tagging(alpha=0.5):
    rng = np.random.default_rng(1)
    X = doubled(rng, 60, 9)
    chains = Chains(np.arange(0, 61, 5), np.zeros(60, np.int32), 1)
    model = LogLinear(ChainFeatures(AttributeFeatures(X, 3, intercept=False), np.ones((1, 1))), chains)
    ridge = np.broadcast_to(np.float64(alpha), model.n_weights)
    return Problem(model, rng.integers(3, size=60), np.ones(12), ridge, 1.0, None, np.empty(0, np.intp))


def test_the_minimum_is_that_without_merging():
    problem = tagging()
    assert problem.merged is not None
    start = np.zeros(problem.model.n_weights)
    fit = solve_jointly(problem, start, Run(max_iter=200, tol=1e-6))
    uneven = start + 1e-9 * np.random.default_rng(0).normal(size=len(start))
    assert not problem.merged[1].is_even(uneven)
    plain = solve_jointly(problem, uneven, Run(max_iter=200, tol=1e-6))
    np.testing.assert_allclose(fit.weights, plain.weights, atol=1e-4)
    there = problem.evaluate(fit.weights, None, 1e-8)
    assert fit.objective == pytest.approx(there.value, rel=1e-12)
    assert there.steepest <= 1e-3 * problem.evaluate(start, None, 1e-8).steepest
    assert fit.history[-1].gradient == pytest.approx(there.steepest, rel=1e-6)  # and told
    assert problem.merged[1].is_even(fit.weights)


def test_a_gradient_is_as_large_as_that_of_all_weights():
    problem = tagging()
    assert problem.merged is not None
    smaller, merging = problem.merged
    of_all = problem.evaluate(np.zeros(problem.model.n_weights), None, 1e-6).steepest
    of_merged = smaller.evaluate(np.zeros(smaller.model.n_weights), None, 1e-6)
    assert merging.measure.of(of_merged.gradient) == pytest.approx(of_all)
    assert of_merged.steepest > 1.2 * of_all  # that of the merged ones would be too large


@pytest.mark.parametrize("row", [0, 2])
def test_a_gradient_that_is_no_number_is_not_taken_for_a_small_one(row):
    gradient = np.ones((3, 2))
    gradient[row, 1] = np.nan
    assert np.isnan(Merging(np.array([0, 1, 1, 2]), 2).measure.of(gradient.ravel()))


def test_a_start_that_is_good_enough_stays_what_it_is():
    problem = tagging()
    fit = solve_jointly(problem, np.zeros(problem.model.n_weights), Run(max_iter=200, tol=1e-6))
    start = fit.weights * 1.1  # √7·w/√7 may be another number than w
    again = solve_jointly(problem, start, Run(max_iter=0, tol=1e-3))
    assert len(again.history) == 0
    np.testing.assert_array_equal(again.weights, start)


def test_a_development_set_sees_all_weights():
    problem, seen = tagging(), []

    def score(weights):
        seen.append(len(weights))
        return -abs(float(weights @ weights) - 1.0)

    fit = solve_jointly(
        problem, np.zeros(problem.model.n_weights), Run(max_iter=20, tol=1e-6, development=Development(score, 3, 10))
    )  # fmt: skip
    assert set(seen) == {problem.model.n_weights} == {len(fit.weights)}
    assert fit.dev_score == score(fit.weights)


STATEMENTS = {
    "soft": [expect("x", given=word("a")).about(0.8), expect.stay().about(0.7)],
    "hard": [expect("x", given=word("a")).at_least(0.8), expect.segments("z", per="sequence").at_most(1.1)],
}


def constrained(constraints):
    """Sequences with all labels, with some and with none; γ ≠ 1, weights of instances, and free intercepts."""
    rng = np.random.default_rng(4)
    tokens = [rng.choice(["a", "b", ","], size=n).tolist() for n in rng.integers(2, 6, size=20)]
    labels = [rng.choice(["x", "y", "z"], size=len(x)).tolist() for x in tokens]
    for s in range(6, 20):
        labels[s] = [label if s < 12 and t % 2 else None for t, label in enumerate(labels[s])]
    world = World(tokens, ["x", "y", "z"], labels, rng.random(20) + 0.5, n_kinds=1)
    numbers = np.array([["x", "y", "z", None].index(label) for row in labels for label in row])
    nodes = AttributeFeatures(doubled(rng, len(numbers), 9), 3)
    model = LogLinear(ChainFeatures(nodes, np.ones((1, 1))), world.structure)
    alpha = np.full(model.n_weights, 0.3)
    nodes.unpack(alpha[: nodes.n_weights])[1][:] = 0.0
    grounded = world.ground(constraints)
    labels = np.where(numbers == 3, -1, numbers)
    return Problem(model, labels, world.weights, alpha, 0.6, grounded.tilt, grounded.touched)


@pytest.mark.parametrize("how", sorted(STATEMENTS))
def test_the_minimum_under_constraints_is_that_without_merging(how, monkeypatch):
    problem = constrained(STATEMENTS[how])
    start = np.zeros(problem.model.n_weights)
    fit = solve_jointly(problem, start, Run(max_iter=500, tol=1e-10))
    assert problem.active.merged is not None
    assert problem.active.merged[1].is_even(fit.weights)
    assert fit.projection is not None
    assert np.count_nonzero(np.abs(fit.projection.prices) > 0.1) >= 2  # constraints have a say
    monkeypatch.setattr(Problem, "merged", None)
    plain = solve_jointly(constrained(STATEMENTS[how]), start, Run(max_iter=500, tol=1e-10))
    assert fit.objective == pytest.approx(plain.objective, rel=1e-10)
    # By α = 0.3 and gradients of about 10⁻⁶, which tol leaves.
    np.testing.assert_allclose(fit.weights, plain.weights, atol=1e-5)
