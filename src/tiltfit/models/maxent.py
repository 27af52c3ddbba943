"""Maximum entropy (multinomial logistic regression): p_λ(y|x) = q₀(y|x)·exp(λ·f(x, y)) / Z_λ(x).

q₀ is the base distribution of Eq. 2–3, uniform if absent.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tiltfit.execution.moments import Moments
from tiltfit.features.attributes import AttributeFeatures
from tiltfit.inference.independent import infer
from tiltfit.inference.potentials import Marginals, Potentials

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class MaxEnt:
    """p_λ on the positions that ``features`` describes. ``base``: log q₀, positions × labels."""

    features: AttributeFeatures
    base: FloatArray | None = None

    @property
    def n_weights(self) -> int:
        return self.features.n_weights

    def potentials(self, weights: FloatArray) -> Potentials:
        """log q₀(y|x) + λ·f(x, y)."""
        scores = self.features.score(weights)
        return scores if self.base is None else scores + Potentials(self.base)

    def infer(self, weights: FloatArray) -> Marginals:
        """log Z_λ(x) and p_λ(y|x)."""
        return infer(self.potentials(weights), self.features.workers)

    def moments(self, weights: FloatArray, weight: FloatArray) -> Moments:
        """Σ_i ω_i log Z_λ(x_i) and Σ_i ω_i E_p[f(x_i, y)], ω = ``weight``: all that an M-projection evaluates."""
        marginals = self.infer(weights)
        node = marginals.node
        node *= weight[:, None]
        return Moments(float(weight @ marginals.log_z), self.features.expect(node), float(np.sum(weight)))

    def take(self, rows: npt.NDArray[np.intp]) -> MaxEnt:
        """The same model on these positions only."""
        return MaxEnt(self.features.take(rows), None if self.base is None else self.base[rows])
