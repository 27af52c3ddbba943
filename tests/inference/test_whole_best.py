"""The best label sequence under priced and forbidding statistics against enumeration."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from tests.inference.whole_cases import PLAIN, make_chains, make_potentials, parts, tiny, tiny_problem
from tests.oracles.whole import whole_scores

from tiltfit.execution.workers import Workers
from tiltfit.inference import statistics as known
from tiltfit.inference.fields import Fields
from tiltfit.inference.potentials import Potentials
from tiltfit.inference.statistic import Statistic
from tiltfit.inference.whole import WholeChains


class Same(Statistic):
    """As many neighbours have the same label."""

    name = "same"
    least = 0.0

    def count(self, labels):
        return float(np.sum(labels[1:] == labels[:-1]))


def check(best, chains, potentials, statistics, prices):
    for s, (where, sequence) in enumerate(parts(chains, potentials)):
        ys, total, _ = whole_scores(*sequence, statistics, prices[s % len(prices)])
        assert best.scores[s] == pytest.approx(total.max(), rel=1e-9, abs=1e-9)
        if total.max() == -np.inf:
            assert np.all(best.labels[where] == -1)
        else:
            found = int(np.flatnonzero((ys == best.labels[where]).all(axis=1))[0])
            assert total[found] == pytest.approx(total.max(), rel=1e-9, abs=1e-9)


@settings(max_examples=70)
@given(case=tiny)
def test_the_best_agrees_with_enumeration(case):
    chains, potentials, statistics, prices, _ = tiny_problem(case)
    best = WholeChains(chains, statistics).best(potentials, prices)
    assert best.proven.all()
    check(best, chains, potentials, statistics, prices)


@settings(max_examples=30)
@given(case=tiny)
def test_statistics_that_only_python_knows(case):
    chains, potentials, statistics, prices, _ = tiny_problem(case)
    statistics, prices = (Same(), *statistics[1:]), np.where(prices == -np.inf, -np.inf, -np.abs(prices))
    best = WholeChains(chains, statistics).best(potentials, prices)
    assert best.proven.all()
    check(best, chains, potentials, statistics, prices)


def thirteen(n_sequences, length, seed, scale=1.0):
    rng = np.random.default_rng(seed)
    chains = make_chains([length] * n_sequences, rng)
    potentials = make_potentials(chains, 13, rng, scale)
    return chains, potentials, Fields.plain([str(i) for i in range(13)])


def test_never_twice():
    chains, potentials, fields = thirteen(5, 30, 0)
    chain = WholeChains(chains, (known.repeats(fields),))
    best = chain.best(potentials, np.array([-np.inf]), Workers(2))
    assert best.proven.all()
    for where, _ in parts(chains, potentials):
        assert known.repeats(fields).count(best.labels[where]) == 0
    free, scores = chains.best(potentials)
    assert np.all(best.scores <= scores)
    same = chain.best(potentials, np.array([0.0]))
    assert np.array_equal(same.labels, free)
    np.testing.assert_allclose(same.scores, scores)


def test_a_narrow_search_says_that_it_proves_nothing():
    chains, potentials, fields = thirteen(3, 30, 1, 0.2)
    chain = WholeChains(chains, (known.repeats(fields), known.short(fields, below=4)))
    prices = np.array([-4.0, -2.0])
    narrow, wide = chain.best(potentials, prices, max_rows=200), chain.best(potentials, prices)
    assert not narrow.proven.all()
    assert wide.proven.all()
    assert np.all(narrow.scores <= wide.scores + 1e-9)


def test_a_long_sequence():
    rng = np.random.default_rng(2)
    chains = make_chains([4000], rng)
    potentials = make_potentials(chains, 3, rng, 1e3)
    best = WholeChains(chains, (known.missing(PLAIN), known.before(PLAIN, "a", "b"))).best(
        potentials, np.array([-np.inf, -np.inf])
    )
    assert best.proven.all()
    seen = [int(np.flatnonzero(best.labels == y)[0]) for y in range(3)]
    assert seen[1] < seen[0]


def test_labels_that_are_all_alike():
    chains, _, fields = thirteen(2, 20, 0)
    best = WholeChains(chains, (known.repeats(fields),)).best(Potentials(np.zeros((40, 13))), np.array([-1.0]))
    assert best.scores.tolist() == [0.0, 0.0]
    assert best.proven.all()


def test_more_label_sequences_than_are_looked_at():
    chains, potentials, _ = thirteen(1, 12, 3, 0.1)
    best = WholeChains(chains, (Same(),)).best(potentials, np.array([-np.inf]))
    assert best.scores[0] > -np.inf
    rewarded = WholeChains(chains, (Same(),)).best(potentials, np.array([1.0]))
    assert not rewarded.proven.any()
