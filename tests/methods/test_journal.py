"""Early stopping: whatever the solver, the weights are those of the round that scored best."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy import sparse
from tests.oracles.tilts import label_features, label_tilt

from tiltfit.execution.workers import Workers
from tiltfit.features.attributes import AttributeFeatures
from tiltfit.inference.independent import Independent
from tiltfit.methods.alternating_projections import SOLVERS
from tiltfit.methods.history import Development, Journal, Round
from tiltfit.methods.method import Run
from tiltfit.methods.problem import Problem
from tiltfit.models.log_linear import LogLinear
from tiltfit.optimize.result import Stop
from tiltfit.penalties import interval
from tiltfit.penalties.stacked import stack

each_solver = pytest.mark.parametrize("solver", list(SOLVERS))
each_that_converges = pytest.mark.parametrize("solver", [name for name in SOLVERS if name != "sgd"])


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    X = sparse.csr_array((rng.random((40, 8)) < 0.4).astype(float))
    fires = sparse.csr_array((rng.random((40, 2)) < 0.5).astype(float))
    tilt = label_tilt(
        label_features(fires, np.eye(3)[:2]),
        stack([interval.l2([0.9], [0.01]), interval.l2([0.8], [0.01])]),
        np.ones(40),
        np.asarray(fires.sum(axis=0)),
        np.zeros(2),
        Workers(),
    )
    model = LogLinear(AttributeFeatures(X, 3), Independent(40))
    alpha = np.full(model.n_weights, 0.01)
    return Problem(model, np.full(40, -1), np.ones(40), alpha, 1.0, tilt, np.arange(40))


def run(solver, problem, development=None, max_iter=60, callback=None):
    start = np.zeros(problem.model.n_weights)
    options = {"max_iter": max_iter, "tol": 1e-9, "callback": callback, "development": development}
    return SOLVERS[solver](problem, start, Run(**options))


@pytest.fixture(scope="module")
def without(problem):
    """The run of a solver without a development set, once."""
    return cache(lambda solver: run(solver, problem))


def length(weights):
    return float(np.linalg.norm(weights))


def near(goal, patience=3, size=40):
    """A score that is highest where the weights, which grow from round to round, are ``goal`` long."""
    return Development(lambda weights: -abs(length(weights) - goal), patience, size)


@each_solver
def test_the_best_round_is_kept(solver, problem, without):
    whole = without(solver)
    fit = run(solver, problem, near(0.8 * length(whole.weights)))
    scores = [r.dev_score for r in fit.history]
    best = int(np.argmax(scores))
    assert 0 < best < len(whole.history) - 1
    assert fit.dev_score == max(scores) == -abs(length(fit.weights) - 0.8 * length(whole.weights))
    assert len(fit.history) == best + 1 + 3
    assert fit.converged
    assert fit.message == (
        f"no better on the development set for 3 rounds; the weights are those of round {best + 1}, "
        "the best on the development set"
    )


@each_solver
def test_objective_and_projection_are_those_of_the_weights_kept(solver, problem, without):
    fit = run(solver, problem, near(0.8 * length(without(solver).weights)))
    there = problem.evaluate(fit.weights, None, 1e-9)
    assert fit.objective == pytest.approx(there.value, rel=1e-6)
    np.testing.assert_allclose(fit.projection.prices, there.projection.prices, atol=1e-3)
    assert fit.objective > without(solver).objective


@each_that_converges
def test_a_run_that_only_gets_better_ends_as_without_a_development_set(solver, problem):
    whole = run(solver, problem, max_iter=500)
    falling = Development(lambda weights: -problem.evaluate(weights, None, 1e-9).value, patience=20, size=40)
    fit = run(solver, problem, falling, max_iter=500)
    assert fit.converged
    assert fit.message.split(";")[0] == whole.message
    np.testing.assert_allclose(fit.weights, whole.weights, atol=1e-6)


@each_solver
def test_too_few_rounds_are_still_said(solver, problem):
    fit = run(solver, problem, near(1e6), max_iter=2)
    assert not fit.converged
    assert fit.message.startswith("stopped after 2 rounds; the weights are those of round 2")


@each_solver
def test_a_callback_sees_the_score_and_stops_at_the_best_round(solver, problem):
    seen = []

    def callback(told):
        seen.append(told.dev_score)
        return told.round == 3

    fit = run(solver, problem, near(0.0), callback=callback)
    assert len(seen) == 3
    assert None not in seen
    assert (fit.converged, fit.stop) == (False, Stop.CALLBACK)
    assert fit.dev_score == max(seen) == seen[0]


def test_the_joint_solver_scores_large_development_sets_less_often(problem):
    fit = run("joint", problem, near(1e6, size=100), max_iter=7)
    assert [r.round for r in fit.history if r.dev_score is not None] == [3, 6, 7]  # and the last


def told(number):
    return Round(number, 9, *[0.0] * 6, evaluations=1)


def test_of_equal_scores_the_later_round_is_kept_but_patience_counts_from_the_first():
    journal = Journal(development=Development(lambda weights: min(weights[0], 2.0), patience=2, size=1))
    stops = [journal.add(told(k), np.array([float(k)])) for k in (1, 2, 3, 4)]
    assert stops == [False, False, False, True]
    assert journal.best.round == 4
    assert journal.settle(np.array([9.0])).tolist() == [4.0]


def test_weights_are_copied():
    journal = Journal(development=Development(lambda weights: 1.0, patience=2, size=1))
    weights = np.array([1.0])
    journal.add(told(1), weights)
    weights[0] = 5.0
    assert journal.best.weights.tolist() == [1.0]


def test_without_a_development_set_nothing_is_scored():
    journal = Journal()
    assert not journal.add(told(1), np.array([1.0]))
    assert journal.settle(np.array([2.0])).tolist() == [2.0]
    assert journal.rounds[0].dev_score is None
