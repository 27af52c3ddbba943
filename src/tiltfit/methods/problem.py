"""One learning problem: data, constraints and strengths, and the joint objective of Eq. 6 with q eliminated.

    O(λ) = Σ_labelled w·(−log p_λ(y|x)) + ½‖λ‖²_α + γ·min_q [Σ_unlabelled w·D(q‖p_λ) + U(m(q))]
    ∇O(λ) = Σ ω·(E_p[f] − E_q[f]) + α∘λ                                             (Danskin, at the minimising q)

with q clamped to the label on labelled instances and ω = w there, γ·w on unlabelled ones. Both solvers are ways to
minimise it: ``alternating`` holds q fixed between information projections, ``joint`` does not.

An evaluation is sums over shards of the data (``execution.sums``), by three kinds of tasks: ``model_sums`` infers p,
those of ``projections.shards`` tilt it to some prices (as often as the search for them needs), and ``gradient_sums``
pulls ω·(p − q) back to the weights. Weights and prices go to a shard; sums come back and, once per evaluation, q of the
touched instances (``ending_of``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tiltfit import kernels
from tiltfit.arrays import FloatArray, IntArray
from tiltfit.errors import UnsupportedError
from tiltfit.execution.sums import Executor, Moments, Serial
from tiltfit.features.merging import Merging
from tiltfit.inference.potentials import Marginals, Potentials
from tiltfit.models.model import Model, linear
from tiltfit.optimize.lbfgs import steepest
from tiltfit.optimize.plateau import Plateau
from tiltfit.projections.grounding import Grounded
from tiltfit.projections.information import Projection, Start, Tilt, project
from tiltfit.projections.moment import Scattered, add_ridge
from tiltfit.projections.shards import Prices, TiltShard
from tiltfit.samples.sample import Sample

_SERIAL = Serial()


@dataclass(frozen=True, eq=False)
class Evaluation:
    """O(λ), its gradient, and the information projection that attains it."""

    value: float
    gradient: FloatArray
    projection: Projection | None

    @property
    def steepest(self) -> float:
        return steepest(self.gradient)

    @property
    def start(self) -> Start | None:
        """The place where the next projection may begin."""
        return None if self.projection is None else self.projection.start

    @property
    def n_eval(self) -> int:
        """How often the information projection evaluated its dual."""
        return self.projection.n_eval if self.projection is not None else 0

    @property
    def gap(self) -> float:
        """The duality gap of the information projection."""
        return self.projection.gap if self.projection is not None else 0.0

    @property
    def worst_violation(self) -> float:
        """The largest distance between an expectation under q and where its penalty is least."""
        return float(np.max(self.projection.violation, initial=0.0)) if self.projection is not None else 0.0


@dataclass(frozen=True, eq=False)
class Problem:
    """Data, constraints and strengths.

    ``labels``: class number or −1, one per position; an instance is labelled if all its positions are. ``weight``: one
    per instance. ``alpha``: one per weight. ``touched``: the instances of ``tilt``, on which some constraint acts or
    some labels are known. ``n_shards``: into how many parts the data are cut, over which ``executor`` sums.
    """

    model: Model
    labels: IntArray
    weight: FloatArray
    alpha: FloatArray
    gamma: float
    tilt: Tilt | None
    touched: IntArray
    n_shards: int = 1
    executor: Executor = _SERIAL

    @staticmethod
    def of(model: Model, sample: Sample, grounded: Grounded, alpha: FloatArray, gamma: float) -> Problem:
        """Eq. 6 on a sample, with the constraints as they apply there; γ is times their ``instance_weight``."""
        return Problem(
            model=model,
            labels=sample.labels,
            weight=sample.weight,
            alpha=alpha,
            gamma=gamma * grounded.instance_weight,
            tilt=grounded.tilt,
            touched=grounded.touched,
        )

    @cached_property
    def labelled(self) -> IntArray:
        """The instances all of whose positions are labelled."""
        unknown = np.add.reduceat((self.labels < 0).astype(np.intp), self.model.structure.first)
        return np.flatnonzero(unknown == 0)

    @cached_property
    def omega(self) -> FloatArray:
        """w on labelled, γ·w on unlabelled instances."""
        omega = self.gamma * self.weight
        omega[self.labelled] = self.weight[self.labelled]
        return omega

    def plateau(self, tol: float) -> Plateau:
        """When a search for the weights has arrived, by O and by the labels that the model gives every position."""
        return Plateau(tol, lambda weights: np.asarray(self.model.infer(weights).node.argmax(axis=1)))

    @cached_property
    def units(self) -> FloatArray | None:
        """Those in which to search for the weights; None: as they are."""
        return None if self.model.linear is None else self.model.linear.features.units()

    @property
    def curvature(self) -> float:
        """What the ridge alone adds to the curvature of O in every direction."""
        return float(np.min(self.alpha, initial=np.inf)) if len(self.alpha) else 0.0

    @property
    def rounding(self) -> float:
        """The largest entry of ∇O that is nothing but rounding."""
        return 1e-12 * float(np.sum(self.weight))

    def evaluate(self, weights: FloatArray, start: Start | None, tol: float, *, told: bool = False) -> Evaluation:
        """O(λ) and all that follows from it, with the projection warm-started at ``start``. ``told``: it is the last.

        Instances that are neither labelled nor touched add nothing and are left out (``active``). Where q is sampled, O
        is not known (NaN) and ∇O has noise; its chains run in the calling process, whatever the executor.
        """
        if self.active is not self:
            return self.active.evaluate(weights, start, tol, told=told)
        executor = _SERIAL if self.is_sampled else self.executor
        sums, shards = executor.sum, self.shards
        value = sums(model_sums, shards, weights).log_z
        prices, projection = Prices(weights, np.empty(0), np.inf, 0.0), None
        if self.tilt is not None:
            touched = [shard for shard in shards if shard.problem.tilt is not None]
            how: dict[str, Any] = {"executor": executor, "weights": weights, "gamma": self.gamma}
            projection = project(self.tilt, touched, start=start, tol=tol, told=told, **how)
            value += self.gamma * projection.value
            prices = projection.broadcast(weights, self.tilt.features.n_rows)
            if projection.sampling is not None:
                shards[0].tilted_at(weights).remember(prices, projection.marginals)
        gradient, known, constant = sums(gradient_sums, shards, prices).expectation, None, 0.0
        if self.model.linear is not None:
            known, constant = self._known_target
        value += add_ridge(self.alpha, weights, gradient, self.model.workers, scattered=known)
        return Evaluation(value - constant, gradient, projection)

    @property
    def shards(self) -> Sequence[Shard]:
        """The data in ``n_shards`` parts, over which ``evaluate`` sums."""
        return [Shard(self, None)] if self.n_shards == 1 else self._cut

    @cached_property
    def _cut(self) -> list[Shard]:
        """Blocks of instances that follow one another, with about as many positions each."""
        if self.is_sampled:
            raise UnsupportedError("A sampled projection has one shard: use inference='exact', or n_shards=1.")
        ends = self.model.structure.last + 1
        goals = np.arange(1, self.n_shards) * (int(ends[-1]) / self.n_shards)
        blocks = np.split(np.arange(len(self.weight)), np.unique(np.searchsorted(ends, goals)))
        return [self._part(block) for block in blocks if len(block)]

    def _part(self, block: IntArray) -> Shard:
        touched, place = self._touched_among(block)
        tilt, rows = None, np.empty(0, dtype=np.intp)
        if self.tilt is not None and len(touched):
            tilt, rows = self.tilt.part(place)
        return Shard(self._on(block, tilt=tilt, touched=touched, n_shards=1, executor=_SERIAL), rows)

    def _touched_among(self, instances: IntArray) -> tuple[IntArray, IntArray]:
        """Which of some instances are touched, and the numbers of these among the touched ones."""
        place = self.place_in_tilt[instances]
        touched = np.flatnonzero(place >= 0)
        return touched, place[touched]

    def _on(self, instances: IntArray, **changed: Any) -> Problem:
        """The problem on some instances, but for the fields ``changed``."""
        labels = self.labels[self.model.structure.positions(instances)]
        return replace(self, model=self.model.take(instances), labels=labels, weight=self.weight[instances], **changed)

    def known_moments(self) -> FloatArray:
        """Σ_labelled w·f(x, y)."""
        node = np.zeros((int(self.model.structure.last[-1]) + 1, self.model.n_labels))
        node.reshape(-1)[self._known_cells] = self._known_weight
        return linear(self.model, "a sum of features").features.expect(node, self._known_edges)

    def residual(
        self, weights: FloatArray, projected: Callable[[Potentials, FloatArray], Marginals]
    ) -> tuple[float, FloatArray, FloatArray | None]:
        """Σ_labelled w·(−log p_λ(y|x)), and ω·(p − q) on nodes and edges, whose moments are the gradient.

        ``projected``: q on the touched instances, of their potentials under the model and log Z.
        """
        half = self.model_half(weights, known=True)
        if half.here is not None:
            self.subtract(projected(half.here, half.log_z), half.node, half.edge)
        return half.value, half.node, half.edge

    def model_half(self, weights: FloatArray, *, known: bool) -> ModelHalf:
        """``residual`` before q is known. ``known`` False: without the scores of known labels, and q on labelled
        instances, which the caller knows as moments."""
        model, structure = self.model, self.model.structure
        potentials = model.potentials(weights)
        value = -self._known_score(potentials) if known else 0.0
        here = None if self.tilt is None else model.workers.buffers.copy(potentials.node[self._touched_positions])
        # The potentials are no longer needed: marginals take their place, and then the residual p − q.
        p = structure.infer(potentials, model.workers, weight=self.omega, overwrite=True)
        value += float(kernels.sparse.sum_at(p.log_z, self.labelled, self._labelled_weight))
        node, edge = p.node, p.edge
        if not self._unweighted:
            node *= structure.spread(self.omega)[:, None]
        if known:
            kernels.sparse.subtract_at(node.reshape(-1), self._known_cells, self._known_weight)
            if edge is not None and self._known_edges is not None:
                edge -= self._known_edges
        touched = None if here is None else Potentials(here, potentials.edge)
        return ModelHalf(value, node, edge, touched, p.log_z[self.touched])

    def subtract(self, q: Marginals, node: FloatArray, edge: FloatArray | None) -> None:
        """Take ω·q from the residual on the touched instances."""
        assert self.tilt is not None
        touched = self._touched_positions
        if self._unweighted:
            node[touched] -= q.node
        else:
            node[touched] -= self.model.structure.spread(self.omega)[touched, None] * q.node
        if edge is not None and q.edge is not None:
            edge -= self.gamma * self.tilt.for_model(q.edge, len(edge))

    @property
    def is_sampled(self) -> bool:
        """True if q can only be sampled."""
        return self.tilt is not None and self.tilt.structure.is_sampled

    @property
    def is_hard(self) -> bool:
        """True if some shared row must hold, whatever it costs: a penalty without any slack."""
        if self.tilt is None or not len(self.tilt.penalty):
            return False
        return bool(np.any(self.tilt.penalty.curvature_conjugate(np.zeros(len(self.tilt.penalty))) == 0))

    @property
    def active(self) -> Problem:
        """The same objective without the instances where q = p whatever λ: they add exactly zero to O and ∇O."""
        return self if self._reduced is None else self._reduced

    @cached_property
    def _reduced(self) -> Problem | None:
        # None, not itself: a value that holds itself would stay in memory until the collector of garbage comes by.
        keep = np.union1d(self.labelled, self.touched)
        return None if len(keep) == len(self.weight) else self.take(keep)

    def take(self, keep: IntArray) -> Problem:
        """The problem on some instances: all touched ones, or none of them (then without constraints)."""
        constrained = bool(np.isin(self.touched, keep).all()) and self.tilt is not None
        touched = np.searchsorted(keep, self.touched) if constrained else np.empty(0, dtype=np.intp)
        return self._on(keep, tilt=self.tilt if constrained else None, touched=touched)

    def narrow(self, instances: IntArray) -> tuple[Problem, IntArray, IntArray]:
        """The problem on a few instances with the weights and constraints that matter there alone: which rows of the
        table of weights these are, and which shared rows. The ridge is left to the caller."""
        model, weights, kinds = linear(self.model, "solver='online'").narrow(instances)
        touched, place = self._touched_among(instances)
        tilt, rows = None, np.empty(0, dtype=np.intp)
        if self.tilt is not None and len(touched):
            tilt, rows = self.tilt.take(place, kinds)
        few = Problem(
            model=model,
            labels=self.labels[self.model.structure.positions(instances)],
            weight=self.weight[instances],
            alpha=np.empty(0),
            gamma=self.gamma,
            tilt=tilt,
            touched=touched,
        )
        return few, weights, rows

    @cached_property
    def is_labelled(self) -> npt.NDArray[np.bool_]:
        """True for the instances that are ``labelled``."""
        found = np.zeros(len(self.weight), dtype=np.bool_)
        found[self.labelled] = True
        return found

    @cached_property
    def is_touched(self) -> npt.NDArray[np.bool_]:
        """True for the instances that are ``touched``."""
        return np.asarray(self.place_in_tilt >= 0)

    @cached_property
    def place_in_tilt(self) -> IntArray:
        """The number of every instance among the touched ones, −1 for others."""
        place = np.full(len(self.weight), -1, dtype=np.intp)
        place[self.touched] = np.arange(len(self.touched))
        return place

    @cached_property
    def merged(self) -> tuple[Problem, Merging] | None:
        """The same objective with one weight for attributes that no data tells apart; None where hardly any are so."""
        model = self.model.linear
        found = None if model is None else model.features.merged()
        if model is None or found is None:
            return None
        features, group = found
        merging = Merging(group, features.n_labels)
        alpha = merging.ridge(self.alpha)
        if alpha is None:
            return None
        return replace(self, model=replace(model, features=features), alpha=alpha), merging

    @cached_property
    def _labelled_weight(self) -> FloatArray:
        """w of labelled instances."""
        return self.weight[self.labelled]

    @cached_property
    def _known(self) -> IntArray:
        """The positions of labelled instances."""
        return self.model.structure.positions(self.labelled)

    @cached_property
    def _known_cells(self) -> IntArray:
        """Their labels, as places in a flat array of positions × labels."""
        return self._known * self.model.n_labels + self.labels[self._known]

    @cached_property
    def _known_weight(self) -> FloatArray:
        """w at these positions."""
        return self.model.structure.spread(self.weight)[self._known]

    @cached_property
    def _touched_positions(self) -> IntArray | slice:
        """The positions of touched instances: a slice where they stand together, which needs no copies."""
        found = self.model.structure.positions(self.touched)
        together = len(found) > 0 and int(found[-1] - found[0]) == len(found) - 1
        return slice(int(found[0]), int(found[-1]) + 1) if together else found

    @cached_property
    def _unweighted(self) -> bool:
        """True if ω is 1 everywhere."""
        return bool(np.all(self.omega == 1.0))

    @cached_property
    def _known_edges(self) -> FloatArray | None:
        """Σ_labelled w·(pairs of labels on edges of each kind)."""
        known = self.model.structure.take(self.labelled)
        return known.count_pairs(self.labels[self._known], self._known_weight, self.model.n_labels)

    def _known_score(self, potentials: Potentials) -> float:
        """Σ_labelled w·(score of the labels)."""
        score = float(kernels.sparse.sum_at(potentials.node.reshape(-1), self._known_cells, self._known_weight))
        if potentials.edge is not None and self._known_edges is not None:
            # A forbidden pair that never occurs adds nothing, not −inf·0.
            score += float(kernels.sparse.sum_at(potentials.edge.reshape(-1), *self._known_pairs))
        return score

    @cached_property
    def _known_target(self) -> tuple[Scattered | None, float]:
        """Σ_labelled w·f(x, y), where few weights are about attributes and labels that were seen together; and
        Σ_labelled w·log q₀(y|x)."""
        if not len(self.labelled):
            return None, 0.0
        sums = self.executor.sum(known_sums, self.shards, None)
        return Scattered.of(sums.expectation), sums.log_z

    @property
    def known_base(self) -> float:
        """Σ_labelled w·log q₀(y|x)."""
        return 0.0 if self.model.base is None else self._known_score(self.model.base)

    @cached_property
    def _known_pairs(self) -> tuple[IntArray, FloatArray]:
        """The flat places where ``_known_edges`` is not zero, and its values there."""
        assert self._known_edges is not None
        pairs = np.flatnonzero(self._known_edges)
        return pairs, self._known_edges.reshape(-1)[pairs]


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
