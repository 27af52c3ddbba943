"""The information projection as sums over shards of its instances.

    −dual(θ) = Σ_shards [Σ_j w_j log Σ_y p_j(y) exp(θ·f′(x_j, y)) + Σ_r V*_r] + θ·o + U*(−c∘θ)

The first part and its gradient Σ w_j E_q[f′] are what a shard adds; the penalty of the shared rows stays with the
caller (``information.Dual``). Prices of single instances are found inside their shard. Beside its data, all
that a shard needs is in the broadcast (``Prices``): one that remembers nothing finds the same, up to the tolerance of
inner prices.
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
    of the shared rows, the largest price that a hard row may have, how closely inner prices are to be found, and where
    the search for them begins (one per row of single instances, of all shards; None: at zero)."""

    weights: FloatArray | None
    shared: FloatArray
    cap: float
    inner_tol: float
    inner: FloatArray | None = None


@dataclass(frozen=True, eq=False)
class Tilted:
    """q of a shard at some prices: marginals and, of its rows of single instances, their numbers among all, Σ V* at
    their optimum, prices and shares, and whether all are solved."""

    marginals: Marginals
    rows: IntArray
    inner_cost: float
    prices: FloatArray
    shares: FloatArray
    solved: bool = True


@dataclass(frozen=True, eq=False)
class Ending:
    """q of some shards: Σ w log Z with [Σ V*, duality gap, η·m, how many are not solved] of the rows of single
    instances, and q of each shard."""

    sums: Moments
    parts: tuple[Tilted, ...]

    def merge(self, other: Ending) -> Ending:
        return Ending(self.sums.merge(other.sums), self.parts + other.parts)


@dataclass(frozen=True)
class Widest:
    """Approximately the largest difference between scores of an instance."""

    spread: float

    def merge(self, other: Widest) -> Widest:
        return Widest(max(self.spread, other.spread))


class HasTilt(Protocol):
    """A shard of data on which constraints act."""

    def tilted_at(self, weights: FloatArray | None) -> TiltShard:
        """Its part of an information projection where the model has these weights."""
        ...


class TiltShard:
    """Some instances of a projection: ``tilt`` there, with all shared rows, and log p (``base``).

    ``rows``: the numbers of its rows of single instances among all. It remembers q at the last prices, which need not
    be inferred again, and the prices of these rows, where the next search for them begins.
    """

    def __init__(self, tilt: Tilt, base: Potentials, rows: IntArray | None = None) -> None:
        n = 0 if tilt.instances is None else len(tilt.instances)
        self.tilt, self.base, self.rows = tilt, base, np.arange(n) if rows is None else rows
        self._inner: FloatArray | None = None
        self._last: tuple[Prices, Tilted] | None = None

    def tilted_at(self, weights: FloatArray | None) -> TiltShard:
        return self

    def sums(self, at: Prices) -> Moments:
        """Σ w log Z + Σ V*, and Σ w E_q[f′] of the shared rows."""
        tilt, found = self.tilt, self._solve(at)
        sums = tilt.features.weighted(found.marginals, tilt.structure, tilt.weight)
        log_z = float(tilt.weight @ found.marginals.log_z)
        return Moments(log_z + found.inner_cost, sums, float(np.sum(tilt.weight)))

    def tilted(self, at: Prices) -> Tilted:
        """q at these prices: remembered, or else inferred."""
        if self._last is not None:
            then, found = self._last
            inner = self.tilt.instances is None or (then.cap == at.cap and then.inner_tol <= at.inner_tol)
            if inner and np.array_equal(then.shared, at.shared):
                return found
        return self._solve(at)

    def remember(self, at: Prices, marginals: Marginals) -> None:
        """Take ``marginals`` for q at these prices: they were sampled."""
        self._last = at, Tilted(marginals, self.rows, 0.0, np.empty(0), np.empty(0))

    def ending(self, at: Prices) -> Ending:
        """q at these prices, and the figures that tell how good it is."""
        rows, found, figures = self.tilt.instances, self.tilted(at), np.zeros(4)
        if rows is not None:
            eta = rows.eta(found.prices)
            gap = float(np.sum(rows.penalty.fenchel_gap(found.shares, eta)))
            figures[:] = found.inner_cost, gap, float(eta @ found.shares), not found.solved
        log_z = float(self.tilt.weight @ found.marginals.log_z)
        return Ending(Moments(log_z, figures, float(np.sum(self.tilt.weight))), (found,))

    def _solve(self, at: Prices) -> Tilted:
        self._last = None  # its memory is used again
        tilt = self.tilt
        potentials = tilt.features.tilted(self.base, at.shared, tilt.workers.buffers)
        if tilt.instances is None:
            found = Tilted(tilt.infer(potentials), self.rows, 0.0, np.empty(0), np.empty(0))
        else:
            start = self._inner
            if start is None:
                start = np.zeros(len(self.rows)) if at.inner is None else at.inner[self.rows]
            marginals, prices, shares, solved = tilt.instances.solve(
                potentials, start, at.cap, tilt.workers, at.inner_tol
            )
            cost = float(np.sum(tilt.instances.penalty.conjugate(tilt.instances.eta(prices))))
            self._inner = prices
            found = Tilted(marginals, self.rows, cost, prices, shares, solved)
        self._last = at, found
        return found


def tilted_sums(shard: HasTilt, at: Prices) -> Moments:
    """Task: ``TiltShard.sums``."""
    return shard.tilted_at(at.weights).sums(at)


def ending_of(shard: HasTilt, at: Prices) -> Ending:
    """Task: ``TiltShard.ending``."""
    return shard.tilted_at(at.weights).ending(at)


def widest(shard: HasTilt, weights: FloatArray | None) -> Widest:
    """Task: approximately the largest difference between scores of an instance of the shard."""
    part = shard.tilted_at(weights)
    structure, base = part.tilt.structure, part.base
    spread = _spread(base.node)
    if base.edge is not None:
        # An event on edges may take a whole segment with it, or the whole sequence.
        on_edges = _spread(base.edge.reshape(len(base.edge), -1))[structure.kind]
        on_edges[structure.first] = 0.0
        spread = np.add.reduceat(spread + on_edges, structure.first)
    return Widest(float(np.max(spread, initial=0.0)))


def gathered(found: Sequence[Tilted]) -> tuple[Marginals, FloatArray, FloatArray]:
    """q of all instances, and the prices and shares of their rows of single instances, in the order of the rows."""
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
    order = np.concatenate([one.rows for one in found])
    prices, shares = np.empty(len(order)), np.empty(len(order))
    prices[order] = np.concatenate([one.prices for one in found])
    shares[order] = np.concatenate([one.shares for one in found])
    return marginals, prices, shares


def _spread(rows: FloatArray) -> FloatArray:
    """The largest difference between finite entries of every row."""
    top, bottom = np.max(rows, axis=1, initial=-np.inf), np.min(rows, axis=1, initial=np.inf)
    if not np.all(np.isfinite(top) & np.isfinite(bottom)):  # forbidden labels
        finite = np.isfinite(rows)
        top = np.max(rows, axis=1, where=finite, initial=-np.inf)
        bottom = np.min(rows, axis=1, where=finite, initial=np.inf)
    return np.asarray(np.maximum(top, bottom) - bottom, dtype=np.float64)
