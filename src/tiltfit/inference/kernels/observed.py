"""Products of a sparse matrix with weights that exist for some pairs of attribute and label only."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tiltfit.inference.kernels.compile import kernel

FloatArray = npt.NDArray[np.float64]
IndexArray = npt.NDArray[Any]


@kernel
def add_scores(
    indptr: IndexArray,
    indices: IndexArray,
    data: FloatArray,
    first: IndexArray,
    label: IndexArray,
    weights: FloatArray,
    node: FloatArray,
    start: int,
    stop: int,
) -> None:
    """node[i, label_p] += X[i, a]·weights[p] for all p of attribute a, start ≤ i < stop."""
    for i in range(start, stop):
        for k in range(indptr[i], indptr[i + 1]):
            a = indices[k]
            x = data[k]
            for p in range(first[a], first[a + 1]):
                node[i, label[p]] += x * weights[p]


@kernel
def sum_pairs(
    indptr: IndexArray,
    indices: IndexArray,
    data: FloatArray,
    first: IndexArray,
    label: IndexArray,
    node: FloatArray,
    out: FloatArray,
    start: int,
    stop: int,
) -> None:
    """out[p] = Σ_i X[i, a]·node[i, label_p] for all p of attribute a, start ≤ a < stop; rows of the transpose."""
    for a in range(start, stop):
        for p in range(first[a], first[a + 1]):
            out[p] = 0.0
        for k in range(indptr[a], indptr[a + 1]):
            i = indices[k]
            x = data[k]
            for p in range(first[a], first[a + 1]):
                out[p] += x * node[i, label[p]]
