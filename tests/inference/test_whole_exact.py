"""Dynamic programming over memories against enumeration, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from tests.inference.whole_cases import (
    BIO,
    PLAIN,
    every_statistic,
    make_chains,
    make_potentials,
    parts,
    tiny,
    tiny_problem,
)
from tests.oracles.whole import enumerate_whole

from tiltfit.errors import DataError, UnsupportedError
from tiltfit.execution.workers import Workers
from tiltfit.inference import statistics as known
from tiltfit.inference.fields import Fields
from tiltfit.inference.potentials import Potentials
from tiltfit.inference.segmental import Counted, Segmental
from tiltfit.inference.statistic import Statistic
from tiltfit.inference.whole import WholeChains


@settings(max_examples=70)
@given(case=tiny)
def test_everything_agrees_with_enumeration(case):
    chains, potentials, statistics, prices, rng = tiny_problem(case)
    weight = rng.choice([0.0, 0.5, 2.0], size=len(chains))
    got = WholeChains(chains, statistics).exact(potentials, prices, weight=weight, tol=1e-12)
    edges = np.zeros_like(potentials.edge)
    assert len(got.refused) == 0
    for s, (where, sequence) in enumerate(parts(chains, potentials)):
        log_z, node, edge, whole = enumerate_whole(*sequence, statistics, prices[s % len(prices)])
        assert got.log_z[s] == pytest.approx(log_z, rel=1e-12, abs=1e-10)
        np.testing.assert_allclose(got.node[where], node, atol=1e-9)
        np.testing.assert_allclose(got.whole[s], whole, atol=1e-9)
        edges += weight[s] * edge
    np.testing.assert_allclose(got.edge, edges, atol=1e-9)


def thirteen(n_sequences=3, length=20, scale=1.5, seed=0):
    rng = np.random.default_rng(seed)
    chains = make_chains([length] * n_sequences, rng, 2)
    potentials = make_potentials(chains, 13, rng, scale)
    potentials.edge[:] += 2.0 * np.eye(13)
    return chains, potentials, Fields.plain([str(i) for i in range(13)])


def test_at_a_price_of_zero_it_is_the_chain_alone():
    chains, potentials, fields = thirteen()
    got = WholeChains(chains, (known.repeats(fields, ["3", "7"]),)).exact(potentials, np.zeros(1))
    alone = chains.infer(potentials)
    np.testing.assert_allclose(got.log_z, alone.log_z, rtol=1e-12)
    np.testing.assert_allclose(got.node, alone.node, atol=1e-9)
    np.testing.assert_allclose(got.edge, alone.edge, atol=1e-8)


def test_segments_are_edges_of_the_chain():
    chains, potentials, fields = thirteen()
    price = -0.7
    got = WholeChains(chains, (known.segments(fields),)).exact(potentials, np.array([price]))
    tilted = Potentials(potentials.node.copy(), potentials.edge + price * (1 - np.eye(13)))
    tilted.node[chains.first] += price
    alone = chains.infer(tilted)
    np.testing.assert_allclose(got.log_z, alone.log_z, rtol=1e-12)
    starts = alone.edge.sum() - np.trace(alone.edge, axis1=1, axis2=2).sum() + len(chains)
    assert got.whole.sum() == pytest.approx(starts, rel=1e-10)


def test_means_are_the_derivatives_of_log_z():
    chains, potentials, fields = thirteen(length=9)
    few = ["1", "2", "3"]
    statistics = (known.repeats(fields, few), known.before(fields, "1", "2"), known.short(fields, few, below=3))
    whole, step = np.array([-1.0, 0.5, -0.8]), 1e-5
    chain = WholeChains(chains, statistics)
    got = chain.exact(potentials, whole, tol=1e-14)
    for k in range(3):
        up, down = (chain.exact(potentials, whole + h * np.eye(3)[k], tol=1e-14).log_z for h in (step, -step))
        np.testing.assert_allclose(got.whole[:, k], (up - down) / (2 * step), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("price", [-1.0, -8.0, -np.inf])
@pytest.mark.parametrize("tol", [1e-2, 1e-4])
def test_what_is_dropped_stays_within_the_tolerance(price, tol):
    chains, potentials, fields = thirteen(scale=2.0)
    chain = WholeChains(chains, (known.repeats(fields, [str(i) for i in range(9)]),))
    sharp, loose = (chain.exact(potentials, np.array([price]), tol=t) for t in (1e-14, tol))
    lost = sharp.log_z - loose.log_z
    assert np.all(lost >= -1e-12)
    assert np.all(-np.expm1(-lost) <= tol)
    assert np.max(np.abs(sharp.node - loose.node)) <= tol


def test_identical_bits_on_any_number_of_workers():
    chains, potentials, fields = thirteen(n_sequences=40, length=8)
    chain = WholeChains(chains, (known.repeats(fields, ["1", "2", "3"]),))
    one, *others = (chain.exact(potentials, np.array([-2.0]), Workers(count)) for count in (1, 2, 3))
    for other in others:
        for name in ("log_z", "node", "edge", "whole"):
            assert np.array_equal(getattr(one, name), getattr(other, name))


def test_a_long_sequence_of_great_scores():
    rng = np.random.default_rng(5)
    chains = make_chains([3000, 2], rng)
    potentials = make_potentials(chains, 3, rng, 300.0)
    got = WholeChains(chains, (known.appears(PLAIN, ["a"]), known.before(PLAIN, "b", "c"))).exact(
        potentials, np.array([2.0, -1.0])
    )
    alone = chains.infer(potentials)
    np.testing.assert_allclose(got.node.sum(axis=1), 1.0, atol=1e-9)
    np.testing.assert_allclose(got.log_z[0], alone.log_z[0], atol=2.1)
    assert got.whole[0, 0] == pytest.approx(1.0)


def test_sequences_that_need_too_many_rows_are_refused_and_the_others_are_not():
    chains, fields = make_chains([12, 1, 12], np.random.default_rng(0), 2), Fields.plain([str(i) for i in range(13)])
    potentials = make_potentials(chains, 13, np.random.default_rng(0), 0.3)
    got = WholeChains(chains, (known.repeats(fields),)).exact(potentials, np.array([-1.0]), max_rows=2000)
    assert got.refused.tolist() == [0, 2]
    assert np.isnan(got.log_z).tolist() == [True, False, True]
    assert np.all(np.isnan(got.node[:12]))
    assert np.all(np.isfinite(got.node[12]))
    assert np.isfinite(got.edge).all()


def test_statistics_that_only_python_knows_are_refused():
    class Ends(Statistic):
        name = "ends"

        def count(self, labels):
            return float(labels[-1] == 0)

    chains, potentials, _ = thirteen()
    chain = WholeChains(chains, (Ends(),))
    assert np.all(chain.cost() == np.inf)
    assert chain.exact(potentials, np.zeros(1)).refused.tolist() == [0, 1, 2]


def test_too_much_to_remember_is_refused():
    chains, potentials, _ = thirteen()
    fields = Fields.plain([str(i) for i in range(13)])
    chain = WholeChains(chains, (known.repeats(fields, beyond=40),))
    assert np.all(chain.cost() == np.inf)
    assert len(chain.exact(potentials, np.array([-1.0])).refused) == 3
    assert np.all(chain.best(potentials, np.array([-1.0])).scores > -np.inf)


def test_cost_grows_with_length_and_with_what_is_constrained():
    rng = np.random.default_rng(0)
    chains, fields = make_chains([5, 30], rng), Fields.plain([str(i) for i in range(13)])
    few = WholeChains(chains, (known.repeats(fields, ["1", "2"]),)).cost()
    all_ = WholeChains(chains, (known.repeats(fields),)).cost()
    assert few[0] < few[1]
    assert all_[1] > 500 * few[1]


def test_no_labelling_left():
    chains = make_chains([2, 4], np.random.default_rng(0))
    potentials = make_potentials(chains, 3, np.random.default_rng(0))
    got = WholeChains(chains, (known.missing(PLAIN),)).exact(potentials, np.array([-np.inf]))
    assert got.log_z[0] == -np.inf
    assert np.all(got.node[:2] == 0.0)
    assert np.isfinite(got.log_z[1])
    assert len(got.refused) == 0


def test_possible_but_out_of_reach_of_numbers_is_refused():
    chains = make_chains([4], np.random.default_rng(0))
    node = np.array([[0.0, -5e3, -np.inf]] * 4)
    got = WholeChains(chains, (known.missing(PLAIN, ["b"]),)).exact(Potentials(node), np.array([-np.inf]))
    assert got.refused.tolist() == [0]


@pytest.mark.parametrize(
    ("prices", "message"),
    [
        (np.zeros(2), "do not fit 3 sequences and 1 statistics"),
        (np.zeros((2, 1)), "do not fit 3 sequences"),
        (np.array([np.nan]), "numbers or −inf"),
        (np.array([np.inf]), "numbers or −inf"),
    ],
)
def test_prices_that_do_not_fit_are_refused(prices, message):
    chains, potentials, fields = thirteen()
    with pytest.raises(DataError, match=message):
        WholeChains(chains, (known.repeats(fields),)).exact(potentials, prices)


@pytest.mark.parametrize("weight", [np.ones(2), np.ones((3, 1)), np.array([1.0, np.nan, 1.0])])
def test_weights_that_do_not_fit_are_refused(weight):
    chains, potentials, fields = thirteen()
    with pytest.raises(DataError, match="must be 3 finite numbers, one per sequence"):
        WholeChains(chains, (known.repeats(fields),)).exact(potentials, np.zeros(1), weight=weight)


def test_only_what_is_never_below_zero_can_be_forbidden():
    chains, potentials, _ = thirteen()
    negative = Segmental("fewer", Fields.plain([str(i) for i in range(13)]), (Counted((0,), (0.0,), -1.0),))
    with pytest.raises(UnsupportedError, match='the statistic "fewer" may be below'):
        WholeChains(chains, (negative,)).exact(potentials, np.array([-np.inf]))


def test_statistics_of_different_fields_are_refused():
    chains, *_ = thirteen()
    with pytest.raises(DataError, match="must be of the same fields"):
        WholeChains(chains, (known.repeats(PLAIN), known.repeats(Fields.plain("abcd"))))
    with pytest.raises(DataError, match="no whole-sequence statistics"):
        WholeChains(chains, ())


def test_labels_and_fields_must_match():
    chains, potentials, _ = thirteen()
    with pytest.raises(DataError, match="statistics are of 3 labels, the potentials of 13"):
        WholeChains(chains, tuple(every_statistic(PLAIN)[:2])).exact(potentials, np.zeros(2))


def both_ways(monkeypatch, chains, statistics, potentials, prices, weight):
    """All memories laid out in advance, and only those that are met: ``MOST`` decides."""
    from tiltfit.kernels import whole_few

    whole = WholeChains(chains, statistics)
    for most in (128, 1):
        monkeypatch.setattr(whole_few, "MOST", most)
        assert (len(whole_few.new_plan(whole.form, whole._memory).code) > 0) == (most > 1)
        yield whole.exact(potentials, prices, weight=weight, tol=1e-14)


@pytest.mark.parametrize("fields", [PLAIN, BIO])
@pytest.mark.parametrize("number", range(15))
@pytest.mark.parametrize("price", [-1.5, 2.0, -np.inf])
def test_few_and_many_memories_take_two_ways_to_the_same_answer(monkeypatch, fields, number, price):
    rng = np.random.default_rng(number)
    chains = make_chains([17, 1, 2, 30], rng, 3)
    potentials = make_potentials(chains, fields.n_labels, rng, 2.0, forbid=0.05)
    statistics = (every_statistic(fields)[number], known.short(fields, below=3))
    weight, prices = np.array([1.0, 0.0, 3.0, 0.5]), np.array([price, 0.7])
    few, many = both_ways(monkeypatch, chains, statistics, potentials, prices, weight)
    for name in ("log_z", "node", "edge", "whole"):
        np.testing.assert_allclose(getattr(few, name), getattr(many, name), rtol=1e-11, atol=1e-11)


def test_as_many_memories_as_fit_and_one_field_more():
    chains, potentials, fields = thirteen(length=12)
    from tiltfit.kernels.whole_few import MOST, new_plan

    for n_fields, memories in ((6, MOST), (7, 0)):
        whole = WholeChains(chains, (known.repeats(fields, [str(i) for i in range(n_fields)]),))
        assert len(new_plan(whole.form, whole._memory).code) == memories
        at_zero = whole.exact(potentials, np.zeros(1), tol=1e-13)
        np.testing.assert_allclose(at_zero.node, chains.infer(potentials).node, atol=1e-11)


@pytest.mark.parametrize("scale", [1.0, 100.0, 400.0])
def test_scores_and_prices_too_great_for_probabilities_are_rescued(monkeypatch, scale):
    from tiltfit.kernels import whole_few

    rng = np.random.default_rng(1)
    chains = make_chains([40, 5], rng, 2)
    potentials = make_potentials(chains, 3, rng, scale)
    statistics, prices = (known.repeats(PLAIN, ["a"]), known.missing(PLAIN, ["b"])), scale * np.array([-1.0, -2.0])
    taken, infer_all = [], whole_few.infer_all

    def watched(*arguments):
        infer_all(*arguments)
        taken.append(not np.isnan(arguments[10][0]))

    monkeypatch.setattr(whole_few, "infer_all", watched)
    few, many = both_ways(monkeypatch, chains, statistics, potentials, prices, np.ones(2))
    assert taken[0] == (scale == 1.0)
    for name in ("log_z", "node", "edge", "whole"):
        np.testing.assert_allclose(getattr(few, name), getattr(many, name), rtol=1e-10, atol=1e-10)


def test_more_rows_than_allowed_are_not_laid_out():
    chains, potentials, fields = thirteen(n_sequences=2)
    whole = WholeChains(chains, (known.repeats(fields, ["1", "2"]),))
    assert whole.exact(potentials, np.zeros(1), max_rows=79).refused.tolist() == [0, 1]
    assert len(whole.exact(potentials, np.zeros(1), max_rows=80).refused) == 0
