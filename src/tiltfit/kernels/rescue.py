"""Forward–backward on logarithms: for the few sequences whose scores differ too much for scaled probabilities.

    x_t(j) = s_t(j) + log Σ_i exp(x_{t−1}(i) + T(i, j)),      β_{t−1}(i) = log Σ_j exp(T(i, j) + s_t(j) + β_t(j))

Each row is shifted so that what matters is near zero: sums over 10,000 positions of scores of 5·10⁴ would otherwise
leave only seven digits for the marginals. Some twenty times the cost of the scaled recursions.
"""

from __future__ import annotations

import numpy as np

from tiltfit.arrays import FloatArray, IndexArray
from tiltfit.kernels.compile import kernel
from tiltfit.kernels.exponential import exp_of_negative


@kernel
def log_product(row: FloatArray, table: FloatArray, n_labels: int, out: FloatArray, room: FloatArray) -> None:
    """out[j] ← log Σ_i exp(row[i] + table[i, j]), −inf where all terms are. O(L²).

    ``room``, as large as the table, is left with exp(row[i] + table[i, j] − max_i).
    """
    width = len(out)
    for j in range(width):
        out[j] = -np.inf
    for i in range(n_labels):
        for j in range(width):
            value = row[i] + table[i, j]
            room[i, j] = value
            out[j] = value if value > out[j] else out[j]
    for j in range(width):
        out[j] = out[j] if out[j] > -np.inf else 0.0
    for i in range(n_labels):
        for j in range(width):
            room[i, j] -= out[j]
    exp_all(room, n_labels * width)
    for j in range(width):
        total = 0.0
        for i in range(n_labels):
            total += room[i, j]
        out[j] += np.log(total)


@kernel
def exp_all(room: FloatArray, n: int) -> None:
    """The exponential of the first n numbers, all ≤ 0, in one long loop: short ones leave much to their ends."""
    flat = room.reshape(room.size)
    for m in range(n):
        flat[m] = exp_of_negative(flat[m])


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
    room = np.empty((width, width))
    log_z = 0.0
    for t in range(stop - start):
        if t == 0:
            x[0, :n_labels] = 0.0
            x[0, n_labels:] = -np.inf
        else:
            log_product(x[t - 1], table[kind[start + t]], n_labels, x[t], room)
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
    room, beta, both = np.empty((width, width)), np.zeros(width), np.empty(width)
    for t in range(n - 1, -1, -1):
        for y in range(width):
            both[y] = x[t, y] + beta[y] if x[t, y] > -np.inf else -np.inf
        shift = centre(both)
        total = log_sum(both)
        if t < n - 1 and weight != 0.0:
            k = kind[start + t + 1]
            _add_pairs(x[t], v[t + 1], table[k], n_labels, shift + total, weight, direct[k], room)
        for y in range(n_labels):
            # A label that cannot be reached must not lead what follows by an arbitrary margin.
            v[t, y] = node[start + t, y] + (beta[y] - shift) if x[t, y] > -np.inf else -np.inf
            node[start + t, y] = exp_of_negative(both[y] - total)
        v[t, n_labels:] = -np.inf
        if t > 0:
            log_product(v[t], table_t[kind[start + t]], n_labels, beta, room)
    return log_z


@kernel
def _add_pairs(
    x: FloatArray,
    v: FloatArray,
    table: FloatArray,
    n_labels: int,
    log_total: float,
    weight: float,
    out: FloatArray,
    room: FloatArray,
) -> None:
    """out[i, j] += weight·exp(x[i] + table[i, j] + v[j] − log_total)."""
    for i in range(n_labels):
        for j in range(len(v)):
            room[i, j] = (x[i] - log_total) + table[i, j] + v[j]
    exp_all(room, n_labels * len(v))
    for i in range(n_labels):
        for j in range(len(v)):
            out[i, j] += weight * room[i, j]
