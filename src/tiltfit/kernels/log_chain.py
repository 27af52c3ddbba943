"""Linear chains on logarithms: forward–backward and derivatives for the few sequences whose scores differ too much for
scaled probabilities (``chain``, ``tangent``), and the entropy of all.

    x_t(j) = s_t(j) + log Σ_i exp(x_{t−1}(i) + T(i, j)),      β_{t−1}(i) = log Σ_j exp(T(i, j) + s_t(j) + β_t(j))

Each row is shifted so that what matters is near zero: sums over 10,000 positions of scores of 5·10⁴ would otherwise
leave only seven digits for the marginals. Some twenty times the cost of the scaled recursions.

    F_t(j) = E[D up to t | y_t = j]      B_t(i) = E[D after t | y_t = i]      Cov = p·(F + B − E[D])

are the derivatives along D; conditional expectations need no scale. With P(i | j) the probability of y_{t−1} = i given
y_t = j and all that precedes,

    h_t(j) = Σ_i P(i | j)·[h_{t−1}(i) − log P(i | j)],      H = Σ_j P(y_n = j)·[h_n(j) − log P(y_n = j)]

is the entropy, a sum of terms that are not negative: nothing cancels.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tiltfit.arrays import FloatArray, IndexArray
from tiltfit.kernels.compile import kernel
from tiltfit.kernels.exponential import exp_of_negative

if TYPE_CHECKING:
    from tiltfit.kernels.chain import Tables
    from tiltfit.kernels.tangent import Direction

_NONE = -800.0  # the logarithm of what counts as zero: its exponential is 0, and 0·(−800) is not NaN


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


@kernel
def differentiate_on_logarithms(
    node: FloatArray,
    direction: Direction,
    kind: IndexArray,
    start: int,
    stop: int,
    tables: Tables,
    weight: float,
    direct: FloatArray,
    out: FloatArray,
) -> None:
    """``tangent.differentiate`` of one sequence, of weight ``weight``. O(n·L²) exponentials."""
    n, width = stop - start, tables.log.shape[2]
    x, beta, past, future = np.empty((n, width)), np.zeros((n, width)), np.zeros((n, width)), np.zeros((n, width))
    log_forward(node, kind, start, stop, tables.log, x)
    _past(direction, kind, start, stop, tables, x, past)
    _future(node, direction, kind, start, stop, tables, x, beta, future)
    share, mean = np.empty(width), 0.0
    for t in range(n):
        _shares(x[t], beta[t], node.shape[1], share)
        if t == 0:
            for y in range(node.shape[1]):
                mean += share[y] * (past[0, y] + future[0, y])
        for y in range(node.shape[1]):
            out[start + t, y] = weight * share[y] * (past[t, y] + future[t, y] - mean)
        if t > 0:
            k = kind[start + t]
            for y in range(node.shape[1]):
                future[t, y] += _moved(direction, start + t, y)
            _add_covariances(
                node[start + t], tables.log[k], x[t - 1], x[t], beta[t], past[t - 1], future[t], mean, weight, direct[k]
            )


@kernel
def _moved(direction: Direction, t: int, y: int) -> float:
    """g_t(y)."""
    place = direction.place[t]
    return direction.node[place, y] if place >= 0 else 0.0


@kernel
def _past(
    direction: Direction, kind: IndexArray, start: int, stop: int, tables: Tables, x: FloatArray, past: FloatArray
) -> None:
    """F_t(j) = g_t(j) + Σ_i P(i | j)·(F_{t−1}(i) + G(i, j))."""
    n_labels, width = direction.node.shape[1], past.shape[1]
    room, total = np.empty((width, width)), np.empty(width)
    for t in range(stop - start):
        if t > 0:
            k = kind[start + t]
            _conditional(x[t - 1], tables.log[k], n_labels, total, room)
            for i in range(n_labels):
                for j in range(n_labels):
                    past[t, j] += room[i, j] * (past[t - 1, i] + direction.edge[k, i, j])
        for j in range(n_labels):
            past[t, j] += _moved(direction, start + t, j)


@kernel
def _future(
    node: FloatArray,
    direction: Direction,
    kind: IndexArray,
    start: int,
    stop: int,
    tables: Tables,
    x: FloatArray,
    beta: FloatArray,
    future: FloatArray,
) -> None:
    """β, each row with maximum 0, and B_{t−1}(i) = Σ_j P(j | i)·(G(i, j) + g_t(j) + B_t(j))."""
    n_labels, width = node.shape[1], beta.shape[1]
    room, total, step = np.empty((width, width)), np.empty(width), np.full(width, -np.inf)
    for t in range(stop - start - 1, 0, -1):
        k = kind[start + t]
        for j in range(n_labels):
            step[j] = node[start + t, j] + beta[t, j] if x[t, j] > -np.inf else -np.inf
        _conditional(step, tables.log_t[k], n_labels, total, room)
        for j in range(n_labels):
            for i in range(n_labels):
                ahead = _moved(direction, start + t, j) + direction.edge[k, i, j] + future[t, j]
                future[t - 1, i] += room[j, i] * ahead
        log_product(step, tables.log_t[k], n_labels, beta[t - 1], room)
        centre(beta[t - 1])


@kernel
def _add_covariances(
    node: FloatArray,
    table: FloatArray,
    before: FloatArray,
    x: FloatArray,
    beta: FloatArray,
    past: FloatArray,
    future: FloatArray,
    mean: float,
    weight: float,
    direct: FloatArray,
) -> None:
    """direct[i, j] += weight·p(i, j)·(F_{t−1}(i) + g_t(j) + B_t(j) − E[D]); ``future`` is g + B."""
    n_labels = len(node)
    pairs = np.empty((n_labels, n_labels))
    top, level = -np.inf, 0.0
    for i in range(n_labels):
        for j in range(n_labels):
            after = node[j] + beta[j] if x[j] > -np.inf else -np.inf
            pairs[i, j] = before[i] + table[i, j] + after
            top = max(top, pairs[i, j])
    for i in range(n_labels):
        for j in range(n_labels):
            pairs[i, j] = exp_of_negative(pairs[i, j] - top)
            level += pairs[i, j]
    for i in range(n_labels):
        for j in range(n_labels):
            direct[i, j] += weight * pairs[i, j] / level * (past[i] + future[j] - mean)


@kernel
def _conditional(row: FloatArray, table: FloatArray, n_labels: int, total: FloatArray, room: FloatArray) -> None:
    """room[i, j] ← P(i | j) ∝ exp(row[i] + table[i, j]); 0 where nothing is possible."""
    log_product(row, table, n_labels, total, room)
    for j in range(n_labels):
        level = 0.0
        for i in range(n_labels):
            level += room[i, j]
        for i in range(n_labels):
            room[i, j] = room[i, j] / level if level > 0.0 else 0.0


@kernel
def _shares(x: FloatArray, beta: FloatArray, n_labels: int, share: FloatArray) -> None:
    """share ∝ exp(x + β)."""
    for y in range(len(share)):
        share[y] = x[y] + beta[y] if y < n_labels and x[y] > -np.inf else -np.inf
    centre(share)
    level = log_sum(share)
    for y in range(len(share)):
        share[y] = exp_of_negative(share[y] - level)


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
            _entropy_step(x[t - 1], edges, n_labels, total, old, new, room)
            old, new = new, old
        level = log_sum(x[n - 1])
        for j in range(n_labels):
            d = max(x[n - 1, j] - level, _NONE)
            entropy[s] += exp_of_negative(d) * (old[j] - d)


@kernel
def _entropy_step(
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
