"""Products of sparse matrices with dense ones that have a few columns, one per label.

    out = X·W  and its adjoint  Xᵀ·R

The adjoint has a second way, for the few columns that are most of the non-zeros: position by position, into a table
that stays in the cache (``scatter_rows``). On CoNLL-2000 that took it from 100 to 45 ms. Further products are with
weights that exist for some pairs of attribute and label only (``add_pairs``, ``sum_pairs``), with the tables of
constraints (``add_scores``, ``add_expectations``), and with known labels (``sum_at``, ``subtract_at``).
"""

from __future__ import annotations

import numpy as np

from tiltfit.arrays import FloatArray, IndexArray
from tiltfit.kernels.compile import kernel, summing_kernel
from tiltfit.kernels.constants import AHEAD, LANES, WIDEST
from tiltfit.kernels.primitives import sparse, tiles

_tile_1, _tile_2, _tile_3 = sparse.sparse_tile(1, 1), sparse.sparse_tile(2, 1), sparse.sparse_tile(2, 2)
_tile_4, _tile_8, _tile_12, _tile_16 = (sparse.sparse_tile(4, n) for n in (1, 2, 3, 4))
_tile_20, _tile_24, _tile_28, _tile_32 = (sparse.sparse_tile(4, n) for n in (5, 6, 7, 8))


@kernel
def add_product(
    indptr: IndexArray,
    indices: IndexArray,
    data: FloatArray | None,
    rows: IndexArray,
    dense: FloatArray,
    more: FloatArray,
    inner: FloatArray | None,
    outer: FloatArray | None,
    base: FloatArray,
    out: FloatArray,
    start: int,
    stop: int,
) -> None:
    """out[rows[r]] ← outer[rows[r]]·(base + Σ_j A[r, j]·inner[j]·[dense; more][j])  for start ≤ r < stop, A in
    compressed rows. O(non-zeros·L).

    ``data`` None: all non-zeros are 1 and need not be read; so with ``inner`` and ``outer``. ``more``: further rows,
    with as many columns.

    With A = X it scores positions; with A = Xᵀ (the same matrix in compressed columns) it is the adjoint, one write a
    row: no races, and the same result at any number of threads. What ``out`` held before does not matter.
    """
    n_labels = dense.shape[1]
    ready = 0
    while ready < n_labels:
        first = min(ready, max(0, n_labels - 4))  # at least four columns, where there are four
        width = min(32, n_labels - first)
        ready = first + width
        if width > 28:
            _tile_32(indptr, indices, data, rows, start, stop, dense, more, inner, outer, first, width, base, out)
        elif width > 24:
            _tile_28(indptr, indices, data, rows, start, stop, dense, more, inner, outer, first, width, base, out)
        elif width > 20:
            _tile_24(indptr, indices, data, rows, start, stop, dense, more, inner, outer, first, width, base, out)
        elif width > 16:
            _tile_20(indptr, indices, data, rows, start, stop, dense, more, inner, outer, first, width, base, out)
        elif width > 12:
            _tile_16(indptr, indices, data, rows, start, stop, dense, more, inner, outer, first, width, base, out)
        elif width > 8:
            _tile_12(indptr, indices, data, rows, start, stop, dense, more, inner, outer, first, width, base, out)
        elif width > 4:
            _tile_8(indptr, indices, data, rows, start, stop, dense, more, inner, outer, first, width, base, out)
        elif width == 4:
            _tile_4(indptr, indices, data, rows, start, stop, dense, more, inner, outer, first, width, base, out)
        elif width == 3:
            _tile_3(indptr, indices, data, rows, start, stop, dense, more, inner, outer, first, width, base, out)
        elif width == 2:
            _tile_2(indptr, indices, data, rows, start, stop, dense, more, inner, outer, first, width, base, out)
        else:
            _tile_1(indptr, indices, data, rows, start, stop, dense, more, inner, outer, first, width, base, out)


@kernel
def scatter_rows(
    indptr: IndexArray,
    indices: IndexArray,
    data: FloatArray,
    values: FloatArray,
    cuts: IndexArray,
    tables: FloatArray,
    first: int,
    last: int,
) -> None:
    """tables[c, j] ← Σ_i A[i, j]·values[i] over cuts[c] ≤ i < cuts[c + 1], for first ≤ c < last. O(non-zeros·L).

    The columns of ``tables`` are padded to a multiple of four. Chunks c are cut by the data alone, so that the sum of
    the tables does not depend on who makes which.
    """
    n_labels, width = values.shape[1], tables.shape[2]
    row = np.zeros(width)
    for c in range(first, last):
        table = tables[c]
        table[:] = 0.0
        for i in range(cuts[c], cuts[c + 1]):
            for y in range(n_labels):
                row[y] = values[i, y]
            column = 0
            while column < width:
                count = min(WIDEST, (width - column) // LANES)
                tiles.scatter_tile(count, indices, data, indptr[i], indptr[i + 1], row, table, column)
                column += LANES * count


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
            sparse.ask_for(values, cells[min(k + AHEAD, last)])
            total += data[k] * values[cells[k]]
        out[p] = total


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


@summing_kernel
def sum_at(values: FloatArray, places: IndexArray, weight: FloatArray) -> float:
    """Σ_k weight[k]·values[places[k]]. O(places)."""
    total = 0.0
    for k in range(len(places)):
        total += weight[k] * values[places[k]]
    return total


@kernel
def subtract_at(values: FloatArray, places: IndexArray, weight: FloatArray) -> None:
    """values[places[k]] −= weight[k]. O(places)."""
    for k in range(len(places)):
        values[places[k]] -= weight[k]
