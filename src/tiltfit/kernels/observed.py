"""Products of a sparse matrix with weights that exist for some pairs of attribute and label only."""

from __future__ import annotations

from tiltfit.arrays import FloatArray, IndexArray
from tiltfit.kernels.compile import kernel
from tiltfit.kernels.primitives import ask_for

_AHEAD = 16  # entries between asking for a number and using it


@kernel
def add_pairs(
    indptr: IndexArray,
    pairs: IndexArray,
    data: FloatArray,
    label: IndexArray,
    weights: FloatArray,
    node: FloatArray,
    start: int,
    stop: int,
) -> None:
    """node[i, label[p]] += data·weights[p] over the pairs p of position i, start ≤ i < stop. O(entries)."""
    for i in range(start, stop):
        for k in range(indptr[i], indptr[i + 1]):
            p = pairs[k]
            node[i, label[p]] += data[k] * weights[p]


@kernel
def sum_pairs(
    indptr: IndexArray,
    cells: IndexArray,
    data: FloatArray,
    values: FloatArray,
    out: FloatArray,
    start: int,
    stop: int,
) -> None:
    """out[p] ← Σ data·values[cell] over the cells of pair p, start ≤ p < stop: one write a pair. O(entries)."""
    last = len(cells) - 1
    for p in range(start, stop):
        total = 0.0
        for k in range(indptr[p], indptr[p + 1]):
            ask_for(values, cells[min(k + _AHEAD, last)])
            total += data[k] * values[cells[k]]
        out[p] = total
