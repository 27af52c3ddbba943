"""Online alternating projections (§2.3): one pass learns prices and weights together, a few instances at a time.

    p_i = p_λ(y|x_i),   q_i ∝ p_i·exp(θ·f′)                                        (labelled: q_i is the label)
    θ  moves towards the expectations that were stated       (``projections.ledger``)
    λ  moves along Σ_i ω_i·(E_q[f] − E_p[f]) − α·λ/n         (``optimize.lazy``),   ω = w, or γ·w if unlabelled,
       but not past where labels and constraints pull        (``_Step._climb``)

for the instances i of a step, which all see the prices and weights of its start. A step costs as much as its instances
have attributes, times labels (of chains, times labels again); an instance that no constraint touches costs nothing.

The objective is Eq. 6 on the n instances that count: those seen so far, but no more than ``horizon``, of which supports
are estimated from what was seen. So in a second pass, which meets them again, none counts twice, and an endless stream
does not make the ridge and constraints of ``scale="unit"`` fade. Rows that are about one instance each are projected
exactly as it comes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from tiltfit.arrays import FloatArray, IntArray
from tiltfit.features.products import between
from tiltfit.inference.potentials import Marginals, Potentials
from tiltfit.methods.problem import Problem
from tiltfit.models.model import linear
from tiltfit.optimize.lazy import Adaptive, LazyTable, Printed, Rule
from tiltfit.projections.grounding import Grounded
from tiltfit.projections.information import Tilt, project
from tiltfit.projections.ledger import Ledger, bend
from tiltfit.projections.shards import TiltShard

ROWS_A_STEP, SEQUENCES_A_STEP = 64, 16
"""Instances per step, unless ``batch_size`` says otherwise: a sequence has many positions to learn from at once."""

REACH = 5.0
"""The distance that the first adaptive step may move a score."""

_LABEL = 8.0  # so far may a label pull: a probability of one half to one of 0.9997
_DRAWS = 10  # steps of the Markov chain of one sequence, where q is sampled, and as many before they count


@dataclass(frozen=True)
class Online:
    """The options of learning online.

    ``steps``: "adaptive", or "printed" as the paper has them (with η₀ = ``eta0``). ``passes``: over the data of
    ``fit``. ``batch_size``: instances per step (default: 64 rows or 16 sequences, and 1 as printed); the end of a call
    ends a step. ``horizon``: how many instances of a stream count at most (all, if absent).
    """

    steps: str = "adaptive"
    passes: int = 5
    batch_size: int | None = None
    horizon: int | None = None
    eta0: float = 0.1

    def size(self, *, sequences: bool) -> int:
        """Instances per step."""
        return self.batch_size or (1 if self.is_printed else SEQUENCES_A_STEP if sequences else ROWS_A_STEP)

    @property
    def is_printed(self) -> bool:
        return self.steps == "printed"

    def counting(self, seen: int) -> float:
        """n: how many instances count, once so many were seen. The paper knows it beforehand."""
        if self.horizon is None:
            return float(seen)
        return float(self.horizon if self.is_printed else min(self.horizon, seen))

    @property
    def rule(self) -> Rule:
        """The steps of the weights."""
        return Printed(self.eta0) if self.is_printed else Adaptive(REACH)


@dataclass(eq=False)
class Learner:
    """The state from which the next step goes on. ``nodes``: weights of attributes × labels (the last rows may be
    intercepts), ``edges``: those of attributes of edges × pairs of labels. ``seen``, ``unlabelled``: instances so far;
    ``clock``: of the ridge; ``size``: Σ |attributes| of the positions so far, which were ``positions``.
    ``unlabelled_in_all``: of all instances that count, where that is known (else 0). ``loss``: what a pass of ``fit``
    has met so far. It changes in place."""

    online: Online
    alpha: float
    gamma: float
    nodes: LazyTable
    edges: LazyTable | None
    ledger: Ledger
    seed: int = 0
    seen: int = 0
    unlabelled: int = 0
    positions: int = 0
    unlabelled_in_all: int = 0
    size: float = 0.0
    clock: float = 0.0
    loss: float = 0.0

    def learn(self, problem: Problem, grounded: Grounded, order: IntArray, rows: IntArray) -> None:
        """Take the instances ``order``. ``rows``: the numbers that the shared rows of ``grounded`` have in the ledger
        (−1: they are about single instances)."""
        few = self.step_size
        for start in range(0, len(order), few):
            _Step(self, problem, grounded, rows).take(order[start : start + few])

    def tick(self, count: int) -> None:
        """Instances have come, one after the other."""
        rule, clock = self.online.rule, self.clock
        for t in range(self.seen + 1, self.seen + count + 1):
            clock += rule.tick(t, self.alpha / self.online.counting(t))
        self.seen, self.clock = self.seen + count, clock

    @property
    def step_size(self) -> int:
        """Instances per step."""
        return self.online.size(sequences=self.edges is not None)

    @property
    def n(self) -> float:
        """The number of instances that count."""
        return self.online.counting(self.seen)

    @property
    def growth(self) -> float:
        """The number of instances that count for each that was seen."""
        return self.n / max(1, self.seen)

    @property
    def n_unlabelled(self) -> float:
        """n − m of the paper: how many unlabelled instances count."""
        return float(self.unlabelled_in_all or self.growth * self.unlabelled)

    def weights(self) -> tuple[FloatArray, FloatArray | None]:
        """λ as tables, ridge included; the learner is left as it is."""
        rule, size = self.online.rule, self._mean_size
        nodes = self.nodes.copy()
        values = rule.rows(nodes, np.arange(len(nodes.value)), self.clock, size)
        if self.edges is None:
            return values, None
        edges = self.edges.copy()
        return values, rule.rows(edges, np.arange(len(edges.value)), self.clock, size)

    def flat_weights(self) -> FloatArray:
        """λ as one vector."""
        return np.concatenate([table.ravel() for table in self.weights() if table is not None])

    def ridge(self) -> float:
        """α/2·‖λ‖², of the weights that have a ridge."""
        squares = 0.0
        for table, value in zip((self.nodes, self.edges), self.weights(), strict=True):
            if table is not None and value is not None:
                first, last = table.free
                squares += float(np.sum(value**2) - np.sum(value[first:last] ** 2))
        return self.alpha / 2 * squares

    def start_from(self, weights: FloatArray) -> None:
        """Go on from these weights, a vector."""
        split = self.nodes.value.size
        for table, part in ((self.nodes, weights[:split]), (self.edges, weights[split:])):
            if table is not None:
                table.value[:] = part.reshape(table.value.shape)
                table.settled[:] = self.clock

    def settle_passes(self, n: int, online: Online) -> None:
        """All passes over ``n`` instances are made: a stream that goes on from here has seen each of them once."""
        share = n / max(1, self.seen)
        self.seen, self.unlabelled, self.unlabelled_in_all = n, round(share * self.unlabelled), 0
        self.ledger.column("support")[:] *= share
        self.ledger.declared[:] = 0.0
        self.online = online

    def prices(self) -> FloatArray:
        """θ of all rows."""
        rows = np.arange(len(self.ledger))
        total = self.ledger.total(rows, self.growth)
        return self.ledger.prices(rows, total, printed=self.online.is_printed)

    def pulls(self) -> FloatArray:
        """γ·c·θ of all rows, which is dO/du: c is the support in all data of what is told."""
        return self.gamma * self.ledger.told_total(np.arange(len(self.ledger)), self.growth) * self.prices()

    @property
    def _mean_size(self) -> float:
        return self.size / self.positions if self.size > 0 else 1.0


class _Step:
    """One step of a learner."""

    def __init__(self, learner: Learner, problem: Problem, grounded: Grounded, rows: IntArray) -> None:
        self._learner, self._problem, self._grounded, self._rows = learner, problem, grounded, rows

    def take(self, instances: IntArray) -> None:
        learner, problem = self._learner, self._problem
        rule = learner.online.rule
        labelled, before = problem.is_labelled[instances], learner.clock
        learner.tick(len(instances))
        learner.unlabelled += int(np.sum(~labelled))
        self._meet(instances)
        active = instances[labelled | problem.is_touched[instances]]
        if not len(active):
            self._only_prices(instances)
            return
        few, which, shared = problem.narrow(active)
        self._few, self._active, self._pull = few, active, 0.0
        self._features = linear(few.model, "solver='online'").features
        learner.size += self._features.nodes.size
        learner.positions += self._features.nodes.X.shape[0]
        size = learner._mean_size
        clock = learner.clock if rule.ridge_first else before
        values = rule.rows(learner.nodes, which, clock, size)
        weights = [values.ravel()]
        if learner.edges is not None:
            all_edges = np.arange(len(learner.edges.value))
            weights.append(rule.rows(learner.edges, all_edges, clock, size).ravel())
        self._shared, self._n_unlabelled = shared, int(np.sum(~labelled))
        few_weights = np.concatenate(weights)
        loss, node, edge = few.residual(few_weights, self._projected)
        learner.loss += loss
        gradient = -few.model.pull(few_weights, node, edge)
        self._climb(rule, which, gradient[: values.size].reshape(values.shape), gradient[values.size :], size)
        if few.tilt is None:
            self._only_prices(instances)

    def _climb(self, rule: Rule, which: IntArray, on_nodes: FloatArray, on_edges: FloatArray, size: float) -> None:
        """Steps along the gradient, shortened together if they move the scores of positions too far."""
        learner, t = self._learner, self._learner.seen
        tables = [(learner.nodes, which, on_nodes)]
        if learner.edges is not None:
            every = np.arange(len(learner.edges.value))
            tables.append((learner.edges, every, on_edges.reshape(learner.edges.value.shape)))
        steps = [rule.steps(table, rows, g, t, learner.clock, size) for table, rows, g in tables]
        shorter = 1.0
        if np.isfinite(rule.limit):
            moved = self._features.score(np.concatenate([step.ravel() for step in steps]))
            far = _spread(moved.node)
            shorter = min(1.0, rule.limit * self._way() / far) if far > 0 else 1.0
        for (table, rows, _), step in zip(tables, steps, strict=True):
            table.move(rows, step, shorter)

    def _way(self) -> float:
        """Approximately the mean distance of scores from where labels or constraints pull."""
        structure = self._few.model.structure
        known = structure.spread(self._few.is_labelled)
        return (self._pull + _LABEL * float(np.sum(known))) / len(known)

    def _only_prices(self, instances: IntArray) -> None:
        """As printed, prices move at every unlabelled instance, whether a constraint fires there or not."""
        learner = self._learner
        count = int(np.sum(~self._problem.is_labelled[instances]))
        if learner.online.is_printed and count:
            self._printed_prices(np.empty(0, dtype=np.intp), np.empty(0), count)

    def _printed_prices(self, rows: IntArray, sums: FloatArray, count: int) -> None:
        learner = self._learner
        share = count / learner.n_unlabelled
        learner.ledger.step_as_printed(
            rows, learner.growth, sums, share, Printed(learner.online.eta0).step(learner.seen)
        )

    def _projected(self, here: Potentials, log_z: FloatArray) -> Marginals:
        """q of the touched instances at the present prices; and the step of the prices."""
        learner, tilt = self._learner, self._few.tilt
        assert tilt is not None
        ledger = learner.ledger
        local = self._grounded.local[self._shared]
        rows = self._rows[self._shared[~local]]
        total = ledger.total(rows, learner.growth)
        prices = ledger.prices(rows, total, printed=learner.online.is_printed)
        features = tilt.features
        if local.any():
            features, _ = tilt.features.split(np.flatnonzero(~local))
        p = tilt.structure.unpriced.infer(tilt.by_kind(here), tilt.workers, weight=tilt.weight)
        base = tilt.base(here, log_z, overwrite=True)
        q, divergence = self._tilted(tilt, features.tilted(base, prices), local)
        sums = features.weighted(q, tilt.structure, tilt.weight)
        learner.loss += learner.gamma * (divergence + float(prices @ sums))
        awake = self._awake(self._shared[~local], rows)
        shared, rows, total = self._shared[~local][awake], rows[awake], total[awake]
        visits = self._visits(shared)
        support = ledger.fire(rows, visits)
        plain = replace(features, whole=None)
        of_p = plain.weighted(p, tilt.structure, tilt.weight)
        if features.whole is not None:
            of_p[features.whole.row] = np.nan  # only samples could tell
        met = {"support": support, "of_p": of_p[awake], "of_q": sums[awake]}
        if learner.online.is_printed:
            self._printed_prices(rows, met["of_q"], self._n_unlabelled)
        else:
            component = self._grounded.component[self._shared[~local]]
            crowd = bend(
                features,
                tilt.structure.spread(tilt.weight),
                tilt.structure.weigh_kinds(tilt.weight),
                tilt.weight,
                component,
            )
            stiff = np.ones(len(prices))
            stiff[awake] = ledger.step(rows, total, support, visits, met["of_q"], crowd[awake])
            steady = np.copy(prices)
            steady[awake] = _steady(prices[awake], ledger.prices(rows, total, printed=False))
            pull = features.score(steady * stiff)
            self._pull = (_spread(pull.node) + _spread(pull.edge)) * len(pull.node)
            if _forbids(tilt.rules) or tilt.instances is not None or local.any():
                # What has no price here pulls as labels do, by as much as q differs from p.
                self._pull += _LABEL * float(np.sum(np.max(np.abs(q.node - p.node), axis=1)))
        ledger.remember(rows, met | self._others(shared, p, q))
        return q

    def _awake(self, shared: IntArray, rows: IntArray) -> npt.NDArray[np.bool_]:
        """The rows that count. A share of another event is inactive until it might happen itself for the first time: it
        could only ask that the other does not happen either."""
        wakes = self._grounded.wakes
        if wakes is None:
            return np.ones(len(rows), dtype=np.bool_)
        is_share = ~np.isnan(self._learner.ledger.column("share")[rows])
        woken = np.unique(wakes.indices[between(wakes.indptr, self._active)[0]])
        return ~is_share | (self._learner.ledger.column("visits")[rows] > 0) | np.isin(shared, woken)

    def _meet(self, instances: IntArray) -> None:
        """Add the instances to the supports of rows, which may fire there or not."""
        by_instance = self._grounded.by_instance
        if by_instance is None:
            return
        where, _ = between(by_instance.indptr, instances)
        met, place = np.unique(by_instance.indices[where], return_inverse=True)
        support = np.zeros(len(met))
        np.add.at(support, place.ravel(), by_instance.data[where])
        rows = self._rows[met]
        self._learner.ledger.meet(rows[rows >= 0], support[rows >= 0])

    def _visits(self, shared: IntArray) -> FloatArray:
        """The number of active instances with each of these shared rows."""
        by_instance = self._grounded.by_instance
        assert by_instance is not None
        where, _ = between(by_instance.indptr, self._active)
        return np.bincount(by_instance.indices[where], minlength=by_instance.shape[1])[shared].astype(np.float64)

    def _tilted(self, tilt: Tilt, potentials: Potentials, local: npt.NDArray[np.bool_]) -> tuple[Marginals, float]:
        """q where the shared prices are in the potentials already, and Σ w·D(q‖·) to these (NaN if it is sampled)."""
        structure = tilt.structure
        if tilt.instances is None and not local.any():
            if structure.is_sampled:
                seed = (1_000_003 * self._learner.seed + self._learner.seen) % 2**63
                drawn = structure.estimate(potentials, _DRAWS, seed, tilt.workers, weight=tilt.weight)
                return drawn, float("nan")
            q = tilt.infer(potentials)
            return q, -float(tilt.weight @ q.log_z)
        which = np.flatnonzero(local)
        _, own = tilt.features.split(np.flatnonzero(~local))
        alone = replace(
            tilt, features=own, penalty=tilt.penalty.take(which), support=tilt.support[which],
            offset=tilt.offset[which], rules=None,
        )  # fmt: skip
        projection = project(alone, [TiltShard(alone, potentials)])
        return projection.marginals, projection.divergence

    def _others(self, shared: IntArray, p: Marginals, q: Marginals) -> dict[str, FloatArray]:
        """For rows that are shares of other events, E[other] under p and q."""
        shares, whole = self._grounded.shares, self._problem.tilt
        if shares is None or whole is None or self._few.tilt is None:
            return {}
        place = self._problem.place_in_tilt[self._active[self._few.touched]]
        other, rows = shares.other.take(whole.structure.positions(place), whole.structure.narrow(place)[1], place)
        found = {}
        for name, marginals_of in (("other_p", p), ("other_q", q)):
            sums = np.zeros(shares.other.n_rows)
            sums[rows] = other.weighted(marginals_of, self._few.tilt.structure, self._few.tilt.weight)
            found[name] = sums[shared]
        return found


def _steady(before: FloatArray, after: FloatArray) -> FloatArray:
    """The part of prices that a step leaves as it was: a price that falls has overshot."""
    return np.asarray(np.where(before > 0, np.clip(after, 0.0, before), np.clip(after, before, 0.0)))


def _forbids(rules: Potentials | None) -> bool:
    """True if something is ruled out here: rules of other instances leave zeros."""
    parts = () if rules is None else (rules.node, rules.edge, rules.whole)
    return any(part is not None and bool(np.any(np.isneginf(part))) for part in parts)


def _spread(scores: FloatArray | None) -> float:
    """The mean distance between the scores of a position or an edge."""
    if scores is None or not len(scores):
        return 0.0
    flat = scores.reshape(len(scores), -1)
    return float(np.mean(np.ptp(flat, axis=1)))
