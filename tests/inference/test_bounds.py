"""Statistics beyond a bound, and hard bounds by them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.inference.whole_cases import BIO, PLAIN, every_statistic, make_chains, make_potentials, parts
from tests.oracles.whole import whole_scores

from tiltfit.inference import statistics as known
from tiltfit.inference.bounds import below_most, excess, shortfall
from tiltfit.inference.segmental import Counted, Segmental
from tiltfit.inference.statistic import check_statistic
from tiltfit.inference.whole import WholeChains


@settings(max_examples=100)
@given(
    labels=st.lists(st.integers(0, 4), min_size=1, max_size=9),
    fields=st.sampled_from([PLAIN, BIO]),
    which=st.integers(0, 15),
    bound=st.integers(-2, 4),
)
def test_they_are_what_they_say(labels, fields, which, bound):
    falling = Segmental("falling", fields, (Counted((0,), (2.0, 3.0), -1.0),))
    statistic = [*every_statistic(fields), falling][which]
    labels = np.array(labels) % fields.n_labels
    above, below = excess(statistic, bound), shortfall(statistic, bound)
    assert above.count(labels) == max(0.0, statistic.count(labels) - bound)
    assert below.count(labels) == max(0.0, bound - statistic.count(labels))
    assert (above.name, below.name) == (f"{statistic.name} above {bound}", f"{statistic.name} below {bound}")
    for one in (above, below):
        check_statistic(one, fields.n_labels, n_sequences=3)


@settings(max_examples=50)
@given(labels=st.lists(st.integers(0, 4), min_size=1, max_size=9), fields=st.sampled_from([PLAIN, BIO]))
def test_below_the_most(labels, fields):
    labels = np.array(labels) % fields.n_labels
    for statistic in every_statistic(fields):
        if statistic.most < np.inf:
            below = below_most(statistic)
            assert isinstance(below, Segmental)
            assert (below.count(labels) > 0) == (statistic.count(labels) < statistic.most)
            assert below.count(labels) >= 0


def test_which_ones_kernels_know():
    assert isinstance(excess(known.repeats(PLAIN), 0), Segmental)
    assert isinstance(excess(known.repeats(PLAIN, ["a"]), 2), Segmental)
    assert isinstance(shortfall(known.capped(PLAIN, ["a", "b"], cap=3), 2), Segmental)
    assert isinstance(shortfall(known.distinct(PLAIN), 3), Segmental)
    assert not isinstance(excess(known.repeats(PLAIN), 2), Segmental)
    assert not isinstance(shortfall(known.distinct(PLAIN), 2), Segmental)


@pytest.mark.parametrize(
    "bounded",
    [
        excess(known.repeats(PLAIN, ["a"]), 1),
        excess(known.segments(PLAIN, ["b"]), 0),
        shortfall(known.segments(PLAIN, ["a"]), 2),
        shortfall(known.distinct(PLAIN), 3),
        excess(known.repeats(PLAIN), 1),
        shortfall(known.distinct(PLAIN), 2),
        excess(known.short(PLAIN), 1),
    ],
)
def test_the_best_within_a_hard_bound(bounded):
    rng = np.random.default_rng(2)
    chains = make_chains([5, 3, 6], rng)
    potentials, prices = make_potentials(chains, 3, rng, 2.0), np.array([-np.inf])
    whole = WholeChains(chains, (bounded,))
    best = whole.best(potentials, prices)
    for s, (where, sequence) in enumerate(parts(chains, potentials)):
        highest = whole_scores(*sequence, (bounded,), prices)[1].max()
        assert best.scores[s] == pytest.approx(highest)
        if highest > -np.inf:
            assert bounded.count(best.labels[where]) == 0.0
    got = whole.sample(potentials, prices, whole.start(), 3, burn_in=3)
    found = np.setdiff1d(np.arange(3), got.refused)
    assert np.all(got.whole[found] == 0.0)
    assert found.tolist() == np.flatnonzero(best.scores > -np.inf).tolist()
