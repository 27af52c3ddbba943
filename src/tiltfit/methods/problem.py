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

    def moment_value(self, weights: FloatArray, target: FloatArray, alpha: FloatArray) -> float:
        """Σ ω log Z − λ·T + ½‖λ‖²_α at this λ: the M-projection's objective where it starts."""
        return self.log_z - float(weights @ target) + 0.5 * float(weights @ (alpha * weights))


@dataclass(frozen=True, eq=False)
class Problem:
    """``labels``: class number or −1, one a position. ``touched``: positions on which some constraint fires, the rows
    of
    ``tilt``; ``forbidden``: touched positions × labels that hard 0/1 statements rule out. ``alpha``: one entry a
    weight.
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

    def gradient_tol(self, tol: float) -> float:
        """The largest entry of ∇O that counts as zero: ``tol`` a unit of weight, as for a mean loss."""
        return tol * max(1.0, float(np.sum(self.weight)))

    def project(self, marginals: Marginals, start: FloatArray | None, tol: float) -> Projection | None:
        """The information projection of p, or None where nothing is constrained."""
        if self.tilt is None:
            return None
        return information_projection(
            self.tilt, base_potentials(marginals, self.touched, self.forbidden), start=start, tol=tol
        )

    def evaluate(self, weights: FloatArray, duals: FloatArray | None, tol: float) -> Evaluation:
        """O(λ) and all that follows from it, with the projection warm-started at ``duals``."""
        p = self.model.infer(weights)
        projection = self.project(p, duals, tol)
        q = p.node.copy()
        if projection is not None:
            q[self.touched] = projection.marginals.node
        q[self.labelled] = 0.0
        q[self.labelled, self.labels[self.labelled]] = 1.0
        loss = self._loss(p)
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

    def _loss(self, p: Marginals) -> float:
        """Σ_labelled −w·log p(y|x)."""
        probabilities = p.node[self.labelled, self.labels[self.labelled]]
        # A probability that underflows to 0 has a loss of some 745 instead of infinity: finite, and as bad as can be.
        logs = np.log(np.maximum(probabilities, np.finfo(np.float64).tiny))
        return -float(self.weight[self.labelled] @ logs)


def base_potentials(marginals: Marginals, touched: IntArray, forbidden: npt.NDArray[np.bool_] | None) -> Potentials:
    """log p at the touched positions, −inf where a label is forbidden: what an information projection starts from."""
    with np.errstate(divide="ignore"):
        node = np.log(marginals.node[touched])
    if forbidden is not None:
        node[forbidden] = -np.inf
    return Potentials(node)
