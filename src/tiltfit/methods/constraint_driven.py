"""Constraint-driven learning (Chang, Ratinov & Roth 2007): ``method="codl"``.

    λ₀ ← argmin_λ Σ_labelled −log p_λ(y|x) + ½·α‖λ‖²
    Y_K(x) ← the K best of  λ·f(x, y) − Σ_k ρ_k·d_k(x, y)      for every unlabelled x
    λ ← τ·λ₀ + (1 − τ)·argmin_λ γ·Σ_unlabelled 1/K·Σ_{y ∈ Y_K(x)} −log p_λ(y|x) + ½·α‖λ‖²

(a generative model: −log p_λ(x, y), and its prior in the place of the ridge, in closed form) with the last two steps
repeated until the labels no longer change. d_k(x, y) is how often y violates constraint k in x,
ρ_k what that costs.

It differs from alternating projections (§4.1 of the paper) in that the model is fitted to a few labellings as if they
were true, not to a whole distribution; in that constraints are properties of single instances with penalties ρ, not
expectations with prices found so that they hold; and in that there is no objective which all steps lower: what is told
is that of the last step. Of an expectation only "usually" or "usually not" remains (``projections.violations``): 60%
and 95% differ at most in ρ. Shares of a label in all the data say nothing of an instance and are refused.

ρ_k = max(0, log((kept + 2s)/(violated + 2(1 − s)))) by default: how often labelled instances keep and violate the
constraint where it applies, and as much as two occurrences of the share s that it states.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from tiltfit.arrays import FloatArray
from tiltfit.errors import DataError, TiltfitWarning, did_you_mean
from tiltfit.language.sentences import titled
from tiltfit.methods.history import Fit, Journal, Round
from tiltfit.methods.joint import solve_jointly
from tiltfit.methods.method import Case, Method, Run, Training, final_evaluation
from tiltfit.methods.problem import Problem
from tiltfit.methods.refusals import check_number, check_whole, is_real, more_rounds, refuse_constraints, wrong_option
from tiltfit.methods.supervised import labelled_part
from tiltfit.models.generative import Family
from tiltfit.models.model import Model, linear
from tiltfit.optimize.lbfgs import steepest
from tiltfit.optimize.plateau import Plateau
from tiltfit.optimize.result import Minimum, Stop
from tiltfit.projections.grounding import Grounded
from tiltfit.projections.moment import moment_objective, moment_projection
from tiltfit.projections.penalised import Labellings, best_labellings
from tiltfit.projections.violations import silent

logger = logging.getLogger("tiltfit")

_TOP_K = {True: 10, False: 1}
"""Labellings of a chain, and of a document: there all labels would soon count alike."""

_ELSE = "Leave it out, narrow it with given=, or use method='ap', which can"


@dataclass(frozen=True)
class Options:
    """``top_k``: how many labellings of an instance are taken for true (sequences: 10, documents: 1). ``tau``: what of
    the supervised weights is kept (0.3 does best on the development part of the citations; Chang et al. took 0.9).
    ``rho``: the penalty of a violation, for all constraints or by name; by default estimated. ``beam``: how many
    labellings are ranked where some constraint counts in whole sequences. ``max_rounds``: how often at most."""

    top_k: int | None = None
    tau: float = 0.3
    rho: float | Mapping[str, float] | None = None
    beam: int = 50
    max_rounds: int = 10

    def __post_init__(self) -> None:
        for name in ("top_k", "beam", "max_rounds"):
            if name != "top_k" or self.top_k is not None:
                check_whole(name, getattr(self, name))
        check_number("tau", self.tau, "a number between 0 (no supervised weights) and 1 (only)", high=1.0)
        given = [] if self.rho is None else [self.rho]
        for value in self.rho.values() if isinstance(self.rho, Mapping) else given:
            if not is_real(value) or not 0 <= value < np.inf:
                must = "a finite number of at least 0, or a dict of constraints' names and such numbers (what must "
                raise wrong_option("rho", self.rho, f"{must}never happen is .at_most(0) or .exactly(1))")


def refuse(case: Case) -> None:
    """Constraints that say nothing of a single instance."""
    classes = case.constraints.classes or ()
    why_not = ((c, silent(c, classes, case.unit)) for c in case.constraints)
    refuse_constraints("codl", [(titled(c, case.unit), why) for c, why in why_not if why is not None], _ELSE)


def fit(training: Training, start: FloatArray, run: Run) -> Fit:
    """Label, re-estimate, average, and again."""
    problem, options, violations = training.problem, run.options, training.grounded.violations
    assert violations is not None
    rho = penalties(training.grounded, options.rho)
    top_k = _checked_top_k(problem, options.top_k)
    supervised = _supervised(labelled_part(problem, "codl"), start, run)
    journal = Journal(run.callback, run.development)
    journal.begin(supervised.x)
    model, omega = problem.model.take(violations.instances), problem.omega[violations.instances]

    def labelled(weights: FloatArray) -> tuple[FloatArray, FloatArray | None]:
        found = best_labellings(violations, model.potentials(weights), rho, top_k, options.beam, model.workers)
        logger.debug("codl: %d of %d instances surely have their best labels", found.proven.sum(), len(found.proven))
        return shares(model, found, omega)

    weights, stop = supervised.x, Stop.CLOSED_FORM
    if np.any(omega > 0) and options.tau != 1:
        weights, stop = _alternated(model, labelled, _estimation(problem, model, omega, run), weights, run, journal)
    weights = journal.settle(weights)
    value = journal.rounds[-1].objective if journal.rounds else supervised.value
    final = final_evaluation(problem, weights, value, start[:0])
    if stop.converged and not supervised.converged:
        stop = supervised.stop
    advice = more_rounds(options.max_rounds) if stop is Stop.UNSTABLE else None
    return journal.finished(weights, final, stop, learned_from=False, advice=advice)


def _supervised(problem: Problem, start: FloatArray, run: Run) -> Minimum:
    """λ₀, from the labelled instances."""
    if problem.model.closed_form is not None:
        return Counting(problem.model.closed_form, problem.alpha).estimate(problem.known_moments(), start)
    found = solve_jointly(problem, start, replace(run, callback=None, development=None))
    return Minimum(found.weights, found.objective, start[:0], len(found.history), 0, found.stop)


def _alternated(
    model: Model,
    labelled: Callable[[FloatArray], tuple[FloatArray, FloatArray | None]],
    estimation: Estimation | Counting,
    supervised: FloatArray,
    run: Run,
    journal: Journal,
) -> tuple[FloatArray, Stop]:
    """The weights after the last round, and why it was the last. ``labelled``: ``shares`` of the best labellings."""
    options, weights, estimated = run.options, supervised, supervised
    before: FloatArray | None = None
    for number in range(1, options.max_rounds + 1):
        node, edge = labelled(weights)
        moved, before = 1.0 if before is None else _moved(node, before), node
        if moved <= run.tol:
            return weights, Stop.STABLE
        target = model.pull(weights, node, edge)
        information = estimation.value(weights, target)[0]
        fitted = estimation.estimate(target, estimated)
        estimated = fitted.x
        weights = estimation.average(options.tau, supervised, estimated, target)
        value, gradient = estimation.value(weights, target)
        one = Round.undivided(
            number, options.max_rounds, value, steepest(gradient), fitted.n_eval, worst_violation=np.nan
        )
        if journal.add(replace(one, information=information), weights):
            break
    return weights, journal.stop or Stop.UNSTABLE


def _moved(node: FloatArray, before: FloatArray) -> float:
    """The share of labels that differ from before."""
    return float(0.5 * np.abs(node - before).sum() / max(float(before.sum()), np.finfo(float).tiny))


def _estimation(problem: Problem, model: Model, omega: FloatArray, run: Run) -> Estimation | Counting:
    if model.closed_form is None:
        return Estimation(linear(model, "method='codl'"), omega, problem.alpha, run.max_iter, run.tol)
    own = float(np.sum(problem.weight[problem.labelled]))
    known = problem.known_moments() * (float(np.sum(omega)) / own)
    return Counting(model.closed_form, problem.alpha, known)


@dataclass(frozen=True, eq=False)
class Estimation:
    """Weights from labels that are taken for true, given as ``target``, the features' sums over them: a moment
    projection (Eq. 9) on the instances of ``model``, which count ω each."""

    model: Model
    omega: FloatArray
    alpha: FloatArray
    max_iter: int
    tol: float

    def value(self, weights: FloatArray, target: FloatArray) -> tuple[float, FloatArray]:
        """Σ ω log Z − λ·T + ½·α‖λ‖²  and its gradient."""
        return moment_objective(self.model.moments(weights, self.omega), weights, target, self.alpha)

    def average(self, tau: float, supervised: FloatArray, estimated: FloatArray, target: FloatArray) -> FloatArray:
        """τ·λ₀ + (1 − τ)·λ."""
        return tau * supervised + (1 - tau) * estimated

    def estimate(self, target: FloatArray, start: FloatArray) -> Minimum:
        """The weights that minimise it, as closely as ``tol`` says."""
        return moment_projection(
            partial(self.model.moments, weight=self.omega), target, self.alpha, start,
            arrived=Plateau(self.tol).reached, units=linear(self.model, "method='codl'").features.units(),
            max_iter=self.max_iter, workers=self.model.workers,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Counting:
    """The same for a generative model: weights are shares of counts, ``target``, in closed form."""

    family: Family
    alpha: FloatArray
    known: FloatArray | None = None  # the counts of the labelled instances, as if they weighed what the others do

    def average(self, tau: float, supervised: FloatArray, estimated: FloatArray, target: FloatArray) -> FloatArray:
        """The weights of τ·T₀ + (1 − τ)·T: an average of counts is one of a distribution, one of log-probabilities is
        not."""
        assert self.known is not None
        return self.family.weights(tau * self.known + (1 - tau) * target, self.alpha)

    def value(self, weights: FloatArray, target: FloatArray) -> tuple[float, FloatArray]:
        """−λ·T − log prior(λ). It has no gradient: weights are not free."""
        return -float(weights @ target) - self.family.log_prior(weights, self.alpha), weights[:0]

    def estimate(self, target: FloatArray, start: FloatArray) -> Minimum:
        """argmax_λ λ·T + log prior(λ)."""
        weights = self.family.weights(target, self.alpha)
        return Minimum(weights, self.value(weights, target)[0], weights[:0], 1, 1, Stop.CLOSED_FORM)


def shares(model: Model, found: Labellings, omega: FloatArray) -> tuple[FloatArray, FloatArray | None]:
    """ω times the share of an instance's labellings that have each label at a position, and each pair on the edges of a
    kind, summed up. Each labelling of an instance counts the same; one that has none counts nothing."""
    structure, n_labels = model.structure, model.n_labels
    possible = found.scores > -np.inf
    weight = structure.spread(omega / np.maximum(1, possible.sum(axis=1)))
    node = np.zeros((len(weight), n_labels))
    edge = structure.edge_zeros(n_labels)
    for r, labels in enumerate(found.labels):
        at = np.flatnonzero(structure.spread(possible[:, r]))
        node[at, labels[at]] += weight[at]
        if edge is not None:
            second = np.setdiff1d(at, structure.first, assume_unique=True)
            np.add.at(edge, (structure.kind[second], labels[second - 1], labels[second]), weight[second])
    return node, edge


def penalties(grounded: Grounded, given: float | Mapping[str, float] | None) -> FloatArray:
    """ρ of every constraint: as given, by name or for all, else estimated. 0 for rules, which need none."""
    assert grounded.violations is not None
    tallies = grounded.violations.tallies
    rho = np.array([0.0 if tally is None else tally.penalty for tally in tallies])
    if given is None or isinstance(given, Mapping):
        named = _by_number(grounded, given or {})
        for k, tally in enumerate(tallies):
            if tally is not None and k not in named and tally.violated > tally.kept:
                warnings.warn(
                    f"The constraint {titled(grounded.constraints[k], grounded.unit)!r} is violated more often than "
                    f"kept by labelled data ({tally.violated:g} against {tally.kept:g}): its penalty is "
                    f"{tally.penalty:.2g}. Set another with method_options={{'rho': {{...}}}}.",
                    TiltfitWarning,
                    stacklevel=2,
                )
        for k, value in named.items():
            rho[k] = value
        return rho
    return np.array([0.0 if tally is None else float(given) for tally in tallies])


def _by_number(grounded: Grounded, given: Mapping[str, float]) -> dict[int, float]:
    numbers_of: dict[Any, int] = {}
    for k, constraint in enumerate(grounded.constraints):
        numbers_of |= {constraint.title: k, titled(constraint, grounded.unit): k}
    for title in given:
        if title not in numbers_of:
            raise DataError(
                f"method_options={{'rho': ...}} names {title!r}, but there is no such constraint."
                f"{did_you_mean(title, numbers_of)} Use its name=, or its sentence."
            )
        if numbers_of[title] in grounded.ruled:
            raise DataError(
                f"method_options={{'rho': ...}} of {title!r} has no effect, since it forbids labels: leave it out."
            )
    return {numbers_of[title]: float(value) for title, value in given.items()}


def _checked_top_k(problem: Problem, top_k: int | None) -> int:
    structure, n_labels = problem.model.structure, problem.model.n_labels
    if top_k is None:
        return _TOP_K[structure.has_edges]
    if not structure.has_edges and top_k >= n_labels:
        raise DataError(
            f"method_options={{'top_k': {top_k}}} takes all {n_labels} classes of every row for true alike, which "
            "teaches nothing. Use a smaller one, such as 1."
        )
    return int(top_k)


METHOD = Method(
    "codl",
    "constraint-driven learning",
    fit,
    refuse=refuse,
    options=Options,
    needs=("violations", "linear"),
    trains=("conditional", "generative"),
    inference=("exact", "sampled"),
)
