"""The information projection as sums over shards of its instances.

    −dual(θ) = Σ_shards [Σ_j w_j log Σ_y p_j(y) exp(θ·f′(x_j, y)) + Σ_r V*_r] + θ·o + U*(−c∘θ)

The first part and its gradient Σ w_j E_q[f′] are what a shard adds; the penalty of the shared rows stays with the
caller (``information.Dual``). Prices of single instances are found inside their shard.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from tiltfit.arrays import FloatArray, IntArray
from tiltfit.execution.sums import Moments
from tiltfit.inference.potentials import Marginals, Potentials

if TYPE_CHECKING:
    from tiltfit.projections.information import Tilt


class Prices(NamedTuple):
    """The broadcast of a search to all shards: the weights of the model (None: a shard has log p already), the prices
    of the shared rows, the largest price that a hard row may have, and how closely inner prices are to be found."""

    weights: FloatArray | None
    shared: FloatArray
    cap: float
    inner_tol: float


@dataclass(frozen=True, eq=False)
class Tilted:
    """q at some prices: marginals, Σ V* of the rows of single instances at their optimum, and their shares."""

    marginals: Marginals
    inner_cost: float
    shares: FloatArray


class HasTilt(Protocol):
    """A shard of data on which constraints act."""

    def tilted_at(self, weights: FloatArray | None) -> TiltShard:
        """Its part of an information projection where the model has these weights."""
        ...


class TiltShard:
    """Some instances of a projection: ``tilt`` there, with all shared rows, and log p (``base``).

    ``rows``: the numbers of its rows of single instances among all. It remembers their prices (``inner``), where the
    next search begins, and q at the last prices (``last``).
    """

    def __init__(self, tilt: Tilt, base: Potentials, rows: IntArray | None = None) -> None:
        n = 0 if tilt.instances is None else len(tilt.instances)
        self.tilt, self.base, self.rows = tilt, base, np.arange(n) if rows is None else rows
        self.inner, self.solved = np.zeros(n), True
        self.last: Tilted | None = None

    def tilted_at(self, weights: FloatArray | None) -> TiltShard:
        return self

    def sums(self, at: Prices) -> Moments:
        """Σ w log Z + Σ V*, and Σ w E_q[f′] of the shared rows."""
        self.last = None  # its memory is used again
        tilt = self.tilt
        potentials = tilt.features.tilted(self.base, at.shared, tilt.workers.buffers)
        cost, shares = 0.0, np.empty(0)
        if tilt.instances is None:
            marginals = tilt.infer(potentials)
        else:
            marginals, self.inner, shares, self.solved = tilt.instances.solve(
                potentials, self.inner, at.cap, tilt.workers, at.inner_tol
            )
            cost = float(np.sum(tilt.instances.penalty.conjugate(tilt.instances.eta(self.inner))))
        self.last = Tilted(marginals, cost, shares)
        sums = tilt.features.weighted(marginals, tilt.structure, tilt.weight)
        return Moments(float(tilt.weight @ marginals.log_z) + cost, sums, float(np.sum(tilt.weight)))

    def ending(self) -> Moments:
        """Σ w log Z at the last prices; and of the rows of single instances Σ V*, their duality gap, η·m, and whether
        some are not solved."""
        assert self.last is not None
        rows, log_z = self.tilt.instances, float(self.tilt.weight @ self.last.marginals.log_z)
        figures = np.zeros(4)
        if rows is not None:
            eta = rows.eta(self.inner)
            gap = float(np.sum(rows.penalty.fenchel_gap(self.last.shares, eta)))
            figures[:] = self.last.inner_cost, gap, float(eta @ self.last.shares), not self.solved
        return Moments(log_z, figures, float(np.sum(self.tilt.weight)))


def tilted_sums(shard: HasTilt, at: Prices) -> Moments:
    """Task: ``TiltShard.sums``."""
    return shard.tilted_at(at.weights).sums(at)


def ending_sums(shard: HasTilt, at: Prices) -> Moments:
    """Task: ``TiltShard.ending`` at the prices that ``tilted_sums`` was last called with."""
    return shard.tilted_at(at.weights).ending()


def gathered(shards: Sequence[TiltShard]) -> tuple[Marginals, FloatArray, FloatArray]:
    """q of all instances, and the prices and shares of their rows of single instances, in the order of the rows."""
    found = [shard.last for shard in shards if shard.last is not None]
    marginals = found[0].marginals
    if len(found) > 1:
        parts = [one.marginals for one in found]
        edges = [part.edge for part in parts if part.edge is not None]
        wholes = [part.whole for part in parts if part.whole is not None]
        marginals = Marginals(
            np.concatenate([part.log_z for part in parts]),
            np.concatenate([part.node for part in parts]),
            sum(edges[1:], start=edges[0]) if edges else None,
            np.concatenate(wholes) if wholes else None,
        )
    order = np.concatenate([shard.rows for shard in shards])
    prices, shares = np.empty(len(order)), np.empty(len(order))
    prices[order] = np.concatenate([shard.inner for shard in shards])
    shares[order] = np.concatenate([one.shares for one in found])
    return marginals, prices, shares
