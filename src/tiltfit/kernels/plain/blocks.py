"""Plain twins of ``llvm.blocks``: arrays are [steps, labels, 8], C are the labels column … column + count − 1."""

from __future__ import annotations

import numpy as np

from tiltfit.arrays import FloatArray, IndexArray
from tiltfit.kernels.compile import kernel
from tiltfit.kernels.constants import ABREAST
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
        row = node[first[n] + min(t, length[n] - 1)]
        for y in range(len(row)):
            row[y] = local[t, y, n]


@kernel
def _product(row: FloatArray, table: FloatArray, n_labels: int, c: int, out: FloatArray) -> None:
    """out[n] ← Σ_i row[i, n]·table[i, c]."""
    for n in range(ABREAST):
        out[n] = 0.0
    for i in range(n_labels):
        for n in range(ABREAST):
            out[n] += row[i, n] * table[i, c]


@kernel
def forward_block(
    count: int, ahead: FloatArray, t: int, table: FloatArray, n_labels: int, local: FloatArray, scale: FloatArray,
    total: FloatArray, column: int,
) -> None:  # fmt: skip
    """ahead[t, C] ← (ahead[t−1]·table[:, C])∘local[t, C]·scale[t] and total[t] += Σ ahead[t, C]. O(L·count)."""
    for c in range(column, column + count):
        new = ahead[t, c]
        _product(ahead[t - 1], table, n_labels, c, new)
        for n in range(ABREAST):
            new[n] *= local[t, c, n] * scale[t, n]
            total[t, n] += new[n]


@kernel
def backward_block(
    count: int, back: FloatArray, t: int, table: FloatArray, n_labels: int, local: FloatArray, ahead: FloatArray,
    scale: FloatArray, end: FloatArray, column: int,
) -> None:  # fmt: skip
    """With b = back[t+1]·table[:, C] + end[t]:  back[t, C] ← local[t, C]∘b·scale[t] and local[t, C] ← ahead[t, C]∘b.
    O(L·count)."""
    for c in range(column, column + count):
        new = back[t, c]
        _product(back[t + 1], table, n_labels, c, new)
        for n in range(ABREAST):
            b = new[n] + end[t, n]
            new[n] = local[t, c, n] * scale[t, n] * b
            local[t, c, n] = ahead[t, c, n] * b


@kernel
def outer_block(
    count: int, ahead: FloatArray, back: FloatArray, steps: int, out: FloatArray, n_labels: int, column: int, lane: int,
    weight: FloatArray,
) -> None:  # fmt: skip
    """out[:, C] += weight∘Σ ahead[t−1] ⊗ back[t, C] over 1 ≤ t < steps, sequence by sequence for lane … lane +
    EDGE_LANES − 1; ``out`` is [P, P, EDGE_LANES]. O(steps·L·count)."""
    for t in range(1, steps):
        for i in range(n_labels):
            for c in range(column, column + count):
                for n in range(out.shape[2]):
                    out[i, c, n] += weight[lane + n] * ahead[t - 1, i, lane + n] * back[t, c, lane + n]
