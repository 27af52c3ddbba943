"""Exact inference with whole-sequence statistics where there are few memories: all of them, on scaled probabilities.

A label goes on with its segment, or starts one of its field f, which takes the memory m to m′ = m·f. With Φ and ψ of
``chain``, θ, ``rest`` and what starts and ends add from ``memory``, and γ = max θ,

    x[m] = a_{t−1}[m] ∘ E[m],   o[m] = x[m]Φ_start
    a_t[m′] = (Σ_{m·f = m′} o[m] ∘ G[m] + e^{−γ}·Σ_{m″ = m′} a_{t−1}[m]Φ_on) ∘ ψ_t·c_t
    w[m] = G[m] ∘ v_t[m·f],   b_{t−1}[m] = E[m] ∘ (Φ_start w[m]) + e^{−γ}·Φ_on v_t[m″],   v_t = b_t ∘ ψ_t·c_t

with m″ the memory after m if its segment goes on, G = exp(θ_f − γ + gain) ≤ 1 and E = exp(what ends add) ≤ 1. Expected
numbers of starts are o ∘ w, of ends x ∘ (Φ_start w), and a mean is their sum, each by what the statistic gets from it.
Nothing is dropped. When that is exact: the rule of ``chain``, with D the spread of all these factors; sequences that
fail take the way of ``whole``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tiltfit.arrays import FloatArray, IndexArray
from tiltfit.kernels.chain import Tables, aligned, exact_enough, load, padded
from tiltfit.kernels.compile import ZERO, kernel
from tiltfit.kernels.constants import LANES, WIDEST
from tiltfit.kernels.exponential import exp_of_negative
from tiltfit.kernels.form import Form
from tiltfit.kernels.memory import BEGUN, Gains, Memory, Rows, link, new_gains, new_rows, rest_of, set_gains
from tiltfit.kernels.primitives import tiles

MOST = 64  # memories: with more of them, it pays to drop what is unlikely


class Plan(NamedTuple):
    """M memories, all that can be reached; M = 0 if they are more than ``MOST``. The beginning has the first."""

    code: IndexArray  # [M]
    after: IndexArray  # [M, P]: the number of the memory after a segment starts with a label,
    moves: IndexArray  # [c, 3]: m, label and m′ where that is another one,
    onward: IndexArray  # [M]: and the number after a segment goes on
    starts: FloatArray  # [S, M, P]: what statistics get from such a start,
    ends: FloatArray  # [S, M, P]: and from a segment's end
    pairs: IndexArray  # [c, 2]: the labels that go on with another label,
    alone: IndexArray  # and those that go on with themselves


class Few(NamedTuple):
    """Edges in two parts, and room for one sequence at a time of up to n positions: one per thread."""

    plan: Plan
    rows: Rows  # [2·M]
    stamp: IndexArray  # [1]: as ``link`` takes it
    start: FloatArray  # [K, P, P]: Φ where a segment starts
    start_t: FloatArray
    on: FloatArray  # [K, c]: Φ by pair that goes on,
    same: FloatArray  # [K, P]: and of a label that goes on with itself
    order: IndexArray  # [n·M]: 0, 1, …
    g: FloatArray  # [M, P]: 0 where the memory changes,
    moved: FloatArray  # [c]: G there, by move
    e: FloatArray  # [M, P]
    final: FloatArray  # [M]: what the sequence's end adds
    rest: FloatArray  # [M]
    a: FloatArray  # [n·M, P]
    x: FloatArray  # [n·M, P]: that of position t − 1 and memory m in row t·M + m − 1
    o: FloatArray  # [n·M, P]
    w: FloatArray  # [n·M, P]
    v: FloatArray  # [M, P]
    b: FloatArray  # [M, P]
    began: FloatArray  # [M, P]: expected starts
    ended: FloatArray  # [M, P]: expected ends
    local: FloatArray  # [n, P]: ψ
    scale: FloatArray  # [n]: c
    part: FloatArray  # [M, P]
    least: FloatArray  # [M·P]
    went_on: FloatArray  # [K, P]: weighted expected numbers of a label after itself, in one segment, of a chunk
    outer: FloatArray  # [K, P, P]: Σ x ⊗ w, of a chunk


def new_plan(form: Form, memory: Memory) -> Plan:
    n_labels, (code, following) = len(form.field) - 1, _reached(form, memory)
    n, field, width = len(code), form.field[:-1].astype(np.intp), padded(n_labels)
    after, (starts, ends) = np.zeros((n, width), np.int64), np.zeros((2, len(form.base), n, width))
    after[:, :n_labels] = following[:, field]
    for j, (shift, mask) in enumerate(zip(memory.shift, memory.mask, strict=True)):
        counted = (form.counters[field] == j).any(axis=1)
        starts[:, :, :n_labels] += form.step[:, j, (code >> shift) & mask][:, :, None] * counted
    for o, (shift, then) in enumerate(zip(memory.order_shift, memory.order_then, strict=True)):
        decided = ((code >> shift) & 3 == BEGUN)[:, None] & (field == then)
        starts[:, :, :n_labels] += form.order_weight[:, o, None, None] * decided
    for q, below in enumerate(form.short_below):
        short = ((code & memory.longest[1]) + 1 < below)[:, None] & (form.short_member[q, field] > 0)
        ends[:, :, :n_labels] += form.short_weight[:, q, None, None] * short
    moves = [(m, y, after[m, y]) for m in range(n) for y in range(n_labels) if after[m, y] != m]
    pairs = np.argwhere(form.continues)
    return Plan(
        code, after, np.array(moves, dtype=np.int64).reshape(-1, 3), np.ascontiguousarray(following[:, -1]), starts,
        ends, pairs[pairs[:, 0] != pairs[:, 1]], pairs[pairs[:, 0] == pairs[:, 1], 0],
    )  # fmt: skip


def new_few(plan: Plan, memory: Memory, tables: Tables, longest: int, n_rows: int) -> Few:
    """Room for sequences of up to ``longest`` positions that take no more than n_rows rows."""
    n, (n_kinds, width, _), (i, j), alone = len(plan.code), tables.factor.shape, plan.pairs.T, plan.alone
    start, start_t, longest = tables.factor.copy(), aligned(tables.factor.shape), min(longest, n_rows // max(1, n))
    start[:, i, j], start[:, alone, alone] = 0.0, 0.0
    same = aligned((n_kinds, width))
    same[:, alone] = tables.factor[:, alone, alone]
    start_t[...] = start.transpose(0, 2, 1)
    small, rows = (n, width), (longest * n, width)
    shapes: list[tuple[int, ...]] = [
        small, (len(plan.moves),), small, (n,), (n,), rows, rows, rows, rows, small, small, small, small,
        (longest, width), (longest,), small, (n * width,), same.shape, tables.factor.shape,
    ]  # fmt: skip
    order = np.arange(longest * n, dtype=np.int32)
    links = new_rows(memory, 2 * n), np.zeros(1, dtype=np.int64)
    return Few(plan, *links, start, start_t, tables.factor[:, i, j], same, order, *(aligned(shape) for shape in shapes))


def _reached(form: Form, memory: Memory) -> tuple[IndexArray, IndexArray]:
    """All memories, and by number what follows each: the start of a segment of field f, then going on; or none."""
    gains, rows, codes, first, stamp = new_gains(form), new_rows(memory, MOST * (len(form.counters) + 2)), [0], 0, 1
    while first < len(codes) <= MOST:
        n = len(codes) - first
        rows.code[:n], rows.rest[:n] = codes[first:], 0.0
        last, first, stamp = link(memory, gains, rows, 0, n, stamp), len(codes), stamp + 1
        codes += sorted(set(rows.code[n:last].tolist()) - set(codes))
    n = len(codes) if len(codes) <= MOST else 0
    rows.code[:n] = codes[:n]
    link(memory, gains, rows, 0, n, stamp)
    number = {code: m for m, code in enumerate(codes)}
    following = [[number[code] for code in row] for row in rows.code[rows.next[:n]].tolist()]
    return rows.code[:n].copy(), np.array(following, dtype=np.int64).reshape(n, rows.next.shape[1])


@kernel
def set_factors(few: Few, form: Form, memory: Memory, gains: Gains) -> tuple[float, float]:
    """G, E and what the end of the sequence adds. Returns γ and the spread of them all."""
    code, field, rest, final, g, e = few.plan.code, form.field, few.rest, few.final, few.g, few.e
    gamma = float(np.max(gains.theta))
    lowest, lowest_end, lowest_final = -gamma, 0.0, 0.0
    for m in range(len(code)):
        rest[m] = rest_of(gains.rest, gains.order, code[m], memory.shift, memory.mask, memory.order_shift)
        few.rows.code[m], few.rows.rest[m] = code[m], rest[m]
        final[m] = -rest[m]
        for j in range(len(memory.shift)):
            final[m] += gains.final[j, (code[m] >> memory.shift[j]) & memory.mask[j]]
        lowest_final = min(lowest_final, final[m] if final[m] > -np.inf else 0.0)
        final[m] = np.exp(final[m])
    few.stamp[0] += 1
    link(memory, gains, few.rows, ZERO, len(code), few.stamp[0])
    for m in range(len(code)):
        for y in range(len(field) - 1):
            value = few.rows.gain[m, field[y]] if few.rows.next[m, field[y]] >= 0 else -np.inf
            value += gains.theta[field[y]] - gamma
            g[m, y], e[m, y] = min(0.0, value), gains.end[field[y], code[m] & memory.longest[1]]
            lowest = min(lowest, value if value > -np.inf else 0.0)
            lowest_end = min(lowest_end, e[m, y] if e[m, y] > -np.inf else 0.0)
        for y in range(len(field) - 1):
            g[m, y], e[m, y] = exp_of_negative(g[m, y]), exp_of_negative(e[m, y])
    for c in range(len(few.moved)):
        m, y = few.plan.moves[c, 0], few.plan.moves[c, 1]
        few.moved[c], few.g[m, y] = few.g[m, y], 0.0
    return gamma, -lowest - lowest_end - lowest_final


@kernel
def _product(rows: FloatArray, i: int, table: FloatArray, k: int, n_labels: int, out: FloatArray, o: int) -> None:
    column, width = 0, out.shape[1]
    while column < width:
        count = min(WIDEST, (width - column) // LANES)
        tiles.product_tile(count, rows, i, table, k, n_labels, out, o, column)
        column += LANES * count


@kernel
def _forward(  # noqa: PLR0912 (one loop)
    few: Few, tables: Tables, kind: IndexArray, start: int, n: int, n_labels: int, stay: float
) -> float:
    """a, x, o and c of a loaded sequence. Returns log Σ of what the end leaves. O(n·M·L²)."""
    plan, a, o, same, scale, moved = few.plan, few.a, few.o, few.same, few.scale, few.moved
    moves, pairs, n_memories, width, size = plan.moves, plan.pairs, len(few.final), a.shape[1], few.g.size
    all_a, all_x, all_o = (
        a.reshape(-1),
        few.x.reshape(-1),
        o.reshape(-1),
    )  # one long loop for all memories is vectorised
    e, g, factor, least = few.e.reshape(-1), few.g.reshape(-1), few.v.reshape(-1), few.least
    log_sum, product = 0.0, 1.0
    scale[0] = 1.0
    for t in range(n):
        first, k, here = t * n_memories, kind[start + t], all_a[t * size : (t + 1) * size]
        if t == 0:
            here[:] = 0.0
            for j in range(n_labels):
                a[0, j], o[0, j] = few.g[0, j], 1.0
        else:
            before, x = all_a[(t - 1) * size : t * size], all_x[t * size - width : (t + 1) * size - width]
            out = all_o[t * size : (t + 1) * size]
            for q in range(size):
                x[q] = before[q] * e[q]
            for m in range(n_memories):
                _product(few.x, first + m - 1, few.start, k, n_labels, o, first + m)
            for q in range(size):
                here[q] = out[q] * g[q]
            for m in range(n_memories):
                old, onward = first + m - n_memories, first + plan.onward[m]
                for j in range(width):
                    a[onward, j] += a[old, j] * same[k, j] * stay
                for p in range(len(pairs)):
                    a[onward, pairs[p, 1]] += a[old, pairs[p, 0]] * (few.on[k, p] * stay)
        for c in range(len(moved)):
            m, y = moves[c, 0], moves[c, 1]
            if t > 0 or m == 0:
                a[first + moves[c, 2], y] += o[first + m, y] * moved[c]
        _spread(few.local, t, scale[t], few.v)
        for q in range(size):
            value = here[q] * factor[q]
            here[q] = value
            least[q] = value if 0.0 < value < least[q] else least[q]
        total = _sum(here)
        if total == 0.0:
            return -np.inf
        log_sum += tables.top[k] if t > 0 else 0.0
        if t < n - 1:
            scale[t + 1] = 1.0 / total
            product *= total
        if not 1e-100 < product < 1e100:  # one logarithm for many steps
            log_sum += np.log(product)
            product = 1.0
    total = 0.0
    for m in range(n_memories):
        for j in range(n_labels):
            few.b[m, j] = few.e[m, j] * few.final[m]
            total += a[(n - 1) * n_memories + m, j] * few.b[m, j]
    for m in range(n_memories):
        for j in range(n_labels):
            few.b[m, j] /= total if total > 0.0 else 1.0
    return float(log_sum + np.log(product) + np.log(total))


@kernel
def _spread(local: FloatArray, t: int, scale: float, out: FloatArray) -> None:
    """out[m] ← ψ_t·scale for every memory."""
    for m in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[m, j] = local[t, j] * scale


@kernel
def _sum(values: FloatArray) -> float:
    """In four sums side by side."""
    sum0, sum1, sum2, sum3 = 0.0, 0.0, 0.0, 0.0
    for q in range(0, len(values), LANES):
        sum0, sum1 = sum0 + values[q], sum1 + values[q + 1]
        sum2, sum3 = sum2 + values[q + 2], sum3 + values[q + 3]
    return (sum0 + sum1) + (sum2 + sum3)


@kernel
def _backward(  # noqa: PLR0912 (one loop)
    few: Few, kind: IndexArray, start: int, n: int, n_labels: int, stay: float, weight: float, node: FloatArray,
    edge: FloatArray,
) -> None:  # fmt: skip
    """Node marginals, w, expected starts and ends, and the weighted edge marginals of pairs that go on. O(n·M·L²)."""
    plan, a, same, moves, pairs = few.plan, few.a, few.same, few.plan.moves, few.plan.pairs
    n_memories, width, size, part = len(few.final), a.shape[1], few.g.size, few.part.reshape(-1)
    all_a, all_x, all_o, all_w = a.reshape(-1), few.x.reshape(-1), few.o.reshape(-1), few.w.reshape(-1)
    e, g, b, v = few.e.reshape(-1), few.g.reshape(-1), few.b.reshape(-1), few.v.reshape(-1)
    began, ended = few.began.reshape(-1), few.ended.reshape(-1)
    began[:] = 0.0
    for t in range(n - 1, -1, -1):
        seen = all_a[t * size : (t + 1) * size]
        if t == n - 1:
            for q in range(size):
                ended[q] = seen[q] * b[q]
        else:
            k, then, x = (
                kind[start + t + 1],
                (t + 1) * n_memories,
                all_x[(t + 1) * size - width : (t + 2) * size - width],
            )
            o, w = all_o[(t + 1) * size : (t + 2) * size], all_w[(t + 1) * size : (t + 2) * size]
            for q in range(size):
                w[q] = g[q] * v[q]
            for c in range(len(few.moved)):
                few.w[then + moves[c, 0], moves[c, 1]] = few.moved[c] * few.v[moves[c, 2], moves[c, 1]]
            for m in range(n_memories):
                _product(few.w, then + m, few.start_t, k, n_labels, few.b, m)
            for q in range(size):
                began[q] += o[q] * w[q]
            for q in range(size):
                ended[q] += x[q] * b[q]
            for q in range(size):
                b[q] *= e[q]
            for m in range(n_memories):
                onward = plan.onward[m]
                for j in range(width):
                    more = same[k, j] * stay * few.v[onward, j]
                    few.b[m, j] += more
                    few.went_on[k, j] += a[then - n_memories + m, j] * more * weight
                for p in range(len(pairs)):
                    i, j = pairs[p, 0], pairs[p, 1]
                    more = few.on[k, p] * stay * few.v[onward, j]
                    few.b[m, i] += more
                    edge[k, i, j] += weight * (a[then - n_memories + m, i] * more)
        _spread(few.local, t, few.scale[t], few.v)
        for q in range(size):
            part[q] = seen[q] * b[q]
            v[q] = v[q] * b[q] if seen[q] > 0.0 else 0.0
        for j in range(n_labels):
            node[start + t, j] = few.part[0, j]
        for m in range(1, n_memories):
            for j in range(n_labels):
                node[start + t, j] += few.part[m, j]
    for j in range(n_labels):
        few.began[0, j] += node[start, j]


@kernel
def _add_outer(few: Few, kind: IndexArray, start: int, n: int, n_labels: int, weight: float) -> None:
    """outer[k] += weight·Σ x_{t−1} ⊗ w_t over memories and edges of kind k, as many edges at once as can be."""
    n_memories, t = len(few.final), 1
    while t < n:
        k, first, column = kind[start + t], t, 0
        while t < n and kind[start + t] == k:
            t += 1
        while column < few.a.shape[1]:
            count = min(WIDEST, (few.a.shape[1] - column) // LANES)
            tiles.outer_tile(
                count, few.x, few.w, few.order, first * n_memories, t * n_memories, few.outer, k, n_labels, column,
                weight,
            )  # fmt: skip
            column += LANES * count


@kernel
def infer_few(
    node: FloatArray, kind: IndexArray, start: int, n: int, tables: Tables, base: FloatArray, few: Few, gamma: float,
    spread: float, weight: float, node_out: FloatArray, edge_out: FloatArray, mean: FloatArray,
) -> float:  # fmt: skip
    """log Z of the sequence at ``start`` less what all have, marginals and E[g]; NaN if numbers do not reach so far.

    Edge marginals are in ``edge_out`` and Φ_start∘outer. O(n·M·L²).
    """
    tops, node_spread = load(node, start, start + n, few.local, few.least)
    if tops == -np.inf:
        return -np.inf
    for j in range(len(few.least)):
        few.least[j] = 1.0
    n_labels, stay, edge_spread = node.shape[1], np.exp(-gamma), 0.0
    for t in range(1, n):
        edge_spread = max(edge_spread, tables.spread[kind[start + t]])
    log_sum = _forward(few, tables, kind, start, n, n_labels, stay)
    if not exact_enough(np.min(few.least), spread + node_spread + edge_spread):
        return np.nan
    if log_sum == -np.inf:
        return -np.inf
    _backward(few, kind, start, n, n_labels, stay, weight, node_out, edge_out)
    if weight != 0.0:
        _add_outer(few, kind, start, n, n_labels, weight)
    for s in range(len(mean)):
        mean[s] = np.sum(base[s])
        for m in range(len(few.final)):
            for j in range(n_labels):
                mean[s] += few.began[m, j] * few.plan.starts[s, m, j] + few.ended[m, j] * few.plan.ends[s, m, j]
    return float(tops + log_sum + n * gamma + few.rest[0])


@kernel
def infer_all(
    node: FloatArray, offsets: IndexArray, kind: IndexArray, tables: Tables, form: Form, memory: Memory,
    whole: FloatArray, weight: FloatArray, gains: Gains, few: Few, log_z: FloatArray, node_out: FloatArray,
    edge_out: FloatArray, whole_out: FloatArray, first: int, last: int,
) -> None:  # fmt: skip
    """``infer_few`` for sequences first … last − 1; log Z stays NaN where it does not do."""
    n_labels, gamma, spread = node.shape[1], 0.0, 0.0
    few.outer[:], few.went_on[:] = 0.0, 0.0
    for s in range(first, last):
        n = offsets[s + 1] - offsets[s]
        if s == first or len(whole) > 1:
            set_gains(form, whole, 0 if len(whole) == 1 else s, gains)
            gamma, spread = set_factors(few, form, memory, gains)
        if n * len(few.final) <= len(few.a):
            log_z[s] = gains.base[0] + infer_few(
                node, kind, offsets[s], n, tables, form.base, few, gamma, spread, weight[s], node_out, edge_out,
                whole_out[s],
            )  # fmt: skip
    for k in range(len(edge_out)):
        for i in range(n_labels):
            edge_out[k, i, i] += few.went_on[k, i]
            for j in range(n_labels):
                edge_out[k, i, j] += few.start[k, i, j] * few.outer[k, i, j]
