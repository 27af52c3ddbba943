"""Softmax over the rows of a matrix."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tiltfit.inference.kernels.compile import kernel

FloatArray = npt.NDArray[np.float64]


@kernel
def softmax_rows(node: FloatArray, log_z: FloatArray, start: int, stop: int) -> None:
    """node[i] ← exp(node[i] − log_z[i]),  log_z[i] ← log Σ exp node[i],  for start ≤ i < stop. O(rows·L)."""
    n_labels = node.shape[1]
    for i in range(start, stop):
        top = -np.inf
        for y in range(n_labels):
            top = max(top, node[i, y])
        if top == -np.inf:  # every label is forbidden
            log_z[i] = -np.inf
            for y in range(n_labels):
                node[i, y] = 0.0
            continue
        total = 0.0
        for y in range(n_labels):
            node[i, y] = np.exp(node[i, y] - top)
            total += node[i, y]
        log_z[i] = top + np.log(total)
        for y in range(n_labels):
            node[i, y] /= total
