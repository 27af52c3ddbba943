"""The usefulness of a statement about a condition, and the choice of conditions to state together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tiltfit.arrays import FloatArray
from tiltfit.suggesting.candidates import Candidates
from tiltfit.suggesting.knowledge import Knowledge

PRIOR = 2.0
"""κ: what holds everywhere counts as much as so many positions of the condition's own."""
SAME = 0.8
"""Conditions that share so much of where either fires (Jaccard) say the same."""


@dataclass(frozen=True, eq=False)
class Scored:
    """A condition (its column), what it is worth beyond those before it, and the shares of labels or topics where it
    fires. ``same``: columns that say the same, best first."""

    column: int
    usefulness: float
    shares: FloatArray
    same: tuple[int, ...]


def shares_given(candidates: Candidates, given: Knowledge) -> FloatArray:
    """p(k | w) = (Σ_{i: w fires, known} p_i(k) + κ·p(k)) / (number of these i + κ): conditions × K.

    p(k) is the share of k where anything is known. A condition that was never seen where something is known has p(k).
    """
    known = given.known.astype(np.float64)
    base = base_shares(given)
    sums = np.asarray(candidates.fires.T @ given.shares)
    seen = np.asarray(candidates.fires.T @ known)
    return np.asarray((sums + PRIOR * base) / (seen + PRIOR)[:, None])


def base_shares(given: Knowledge) -> FloatArray:
    """p(k)."""
    return np.asarray(given.shares[given.known].mean(axis=0))


def divergence(shares: FloatArray, base: FloatArray) -> FloatArray:
    """D(p(·|w) ‖ p) = Σ_k p(k|w)·log(p(k|w)/p(k)), in nats; 0·log 0 = 0."""
    ratio = np.divide(shares, base, out=np.ones_like(shares), where=(shares > 0) & (base > 0))
    return np.asarray(np.sum(shares * np.log(ratio), axis=1))


def choose(candidates: Candidates, given: Knowledge, top: int, touched: FloatArray) -> Iterator[Scored]:
    """The ``top`` conditions of highest usefulness, one after the other:

        U(w | chosen) = D(p(·|w) ‖ p) · (1/n) Σ_{i: w fires} v_i · 2^(−t_i)

    D says how much the condition divides: by labels, by what a model believes, or by topics. v_i is how much there is
    to learn at position i (0 where the label is known; with a model its entropy there, in units of log L), and t_i by
    how many conditions i is touched already: those that are stated (``touched``) and those chosen before. So U is what
    is told of a position, on average, if that is halved with every further voice there. With labels and v = 1, U(w)
    is the half of the information gain that speaks of positions where w fires; with topics it is the saliency of
    Chuang, Manning & Heer (2012). Conditions that fire in nearly the same places as one that is chosen are left out.
    O(top · non-zeros).
    """
    shares = shares_given(candidates, given)
    divides = divergence(shares, base_shares(given))
    counts, t = candidates.counts.astype(np.float64), touched.astype(np.float64)
    left = divides > 0
    transposed = candidates.fires.T.tocsr()
    for _ in range(top):
        value = np.where(left, divides * (transposed @ (given.weight * 0.5**t)) / len(t), 0.0)
        best = int(np.argmax(value)) if len(value) else -1
        if best < 0 or value[best] <= 0:
            return
        here = np.zeros(len(t))
        here[candidates.places(best)] = 1.0
        both = transposed @ here
        same = left & (both >= SAME * (counts + counts[best] - both))
        same[best] = False
        others = np.flatnonzero(same)
        order = others[np.argsort(-value[others], kind="stable")]
        yield Scored(best, float(value[best]), shares[best], tuple(int(j) for j in order))
        left[best] = False
        left &= ~same
        t += here
