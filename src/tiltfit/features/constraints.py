"""Constraint features f′(x, y): a condition fires at a position *and* the label is one of an event's.

    score(prices)[i, y]  = Σ_r fires[i, r]·prices[r]·events[r, y]
    expect(node)[r]      = Σ_i fires[i, r]·Σ_y events[r, y]·node[i, y]

the same pair of adjoint operators as the model's features.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tiltfit.inference.potentials import Potentials

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ConstraintFeatures:
    """``fires``: CSR, positions × rows; ``events``: rows × labels, 1 where a label belongs to the row's event."""

    fires: sparse.csr_array
    events: FloatArray

    def score(self, prices: FloatArray) -> Potentials:
        """O(firings·labels)."""
        return Potentials(np.asarray(self.fires @ (prices[:, None] * self.events)))

    def expect(self, node: FloatArray) -> FloatArray:
        """O(firings·labels)."""
        return np.asarray(np.einsum("ry,ry->r", self._transposed @ node, self.events))

    @cached_property
    def _transposed(self) -> sparse.csr_array:
        return sparse.csr_array(self.fires.T.tocsr())
