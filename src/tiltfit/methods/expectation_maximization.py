"""Expectation maximisation of generative models, without constraints (``method="em"``) and under them
(``method="ap"``, posterior regularization).

    min_λ  Σ_labelled w·(−log p_λ(x, y)) + γ·Σ_unlabelled w·(−log p_λ(x)) − log prior(λ)                        (em)

Each round fits the model to its own posteriors (Dempster, Laird & Rubin 1977; of labelled and unlabelled documents:
Nigam, McCallum, Thrun & Mitchell 2000). Without labels the classes are clusters, in no particular order.

    O(λ, q) = Σ_labelled w·(−log p_λ(x, y)) − log prior(λ)
              + γ·[Σ_unlabelled w·(D(q‖p_λ(y|x)) − log p_λ(x)) + U(m(q))]                                       (ap)

    q ← argmin_q O(λ, q)      information projection of p_λ(y|x), Eq. 8: the E-step, under constraints
    λ ← argmin_λ O(λ, q)      moment projection: shares of expected counts, in closed form (``models.generative``)

Eq. 6 with p(x, y) in the place of p(y|x) (paper §4.2; Graça, Ganchev & Taskar 2007). O falls at every half step;
without constraints q = p and this is EM. Unlabelled instances that no constraint touches matter here: they add
−log p(x).

Where q can only be sampled, O is not known: it is over when the expected counts no longer settle from one window of
rounds to the next, for what is left is noise. Weights are then those of the mean counts of the last window.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tiltfit.arrays import FloatArray
from tiltfit.errors import UnsupportedError, listed
from tiltfit.inference.potentials import Potentials
from tiltfit.language.sentences import titled
from tiltfit.methods.history import CLOSE, LOOSE, WINDOW, Fit, Journal, Round, remaining, settled
from tiltfit.methods.method import Case, Method, Run, Training
from tiltfit.methods.problem import Evaluation, Problem
from tiltfit.optimize.result import Stop
from tiltfit.projections.information import Projection, Start, project
from tiltfit.projections.shards import TiltShard

_ENOUGH = 0.01  # times tol: the fall still to come, of that so far or per instance (in nats), that is not worth a round
_ROUNDING = 1e-12  # of the objective


@dataclass(frozen=True, eq=False)
class Expected:
    """After an E-step: O(λ, q), T = Σ_labelled w·f(x, y) + γ·Σ_unlabelled w·E_q[f], and the projection, if any."""

    value: float
    counts: FloatArray
    projection: Projection | None

    @property
    def start(self) -> Start | None:
        """The place where the next projection may begin."""
        return None if self.projection is None else self.projection.start

    def evaluation(self, before: FloatArray) -> Evaluation:
        """The same as solvers tell it; the gradient is by how much expected counts differ from those ``before``."""
        return Evaluation(self.value, self.counts - before, self.projection)


class Halves:
    """The two half steps on one problem, whose model has a closed form. Labelled instances add constant counts."""

    def __init__(self, problem: Problem) -> None:
        assert problem.model.closed_form is not None
        self._family, self._alpha, self._gamma = problem.model.closed_form, problem.alpha, problem.gamma
        self._known = problem.known_moments()
        unlabelled = np.flatnonzero(~problem.is_labelled)
        self._rest = problem.take(unlabelled) if len(unlabelled) else None

    def expect(
        self, weights: FloatArray, start: Start | None = None, tol: float = 1e-6, *, told: bool = False
    ) -> Expected:
        """Half a round: q, and what it makes of the counts. ``told``: it is the last."""
        if self._rest is None:
            return Expected(self.cost(weights, self._known), self._known, None)
        value, counts, projection = posterior(self._rest, weights, start, tol, told=told)
        counts *= self._gamma
        counts += self._known
        return Expected(self.cost(weights, self._known) + self._gamma * value, counts, projection)

    def fit(self, counts: FloatArray) -> FloatArray:
        """The other half: weights from counts."""
        return self._family.weights(counts, self._alpha)

    def cost(self, weights: FloatArray, counts: FloatArray) -> float:
        """−λ·T − log prior(λ): as a function of λ it differs from O(λ, q) by a constant."""
        return -float(weights @ counts) - self._family.log_prior(weights, self._alpha)


def posterior(
    problem: Problem, weights: FloatArray, start: Start | None, tol: float, *, told: bool = False
) -> tuple[float, FloatArray, Projection | None]:
    """Σ w·(D(q‖p(y|x)) − log p(x)) + U(m(q)) and Σ w·E_q[f], where no instance is labelled: q = p where none is
    touched."""
    model, structure, touched = problem.model, problem.model.structure, problem.touched
    positions = structure.positions(touched)
    potentials = model.potentials(weights)
    here = potentials.node[positions]
    weight = problem.weight.copy()
    weight[touched] = 0.0
    p = structure.infer(potentials, model.workers, weight=weight, overwrite=True)
    value, node, edge = -float(problem.weight @ p.log_z), p.node, p.edge
    node *= structure.spread(weight)[:, None]
    projection = None
    if problem.tilt is not None:
        base = problem.tilt.base(Potentials(here, potentials.edge), p.log_z[touched], overwrite=True)
        projection = project(problem.tilt, [TiltShard(problem.tilt, base)], start=start, tol=tol, told=told)
        value, q = value + projection.value, projection.marginals
        node[positions] = structure.spread(problem.weight)[positions, None] * q.node
        if edge is not None and q.edge is not None:
            edge += problem.tilt.for_model(q.edge, len(edge))
    return value, model.pull(weights, node, edge), projection


def regularize(problem: Problem, start: FloatArray, run: Run) -> Fit:
    """Alternate from the posteriors at ``start``, which need not be parameters of a distribution: the first round is
    counted from those fitted to them. It is over when O can hardly fall any further (extrapolated from the last two
    rounds): by tol/100 of a nat per instance. With ``run.development``, the weights are those
    of its best round."""
    halves, inner_tol = Halves(problem), LOOSE if problem.is_sampled else 1e-6
    journal = Journal(run.callback, run.development)
    last = halves.expect(start, None, inner_tol)
    weights = halves.fit(last.counts)
    journal.begin(weights)
    rounds, stop = _Rounds(run.tol, float(np.sum(problem.omega))), Stop.MAX_ITER
    for number in range(1, run.max_iter + 1):
        now = halves.expect(weights, last.start, inner_tol)
        fitted = halves.fit(now.counts)
        moment = halves.cost(fitted, now.counts)
        after = now.value + moment - halves.cost(weights, now.counts)
        found = now.evaluation(last.counts)
        weights, last = fitted, now
        steps = {"objective": after, "moment": moment if problem.is_sampled else after}
        if journal.add(Round.of(number, run.max_iter, found, 1 + found.n_eval, **steps), weights):
            break
        if (reason := rounds.over(now, after, found.steepest)) is not None:
            stop, weights = reason, halves.fit(rounds.counts(now))
            break
    kept = journal.settle(weights)
    final = halves.expect(kept, last.start, CLOSE if problem.is_sampled else inner_tol, told=True)
    return journal.finished(kept, final.evaluation(last.counts), journal.stop or stop)


class _Rounds:
    """The rounds so far, from which follows when it is enough."""

    def __init__(self, tol: float, total: float) -> None:
        self._tol, self._total = tol, total
        self._values: list[float] = []
        self._changes: list[float] = []
        self._counts: list[FloatArray] = []

    def over(self, now: Expected, after: float, change: float) -> Stop | None:
        """The reason to stop after this round, or None."""
        if np.isnan(after):
            self._counts = [*self._counts, now.counts][-WINDOW:]
            self._changes.append(change)
            return Stop.NOISE if settled(self._changes) else None
        self._values.append(after)
        if len(self._values) < 3:
            return None
        drop, last_drop = -np.diff(self._values[-3:])[::-1]
        enough = self._tol * _ENOUGH * self._total
        small = drop <= _ROUNDING * abs(after) or remaining(drop, last_drop) <= enough
        return Stop.FLAT if small else None

    def counts(self, now: Expected) -> FloatArray:
        """Those that the last weights are fitted to."""
        return np.asarray(np.mean(self._counts, axis=0)) if self._counts else now.counts


def fit(training: Training, start: FloatArray, run: Run) -> Fit:
    """Minimise from ``start``."""
    return regularize(training.problem, start, run)


def _refuse_constraints(case: Case) -> None:
    if len(case.constraints):
        raise UnsupportedError(
            f"method='em' takes no constraints, but there are {len(case.constraints)}: "
            f"{listed(titled(c, case.unit) for c in case.constraints)}. Leave them out, or use method='ap', which is "
            "EM under constraints (posterior regularization)."
        )


METHOD = Method(
    "em",
    "expectation maximisation",
    fit,
    why_not={
        model: "it says nothing of x, so that without constraints it learns nothing from unlabelled data. Use "
        f"model={generative!r}, or method='entropy'."
        for model, generative in (("maxent", "naive_bayes"), ("crf", "hmm"))
    },
    refuse=_refuse_constraints,
    solvers=("auto", "alternating"),
    trains=("generative",),
    constraints="refused",
    unaided=True,
)
