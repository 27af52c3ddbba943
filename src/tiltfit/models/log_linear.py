"""Log-linear models: p_λ(y|x) = q₀(y|x)·exp(λ·f(x, y)) / Z_λ(x).

With independent positions this is maximum entropy (multinomial logistic regression), with chains a conditional random
field: the features and the structure differ, nothing else. q₀ is the base distribution of Eq. 2–3, uniform if absent.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol, Self

import numpy as np

from tiltfit.arrays import FloatArray, IntArray
from tiltfit.execution.moments import Moments
from tiltfit.execution.workers import Workers
from tiltfit.features.attributes import AttributeFeatures
from tiltfit.features.chains import ChainFeatures
from tiltfit.inference.chain import Chains
from tiltfit.inference.independent import Independent
from tiltfit.inference.potentials import Marginals, Potentials

Structure = Independent | Chains


class Features(Protocol):
    """A linear operator from weights to potentials, and its adjoint."""

    @property
    def workers(self) -> Workers: ...
    @property
    def n_labels(self) -> int: ...
    @property
    def n_weights(self) -> int: ...
    def score(self, weights: FloatArray) -> Potentials: ...
    def expect(self, node: FloatArray, edge: FloatArray | None = None) -> FloatArray: ...
    def take(self, positions: IntArray) -> Self: ...
    def merged(self) -> tuple[Features, IntArray] | None: ...


@dataclass(frozen=True, eq=False)
class LogLinear:
    """p_λ on the instances that ``features`` and ``structure`` describe. ``base``: log q₀; −inf forbids."""

    features: Features
    structure: Structure
    base: Potentials | None = None

    @property
    def n_weights(self) -> int:
        return self.features.n_weights

    @property
    def workers(self) -> Workers:
        return self.features.workers

    def potentials(self, weights: FloatArray) -> Potentials:
        """log q₀(y|x) + λ·f(x, y)."""
        scores = self.features.score(weights)
        return scores if self.base is None else scores + self.base

    def infer(self, weights: FloatArray, weight: FloatArray | None = None) -> Marginals:
        """log Z_λ(x) and p_λ(y|x). ``weight``: of instances, in the sums over edges."""
        return self.structure.infer(self.potentials(weights), self.workers, weight=weight, overwrite=True)

    def moments(self, weights: FloatArray, weight: FloatArray) -> Moments:
        """Σ_i ω_i log Z_λ(x_i) and Σ_i ω_i E_p[f(x_i, y)], ω = ``weight``: all that an M-projection evaluates."""
        marginals = self.infer(weights, weight)
        node = marginals.node
        if not np.all(weight == 1.0):
            node *= self.structure.spread(weight)[:, None]
        total = float(weight @ marginals.log_z)
        return Moments(total, self.features.expect(node, marginals.edge), float(np.sum(weight)))

    def take(self, instances: IntArray) -> Self:
        """The same model on these instances only."""
        positions = self.structure.positions(instances)
        base = None if self.base is None else Potentials(self.base.node[positions], self.base.edge)
        return replace(
            self, features=self.features.take(positions), structure=self.structure.take(instances), base=base
        )

    def narrow(self, instances: IntArray) -> tuple[LogLinear, IntArray, IntArray | None]:
        """The model on these instances with the weights that matter there alone: which rows of the table of weights
        these are, and which kinds of edge. Its cost does not depend on how many others there are."""
        positions, kinds = self.structure.positions(instances), None
        structure: Structure
        if isinstance(self.structure, Chains):
            assert isinstance(self.features, ChainFeatures)
            structure, kinds = self.structure.narrow(instances)
            features, rows = self.features.narrow(positions, kinds)
        else:
            assert isinstance(self.features, AttributeFeatures)
            structure = self.structure.take(instances)
            features, rows = self.features.narrow(positions)  # type: ignore[assignment]
        base = None
        if self.base is not None:
            edge = None if self.base.edge is None else self.base.edge[kinds]
            base = Potentials(self.base.node[positions], edge)
        return LogLinear(features, structure, base), rows, kinds
