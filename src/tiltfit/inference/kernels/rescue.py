"""Forward–backward on logarithms: for the few sequences whose scores differ too much for scaled probabilities.

    x_t(j) = s_t(j) + log Σ_i exp(x_{t−1}(i) + T(i, j)),      β_{t−1}(i) = log Σ_j exp(T(i, j) + s_t(j) + β_t(j))

Each row is shifted so that what matters is near zero: sums over 10,000 positions of scores of 5·10⁴ would otherwise
leave only seven digits for the marginals. About ten times the cost of the scaled recursions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tiltfit.inference.kernels.compile import kernel
from tiltfit.inference.kernels.softmax import exp_of_negative

FloatArray = npt.NDArray[np.float64]
IndexArray = npt.NDArray[Any]


@kernel
def log_product(row: FloatArray, table: FloatArray, n_labels: int, out: FloatArray, top: FloatArray) -> None:
    """out[j] ← log Σ_i exp(row[i] + table[i, j]), −inf where all terms are. ``top`` is room for a row. O(L²)."""
    top[:] = -np.inf
    for i in range(n_labels):
        x = row[i]
        for j in range(len(top)):
            value = x + table[i, j]
            top[j] = value if value > top[j] else top[j]
    for j in range(len(top)):
        top[j] = top[j] if top[j] > -np.inf else 0.0
        out[j] = 0.0
    for i in range(n_labels):
        x = row[i]
        for j in range(len(top)):
            out[j] += exp_of_negative(x + table[i, j] - top[j])
    for j in range(len(top)):
        out[j] = top[j] + np.log(out[j])


@kernel
def centre(row: FloatArray) -> float:
    """row ← row − max; returns the maximum. −inf: nothing is changed."""
    top = -np.inf
    for y in range(len(row)):
        top = row[y] if row[y] > top else top
    if top > -np.inf:
        for y in range(len(row)):
            row[y] -= top
    return top


@kernel
def log_sum(row: FloatArray) -> float:
    """log Σ exp(row) of a row whose maximum is 0."""
    total = 0.0
    for y in range(len(row)):
        total += exp_of_negative(row[y])
    return float(np.log(total))


@kernel
def log_forward(node: FloatArray, kind: IndexArray, start: int, stop: int, table: FloatArray, x: FloatArray) -> float:
    """x[t], each row with maximum 0, and log Z; −inf where no labelling is possible. O(n·L²)."""
    n_labels, width = node.shape[1], x.shape[1]
    top = np.empty(width)
    log_z = 0.0
    for t in range(stop - start):
        if t == 0:
            x[0, :n_labels] = 0.0
            x[0, n_labels:] = -np.inf
        else:
            log_product(x[t - 1], table[kind[start + t]], n_labels, x[t], top)
        for y in range(n_labels):
            x[t, y] += node[start + t, y]
        shift = centre(x[t])
        if shift == -np.inf:
            for y in range(n_labels):
                if x[t, y] != x[t, y]:
                    return np.nan
            return -np.inf
        log_z += shift
    return log_z + log_sum(x[stop - start - 1])


@kernel
def log_forward_backward(
    node: FloatArray,
    kind: IndexArray,
    start: int,
    stop: int,
    table: FloatArray,
    table_t: FloatArray,
    x: FloatArray,
    v: FloatArray,
    weight: float,
    direct: FloatArray,
) -> float:
    """log Z; node[start:stop] from log-potentials to marginals; weighted edge marginals are added to ``direct``.

    ``x`` and ``v`` are room for the sequence, labels padded. O(n·L²).
    """
    n, n_labels, width = stop - start, node.shape[1], x.shape[1]
    log_z = log_forward(node, kind, start, stop, table, x)
    if log_z == -np.inf:
        node[start:stop] = 0.0
        return -np.inf
    top, beta, both = np.empty(width), np.zeros(width), np.empty(width)
    for t in range(n - 1, -1, -1):
        for y in range(width):
            both[y] = x[t, y] + beta[y] if x[t, y] > -np.inf else -np.inf
        shift = centre(both)
        total = log_sum(both)
        if t < n - 1 and weight != 0.0:
            _add_pairs(x[t], v[t + 1], table[kind[start + t + 1]], shift + total, weight, direct[kind[start + t + 1]])
        for y in range(n_labels):
            # A label that cannot be reached must not lead what follows by an arbitrary margin.
            v[t, y] = node[start + t, y] + (beta[y] - shift) if x[t, y] > -np.inf else -np.inf
            node[start + t, y] = exp_of_negative(both[y] - total)
        v[t, n_labels:] = -np.inf
        if t > 0:
            log_product(v[t], table_t[kind[start + t]], n_labels, beta, top)
    return log_z


@kernel
def _add_pairs(
    x: FloatArray, v: FloatArray, table: FloatArray, log_total: float, weight: float, out: FloatArray
) -> None:
    """out[i, j] += weight·exp(x[i] + table[i, j] + v[j] − log_total)."""
    for i in range(len(x)):
        shift = x[i] - log_total
        for j in range(len(v)):
            out[i, j] += weight * exp_of_negative(shift + table[i, j] + v[j])
