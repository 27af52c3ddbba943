"""Statistics that only Python knows: the same sampler, slower, and a decoder by the chain's best label sequences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tiltfit.arrays import FloatArray, IntArray
from tiltfit.execution.workers import Workers
from tiltfit.inference.chain import Chains
from tiltfit.inference.potentials import Potentials
from tiltfit.inference.statistic import Labels, Statistic

_FORBIDDING = -1e9  # stands for −inf, so that a chain that starts among the forbidden can leave, breach by breach
_TRIES = 200  # steps in search of labels that no statistic forbids
_BLOCK = 64  # proposals drawn at a time
_LISTS = 16, 256, 4096  # the chain's best label sequences that are looked at, first few, then more


class Steps(NamedTuple):
    """Means over the steps of the chains; ``found``: whether there were labels that no statistic forbids."""

    node: FloatArray  # [N, L]
    edge: FloatArray  # [K, L, L], weighted
    whole: FloatArray  # [n, S]
    totals: FloatArray  # [m, S], weighted
    accepted: FloatArray  # [n]
    possible: npt.NDArray[np.bool_]  # [n]
    found: npt.NDArray[np.bool_]  # [n]


def sample_plain(
    chains: Chains,
    statistics: Sequence[Statistic],
    potentials: Potentials,
    whole: FloatArray,
    state: npt.NDArray[np.int16],
    n_sweeps: int,
    seed: int,
    weight: FloatArray,
    burn_in: int,
) -> Steps:
    """As ``WholeChains.sample``: a proposal of all labels and a Gibbs sweep, step by step. O(N·L) changes per step."""
    node, edge = chains.checked(potentials)
    n = len(chains)
    result = Steps(
        np.zeros_like(node), np.zeros_like(edge), np.zeros((n, len(statistics))), np.zeros((n_sweeps, len(statistics))),
        np.zeros(n), chains.sample(potentials, 1, seed)[0][chains.first] >= 0, np.ones(n, dtype=np.bool_),
    )  # fmt: skip
    for s in np.flatnonzero(result.possible):
        prices = whole[0 if len(whole) == 1 else s]
        part = slice(chains.offsets[s], chains.offsets[s + 1])
        walk = _Walk(Chains(np.array([0, chains.lengths[s]]), chains.kind[part], chains.n_kinds), statistics, prices,
                     Potentials(node[part], edge), (seed, int(s)))  # fmt: skip
        labels = walk.start(state[part].astype(np.intp))
        result.found[s] = not walk.forbidden(labels)
        for m in range(-burn_in if result.found[s] else n_sweeps, n_sweeps):
            result.accepted[s] += walk.propose(labels) * (m >= 0) / n_sweeps
            share = 1.0 / n_sweeps if m >= 0 else 0.0
            walk.sweep(labels, result.node[part], result.edge, share, float(weight[s]))
            if m >= 0:
                counts = walk.counts(labels)
                result.whole[s] += counts / n_sweeps
                result.totals[m] += weight[s] * counts
        state[part] = labels
    state[chains.positions(np.flatnonzero(~result.possible))] = -1
    return result


class _Walk:
    """The Markov chain of one sequence."""

    def __init__(
        self,
        chain: Chains,
        statistics: Sequence[Statistic],
        prices: FloatArray,
        potentials: Potentials,
        seed: tuple[int, int],
    ) -> None:
        self._chain, self._statistics, self._potentials = chain, statistics, potentials
        self._forbids, self._prices = prices == -np.inf, np.maximum(prices, _FORBIDDING)
        self._rng = np.random.default_rng([seed[0] % 2**64, seed[1]])
        self._proposals: list[Labels] = []

    def counts(self, labels: Labels) -> FloatArray:
        return np.array([statistic.count(labels) for statistic in self._statistics])

    def forbidden(self, labels: Labels) -> bool:
        return bool(np.any(self.counts(labels)[self._forbids] > 0.0))

    def start(self, labels: Labels) -> Labels:
        """These labels if the chain allows them, else others; some that no statistic forbids, if any are found."""
        node, edge = self._potentials.node, self._potentials.edge
        assert edge is not None
        n = np.arange(len(labels))
        allowed = np.all((labels >= 0) & (labels < node.shape[1])) and np.all(node[n, labels] > -np.inf)
        allowed = allowed and np.all(edge[self._chain.kind[1:], labels[:-1], labels[1:]] > -np.inf)
        labels = labels if allowed else self._drawn()
        for _ in range(_TRIES):
            if not self.forbidden(labels):
                break
            self.propose(labels)
            self.sweep(labels, np.zeros_like(node), np.zeros_like(edge), 0.0, 0.0)
        return labels

    def _drawn(self) -> Labels:
        if not self._proposals:
            draws = self._chain.sample(self._potentials, _BLOCK, int(self._rng.integers(2**63)))
            self._proposals = list(draws)
        return self._proposals.pop()

    def propose(self, labels: Labels) -> bool:
        proposal = self._drawn()
        gain = float(self._prices @ (self.counts(proposal) - self.counts(labels)))
        accepted = bool(self._rng.random() < np.exp(min(0.0, gain)))
        if accepted:
            labels[:] = proposal
        return accepted

    def sweep(self, labels: Labels, node_sum: FloatArray, edge_sum: FloatArray, share: float, weight: float) -> None:
        for t in range(len(labels)):
            p = self._conditional(labels, t)
            node_sum[t] += share * p
            if t > 0:
                edge_sum[self._chain.kind[t], labels[t - 1]] += weight * share * p
            labels[t] = min(int(np.searchsorted(np.cumsum(p), self._rng.random(), side="right")), np.flatnonzero(p)[-1])

    def _conditional(self, labels: Labels, t: int) -> FloatArray:
        node, edge, kind = self._potentials.node, self._potentials.edge, self._chain.kind
        assert edge is not None
        score = node[t].copy()
        if t > 0:
            score += edge[kind[t], labels[t - 1]]
        if t + 1 < len(labels):
            score += edge[kind[t + 1], :, labels[t + 1]]
        for y in np.flatnonzero(score > -np.inf):
            if y != labels[t]:
                changes = [statistic.change(labels, t, int(y)) for statistic in self._statistics]
                score[y] += self._prices @ np.array(changes)
        p = np.exp(score - score.max())
        return np.asarray(p / p.sum())


def best_plain(
    chains: Chains,
    statistics: Sequence[Statistic],
    potentials: Potentials,
    whole: FloatArray,
    workers: Workers | None = None,
) -> tuple[IntArray, FloatArray, npt.NDArray[np.bool_]]:
    """The best of the chain's 16, 256 or 4096 best, by score and priced statistics; and whether it is the best of all.

    It is if there are no others, or if no price is above 0 and no statistic is below its ``least``: then the next one
    by score alone cannot be better.
    """
    labels, scores = np.full(chains.offsets[-1], -1, dtype=np.intp), np.full(len(chains), -np.inf)
    proven, open_ = np.zeros(len(chains), dtype=np.bool_), np.arange(len(chains))
    for k in _LISTS:
        part = Potentials(potentials.node[chains.positions(open_)], potentials.edge)
        few = chains.take(open_)
        lists, values = few.k_best(part, k, workers)
        for i, s in enumerate(open_):
            prices = whole[0 if len(whole) == 1 else s]
            candidates = lists[:, few.offsets[i] : few.offsets[i + 1]][values[i] > -np.inf]
            totals = [values[i, r] + _priced(statistics, prices, y) for r, y in enumerate(candidates)]
            if totals and max(totals) > -np.inf:
                scores[s] = max(totals)
                labels[chains.offsets[s] : chains.offsets[s + 1]] = candidates[int(np.argmax(totals))]
            most = _highest(statistics, prices)
            proven[s] = len(totals) < k or (most < np.inf and scores[s] >= values[i, -1] + most)
        open_ = open_[~proven[open_]]
        if len(open_) == 0:
            break
    return labels, scores, proven


def _priced(statistics: Sequence[Statistic], prices: FloatArray, labels: Labels) -> float:
    """Σ price·g; −inf where a statistic of price −inf is above 0."""
    total = 0.0
    for statistic, price in zip(statistics, prices, strict=True):
        count = statistic.count(labels)
        total += float(price) * count if count != 0.0 else 0.0
    return total


def _highest(statistics: Sequence[Statistic], prices: FloatArray) -> float:
    """A bound that Σ price·g cannot exceed; inf if that is not known."""
    total = 0.0
    for statistic, price in zip(statistics, prices, strict=True):
        if price > 0.0 or (price < 0.0 and statistic.least == -np.inf):
            return np.inf
        total += float(price) * statistic.least if price < 0.0 and statistic.least != 0.0 else 0.0
    return total
