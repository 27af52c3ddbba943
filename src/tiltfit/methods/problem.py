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

from tiltfit.inference.chain import Chains
from tiltfit.inference.potentials import Marginals, Potentials
from tiltfit.models.log_linear import LogLinear
from tiltfit.projections.information import Projection, Tilt, information_projection

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Evaluation:
    """O(λ), its gradient, and the information projection that attains it."""

    value: float
    gradient: FloatArray
    projection: Projection | None

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


@dataclass(frozen=True, eq=False)
class Problem:
    """Data, constraints and strengths.

    ``labels``: class number or −1, one a position; an instance is labelled if all its positions are. ``weight``: one
    an instance. ``alpha``: one a weight. ``touched``: the instances of ``tilt``, on which some constraint acts or some
    labels are known.
    """

    model: LogLinear
    labels: IntArray
    weight: FloatArray
    alpha: FloatArray
    gamma: float
    tilt: Tilt | None
    touched: IntArray

    @cached_property
    def labelled(self) -> IntArray:
        """The instances all of whose positions are labelled."""
        unknown = np.add.reduceat((self.labels < 0).astype(np.intp), self.model.structure.first)
        return np.flatnonzero(unknown == 0)

    @cached_property
    def omega(self) -> FloatArray:
        """w on labelled, γ·w on unlabelled instances."""
        omega = self.gamma * self.weight
        omega[self.labelled] = self.weight[self.labelled]
        return omega

    def gradient_tol(self, tol: float, inner_tol: float = 1e-6) -> float:
        """The largest entry of ∇O that counts as zero: ``tol`` times that at λ = 0, where nothing has been learned yet.

        So it does not depend on how many rows there are that say nothing, nor on the strength of the constraints.
        """
        start = self.evaluate(np.zeros(self.model.n_weights), None, inner_tol)
        return max(tol * start.steepest, 1e-12 * float(np.sum(self.weight)))

    def evaluate(self, weights: FloatArray, duals: FloatArray | None, tol: float) -> Evaluation:
        """O(λ) and all that follows from it, with the projection warm-started at ``duals``.

        Instances that are neither labelled nor touched add nothing and are left out (``active``).
        """
        if self.active is not self:
            return self.active.evaluate(weights, duals, tol)
        model, structure = self.model, self.model.structure
        potentials = model.potentials(weights)
        p = structure.infer(potentials, model.workers, weight=self.omega)
        value = self._loss(potentials, p)
        node, edge = p.node, p.edge  # no longer needed: the residual p − q takes its place
        omega = structure.spread(self.omega)
        node *= omega[:, None]
        known = self._known
        node[known, self.labels[known]] -= omega[known]
        if edge is not None and self._known_edges is not None:
            edge -= self._known_edges
        projection = None
        if self.tilt is not None:
            positions = structure.positions(self.touched)
            base = self.tilt.base(Potentials(potentials.node[positions], potentials.edge), p.log_z[self.touched])
            projection = information_projection(self.tilt, base, start=duals, tol=tol)
            q = projection.marginals
            node[positions] -= omega[positions, None] * q.node
            if edge is not None and q.edge is not None:
                edge -= self.gamma * self.tilt.for_model(q.edge, len(edge))
            value += self.gamma * projection.value
        gradient = model.features.expect(node, edge)
        pull = self.alpha * weights
        gradient += pull
        return Evaluation(value + 0.5 * float(weights @ pull), gradient, projection)

    @cached_property
    def active(self) -> Problem:
        """The same objective without the instances where q = p whatever λ: they add exactly zero to O and ∇O."""
        keep = np.union1d(self.labelled, self.touched)
        return self if len(keep) == len(self.weight) else self.take(keep)

    def take(self, keep: IntArray) -> Problem:
        """The problem on some instances: all touched ones, or none of them (then without constraints)."""
        constrained = bool(np.isin(self.touched, keep).all()) and self.tilt is not None
        return Problem(
            model=self.model.take(keep),
            labels=self.labels[self.model.structure.positions(keep)],
            weight=self.weight[keep],
            alpha=self.alpha,
            gamma=self.gamma,
            tilt=self.tilt if constrained else None,
            touched=np.searchsorted(keep, self.touched) if constrained else np.empty(0, dtype=np.intp),
        )

    @cached_property
    def _known(self) -> IntArray:
        """The positions of labelled instances."""
        return self.model.structure.positions(self.labelled)

    @cached_property
    def _known_edges(self) -> FloatArray | None:
        """Σ_labelled w·(pairs of labels on edges of each kind)."""
        structure, n_labels = self.model.structure, self.model.features.n_labels
        if not isinstance(structure, Chains):
            return None
        known = structure.take(self.labelled)
        labels, weight = self.labels[self._known], known.spread(self.weight[self.labelled])
        second = np.setdiff1d(np.arange(len(labels)), known.first)
        cell = (known.kind[second] * n_labels + labels[second - 1]) * n_labels + labels[second]
        sums = np.bincount(cell, weights=weight[second], minlength=structure.n_kinds * n_labels**2)
        return np.asarray(sums, dtype=np.float64).reshape(structure.n_kinds, n_labels, n_labels)

    def _loss(self, potentials: Potentials, p: Marginals) -> float:
        """Σ_labelled −w·log p(y|x)."""
        known, rows = self._known, self.labelled
        scores = self.model.structure.spread(self.weight)[known] @ potentials.node[known, self.labels[known]]
        if potentials.edge is not None and self._known_edges is not None:
            seen = self._known_edges > 0  # a forbidden pair that never occurs adds nothing, not −inf·0
            scores += self._known_edges[seen] @ potentials.edge[seen]
        return float(self.weight[rows] @ p.log_z[rows] - scores)
