"""Label regularisation, or expectation regularisation (Mann & McCallum 2007): ``method="label_regularization"``.

    min_λ  Σ_labelled −log p_λ(y|x) + ½·α‖λ‖² + γ·s·KL(ũ ‖ E_unlabelled[p_λ])

Generalized expectation with one constraint, on the proportions of the labels: unlabelled data should be labelled in the
same proportions ũ as labelled data, or as an unconditional ``distributed_as`` or ``method_options={"proportions":
{...}}`` says. s is ``strength``, by default ten times the weight of the labelled instances. Other constraints are not
used; the report tells how far the model is from them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from tiltfit.errors import DataError
from tiltfit.features.constraints import ConstraintFeatures, Parts
from tiltfit.inference.chain import Chains
from tiltfit.language.constraint import ConstraintSet
from tiltfit.language.relations import DistributedAs
from tiltfit.language.values import match
from tiltfit.methods.direct import minimise_directly
from tiltfit.methods.generalized_expectation import ExpectationPenalty
from tiltfit.methods.history import Fit
from tiltfit.methods.method import FloatArray, Method, Run, Task
from tiltfit.methods.problem import Problem
from tiltfit.penalties.kl import kl
from tiltfit.projections.information import Tilt

_PER_LABEL = 10.0


@dataclass(frozen=True)
class Options:
    """``proportions``: of all classes. ``strength``: how much the divergence from them counts."""

    proportions: Mapping[Any, float] | None = None
    strength: float | None = None

    def __post_init__(self) -> None:
        if self.proportions is not None:
            if not isinstance(self.proportions, Mapping):
                raise DataError(f"proportions={self.proportions!r:.80} must be a dict: a share for each class.")
            DistributedAs(tuple(self.proportions.items()))  # raises for shares that cannot be
        if self.strength is not None and not (isinstance(self.strength, int | float) and 0 < self.strength < np.inf):
            raise DataError(f"strength={self.strength!r} must be a positive, finite number.")


def fit(task: Task, start: FloatArray, run: Run) -> Fit:
    """Minimise the objective above from ``start``."""
    problem = task.problem
    if not len(problem.labelled):
        raise DataError(
            "method='label_regularization' needs labelled instances: proportions alone do not say which is which. Use "
            "method='ap' with constraints."
        )
    unlabelled = np.flatnonzero(~problem.is_labelled)
    if not len(unlabelled):
        raise DataError(
            "method='label_regularization' needs unlabelled data, but all of it is labelled. Use method='supervised'."
        )
    shares = _stated(run.options.proportions, task.grounded.constraints)
    if shares is None:
        shares = _of_labels(problem)
    strength = run.options.strength or _PER_LABEL * float(np.sum(problem.weight[problem.labelled]))
    term = ExpectationPenalty(problem.model.take(unlabelled), _proportions(problem, unlabelled, shares, strength))
    return minimise_directly(task, term, start, run)


def _stated(given: Mapping[Any, float] | None, constraints: ConstraintSet) -> FloatArray | None:
    classes = list(constraints.classes or ())
    for constraint in constraints if given is None else ():
        if isinstance(constraint.relation, DistributedAs) and constraint.given is None and constraint.per == "dataset":
            given = dict(constraint.relation.shares)
    if given is None:
        return None
    shares = np.zeros(len(classes))
    for name, share in given.items():
        number = match(name, classes)
        if number is None:
            raise DataError(f"proportions= names {name!r}, which is no class: {classes}.")
        shares[number] = share
    return shares


def _of_labels(problem: Problem) -> FloatArray:
    """(1 + how often a label occurs) / (L + all)."""
    known, n_labels = problem.model.structure.positions(problem.labelled), problem.model.features.n_labels
    weight = problem.model.structure.spread(problem.weight)[known]
    counts = 1 + np.bincount(problem.labels[known], weights=weight, minlength=n_labels)
    return np.asarray(counts / counts.sum(), dtype=np.float64)


def _proportions(problem: Problem, unlabelled: Any, shares: FloatArray, strength: float) -> Tilt:
    """One row a label: its share of all positions."""
    structure = problem.model.structure.take(unlabelled)
    n, n_labels = len(problem.model.structure.positions(unlabelled)), len(shares)
    weight = problem.weight[unlabelled]
    support = np.full(n_labels, float(np.sum(structure.spread(weight))))
    everywhere = Parts(sparse.csr_array(np.ones((n, n_labels))), np.eye(n_labels), np.arange(n_labels))
    return Tilt(
        structure=structure,
        features=ConstraintFeatures(n_labels, everywhere),
        penalty=kl(shares, np.full(n_labels, 1 / strength)),
        weight=weight,
        support=support,
        offset=np.zeros(n_labels),
        workers=problem.model.workers,
        parent=np.arange(structure.n_kinds) if isinstance(structure, Chains) else None,
    )


METHOD = Method("label_regularization", "label regularisation", fit, options=Options)
