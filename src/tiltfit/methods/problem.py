"""One learning problem: data, constraints and strengths, and the joint objective of Eq. 6 with q eliminated.

    O(λ) = Σ_labelled w·(−log p_λ(y|x)) + ½‖λ‖²_α + γ·min_q [Σ_unlabelled w·D(q‖p_λ) + U(m(q))]
    ∇O(λ) = Σ ω·(E_p[f] − E_q[f]) + α∘λ                                             (Danskin, at the minimising q)

with q clamped to the label on labelled instances and ω = w there, γ·w on unlabelled ones. Both solvers are ways to
minimise it: ``alternating`` holds q fixed between information projections, ``joint`` does not.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from tiltfit.inference.independent import infer
from tiltfit.inference.potentials import Marginals, Potentials
from tiltfit.models.maxent import MaxEnt
from tiltfit.projections.information import Projection, Tilt, information_projection

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Evaluation:
    """O(λ), its gradient, the q that attains it (positions × labels, clamped to known labels), and Σ ω log Z."""

    value: float
    gradient: FloatArray
    q: FloatArray
    projection: Projection | None
    log_z: float

    @property
    def steepest(self) -> float:
        return float(np.max(np.abs(self.gradient), initial=0.0))

    @property
    def gap(self) -> float:
        """The duality gap of the information projection."""
        return self.projection.gap if self.projection is not None else 0.0

    @property
    def worst_violation(self) -> float:
        """The largest distance between an expectation under q and where its penalty is least."""
        return float(np.max(self.projection.violation, initial=0.0)) if self.projection is not None else 0.0

    def moment_value(self, weights: FloatArray, target: FloatArray, alpha: FloatArray) -> float:
        """Σ ω log Z − λ·T + ½‖λ‖²_α at this λ: the M-projection's objective where it starts."""
        return self.log_z - float(weights @ target) + 0.5 * float(weights @ (alpha * weights))


@dataclass(frozen=True, eq=False)
class Problem:
    """Data, constraints and strengths.

    ``labels``: class number or −1, one a position. ``touched``: positions on which some constraint fires, the rows of
    ``tilt``. ``forbidden``: touched positions × labels that hard 0/1 statements rule out. ``alpha``: one a weight.
    """

    model: MaxEnt
    labels: IntArray
    weight: FloatArray
    alpha: FloatArray
    gamma: float
    tilt: Tilt | None
    touched: IntArray
    forbidden: npt.NDArray[np.bool_] | None = None

    @cached_property
    def labelled(self) -> IntArray:
        return np.flatnonzero(self.labels >= 0)

    @cached_property
    def omega(self) -> FloatArray:
        """w on labelled, γ·w on unlabelled positions."""
        return np.where(self.labels >= 0, self.weight, self.gamma * self.weight)

    def gradient_tol(self, tol: float, inner_tol: float = 1e-6) -> float:
        """The largest entry of ∇O that counts as zero: ``tol`` times that at λ = 0, where nothing has been learned yet.

        So it does not depend on how many rows there are that say nothing, nor on the strength of the constraints.
        """
        start = self.evaluate(np.zeros(self.model.n_weights), None, inner_tol)
        return max(tol * start.steepest, 1e-12 * float(np.sum(self.weight)))

    def project(self, potentials: Potentials, p: Marginals, start: FloatArray | None, tol: float) -> Projection | None:
        """The information projection of p, or None where nothing is constrained."""
        if self.tilt is None:
            return None
        base = base_potentials(potentials, p, self.touched, self.forbidden)
        return information_projection(self.tilt, base, start=start, tol=tol)

    def evaluate(self, weights: FloatArray, duals: FloatArray | None, tol: float) -> Evaluation:
        """O(λ) and all that follows from it, with the projection warm-started at ``duals``."""
        potentials = self.model.potentials(weights)
        p = infer(potentials, self.model.features.workers)
        projection = self.project(potentials, p, duals, tol)
        q = p.node.copy()
        if projection is not None:
            q[self.touched] = projection.marginals.node
        q[self.labelled] = 0.0
        q[self.labelled, self.labels[self.labelled]] = 1.0
        loss = self._loss(potentials, p)
        p.node[:] -= q  # no longer needed: the residual takes its place
        p.node[:] *= self.omega[:, None]
        gradient = self.model.features.expect(p.node)
        pull = self.alpha * weights
        gradient += pull
        value = loss + 0.5 * float(weights @ pull)
        if projection is not None:
            value += self.gamma * projection.value
        return Evaluation(value, gradient, q, projection, float(self.omega @ p.log_z))

    def target(self, q: FloatArray) -> FloatArray:
        """T = Σ ω E_q[f], what an M-projection matches."""
        return self.model.features.expect(self.omega[:, None] * q)

    def active(self) -> Problem:
        """The same objective without the positions where q = p whatever λ: they add exactly zero to O and ∇O."""
        keep = np.union1d(self.labelled, self.touched)
        return self if len(keep) == len(self.labels) else self.take(keep)

    def take(self, keep: IntArray) -> Problem:
        """The problem on some positions: all touched ones, or none of them (then without constraints)."""
        constrained = bool(np.isin(self.touched, keep).all()) and self.tilt is not None
        return Problem(
            model=self.model.take(keep),
            labels=self.labels[keep],
            weight=self.weight[keep],
            alpha=self.alpha,
            gamma=self.gamma,
            tilt=self.tilt if constrained else None,
            touched=np.searchsorted(keep, self.touched) if constrained else np.empty(0, dtype=np.intp),
            forbidden=self.forbidden if constrained else None,
        )

    def _loss(self, potentials: Potentials, p: Marginals) -> float:
        """Σ_labelled −w·log p(y|x)."""
        rows = self.labelled
        return float(self.weight[rows] @ (p.log_z[rows] - potentials.node[rows, self.labels[rows]]))


def base_potentials(
    potentials: Potentials, marginals: Marginals, touched: IntArray, forbidden: npt.NDArray[np.bool_] | None
) -> Potentials:
    """log p at the touched positions, −inf where a label is forbidden: what an information projection starts from.

    From potentials, not from probabilities: these underflow, and a rule may leave only labels that the model rules out.
    """
    node = potentials.node[touched] - marginals.log_z[touched, None]
    if forbidden is not None:
        node[forbidden] = -np.inf
    return Potentials(node)
