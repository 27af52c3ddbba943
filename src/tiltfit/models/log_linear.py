"""Log-linear models: p_λ(y|x) = q₀(y|x)·exp(λ·f(x, y)) / Z_λ(x).

With independent positions this is maximum entropy (multinomial logistic regression), with chains a conditional random
field: the features and the structure differ, nothing else. q₀ is the base distribution of Eq. 2–3, uniform if absent.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol, Self

from tiltfit.arrays import FloatArray, IntArray
from tiltfit.execution.workers import Workers
from tiltfit.features.attributes import AttributeFeatures
from tiltfit.features.beside import BesideFeatures
from tiltfit.features.observed import ObservedFeatures
from tiltfit.inference.chain import Chains
from tiltfit.inference.independent import Independent
from tiltfit.inference.potentials import Potentials
from tiltfit.models.model import Model


class Features(Protocol):
    """A linear operator from weights to potentials, and its adjoint."""

    @property
    def workers(self) -> Workers: ...
    @property
    def nodes(self) -> AttributeFeatures | ObservedFeatures | BesideFeatures: ...
    @property
    def n_labels(self) -> int: ...
    @property
    def n_weights(self) -> int: ...
    def score(self, weights: FloatArray) -> Potentials: ...
    def expect(self, node: FloatArray, edge: FloatArray | None = None) -> FloatArray: ...
    def take(self, positions: IntArray) -> Self: ...
    def whole(self, weights: FloatArray) -> FloatArray: ...
    def own(self, whole: FloatArray) -> FloatArray: ...
    def merged(self) -> tuple[Features, IntArray] | None: ...
    def units(self) -> FloatArray | None: ...
    def narrow(self, positions: IntArray, kinds: IntArray) -> tuple[Features, IntArray]: ...


@dataclass(frozen=True, eq=False)
class LogLinear(Model):
    """p_λ on the instances that ``features`` and ``structure`` describe. ``base``: log q₀; −inf forbids."""

    features: Features
    structure: Independent | Chains
    base: Potentials | None = None

    @property
    def n_labels(self) -> int:
        return self.features.n_labels

    @property
    def n_weights(self) -> int:
        return self.features.n_weights

    @property
    def workers(self) -> Workers:
        return self.features.workers

    @property
    def linear(self) -> LogLinear:
        return self

    def potentials(self, weights: FloatArray) -> Potentials:
        """log q₀(y|x) + λ·f(x, y)."""
        scores = self.features.score(weights)
        return scores if self.base is None else scores + self.base

    def pull(self, weights: FloatArray, node: FloatArray, edge: FloatArray | None = None) -> FloatArray:
        """Σ_i Σ_y node[i, y]·f(x_i, y), and the same on edges, whatever the weights."""
        return self.features.expect(node, edge)

    def take(self, instances: IntArray) -> Self:
        """The same model on these instances only."""
        positions = self.structure.positions(instances)
        base = None if self.base is None else Potentials(self.base.node[positions], self.base.edge)
        return replace(
            self, features=self.features.take(positions), structure=self.structure.take(instances), base=base
        )

    def narrow(self, instances: IntArray) -> tuple[LogLinear, IntArray, IntArray]:
        """The model on these instances with only the weights that matter there: which rows of the table of weights
        these are, and which kinds of edges. The cost does not depend on how many others there are."""
        positions = self.structure.positions(instances)
        structure, kinds = self.structure.narrow(instances)
        features, rows = self.features.narrow(positions, kinds)
        base = None
        if self.base is not None:
            edge = None if self.base.edge is None else self.base.edge[kinds]
            base = Potentials(self.base.node[positions], edge)
        return LogLinear(features, structure, base), rows, kinds
