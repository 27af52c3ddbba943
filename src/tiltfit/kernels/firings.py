"""Constraint features: parts that fire at places, each with a table over labels.

    score[i] = Σ_p fires[i, p]·price[p]·table[p]        E[row] = Σ_{p of row} Σ_i w_i·fires[i, p]·⟨table[p], q_i⟩

``fires`` is places × parts in compressed rows; a place where nothing fires costs no more than a look at it.
"""

from __future__ import annotations

from tiltfit.arrays import FloatArray, IndexArray
from tiltfit.kernels.compile import kernel


@kernel
def add_scores(
    indptr: IndexArray, parts: IndexArray, data: FloatArray, price: FloatArray, table: FloatArray, out: FloatArray
) -> None:
    """out[i] += Σ_p fires[i, p]·price[p]·table[p]. O(places + firings·L)."""
    for i in range(len(indptr) - 1):
        for k in range(indptr[i], indptr[i + 1]):
            factor = data[k] * price[parts[k]]
            for y in range(table.shape[1]):
                out[i, y] += factor * table[parts[k], y]


@kernel
def add_expectations(
    indptr: IndexArray,
    parts: IndexArray,
    data: FloatArray,
    weight: FloatArray | None,
    table: FloatArray,
    row: IndexArray,
    values: FloatArray,
    sums: FloatArray,
) -> None:
    """sums[row[p]] += Σ_i weight[i]·fires[i, p]·Σ_y table[p, y]·values[i, y]. ``weight`` None: 1.
    O(places + firings·L)."""
    for i in range(len(indptr) - 1):
        for k in range(indptr[i], indptr[i + 1]):
            total = 0.0
            for y in range(table.shape[1]):
                total += table[parts[k], y] * values[i, y]
            sums[row[parts[k]]] += total * data[k] * (1.0 if weight is None else weight[i])
