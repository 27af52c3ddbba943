"""Derivatives of marginals: covariances by enumeration, on scores of any size, with forbidden labels and pairs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import softmax
from tests.oracles.chain import scores

from tiltfit.execution.workers import Workers
from tiltfit.inference.chain import Chains
from tiltfit.inference.independent import Independent
from tiltfit.inference.potentials import Potentials
from tiltfit.inference.tangent import Direction


def covariances(node, edge, kind, g, G):
    """Cov(1[y_t = y], D) and, by kind, Cov(Σ 1[y_{t−1}, y_t], D), over all labellings."""
    n = len(node)
    found, score = scores(node, edge, kind)
    p = softmax(score)
    total = np.sum(g[np.arange(n), found], axis=1)
    for t in range(1, n):
        total = total + G[kind[t], found[:, t - 1], found[:, t]]
    moved = p * (total - p @ total)
    at, pairs = np.zeros_like(node), np.zeros_like(edge)
    for y, c in zip(found, moved, strict=True):
        for t in range(n):
            at[t, y[t]] += c
            if t:
                pairs[kind[t], y[t - 1], y[t]] += c
    return at, pairs


def moved(direction):
    """Without the positions where nothing moves."""
    at = np.flatnonzero(direction.node.any(axis=1))
    place = np.full(len(direction.node), -1, dtype=np.int32)
    place[at] = np.arange(len(at))
    return Direction(place, direction.node[at], direction.edge)


@st.composite
def cases(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n_labels, n_kinds = draw(st.integers(1, 5)), draw(st.integers(1, 3))
    lengths = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    size = draw(st.sampled_from([1.0, 5.0, 700.0, 5e4]))
    n = sum(lengths)
    node, edge = size * rng.normal(size=(n, n_labels)), size * rng.normal(size=(n_kinds, n_labels, n_labels))
    if draw(st.booleans()):
        node[rng.random(node.shape) < 0.2] = -np.inf
        edge[rng.random(edge.shape) < 0.2] = -np.inf
    chains = Chains(np.cumsum([0, *lengths]), rng.integers(n_kinds, size=n).astype(np.int32), n_kinds)
    g, G = rng.normal(size=node.shape), rng.normal(size=edge.shape)
    g[rng.random(n) < draw(st.sampled_from([0.0, 0.6, 1.0]))] = 0.0
    weight = rng.uniform(0, 2, size=len(lengths))
    return chains, Potentials(node, edge), Potentials(g, G if draw(st.booleans()) else None), weight


@settings(max_examples=150, deadline=None)
@given(cases())
def test_on_chains_they_are_covariances(case):
    chains, potentials, direction, weight = case
    found = chains.tangent(potentials, Workers(1), weight)
    plain = chains.infer(potentials, weight=weight)
    np.testing.assert_allclose(found.marginals.log_z, plain.log_z, rtol=1e-12)
    np.testing.assert_allclose(found.marginals.node, plain.node, atol=1e-12)
    np.testing.assert_allclose(found.marginals.edge, plain.edge, atol=1e-12)
    node, edge = found.along(moved(direction))
    G = np.zeros_like(potentials.edge) if direction.edge is None else direction.edge
    expected = np.zeros_like(potentials.edge)
    for s in range(len(chains)):
        here = slice(*chains.offsets[s : s + 2])
        if np.isneginf(plain.log_z[s]):
            assert not node[here].any()
            continue
        at, pairs = covariances(potentials.node[here], potentials.edge, chains.kind[here], direction.node[here], G)
        np.testing.assert_allclose(node[here], weight[s] * at, atol=1e-9)
        expected += weight[s] * pairs
    np.testing.assert_allclose(edge, expected, atol=1e-9)


def test_long_chains_lose_nothing():
    # Each pair of labels is independent of the rest where edges say nothing: the covariance is that of one position.
    rng = np.random.default_rng(0)
    n, n_labels = 10_000, 3
    node, g = rng.normal(size=(n, n_labels)), 1e3 * rng.normal(size=(n, n_labels))
    chains = Chains(np.array([0, n]), np.zeros(n, dtype=np.int32), 1)
    moved, _ = chains.tangent(Potentials(node, np.zeros((1, 3, 3))), Workers(1), np.ones(1)).along(
        Direction.along(Potentials(g))
    )
    alone, _ = Independent(n).tangent(Potentials(node), Workers(1), np.ones(n)).along(Direction.along(Potentials(g)))
    np.testing.assert_allclose(moved, alone, atol=1e-9)


def test_independent_positions_by_finite_differences():
    rng = np.random.default_rng(1)
    node, g = rng.normal(size=(5, 4)), rng.normal(size=(5, 4))
    node[2, 1] = -np.inf
    moved, edge = Independent(5).tangent(Potentials(node), Workers(1), np.ones(5)).along(Direction.along(Potentials(g)))
    h = 1e-6
    up, down = (Independent(5).infer(Potentials(node + sign * h * g)).node for sign in (1, -1))
    np.testing.assert_allclose(moved, (up - down) / (2 * h), atol=1e-8)
    assert edge is None


@pytest.mark.parametrize("n_labels", [3, 13, 40])
def test_threads_change_nothing(n_labels):
    rng = np.random.default_rng(2)
    lengths = rng.integers(1, 60, size=80)
    chains = Chains(np.cumsum([0, *lengths]), rng.integers(2, size=lengths.sum()).astype(np.int32), 2)
    node, edge = rng.normal(size=(lengths.sum(), n_labels)), rng.normal(size=(2, n_labels, n_labels))
    direction = Potentials(rng.normal(size=node.shape), rng.normal(size=edge.shape))
    one, three = (
        chains.tangent(Potentials(node, edge), Workers(n), np.ones(80)).along(Direction.along(direction))
        for n in (1, 3)
    )
    np.testing.assert_array_equal(one[0], three[0])
    np.testing.assert_array_equal(one[1], three[1])
