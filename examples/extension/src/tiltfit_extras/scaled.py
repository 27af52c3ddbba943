"""A model: maximum entropy, or a conditional random field, with a scale on top: ``TiltClassifier(model="scaled")``.

    s(x, y; λ, t) = log q₀(y|x) + exp(t)·λ·f(x, y)

The scale grows without the ridge holding every single weight back. Scores are not linear in the weights (λ, t).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from tiltfit import Model, Potentials, register_model

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Scaled(Model):
    """``plain``: the log-linear model λ·f(x, y). Weights: λ, then t."""

    plain: Any
    structure: Any
    base: Potentials | None

    @property
    def n_labels(self) -> int:
        return int(self.plain.n_labels)

    @property
    def n_weights(self) -> int:
        return int(self.plain.n_weights) + 1

    def potentials(self, weights: FloatArray) -> Potentials:
        own, scale = self.plain.features.score(weights[:-1]), np.exp(weights[-1])
        scores = Potentials(scale * own.node, None if own.edge is None else scale * own.edge)
        return scores if self.base is None else scores + self.base

    def pull(self, weights: FloatArray, node: FloatArray, edge: FloatArray | None = None) -> FloatArray:
        of_lambda = np.exp(weights[-1]) * self.plain.features.expect(node, edge)
        return np.append(of_lambda, weights[:-1] @ of_lambda)

    def take(self, instances: npt.NDArray[np.intp]) -> Scaled:
        few = self.plain.take(instances)
        return replace(self, plain=few, structure=few.structure, base=few.base)


def make(plain: Any, classes: tuple[Any, ...]) -> Scaled:
    """The model on data that are encoded as ``plain``."""
    return Scaled(plain, plain.structure, plain.base)


register_model("scaled", make)
register_model("scaled_chain", make, sequences=True)
