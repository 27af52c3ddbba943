"""The share or mean that labels show, and the interval in which it lies with some confidence.

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

import numpy as np
from scipy.special import ndtri, stdtrit

from tiltfit.arrays import IntArray
from tiltfit.language.prose import amount

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
