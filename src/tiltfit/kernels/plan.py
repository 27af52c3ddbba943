"""All that can be remembered of a label sequence's beginning, where that is little (see ``memory``)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tiltfit.arrays import FloatArray, IndexArray
from tiltfit.kernels.chain import Tables, aligned, padded
from tiltfit.kernels.compile import ZERO, kernel
from tiltfit.kernels.exponential import exp_of_negative
from tiltfit.kernels.form import Form
from tiltfit.kernels.memory import BEGUN, Gains, Memory, Rows, link, new_gains, new_rows, rest_of

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
