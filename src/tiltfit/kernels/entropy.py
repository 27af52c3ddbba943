"""The entropy of linear chains, as a sum of terms that are not negative: nothing cancels.

With P(i | j) the probability of y_{t−1} = i given y_t = j and all that precedes,

    h_t(j) = Σ_i P(i | j)·[h_{t−1}(i) − log P(i | j)],      H = Σ_j P(y_n = j)·[h_n(j) − log P(y_n = j)]
"""

from __future__ import annotations

import numpy as np

from tiltfit.arrays import FloatArray, IndexArray
from tiltfit.kernels.compile import kernel
from tiltfit.kernels.exponential import exp_of_negative
from tiltfit.kernels.rescue import exp_all, log_forward, log_product, log_sum

_NONE = -800.0  # the logarithm of what counts as zero: its exponential is 0, and 0·(−800) is not NaN


@kernel
def chain_entropy(
    node: FloatArray,
    offsets: IndexArray,
    kind: IndexArray,
    table: FloatArray,
    entropy: FloatArray,
    start: int,
    stop: int,
) -> None:
    """entropy[s] of sequences start … stop − 1, in nats; 0 where no labelling is possible. ``table`` is T, labels
    padded with −inf. O(N·L²) exponentials, room for one sequence."""
    n_labels, width, longest = node.shape[1], table.shape[2], 0
    for s in range(start, stop):
        longest = max(longest, offsets[s + 1] - offsets[s])
    x = np.empty((longest, width))
    total, old, new, room = np.empty(width), np.empty(width), np.empty(width), np.empty((width, width))
    for s in range(start, stop):
        first, n = offsets[s], offsets[s + 1] - offsets[s]
        entropy[s] = 0.0
        if log_forward(node, kind, first, first + n, table, x) == -np.inf:
            continue
        old[:] = 0.0
        for t in range(1, n):
            edges = table[kind[first + t]]
            log_product(x[t - 1], edges, n_labels, total, room)
            _step(x[t - 1], edges, n_labels, total, old, new, room)
            old, new = new, old
        level = log_sum(x[n - 1])
        for j in range(n_labels):
            d = max(x[n - 1, j] - level, _NONE)
            entropy[s] += exp_of_negative(d) * (old[j] - d)


@kernel
def _step(
    x: FloatArray,
    table: FloatArray,
    n_labels: int,
    total: FloatArray,
    old: FloatArray,
    new: FloatArray,
    room: FloatArray,
) -> None:
    """new[j] ← Σ_i P(i | j)·(old[i] − log P(i | j)),  log P(i | j) = x[i] + table[i, j] − total[j]."""
    for j in range(len(new)):
        new[j] = 0.0
        total[j] = total[j] if total[j] > -np.inf else 0.0
    for i in range(n_labels):
        for j in range(len(new)):
            room[i, j] = x[i] + table[i, j] - total[j]
    exp_all(room, n_labels * len(new))
    for i in range(n_labels):
        for j in range(len(new)):
            d = x[i] + table[i, j] - total[j]
            new[j] += room[i, j] * (old[i] - (d if d > _NONE else _NONE))
