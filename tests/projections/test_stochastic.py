"""The stochastic information projection against the exact one, where both apply."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.oracles import sequences as oracle
from tests.oracles import whole_projection as whole
from tests.oracles.sequences import Said, World, same_label
from tests.oracles.whole_projection import Counted, rows_of

from tiltfit import column, expect, word
from tiltfit.errors import UnsupportedError
from tiltfit.execution.workers import Workers
from tiltfit.inference.statistic import Statistic
from tiltfit.inference.statistics import REGISTRY, register_statistic
from tiltfit.projections.information import Start, project
from tiltfit.projections.shards import TiltShard
from tiltfit.projections.stochastic import TOL, _stands_out, stochastic_projection
from tiltfit.report.sampling import allowance

CLASSES = ["x", "y", "z"]
TOKENS = [list(np.random.default_rng(n).choice(["a", "b", ","], size=n)) for n in (5, 4, 6, 3, 5, 4, 6, 2)]
STYLES = {"style": list("ppqqppqq")}

SAID = [
    Counted(expect.repeats().at_most(0.2), number=whole.repeats(*CLASSES)),
    Counted(expect.distinct().about(1.8), number=whole.distinct(*CLASSES)),
    Counted(
        expect.before("x", "y", per=column("style")).at_least(0.2, slack=0.05),
        number=whole.before("x", "y"),
        group=STYLES["style"],
    ),
    Said(expect("x", given=word("a")).about(0.7), "token", lambda y, t: y[t] == "x", lambda x, t: x[t] == "a"),
    Said(expect.stay().about(0.6, penalty="l1"), "edge", same_label),
]
CONSTRAINTS = [said.constraint for said in SAID]
POSTERIORS = {"flat": 0.0, "trained": 1.0, "sharp": 4.0}


STRICT = 0.03  # of the scaled gradient


def small_world(spread=1.0, **changed):
    return World(TOKENS, CLASSES, columns=STYLES, seed=1, spread=spread, **changed)


def both(world, constraints=CONSTRAINTS, **options):
    """The exact projection and what it is of; the sampled one."""
    exact, sampled = (world.ground(constraints, inference=how, seed=3) for how in ("exact", "sampled"))
    return exact, world.project(exact), stochastic_projection(sampled.tilt, world.base(sampled), **options)


def scaled_error(world, grounded, best, prices):
    """How far expectations at these prices are from what they should be, in the units of ``tol``."""
    found = grounded.tilt.shared_expectation(grounded.tilt.at(world.base(grounded), prices))
    return float(np.max(np.sqrt(grounded.support) * np.abs(found - best.expectation)))


@pytest.mark.parametrize("posterior", sorted(POSTERIORS))
def test_the_optimum_of_the_exact_dual(posterior):
    world = small_world(POSTERIORS[posterior])
    grounded, best, got = both(world, tol=STRICT)
    assert got.converged
    assert got.sampling is not None
    assert np.isnan(got.value)
    # What is told has noise, and says how much; the prices were averaged and have far less.
    allowance = 5 * got.sampling.error + STRICT / np.sqrt(grounded.support)
    assert np.all(np.abs(got.expectation - best.expectation) <= allowance)
    assert scaled_error(world, grounded, best, got.prices) <= 2 * STRICT
    rows, allowed = rows_of(world, SAID), oracle.allowed_by(world)
    reached = oracle.dual_value(world, rows, got.prices, allowed)
    assert best.value - 0.03 <= reached <= best.value + 1e-6
    np.testing.assert_allclose(got.marginals.node, best.marginals.node, atol=0.3)
    assert np.abs(got.marginals.node - best.marginals.node).mean() < 0.05
    assert got.marginals.node.sum(axis=1) == pytest.approx(1)


def test_rules_rows_of_sequences_and_known_labels():
    labels = [[None] * len(x) for x in TOKENS]
    labels[0][2], labels[4][0], labels[3] = "y", "z", ["x", "y", "x"]
    world = small_world(labels=labels, weight=[1.0, 2.0, 0.5, 1.0, 1.5, 1.0, 1.0, 3.0])
    constraints = [
        expect.repeats().at_most(0),
        expect.distinct(per="sequence").about(1.2, beta=0.5),
        expect("x", on="all").about(0.5),
    ]
    grounded, best, got = both(world, constraints, final=200)
    allowance = 5 * got.sampling.error + TOL / np.sqrt(grounded.support)
    assert np.all(np.abs(got.expectation - best.expectation) <= allowance)
    starts = world.structure.take(grounded.touched).offsets
    assert got.marginals.node[starts[0] + 2].tolist() == [0.0, 1.0, 0.0]
    final = np.split(got.sampling.chains.labels, starts[1:-1])
    assert all(whole.repeats(*CLASSES)([CLASSES[k] for k in y]) == 0 for y in final)


def test_stricter_tolerances_leave_smaller_errors():
    world = small_world()
    exact = world.ground(CONSTRAINTS, inference="exact")
    best, errors, work = world.project(exact), [], []
    for tol in (0.5, STRICT):
        grounded = [world.ground(CONSTRAINTS, inference="sampled", seed=seed) for seed in range(3)]
        found = [stochastic_projection(g.tilt, world.base(g), tol=tol, final=4) for g in grounded]
        errors.append(np.mean([scaled_error(world, exact, best, f.prices) for f in found]))
        work.append(np.mean([f.n_eval for f in found]))
    assert errors[1] < 0.5 * errors[0]
    assert errors[1] < 2 * STRICT
    assert work[1] > work[0]


def test_noise_of_many_rows_is_not_taken_for_a_gradient():
    rng = np.random.default_rng(0)
    for n in (1, 10, 1000):
        series = rng.normal(size=(300, 12, n))
        error = series.std(axis=1, ddof=1) / np.sqrt(12)
        found = [_stands_out(abs(m), e, 0.01) for m, e in zip(series.mean(axis=1), error, strict=True)]
        assert np.mean(found) < 0.45  # a false alarm costs a stage; always is too often
        one = series.mean(axis=1)
        one[:, 0] += 4.0
        assert all(_stands_out(abs(m), e, 0.01) for m, e in zip(one, error, strict=True) if e[0] < 0.4)
        every = np.abs(series.mean(axis=1)) + 1.0
        assert all(_stands_out(m, e, 0.01) for m, e in zip(every, error, strict=True) if n > 1)
        assert not any(_stands_out(m, e, 10.0) for m, e in zip(every, error, strict=True))
    assert _stands_out(np.array([1.0, 0.0]), np.zeros(2), 0.1)  # without any noise
    assert not _stands_out(np.array([0.05, 0.0]), np.zeros(2), 0.1)


def test_many_hard_rows_of_sequences():
    rng = np.random.default_rng(0)
    tokens = [list(rng.choice(["a", "b", ","], size=rng.integers(4, 8))) for _ in range(40)]
    world = World(tokens, CLASSES, seed=1)
    constraints = [expect("x", given=word("a")).about(0.9), expect.repeats(per="sequence").at_most(0.2)]
    grounded, best, got = both(world, constraints, final=240)
    assert got.converged
    assert scaled_error(world, grounded, best, got.prices) < 5 * TOL
    assert np.all(got.violation[1:] <= allowance(got)[1:])


def test_the_error_is_that_of_the_expectation():
    """Told over four times as many steps, an expectation is about twice as certain; over all, it is off by about one
    standard error."""
    world = small_world()
    exact, best, _ = both(world, final=4)
    at = {}
    for n_steps in (50, 200):
        at[n_steps] = []
        for seed in range(6):
            grounded = world.ground(CONSTRAINTS, inference="sampled", seed=seed)
            begin = Start(best.duals, None)
            at[n_steps].append(
                stochastic_projection(grounded.tilt, world.base(grounded), start=begin, max_stages=0, final=n_steps)
            )
    error = {n: np.mean([f.sampling.error for f in found]) for n, found in at.items()}
    assert 1.4 < error[50] / error[200] < 2.8
    z = np.array([(f.expectation - best.expectation) / f.sampling.error for f in at[200]])
    assert 0.5 < np.sqrt(np.mean(z**2)) < 1.7
    assert all(np.all(f.sampling.effective > 10) and np.all(f.sampling.r_hat < 1.3) for f in at[200])
    assert exact.support.shape == best.expectation.shape


def test_the_same_bits_for_the_same_seed_on_any_number_of_threads():
    rng = np.random.default_rng(0)
    tokens = [list(rng.choice(["a", "b"], size=70)) for _ in range(300)]  # enough for several chunks
    world = World(tokens, CLASSES, seed=2)
    constraints = [expect.repeats().about(3), expect("x", given=word("a")).about(0.7)]
    found = []
    for seed, threads in ((5, 1), (5, 2), (6, 1)):
        grounded = world.ground(constraints, inference="sampled", seed=seed)
        tilt = replace(grounded.tilt, workers=Workers(threads))
        found.append(stochastic_projection(tilt, world.base(grounded), max_stages=1, final=4))
    one, two, other = found
    for name in ("prices", "expectation"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))
        assert not np.array_equal(getattr(one, name), getattr(other, name))
    np.testing.assert_array_equal(one.marginals.node, two.marginals.node)
    np.testing.assert_array_equal(one.sampling.chains.labels, two.sampling.chains.labels)


def test_it_goes_on_where_it_ended():
    world = small_world()
    grounded = world.ground(CONSTRAINTS, inference="sampled", seed=3)
    base = world.base(grounded)
    cold = stochastic_projection(grounded.tilt, base, max_stages=1)
    chains = cold.start.chains
    assert chains is not None
    np.testing.assert_array_equal(cold.start.duals, cold.duals)
    # Without any ascent, the chains take their steps and no others: no burn-in.
    still = stochastic_projection(grounded.tilt, base, start=cold.start, max_stages=0, final=5)
    np.testing.assert_array_equal(still.prices, cold.prices)
    assert still.sampling.chains.round == chains.round + 5
    exact = world.ground(CONSTRAINTS, inference="exact")
    best = world.project(exact)
    warm = stochastic_projection(grounded.tilt, base, start=Start(best.duals, chains))
    assert scaled_error(world, exact, best, warm.prices) <= TOL
    assert warm.n_eval <= stochastic_projection(grounded.tilt, base).n_eval


def test_the_cheaper_way_is_taken():
    world = small_world()
    for how, sampled in (("exact", False), ("sampled", True)):
        grounded = world.ground(CONSTRAINTS, inference=how)
        got = project(grounded.tilt, [TiltShard(grounded.tilt, world.base(grounded))])
        assert (got.sampling is not None) == sampled
        again = project(grounded.tilt, [TiltShard(grounded.tilt, world.base(grounded))], start=got.start)
        assert np.isfinite(again.value) != sampled


def test_a_start_that_is_out_of_bounds_is_brought_back():
    world = small_world()
    grounded = world.ground([expect.repeats().at_most(0.2)], inference="sampled")
    start = Start(np.array([3.0]), None)  # a price above 0 would make repeats more frequent
    got = stochastic_projection(grounded.tilt, world.base(grounded), start=start, max_stages=0)
    assert got.prices.tolist() == [0.0]


def test_labels_that_the_sampler_cannot_find():
    class Never(Statistic):
        name = "never 0"
        least = 0.0

        def count(self, labels):
            return 1.0 + len(labels) % 2 - float(np.array_equal(labels, np.arange(len(labels)) * 7 % 3))

    register_statistic("never 0")(lambda fields: Never())
    try:
        world = World([["a"] * 12], CLASSES)
        grounded = world.ground([expect.statistic("never 0").at_most(0)], inference="sampled")
        with pytest.raises(UnsupportedError, match="found no labels for 1 of 1 sequences"):
            stochastic_projection(grounded.tilt, world.base(grounded), max_stages=1)
    finally:
        REGISTRY.remove("never 0")
