"""Entropy regularisation (Grandvalet & Bengio 2004; for CRFs Jiao et al. 2006): ``method="entropy"``.

    min_λ  Σ_labelled −log p_λ(y|x) + ½·α‖λ‖² + γ·s·mean_unlabelled H(p_λ(·|x))

s is ``method_options={"strength": s}``, by default 2 % of the weight of what is labelled (of sequences: tokens, and the
mean is one of tokens). On development parts of text collections more than that soon ended with one label for all, since
nothing says what to be sure of; it starts from the supervised fit for the same reason.
The model is asked to be sure on unlabelled data, whatever it is sure of; alternating projections ask that expectations
hold there. Needs labels; constraints are not used, and the report shows how far the model is from them. With s the
score of a labelling, H = log Z − E_p[s] and ∇H = −Cov_p(f, s): the derivative of marginals along the potentials
themselves (``inference.tangent``), O(N·L²) on chains (Mann & McCallum 2007).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tiltfit.arrays import FloatArray
from tiltfit.errors import DataError
from tiltfit.inference.potentials import Potentials
from tiltfit.inference.tangent import Direction
from tiltfit.methods.direct import Term, minimise_directly, unlabelled_part
from tiltfit.methods.history import Fit
from tiltfit.methods.method import Method, Run, Training
from tiltfit.methods.refusals import check_number
from tiltfit.models.model import Model

_SHARE = 0.02


@dataclass(frozen=True)
class Options:
    """``strength``: how much the mean entropy counts."""

    strength: float | None = None

    def __post_init__(self) -> None:
        if self.strength is not None:
            check_number("strength", self.strength, "a finite number of at least 0")


@dataclass(frozen=True, eq=False)
class Entropy:
    """Σ w·H(p_λ(·|x)) of the instances of ``model``."""

    model: Model
    weight: FloatArray

    def __call__(self, weights: FloatArray) -> Term:
        model = self.model
        potentials = model.potentials(weights)
        here = model.structure.tangent(potentials, model.workers, self.weight)
        p, s = here.marginals, _finite(potentials)
        score = float(model.structure.spread(self.weight) @ np.einsum("ty,ty->t", p.node, s.node))
        if s.edge is not None and p.edge is not None:
            score += float(np.sum(p.edge * s.edge))
        gradient = model.pull(weights, *here.along(Direction.along(s)))
        gradient *= -1.0
        return Term(float(self.weight @ p.log_z) - score, gradient)


def _finite(potentials: Potentials) -> Potentials:
    """The potentials with 0 in the place of −inf: forbidden labels have no part in a covariance."""
    node, edge = (None if v is None else np.where(np.isfinite(v), v, 0.0) for v in (potentials.node, potentials.edge))
    assert node is not None
    return Potentials(node, edge)


def fit(training: Training, start: FloatArray, run: Run) -> Fit:
    """Minimise the objective above from ``start``."""
    problem = training.problem
    size = problem.model.structure.spread(problem.weight)
    known = problem.labels >= 0
    if not np.any(size[known] > 0):
        raise DataError(
            "method='entropy' needs labels: without any, a model that knows nothing could be sure of anything. Use "
            "method='ap' with constraints."
        )
    unlabelled = unlabelled_part(problem, "entropy")
    strength = _SHARE * float(size[known].sum()) if run.options.strength is None else float(run.options.strength)
    positions = problem.model.structure.positions(unlabelled)
    weight = problem.weight[unlabelled] * (strength / float(size[positions].sum()))
    term = Entropy(problem.model.take(unlabelled), weight)
    return minimise_directly(training, term, start, run)


METHOD = Method(
    "entropy",
    "entropy regularisation",
    fit,
    options=Options,
    start="supervised",
    constraints="reported",
    inference=("exact", "sampled"),
)
