"""The derivative of chain marginals on logarithms: for the few sequences whose scores differ too much for ``tangent``.

    F_t(j) = E[D up to t | y_t = j]      B_t(i) = E[D after t | y_t = i]      Cov = p·(F + B − E[D])

Conditional expectations need no scale, but an exponential for every pair of labels at every position.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tiltfit.arrays import FloatArray, IndexArray
from tiltfit.kernels.chain import Tables
from tiltfit.kernels.compile import kernel
from tiltfit.kernels.exponential import exp_of_negative
from tiltfit.kernels.rescue import centre, log_forward, log_product, log_sum

if TYPE_CHECKING:
    from tiltfit.kernels.tangent import Direction


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
            _add_pairs(
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
def _add_pairs(
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
