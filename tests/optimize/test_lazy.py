"""Lazy regularisation against its dense twins, which sweep over all weights at every instance."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tiltfit.optimize.lazy import Adaptive, LazyTable, Printed

ROWS, WIDTH, SIZE = 6, 3, 2.5


@st.composite
def visits(draw):
    """A run: which rows every instance has, a gradient for each, and the ridge α/n, which may change on the way."""
    n = draw(st.integers(1, 25))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    share = draw(st.sampled_from([0.1, 0.4, 1.0]))
    which = [np.flatnonzero(rng.random(ROWS) < share) for _ in range(n)]
    # Now and then a gradient is exactly zero: such a weight has not moved and has no step of its own yet.
    gradients = [rng.normal(size=(len(w), WIDTH)) * (rng.random((len(w), WIDTH)) < 0.8) for w in which]
    ridges = draw(st.sampled_from([0.0, 1e-3, 0.3])) * rng.random(n)
    return which, gradients, ridges, draw(st.sampled_from([(0, 0), (0, 1), (ROWS - 2, ROWS)]))


def start(rule, free, seed=0):
    table = LazyTable.zeros(ROWS, WIDTH, squares=rule.squares, free=free)
    table.value[:] = np.random.default_rng(seed).normal(size=table.value.shape)
    return table


def run(rule, table, which, gradients, ridges):
    """As the learner does it: the clock first, then the rows of the instance, then their step."""
    clock, seen = 0.0, []
    for t, (rows, gradient, ridge) in enumerate(zip(which, gradients, ridges, strict=True), 1):
        before, clock = clock, clock + rule.tick(t, ridge)
        seen.append(rule.rows(table, rows, clock if rule.ridge_first else before, SIZE))
        steps = rule.steps(table, rows, gradient, t, clock, SIZE)  # which brings the rows up to date
        table.value[rows] += steps
    return rule.rows(table, np.arange(ROWS), clock, SIZE), seen


@given(visits(), st.sampled_from([0.05, 0.5, 3.0]))
@settings(max_examples=60)
def test_printed_steps_equal_a_sweep_over_all_weights(visit, eta0):
    which, gradients, ridges, free = visit
    rule = Printed(eta0)
    lazy, seen = run(rule, start(rule, free), which, gradients, ridges)
    dense = start(rule, free).value
    has_ridge = ~np.isin(np.arange(ROWS), np.arange(*free))[:, None]
    for t, (rows, gradient, ridge) in enumerate(zip(which, gradients, ridges, strict=True), 1):
        np.testing.assert_allclose(seen[t - 1], dense[rows], atol=1e-12)
        eta = 1 / (t + 1 / eta0)
        dense -= np.where(has_ridge, eta * ridge * dense, 0.0)
        dense[rows] += eta * gradient
    np.testing.assert_allclose(lazy, dense, atol=1e-12)


@given(visits(), st.sampled_from([0.5, 5.0]))
@settings(max_examples=60)
def test_adaptive_steps_equal_their_definition(visit, reach):
    """λ ← λ/(1 + ρτ/√S) with τ all the ridge since the row was seen last, then S ← S + g² and λ ← λ + ρg/√S."""
    which, gradients, ridges, free = visit
    rule, rho = Adaptive(reach), reach / SIZE
    lazy, seen = run(rule, start(rule, free), which, gradients, ridges)
    value = start(rule, free).value
    square, missed = np.zeros_like(value), np.zeros(ROWS)

    def settle(rows):
        for r in rows:
            for y in range(WIDTH):
                if not free[0] <= r < free[1] and square[r, y] > 0:
                    value[r, y] /= 1 + rho * missed[r] / square[r, y] ** 0.5
            missed[r] = 0.0

    for t, (rows, gradient, ridge) in enumerate(zip(which, gradients, ridges, strict=True)):
        missed += ridge
        settle(rows)
        np.testing.assert_allclose(seen[t], value[rows], atol=1e-12)
        for k, r in enumerate(rows):
            for y in range(WIDTH):
                if square[r, y] == 0 and value[r, y] != 0:  # a weight that was given
                    square[r, y] = 1e4 * gradient[k, y] ** 2
                square[r, y] += gradient[k, y] ** 2
                if gradient[k, y] != 0:
                    value[r, y] += rho * gradient[k, y] / square[r, y] ** 0.5
    settle(range(ROWS))
    np.testing.assert_allclose(lazy, value, atol=1e-12)


@pytest.mark.parametrize("rule", [Adaptive(5.0), Printed(0.5)], ids=["adaptive", "printed"])
def test_the_ridge_shrinks_and_never_changes_a_sign(rule):
    table = start(rule, free=(2, 3))
    table.square[:] = 0.04
    before = table.value.copy()
    clock = sum(rule.tick(t, 50.0) for t in range(1, 4))
    after = rule.rows(table, np.arange(ROWS), clock, SIZE)
    others = np.arange(ROWS) != 2
    assert np.all(after[others] * before[others] >= 0)
    assert np.all(np.abs(after[others]) < 0.2 * np.abs(before[others]))
    assert np.array_equal(after[2], before[2])


@pytest.mark.parametrize("rule", [Adaptive(5.0), Printed(0.5)], ids=["adaptive", "printed"])
def test_settling_twice_is_settling_once(rule):
    table = start(rule, free=(0, 0))
    table.square[:] = 0.3
    everything = np.arange(ROWS)
    once = rule.rows(table, everything, 0.7, SIZE)
    assert np.array_equal(rule.rows(table, everything, 0.7, SIZE), once)
    assert np.array_equal(table.settled, np.full(ROWS, 0.7))


def test_rows_that_are_not_asked_for_stay_as_they_are():
    rule = Adaptive(5.0)
    table = start(rule, free=(0, 0))
    table.square[:] = 1.0
    before = table.copy()
    rule.rows(table, np.array([1, 4]), 2.0, SIZE)
    table.value[[1, 4]] += rule.steps(table, np.array([1, 4]), np.ones((2, WIDTH)), 1.0, 2.0, SIZE)
    rest = [0, 2, 3, 5]
    for name in ("value", "square", "settled"):
        assert np.array_equal(getattr(table, name)[rest], getattr(before, name)[rest])
    assert not np.any(table.value[[1, 4]] == before.value[[1, 4]])


def test_the_first_step_moves_a_score_by_the_reach():
    rule = Adaptive(5.0)
    table = LazyTable.zeros(1, 2, squares=True)
    table.value[[0]] += rule.steps(table, np.array([0]), np.array([[0.25, -0.01]]), 1.0, 0.0, SIZE)
    np.testing.assert_allclose(SIZE * table.value, [[5.0, -5.0]])
