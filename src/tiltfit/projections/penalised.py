"""The best labellings under penalties for violated constraints: the inference of constraint-driven learning.

    top-K over y of   score_λ(x, y) − Σ_k ρ_k·d_k(x, y)

Violations that are sums over places only change the potentials: then the K best are exact (documents: a sort; chains:
k-best Viterbi). Numbers of whole instances (repeated fields, "at most one journal") do not: the ``beam`` best
labellings without them, and the best with those that are segment statistics (``WholeChains.best``), are ranked by the
full score. Penalties are never negative, so that nothing beyond the beam can win if the K-th in rank has at least the
score that the last of the beam has without them: where that holds the answer is also exact (``proven``).
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np

from tiltfit.arrays import BoolArray, FloatArray, IntArray
from tiltfit.execution.workers import Workers
from tiltfit.inference.bounds import excess, shortfall
from tiltfit.inference.chain import Chains
from tiltfit.inference.potentials import Potentials
from tiltfit.inference.segmental import Segmental
from tiltfit.inference.statistic import Statistic
from tiltfit.inference.whole import WholeChains
from tiltfit.projections.violations import Count, Violations

_ROOM = 1 << 22  # approximate number of labels of all candidates of a block of sequences together
_SAME = 1e-9  # scores of one labelling by two ways of adding up differ by less, relatively


@dataclass(frozen=True, eq=False)
class Labellings:
    """The K best of every instance, best first: ``labels[K, N]``, −1 where there are fewer, and ``scores[n, K]`` (−inf
    there). ``proven``: whether no other labelling is better than these, one per instance."""

    labels: IntArray
    scores: FloatArray
    proven: BoolArray


def best_labellings(
    violations: Violations, potentials: Potentials, rho: FloatArray, top_k: int, beam: int, workers: Workers
) -> Labellings:
    """``potentials``: the model's, of the instances of ``violations``. ``rho``: one per constraint."""
    structure, chains = violations.structure, violations.structure.chains
    edge = None if potentials.edge is None or violations.parent is None else potentials.edge[violations.parent]
    tilted = violations.features.tilted(Potentials(potentials.node, edge) + violations.rules, -rho)
    counts = [count for count in violations.counts if rho[count.number] > 0]
    if chains is None or not (counts or violations.bans):
        labels, scores = structure.k_best(tilted, top_k, workers)
        return Labellings(labels, scores, np.ones(len(structure), dtype=np.bool_))
    width = max(beam, top_k)
    found = Labellings(
        np.empty((top_k, len(tilted.node)), dtype=np.intp),
        np.empty((len(structure), top_k)),
        np.empty(len(structure), dtype=np.bool_),
    )
    goals = np.arange(0, width * chains.offsets[-1], _ROOM)
    cuts = np.unique(np.searchsorted(width * structure.first, goals, side="right") - 1)
    for a, b in zip(cuts, [*cuts[1:], len(structure)], strict=True):
        block, part = np.arange(a, b), slice(chains.offsets[a], chains.offsets[b])
        positions = np.arange(part.start, part.stop)
        ranking = _Ranking(
            chains=chains.take(block),
            potentials=Potentials(tilted.node[part], tilted.edge),
            counts=[count.at(block, positions) for count in counts],
            bans=[(statistic, here[block]) for statistic, here in violations.bans],
            rho=rho,
        )
        some = ranking.best(top_k, width, workers)
        found.labels[:, part], found.scores[block], found.proven[block] = some.labels, some.scores, some.proven
    return found


@dataclass(frozen=True, eq=False)
class _Ranking:
    """Candidates of some sequences, by the full score."""

    chains: Chains
    potentials: Potentials
    counts: list[Count]
    bans: list[tuple[Statistic, BoolArray]]
    rho: FloatArray

    def best(self, top_k: int, width: int, workers: Workers) -> Labellings:
        labels, bound = self.chains.k_best(self.potentials, width, workers)
        scores = bound - np.stack([self._of_terms(row) for row in labels], axis=1)
        first, first_score, exact = self._searched(workers)
        n = len(self.chains)
        chosen = np.full((top_k, labels.shape[1]), -1, dtype=np.intp)
        best, proven = np.full((n, top_k), -np.inf), np.zeros(n, dtype=np.bool_)
        for s in range(n):
            part = slice(self.chains.offsets[s], self.chains.offsets[s + 1])
            ranked, proven[s] = self._ranked(
                s, labels[:, part], bound[s], scores[s], first[part], first_score[s], top_k
            )  # fmt: skip
            proven[s] |= bool(exact[s]) and top_k == 1
            for r, (score, candidate) in enumerate(ranked):
                chosen[r, part], best[s, r] = candidate, score
        return Labellings(chosen, best, proven)

    def _ranked(
        self,
        s: int,
        labels: IntArray,
        bound: FloatArray,
        scores: FloatArray,
        first: IntArray,
        first_score: float,
        top_k: int,
    ) -> tuple[list[tuple[float, IntArray]], bool]:
        """The best candidates of one sequence, and whether there are none better. ``bound``: falling; no score exceeds
        it. ``first``: one more candidate."""
        heap: list[tuple[float, int]] = []  # of equals the earlier one is kept
        if first_score > -np.inf:
            heap.append((first_score, 0))
        proven = True
        for r in range(len(labels)):
            if bound[r] == -np.inf or (len(heap) == top_k and heap[0][0] >= bound[r]):
                break
            score = float(scores[r]) - self._of_statistics(s, labels[r])
            repeated = abs(score - first_score) <= _SAME * (1 + abs(score)) and np.array_equal(labels[r], first)
            if score > -np.inf and not repeated:
                heapq.heappush(heap, (score, -1 - r))
                if len(heap) > top_k:
                    heapq.heappop(heap)
        else:
            proven = False
        ranked = sorted(heap, reverse=True)
        return [(score, first if r == 0 else labels[-1 - r]) for score, r in ranked], proven

    def _of_terms(self, labels: IntArray) -> FloatArray:
        """Σ ρ·d of every sequence, of counts that are sums of terms. Where there are no labels (−1), whatever."""
        total, begin = np.zeros(len(self.chains)), self.chains.first
        for count in self.counts:
            if count.statistic is None:
                total += self.rho[count.number] * count.of_terms(labels, begin)
        return total

    def _of_statistics(self, s: int, labels: IntArray) -> float:
        """Σ ρ·d of one sequence, of statistics of the whole; inf where one is forbidden."""
        if any(here[s] and statistic.count(labels) > 0 for statistic, here in self.bans):
            return np.inf
        return sum(
            float(self.rho[count.number] * count.distance(count.statistic.count(labels), s))
            for count in self.counts
            if count.statistic is not None
        )

    def _searched(self, workers: Workers) -> tuple[IntArray, FloatArray, BoolArray]:
        """The best labels under all penalties that are segment statistics, their full scores, and whether these are
        all penalties and the search was exact."""
        listed = [(statistic, np.where(here, -np.inf, 0.0)) for statistic, here in self.bans]
        for count in self.counts:
            if count.statistic is not None:
                price = np.full(len(self.chains), -self.rho[count.number])
                listed += [(statistic, price) for statistic in _beyond(count)]
        known = [(statistic, price) for statistic, price in listed if isinstance(statistic, Segmental)]
        if not known:
            nothing = np.zeros(len(self.chains), dtype=np.bool_)
            return np.full(len(self.chains.kind), -1, dtype=np.intp), np.full(len(self.chains), -np.inf), nothing
        whole = WholeChains(self.chains, tuple(statistic for statistic, _ in known))
        found = whole.best(self.potentials, np.stack([price for _, price in known], axis=1), workers)
        scores = self.chains.score(self.potentials, found.labels) - self._of_terms(found.labels)
        for s in range(len(self.chains)):
            part = slice(self.chains.offsets[s], self.chains.offsets[s + 1])
            scores[s] = (
                -np.inf if found.scores[s] == -np.inf else scores[s] - self._of_statistics(s, found.labels[part])
            )
        alone = len(known) == len(listed) and all(count.statistic is not None for count in self.counts)
        return found.labels, scores, found.proven & alone


def _beyond(count: Count) -> list[Statistic]:
    """d as statistics."""
    assert count.statistic is not None
    low, high = float(count.low[0]), float(count.high[0])
    found = [excess(count.statistic, high)] if high < count.statistic.most else []
    return [*found, *([shortfall(count.statistic, low)] if low > count.statistic.least else [])]
