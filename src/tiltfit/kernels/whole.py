"""Exact inference with whole-sequence statistics: dynamic programming over (memory, label).

p, the chain with θ in its potentials (``memory``), is written as a Markov chain from left to right,

    Q_t(i, j) = P_p(y_t = j | y_{t−1} = i),      Z = Z_p · E_p[exp(the rest of the priced sum)],

so everything below is a probability under p times a factor that is at most 1: with R(m) the most that starts can add
after the memory m, a[m, i] = Σ exp(gains so far + R(m))·P_p(beginning), and each step multiplies by exp(gain + R(m′) −
R(m)) ≤ 1. Hence Σ_i a[m, i] bounds what the memory m can still contribute, and memories whose bounds add up to less
than tol·Z_low are dropped, where Z_low ≤ Z comes from a first pass that follows the heaviest memories only. Every
probability is then off by at most tol, and a mean by at most tol times the statistic's range.
"""

from __future__ import annotations

import numpy as np

from tiltfit.arrays import FloatArray, IndexArray
from tiltfit.kernels.compile import kernel
from tiltfit.kernels.exponential import exp_of_negative
from tiltfit.kernels.form import Form
from tiltfit.kernels.memory import Memory, Rows, begin, final_gain, keep, link, set_gains
from tiltfit.kernels.whole_back import MemoryRoom, backward, factors, means

_HEAVY = 1 / 256  # the first pass follows memories that hold this share of their position's mass


@kernel
def markov_chain(
    node: FloatArray,
    kind: IndexArray,
    start: int,
    n: int,
    table: FloatArray,
    form: Form,
    theta: FloatArray,
    room: MemoryRoom,
) -> float:
    """Q of the sequence at ``start``, with θ; returns log Z_p. O(n·L²) exponentials."""
    n_labels, begin_, go_on, pairs, v = node.shape[1], room.begin, room.go_on, room.pairs, room.w
    field, continues, scores, sums = form.field, form.continues, room.b, room.marginal
    total = 0.0
    for j in range(n_labels):
        v[j] = node[start + n - 1, j]
    for t in range(n - 1, -1, -1):
        n_rows = n_labels if t > 0 else 1
        highest = -np.inf
        for i in range(n_rows):
            top = -np.inf
            for j in range(n_labels):
                scores[j] = v[j] + (table[kind[start + t], i, j] if t > 0 else 0.0)
                scores[j] += 0.0 if t > 0 and continues[i, j] else theta[field[j]]
                top = max(top, scores[j])
            mass = 0.0
            for j in range(n_labels):
                begin_[t, i, j] = exp_of_negative(scores[j] - top) if top > -np.inf else 0.0
                mass += begin_[t, i, j]
            for j in range(n_labels):
                begin_[t, i, j] /= mass if mass > 0.0 else 1.0
            sums[i] = top + np.log(mass) if mass > 0.0 else -np.inf
            highest = max(highest, sums[i])
        if highest == -np.inf:
            return -np.inf
        total += highest
        if t > 0:
            for p in range(len(pairs)):
                go_on[t, p] = begin_[t, pairs[p, 0], pairs[p, 1]]
                begin_[t, pairs[p, 0], pairs[p, 1]] = 0.0
            for i in range(n_labels):
                v[i] = sums[i] - highest + node[start + t - 1, i]
    return total


@kernel
def _forward(  # noqa: PLR0912 (one loop)
    memory: Memory, form: Form, n: int, room: MemoryRoom, share: float, log_goal: float, stamp: int
) -> float:
    """a of all positions. Returns log Σ a of the last, with what the end adds; NaN if there was no room.

    Memories are dropped that hold less than ``share`` of the mass of their position; if that is 0, that hold less than
    exp(log_goal) by the number of memories there. O(memories·L²).
    """
    rows, value, starts, field = room.rows, room.value, room.starts, form.field
    begin_, go_on, pairs, end, x, out = room.begin, room.go_on, room.pairs, room.end, room.w, room.b
    n_labels, width, log_scale = len(field) - 1, value.shape[1], 0.0
    code, following, gain, last_field = rows.code, rows.next, rows.gain, rows.gain.shape[1]
    run_mask, factor = memory.longest[1], room.factor
    begin(memory, room.gains, rows)
    starts[0], starts[1] = 0, 1
    for j in range(width):
        value[0, j] = 1.0 if j == 0 else 0.0
    for t in range(n):
        first, middle = starts[t], starts[t + 1]
        last = link(memory, room.gains, rows, first, middle, stamp + t)
        if last < 0:
            return np.nan
        for row in range(middle, last):
            for j in range(width):
                value[row, j] = 0.0
        for row in range(first, middle):
            r = code[row] & run_mask
            for j in range(width):
                out[j] = 0.0
                x[j] = value[row, j] * (end[r, j] if t > 0 else 1.0)
            for i in range(n_labels):
                if x[i] > 0.0:
                    for j in range(width):
                        out[j] += x[i] * begin_[t, i, j]
            factors(following, gain, row, factor)
            for j in range(n_labels):
                target = following[row, field[j]]
                if target >= 0:
                    value[target, j] += out[j] * factor[field[j]]
            if t > 0:
                target = following[row, last_field]
                for p in range(len(pairs)):
                    value[target, pairs[p, 1]] += value[row, pairs[p, 0]] * go_on[t, p]
        log_scale = _prune(rows, value, room.kept, starts, t, first, middle, last, share, log_goal, log_scale)
        if log_scale == -np.inf:
            return -np.inf
    total = 0.0
    for row in range(starts[n], starts[n + 1]):
        weight, r = np.exp(final_gain(memory, room.gains, rows, row)), code[row] & run_mask
        for j in range(n_labels):
            total += value[row, j] * end[r, j] * weight
    return log_scale + np.log(total) if total > 0.0 else -np.inf


@kernel
def _prune(
    rows: Rows, value: FloatArray, kept: IndexArray, starts: IndexArray, t: int, first: int, middle: int, last: int,
    share: float, log_goal: float, log_scale: float,
) -> float:  # fmt: skip
    """Drop what is too light at position t, scale the rest to sum 1; the logarithm of the scale, −inf if all is 0."""
    width, total = value.shape[1], 0.0
    for row in range(middle, last):
        for j in range(width):
            total += value[row, j]
    if not total > 0.0:
        return -np.inf
    limit = share * total if share > 0.0 else np.exp(log_goal - log_scale - np.log(last - middle))
    for row in range(middle, last):
        mass = 0.0
        for j in range(width):
            mass += value[row, j]
        kept[row - middle] = mass > limit
    starts[t + 2] = keep(rows, first, middle, last, kept)
    for row in range(middle, last):
        if kept[row - middle] >= 0:
            for j in range(width):
                value[kept[row - middle], j] = value[row, j] / total
    return float(log_scale + np.log(total))


@kernel
def infer_whole(
    node: FloatArray,
    offsets: IndexArray,
    kind: IndexArray,
    table: FloatArray,
    form: Form,
    memory: Memory,
    whole: FloatArray,
    weight: FloatArray,
    tol: float,
    room: MemoryRoom,
    log_z: FloatArray,
    node_out: FloatArray,
    edge_out: FloatArray,
    whole_out: FloatArray,
    first: int,
    last: int,
) -> None:
    """log Z, marginals and E[g] of those sequences first … last − 1 whose log Z is NaN so far. O(memories·L²).

    log Z is NaN where there were more memories than room, and −inf where no mass was left. There all else is 0.
    """
    stamp = room.stamp
    for s in range(first, last):
        if not np.isnan(log_z[s]):
            continue
        start, n = offsets[s], offsets[s + 1] - offsets[s]
        set_gains(form, whole, 0 if len(whole) == 1 else s, room.gains)
        log_z[s] = markov_chain(node, kind, start, n, table, form, room.gains.theta, room)
        if log_z[s] == -np.inf:
            continue
        for j in range(len(form.field) - 1):
            for r in range(room.end.shape[0]):
                room.end[r, j] = np.exp(room.gains.end[form.field[j], r])
        low = _forward(memory, form, n, room, _HEAVY, 0.0, stamp[0])
        log_sum = low if np.isnan(low) else _forward(memory, form, n, room, 0.0, low + np.log(tol / n), stamp[0] + n)
        stamp[0] += 2 * n
        log_z[s] += log_sum + room.gains.base[0] + room.rows.rest[0]
        if not log_z[s] > -np.inf:
            continue
        for j in range(room.digits.shape[0]):
            for m in range(room.digits.shape[1]):
                room.digits[j, m] = 0.0
        for q in range(len(room.shorts)):
            room.short_sum[q] = 0.0
        for o in range(len(room.orders)):
            room.order_sum[o] = 0.0
        for j in range(len(room.started)):
            room.started[j] = 0.0
        backward(memory, form, kind, start, n, room, weight[s], node_out, edge_out)
        means(form, room, whole_out, s)
