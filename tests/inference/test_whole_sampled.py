"""The sampler against the exact answer, its states and streams, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest
from tests.inference.whole_cases import BIO, PLAIN, every_statistic, make_chains, make_potentials, parts
from tests.oracles.whole import enumerate_whole

from tiltfit.errors import DataError
from tiltfit.execution.workers import Workers
from tiltfit.inference import statistics as known
from tiltfit.inference.diagnostics import effective_sample_size, split_r_hat
from tiltfit.inference.fields import Fields
from tiltfit.inference.potentials import Potentials
from tiltfit.inference.statistic import Statistic
from tiltfit.inference.whole import SamplerState, WholeChains

CITATION = Fields.plain(["author", "title", "journal", "date", "pages", "note"])


def citations(kind, n_sequences=4, length=18):
    """Fields in order with unclear borders (trained), next to nothing (flat), or next to certain (sharp)."""
    rng = np.random.default_rng({"flat": 0, "trained": 1, "sharp": 2}[kind])
    chains, n_labels = make_chains([length] * n_sequences, rng), len(CITATION.names)
    noise, signal = {"flat": (0.2, 0.0), "trained": (1.2, 1.5), "sharp": (4.0, 4.0)}[kind]
    potentials = make_potentials(chains, n_labels, rng, noise)
    truth = np.tile(np.arange(length) * 5 // length, n_sequences)
    potentials.node[np.arange(len(truth)), truth] += signal
    potentials.edge[:] = {"flat": 0.5, "trained": 2.0, "sharp": 5.0}[kind] * np.eye(n_labels)
    return chains, potentials


def series_of(chain, potentials, prices, n_calls, n_steps):
    """Node probabilities and statistics, one value a call: means of a few steps."""
    got = chain.sample(potentials, prices, chain.start(), 1, burn_in=50)
    nodes, counts = [], []
    for _ in range(n_calls):
        got = chain.sample(potentials, prices, got.state, n_steps)
        nodes.append(got.node)
        counts.append(got.whole)
    return np.array(nodes), np.array(counts)


@pytest.mark.parametrize(("kind", "price"), [("flat", -4.0), ("trained", -1.0), ("trained", -4.0), ("sharp", -4.0)])
def test_marginals_within_four_standard_errors_of_the_exact_ones(kind, price):
    chains, potentials = citations(kind)
    chain, prices = WholeChains(chains, (known.repeats(CITATION),)), np.array([price])
    exact = chain.exact(potentials, prices)
    nodes, counts = series_of(chain, potentials, prices, 500, 40)
    flat = nodes.reshape(len(nodes), -1)
    size = effective_sample_size(flat)
    error = np.abs(flat.mean(axis=0) - exact.node.ravel())
    standard = flat.std(axis=0) / np.sqrt(size)
    assert error.max() <= 4.0 * standard.max()
    assert standard.max() < 0.03
    sizes = effective_sample_size(counts[:, :, 0])
    assert np.all(
        np.abs(counts[:, :, 0].mean(axis=0) - exact.whole[:, 0]) <= 4.0 * counts[:, :, 0].std(axis=0) / np.sqrt(sizes)
    )
    assert np.all(split_r_hat(counts[:, :, 0]) < 1.05)


@pytest.mark.parametrize("fields", [PLAIN, BIO])
def test_all_statistics_at_once(fields):
    rng = np.random.default_rng(7)
    chains, statistics = make_chains([4, 1, 5], rng, 2), tuple(every_statistic(fields))
    potentials, prices = make_potentials(chains, fields.n_labels, rng), rng.normal(size=(3, len(statistics)))
    weight = np.array([1.0, 0.0, 2.0])
    chain = WholeChains(chains, statistics)
    got = chain.sample(potentials, prices, chain.start(3), 8000, weight=weight, burn_in=10)
    exact = chain.exact(potentials, prices, weight=weight)
    np.testing.assert_allclose(got.node, exact.node, atol=0.03)
    np.testing.assert_allclose(got.edge, exact.edge, atol=0.1)
    np.testing.assert_allclose(got.whole, exact.whole, atol=0.08)
    np.testing.assert_allclose(got.totals.mean(axis=0), weight @ got.whole, rtol=1e-9)
    assert got.totals.shape == (8000, len(statistics))
    assert np.all(np.isnan(got.log_z))


def test_scores_that_need_logarithms():
    rng = np.random.default_rng(8)
    chains = make_chains([4, 4], rng)
    potentials = make_potentials(chains, 3, rng)
    potentials.node[:4, 0] += 5e4  # certain there; elsewhere that label is as good as forbidden
    potentials.edge[:, 1, 2] = -np.inf
    chain, prices = WholeChains(chains, (known.repeats(PLAIN),)), np.array([-2.0])
    got = chain.sample(potentials, prices, chain.start(1), 6000, burn_in=10)
    for where, sequence in parts(chains, potentials):
        np.testing.assert_allclose(got.node[where], enumerate_whole(*sequence, chain.statistics, prices)[1], atol=0.03)


def test_identical_bits_on_any_number_of_workers():
    rng = np.random.default_rng(9)
    chains = make_chains(rng.integers(1, 60, 1200), rng, 2)
    potentials = make_potentials(chains, 6, rng)
    for statistics in ((known.repeats(CITATION),), (known.repeats(CITATION), known.short(CITATION))):
        chain, prices = WholeChains(chains, statistics), np.full(len(statistics), -1.0)
        one, *others = (
            chain.sample(potentials, prices, chain.start(5), 3, Workers(count), burn_in=1) for count in (1, 2, 3)
        )
        for other in others:
            assert np.array_equal(other.state.labels, one.state.labels)
            for name in ("node", "edge", "whole", "totals", "accepted"):
                assert np.array_equal(getattr(other, name), getattr(one, name))


def test_chains_go_on_where_they_were():
    chains, potentials = citations("trained")
    chain, prices = WholeChains(chains, (known.repeats(CITATION),)), np.array([-1.0])
    start = chain.start(1)
    state = chain.sample(potentials, prices, start, 2).state
    assert np.all(start.labels == -1)
    assert np.all((state.labels >= 0) & (state.labels < 6))
    assert (start.round, state.round) == (0, 1)
    first, second = (chain.sample(potentials, prices, state, 2) for _ in range(2))
    assert np.array_equal(first.node, second.node)
    assert np.array_equal(first.state.labels, second.state.labels)
    for other in (first.state, SamplerState(state.labels, 2, 1), SamplerState(state.labels, 1, 2)):
        assert not np.array_equal(first.node, chain.sample(potentials, prices, other, 2).node)


def test_labels_that_became_impossible_are_drawn_anew():
    chains, potentials = citations("trained")
    chain, prices = WholeChains(chains, (known.repeats(CITATION),)), np.array([-1.0])
    forbidden = Potentials(potentials.node.copy(), potentials.edge)
    forbidden.node[:, 0] = -np.inf
    for label in (0, 6):
        state = SamplerState(np.full(chains.offsets[-1], label, dtype=np.int16))
        got = chain.sample(forbidden, prices, state, 20)
        assert np.all(got.node[:, 0] == 0.0)
        assert np.all((got.state.labels > 0) & (got.state.labels < 6))


@pytest.mark.parametrize("start", [-1, 0])
def test_forbidding_statistics(start):
    rng = np.random.default_rng(11)
    chains = make_chains([5, 6], rng)
    potentials = make_potentials(chains, 3, rng)
    chain = WholeChains(chains, (known.repeats(PLAIN), known.missing(PLAIN)))
    prices, state = np.full(2, -np.inf), SamplerState(np.full(11, start, dtype=np.int16), 2)
    got = chain.sample(potentials, prices, state, 6000, burn_in=10)
    exact = chain.exact(potentials, prices)
    assert np.all(got.whole == 0.0)
    np.testing.assert_allclose(got.node, exact.node, atol=0.05)


def test_nothing_possible_is_told_from_nothing_found():
    chains = make_chains([2, 3, 3], np.random.default_rng(0))
    potentials = make_potentials(chains, 3, np.random.default_rng(0))
    potentials.node[5] = -np.inf
    chain = WholeChains(chains, (known.missing(PLAIN),))
    got = chain.sample(potentials, np.array([-np.inf]), chain.start(), 5)
    assert got.refused.tolist() == [0]
    assert np.all(np.isnan(got.node[:2]))
    assert np.isnan(got.log_z[1])
    assert got.log_z[2] == -np.inf
    assert np.all(got.node[5:] == 0.0)
    assert np.all(np.isfinite(got.edge))


def test_one_label_and_long_sequences():
    chains = make_chains([1, 5000], np.random.default_rng(0))
    one = WholeChains(chains, (known.repeats(Fields.plain("a")),))
    got = one.sample(Potentials(np.zeros((5001, 1))), np.array([-1.0]), one.start(), 2)
    assert np.all(got.node == 1.0)
    rng = np.random.default_rng(1)
    potentials = make_potentials(chains, 3, rng, 5e4)
    chain = WholeChains(chains, (known.repeats(PLAIN),))
    got = chain.sample(potentials, np.array([-5.0]), chain.start(), 2)
    np.testing.assert_allclose(got.node.sum(axis=1), 1.0, atol=1e-9)


class Same(Statistic):
    """As many neighbours have the same label: a sum over edges, so that chains know the answer."""

    name = "same"
    least = 0.0

    def count(self, labels):
        return float(np.sum(labels[1:] == labels[:-1]))


def test_statistics_that_only_python_knows():
    rng = np.random.default_rng(13)
    chains = make_chains([5, 1, 4], rng, 2)
    potentials = make_potentials(chains, 3, rng)
    chain, price = WholeChains(chains, (Same(),)), -0.8
    got = chain.sample(potentials, np.array([price]), chain.start(1), 600, weight=np.array([1.0, 2.0, 0.5]), burn_in=5)
    tilted = chains.infer(
        Potentials(potentials.node, potentials.edge + price * np.eye(3)), weight=np.array([1, 2, 0.5])
    )
    np.testing.assert_allclose(got.node, tilted.node, atol=0.1)
    np.testing.assert_allclose(got.edge, tilted.edge, atol=0.25)
    assert got.totals.shape == (600, 1)
    forbidden = chain.sample(potentials, np.array([-np.inf]), chain.start(2), 20)
    assert np.all(forbidden.whole == 0.0)
    assert all(Same().count(forbidden.state.labels[where]) == 0.0 for where, _ in parts(chains, potentials))


def test_python_and_compiled_statistics_together():
    rng = np.random.default_rng(14)
    chains = make_chains([4], rng)
    potentials = make_potentials(chains, 3, rng)
    statistics, prices = (Same(), known.repeats(PLAIN)), np.array([0.5, -1.0])
    chain = WholeChains(chains, statistics)
    got = chain.sample(potentials, prices, chain.start(1), 1500)
    _, node, _, whole = enumerate_whole(potentials.node, potentials.edge, chains.kind, statistics, prices)
    np.testing.assert_allclose(got.node, node, atol=0.05)
    np.testing.assert_allclose(got.whole[0], whole, atol=0.1)


@pytest.mark.parametrize(
    ("labels", "n_steps", "burn_in", "message"),
    [
        (np.zeros(5, dtype=np.int16), 1, 0, "integers, one per position, 72 in all"),
        (np.zeros(72), 1, 0, "integers, one per position"),
        (np.zeros(72, dtype=np.int16), 0, 0, "one step or more"),
        (np.zeros(72, dtype=np.int16), 1, -1, "no negative burn-in"),
    ],
)
def test_states_and_numbers_that_do_not_fit(labels, n_steps, burn_in, message):
    chains, potentials = citations("flat")
    with pytest.raises(DataError, match=message):
        WholeChains(chains, (known.repeats(CITATION),)).sample(
            potentials, np.array([-1.0]), SamplerState(labels), n_steps, burn_in=burn_in
        )
