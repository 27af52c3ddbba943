"""Products of a sparse matrix with a dense one that has a few columns (one a label)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tiltfit.inference.kernels.compile import kernel

FloatArray = npt.NDArray[np.float64]
IndexArray = npt.NDArray[Any]


@kernel
def add_product(
    indptr: IndexArray, indices: IndexArray, data: FloatArray, dense: FloatArray, out: FloatArray, start: int, stop: int
) -> None:
    """out[i] += Σ_j A[i, j]·dense[j]  for start ≤ i < stop, A in compressed rows. O(non-zeros·L).

    With A = X it scores positions; with A = Xᵀ (the same matrix in compressed columns) it is the adjoint, one write a
    row: no races, and the same result at any number of threads.
    """
    n_labels = dense.shape[1]
    for i in range(start, stop):
        row = out[i]
        k, end = indptr[i], indptr[i + 1]
        # Four rows of `dense` a pass: the accumulator is then read and written a quarter as often.
        while k + 4 <= end:
            a0, a1, a2, a3 = data[k], data[k + 1], data[k + 2], data[k + 3]
            d0, d1, d2, d3 = dense[indices[k]], dense[indices[k + 1]], dense[indices[k + 2]], dense[indices[k + 3]]
            for y in range(n_labels):
                row[y] += a0 * d0[y] + a1 * d1[y] + a2 * d2[y] + a3 * d3[y]
            k += 4
        while k < end:
            a, d = data[k], dense[indices[k]]
            for y in range(n_labels):
                row[y] += a * d[y]
            k += 1
