"""The best labellings of linear chains: max-sum recursions on log-potentials.

    δ_t(j) = s_t(j) + max_i [δ_{t−1}(i) + T(i, j)]

Among labellings of equal score the lower label at the later position comes first. Rows are shifted to maximum 0, so
that a long sequence of large scores keeps its digits.
"""

from __future__ import annotations

import numpy as np

from tiltfit.arrays import FloatArray, IndexArray
from tiltfit.kernels.chain import longest_of
from tiltfit.kernels.compile import kernel
from tiltfit.kernels.log_chain import centre


@kernel
def best_labels(
    node: FloatArray,
    edge: FloatArray,
    offsets: IndexArray,
    kind: IndexArray,
    labels: IndexArray,
    score: FloatArray,
    start: int,
    stop: int,
) -> None:
    """labels[t] and score[s] of the best labelling of sequences start … stop − 1; −1 and −inf where none is possible.

    Which label each maximum came from is found on the way back, for one label a position. O(N·L²), room for one
    sequence.
    """
    n_labels = node.shape[1]
    delta = np.empty((longest_of(offsets, start, stop), n_labels))
    for s in range(start, stop):
        first, n = offsets[s], offsets[s + 1] - offsets[s]
        for j in range(n_labels):
            delta[0, j] = node[first, j]
        total = centre(delta[0])
        for t in range(1, n):
            _best_step(delta[t - 1], edge[kind[first + t]], node[first + t], delta[t])
            total += centre(delta[t])
        score[s] = total
        if total > -np.inf:
            y = _first_best(delta[n - 1])
            for t in range(n - 1, 0, -1):
                labels[first + t] = y
                for i in range(n_labels):
                    delta[t - 1, i] += edge[kind[first + t], i, y]
                y = _first_best(delta[t - 1])
            labels[first] = y
        else:
            labels[first : first + n] = -1


@kernel
def _best_step(old: FloatArray, table: FloatArray, node: FloatArray, new: FloatArray) -> None:
    """new[j] ← node[j] + max_i old[i] + table[i, j]."""
    new[:] = -np.inf
    for i in range(len(old)):
        for j in range(len(new)):
            value = old[i] + table[i, j]
            new[j] = value if value > new[j] else new[j]
    for j in range(len(new)):
        new[j] += node[j]


@kernel
def _first_best(row: FloatArray) -> int:
    best = 0
    for y in range(len(row)):
        best = y if row[y] > row[best] else best
    return best


@kernel
def k_best_labels(
    node: FloatArray,
    edge: FloatArray,
    offsets: IndexArray,
    kind: IndexArray,
    labels: IndexArray,
    score: FloatArray,
    start: int,
    stop: int,
) -> None:
    """labels[r, t] and score[s, r] of the r-th best labelling, r < k = len(labels); −1 and −inf where there are fewer.

    Every label at every position keeps its k best prefixes: O(N·L²·k), room for one sequence times k.
    """
    n_labels, k = node.shape[1], len(labels)
    came_from = np.empty((longest_of(offsets, start, stop), n_labels, k), dtype=np.int64)
    old, new = np.empty((n_labels, k)), np.empty((n_labels, k))
    used, top, origin = np.empty(n_labels, dtype=np.int64), np.empty(k), np.empty(k, dtype=np.int64)
    nothing = np.zeros(n_labels)
    for s in range(start, stop):
        first, n = offsets[s], offsets[s + 1] - offsets[s]
        old[:] = -np.inf
        for j in range(n_labels):
            old[j, 0] = node[first, j]
        total = _centre_all(old)
        for t in range(1, n):
            table = edge[kind[first + t]]
            for j in range(n_labels):
                _merge(old, table[:, j], used, new[j], came_from[t, j])
            for j in range(n_labels):
                for r in range(k):
                    old[j, r] = new[j, r] + node[first + t, j]
            total += _centre_all(old)
        _merge(old, nothing, used, top, origin)
        for r in range(k):
            score[s, r] = top[r] + total if top[r] > -np.inf else -np.inf
            if top[r] > -np.inf:
                place = origin[r]
                for t in range(n - 1, -1, -1):
                    labels[r, first + t] = place // k
                    if t > 0:
                        place = came_from[t, place // k, place % k]
            else:
                labels[r, first : first + n] = -1


@kernel
def _centre_all(rows: FloatArray) -> float:
    return centre(rows.reshape(rows.size))


@kernel
def _merge(lists: FloatArray, shift: FloatArray, used: IndexArray, out: FloatArray, origin: IndexArray) -> None:
    """The greatest of lists[i, :] + shift[i], every list falling, in falling order; where each is from, as i·k + r."""
    used[:] = 0
    k = lists.shape[1]
    for r in range(len(out)):
        top, chosen = -np.inf, -1
        for i in range(len(lists)):
            if used[i] < k and lists[i, used[i]] + shift[i] > top:
                top, chosen = lists[i, used[i]] + shift[i], i
        out[r] = top
        origin[r] = chosen * k + used[chosen] if chosen >= 0 else 0
        if chosen >= 0:
            used[chosen] += 1
