"""The information projection: tilt the model until the expectations hold (Eq. 8).

    min_q  Σ_j w_j D(q_j ‖ p_j) + U(m(q)),      m_r = (Σ_j w_j E_q[f′_r(x_j, y)] + o_r) / c_r
    max_θ  −Σ_j w_j log Σ_y p_j(y) exp(θ·f′(x_j, y)) − θ·o − U*(−c∘θ)            (its dual)

q_j ∝ p_j·exp(θ·f′), θ = ``prices`` in log-odds per event, c = ``support``, o the share of known labels (``on="all"``).
The gradient of the dual in θ_r is c_r·(∇U*(−c_r θ_r) − m_r): at the optimum the expectation is what the penalty wants.

A penalty whose conjugate has a kink is split into parts (``Penalty.parts``), each with its own variable; the price of a
row is the sum over its parts. Each variable is scaled by the root of its own curvature, about c/4 from log Z (a share's
variance is at most ¼) plus c²U*″ from the penalty, so that one L-BFGS-B run of some ten evaluations is enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tiltfit.arrays import FloatArray, IntArray
from tiltfit.execution.sums import Executor, Serial
from tiltfit.execution.workers import Workers
from tiltfit.features.constraints import ConstraintFeatures
from tiltfit.inference.potentials import Marginals, Potentials
from tiltfit.inference.structure import Structure
from tiltfit.inference.whole import SamplerState
from tiltfit.optimize.bounded import minimise_bounded
from tiltfit.penalties.penalty import Penalty
from tiltfit.projections.instances import LocalRows
from tiltfit.projections.shards import HasTilt, Prices, ending_of, gathered, tilted_sums, widest

_SERIAL = Serial()


@dataclass(frozen=True, eq=False)
class Start:
    """A place where a projection may begin: the duals of an earlier one and, if q was sampled, where its chains are."""

    duals: FloatArray
    chains: SamplerState | None = None


@dataclass(frozen=True, eq=False)
class Sampling:
    """The quality of sampled expectations, row by row: how many independent draws each is worth, and how well the two
    halves of the series agree (split-R̂). ``error``: the standard error that follows. ``chains``: where they are."""

    chains: SamplerState
    effective: FloatArray
    r_hat: FloatArray
    error: FloatArray


@dataclass(frozen=True, eq=False)
class Projection:
    """q and what it took: prices (per row), dual variables (per part), D(q‖p) + U by its dual value, its quality.

    ``divergence`` is Σ w D(q‖p); ``expectation`` is m(q); ``violation`` how far m is from where U is least, per row;
    ``gap`` the duality gap, which is the Fenchel–Young gap of the penalty. Where q was sampled (``sampling``), value
    and divergence are not known (NaN). ``cap``: the largest price that a hard row could have.
    """

    prices: FloatArray
    duals: FloatArray
    marginals: Marginals
    value: float
    divergence: float
    expectation: FloatArray
    violation: FloatArray
    gap: float
    n_eval: int
    converged: bool
    sampling: Sampling | None = None
    cap: float = np.inf

    @property
    def start(self) -> Start:
        """The place where the next one may begin."""
        return Start(self.duals, None if self.sampling is None else self.sampling.chains)

    def broadcast(self, weights: FloatArray, n_shared: int) -> Prices:
        """All that a shard needs to find q again, where so many rows are shared."""
        return Prices(weights, self.prices[:n_shared], self.cap, _EXACT, self.prices[n_shared:])


@dataclass(frozen=True, eq=False)
class Tilt:
    """Everything about an information projection but the model: features, penalty, weights, supports, offsets.

    ``structure`` holds the instances on which some constraint acts; elsewhere q = p. ``weight``: one per instance.
    ``parent``: its edges come in kinds finer than the model's; the model's kind of each (None: no edges).
    ``rules``: −inf where a label or a pair of labels is forbidden, else 0.
    ``instances``: rows that are about one instance each; they come after the shared rows wherever all rows are listed.
    """

    structure: Structure
    features: ConstraintFeatures
    penalty: Penalty
    weight: FloatArray
    support: FloatArray
    offset: FloatArray
    workers: Workers
    instances: LocalRows | None = None
    parent: IntArray | None = None
    rules: Potentials | None = None

    def take(self, instances: IntArray, model_kinds: IntArray | None = None) -> tuple[Tilt, IntArray]:
        """The same on some instances, with the rows that fire there alone; and which of the shared rows these are.
        ``model_kinds``: the model's kinds of edge that are left."""
        positions = self.structure.positions(instances)
        structure, kinds = self.structure.narrow(instances)
        # Without edges there is still a kind of them, but nothing fires on it.
        firing = kinds if len(positions) > len(instances) else None
        parent = None
        if self.parent is not None:
            assert model_kinds is not None
            place = np.zeros(1 + max(int(model_kinds.max()), int(self.parent.max())), dtype=np.intp)
            place[model_kinds] = np.arange(len(model_kinds))
            parent = place[self.parent[kinds]]
        features, rows = self.features.take(positions, firing, instances)
        local = None if self.instances is None else self.instances.take(instances, structure)[0]
        few = Tilt(
            structure=structure,
            features=features,
            penalty=self.penalty.take(rows),
            weight=self.weight[instances],
            support=self.support[rows],
            offset=self.offset[rows],
            workers=self.workers,
            instances=local if local is not None and len(local) else None,
            parent=parent,
            rules=None if self.rules is None else _at(self.rules, positions, kinds, instances),
        )
        return few, rows

    def part(self, instances: IntArray) -> tuple[Tilt, IntArray]:
        """The same on some instances, with all shared rows; and which of the rows of single instances are left."""
        positions, structure = self.structure.positions(instances), self.structure.take(instances)
        local: LocalRows | None = None
        rows: IntArray = np.empty(0, dtype=np.intp)
        if self.instances is not None:
            local, rows = self.instances.take(instances, structure)
        few = replace(
            self,
            structure=structure,
            features=self.features.part(positions, instances),
            weight=self.weight[instances],
            instances=local,
            rules=None if self.rules is None else _at(self.rules, positions, np.arange(structure.n_kinds), instances),
        )
        return few, rows

    def softened(self, miss: float) -> Tilt:
        """The same with no hard row: one that is missed by ``miss`` pulls with one log-odds an event, whatever its
        support."""
        local = self.instances
        if local is not None:
            local = replace(local, penalty=local.penalty.softened(miss / local.support))
        return replace(self, penalty=self.penalty.softened(miss / self.support), instances=local)

    @property
    def is_bounded(self) -> bool:
        """True if some shared row has a bounded pull."""
        return self.penalty.squared() is not self.penalty

    def squared(self) -> Tilt:
        """The same with squares in place of the bounded pulls of shared rows."""
        return replace(self, penalty=self.penalty.squared())

    def misses_hard(self, violation: FloatArray, by: float) -> bool:
        """True if some hard row is missed by more than so much. ``violation``: of all rows."""
        hard = self.penalty.hard
        if self.instances is not None:
            hard = np.concatenate([hard, self.instances.penalty.hard])
        return bool(np.any(violation[hard] > by))

    def base(self, potentials: Potentials, log_z: FloatArray, *, overwrite: bool = False) -> Potentials:
        """log p of these instances, −inf where a rule forbids: what a projection starts from.

        From potentials, not from probabilities: these underflow, and a rule may leave only labels that p hardly has.
        ``potentials.node`` are those of the positions here, ``potentials.edge`` of the model's kinds. ``overwrite``:
        the former is no longer needed.
        """
        node = potentials.node if overwrite else potentials.node.copy()
        node[self.structure.first] -= log_z[:, None]
        base = self.by_kind(Potentials(node, potentials.edge))
        return base if self.rules is None else base + self.rules

    def by_kind(self, potentials: Potentials) -> Potentials:
        """Potentials by the model's kinds of edges, as potentials by the kinds here."""
        edge = None if potentials.edge is None or self.parent is None else potentials.edge[self.parent]
        return Potentials(potentials.node, edge)

    def tilted(self, base: Potentials, prices: FloatArray) -> tuple[Structure, Potentials]:
        """The potentials of q at the prices of all rows, and the structure whose kinds of edges they have."""
        n_shared = self.features.n_rows
        shared = self.features.tilted(base, prices[:n_shared])
        if self.instances is None:
            return self.structure, shared
        return self.instances.tilted(shared, prices[n_shared:])

    def shared_expectation(self, marginals: Marginals) -> FloatArray:
        """m(q) of the shared rows."""
        sums = self.features.weighted(marginals, self.structure, self.weight)
        return (sums + self.offset) / self.support

    def of_model(self, potentials: Potentials) -> tuple[Marginals, FloatArray]:
        """p on these instances, its edges by the kinds here, and m(p) of all rows."""
        here = self.by_kind(potentials)
        p = self.structure.infer(here, self.workers, weight=self.weight)
        shared = self.shared_expectation(p)
        if self.instances is None:
            return p, shared
        return p, np.concatenate([shared, self.instances.shares(here, self.workers)])

    def of_labels(self, labels: IntArray) -> tuple[Marginals, FloatArray]:
        """The distribution that gives these instances the labels for certain, and m of all rows under it; NaN for
        statistics of whole sequences."""
        n_labels = self.features.node.table.shape[1]
        node = np.zeros((len(labels), n_labels))
        node[np.arange(len(labels)), labels] = 1.0
        edge = self.structure.count_pairs(labels, self.structure.spread(self.weight), n_labels)
        certain, whole = Marginals(np.zeros(len(self.weight)), node, edge), self.features.whole
        sums = replace(self.features, whole=None).weighted(certain, self.structure, self.weight)
        shared = (sums + self.offset) / self.support
        if whole is not None:
            shared[whole.row] = np.nan
        if self.instances is None:
            return certain, shared
        return certain, np.concatenate([shared, self.instances.of_labels(labels)])

    def violation(self, m: FloatArray) -> FloatArray:
        """The distance of m from where U is least, for all rows."""
        n = len(self.penalty)
        shared = self.penalty.violation(m[:n])
        return shared if self.instances is None else np.concatenate([shared, self.instances.penalty.violation(m[n:])])

    def at(self, base: Potentials, prices: FloatArray) -> Marginals:
        """q ∝ p·exp(prices·f′) for the shared rows; log Z is relative to ``base``."""
        return self.infer(self.features.tilted(base, prices, self.workers.buffers))

    def infer(self, potentials: Potentials) -> Marginals:
        """log Z and marginals of these instances, edges summed with their weights."""
        return self.structure.infer(potentials, self.workers, weight=self.weight, overwrite=True)

    def for_model(self, edge: FloatArray, n_kinds: int) -> FloatArray:
        """Sums over edges by the kinds here, as sums by the model's kinds."""
        assert self.parent is not None
        sums = np.zeros((n_kinds, *edge.shape[1:]))
        np.add.at(sums, self.parent, edge)
        return sums


def _at(rules: Potentials, positions: IntArray, kinds: IntArray, instances: IntArray) -> Potentials:
    edge = None if rules.edge is None else rules.edge[kinds]
    return Potentials(rules.node[positions], edge, None if rules.whole is None else rules.whole[instances])


def project(
    tilt: Tilt,
    shards: Sequence[HasTilt],
    *,
    start: Start | None = None,
    tol: float = 1e-6,
    told: bool = False,
    gamma: float = 1.0,
    executor: Executor = _SERIAL,
    weights: FloatArray | None = None,
    max_iter: int = 500,
) -> Projection:
    """The information projection of the model on ``shards`` of the instances of ``tilt``: exact, or sampled where it
    must be (then ``tol`` is at least ``stochastic.TOL``).

    ``tol`` bounds the projected gradient of γ·dual in scaled variables: about √(γ·c)·|m − ∇U*| per row.
    ``told``: its expectations are reported, so they need little noise. ``weights``: those of the model, for shards
    that do not have log p yet.
    """
    if tilt.structure.is_sampled:
        from tiltfit.projections.stochastic import FINAL, REPORTED, TOL, stochastic_projection

        (part,) = [shard.tilted_at(weights) for shard in shards]  # a sampler has one shard
        final = REPORTED if told else FINAL
        return stochastic_projection(tilt, part.base, start=start, tol=max(tol, TOL), final=final)
    begin = None if start is None else start.duals
    dual = Dual(tilt, shards, begin, tol, gamma=gamma, executor=executor, weights=weights)
    if not len(dual.scale):
        return dual.finish(dual.start, n_eval=0, converged=True)
    found = minimise_bounded(
        dual.negative, dual.start / dual.scale, dual.low, dual.high, gradient_tol=tol, max_iter=max_iter
    )
    return dual.finish(found.x * dual.scale, found.n_eval, found.converged)


_SMALL_GAP = 1e-8
_INNER, _EXACT = 1e-2, 1e-11
"""The tolerance for prices of single instances: a hundredth of the tolerance outside, and exactly at the end."""


class Dual:
    """The dual as a function of scaled shared variables, with the instance-level prices solved inside.

    ``tilt``: all of it. ``shards``: its instances, whose sums ``executor`` takes; ``weights``: those of the model, for
    shards that do not have log p yet.
    """

    def __init__(
        self,
        tilt: Tilt,
        shards: Sequence[HasTilt],
        start: FloatArray | None,
        tol: float,
        *,
        gamma: float = 1.0,
        executor: Executor = _SERIAL,
        weights: FloatArray | None = None,
    ) -> None:
        self._tilt, self._shards, self._executor, self._weights = tilt, shards, executor, weights
        self._gamma = gamma
        self._inner_tol = float(np.clip(_INNER * tol, _EXACT, 1e-4))
        self._part, self._origin = tilt.penalty.parts()
        self._support = tilt.support[self._origin]
        n_parts = len(self._part)
        self.start = np.zeros(n_parts) if start is None else start[:n_parts]
        self._inner = None if start is None else start[n_parts:]  # inner problems are solved exactly from anywhere
        # Duals and m: a search mostly ends where it looked last.
        self._last: tuple[FloatArray, FloatArray] | None = None
        self._eta_bounds = eta_low, eta_high = self._part.dual_bounds()
        self._bend = bend = self._part.curvature_conjugate(np.clip(0.0, eta_low, eta_high))
        self.scale = 1 / np.sqrt(gamma * (self._support / 4 + self._support**2 * bend))
        hard = bool(np.any(bend == 0)) or tilt.instances is not None
        self._cap = _price_cap(tilt, executor.sum(widest, shards, weights).spread) if hard else np.inf
        low, high = -eta_high / self._support, -eta_low / self._support
        self.low = np.where(bend == 0, np.maximum(low, -self._cap), low) / self.scale
        self.high = np.where(bend == 0, np.minimum(high, self._cap), high) / self.scale

    def negative(self, scaled: FloatArray) -> tuple[float, FloatArray]:
        """−γ·dual and its gradient, in scaled variables."""
        duals = scaled * self.scale
        eta = self._eta(duals)
        value, shared = self._tilted(duals)
        value += float(self.prices(duals) @ self._tilt.offset) + float(np.sum(self._part.conjugate(eta)))
        return self._gamma * value, self._gamma * self.gradient(duals, shared) * self.scale

    def gradient(self, duals: FloatArray, shared: FloatArray) -> FloatArray:
        """Of −dual in the duals, where the shared rows have the expectation ``shared``."""
        return np.asarray(self._support * (shared[self._origin] - self._part.grad_conjugate(self._eta(duals))))

    def fenchel_gap(self, duals: FloatArray, shared: FloatArray) -> float:
        """The difference between −dual and the objective of Eq. 8 that is due to ``shared``."""
        return float(np.sum(self._part.fenchel_gap(shared[self._origin], self._eta(duals))))

    def natural_scale(self, variance: FloatArray, least: float) -> FloatArray:
        """One by the root of the curvature, where m of each row has this variance (a place: at least ``least``)."""
        sums = np.maximum(self._support**2 * variance[self._origin], least * self._support)
        return np.asarray(1 / np.sqrt(sums + self._support**2 * self._bend))

    def finish(self, duals: FloatArray, n_eval: int, converged: bool) -> Projection:
        """Everything there is to say about the projection at these duals."""
        tilt, eta = self._tilt, self._eta(duals)
        self._inner_tol = _EXACT
        if tilt.instances is None and self._last is not None and np.array_equal(self._last[0], duals):
            shared = self._last[1]
        else:
            shared, n_eval = self._tilted(duals)[1], n_eval + 1
        ending = self._executor.sum(ending_of, self._shards, self._broadcast(duals))
        inner_cost, inner_gap, inner_product, unsolved = ending.sums.expectation.tolist()
        prices, log_z = self.prices(duals), ending.sums.log_z
        gap = self.fenchel_gap(duals, shared) + inner_gap
        divergence = float(prices @ (shared * tilt.support - tilt.offset)) - log_z - inner_product
        value = -log_z - inner_cost - float(prices @ tilt.offset) - float(np.sum(self._part.conjugate(eta)))
        marginals, inner, shares = gathered(ending.parts)
        m = np.concatenate([shared, shares])
        # However a search ended, a small gap proves that it ended at the optimum.
        converged = converged or gap <= _SMALL_GAP * max(1.0, abs(value))
        return Projection(
            prices=np.concatenate([prices, inner]),
            duals=np.concatenate([duals, inner]),
            marginals=marginals,
            value=value,
            divergence=divergence,
            expectation=m,
            violation=tilt.violation(m),
            gap=gap,
            n_eval=n_eval,
            converged=converged and not unsolved,
            cap=self._cap,
        )

    def _eta(self, duals: FloatArray) -> FloatArray:
        """η = −c·θ. Scaling back and forth rounds, and one unit in the last place outside a bound U* is infinite."""
        return np.clip(-self._support * duals, *self._eta_bounds)

    def prices(self, duals: FloatArray) -> FloatArray:
        """The price of a row is the sum over its parts."""
        n_rows = len(self._tilt.penalty)
        return np.asarray(np.bincount(self._origin, weights=duals, minlength=n_rows), dtype=np.float64)

    def _broadcast(self, duals: FloatArray) -> Prices:
        return Prices(self._weights, self.prices(duals), self._cap, self._inner_tol, self._inner)

    def _tilted(self, duals: FloatArray) -> tuple[float, FloatArray]:
        """Σ w log Z + Σ V* at these duals, and m of the shared rows."""
        sums = self._executor.sum(tilted_sums, self._shards, self._broadcast(duals))
        self._last = duals, (sums.expectation + self._tilt.offset) / self._tilt.support
        return sums.log_z, self._last[1]


_MARGIN = 50.0  # odds of e⁵⁰ to one: beyond any share that a hard constraint can ask for without forbidding labels


def _price_cap(tilt: Tilt, spread: float) -> float:
    """More than a hard constraint that can hold ever needs: it may have to overcome p itself, whose scores
    differ by up to ``spread``, and every soft constraint.

    Where hard constraints contradict each other the dual has no maximum; with this cap it has one, and q misses them by
    as little as possible in total (the cap is an L1 penalty of slope c·cap).
    """
    pull = tilt.penalty.strongest_pull(tilt.support)
    if tilt.instances is not None:
        pull = max(pull, tilt.instances.penalty.strongest_pull(tilt.instances.support))
    return _MARGIN + spread + pull
