"""Plain twins of ``llvm.blocks``: arrays are [steps, labels, 8], C are the labels column … column + count − 1."""

from __future__ import annotations

import numpy as np

from tiltfit.arrays import FloatArray, IndexArray
from tiltfit.kernels.compile import kernel
from tiltfit.kernels.constants import ABREAST, LANES
from tiltfit.kernels.exponential import exp_of_negative

EDGE_LANES, EDGE_ROWS = 4, 2  # sequences and rows of a that ``outer_block`` takes at a time
_SMALL = 1e-100


@kernel
def load_step(
    node: FloatArray, first: IndexArray, local: FloatArray, t: int, length: IndexArray, tops: FloatArray,
    low: FloatArray,
) -> None:  # fmt: skip
    """local[t, y, n] ← exp(node[r_n, y] − top_n),  r_n = first[n] + min(t, length[n] − 1),  top_n = max_y node[r_n, y],
    which is added to tops[n] if t < length[n];  ``low[8]`` keeps the least difference that was seen. O(L)."""
    for n in range(ABREAST):
        row, top = node[first[n] + min(t, length[n] - 1)], -np.inf
        for y in range(len(row)):
            top = max(top, row[y])
        for y in range(len(row)):
            below = row[y] - top
            local[t, y, n] = exp_of_negative(below)
            low[n] = min(low[n], below)
        if t < length[n]:
            tops[n] += top


@kernel
def scale_step(total: FloatArray, t: int, length: IndexArray, scale: FloatArray) -> None:
    """scale[t, n] ← 1/total[t−1, n] if t < length[n], else 0."""
    for n in range(ABREAST):
        scale[t, n] = 1.0 / total[t - 1, n] if t < length[n] else 0.0


@kernel
def multiply_step(total: FloatArray, t: int, length: IndexArray, product: FloatArray) -> bool:
    """product[n] ← product[n]·total[t, n] where t < length[n]. True if all are well within what a number can hold."""
    inside = True
    for n in range(ABREAST):
        if t < length[n]:
            product[n] *= total[t, n]
        inside = inside and _SMALL < product[n] < 1 / _SMALL
    return inside


@kernel
def scatter_step(local: FloatArray, t: int, node: FloatArray, first: IndexArray, length: IndexArray) -> None:
    """node[first[n] + min(t, length[n] − 1), y] ← local[t, y, n]. O(L)."""
    for n in range(ABREAST):
        r = first[n] + min(t, length[n] - 1)
        for y in range(node.shape[1]):
            node[r, y] = local[t, y, n]


@kernel
def _product(rows: FloatArray, t: int, table: FloatArray, n_labels: int, c: int, out: FloatArray, o: int) -> None:
    """out[o, c, n] ← Σ_i rows[t, i, n]·table[i, c]."""
    for n in range(0, ABREAST, LANES):  # a register at a time, if the compiler likes
        sum0, sum1, sum2, sum3 = 0.0, 0.0, 0.0, 0.0
        for i in range(n_labels):
            factor = table[i, c]
            sum0 += rows[t, i, n] * factor
            sum1 += rows[t, i, n + 1] * factor
            sum2 += rows[t, i, n + 2] * factor
            sum3 += rows[t, i, n + 3] * factor
        out[o, c, n], out[o, c, n + 1], out[o, c, n + 2], out[o, c, n + 3] = sum0, sum1, sum2, sum3


@kernel
def forward_block(
    count: int, ahead: FloatArray, t: int, table: FloatArray, n_labels: int, local: FloatArray, scale: FloatArray,
    total: FloatArray, column: int,
) -> None:  # fmt: skip
    """ahead[t, C] ← (ahead[t−1]·table[:, C])∘local[t, C]·scale[t] and total[t] += Σ ahead[t, C]. O(L·count)."""
    for c in range(column, column + count):
        _product(ahead, t - 1, table, n_labels, c, ahead, t)
        for n in range(ABREAST):
            ahead[t, c, n] *= local[t, c, n] * scale[t, n]
            total[t, n] += ahead[t, c, n]


@kernel
def backward_block(
    count: int, back: FloatArray, t: int, table: FloatArray, n_labels: int, local: FloatArray, ahead: FloatArray,
    scale: FloatArray, end: FloatArray, column: int,
) -> None:  # fmt: skip
    """With b = back[t+1]·table[:, C] + end[t]:  back[t, C] ← local[t, C]∘b·scale[t] and local[t, C] ← ahead[t, C]∘b.
    O(L·count)."""
    for c in range(column, column + count):
        _product(back, t + 1, table, n_labels, c, back, t)
        for n in range(ABREAST):
            b = back[t, c, n] + end[t, n]
            back[t, c, n] = local[t, c, n] * scale[t, n] * b
            local[t, c, n] = ahead[t, c, n] * b


@kernel
def outer_block(
    count: int, ahead: FloatArray, back: FloatArray, steps: int, out: FloatArray, n_labels: int, column: int, lane: int,
    weight: FloatArray,
) -> None:  # fmt: skip
    """out[:, C] += weight∘Σ ahead[t−1] ⊗ back[t, C] over 1 ≤ t < steps, sequence by sequence for lane … lane +
    EDGE_LANES − 1; ``out`` is [P, P, EDGE_LANES]. O(steps·L·count)."""
    for n in range(out.shape[2]):
        m = lane + n
        for i in range(n_labels):
            for c in range(column, column + count):
                total = 0.0
                for t in range(1, steps):
                    total += ahead[t - 1, i, m] * back[t, c, m]
                out[i, c, n] += weight[m] * total
