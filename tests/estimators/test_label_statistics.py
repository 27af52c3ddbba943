"""Intervals: against SciPy, against simulation, and at their limits."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from tiltfit.estimators.label_statistics import Mean, Share, shares


@pytest.mark.parametrize(("k", "n"), [(0, 5), (1, 7), (12, 13), (50, 100), (5, 5)])
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_shares_have_wilsons_interval(k, n, confidence):
    there = stats.binomtest(k, n).proportion_ci(confidence, method="wilson")
    assert Share(k, n, "rows").interval(confidence) == pytest.approx((there.low, there.high), abs=1e-12)


def test_counts_have_students_interval():
    counts = np.array([0.0, 1, 1, 3, 2, 1, 0, 2])
    mean = Mean(float(counts.mean()), float(counts.std(ddof=1)), len(counts))
    there = stats.t.interval(0.9, 7, loc=counts.mean(), scale=stats.sem(counts))
    assert mean.interval(0.9) == pytest.approx(there)


@pytest.mark.parametrize("n", [2, 5, 100])
def test_a_count_that_never_varied_may_still_vary(n):
    low, high = Mean(1.0, 0.0, n).interval(0.95)
    unseen = Share(0, n, "sequences").interval(0.95)[1]
    assert (low, high) == pytest.approx((1 - unseen, 1 + unseen))
    assert Mean(0.0, 0.0, n).interval(0.95) == pytest.approx((0.0, unseen))


def test_without_sequences_every_row_counts_fully():
    found = shares(np.array([0, 1, 1, 2]), np.arange(4), 3, "rows")
    assert [(s.hits, s.n, s.effective) for s in found] == [(1, 4, 4.0), (2, 4, 4.0), (1, 4, 4.0)]


def test_tokens_that_repeat_each_other_count_once():
    outcome = np.repeat([0, 1, 1, 0, 1, 0, 0, 0, 1, 1], 50)
    found = shares(outcome, np.repeat(np.arange(10), 50), 2, "tokens")[1]
    assert found.effective == pytest.approx(9.0)  # ten sequences, less the one that the mean takes
    low, high = found.interval(0.95)
    assert high - low > 0.5


def test_what_was_never_seen_may_come_in_runs_too():
    outcome = np.repeat([0, 1, 1, 0], 10)
    never = shares(outcome, np.repeat(np.arange(4), 10), 3, "tokens")[2]
    assert never.hits == 0
    assert never.effective < 5


def test_intervals_of_clustered_tokens_cover_the_truth_about_as_often_as_they_say():
    rng = np.random.default_rng(0)
    cluster, covered = np.repeat(np.arange(40), 10), 0
    for _ in range(300):
        of_sequence = rng.beta(0.6, 1.4, size=40)  # mean 0.3, and sequences that differ
        outcome = (rng.random(400) < np.repeat(of_sequence, 10)).astype(np.intp)
        low, high = shares(outcome, cluster, 2, "tokens")[1].interval(0.9)
        covered += low <= 0.3 <= high
    # 300·(0.9 ± 4 standard errors); Wilson's interval of 400 independent tokens covers about 0.6.
    assert 0.83 <= covered / 300 <= 0.97
