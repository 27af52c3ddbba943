"""Plain twins of ``llvm.tiles``: C are the columns column … column + 4·count − 1."""

from __future__ import annotations

import numpy as np

from tiltfit.arrays import FloatArray, IndexArray
from tiltfit.kernels.compile import kernel
from tiltfit.kernels.constants import LANES
from tiltfit.kernels.exponential import exp_of_negative


@kernel
def product_tile(
    count: int, rows: FloatArray, i: int, table: FloatArray, k: int, n_labels: int, out: FloatArray, o: int, column: int
) -> None:
    """out[o, C] ← rows[i]·table[k, :, C]. O(L·count)."""
    for c in range(column, column + LANES * count, LANES):  # a register at a time, if the compiler likes
        sum0, sum1, sum2, sum3 = 0.0, 0.0, 0.0, 0.0
        for y in range(n_labels):
            factor = rows[i, y]
            sum0 += factor * table[k, y, c]
            sum1 += factor * table[k, y, c + 1]
            sum2 += factor * table[k, y, c + 2]
            sum3 += factor * table[k, y, c + 3]
        out[o, c], out[o, c + 1], out[o, c + 2], out[o, c + 3] = sum0, sum1, sum2, sum3


@kernel
def forward_tile(
    count: int, ahead: FloatArray, t: int, table: FloatArray, k: int, n_labels: int, local: FloatArray, column: int,
    scale: float, least: FloatArray,
) -> float:  # fmt: skip
    """ahead[t, C] ← (ahead[t−1]·table[k, :, C]) ∘ local[t, C]·scale; its sum.

    ``least[4]`` keeps, by lane, the least number above zero that was seen. O(L·count).
    """
    product_tile(count, ahead, t - 1, table, k, n_labels, ahead, t, column)
    total = 0.0
    for c in range(column, column + LANES * count):
        value = ahead[t, c] * (local[t, c] * scale)
        ahead[t, c] = value
        total += value
        if 0.0 < value < least[c % LANES]:
            least[c % LANES] = value
    return total


@kernel
def backward_tile(
    count: int, back: FloatArray, t: int, table: FloatArray, k: int, n_labels: int, local: FloatArray,
    ahead: FloatArray, column: int, scale: float,
) -> None:  # fmt: skip
    """With b = back[t]·table[k, :, C]:  back[t−1, C] ← local[t−1, C]∘b·scale where ahead[t−1, C] is not zero, and
    local[t−1, C] ← ahead[t−1, C]∘b. O(L·count)."""
    product_tile(count, back, t, table, k, n_labels, back, t - 1, column)
    for c in range(column, column + LANES * count):
        b, seen = back[t - 1, c], ahead[t - 1, c]
        back[t - 1, c] = local[t - 1, c] * scale * b if not seen <= 0.0 else 0.0
        local[t - 1, c] = seen * b


@kernel
def step_tile(
    count: int, rows: FloatArray, i: int, table: FloatArray, k: int, n_labels: int, extra: FloatArray, x: int,
    scale: FloatArray, s: int, raw: FloatArray, o: int, out: FloatArray, column: int,
) -> None:  # fmt: skip
    """raw[o, C] ← rows[i]·table[k, :, C] + extra[x, C] and out[o, C] ← raw[o, C]∘scale[s, C]. O(L·count)."""
    product_tile(count, rows, i, table, k, n_labels, raw, o, column)
    for c in range(column, column + LANES * count):
        total = raw[o, c] + extra[x, c]
        raw[o, c] = total
        out[o, c] = total * scale[s, c]


@kernel
def outer_tile(
    count: int, ahead: FloatArray, back: FloatArray, order: IndexArray, start: int, stop: int, out: FloatArray, k: int,
    n_labels: int, column: int, weight: float,
) -> None:  # fmt: skip
    """out[k, :, C] += weight·Σ ahead[t−1] ⊗ back[t, C] over t in order[start:stop] (int32).
    O((stop − start)·L·count)."""
    for n in range(start, stop):
        t = order[n]
        for y in range(n_labels):
            factor = weight * ahead[t - 1, y]
            for c in range(column, column + LANES * count):
                out[k, y, c] += factor * back[t, c]


@kernel
def scatter_tile(
    count: int, indices: IndexArray, data: FloatArray, start: int, stop: int, row: FloatArray, table: FloatArray,
    column: int,
) -> None:  # fmt: skip
    """table[indices[k], C] += data[k]·row[C] for start ≤ k < stop. O((stop − start)·count)."""
    for k in range(start, stop):
        n, factor = indices[k], data[k]
        for c in range(column, column + LANES * count):
            table[n, c] += factor * row[c]


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
