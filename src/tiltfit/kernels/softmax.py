"""Softmax over the rows of a matrix.

Rows are taken a block at a time, so that one long loop computes the exponentials of all of them: it vectorises whatever
the number of labels.
"""

from __future__ import annotations

import numpy as np

from tiltfit.arrays import FloatArray
from tiltfit.kernels.compile import kernel
from tiltfit.kernels.exponential import exp_of_negative

_BLOCK = 1024  # numbers in a block: they stay in the first-level cache


@kernel
def softmax_rows(node: FloatArray, log_z: FloatArray, start: int, stop: int) -> None:
    """node[i] ← exp(node[i] − log_z[i]),  log_z[i] ← log Σ exp node[i],  for start ≤ i < stop. O(rows·L).

    A row whose labels are all forbidden (−inf) gets log Z = −inf and p = 0.
    """
    n_labels = node.shape[1]
    step = max(1, _BLOCK // max(1, n_labels))
    for first in range(start, stop, step):
        block = node[first : min(first + step, stop)]
        log_sum = log_z[first : first + len(block)]
        for i in range(len(block)):
            top = -np.inf
            for y in range(n_labels):
                top = max(top, block[i, y])
            log_sum[i] = top
            if top != -np.inf:
                for y in range(n_labels):
                    block[i, y] -= top
        flat = block.reshape(block.size)
        for k in range(len(flat)):
            flat[k] = exp_of_negative(flat[k])
        for i in range(len(block)):
            total = 0.0
            for y in range(n_labels):
                total += block[i, y]
            if total != 0.0:
                log_sum[i] += np.log(total)
                for y in range(n_labels):
                    block[i, y] /= total
