"""The information projection against brute force over q, closed forms, and its own duality gap."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from tests.oracles.primal import primal_optimum
from tests.oracles.tilts import information_projection, label_features, label_tilt

from tiltfit.execution.workers import Workers
from tiltfit.inference.potentials import Potentials
from tiltfit.penalties import interval, kl
from tiltfit.penalties.stacked import stack

# One row of each kind: the penalty, and the same thing said to the oracle (a function of m, or bounds).
KINDS = {
    "l2": (interval.l2([0.7], [0.05]), lambda m: (m - 0.7) ** 2 / 0.1, None),
    "equality": (interval.equality([0.6]), None, (0.6, 0.6)),
    "at_most": (interval.at_most([0.2]), None, (-np.inf, 0.2)),
    "at_least": (interval.at_least([0.8]), None, (0.8, np.inf)),
    "box": (interval.box([0.6], [0.7]), None, (0.6, 0.7)),
    "slack box": (interval.box([0.6], [0.7], [0.1]), lambda m: max(0.6 - m, m - 0.7, 0) ** 2 / 0.2, None),
    "l1": (interval.l1([0.7], [0.4]), lambda m: abs(m - 0.7) / 0.4, None),
    "kl": (kl.kl([0.7], [0.2]), lambda m: (0.7 * np.log(0.7 / m) - 0.7 + m) / 0.2, None),
}


def problem(seed, penalties, n=4, n_labels=3, offset=False):
    """Random positions on which every row fires at least once, with an event of its own kind."""
    rng = np.random.default_rng(seed)
    rows = len(penalties)
    p = rng.dirichlet(np.ones(n_labels), size=n)
    fires = rng.random((n, rows)) < 0.7
    fires[rng.integers(n, size=rows), np.arange(rows)] = True
    events = np.eye(n_labels)[rng.integers(n_labels, size=rows)]
    weight = rng.uniform(0.5, 2.0, size=n)
    known = rng.uniform(0, 0.2, rows) if offset else np.zeros(rows)
    support = weight @ fires + 2 * known
    tilt = label_tilt(
        label_features(sparse.csr_array(fires.astype(float)), events),
        stack(penalties),
        weight,
        support,
        known,
        Workers(),
    )
    return tilt, p, fires.astype(float), events


def solve(tilt, p, **options):
    return information_projection(tilt, Potentials(np.log(p)), tol=1e-9, **options)


@pytest.mark.parametrize("kind", sorted(KINDS))
@pytest.mark.parametrize("seed", range(3))
def test_same_optimum_as_brute_force_over_q(kind, seed):
    penalty, soft, bounds = KINDS[kind]
    tilt, p, fires, events = problem(seed, [penalty], offset=seed == 2 and kind in ("l2", "kl", "slack box"))
    best, q = primal_optimum(
        p, fires, events, tilt.weight, tilt.support,
        [(0, soft)] if soft else [], [(0, *bounds)] if bounds else [], tilt.offset,
    )  # fmt: skip
    got = solve(tilt, p)
    assert got.converged
    assert got.value == pytest.approx(best, abs=1e-6)
    np.testing.assert_allclose(got.marginals.node, q, atol=2e-4)


@pytest.mark.parametrize("seed", range(4))
def test_penalties_of_every_kind_together(seed):
    names = ["l2", "slack box", "kl"]
    tilt, p, fires, events = problem(seed, [KINDS[k][0] for k in names])
    best, _ = primal_optimum(
        p, fires, events, tilt.weight, tilt.support, [(r, KINDS[k][1]) for r, k in enumerate(names)], []
    )
    assert solve(tilt, p).value == pytest.approx(best, abs=1e-6)


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 10_000), kinds=st.lists(st.sampled_from(["l2", "slack box", "kl"]), min_size=1, max_size=5))
def test_gap_closes_and_value_is_divergence_plus_penalty(seed, kinds):
    tilt, p, _, _ = problem(seed, [KINDS[k][0] for k in kinds], n=7)
    got = solve(tilt, p)
    q = got.marginals.node
    divergence = float(tilt.weight @ np.sum(q * np.log(q / p), axis=1))
    assert got.divergence == pytest.approx(divergence, abs=1e-8)
    assert got.gap <= 1e-7
    assert got.value == pytest.approx(divergence + tilt.penalty.value(got.expectation).sum(), abs=1e-7)


def test_closed_form_of_one_hard_row():
    # One position, two labels, p = ½: q(y) = 0.8 needs log-odds log 4.
    tilt = label_tilt(
        label_features(sparse.csr_array(np.ones((1, 1))), np.array([[1.0, 0.0]])),
        interval.equality([0.8]),
        np.ones(1),
        np.ones(1),
        np.zeros(1),
        Workers(),
    )
    got = solve(tilt, np.full((1, 2), 0.5))
    assert got.prices[0] == pytest.approx(np.log(4))
    assert got.value == pytest.approx(0.8 * np.log(1.6) + 0.2 * np.log(0.4))


def test_a_satisfied_inequality_has_price_zero():
    tilt, p, _, _ = problem(0, [interval.at_most([0.99])])
    got = solve(tilt, p)
    assert got.prices.tolist() == [0.0]
    np.testing.assert_allclose(got.marginals.node, p)


def test_at_most_has_a_price_at_most_zero_and_at_least_one_at_least_zero():
    for kind, sign in (("at_most", -1), ("at_least", 1)):
        tilt, p, _, _ = problem(1, [KINDS[kind][0]])
        assert sign * solve(tilt, p).prices[0] > 0


def test_warm_start_takes_fewer_evaluations():
    tilt, p, _, _ = problem(3, [KINDS[k][0] for k in ("l2", "box", "slack box", "kl")], n=30, n_labels=4)
    cold = solve(tilt, p)
    warm = solve(tilt, p, start=cold.duals)
    assert warm.n_eval < cold.n_eval
    np.testing.assert_allclose(warm.prices, cold.prices, atol=1e-6)


def test_hard_rows_that_contradict_each_other_are_missed_by_as_little_as_possible():
    tilt = label_tilt(
        label_features(sparse.csr_array(np.ones((3, 2))), np.array([[1.0, 0.0], [1.0, 0.0]])),
        interval.equality([0.9, 0.2]),
        np.ones(3),
        np.full(2, 3.0),
        np.zeros(2),
        Workers(),
    )
    got = solve(tilt, np.full((3, 2), 0.5))
    assert np.all(np.isfinite(got.prices))
    assert got.violation.sum() == pytest.approx(0.7, abs=1e-6)
    assert got.n_eval < 100


@pytest.mark.parametrize("beta", [0.003, 0.01, 0.3])
@pytest.mark.parametrize("support", [1, 3, 5, 7, 11, 29])
def test_rows_whose_optimum_lies_on_a_dual_bound(beta, support):
    # L1 saturates at |η| = 1/β, and a share of 0 at η = 1/β: one rounding error beyond, U* is infinite.
    p = np.full((support, 3), 1 / 3)
    ones = sparse.csr_array(np.ones((support, 3)))
    for penalty in (interval.l1([0.9, 0.9, 0.05], [beta] * 3), kl.kl([0.4, 0.6, 0.0], [beta] * 3)):
        tilt = label_tilt(
            label_features(ones, np.eye(3)),
            penalty,
            np.ones(support),
            np.full(3, float(support)),
            np.zeros(3),
            Workers(),
        )
        got = solve(tilt, p)
        assert got.converged
        assert got.gap < 1e-6
        assert got.value > 0.01


def test_a_hard_row_overcomes_a_soft_one_and_a_sure_model():
    one = sparse.csr_array(np.ones((1, 2)))
    events = np.array([[1.0, 0.0], [1.0, 0.0]])
    penalty = stack([interval.at_least([0.9]), interval.l2([0.3], [0.001])])
    tilt = label_tilt(label_features(one, events), penalty, np.ones(1), np.ones(2), np.zeros(2), Workers())
    got = information_projection(tilt, Potentials(np.array([[-300.0, 0.0]])))
    assert got.expectation[0] == pytest.approx(0.9, abs=1e-5)
