"""Both solvers: the objective falls at every half step, they reach the same point, and ∇O is right."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from tests.oracles.tilts import label_features, label_tilt

from tiltfit.execution.workers import Workers
from tiltfit.features.attributes import AttributeFeatures
from tiltfit.inference.independent import Independent
from tiltfit.methods.alternating_projections import alternate
from tiltfit.methods.joint import solve_jointly
from tiltfit.methods.method import Run
from tiltfit.methods.problem import Problem
from tiltfit.models.log_linear import LogLinear
from tiltfit.penalties import interval, kl
from tiltfit.penalties.stacked import stack


def make(seed, *, labelled=0, gamma=1.0, hard=True, n=40, d=8, n_labels=3):
    rng = np.random.default_rng(seed)
    X = sparse.csr_array((rng.random((n, d)) < 0.4).astype(float))
    labels = np.full(n, -1)
    labels[:labelled] = rng.integers(n_labels, size=labelled)
    penalties = [interval.l2([0.9], [0.05]), interval.l2([0.8], [0.1]), kl.kl([0.6], [0.5])]
    if hard:
        penalties += [interval.box([0.5], [0.7]), interval.at_least([0.3]), interval.at_most([0.6])]
    fires = (rng.random((n, len(penalties))) < 0.3) & (labels < 0)[:, None]
    fires[-1] = True
    touched = np.flatnonzero(fires.any(axis=1))
    weight = rng.uniform(0.5, 1.5, n)
    events = np.eye(n_labels)[np.arange(len(penalties)) % n_labels]
    tilt = label_tilt(
        label_features(sparse.csr_array(fires[touched].astype(float)), events),
        stack(penalties),
        weight[touched],
        weight @ fires,
        np.zeros(len(penalties)),
        Workers(),
    )
    model = LogLinear(AttributeFeatures(X, n_labels), Independent(X.shape[0]))
    return Problem(model, labels, weight, np.full(model.n_weights, 0.3), gamma, tilt, touched)


@settings(deadline=None, max_examples=10)
@given(
    seed=st.integers(0, 10_000), labelled=st.integers(0, 10), gamma=st.sampled_from([0.1, 1.0, 3.0]), hard=st.booleans()
)
def test_objective_falls_at_every_half_step(seed, labelled, gamma, hard):
    problem = make(seed, labelled=labelled, gamma=gamma, hard=hard)
    fit = alternate(problem, np.zeros(problem.model.n_weights), Run(max_iter=8, tol=1e-9), inner_tol=1e-9)
    values = [v for r in fit.history for v in (r.information, r.moment)]
    # The first information projection only sets the scene; after it, every half step may only go down.
    assert all(later <= earlier + 1e-7 * (1 + abs(earlier)) for earlier, later in itertools.pairwise(values))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("labelled", [0, 8])
def test_gradient_of_the_eliminated_objective_by_finite_differences(seed, labelled):
    problem = make(seed, labelled=labelled, gamma=0.7)
    rng = np.random.default_rng(seed)
    weights, direction = 0.3 * rng.normal(size=problem.model.n_weights), rng.normal(size=problem.model.n_weights)
    h = 1e-5
    up, down = (problem.evaluate(weights + s * h * direction, None, 1e-11).value for s in (1, -1))
    slope = float(problem.evaluate(weights, None, 1e-11).gradient @ direction)
    assert (up - down) / (2 * h) == pytest.approx(slope, rel=1e-4, abs=1e-5)


@pytest.mark.parametrize("labelled", [0, 8])
def test_both_solvers_reach_the_same_stationary_point(labelled):
    problem = make(labelled, labelled=labelled, n=24, d=4)
    start = np.zeros(problem.model.n_weights)
    slow = alternate(problem, start, Run(max_iter=1000, tol=1e-7), inner_tol=1e-8)
    fast = solve_jointly(problem, start, Run(max_iter=500, tol=1e-7))
    assert fast.objective == pytest.approx(slow.objective, rel=1e-5)
    np.testing.assert_allclose(fast.weights, slow.weights, atol=5e-3)


def test_untouched_positions_add_nothing():
    problem = make(1)
    weights = np.random.default_rng(0).normal(size=problem.model.n_weights)
    whole, active = problem.evaluate(weights, None, 1e-10), problem.active.evaluate(weights, None, 1e-10)
    assert len(problem.active.labels) < len(problem.labels)
    assert active.value == pytest.approx(whole.value, rel=1e-12)
    np.testing.assert_allclose(active.gradient, whole.gradient, atol=1e-9)


def test_callback_sees_every_round_and_can_stop():
    seen = []

    def callback(info):
        seen.append(info.round)
        return info.round == 2

    problem = make(0)
    fit = alternate(problem, np.zeros(problem.model.n_weights), Run(max_iter=50, tol=1e-12, callback=callback))
    assert seen == [1, 2]
    assert (fit.converged, fit.message) == (False, "stopped by the callback")


def test_too_few_rounds_are_said():
    problem = make(0)
    fit = alternate(problem, np.zeros(problem.model.n_weights), Run(max_iter=1, tol=1e-12))
    assert not fit.converged
    assert "1 rounds" in fit.message
