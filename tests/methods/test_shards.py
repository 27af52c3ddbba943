"""Sums over shards: whatever the cut and the executor, O, its gradient and the dual are the same."""

from __future__ import annotations

import pickle
import threading
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from tests.methods.test_descent import caught

from tiltfit import TiltClassifier, TiltTagger, expect, word
from tiltfit.errors import UnsupportedError
from tiltfit.execution.sums import Moments, Serial, Threads
from tiltfit.methods.alternating_projections import alternate
from tiltfit.methods.joint import solve_jointly
from tiltfit.methods.method import Run
from tiltfit.methods.problem import gradient_sums, model_sums
from tiltfit.projections.information import Dual
from tiltfit.projections.shards import Prices, ending_of, tilted_sums

RNG = np.random.default_rng(3)
TEXTS = [" ".join(RNG.choice(["puck", "ice", "bat", "ball", "the", "goal"], size=3)) for _ in range(23)]
LABELS = [["hockey", "baseball"][k % 2] if k < 5 else None for k in range(23)]
TOKENS = [RNG.choice(["a", "b", ",", "c"], size=n).tolist() for n in RNG.integers(1, 7, size=17)]
TAGS = [RNG.choice(["x", "y", "z"], size=len(x)).tolist() for x in TOKENS]
TAGS = [[t if s < 4 or (s == 5 and k == 0) else None for k, t in enumerate(y)] for s, y in enumerate(TAGS)]

DOCUMENTS = {
    "shared": [expect("hockey", given=word("puck")).about(0.9), expect("baseball", given=word("bat")).at_least(0.7)],
    "per instance": [
        expect("hockey", given=word("puck"), per="instance").at_least(0.6),
        expect("baseball", given=word("bat")).about(0.8),
        expect("hockey", given=word("ice"), per="instance").about(0.7),
    ],
    "rules": [expect("hockey", given=word("puck")).exactly(1), expect("baseball", given=word("ball")).about(0.7)],
}
SEQUENCES = {
    "shared": [expect("x", given=word("a")).about(0.8), expect.stay().about(0.6), expect("z").at_most(0.4)],
    "per sequence": [expect.segments("z", per="sequence").at_most(1.0), expect("x", given=word("a")).about(0.8)],
    "rules": [
        expect.transition("x", "z").at_most(0),
        expect("y", given=word("b")).about(0.7),
        expect.stay().about(0.5),
    ],
}


def problems():
    for name, said in DOCUMENTS.items():
        yield f"documents, {name}", caught(TiltClassifier(said, alpha=0.5), TEXTS, LABELS)
    for name, said in SEQUENCES.items():
        yield f"chains, {name}", caught(TiltTagger(said, alpha=0.5, classes=["x", "y", "z"]), TOKENS, TAGS)


PROBLEMS = dict(problems())
each = pytest.mark.parametrize("name", list(PROBLEMS))


def weights_of(problem, seed=0):
    return np.random.default_rng(seed).normal(size=problem.model.n_weights)


@each
@pytest.mark.parametrize("n_shards", [2, 3, 7])
def test_the_objective_does_not_depend_on_the_cut(name, n_shards):
    whole = PROBLEMS[name]
    cut = replace(whole, n_shards=n_shards)
    assert len(cut.shards) == n_shards
    weights = weights_of(whole)
    one, many = (problem.evaluate(weights, None, 1e-10) for problem in (whole, cut))
    assert many.value == pytest.approx(one.value, rel=1e-10, abs=1e-10)
    # Prices are found up to the tolerance of a search, which rounding may end one step earlier.
    np.testing.assert_allclose(many.gradient, one.gradient, atol=1e-6)
    np.testing.assert_allclose(many.projection.prices, one.projection.prices, atol=1e-5)
    np.testing.assert_allclose(many.projection.marginals.node, one.projection.marginals.node, atol=1e-6)


@each
@pytest.mark.parametrize("n_shards", [2, 3, 7])
def test_the_dual_is_a_sum_over_shards(name, n_shards):
    whole, rng = PROBLEMS[name], np.random.default_rng(1)
    weights, found = weights_of(whole), []
    for problem in (whole, replace(whole, n_shards=n_shards)):
        shards = problem.shards
        Serial().sum(model_sums, shards, weights)
        touched = [shard for shard in shards if shard.problem.tilt is not None]
        dual = Dual(problem.tilt, touched, None, 1e-10, weights=weights)
        found.append(dual)
    scaled = np.clip(0.3 * rng.normal(size=len(found[0].scale)), found[0].low, found[0].high)
    (value, gradient), (sharded, slope) = (dual.negative(scaled) for dual in found)
    assert sharded == pytest.approx(value, rel=1e-10, abs=1e-10)
    np.testing.assert_allclose(slope, gradient, rtol=1e-9, atol=1e-9)


@each
def test_at_given_prices_the_gradient_is_a_sum(name):
    whole = PROBLEMS[name]
    weights, found = weights_of(whole), []
    shared = 0.1 * np.random.default_rng(2).normal(size=whole.tilt.features.n_rows)
    prices = Prices(weights, shared, 50.0, 1e-12)
    for n_shards in (1, 2, 3, 7):
        found.append(Serial().sum(gradient_sums, replace(whole, n_shards=n_shards).shards, prices).expectation)
    for other in found[1:]:
        np.testing.assert_allclose(other, found[0], rtol=1e-10, atol=1e-10)


@each
def test_executors_agree_to_the_last_bit(name):
    weights = weights_of(PROBLEMS[name])
    one, two = (
        replace(PROBLEMS[name], n_shards=3, executor=executor).evaluate(weights, None, 1e-8)
        for executor in (Serial(), Threads(3))
    )
    assert one.value == two.value
    np.testing.assert_array_equal(one.gradient, two.gradient)
    np.testing.assert_array_equal(one.projection.prices, two.projection.prices)


class Pickling:
    """As a cluster would: tasks, shards, broadcast and sums cross as bytes, and nothing is remembered."""

    def sum(self, task, shards, broadcast):
        parts = []
        for shard in shards:
            remote, *call = pickle.loads(pickle.dumps((task, shard, broadcast)))
            parts.append(pickle.loads(pickle.dumps(remote(*call))))
        total = parts[0]
        for part in parts[1:]:
            total = total.merge(part)
        return total


@each
def test_tasks_shards_and_sums_can_be_pickled(name):
    problem = replace(PROBLEMS[name], n_shards=3)
    weights = weights_of(problem)
    shared = 0.1 * np.random.default_rng(2).normal(size=problem.tilt.features.n_rows)
    prices = Prices(weights, shared, 50.0, 1e-12)
    touched = [shard for shard in problem.shards if shard.problem.tilt is not None]
    for task, shards, broadcast in (
        (model_sums, problem.shards, weights),
        (tilted_sums, touched, prices),
        (gradient_sums, problem.shards, prices),
    ):
        far, near = (executor.sum(task, shards, broadcast) for executor in (Pickling(), Serial()))
        assert far.log_z == near.log_z
        np.testing.assert_array_equal(far.expectation, near.expectation)


@pytest.mark.parametrize("n_shards", [1, 3])
@each
def test_an_evaluation_needs_no_memory_of_shards(name, n_shards):
    weights, start = weights_of(PROBLEMS[name]), None
    for scale in (1.0, 0.9):
        near, far = (
            replace(PROBLEMS[name], n_shards=n_shards, executor=executor).evaluate(scale * weights, start, 1e-8)
            for executor in (Serial(), Pickling())
        )
        assert_same(far, near, exact="per" not in name)
        start = near.start


def test_a_shard_without_memory_knows_the_cap_of_prices():
    said = [
        expect("hockey", given=word("puck"), per="instance").at_least(0.9),
        expect("hockey", given=word("ice"), per="instance").at_most(0.2),
        expect("baseball", given=word("bat")).about(0.8),
    ]
    problem = replace(caught(TiltClassifier(said, alpha=0.5), TEXTS, LABELS), n_shards=3)
    near, far = (
        replace(problem, executor=executor).evaluate(weights_of(problem), None, 1e-8)
        for executor in (Serial(), Pickling())
    )
    assert near.worst_violation > 0.1  # a text with both words cannot obey
    assert np.isfinite(near.projection.cap)
    assert_same(far, near, exact=False)


def assert_same(far, near, *, exact):
    """``exact``: no row has prices of single instances, whose search begins elsewhere without a memory."""
    close = {"rtol": 0, "atol": 0} if exact else {"rtol": 1e-7, "atol": 1e-7}
    np.testing.assert_allclose(far.value, near.value, **close)
    np.testing.assert_allclose(far.gradient, near.gradient, **close)
    for name in ("prices", "duals", "expectation", "violation", "gap", "divergence", "cap"):
        np.testing.assert_allclose(getattr(far.projection, name), getattr(near.projection, name), **close)
    np.testing.assert_allclose(far.projection.marginals.node, near.projection.marginals.node, **close)
    assert far.projection.converged == near.projection.converged


@each
def test_a_shard_remembers_only_what_it_is_asked_for(name):
    problem = replace(PROBLEMS[name], n_shards=3)
    touched = [shard for shard in problem.shards if shard.problem.tilt is not None]
    rng, n_rows = np.random.default_rng(4), problem.tilt.features.n_rows
    asked = [Prices(weights_of(problem, k // 2), 0.1 * rng.normal(size=n_rows), 50.0, 1e-12) for k in range(4)]
    for before, now in pairwise(asked):
        Serial().sum(tilted_sums, touched, before)
        near, far = (executor.sum(ending_of, touched, now) for executor in (Serial(), Pickling()))
        assert near.sums.log_z == pytest.approx(far.sums.log_z, rel=1e-9)
        np.testing.assert_allclose(near.sums.expectation, far.sums.expectation, rtol=1e-7, atol=1e-9)


def test_threads_keep_one_pool_and_can_be_pickled():
    threads, seen = Threads(2), set()

    def task(shard, broadcast):
        seen.add(threading.get_ident())
        return Moments(shard, np.zeros(1), 1.0)

    for _ in range(20):
        threads.sum(task, [1.0, 2.0, 3.0], None)
    assert len(seen) <= 2
    assert pickle.loads(pickle.dumps(threads)) == threads


@pytest.mark.parametrize(
    ("name", "solve"),
    [*((name, solve_jointly) for name in PROBLEMS), ("documents, shared", alternate), ("chains, shared", alternate)],
)
def test_a_fit_ends_at_the_same_weights(name, solve):
    whole = PROBLEMS[name]
    start = np.zeros(whole.model.n_weights)
    one, many = (
        solve(problem, start, Run(max_iter=300, tol=1e-6))
        for problem in (whole, replace(whole, n_shards=3, executor=Threads(2)))
    )
    # Alternation ends where ten rounds gain less than a millionth, not where nothing can be gained.
    assert many.objective == pytest.approx(one.objective, rel=1e-5 if solve is alternate else 1e-6)
    np.testing.assert_allclose(many.weights, one.weights, atol=2e-3)


def test_sums_merge_in_order():
    def task(shard, broadcast):
        return Moments(shard * broadcast, np.array([shard, 1.0]), 1.0)

    for executor in (Serial(), Threads(2)):
        found = executor.sum(task, [1.0, 2.0, 3.0], 2.0)
        assert (found.log_z, found.expectation.tolist(), found.count) == (12.0, [6.0, 3.0], 3.0)


def test_a_sampler_has_one_shard():
    tagger = TiltTagger([expect.repeats().at_most(0.2)], classes=["x", "y", "z"], inference="sampled", init="zeros")
    problem = caught(tagger.set_params(solver="sgd"), TOKENS, TAGS)
    assert problem.is_sampled
    with pytest.raises(UnsupportedError, match="has one shard"):
        replace(problem, n_shards=2).evaluate(weights_of(problem), None, 1e-3)
