"""How right the sources of votes are, estimated from their agreement, without labels.

    P(y, votes) = π_y · Π_j θ_j[y, v_j],    v_j: a label that source j says, or silence

by EM from the guess that every source is right at a share u = 0.9 of what it says: a source that agrees with others
earns trust. Silence counts, since a rule that only ever says one label tells nothing else. Given the class, sources are
taken for independent: copies of one source look like agreement. The guess counts as s = 10 votes of a source. The share
asked for is that of rows where j says l whose class is l,

    r_jl = (Σ_{i: v_ij = l} P(y_i = l | v_i) + s·u) / (n_jl + s),

and its deviation is that over bootstrap samples of rows. (Dawid & Skene 1979.)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.special import logsumexp

from tiltfit.arrays import FloatArray, IntArray

GUESS, STRENGTH = 0.9, 10.0
_ROUNDS = 200
_ENOUGH = 1e-7  # relative rise of the objective at which EM stops
_SAMPLES = 20
_NEVER = 1e-6  # rates lie this far from 0 and 1
_EVEN = 1.0  # rows of each class that are imagined


@dataclass(frozen=True, eq=False)
class Pairs:
    """``fires``: rows × pairs of source and label, 1 where the source says the label. ``source``, ``label``: of every
    pair. ``known``: the class of every row, −1 where it is not known."""

    fires: sparse.csr_array
    source: IntArray
    label: IntArray
    known: IntArray
    n_classes: int


@dataclass(frozen=True, eq=False)
class Agreement:
    """``share``: r, of every pair; ``deviation``: of it over bootstrap samples. ``objective``: of every round of EM,
    log-likelihood and log-prior."""

    share: FloatArray
    deviation: FloatArray
    objective: tuple[float, ...]


def agreement(pairs: Pairs) -> Agreement:
    """The shares of all pairs."""
    patterns, weight = _condensed(pairs)
    share, objective = _estimate(patterns, weight)
    rng, n = np.random.default_rng(0), int(weight.sum())
    again = [_estimate(patterns, rng.multinomial(n, weight / n).astype(np.float64))[0] for _ in range(_SAMPLES)]
    return Agreement(share, np.std(again, axis=0, ddof=1), objective)


def _estimate(pairs: Pairs, weight: FloatArray) -> tuple[FloatArray, tuple[float, ...]]:
    prior = _Prior.of(pairs, weight)
    balance, rates = prior.balance, prior.rates
    reached: list[float] = []
    for _ in range(_ROUNDS):
        q, likelihood = _posterior(pairs, balance, rates)
        reached.append(float(weight @ likelihood) + prior.log_density(pairs, balance, rates))
        if len(reached) > 1 and reached[-1] - reached[-2] <= _ENOUGH * abs(reached[-1]):
            break
        balance, rates = prior.update(pairs, weight[:, None] * q)
    mass = weight[:, None] * _posterior(pairs, balance, rates)[0]
    fired = pairs.fires.T @ mass
    right = fired[np.arange(len(pairs.label)), pairs.label]
    return (right + STRENGTH * GUESS) / (fired.sum(axis=1) + STRENGTH), tuple(reached)


def _posterior(pairs: Pairs, balance: FloatArray, rates: FloatArray) -> tuple[FloatArray, FloatArray]:
    """P(y|votes), and the log-likelihood of every row. ``rates``: θ of what is said, pairs × classes."""
    silence = np.log(_silent(pairs, rates))
    scores = pairs.fires @ (np.log(rates) - silence[pairs.source]) + silence.sum(axis=0) + np.log(balance)
    known = np.flatnonzero(pairs.known >= 0)
    others = np.arange(pairs.n_classes) != pairs.known[known][:, None]
    scores[known] = np.where(others, -np.inf, scores[known])
    likelihood = logsumexp(scores, axis=1)
    return np.exp(scores - likelihood[:, None]), likelihood


def _silent(pairs: Pairs, rates: FloatArray) -> FloatArray:
    """θ of silence: sources × classes."""
    return np.maximum(1 - _by_source(pairs, rates), _NEVER)


def _by_source(pairs: Pairs, values: FloatArray) -> FloatArray:
    found = np.zeros((int(pairs.source.max()) + 1, values.shape[1]))
    np.add.at(found, pairs.source, values)
    return found


@dataclass(frozen=True, eq=False)
class _Prior:
    """Votes and rows that are imagined: ``fired`` (pairs × classes), ``rows`` (sources × classes)."""

    balance: FloatArray
    rates: FloatArray
    fired: FloatArray
    rows: FloatArray

    @staticmethod
    def of(pairs: Pairs, weight: FloatArray) -> _Prior:
        n, k = float(weight.sum()), np.arange(len(pairs.label))
        said = pairs.fires.T @ weight
        votes = np.bincount(pairs.label, weights=said, minlength=pairs.n_classes) + _EVEN
        balance = votes / votes.sum()
        per_source = _by_source(pairs, said[:, None])[:, 0]
        own = np.zeros((len(k), pairs.n_classes))
        own[k, pairs.label] = 1.0
        rest = balance * (1 - own)
        rest /= np.maximum(rest.sum(axis=1, keepdims=True), _NEVER)
        part = said / np.maximum(per_source[pairs.source], _NEVER)
        fired = STRENGTH * part[:, None] * (GUESS * own + (1 - GUESS) * rest)
        rows = STRENGTH * n / np.maximum(per_source, 1.0)[:, None] * balance
        rows = np.maximum(rows, _by_source(pairs, fired) * (1 + _NEVER))
        return _Prior(balance, _rates(pairs, fired / rows[pairs.source]), fired, rows)

    def update(self, pairs: Pairs, mass: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The most probable π and θ where classes have the weights ``mass`` (rows × classes)."""
        total = mass.sum(axis=0)
        rates = (pairs.fires.T @ mass + self.fired) / (total + self.rows)[pairs.source]
        return (total + _EVEN) / (total + _EVEN).sum(), _rates(pairs, rates)

    def log_density(self, pairs: Pairs, balance: FloatArray, rates: FloatArray) -> float:
        """Of the prior, up to a constant."""
        silent = self.rows - _by_source(pairs, self.fired)
        value = np.sum(self.fired * np.log(rates)) + np.sum(silent * np.log(_silent(pairs, rates)))
        return float(value + _EVEN * np.log(balance).sum())


def _rates(pairs: Pairs, rates: FloatArray) -> FloatArray:
    """Rates away from 0 and, with those of the same source, from 1."""
    rates = np.maximum(rates, _NEVER)
    return np.asarray(rates / np.maximum(_by_source(pairs, rates) / (1 - _NEVER), 1.0)[pairs.source])


def _condensed(pairs: Pairs) -> tuple[Pairs, FloatArray]:
    """Rows with the same votes and the same label as one, and how many there are."""
    fires = pairs.fires.sorted_indices()
    ends = fires.indptr.tolist()
    keys: dict[tuple[bytes, int], int] = {}
    number = np.fromiter(
        (
            keys.setdefault((fires.indices[a:b].tobytes(), known), len(keys))
            for a, b, known in zip(ends[:-1], ends[1:], pairs.known.tolist(), strict=True)
        ),
        dtype=np.intp,
        count=len(pairs.known),
    )
    first = np.unique(number, return_index=True)[1]
    weight = np.bincount(number).astype(np.float64)
    return Pairs(pairs.fires[first], pairs.source, pairs.label, pairs.known[first], pairs.n_classes), weight
