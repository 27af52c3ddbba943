"""Rows that are shares of other events (``of=``): what they are shares of, and how they are told."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tiltfit.arrays import FloatArray, IntArray
from tiltfit.features.constraints import ConstraintFeatures
from tiltfit.inference.potentials import Marginals
from tiltfit.projections.information import Tilt


@dataclass(frozen=True, eq=False)
class Shares:
    """Rows that are shares of other events: E[event − u·other]/c is what is projected, E[event]/E[other] what is told.

    ``other``: Σ E[other] of every row (0 parts for other rows), ``target``: u; ``offset``: known labels' part.
    """

    other: ConstraintFeatures
    target: FloatArray
    offset: FloatArray
    rows: IntArray

    def of(self, tilt: Tilt, marginals: Marginals) -> FloatArray:
        """E[other] of ``rows``."""
        sums = self.other.weighted(marginals, tilt.structure, tilt.weight) + self.offset
        return np.asarray(sums[self.rows])
