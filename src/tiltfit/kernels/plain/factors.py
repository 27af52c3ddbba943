"""Plain twins of ``llvm.factors``: C are the columns column … column + 4·count − 1, as far as there are labels."""

from __future__ import annotations

import numpy as np

from tiltfit.arrays import FloatArray
from tiltfit.kernels.compile import kernel
from tiltfit.kernels.constants import LANES
from tiltfit.kernels.exponential import exp_of_negative


@kernel
def greatest_tile(count: int, node: FloatArray, row: int, column: int) -> float:
    """max node[row, C], NaN left out; −inf if nothing is left. O(count)."""
    top = -np.inf
    for c in range(column, min(column + LANES * count, node.shape[1])):
        top = max(top, node[row, c])
    return top


@kernel
def factors_tile(
    count: int, node: FloatArray, row: int, column: int, top: float, local: FloatArray, t: int, least: FloatArray
) -> None:
    """local[t, C] ← exp(node[row, C] − top), 0 beyond the last label.

    ``least[4]`` keeps, by lane, the least finite node − top that was seen. O(count).
    """
    for c in range(column, column + LANES * count):
        below = node[row, c] - top if c < node.shape[1] else -np.inf
        local[t, c] = exp_of_negative(below)
        if -np.inf < below < least[c % LANES]:
            least[c % LANES] = below
