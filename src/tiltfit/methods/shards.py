"""The objective as sums over shards of the data (``execution.sums``).

An evaluation of O(λ) is three kinds of tasks: ``model_sums`` infers p, those of ``projections.shards`` tilt it to some
prices (as often as the search for them needs), and ``gradient_sums`` pulls ω·(p − q) back to the weights. Weights and
prices go to a shard; sums come back and, once per evaluation, q of the touched instances (``ending_of``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tiltfit.arrays import FloatArray, IntArray
from tiltfit.execution.sums import Moments
from tiltfit.inference.potentials import Potentials
from tiltfit.projections.shards import Prices, TiltShard

if TYPE_CHECKING:
    from tiltfit.methods.problem import Problem


class ModelHalf(NamedTuple):
    """The residual before q is known: its value, ω·p on nodes and edges, and of touched instances potentials and
    log Z."""

    value: float
    node: FloatArray
    edge: FloatArray | None
    here: Potentials | None
    log_z: FloatArray


class Shard:
    """A part of a problem. ``rows``: the numbers of its rows of single instances among all (None: all).

    Within an evaluation it remembers p and q at the last weights; a copy that was pickled does not, and computes them
    anew.
    """

    def __init__(self, problem: Problem, rows: IntArray | None) -> None:
        self.problem, self.rows = problem, rows
        self._half: ModelHalf | None = None
        self._tilted: TiltShard | None = None
        self._weights: FloatArray | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_half": None, "_tilted": None, "_weights": None}

    def begin(self, weights: FloatArray) -> ModelHalf:
        """p at these weights."""
        known = self.problem.model.linear is None  # else the moments of known labels are the same whatever the weights
        self._half, self._tilted, self._weights = self.problem.model_half(weights, known=known), None, weights
        return self._half

    def _half_at(self, weights: FloatArray) -> ModelHalf:
        """p at these weights: remembered, or else inferred."""
        if self._half is None or self._weights is None:
            return self.begin(weights)
        same = self._weights is weights or np.array_equal(self._weights, weights)
        return self._half if same else self.begin(weights)

    def tilted_at(self, weights: FloatArray | None) -> TiltShard:
        """log p of the touched instances, and q there at the last prices."""
        assert weights is not None
        half, tilt = self._half_at(weights), self.problem.tilt
        if self._tilted is None:
            assert half.here is not None
            assert tilt is not None
            self._tilted = TiltShard(tilt, tilt.base(half.here, half.log_z, overwrite=True), self.rows)
        return self._tilted

    def gradient(self, prices: Prices) -> FloatArray:
        """∂/∂λ of what the shard adds to O, but for the ridge and the known moments of a linear model."""
        assert prices.weights is not None
        half, problem = self._half_at(prices.weights), self.problem
        if problem.tilt is not None:
            problem.subtract(self.tilted_at(prices.weights).tilted(prices).marginals, half.node, half.edge)
        self._half = self._tilted = self._weights = None
        return problem.model.pull(prices.weights, half.node, half.edge)

    @property
    def count(self) -> float:
        return float(np.sum(self.problem.weight))


def model_sums(shard: Shard, weights: FloatArray) -> Moments:
    """Task: Σ_labelled w·log Z, or −log p_λ(y|x) where the model is not linear."""
    return Moments(shard.begin(weights).value, np.empty(0), shard.count)


def gradient_sums(shard: Shard, prices: Prices) -> Moments:
    """Task: the gradient of O at these weights and prices."""
    return Moments(0.0, shard.gradient(prices), shard.count)


def known_sums(shard: Shard, _: None) -> Moments:
    """Task: Σ_labelled w·log q₀(y|x) and Σ_labelled w·f(x, y)."""
    return Moments(shard.problem.known_base, shard.problem.known_moments(), shard.count)
