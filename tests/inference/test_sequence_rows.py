"""Sequence-level prices: brute force over q, the duality gap, hard rows that cannot hold, and many sequences."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import softmax
from tests.oracles.chain import enumerate_chain, labellings, scores
from tests.oracles.primal import primal_optimum

from tiltfit.execution.workers import Workers
from tiltfit.inference.chain import Chains
from tiltfit.inference.potentials import Potentials
from tiltfit.inference.sequence_rows import Features, SequenceRows
from tiltfit.penalties import interval, kl
from tiltfit.penalties.stacked import stack

# The penalty, and the same thing said to the oracle: a function of m, or bounds on it.
PENALTIES = {
    "l2": (interval.l2([0.7], [0.05]), lambda m: (m - 0.7) ** 2 / 0.1, None),
    "at_most": (interval.at_most([0.4]), None, (-np.inf, 0.4)),
    "at_least": (interval.at_least([0.6]), None, (0.6, np.inf)),
    "box": (interval.box([0.45], [0.5]), None, (0.45, 0.5)),
    "equality": (interval.equality([0.6]), None, (0.6, 0.6)),
    "slack": (interval.box([0.6], [0.7], [0.1]), lambda m: max(0.6 - m, m - 0.7, 0) ** 2 / 0.2, None),
    "kl": (kl.kl([0.7], [0.2]), lambda m: (0.7 * np.log(0.7 / m) - 0.7 + m) / 0.2, None),
    "l1": (interval.l1([0.7], [0.5]), None, None),
}


def make_features(entries, tables):
    """Entries (place, row, table, value) as ``Features``."""
    columns = list(zip(*entries, strict=True)) if entries else ([], [], [], [])
    return Features(*(np.array(c, dtype=np.intp) for c in columns[:3]), np.array(columns[3], dtype=float), tables)


def value_of(features, row, offset, ys, edges):
    """f_r of every labelling of the sequence that starts at ``offset``."""
    total = np.zeros(len(ys))
    for place, r, table, value in zip(features.place, features.row, features.table, features.value, strict=True):
        t = place - offset
        if r == row and 0 <= t < ys.shape[1]:
            at = (table, ys[:, t - 1], ys[:, t]) if edges else (table, ys[:, t])
            total += value * features.tables[at]
    return total


def random_rows(seed, kinds, n_labels=3, lengths=(3, 1, 4), n_kinds=2, scale=1.0):
    """Row k, of penalty kinds[k], speaks of sequence k mod 3, with entries on random nodes and edges of it."""
    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.intp)
    chains = Chains(offsets, rng.integers(0, n_kinds, offsets[-1]).astype(np.int32), n_kinds)
    potentials = Potentials(
        scale * rng.normal(size=(offsets[-1], n_labels)), scale * rng.normal(size=(n_kinds, n_labels, n_labels))
    )
    sequence = np.arange(len(kinds)) % len(lengths)
    node, edge = [], []
    for r, s in enumerate(sequence):
        for t in range(offsets[s], offsets[s + 1]):
            if rng.random() < 0.7 or t == offsets[s]:
                node.append((t, r, rng.integers(2), 1.0))
            if t > offsets[s] and rng.random() < 0.7:
                edge.append((t, r, rng.integers(2), rng.choice([1.0, 0.5])))
    vectors = np.eye(n_labels)[:2]
    matrices = np.stack([1.0 - np.eye(n_labels), np.outer(np.eye(n_labels)[0], np.ones(n_labels))])
    on_nodes, on_edges = make_features(node, vectors), make_features(edge, matrices)
    # The label 2 everywhere has f = 0, so with this scale m reaches from its offset to 1.
    most = [
        np.max(value_of(on_nodes, r, offsets[s], ys, False) + value_of(on_edges, r, offsets[s], ys, True))
        for r, s, ys in ((r, s, labellings(lengths[s], n_labels)) for r, s in enumerate(sequence))
    ]
    offset = 0.1 * rng.random(len(kinds))
    rows = SequenceRows(
        chains, sequence, on_nodes, on_edges, *stack([PENALTIES[k][0] for k in kinds]).instance_form(),
        (1.0 - offset) / np.array(most), offset,
    )  # fmt: skip
    return rows, potentials, rng.uniform(0.5, 2.0, size=len(lengths))


def dual_value(rows, potentials, weight, got, penalty):
    """−w·log Z(θ) + w·log Z(0) − Σ [c·offset·θ + U*(−cθ)]: what the optimum of the primal must be."""
    base = rows.chains.infer(potentials).log_z
    c = weight[rows.sequence] / rows.scale
    eta = np.clip(-c * got.prices, *penalty.dual_bounds())
    return float(weight @ (base - got.marginals.log_z)) + float(np.sum(eta * rows.offset - penalty.conjugate(eta)))


@pytest.mark.parametrize(
    "kinds",
    [
        ["l2", "at_most", "kl"],
        ["at_most", "slack", "at_least"],
        ["equality", "l2", "box"],
        ["l2", "kl", "slack", "at_most", "l2"],  # two rows in the first two sequences
        ["kl", "box", "l2", "kl", "l2", "box", "at_most"],  # three in the first
    ],
)
@pytest.mark.parametrize("seed", range(3))
def test_same_optimum_as_brute_force(kinds, seed):
    rows, potentials, weight = random_rows(seed, kinds, lengths=(2, 1, 2))
    got = rows.solve(potentials, np.zeros(len(kinds)), 100.0, weight=weight)
    assert got.solved.all()
    total = 0.0
    for s, (a, b) in enumerate(zip(rows.chains.offsets, rows.chains.offsets[1:], strict=False)):
        ys, score = scores(potentials.node[a:b], potentials.edge, rows.chains.kind[a:b])
        mine = np.flatnonzero(rows.sequence == s)
        events = np.stack([value_of(rows.node, r, a, ys, False) + value_of(rows.edge, r, a, ys, True) for r in mine])
        support = weight[s] / rows.scale[mine]
        best, q = primal_optimum(
            softmax(score)[None], np.ones((1, len(mine))), events, weight[[s]], support,
            [(k, PENALTIES[kinds[r]][1]) for k, r in enumerate(mine) if PENALTIES[kinds[r]][1]],
            [(k, *PENALTIES[kinds[r]][2]) for k, r in enumerate(mine) if PENALTIES[kinds[r]][2]],
            rows.offset[mine] * support,
        )  # fmt: skip
        total += best
        node = np.stack([np.bincount(ys[:, t], weights=q[0], minlength=3) for t in range(b - a)])
        np.testing.assert_allclose(got.marginals.node[a:b], node, atol=1e-3)
        np.testing.assert_allclose(got.means[mine], events @ q[0] * rows.scale[mine] + rows.offset[mine], atol=1e-3)
    penalty = stack([PENALTIES[k][0] for k in kinds])
    assert dual_value(rows, potentials, weight, got, penalty) == pytest.approx(total, abs=1e-6)


@settings(max_examples=120)
@given(
    seed=st.integers(0, 10_000),
    kinds=st.lists(st.sampled_from(sorted(PENALTIES)), min_size=1, max_size=8),
    scale=st.sampled_from([0.1, 2.0, 20.0]),
)
def test_the_gap_closes_for_any_mixture(seed, kinds, scale):
    rows, potentials, weight = random_rows(seed, kinds, scale=scale)
    cap = 50.0 + 30 * scale
    got = rows.solve(potentials, np.zeros(len(kinds)), cap, weight=weight)
    assert got.solved.all()
    penalty = stack([PENALTIES[k][0] for k in kinds])
    c = weight[rows.sequence] / rows.scale
    gap = penalty.fenchel_gap(got.means, np.clip(-c * got.prices, *penalty.dual_bounds()))
    inside = np.abs(got.prices) < cap
    if inside[np.isin(kinds, ["at_most", "at_least", "box", "equality"])].all():  # else some hard row cannot hold
        assert gap.max() < 1e-7
    else:
        assert penalty.violation(got.means)[~inside].min() > 0.0
    # m and q belong together.
    for s, (a, b) in enumerate(zip(rows.chains.offsets, rows.chains.offsets[1:], strict=False)):
        ys, score = scores(potentials.node[a:b], potentials.edge, rows.chains.kind[a:b])
        f = {
            r: value_of(rows.node, r, a, ys, False) + value_of(rows.edge, r, a, ys, True)
            for r in np.flatnonzero(rows.sequence == s)
        }
        q = softmax(score + sum(got.prices[r] * f[r] for r in f))
        node = np.stack([np.bincount(ys[:, t], weights=q, minlength=3) for t in range(b - a)])
        np.testing.assert_allclose(got.marginals.node[a:b], node, atol=1e-9)
        for r, value in f.items():
            assert got.means[r] == pytest.approx(value @ q * rows.scale[r] + rows.offset[r], abs=1e-9)


def test_edges_are_summed_by_kind_and_weight():
    kinds = ["l2", "kl", "at_most", "l2"]
    rows, potentials, weight = random_rows(1, kinds)
    got = rows.solve(potentials, np.zeros(4), 100.0, weight=weight)
    expected = np.zeros_like(potentials.edge)
    for s, (a, b) in enumerate(zip(rows.chains.offsets, rows.chains.offsets[1:], strict=False)):
        # Every edge its own kind, with the potentials that prices give it.
        node, edge = potentials.node[a:b].copy(), potentials.edge[rows.chains.kind[a:b]]
        for place, r, table, value in zip(
            rows.node.place, rows.node.row, rows.node.table, rows.node.value, strict=True
        ):
            if rows.sequence[r] == s:
                node[place - a] += got.prices[r] * value * rows.node.tables[table]
        for place, r, table, value in zip(
            rows.edge.place, rows.edge.row, rows.edge.table, rows.edge.value, strict=True
        ):
            if rows.sequence[r] == s:
                edge[place - a] += got.prices[r] * value * rows.edge.tables[table]
        log_z, nodes, edges = enumerate_chain(node, edge, np.arange(b - a))
        assert got.marginals.log_z[s] == pytest.approx(log_z)
        np.testing.assert_allclose(got.marginals.node[a:b], nodes, atol=1e-12)
        np.add.at(expected, rows.chains.kind[a:b], weight[s] * edges)
    np.testing.assert_allclose(got.marginals.edge, expected, atol=1e-12)


def segments(n_sequences, length, n_labels, penalty, seed=0, n_kinds=3, scale=1.0):
    """One row a sequence: the expected number of segments of label 0."""
    rng = np.random.default_rng(seed)
    offsets = np.arange(n_sequences + 1, dtype=np.intp) * length
    chains = Chains(offsets, rng.integers(0, n_kinds, offsets[-1]).astype(np.int32), n_kinds)
    potentials = Potentials(
        scale * rng.normal(size=(offsets[-1], n_labels)), scale * rng.normal(size=(n_kinds, n_labels, n_labels))
    )
    sequence = np.arange(n_sequences)
    inner = np.setdiff1d(np.arange(offsets[-1]), chains.first)
    begins = np.zeros((1, n_labels, n_labels))
    begins[0, 1:, 0] = 1.0
    zeros, ones = np.zeros(n_sequences, dtype=np.intp), np.ones(n_sequences)
    node = Features(chains.first, sequence, zeros, ones, np.eye(n_labels)[:1])
    edge = Features(inner, inner // length, np.zeros(len(inner), dtype=np.intp), np.ones(len(inner)), begins)
    return SequenceRows(chains, sequence, node, edge, *penalty.instance_form(), ones, 0.0 * ones), potentials


def test_segments_at_most_one_on_average():
    n = 50
    rows, potentials = segments(n, 12, 3, interval.at_most(np.ones(n)))
    free = rows.solve(potentials, np.zeros(n), 0.0)  # a cap of 0: no prices
    assert free.means.max() > 1.5
    got = rows.solve(potentials, np.zeros(n), 100.0)
    assert got.solved.all()
    assert got.means.max() < 1.0 + 1e-9
    assert np.all(got.prices <= 0.0)
    assert np.all((got.prices == 0.0) == (free.means <= 1.0))
    np.testing.assert_allclose(free.marginals.node, rows.chains.infer(potentials).node, atol=1e-14)


def test_warm_and_cold_start_agree():
    kinds = ["l2", "kl", "slack", "at_most", "l2", "kl", "box"]
    rows, potentials, weight = random_rows(5, kinds)
    cold = rows.solve(potentials, np.zeros(7), 100.0, weight=weight)
    warm = rows.solve(potentials, cold.prices, 100.0, weight=weight)
    far = rows.solve(potentials, np.full(7, 30.0), 100.0, weight=weight)
    np.testing.assert_allclose(warm.prices, cold.prices, atol=1e-9)
    np.testing.assert_allclose(far.prices, cold.prices, atol=1e-7)


def test_hard_rows_that_cannot_hold_end_at_the_cap():
    n = 4
    rows, potentials = segments(n, 3, 2, interval.at_least(np.full(n, 5.0)))  # three tokens have two segments at most
    got = rows.solve(potentials, np.zeros(n), 60.0)
    assert got.solved.all()
    assert got.prices.tolist() == [60.0] * n
    np.testing.assert_allclose(got.means, 2.0)
    assert np.isfinite(got.marginals.log_z).all()


def test_rows_that_contradict_each_other_end_at_the_cap():
    rows, potentials = segments(1, 5, 2, interval.at_least([1.5]))
    both = SequenceRows(
        rows.chains, np.array([0, 0]),
        *(Features(np.tile(f.place, 2), np.repeat([0, 1], len(f.place)), np.tile(f.table, 2), np.tile(f.value, 2),
                   f.tables) for f in (rows.node, rows.edge)),
        *stack([interval.at_least([1.5]), interval.at_most([0.5])]).instance_form(), np.ones(2), np.zeros(2),
    )  # fmt: skip
    got = both.solve(potentials, np.zeros(2), 60.0)
    assert np.all(np.isfinite(got.prices))
    assert 0.5 - 1e-9 <= got.means[0] <= 1.5 + 1e-9


@pytest.mark.parametrize("scale", [300.0, 5e4])
def test_extreme_scores(scale):
    n = 20
    rows, potentials = segments(n, 8, 3, stack([interval.l2(np.full(n, 0.5), 0.1)]), scale=scale)
    got = rows.solve(potentials, np.zeros(n), 50.0 + 3 * scale)
    assert np.all(np.isfinite(got.prices))
    # L2 pulls with (target − m)/β.
    np.testing.assert_allclose(got.prices, (0.5 - got.means) / 0.1, atol=1e-6)
    np.testing.assert_allclose(got.marginals.node.sum(axis=1), 1.0)


def test_forbidden_labels_and_impossible_sequences():
    rows, potentials = segments(3, 4, 2, interval.at_least(np.full(3, 0.9)))
    potentials.node[0:4, 0] = -np.inf  # the label never occurs: m cannot change
    potentials.node[5] = -np.inf  # nothing can be at all
    got = rows.solve(potentials, np.full(3, 0.1), 60.0)
    assert got.means[:2].tolist() == [0.0, 0.0]
    assert got.prices[0] == 60.0
    assert got.prices[1] == 0.0
    assert got.marginals.log_z[1] == -np.inf
    assert not got.marginals.node[4:8].any()
    assert not np.isnan(got.marginals.node).any()
    assert got.means[2] >= 0.9 - 1e-9


def test_sequences_without_rows_or_weight_are_left_as_they_are():
    rows, potentials = segments(6, 5, 3, interval.equality(np.full(6, 0.5)))
    some = SequenceRows(
        rows.chains, np.array([4, 2]),
        *(make_features([(p, {4: 0, 2: 1}[r], t, v) for p, r, t, v in zip(f.place, f.row, f.table, f.value, strict=True)
                         if r in (2, 4)], f.tables) for f in (rows.node, rows.edge)),
        *interval.equality([0.5, 0.7]).instance_form(), np.ones(2), np.zeros(2),
    )  # fmt: skip
    weight = np.array([1.0, 2.0, 1.0, 1.0, 1.0, 0.0])
    got = some.solve(potentials, np.zeros(2), 60.0, weight=weight)
    plain = rows.chains.infer(potentials, weight=weight)
    untouched = np.delete(np.arange(30).reshape(6, 5), [2, 4], axis=0).ravel()
    np.testing.assert_allclose(got.marginals.node[untouched], plain.node[untouched], atol=1e-14)
    np.testing.assert_allclose(got.means, [0.5, 0.7], atol=1e-10)
    nothing = some.solve(potentials, np.array([1.0, 1.0]), 60.0, weight=0 * weight)
    assert nothing.prices.tolist() == [0.0, 0.0]
    assert not nothing.marginals.edge.any()
    none = SequenceRows(
        rows.chains, np.empty(0, np.intp), make_features([], rows.node.tables), make_features([], rows.edge.tables),
        np.empty(0, np.intp), np.empty((0, 4)), np.empty(0), np.empty(0),
    )  # fmt: skip
    alone = none.solve(potentials, np.empty(0), 60.0, weight=weight)
    np.testing.assert_allclose(alone.marginals.node, plain.node, atol=1e-14)
    np.testing.assert_allclose(alone.marginals.edge, plain.edge, atol=1e-12)


@pytest.mark.parametrize("beta", [1e-3, 0.01, 1.0])
def test_a_distribution_over_all_labels_per_sequence(beta):
    """A common shift of all prices hardly changes q: coordinate by coordinate they would creep."""
    rng = np.random.default_rng(0)
    n, length, n_labels = 20, 6, 8
    _, potentials = segments(n, length, n_labels, interval.at_most(np.ones(n)))
    chains = segments(n, length, n_labels, interval.at_most(np.ones(n)))[0].chains
    targets = rng.dirichlet(np.ones(n_labels), size=n)
    targets[: n // 2, 0] = 0.0
    targets /= targets.sum(axis=1, keepdims=True)
    entries = [(t, (t // length) * n_labels + y, y, 1.0) for t in range(n * length) for y in range(n_labels)]
    penalty = kl.kl(targets.ravel(), beta)
    rows = SequenceRows(
        chains, np.repeat(np.arange(n), n_labels), make_features(entries, np.eye(n_labels)),
        make_features([], np.zeros((0, n_labels, n_labels))), *penalty.instance_form(),
        np.full(n * n_labels, 1 / length), np.zeros(n * n_labels),
    )  # fmt: skip
    got = rows.solve(potentials, np.zeros(len(rows)), 100.0)
    assert got.solved.all()
    eta = np.clip(-length * got.prices, *penalty.dual_bounds())
    assert penalty.fenchel_gap(got.means, eta).max() < 1e-7 / beta
    np.testing.assert_allclose(got.means.reshape(n, -1).sum(axis=1), 1.0)


def test_same_bits_at_any_number_of_threads_and_quickly():
    n = 3000
    rows, potentials = segments(n, 35, 13, interval.at_most(np.ones(n)))
    start = np.zeros(n)
    kept = potentials.node.copy()
    small, few = segments(2, 35, 13, interval.at_most(np.ones(2)))
    small.solve(few, np.zeros(2), 100.0)  # compile
    started = time.process_time()
    one = rows.solve(potentials, start, 100.0, Workers(1))
    assert time.process_time() - started < 5.0
    assert one.solved.all()
    assert np.array_equal(potentials.node, kept)
    three = rows.solve(potentials, start, 100.0, Workers(3))
    assert np.array_equal(one.prices, three.prices)
    assert np.array_equal(one.marginals.node, three.marginals.node)
    assert np.array_equal(one.marginals.edge, three.marginals.edge)


def test_features_of_a_sequence_agree_with_enumeration():
    """The oracle of these tests, once by hand: two tokens, one segment unless label 0 comes and goes."""
    ys = labellings(3, 2)
    rows, _ = segments(1, 3, 2, interval.at_most([1.0]))
    f = value_of(rows.node, 0, 0, ys, False) + value_of(rows.edge, 0, 0, ys, True)
    assert dict(zip(map(tuple, ys.tolist()), f, strict=True))[(0, 1, 0)] == 2.0
    assert dict(zip(map(tuple, ys.tolist()), f, strict=True))[(1, 0, 0)] == 1.0
