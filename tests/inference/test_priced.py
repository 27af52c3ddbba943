"""Chains with priced statistics: exact where that is affordable, and clear refusals where it cannot answer."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest
from tests.inference.whole_cases import PLAIN, make_chains, make_potentials

from tiltfit.errors import DataError, UnsupportedError
from tiltfit.inference import statistics as known
from tiltfit.inference.fields import Fields
from tiltfit.inference.potentials import Potentials
from tiltfit.inference.priced import PricedChains
from tiltfit.inference.statistic import Statistic
from tiltfit.inference.whole import SamplerState, WholeChains

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
    found = make_potentials(chains, 9, rng)
    return chains, Potentials(found.node, found.edge, rng.normal(size=(3, 1)) - 1.0)


def test_exact_inference_is_affordable_for_short_sequences():
    chains, _ = mixed()
    whole = WholeChains(chains, (known.repeats(MANY),))
    assert not whole.affordable(50)
    assert whole.affordable(10_000)
    assert whole.take(np.array([1])).affordable(50)
    assert not WholeChains(chains, (Ends(),)).affordable(10**9)
    assert PricedChains.of(chains, (known.repeats(MANY),), "auto", 0).is_sampled
    assert not PricedChains.of(chains.take(np.array([1])), (known.repeats(MANY),), "auto", 0).is_sampled


def test_both_ways_agree():
    chains, potentials = mixed()
    weight = np.array([0.5, 2.0, 1.0])
    exact, sampled = (PricedChains.of(chains, (known.repeats(MANY),), how, 1) for how in ("exact", "sampled"))
    expected, got = exact.infer(potentials, weight=weight), sampled.estimate(potentials, 10_000, 2, weight=weight)
    assert np.all(np.isfinite(expected.log_z))
    assert np.all(np.isnan(got.log_z))
    np.testing.assert_allclose(got.node, expected.node, atol=0.05)
    np.testing.assert_allclose(got.edge, expected.edge, atol=0.15)
    np.testing.assert_allclose(got.whole, expected.whole, atol=0.1)


def test_labels_that_the_sampler_does_not_find_are_refused():
    rng = np.random.default_rng(0)
    chains = make_chains([2, 3], rng)
    priced, local = PricedChains.of(chains, (known.missing(PLAIN),), "sampled", 0), make_potentials(chains, 3, rng)
    with pytest.raises(UnsupportedError, match="found no labels for 1 of 2 sequences"):
        priced.infer(Potentials(local.node, local.edge, np.array([-np.inf])))


def test_sequences_too_long_for_the_exact_way():
    chains, potentials = mixed()
    priced, exact = PricedChains.of(chains, (known.repeats(MANY),), "exact", 0), WholeChains.exact

    def short_of_rows(self, *arguments, **options):
        return exact(self, *arguments, **options, max_rows=100)

    refusal = r"2 of 3 sequences, such as number 2 of 15 tokens.*rows"
    with mock.patch.object(WholeChains, "exact", short_of_rows), pytest.raises(UnsupportedError, match=refusal):
        priced.infer(potentials)


def test_statistics_that_the_exact_way_does_not_know():
    chains, potentials = mixed()
    assert PricedChains.of(chains, (Ends(),), "auto", 0).is_sampled
    with pytest.raises(UnsupportedError, match='cannot take the statistic "ends as it began"'):
        PricedChains.of(chains, (Ends(),), "exact", 0).infer(potentials)


def test_a_state_of_other_sequences_is_refused():
    chains, potentials = mixed()
    priced = PricedChains.of(chains, (known.repeats(MANY),), "sampled", 0)
    with pytest.raises(DataError, match="30 in all"):
        priced.walk(potentials, SamplerState(np.zeros(3, dtype=np.int16)), 5)
