"""The choice between exact and sampled inference."""

from __future__ import annotations

import numpy as np
import pytest
from tests.inference.whole_cases import PLAIN, make_chains, make_potentials

from tiltfit.errors import DataError, UnsupportedError
from tiltfit.execution.workers import Workers
from tiltfit.inference import statistics as known
from tiltfit.inference.choice import affordable, infer
from tiltfit.inference.fields import Fields
from tiltfit.inference.statistic import Statistic
from tiltfit.inference.whole import WholeChains
from tiltfit.inference.whole_results import SamplerState

MANY = Fields.plain([str(i) for i in range(9)])


class Ends(Statistic):
    name = "ends as it began"
    least = 0.0

    def count(self, labels):
        return float(labels[0] == labels[-1])


def mixed():
    """A short sequence, which is affordable by 50 steps, between two long ones, which are not."""
    rng = np.random.default_rng(3)
    chains = make_chains([14, 1, 15], rng, 2)
    whole = WholeChains(chains, (known.repeats(MANY),))
    return whole, make_potentials(chains, 9, rng), rng.normal(size=(3, 1)) - 1.0


def test_what_is_cheaper_is_taken():
    whole, potentials, prices = mixed()
    assert affordable(whole, 50).tolist() == [False, True, False]
    assert affordable(whole, 10_000).all()
    weight = np.array([0.5, 2.0, 1.0])
    got = infer(whole, potentials, prices, whole.start(1), 50, weight=weight)
    assert np.isnan(got.log_z).tolist() == [True, False, True]
    assert np.isnan(got.accepted).tolist() == [False, True, False]
    exact = whole.exact(potentials, prices, weight=weight)
    np.testing.assert_array_equal(got.node[14], exact.node[14])
    assert got.log_z[1] == exact.log_z[1]
    assert got.state.labels[14] == -1
    assert np.all(np.delete(got.state.labels, 14) >= 0)
    assert got.state.round == 1
    assert got.totals.shape == (50, 1)
    np.testing.assert_allclose(got.totals.mean(axis=0), weight @ got.whole)


def test_both_ways_agree():
    whole, potentials, prices = mixed()
    weight = np.array([0.5, 2.0, 1.0])
    exact = infer(whole, potentials, prices, n_steps=10_000, weight=weight)
    assert np.all(np.isfinite(exact.log_z))
    assert exact.totals.shape == (0, 1)
    for how, max_rows in (("sampled", 400_000), ("auto", 20)):  # with 20 rows, what is chosen is refused, then sampled
        got = infer(whole, potentials, prices, None, 10_000, how=how, weight=weight, burn_in=10, max_rows=max_rows)
        assert len(got.refused) == 0
        np.testing.assert_allclose(got.node, exact.node, atol=0.05)
        np.testing.assert_allclose(got.edge, exact.edge, atol=0.15)
        np.testing.assert_allclose(got.whole, exact.whole, atol=0.1)


def test_identical_bits_on_any_number_of_workers_and_from_the_same_state():
    whole, potentials, prices = mixed()
    one, two = (infer(whole, potentials, prices, whole.start(4), 50, Workers(count)) for count in (1, 2))
    for name in ("node", "edge", "whole", "totals"):
        assert np.array_equal(getattr(one, name), getattr(two, name))
    onward, other = (infer(whole, potentials, prices, state, 50) for state in (one.state, whole.start(4)))
    assert np.array_equal(other.node, one.node)
    assert not np.array_equal(onward.node, one.node)


def test_what_the_sampler_does_not_find_is_refused():
    rng = np.random.default_rng(0)
    chains = make_chains([2, 3], rng)
    whole = WholeChains(chains, (known.missing(PLAIN),))
    got = infer(whole, make_potentials(chains, 3, rng), np.array([-np.inf]), how="sampled")
    assert got.refused.tolist() == [0]


def test_sequences_too_long_for_the_exact_way():
    whole, potentials, prices = mixed()
    with pytest.raises(UnsupportedError, match=r"2 of 3 sequences, such as number 2 of 15 tokens.*more than 100 rows"):
        infer(whole, potentials, prices, how="exact", max_rows=100)


def test_statistics_that_the_exact_way_does_not_know():
    whole, potentials, prices = mixed()
    python = WholeChains(whole.chains, (Ends(),))
    assert not affordable(python, 10**9).any()
    assert infer(python, potentials, prices, n_steps=2).totals.shape == (2, 1)
    with pytest.raises(UnsupportedError, match='cannot take the statistic "ends as it began"'):
        infer(python, potentials, prices, how="exact")


def test_other_ways_and_states_that_do_not_fit():
    whole, potentials, prices = mixed()
    with pytest.raises(DataError, match="not 'guess'"):
        infer(whole, potentials, prices, how="guess")
    with pytest.raises(DataError, match="30 in all"):
        infer(whole, potentials, prices, SamplerState(np.zeros(3, dtype=np.int16)))
