"""Chains whose sequences also have priced statistics, behind the same interface as chains without.

    q(y | x_s) ∝ exp(Σ_t node[t, y_t] + Σ_t edge[kind[t], y_{t−1}, y_t] + Σ_k whole[s, k]·g_k(y))

``Potentials.whole`` holds the prices, ``Marginals.whole`` the means of the statistics. Inference is exact (``whole``),
or by Markov chains where that would take too long.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tiltfit.arrays import FloatArray, IntArray
from tiltfit.errors import UnsupportedError
from tiltfit.execution.workers import Workers
from tiltfit.inference.chain import Chains
from tiltfit.inference.potentials import Marginals, Potentials
from tiltfit.inference.statistic import Statistic
from tiltfit.inference.whole import MAX_ROWS, Best, SamplerState, WholeChains, WholeMarginals

HOW = ("auto", "exact", "sampled")
_AFFORDABLE = 50  # steps of the sampler that one exact inference may take the time of: an exact dual needs few of them
_STEPS, _BURN_IN = 300, 50  # where the caller does not say how many


@dataclass(frozen=True, eq=False)
class PricedChains(Chains):
    """Chains with ``statistics``. ``sampled``: ``infer`` is by Markov chains, and log Z is not known."""

    statistics: tuple[Statistic, ...]
    sampled: bool
    seed: int = 0

    @classmethod
    def of(cls, chains: Chains, statistics: tuple[Statistic, ...], how: str, seed: int) -> PricedChains:
        """``how``: "exact", "sampled", or "auto": exact where that is affordable for all sequences."""
        sampled = how == "sampled"
        if how == "auto":
            sampled = not WholeChains(chains, statistics).affordable(_AFFORDABLE)
        return cls(chains.offsets, chains.kind, chains.n_kinds, statistics, sampled, seed)

    def infer(
        self,
        potentials: Potentials,
        workers: Workers | None = None,
        *,
        weight: FloatArray | None = None,
        overwrite: bool = False,
    ) -> Marginals:
        """As ``Chains.infer``, with the means of the statistics. log Z is NaN where q is sampled."""
        if self.sampled:
            return marginals(self.walk(potentials, self.start(), _STEPS, workers, weight=weight, burn_in=_BURN_IN))
        found = self._whole.exact(potentials, self._prices(potentials), workers, weight=weight)
        self._check_answered(found.refused)
        return marginals(found)

    @property
    def is_sampled(self) -> bool:
        return self.sampled

    @cached_property
    def unpriced(self) -> Chains:
        return Chains(self.offsets, self.kind, self.n_kinds)

    def estimate(
        self,
        potentials: Potentials,
        n_steps: int,
        seed: int,
        workers: Workers | None = None,
        *,
        weight: FloatArray | None = None,
    ) -> Marginals:
        """``infer``; where q is sampled, by ``n_steps`` steps after as many of burn-in, from this seed."""
        if not self.sampled:
            return self.infer(potentials, workers, weight=weight)
        state = self._whole.start(seed)
        return marginals(self.walk(potentials, state, n_steps, workers, weight=weight, burn_in=n_steps))

    def start(self) -> SamplerState:
        """The state of the sampler before its first step."""
        return self._whole.start(self.seed)

    def walk(
        self,
        potentials: Potentials,
        state: SamplerState,
        n_steps: int,
        workers: Workers | None = None,
        *,
        weight: FloatArray | None = None,
        burn_in: int = 0,
    ) -> WholeMarginals:
        """Means over ``n_steps`` steps of the sampler from ``state``, after ``burn_in`` more."""
        prices = self._prices(potentials)
        found = self._whole.sample(potentials, prices, state, n_steps, workers, weight=weight, burn_in=burn_in)
        if len(found.refused):
            raise UnsupportedError(
                f"The sampler found no labels for {len(found.refused)} of {len(self)} sequences, such as one of "
                f"{self.lengths[found.refused[0]]} tokens, that no hard constraint on whole sequences rules out: if "
                "there are any, they are too rare. Soften these constraints with slack=, or use inference='exact'."
            )
        return found

    def best(self, potentials: Potentials, workers: Workers | None = None) -> tuple[IntArray, FloatArray]:
        """The best label sequences under the prices, and their scores."""
        found = self.best_whole(potentials, workers)
        return found.labels, found.scores

    def best_whole(self, potentials: Potentials, workers: Workers | None = None) -> Best:
        """The best label sequences under the prices, and whether that is proven."""
        return self._whole.best(potentials, self._prices(potentials), workers)

    def impossible(self, potentials: Potentials, workers: Workers | None = None) -> IntArray:
        """The numbers of the sequences for which it is proven that no labels are possible."""
        best = self.best_whole(potentials, workers)
        return np.flatnonzero((best.scores == -np.inf) & best.proven)

    def _check_answered(self, refused: IntArray) -> None:
        """Raise if exact inference has no answer for these sequences."""
        if len(refused) == 0:
            return
        python = [s.name for s in self.statistics if s.segmental is None]
        if python:
            raise UnsupportedError(
                f'Exact inference cannot take the statistic "{python[0]}", which is not a function of segments'
                ' (Segmental): use inference "auto" or "sampled".'
            )
        longest = refused[np.argmax(self.lengths[refused])]
        raise UnsupportedError(
            f"Exact inference has no answer for {len(refused)} of {len(self)} sequences, such as number {longest} of"
            f" {self.lengths[longest]} tokens: too much must be remembered (more than {MAX_ROWS:,} rows), or what is"
            ' possible is too improbable. Use inference "auto" or "sampled", or statistics of fewer fields.'
        )

    @cached_property
    def _whole(self) -> WholeChains:
        return WholeChains(self.unpriced, self.statistics)

    def _prices(self, potentials: Potentials) -> FloatArray:
        return np.zeros(len(self.statistics)) if potentials.whole is None else potentials.whole


def marginals(found: WholeMarginals) -> Marginals:
    """The part that solvers look at."""
    return Marginals(found.log_z, found.node, found.edge, found.whole)
