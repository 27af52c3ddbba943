"""What labels show: shares and means of events, and the interval in which each lies with some confidence.

Share, k of n (Wilson 1927):    (k + z²/2 ± z·√(k(n − k)/n + z²/4)) / (n + z²),      z the normal quantile
Mean of n counts (Student):     x̄ ± max(t·s/√n, z²/(n + z²))

Tokens of one sequence are alike, so n tokens carry less information than n independent ones: k and n are divided by
the design effect, the variance of the share between sequences over the one it would have without sequences (if larger).
A count that never varied has s = 0, which says nothing about its next value: z²/(n + z²), Wilson's limit for what was
never seen in n trials, leaves it that many sequences that differ by one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy.special import ndtri, stdtrit

from tiltfit.arrays import BoolArray, FloatArray, IntArray
from tiltfit.language.condition import Condition
from tiltfit.language.event import Event, Term
from tiltfit.language.prose import amount
from tiltfit.samples.sample import Sample

Interval = tuple[float, float]

_ALIKE = 0.2  # how much tokens of one sequence are alike (the correlation of their labels), where that cannot be seen


@dataclass(frozen=True)
class Share:
    """``hits`` of ``n`` labelled things, which carry as much information as ``effective`` independent ones.

    >>> low, high = Share(12, 13, "tokens").interval(0.95)
    >>> round(low, 3), round(high, 3), str(Share(12, 13, "tokens"))
    (0.667, 0.986, '12 of 13 labelled tokens')
    """

    hits: int
    n: int
    noun: str
    effective: float = math.inf
    most: ClassVar[float] = 1.0

    @property
    def value(self) -> float:
        return self.hits / self.n

    def interval(self, confidence: float) -> Interval:
        """Wilson's; 0 or 1 exactly where nothing or everything was hit."""
        n, z = min(float(self.n), self.effective), _normal(confidence)
        centre, half = self.value * n + z * z / 2, z * math.sqrt(n * self.value * (1 - self.value) + z * z / 4)
        low, high = (centre - half) / (n + z * z), (centre + half) / (n + z * z)
        return 0.0 if self.hits == 0 else low, 1.0 if self.hits == self.n else high

    def __str__(self) -> str:
        return f"{self.hits} of {self.n} labelled {self.noun}"


@dataclass(frozen=True)
class Mean:
    """The mean of a count over ``n`` labelled sequences, and its standard deviation.

    >>> low, high = Mean(1.0, 0.0, 20).interval(0.95)
    >>> round(low, 3), round(high, 3), str(Mean(1.25, 0.5, 20))
    (0.839, 1.161, '1.25 on average in 20 labelled sequences')
    """

    value: float
    deviation: float
    n: int
    most: ClassVar[float] = math.inf

    def interval(self, confidence: float) -> Interval:
        z = _normal(confidence)
        t = float(stdtrit(self.n - 1, 0.5 + confidence / 2))
        half = max(t * self.deviation / math.sqrt(self.n), z * z / (self.n + z * z))
        return max(0.0, self.value - half), self.value + half

    def __str__(self) -> str:
        return f"{amount(self.value)} on average in {self.n} labelled sequences"


def _normal(confidence: float) -> float:
    return float(ndtri(0.5 + confidence / 2))


def shares(outcome: IntArray, cluster: IntArray, n_outcomes: int, noun: str) -> list[Share]:
    """The share of every outcome. ``outcome``, ``cluster``: what a thing turned out to be, and its sequence.

    >>> shares(np.array([0, 0, 1, 0]), np.array([7, 7, 9, 9]), 2, "tokens")[0]
    Share(hits=3, n=4, noun='tokens', effective=3.0)
    """
    n = len(outcome)
    which, number = np.unique(cluster, return_inverse=True)
    table = np.bincount(number * n_outcomes + outcome, minlength=len(which) * n_outcomes).reshape(-1, n_outcomes)
    hits = table.sum(axis=0)
    effective = np.full(n_outcomes, float(n))
    if 1 < len(which) < n:
        share = hits / n
        # The variance of a ratio of sums over sequences, by linearisation.
        off = table - share * table.sum(axis=1, keepdims=True)
        between = len(which) / (len(which) - 1) * np.sum(off**2, axis=0) / n**2
        without = share * (1 - share) / n
        effect = np.maximum(1.0, np.divide(between, without, out=np.ones(n_outcomes), where=without > 0))
        # What was never seen may come in runs like the others; where all agree, runs are taken to be as usual.
        alike = 1 + _ALIKE * (n / len(which) - 1)
        effect[without == 0] = effect.max() if np.any(without > 0) else alike
        effective = n / effect
    return [Share(int(k), n, noun, float(e)) for k, e in zip(hits, effective, strict=True)]


@dataclass(frozen=True, eq=False)
class LabelStatistics:
    """Counts over the labelled positions of a sample."""

    sample: Sample

    @cached_property
    def complete(self) -> IntArray:
        """The instances all of whose positions have labels."""
        return np.flatnonzero(~self.sample.unlabelled)

    def label_shares(self, positions: IntArray) -> list[Share]:
        """The share of every class among the labelled ones of these positions. Empty if there are none."""
        sample = self.sample
        known = positions[sample.labels[positions] >= 0]
        if not len(known):
            return []
        return shares(sample.labels[known], sample.instance[known], len(sample.classes), sample.inputs.unit)

    def share(self, event: Event, given: Condition | None) -> Share | None:
        """The share of times that the event happened where it could and ``given`` fires; None if that was nowhere."""
        sample = self.sample
        terms, fires = event.terms(sample.classes, sample.structure), sample.fires(given)
        places = [np.flatnonzero(term.at & fires & self._known(term)) for term in terms]
        at = np.concatenate(places)
        if not len(at):
            return None
        happened = np.concatenate([term.values(sample.labels, at) > 0 for term, at in zip(terms, places, strict=True)])
        on_edges = all(term.on_edges for term in terms)
        noun = "sequences" if event.per_sequence else "transitions" if on_edges else sample.inputs.unit
        return shares(happened.astype(np.intp), sample.instance[at], 2, noun)[1]

    def mean(self, event: Event, given: Condition | None) -> Mean | Share | None:
        """The mean count of the event in completely labelled sequences; None if there are fewer than two."""
        if len(self.complete) < 2:
            return None
        counts, is_share = self._statistic(event) if event.whole else (self._sums(event, given), False)
        if is_share:
            return Share(int(np.sum(counts)), len(counts), "sequences")
        return Mean(float(np.mean(counts)), float(np.std(counts, ddof=1)), len(counts))

    def _statistic(self, event: Event) -> tuple[FloatArray, bool]:
        """Its value on every complete sequence, and whether it can only be 0 or 1."""
        sample = self.sample
        statistic = event.statistic(sample.classes)
        assert statistic is not None
        each = (sample.labels[sample.structure.positions(np.array([s]))] for s in self.complete)
        counts = np.array([statistic.count(labels) for labels in each])
        return counts, (statistic.least, statistic.most) == (0.0, 1.0)

    def _sums(self, event: Event, given: Condition | None) -> FloatArray:
        sample, fires = self.sample, self.sample.fires(given)
        sums = np.zeros(len(sample.structure))
        for term in event.terms(sample.classes, sample.structure):
            at = np.flatnonzero(term.at & fires & self._known(term))
            np.add.at(sums, sample.instance[at], term.values(sample.labels, at))
        return np.asarray(sums[self.complete])

    def _known(self, term: Term) -> BoolArray:
        known = self.sample.labels >= 0
        if term.on_edges:
            known[1:] &= self.sample.labels[:-1] >= 0
        return np.asarray(known)
