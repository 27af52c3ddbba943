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

from typing import Any, NamedTuple

import numpy as np

from tiltfit.arrays import FloatArray, IndexArray
from tiltfit.kernels.chain import padded
from tiltfit.kernels.compile import kernel
from tiltfit.kernels.exponential import exp_of_negative
from tiltfit.kernels.form import Form
from tiltfit.kernels.memory import (
    BEGUN,
    Gains,
    Memory,
    Rows,
    begin,
    final_gain,
    keep,
    link,
    new_gains,
    new_rows,
    set_gains,
)

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
        room.digits[:], room.short_sum[:], room.order_sum[:], room.started[:] = 0.0, 0.0, 0.0, 0.0
        backward(memory, form, kind, start, n, room, weight[s], node_out, edge_out)
        means(form, room, whole_out, s)


class MemoryRoom(NamedTuple):
    """For one sequence at a time of up to n positions: one per thread."""

    rows: Rows
    gains: Gains
    value: FloatArray  # [m, P]: a by row, then b
    kept: IndexArray  # [m]
    starts: IndexArray  # [n + 2]: the rows of position t are starts[t + 1] … starts[t + 2] − 1
    stamp: IndexArray  # [1]: numbers from here on were not used in the hash table
    begin: FloatArray  # [n, P, P]: Q where a segment starts; in row 0 of position 0, P_p(y_0)
    go_on: FloatArray  # [n, c]: Q where a segment goes on, by pair
    pairs: IndexArray  # [c, 2]: the pairs of labels that go on
    end: FloatArray  # [K, P]: exp of what the end of a segment adds, by length and label
    w: FloatArray  # [P]
    b: FloatArray  # [P]
    factor: FloatArray  # [F + 1]: exp of what the start of a segment adds
    marginal: FloatArray  # [P]: sums over the memories of a position: of a·b,
    outer: FloatArray  # [P, P]: of a ⊗ b where a segment starts next,
    paired: FloatArray  # [c]: of the same where it goes on,
    shorts: FloatArray  # [Q]: of segments that end
    orders: FloatArray  # [O]: and of orders that are decided
    turned: FloatArray  # [P, P]: Q where a segment starts, of one position, transposed
    digits: FloatArray  # [J, C + 1]: P(a counter ends at n)
    short_sum: FloatArray  # [Q]: expected numbers
    order_sum: FloatArray  # [O]
    started: FloatArray  # [P]: the expected number of segments that start with a label


def new_memory_room(form: Form, memory: Memory, longest: int, n_rows: int) -> MemoryRoom:
    width, pairs = padded(len(form.field) - 1), np.argwhere(form.continues)
    n_shorts, n_orders, n_fields = len(form.short_below), len(form.order_first), len(form.counters)
    shapes: list[Any] = [
        (longest, width, width), (longest, len(pairs)), (int(memory.longest[0]), width), width, width, n_fields, width,
        (width, width), len(pairs), n_shorts, n_orders, (width, width), form.step.shape[1:], n_shorts, n_orders, width,
    ]  # fmt: skip
    begin, go_on, *rest = (np.zeros(shape) for shape in shapes)
    return MemoryRoom(
        new_rows(memory, n_rows), new_gains(form), np.empty((n_rows, width)), np.empty(n_rows, dtype=np.int64),
        np.zeros(longest + 2, dtype=np.int64), np.ones(1, dtype=np.int64), begin, go_on, pairs, *rest,
    )  # fmt: skip


@kernel
def factors(following: IndexArray, gain: FloatArray, row: int, out: FloatArray) -> None:
    """out[f] ← exp of what the start of field f adds, 0 where that leads nowhere."""
    for f in range(gain.shape[1]):
        out[f] = exp_of_negative(gain[row, f]) if following[row, f] >= 0 else 0.0


@kernel
def backward(  # noqa: PLR0912 (one loop)
    memory: Memory,
    form: Form,
    kind: IndexArray,
    start: int,
    n: int,
    room: MemoryRoom,
    weight: float,
    node: FloatArray,
    edge: FloatArray,
) -> None:
    """b of all positions, in place of a; node marginals, weighted edge marginals, and what statistics need.

    Each position has its own scale: Σ a·b over its memories is Z, whatever it is. O(memories·L²).
    """
    value, starts, field, end, outer, turned = room.value, room.starts, form.field, room.end, room.outer, room.turned
    following, code, run_mask, n_labels = room.rows.next, room.rows.code, memory.longest[1], len(form.field) - 1
    w, b, factor, marginal, pairs, paired = room.w, room.b, room.factor, room.marginal, room.pairs, room.paired
    width, going = value.shape[1], room.rows.gain.shape[1]
    for t in range(n - 1, -1, -1):
        first, last, total, highest = starts[t + 1], starts[t + 2], 0.0, 0.0
        _clear(room, t + 1 if t + 1 < n else 0)
        for row in range(first, last):
            r = code[row] & run_mask
            if t == n - 1:
                final = np.exp(final_gain(memory, room.gains, room.rows, row))
                for i in range(n_labels):
                    b[i] = end[r, i] * final
                _count_digits(memory.shift, memory.mask, code[row], value, row, n_labels, b, room.digits)
            else:
                factors(following, room.rows.gain, row, factor)
                for j in range(width):
                    b[j] = 0.0
                for j in range(n_labels):
                    target = following[row, field[j]]
                    w[j] = factor[field[j]] * value[target, j] if target >= 0 else 0.0
                for j in range(n_labels):
                    if w[j] > 0.0:
                        for i in range(width):
                            b[i] += w[j] * turned[j, i]
                for i in range(n_labels):
                    b[i] *= end[r, i]
                    x = value[row, i] * end[r, i]
                    if x > 0.0:
                        for j in range(width):
                            outer[i, j] += x * w[j]
                if len(room.orders) > 0:
                    _count_orders(memory, field, end, turned, value, row, r, code[row], n_labels, w, room.orders)
            if len(room.shorts) > 0:
                _count_ends(form.short_member, form.short_below, field, value, row, r, n_labels, b, room.shorts)
            target = following[row, going] if t < n - 1 else -1
            if target >= 0:
                for p in range(len(pairs)):
                    more = room.go_on[t + 1, p] * value[target, pairs[p, 1]]
                    b[pairs[p, 0]] += more
                    paired[p] += value[row, pairs[p, 0]] * more
            for i in range(n_labels):
                part = value[row, i] * b[i]
                marginal[i] += part
                total += part
                value[row, i] = b[i]
                highest = max(highest, b[i])
        for i in range(n_labels):
            node[start + t, i] = marginal[i] / total
        _settle(form, room, total, weight, edge, kind[start + t + 1] if t < n - 1 else -1)
        for row in range(first, last):
            for i in range(n_labels):
                value[row, i] /= highest
    for j in range(n_labels):
        room.started[j] += node[start, j]


@kernel
def _clear(room: MemoryRoom, t: int) -> None:
    """No sums yet at a position; Q of position t, the next one, turned round."""
    n_labels = room.outer.shape[0]
    for i in range(n_labels):
        room.marginal[i] = 0.0
        for j in range(n_labels):
            room.outer[i, j], room.turned[j, i] = 0.0, room.begin[t, i, j]
    for p in range(len(room.paired)):
        room.paired[p] = 0.0
    for q in range(len(room.shorts)):
        room.shorts[q] = 0.0
    for o in range(len(room.orders)):
        room.orders[o] = 0.0


@kernel
def _count_digits(
    shift: IndexArray, mask: IndexArray, code: int, value: FloatArray, row: int, n_labels: int, b: FloatArray,
    digits: FloatArray,
) -> None:  # fmt: skip
    mass = 0.0
    for i in range(n_labels):
        mass += value[row, i] * b[i]
    for j in range(len(shift)):
        digits[j, (code >> shift[j]) & mask[j]] += mass


@kernel
def _count_ends(
    member: IndexArray, below: IndexArray, field: IndexArray, value: FloatArray, row: int, r: int, n_labels: int,
    b: FloatArray, shorts: FloatArray,
) -> None:  # fmt: skip
    """Segments that end here, by what ``b`` holds: what follows if they do."""
    for q in range(len(below)):
        if r + 1 < below[q]:
            for i in range(n_labels):
                shorts[q] += value[row, i] * b[i] if member[q, field[i]] else 0.0


@kernel
def _count_orders(
    memory: Memory, field: IndexArray, end: FloatArray, turned: FloatArray, value: FloatArray, row: int, r: int,
    code: int, n_labels: int, w: FloatArray, orders: FloatArray,
) -> None:  # fmt: skip
    """Orders that are decided as said by the next label."""
    for o in range(len(orders)):
        if (code >> memory.order_shift[o]) & 3 == BEGUN:
            for j in range(n_labels):
                if field[j] == memory.order_then[o]:
                    for i in range(n_labels):
                        orders[o] += value[row, i] * end[r, i] * turned[j, i] * w[j]


@kernel
def _settle(form: Form, room: MemoryRoom, total: float, weight: float, edge: FloatArray, k: int) -> None:
    """The sums of a position, by their scale, into those of the sequence; k is the kind of the edge after it."""
    n_labels = len(form.field) - 1
    if k >= 0:
        for i in range(n_labels):
            for j in range(n_labels):
                mass = room.outer[i, j] * room.turned[j, i] / total
                edge[k, i, j] += weight * mass
                room.started[j] += mass
        for p in range(len(room.paired)):
            edge[k, room.pairs[p, 0], room.pairs[p, 1]] += weight * room.paired[p] / total
    else:
        for j in range(room.digits.shape[0]):
            for n in range(room.digits.shape[1]):
                room.digits[j, n] /= total
    for q in range(len(room.shorts)):
        room.short_sum[q] += room.shorts[q] / total
    for o in range(len(room.orders)):
        room.order_sum[o] += room.orders[o] / total


@kernel
def means(form: Form, room: MemoryRoom, out: FloatArray, s: int) -> None:
    """out[s, k] ← E[g_k]. Beyond its cap a counter is a straight line: its mean number of segments is enough."""
    last = form.step.shape[2] - 1
    for k in range(out.shape[1]):
        out[s, k] = 0.0
        for j in range(form.step.shape[1]):
            number, capped = 0.0, 0.0
            for y in range(len(form.field) - 1):
                for c in range(form.counters.shape[1]):
                    number += room.started[y] if form.counters[form.field[y], c] == j else 0.0
            for n in range(last + 1):
                out[s, k] += room.digits[j, n] * form.level[k, j, n]
                capped += room.digits[j, n] * n
            out[s, k] += form.base[k, j] + form.step[k, j, last] * (number - capped)
        for q in range(len(room.shorts)):
            out[s, k] += form.short_weight[k, q] * room.short_sum[q]
        for o in range(len(room.orders)):
            out[s, k] += form.order_weight[k, o] * room.order_sum[o]
