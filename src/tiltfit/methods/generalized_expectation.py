"""Generalized expectation (Mann & McCallum 2007, 2008; Druck, Mann & McCallum 2008): ``method="ge"``.

    min_λ  Σ_labelled −log p_λ(y|x) + ½·α‖λ‖² + γ·U(m(p_λ))                                             (Eq. 5, 10)

The *model's own* expectations are penalised, where alternating projections penalise those of the nearest q and fit the
model to q. U must be smooth: L2 (``about``), KL (``distributed_as``), and bounds with ``slack=``. The gradient of U is
a covariance (Eq. 11–12),

    ∇U(m(p)) = Σ_x Cov_p(f(x, y), g(x, y)),      g = Σ_k U′(m_k)/c_k·f′_k

that is, how expectations of f move when potentials move along g: a derivative of forward–backward along one direction
(``inference.tangent``), O(N·L²) whatever the constraints, not the O(N·L³) of Eq. 12 (O(N·L⁴) for transitions) read
directly. Since U enters by its slope at p and not by a projection, GE has no prices; those of the report are of the
projection of the model that was found.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tiltfit.arrays import FloatArray
from tiltfit.errors import DataError
from tiltfit.inference.potentials import Potentials
from tiltfit.language.constraint import Constraint
from tiltfit.language.sentences import titled
from tiltfit.methods.direct import Term, minimise_directly
from tiltfit.methods.history import Fit
from tiltfit.methods.method import Case, Method, Run, Training
from tiltfit.methods.refusals import refuse_constraints
from tiltfit.models.model import Model
from tiltfit.projections.information import Tilt


@dataclass(frozen=True, eq=False)
class ExpectationPenalty:
    """U(m(p_λ)) on the instances of ``tilt``, which are those of ``model``."""

    model: Model
    tilt: Tilt

    def __call__(self, weights: FloatArray) -> Term:
        tilt = self.tilt
        potentials = self.model.potentials(weights)
        edge = None if potentials.edge is None or tilt.parent is None else potentials.edge[tilt.parent]
        here = tilt.structure.tangent(Potentials(potentials.node, edge), tilt.workers, tilt.weight)
        m = tilt.shared_expectation(here.marginals_at(tilt.features.node.places))
        slope = tilt.penalty.grad(m)
        assert slope is not None  # refused before
        node, pairs = here.along(tilt.features.direction(slope / tilt.support))
        by_kind = None
        if pairs is not None and potentials.edge is not None:
            by_kind = tilt.for_model(pairs, len(potentials.edge))
        violation = float(np.max(tilt.penalty.violation(m), initial=0.0))
        return Term(float(np.sum(tilt.penalty.value(m))), self.model.pull(weights, node, by_kind), violation)


def fit(training: Training, start: FloatArray, run: Run) -> Fit:
    """Minimise Eq. 5 from ``start``."""
    problem = training.problem
    if problem.tilt is None or not len(problem.tilt.penalty):
        raise DataError(
            "method='ge' learns from constraints, but none of them fires on unlabelled data. Use method='supervised'."
        )
    term = ExpectationPenalty(problem.model.take(problem.touched), problem.tilt)
    return minimise_directly(training, term, start, run)


def refuse(case: Case) -> None:
    """U must have a slope everywhere, and covariances must be computable."""
    why_not = ((c, _why_not(c)) for c in case.constraints)
    refuse_constraints("ge", [(titled(c, case.unit), why) for c, why in why_not if why is not None])


def _why_not(constraint: Constraint) -> str | None:
    if constraint.event.whole:
        return (
            "it counts in whole sequences, and the gradient needs its covariance with every feature. Use method='ap', "
            "or a statement on labels, transitions or segments"
        )
    if constraint.is_hard:
        return (
            "a hard constraint has no slope where it holds and none where it does not. Give it slack=, or use "
            "method='ap'"
        )
    (target, *_), slope = constraint.relation.targets(constraint.relation.names or (None,)), np.ones(1)
    if constraint.relation.penalty_of(target, 1, lambda _: np.ones(1)).grad(slope) is None:
        named = getattr(constraint.relation, "penalty", "")
        lacks = "has a kink at the target" if named == "l1" else f"{named} has no grad(m)"
        return f"its penalty {lacks}. Use penalty='l2', or method='ap'"
    return None


METHOD = Method(
    "ge",
    "generalized expectation",
    fit,
    refuse=refuse,
    needs=("rows", "smooth"),
)
