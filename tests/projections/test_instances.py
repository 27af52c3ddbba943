"""Instance-level prices: closed forms, brute force over q, mixtures with shared prices, and many of them."""

from __future__ import annotations

import time

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
from tiltfit.projections.instances import InstanceRows

# The penalty, and the same thing said to the oracle.
LOCAL = {
    "l2": (interval.l2([0.7], [0.05]), lambda m: (m - 0.7) ** 2 / 0.1, None),
    "l1": (interval.l1([0.7], [0.5]), None, None),
    "at_most": (interval.at_most([0.2]), None, (-np.inf, 0.2)),
    "at_least": (interval.at_least([0.8]), None, (0.8, np.inf)),
    "half": (interval.at_least([0.5]), None, (0.5, np.inf)),
    "box": (interval.box([0.45], [0.5]), None, (0.45, 0.5)),
    "equality": (interval.equality([0.6]), None, (0.6, 0.6)),
    "slack": (interval.box([0.6], [0.7], [0.1]), lambda m: max(0.6 - m, m - 0.7, 0) ** 2 / 0.2, None),
    "kl": (kl.kl([0.7], [0.2]), lambda m: (0.7 * np.log(0.7 / m) - 0.7 + m) / 0.2, None),
}


def make(seed, local, shared=(), n=3, n_labels=3):
    """Row k of ``local`` speaks of label k at position k mod n; shared rows fire everywhere, on label 0."""
    rng = np.random.default_rng(seed)
    p, weight = rng.dirichlet(np.ones(n_labels), size=n), rng.uniform(0.5, 2.0, size=n)
    position = np.arange(len(local)) % n
    instances = InstanceRows(
        n=n,
        position=position,
        event=np.arange(len(local)) % n_labels,
        events=np.eye(n_labels),
        block=np.full(len(local), -1),
        penalty=stack(list(local)),
        support=weight[position],
    )
    tilt = label_tilt(
        label_features(sparse.csr_array(np.ones((n, len(shared)))), np.eye(n_labels)[np.zeros(len(shared), int)]),
        stack(list(shared)) if shared else interval.box(np.empty(0), np.empty(0)),
        weight,
        np.full(len(shared), weight.sum()),
        np.zeros(len(shared)),
        Workers(),
        instances,
    )
    return tilt, p, weight, position


def oracle(p, weight, position, local, shared, n_labels=3):
    """Local and shared rows alike as rows of one brute-force problem."""
    n, rows = len(p), len(shared) + len(local)
    fires, events, support = np.zeros((n, rows)), np.zeros((rows, n_labels)), np.zeros(rows)
    fires[:, : len(shared)], events[: len(shared), 0], support[: len(shared)] = 1.0, 1.0, weight.sum()
    for k, i in enumerate(position):
        r = len(shared) + k
        fires[i, r], events[r, k % n_labels], support[r] = 1.0, 1.0, weight[i]
    kinds = [*shared, *local]
    soft = [(r, LOCAL[k][1]) for r, k in enumerate(kinds) if LOCAL[k][1] is not None]
    bounds = [(r, *LOCAL[k][2]) for r, k in enumerate(kinds) if LOCAL[k][2] is not None]
    return primal_optimum(p, fires, events, weight, support, soft, bounds)


@pytest.mark.parametrize(
    ("local", "shared"),
    [
        (["l2", "at_most", "kl"], []),
        (["equality", "box", "slack"], []),
        (["at_least", "l2", "kl", "slack"], []),  # two rows at the first position
        (["l2", "at_most", "kl"], ["l2"]),
        (["box", "at_most"], ["half"]),
        (["slack", "kl", "l2"], ["box", "kl"]),
    ],
)
@pytest.mark.parametrize("seed", range(2))
def test_same_optimum_as_brute_force(local, shared, seed):
    tilt, p, weight, position = make(seed, [LOCAL[k][0] for k in local], [LOCAL[k][0] for k in shared])
    best, q = oracle(p, weight, position, local, shared)
    got = information_projection(tilt, Potentials(np.log(p)), tol=1e-9)
    assert got.converged
    assert got.value == pytest.approx(best, abs=1e-6)
    np.testing.assert_allclose(got.marginals.node, q, atol=3e-4)
    assert got.gap < 1e-7


@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 10_000),
    kinds=st.lists(st.sampled_from(sorted(set(LOCAL) - {"at_least", "equality", "half"})), min_size=1, max_size=7),
    shared=st.lists(st.sampled_from(["l2", "slack", "kl"]), max_size=2),
)
def test_gap_closes_for_any_mixture(seed, kinds, shared):
    tilt, p, weight, _ = make(seed, [LOCAL[k][0] for k in kinds], [LOCAL[k][0] for k in shared], n=4)
    got = information_projection(tilt, Potentials(np.log(p)), tol=1e-9)
    q = got.marginals.node
    divergence = float(weight @ np.sum(q * np.log(np.maximum(q, 1e-300) / p), axis=1))
    assert got.divergence == pytest.approx(divergence, abs=1e-7)
    assert got.violation[len(shared) :].max() < 1.0
    feasible = got.violation[len(shared) :][[k in ("at_most", "box") for k in kinds]]
    if feasible.size == 0 or feasible.max() < 1e-6:
        assert got.gap < 1e-6


def test_closed_form_of_a_hard_bound():
    tilt, _, _, _ = make(0, [interval.at_most([0.2])], n=1, n_labels=2)
    got = information_projection(tilt, Potentials(np.log([[0.5, 0.5]])))
    assert got.prices[0] == pytest.approx(np.log(0.25))
    np.testing.assert_allclose(got.marginals.node, [[0.2, 0.8]])


def test_warm_and_cold_start_agree():
    kinds = [LOCAL[k][0] for k in ("l2", "kl", "slack", "at_most", "l2", "kl")]
    tilt, p, _, _ = make(5, kinds, [LOCAL["l2"][0]])
    base = Potentials(np.log(p))
    cold = information_projection(tilt, base, tol=1e-9)
    warm = information_projection(tilt, base, start=cold.duals, tol=1e-9)
    np.testing.assert_allclose(warm.prices, cold.prices, atol=1e-6)


def test_forbidden_labels_and_events_that_cannot_change_stay_finite():
    tilt, _, _, _ = make(0, [interval.l2([0.7], [0.1]), interval.at_least([0.5])], n=1, n_labels=2)
    got = information_projection(tilt, Potentials(np.array([[0.0, -np.inf]])))
    assert np.all(np.isfinite(got.prices))
    np.testing.assert_allclose(got.marginals.node, [[1.0, 0.0]])


def test_same_bits_at_any_number_of_threads_and_quickly():
    rng = np.random.default_rng(0)
    n, n_labels = 100_000, 5
    position = np.arange(n)
    boxes = interval.box(rng.uniform(0.3, 0.4, n // 2), np.full(n // 2, 0.6))
    penalty = stack([boxes, kl.kl(rng.uniform(0.2, 0.8, n // 2), 0.1)])
    rows = InstanceRows(n, position, position % n_labels, np.eye(n_labels), np.full(n, -1), penalty, np.ones(n))
    base = Potentials(np.log(rng.dirichlet(np.ones(n_labels), size=n)))
    rows.solve(base, np.zeros(n), 50.0, Workers(1))  # compile
    started = time.process_time()
    _, one, _, solved = rows.solve(base, np.zeros(n), 50.0, Workers(1))
    assert time.process_time() - started < 5.0
    _, three, _, _ = rows.solve(base, np.zeros(n), 50.0, Workers(3))
    assert solved
    assert np.array_equal(one, three)


@pytest.mark.parametrize("beta", [1e-3, 0.01, 1.0])
def test_distributions_per_instance_are_solved_quickly_and_exactly(beta):
    rng = np.random.default_rng(0)
    n, n_labels = 500, 20
    targets = rng.dirichlet(np.ones(n_labels), size=n)
    targets[: n // 2, 0] = 0.0
    targets /= targets.sum(axis=1, keepdims=True)
    position = np.repeat(np.arange(n), n_labels)
    rows = InstanceRows(
        n, position, np.tile(np.arange(n_labels), n), np.eye(n_labels), position.copy(),
        kl.kl(targets.ravel(), beta), np.ones(n * n_labels),
    )  # fmt: skip
    nothing = interval.box(np.empty(0), np.empty(0))
    features = label_features(sparse.csr_array((n, 0)), np.empty((0, n_labels)))
    tilt = label_tilt(features, nothing, np.ones(n), np.empty(0), np.empty(0), Workers(), rows)
    base = Potentials(np.log(rng.dirichlet(np.ones(n_labels), size=n)))
    information_projection(tilt, base)  # compile
    started = time.process_time()
    got = information_projection(tilt, base)
    assert time.process_time() - started < 5.0
    assert got.converged
    assert got.gap < 1e-6 * max(1.0, got.value)


def test_rows_of_some_positions_are_those_that_speak_of_them():
    """In whatever order positions are asked for, rows of one keep theirs."""
    rng = np.random.default_rng(1)
    position = rng.integers(0, 6, 20)
    support = np.arange(20.0) + 1
    rows = InstanceRows(
        6, position, np.arange(20) % 3, np.eye(3), np.arange(20) - 1, interval.box(support / 50, support / 40), support
    )
    for asked in (np.array([4, 0, 5]), np.array([2]), np.arange(6)):
        got, which = rows.take(asked)
        kept = [r for i in asked for r in np.flatnonzero(position == i)]
        assert which.tolist() == kept
        assert got.n == len(asked)
        assert got.support.tolist() == support[kept].tolist()
        assert asked[got.position].tolist() == position[kept].tolist()
        assert (got.event.tolist(), got.block.tolist()) == (rows.event[kept].tolist(), rows.block[kept].tolist())
        np.testing.assert_array_equal(got.penalty.dual_bounds(), rows.penalty.take(np.array(kept)).dual_bounds())
