"""Entropy regularisation (Grandvalet & Bengio 2004; for CRFs Jiao et al. 2006): ``method="entropy"``.

    min_λ  Σ_labelled −log p_λ(y|x) + ½·α‖λ‖² + γ·Σ_unlabelled H(p_λ(·|x))

The model is asked to be sure on unlabelled data, whatever it is sure of; alternating projections ask that expectations
hold there. Needs labels; constraints are not used, and the report tells how far the model is from them. With s the
score of a labelling, H = log Z − E_p[s] and ∇H = −Cov_p(f, s): the derivative of marginals along the potentials
themselves (``inference.tangent``), O(N·L²) on chains (Mann & McCallum 2007).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tiltfit.errors import DataError
from tiltfit.inference.potentials import Potentials
from tiltfit.inference.tangent import Direction, tangent
from tiltfit.methods.direct import Term, minimise_directly
from tiltfit.methods.history import Fit
from tiltfit.methods.method import FloatArray, Method, Run, Task
from tiltfit.models.log_linear import LogLinear


@dataclass(frozen=True, eq=False)
class Entropy:
    """Σ w·H(p_λ(·|x)) of the instances of ``model``."""

    model: LogLinear
    weight: FloatArray

    def __call__(self, weights: FloatArray) -> Term:
        model = self.model
        potentials = model.potentials(weights)
        here = tangent(model.structure, potentials, model.workers, self.weight)
        p, s = here.marginals, _finite(potentials)
        score = float(model.structure.spread(self.weight) @ np.einsum("ty,ty->t", p.node, s.node))
        if s.edge is not None and p.edge is not None:
            score += float(np.sum(p.edge * s.edge))
        gradient = model.features.expect(*here.along(Direction.along(s)))
        gradient *= -1.0
        return Term(float(self.weight @ p.log_z) - score, gradient)


def _finite(potentials: Potentials) -> Potentials:
    """What is forbidden has no share in any covariance."""
    node, edge = (None if v is None else np.where(np.isfinite(v), v, 0.0) for v in (potentials.node, potentials.edge))
    assert node is not None
    return Potentials(node, edge)


def fit(task: Task, start: FloatArray, run: Run) -> Fit:
    """Minimise the objective above from ``start``."""
    problem = task.problem
    if not np.any(problem.labels >= 0):
        raise DataError(
            "method='entropy' needs labels: without any, a model that knows nothing could be sure of anything. Use "
            "method='ap' with constraints."
        )
    unlabelled = np.flatnonzero(~problem.is_labelled)
    if not len(unlabelled):
        raise DataError("method='entropy' needs unlabelled data, but all of it is labelled. Use method='supervised'.")
    term = Entropy(problem.model.take(unlabelled), problem.weight[unlabelled])
    return minimise_directly(task, term, start, run)


METHOD = Method(
    "entropy",
    "entropy regularisation",
    fit,
)
