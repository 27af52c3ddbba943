"""Chains against brute-force enumeration, also where scores are extreme, labels forbidden or sequences long."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp, softmax, xlogy
from tests.oracles.chain import enumerate_chain, scores

from tiltfit.errors import DataError
from tiltfit.execution.workers import Workers
from tiltfit.inference.chain import Chains
from tiltfit.inference.potentials import Potentials


def make_chains(lengths, rng, n_kinds=1):
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.intp)
    return Chains(offsets, rng.integers(0, n_kinds, offsets[-1]).astype(np.int32), n_kinds)


def make_potentials(chains, n_labels, rng, scale=1.0, forbid=0.0, ties=False):
    node = scale * rng.normal(size=(chains.offsets[-1], n_labels))
    edge = scale * rng.normal(size=(chains.n_kinds, n_labels, n_labels))
    if ties:
        node, edge = np.sign(node), np.sign(edge)
    node[rng.random(node.shape) < forbid] = -np.inf
    edge[rng.random(edge.shape) < forbid] = -np.inf
    return Potentials(node, edge)


def parts(chains, potentials):
    """Each sequence alone, as the oracle takes it."""
    for a, b in zip(chains.offsets, chains.offsets[1:], strict=False):
        yield slice(a, b), (potentials.node[a:b], potentials.edge, chains.kind[a:b])


tiny = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 10_000),
        "lengths": st.lists(st.integers(1, 5), min_size=1, max_size=4),
        "n_labels": st.integers(1, 4),
        "n_kinds": st.integers(1, 3),
        "scale": st.sampled_from([0.0, 1.0, 30.0, 400.0, 5e4]),
        "forbid": st.sampled_from([0.0, 0.2, 0.5]),
        "ties": st.booleans(),
    }
)


def tiny_problem(case):
    rng = np.random.default_rng(case["seed"])
    chains = make_chains(case["lengths"], rng, case["n_kinds"])
    return chains, make_potentials(chains, case["n_labels"], rng, case["scale"], case["forbid"], case["ties"]), rng


@settings(max_examples=50)
@given(case=tiny)
def test_the_score_of_labels_agrees_with_enumeration(case):
    chains, potentials, rng = tiny_problem(case)
    labels = rng.integers(case["n_labels"], size=chains.offsets[-1])
    got = chains.score(potentials, labels)
    for s, (where, sequence) in enumerate(parts(chains, potentials)):
        ys, total = scores(*sequence)
        assert got[s] == pytest.approx(total[(ys == labels[where]).all(axis=1)][0], rel=1e-12, abs=1e-9)


@settings(max_examples=150)
@given(case=tiny)
def test_marginals_agree_with_enumeration(case):
    chains, potentials, rng = tiny_problem(case)
    weight = rng.choice([0.0, 0.5, 1.0, 2.0], size=len(chains))
    got = chains.infer(potentials, weight=weight)
    edges = np.zeros_like(potentials.edge)
    for s, (where, sequence) in enumerate(parts(chains, potentials)):
        log_z, node, edge = enumerate_chain(*sequence)
        assert got.log_z[s] == pytest.approx(log_z, rel=1e-12, abs=1e-11)
        np.testing.assert_allclose(got.node[where], node, atol=1e-10)
        edges += weight[s] * edge
    np.testing.assert_allclose(got.edge, edges, atol=1e-10)


@settings(max_examples=100)
@given(case=tiny, k=st.integers(1, 9))
def test_best_labellings_agree_with_enumeration(case, k):
    chains, potentials, _ = tiny_problem(case)
    best, top = chains.best(potentials)
    labels, score = chains.k_best(potentials, k)
    for s, (where, sequence) in enumerate(parts(chains, potentials)):
        ys, total = scores(*sequence)
        total_of = dict(zip(map(tuple, ys), total, strict=True))
        possible = np.sort(total[total > -np.inf])[::-1][:k]
        np.testing.assert_allclose(score[s, : len(possible)], possible, rtol=1e-12, atol=1e-12)
        assert np.all(score[s, len(possible) :] == -np.inf)
        assert np.all(labels[len(possible) :, where] == -1)
        found = [tuple(y) for y in labels[: len(possible), where]]
        assert len(set(found)) == len(found)
        np.testing.assert_allclose([total_of[y] for y in found], score[s, : len(found)], rtol=1e-12, atol=1e-12)
        assert top[s] == pytest.approx(possible[0] if len(possible) else -np.inf, rel=1e-12, abs=1e-12)
        assert best[where].tolist() == labels[0, where].tolist()


@settings(max_examples=60)
@given(case=tiny)
def test_entropy_agrees_with_enumeration(case):
    chains, potentials, _ = tiny_problem(case)
    got = chains.entropy(potentials)
    for s, (_, sequence) in enumerate(parts(chains, potentials)):
        total = scores(*sequence)[1]
        p = softmax(total) if np.any(total > -np.inf) else np.zeros(1)
        assert got[s] == pytest.approx(-xlogy(p, p).sum(), abs=1e-9)


def test_the_derivative_of_log_z_is_the_marginals():
    rng = np.random.default_rng(0)
    chains = make_chains([7, 1, 12], rng, n_kinds=2)
    potentials = make_potentials(chains, 5, rng)
    got = chains.infer(potentials)
    along = make_potentials(chains, 5, rng)
    step = 1e-5

    def log_z(h):
        moved = Potentials(potentials.node + h * along.node, potentials.edge + h * along.edge)
        return chains.infer(moved).log_z.sum()

    slope = (log_z(step) - log_z(-step)) / (2 * step)
    assert slope == pytest.approx(np.sum(got.node * along.node) + np.sum(got.edge * along.edge), rel=1e-8)


@pytest.mark.parametrize("n_labels", [1, 2, 3, 4, 5, 8, 9, 13, 17, 22, 26, 31, 32, 33, 50, 64, 70])
def test_every_width_agrees_with_plain_recursions_on_logarithms(n_labels):
    rng = np.random.default_rng(n_labels)
    chains = make_chains([1, 9, 2], rng, n_kinds=2)
    potentials = make_potentials(chains, n_labels, rng, scale=2.0, forbid=0.2 if n_labels > 4 else 0.0)
    got = chains.infer(potentials)
    for s, (where, (node, edge, kind)) in enumerate(parts(chains, potentials)):
        x, beta = node.copy(), np.zeros_like(node)
        for t in range(1, len(node)):
            x[t] += logsumexp(x[t - 1][:, None] + edge[kind[t]], axis=0)
        for t in range(len(node) - 1, 0, -1):
            beta[t - 1] = logsumexp(edge[kind[t]] + node[t] + beta[t], axis=1)
        assert got.log_z[s] == pytest.approx(logsumexp(x[-1]), rel=1e-12)
        np.testing.assert_allclose(got.node[where], softmax(x + beta, axis=1), atol=1e-12)
    # Each edge has one pair of labels, and pairs add up to the labels at their ends.
    assert got.edge.sum() == pytest.approx(chains.offsets[-1] - len(chains))
    ends = np.delete(got.node, chains.first, axis=0).sum(axis=0)
    np.testing.assert_allclose(got.edge.sum(axis=(0, 1)), ends, atol=1e-11)


@pytest.mark.parametrize("scale", [1.0, 300.0, 5e4])
def test_a_long_sequence_of_extreme_scores(scale):
    rng = np.random.default_rng(0)
    chains = make_chains([10_000, 1, 300], rng, n_kinds=2)
    potentials = make_potentials(chains, 6, rng, scale, forbid=0.05)
    potentials.edge[:, 0, :] = potentials.edge[:, :, 0] = 0.0
    potentials.node[:, 0] = 0.0
    got = chains.infer(potentials)
    assert np.all(np.isfinite(got.log_z))
    np.testing.assert_allclose(got.node.sum(axis=1), 1.0, atol=1e-11)
    assert got.edge.sum() == pytest.approx(10_301 - 3)
    if scale == 5e4:  # all mass on one labelling, or nearly
        labels, score = chains.best(potentials)
        np.testing.assert_allclose(got.log_z, score, rtol=1e-12)
        assert np.mean(got.node[np.arange(len(labels)), labels]) > 0.999


def test_the_scaled_recursions_agree_with_the_rescue():
    from tiltfit.kernels.chain import edge_tables, new_scratch
    from tiltfit.kernels.log_chain import log_forward_backward

    rng = np.random.default_rng(1)
    chains = make_chains([400], rng, n_kinds=2)
    potentials = make_potentials(chains, 7, rng, scale=3.0, forbid=0.1)
    got = chains.infer(potentials)
    tables, room = edge_tables(potentials.edge), new_scratch(400, 7)
    node, direct = potentials.node.copy(), np.zeros((2, 8, 8))
    log_z = log_forward_backward(
        node, chains.kind, 0, 400, tables.log, tables.log_t, room.ahead, room.back, 1.0, direct
    )
    assert got.log_z[0] == pytest.approx(log_z, rel=1e-13)
    np.testing.assert_allclose(got.node, node, atol=1e-12)
    np.testing.assert_allclose(got.edge, direct[:, :7, :7], atol=1e-11)


def test_mass_that_fades_away_and_comes_back():
    """Labels are never left. One fades by e⁻⁹ a step, far below the least double, and then the other is forbidden."""
    n = 200
    node = np.zeros((n, 2))
    node[:, 1] = -9.0
    node[-1, 0] = -np.inf
    edge = np.array([[[0.0, -np.inf], [-np.inf, 0.0]]])
    chains = Chains(np.array([0, n]), np.zeros(n, np.int32), 1)
    got = chains.infer(Potentials(node, edge))
    assert got.log_z[0] == pytest.approx(-9.0 * n)
    np.testing.assert_allclose(got.node, np.tile([0.0, 1.0], (n, 1)))
    assert got.edge[0].tolist() == [[0.0, 0.0], [0.0, n - 1]]


def test_a_label_that_cannot_be_reached_but_would_be_far_better():
    n = 300
    node = np.tile([0.0, 9.0], (n, 1))
    node[0, 1] = -np.inf
    edge = np.array([[[0.0, -np.inf], [-np.inf, 0.0]]])
    chains = Chains(np.array([0, n]), np.zeros(n, np.int32), 1)
    got = chains.infer(Potentials(node, edge))
    assert got.log_z[0] == 0.0
    assert np.array_equal(got.node, np.tile([1.0, 0.0], (n, 1)))
    assert chains.entropy(Potentials(node, edge))[0] == 0.0
    assert not chains.best(Potentials(node, edge))[0].any()
    assert not chains.sample(Potentials(node, edge), 2, 0).any()


def test_forbidden_transitions_and_known_labels_do_not_need_the_rescue():
    """BIO validity and clamped labels are common: they must take the fast path, and be right there."""
    from tiltfit.kernels.chain import edge_tables, exact, forward, load, new_scratch

    rng = np.random.default_rng(0)
    n, n_labels = 500, 5  # O, B-x, I-x, B-y, I-y
    edge = rng.normal(size=(1, n_labels, n_labels))
    edge[0, [0, 0, 1, 2, 3, 4], [2, 4, 4, 4, 2, 2]] = -np.inf
    node = 3 * rng.normal(size=(n, n_labels))
    for t in range(0, n, 20):
        node[t, 1:] = -np.inf
    scratch, kind = new_scratch(n, n_labels), np.zeros(n, np.int32)
    _, node_spread = load(node, 0, n, scratch.local, scratch.least)
    _, edge_spread = forward(scratch, edge_tables(edge), kind, 0, n, n_labels)
    assert exact(scratch, node_spread + edge_spread)
    got = Chains(np.array([0, n]), kind, 1).infer(Potentials(node, edge))
    np.testing.assert_allclose(got.node.sum(axis=1), 1.0)
    assert np.all(got.edge[0][edge[0] == -np.inf] == 0.0)


@pytest.mark.parametrize("where", ["labels", "transitions", "between"])
def test_no_possible_labelling_is_zero_mass_not_nan(where):
    node, edge = np.zeros((3, 2)), np.zeros((1, 2, 2))
    if where == "labels":
        node[1] = -np.inf
    elif where == "transitions":
        edge[:] = -np.inf
    else:
        node[0, 1] = node[1, 0] = edge[0, 0, 1] = -np.inf
    chains = Chains(np.array([0, 3]), np.zeros(3, np.int32), 1)
    potentials = Potentials(node, edge)
    got = chains.infer(potentials)
    assert got.log_z.tolist() == [-np.inf]
    assert not got.node.any()
    assert not got.edge.any()
    assert chains.best(potentials)[0].tolist() == [-1, -1, -1]
    assert chains.best(potentials)[1].tolist() == [-np.inf]
    assert chains.sample(potentials, 1, 0).tolist() == [[-1, -1, -1]]
    assert chains.entropy(potentials).tolist() == [0.0]


@pytest.mark.parametrize("scale", [1.0, 5e4])
@pytest.mark.parametrize("what", ["node", "edge", "row"])
def test_nan_is_not_swallowed(what, scale):
    rng = np.random.default_rng(0)
    chains = make_chains([4, 3], rng, n_kinds=2)
    chains.kind[:4], chains.kind[4:] = 0, 1
    potentials = make_potentials(chains, 3, rng, scale)
    if what == "edge":
        potentials.edge[0, 1, 1] = np.nan
    else:
        potentials.node[2, slice(None) if what == "row" else 1] = np.nan
    got = chains.infer(potentials)
    assert np.isnan(got.log_z[0])
    assert np.isfinite(got.log_z[1])
    assert np.all(np.isfinite(got.node[4:]))


def test_weights_count_sequences():
    rng = np.random.default_rng(0)
    chains = make_chains([5, 3, 8], rng)
    potentials = make_potentials(chains, 4, rng)
    twice = chains.infer(potentials, weight=np.array([2.0, 0.0, 1.0]))
    again = chains.take(np.array([0, 2, 0]))
    same = again.infer(Potentials(potentials.node[chains.positions(np.array([0, 2, 0]))], potentials.edge))
    np.testing.assert_allclose(twice.edge, same.edge, rtol=1e-12)
    assert np.array_equal(twice.node, chains.infer(potentials).node)


@pytest.mark.parametrize(("n_labels", "scale"), [(3, 1.0), (22, 1.0), (5, 200.0)])
def test_same_bits_at_any_number_of_threads_and_input_untouched(n_labels, scale):
    rng = np.random.default_rng(0)
    chains = make_chains(rng.integers(1, 60, size=1500), rng, n_kinds=3)
    potentials = make_potentials(chains, n_labels, rng, scale)
    kept, weight = potentials.node.copy(), rng.random(len(chains))
    one = chains.infer(potentials, Workers(1), weight=weight)
    for count in (2, 3):
        several = chains.infer(potentials, Workers(count), weight=weight)
        assert np.array_equal(one.log_z, several.log_z)
        assert np.array_equal(one.node, several.node)
        assert np.array_equal(one.edge, several.edge)
    assert np.array_equal(potentials.node, kept)
    for answer in (
        lambda w: chains.best(potentials, w)[0],
        lambda w: chains.k_best(potentials, 2, w)[0],
        lambda w: chains.entropy(potentials, w),
        lambda w: chains.sample(potentials, 2, 7, w),
    ):
        assert np.array_equal(answer(Workers(1)), answer(Workers(3)))


def test_overwriting_gives_the_same_and_takes_the_place_of_the_potentials():
    rng = np.random.default_rng(0)
    chains = make_chains([4, 9], rng)
    potentials = make_potentials(chains, 5, rng)
    kept = chains.infer(potentials)
    got = chains.infer(potentials, overwrite=True)
    assert got.node is potentials.node
    assert np.array_equal(got.node, kept.node)


@pytest.mark.parametrize("scale", [1.0, 1000.0])
def test_samples_have_the_exact_marginals(scale):
    rng = np.random.default_rng(0)
    chains = make_chains([4, 1, 6], rng, n_kinds=2)
    potentials = make_potentials(chains, 3, rng, forbid=0.1)
    potentials.edge[1] += (scale - 1.0) * np.array([[0.0, 0.0, -1.0]] * 3)  # as good as forbidden: takes the rescue
    n = 20_000
    drawn = chains.sample(potentials, n, seed=3)
    frequency = np.stack([(drawn == y).mean(axis=0) for y in range(3)], axis=1)
    exact = chains.infer(potentials).node
    assert np.all(frequency[exact == 0.0] == 0.0)
    assert np.max(np.abs(frequency - exact)) < 5 * 0.5 / np.sqrt(n)
    pairs = np.zeros((2, 3, 3))
    for t in np.delete(np.arange(11), chains.first):
        np.add.at(pairs[chains.kind[t]], (drawn[:, t - 1], drawn[:, t]), 1 / n)
    assert np.max(np.abs(pairs - chains.infer(potentials).edge)) < 5 * 0.5 * 3 / np.sqrt(n)
    assert np.array_equal(chains.sample(potentials, 5, seed=3), drawn[:5])
    assert not np.array_equal(chains.sample(potentials, 5, seed=4), drawn[:5])


def test_no_edges_is_a_softmax_at_every_position():
    rng = np.random.default_rng(0)
    chains = make_chains([3, 1, 2], rng)
    node = rng.normal(size=(6, 4))
    got = chains.infer(Potentials(node))
    np.testing.assert_allclose(got.node, softmax(node, axis=1))
    sums = np.add.reduceat(logsumexp(node, axis=1), chains.first)
    np.testing.assert_allclose(got.log_z, sums)


def test_sequences_and_positions():
    chains = Chains(np.array([0, 2, 5, 6]), np.arange(6, dtype=np.int32), 6)
    assert len(chains) == 3
    assert chains.lengths.tolist() == [2, 3, 1]
    assert chains.first.tolist() == [0, 2, 5]
    assert chains.last.tolist() == [1, 4, 5]
    assert chains.spread(np.array([7, 8, 9])).tolist() == [7, 7, 8, 8, 8, 9]
    assert chains.positions(np.array([1, 0])).tolist() == [2, 3, 4, 0, 1]
    some = chains.take(np.array([2, 1]))
    assert some.offsets.tolist() == [0, 1, 4]
    assert some.kind.tolist() == [5, 2, 3, 4]
    assert some.n_kinds == 6
    assert len(chains.take(np.array([], dtype=np.intp))) == 0


def test_chunks_depend_on_the_data_alone_and_cover_it():
    rng = np.random.default_rng(0)
    chains = make_chains(rng.integers(1, 60, size=5000), rng, n_kinds=4)
    cuts = chains.cuts(24)
    assert cuts[0] == 0
    assert cuts[-1] == 5000
    assert 16 < len(cuts) <= 33
    sizes = np.diff(chains.offsets[cuts])
    assert sizes.max() - sizes.min() < 200
    assert len(chains.cuts(3000)) == 5  # large tables: few sums


def test_no_sequences():
    chains = Chains(np.array([0]), np.empty(0, np.int32), 2)
    got = chains.infer(Potentials(np.empty((0, 3)), np.zeros((2, 3, 3))))
    assert got.log_z.shape == (0,)
    assert got.edge.tolist() == np.zeros((2, 3, 3)).tolist()


@pytest.mark.parametrize(
    ("offsets", "kind", "n_kinds"),
    [
        ([], [], 1),
        ([1, 2], [0, 0], 1),
        ([0, 2, 2], [0, 0], 1),
        ([0, 2], [0, 0, 0], 1),
        ([0, 2], [0, 1], 1),
        ([0, 2], [0, -1], 1),
    ],
)
def test_offsets_and_kinds_that_cannot_be(offsets, kind, n_kinds):
    with pytest.raises(DataError):
        Chains(np.array(offsets, dtype=np.intp), np.array(kind, dtype=np.int32), n_kinds)


@pytest.mark.parametrize(("node", "edge"), [((3, 2), (1, 2, 2)), ((4, 2), (1, 3, 3)), ((4, 2), (2, 2, 2))])
def test_potentials_of_the_wrong_shape(node, edge):
    chains = Chains(np.array([0, 4]), np.zeros(4, np.int32), 1)
    with pytest.raises(DataError, match="do not fit"):
        chains.infer(Potentials(np.zeros(node), np.zeros(edge)))


@pytest.mark.parametrize("n_labels", [*range(1, 18), 31, 32, 33, 64, 70])
def test_factors_of_rows_agree_with_numpy(n_labels):
    from tiltfit.kernels.chain import load, new_scratch

    rng = np.random.default_rng(n_labels)
    node = 30 * rng.normal(size=(7, n_labels))
    node[1] -= 1e4
    node[2, : n_labels // 2] = -np.inf
    node[3, n_labels // 2 + 1 :] -= 800.0  # beyond what a double can tell from zero
    node[4, -1] = 500.0
    scratch = new_scratch(9, n_labels)
    scratch.local[:] = np.nan
    tops, spread = load(node, 1, 6, scratch.local, scratch.least)
    top = node[1:6].max(axis=1)
    assert tops == pytest.approx(top.sum(), rel=1e-15)
    below = node[1:6] - top[:, None]
    assert spread == -np.min(below, where=below > -np.inf, initial=0.0)
    expected = np.where(below < -708, 0.0, np.exp(below))
    np.testing.assert_allclose(scratch.local[:5, :n_labels], expected, rtol=4e-16)
    assert not scratch.local[:5, n_labels:].any()  # the padding
    assert np.isnan(scratch.local[5:]).all()  # nothing beyond its rows


def test_a_row_of_nothing_and_a_row_with_nan():
    from tiltfit.kernels.chain import load, new_scratch

    node, scratch = np.zeros((3, 5)), new_scratch(3, 5)
    node[1] = -np.inf
    assert load(node, 0, 3, scratch.local, scratch.least) == (-np.inf, 0.0)
    node[1, 2] = np.nan
    assert load(node, 0, 3, scratch.local, scratch.least)[0] == 0.0
    assert np.isnan(scratch.local[1]).tolist() == [False, False, True, False, False, False, False, False]


@pytest.mark.parametrize("n_labels", [1, 2, 3, 4, 5, 13, 16, 17, 31, 70])
def test_tables_of_edges_agree_with_numpy(n_labels):
    from tiltfit.kernels.chain import edge_tables, padded

    rng = np.random.default_rng(n_labels)
    edge = 30 * rng.normal(size=(5, n_labels, n_labels))
    edge[1, rng.random((n_labels, n_labels)) < 0.3] = -np.inf
    edge[2] = -np.inf
    edge[3, -1, 0] -= 720.0  # less than the least double with all its digits
    edge[4, 0, n_labels // 2] = np.nan
    got, inner = edge_tables(edge), (slice(None), slice(n_labels), slice(n_labels))
    finite = [table[table != -np.inf] for table in edge]
    top = np.array([np.max(table) if len(table) else 0.0 for table in finite])
    np.testing.assert_array_equal(got.top, top)
    np.testing.assert_array_equal(got.spread, [np.ptp(table) if len(table) else 0.0 for table in finite])
    below = edge - top[:, None, None]
    expected = np.where(below < -708, 0.0, np.exp(below))
    np.testing.assert_array_equal(got.log[inner], edge)
    np.testing.assert_allclose(got.factor[inner], expected, rtol=4e-16)
    for table, table_t, padding in ((got.factor, got.factor_t, 0.0), (got.log, got.log_t, -np.inf)):
        assert table.shape == (5, padded(n_labels), padded(n_labels))
        np.testing.assert_array_equal(table_t, table.transpose(0, 2, 1))
        assert np.all(table[:, n_labels:] == padding)
        assert np.all(table[:, :, n_labels:] == padding)


@pytest.mark.parametrize("n_sequences", [1, 8])
@pytest.mark.parametrize("far", [650.0, 700.0, 720.0, 800.0])
def test_an_edge_far_below_the_others_that_must_be_taken(far, n_sequences):
    chains = Chains(np.arange(0, 2 * n_sequences + 1, 2), np.zeros(2 * n_sequences, np.int32), 1)
    node, edge = np.full((2 * n_sequences, 4), -np.inf), np.zeros((1, 4, 4))
    node[::2, 0], node[1::2, 1], edge[0, 0, 1] = 0.0, 0.0, -far
    potentials = Potentials(node, edge)
    got = chains.infer(potentials)
    np.testing.assert_allclose(got.log_z, -far)
    assert got.node.argmax(axis=1).tolist() == [0, 1] * n_sequences
    assert got.edge[0, 0, 1] == pytest.approx(n_sequences) == pytest.approx(got.edge.sum())
    assert chains.sample(potentials, 2, 0).tolist() == [[0, 1] * n_sequences] * 2
