"""Label regularisation, or expectation regularisation (Mann & McCallum 2007): ``method="label_regularization"``.

    min_λ  Σ_labelled −log p_λ(y|x) + ½·α‖λ‖² + γ·s·KL(ũ ‖ E_unlabelled[p_λ])

Generalized expectation with one constraint, on the proportions of the labels: unlabelled data should be labelled in the
same proportions ũ as labelled data, or as an unconditional ``distributed_as`` or ``method_options={"proportions":
{...}}`` says. s is ``strength``, by default ten times the weight of the labelled instances. Other constraints are not
used; the report shows how far the model is from them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tiltfit.arrays import FloatArray
from tiltfit.data.inputs import Unit
from tiltfit.errors import DataError, did_you_mean, listed
from tiltfit.inference.tangent import Direction
from tiltfit.language.constraint import ConstraintSet
from tiltfit.language.relations import Relation
from tiltfit.language.sentences import titled
from tiltfit.language.values import match
from tiltfit.methods.direct import Term, minimise_directly, unlabelled_part
from tiltfit.methods.history import Fit
from tiltfit.methods.method import Method, Run, Training
from tiltfit.methods.problem import Problem
from tiltfit.methods.refusals import check_number, is_real, wrong_option
from tiltfit.methods.votes import Votes
from tiltfit.models.model import Model
from tiltfit.penalties.kl import kl

_PER_LABEL = 10.0
_ROUNDING = 1e-6  # of shares that sum to one


@dataclass(frozen=True)
class Options:
    """``proportions``: of all classes. ``strength``: how much the divergence from them counts."""

    proportions: Mapping[Any, float] | None = None
    strength: float | None = None

    def __post_init__(self) -> None:
        if self.proportions is not None:
            if not isinstance(self.proportions, Mapping) or not self.proportions:
                raise wrong_option("proportions", self.proportions, "a dict: a share for each class")
            if not all(is_real(share) and share >= 0 for share in self.proportions.values()):
                raise wrong_option("proportions", self.proportions, "shares of at least 0 of all classes")
            total = math.fsum(self.proportions.values())
            if abs(total - 1) > _ROUNDING:
                raise wrong_option("proportions", self.proportions, f"shares whose sum is 1, but it is {total:.6g}")
        if self.strength is not None:
            check_number("strength", self.strength, "a positive, finite number", above=True)


def fit(training: Training, start: FloatArray, run: Run) -> Fit:
    """Minimise the objective above from ``start``."""
    problem = training.problem
    if not np.any(problem.weight[problem.labelled] > 0):
        raise DataError(
            "method='label_regularization' needs labelled instances: proportions alone do not say which is which. Use "
            "method='ap' with constraints."
        )
    unlabelled = unlabelled_part(problem, "label_regularization")
    shares = _stated(run.options.proportions, training.grounded.constraints, training.grounded.unit)
    if shares is None:
        shares = _of_labels(problem)
    strength = run.options.strength or _PER_LABEL * float(np.sum(problem.weight[problem.labelled]))
    term = Proportions(problem.model.take(unlabelled), problem.weight[unlabelled], shares, strength)
    return minimise_directly(training, term, start, run)


@dataclass(frozen=True, eq=False)
class Proportions:
    """s·KL(ũ ‖ m),  m the weighted mean of p_λ over all positions of ``model``."""

    model: Model
    weight: FloatArray
    shares: FloatArray
    strength: float

    def __call__(self, weights: FloatArray) -> Term:
        model, penalty = self.model, kl(self.shares, 1 / self.strength)
        here = model.structure.tangent(model.potentials(weights), model.workers, self.weight)
        size = model.structure.spread(self.weight)
        m = size @ here.marginals.node / size.sum()
        slope = penalty.grad(m)
        assert slope is not None
        everywhere = Direction(np.zeros(len(size), dtype=np.int32), slope[None, :] / size.sum())
        gradient = model.pull(weights, *here.along(everywhere))
        return Term(float(np.sum(penalty.value(m))), gradient, float(np.max(penalty.violation(m))))


def _proportions(constraints: ConstraintSet) -> dict[int, Relation]:
    """The constraints that state proportions of all classes in all the data, by their numbers."""
    return {
        k: c.relation for k, c in enumerate(constraints) if c.relation.shares and c.given is None and c.per == "dataset"
    }


def roles(constraints: ConstraintSet, _: Votes | None, options: Options) -> dict[int, str]:
    """A ``distributed_as`` without a condition states the proportions, unless an option does."""
    return {} if options.proportions is not None else dict.fromkeys(_proportions(constraints), "states the proportions")


def _stated(given: Mapping[Any, float] | None, constraints: ConstraintSet, unit: Unit) -> FloatArray | None:
    classes = list(constraints.classes or ())
    stated = _proportions(constraints) if given is None else {}
    if len(stated) > 1:
        raise DataError(
            f"method='label_regularization' has one set of proportions, but {len(stated)} constraints state them: "
            f"{listed(titled(constraints[k], unit) for k in stated)}. Keep one, or say "
            "method_options={'proportions': {...}}."
        )
    for relation in stated.values():
        given = dict(relation.shares)
    if given is None:
        return None
    shares = np.zeros(len(classes))
    for name, share in given.items():
        number = match(name, classes)
        if number is None:
            raise DataError(
                f"method_options={{'proportions': ...}} names {name!r}, which is no class: {classes}."
                f"{did_you_mean(name, classes)}"
            )
        shares[number] = share
    return shares


def _of_labels(problem: Problem) -> FloatArray:
    """(1 + how often a label occurs) / (L + all)."""
    known, n_labels = problem.model.structure.positions(problem.labelled), problem.model.n_labels
    weight = problem.model.structure.spread(problem.weight)[known]
    counts = 1 + np.bincount(problem.labels[known], weights=weight, minlength=n_labels)
    return np.asarray(counts / counts.sum(), dtype=np.float64)


METHOD = Method(
    "label_regularization",
    "label regularisation",
    fit,
    options=Options,
    constraints="reported",
    roles=roles,
    inference=("exact", "sampled"),
)
