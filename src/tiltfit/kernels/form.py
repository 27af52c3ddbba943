"""Segmental statistics as kernels read them, and the sums of priced statistics for one sequence.

All parts of all statistics speak of three kinds of numbers, each held once however many statistics use it:

    counters   n_j, the number of segments of a set of fields        g_k gets h_kj(n_j)
    shorts     the number of segments of a set of fields below a length    weight_kq times it
    orders     1 if one field comes first and another after it             weight_ko times it

so g_k = Σ_j h_kj(n_j) + Σ_q weight_kq·short_q + Σ_o weight_ko·order_o, and the priced sum Σ_k
price_k·g_k has the same form with one table a counter. From n = cap_j on, h_kj is a straight line.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tiltfit.arrays import FloatArray, IndexArray
from tiltfit.inference.segmental import Counted, Order, Segmental, Short
from tiltfit.kernels.compile import kernel

Integer = int | np.integer[Any]


class Form(NamedTuple):
    """S statistics of J counters, Q shorts and O orders. Label L and field F are nobody's: beyond a sequence's ends,
    and labels without a field. Numbers without a sign are indices that need not be checked for being negative."""

    continues: IndexArray  # [L + 1, L + 1]
    field: IndexArray  # [L + 1]
    counters: IndexArray  # [F + 1, c]: the counters of a field, then J, which is nobody's
    related: IndexArray  # lists of labels, then L: that go on with label 0 … L; that label 0 … L goes on with; of all
    # fields that share a counter with field 0 … F; of field 0 … F alone
    cap: IndexArray  # [J]
    base: FloatArray  # [S, J]: h(0)
    step: FloatArray  # [S, J, C + 1]: h(n + 1) − h(n); the last is the slope of the straight line
    level: FloatArray  # [S, J, C + 1]: h(n) − h(0)
    short_member: IndexArray  # [Q, F + 1]
    short_below: IndexArray  # [Q]
    short_weight: FloatArray  # [S, Q]
    order_first: IndexArray  # [O]
    order_then: IndexArray  # [O]
    order_weight: FloatArray  # [S, O]


class Tally(NamedTuple):
    """What each of n label sequences amounts to."""

    counts: IndexArray  # [n, J + 1]: the last is nobody's
    shorts: IndexArray  # [n, Q]
    orders: IndexArray  # [n, O]
    seen: IndexArray  # [F + 1]: room for the first position of every field


def pack(statistics: Sequence[Segmental]) -> Form:
    """At least one statistic, all of the same fields."""
    fields, parts = statistics[0].fields, [_simple(statistic.parts) for statistic in statistics]
    sets, shorts, orders = _numbered(parts)
    longest = max((len(part.table) for several in parts for part in several if isinstance(part, Counted)), default=1)
    step, level = np.zeros((2, len(statistics), len(sets), longest))
    base = np.zeros((len(statistics), len(sets)))
    short_weight, order_weight = np.zeros((len(statistics), len(shorts))), np.zeros((len(statistics), len(orders)))
    for k, several in enumerate(parts):
        for part in several:
            if isinstance(part, Counted):
                h = np.array([part.at(n) for n in range(longest + 1)])
                base[k, sets[part.fields]] += h[0]
                step[k, sets[part.fields]] += np.diff(h)
                level[k, sets[part.fields]] += h[:-1] - h[0]
            elif isinstance(part, Short):
                short_weight[k, shorts[part.fields, part.below]] += part.weight
            else:
                order_weight[k, orders[part.first, part.then]] += part.weight
    n_fields, n_labels = len(fields.names), fields.n_labels
    continues = np.zeros((n_labels + 1, n_labels + 1), dtype=np.uint8)
    continues[:-1, :-1] = fields.continues
    counters = [[j for members, j in sets.items() if f in members] for f in range(n_fields)] + [[]]
    field = np.where(fields.field < 0, n_fields, fields.field)
    shared = [{f, *(g for members in sets for g in members if f in members)} for f in range(n_fields + 1)]
    sharing = [[y for y in range(n_labels) if field[y] in group] for group in shared]
    members = [np.flatnonzero(field == f).tolist() for f in range(n_fields + 1)]
    member = np.array([[f in members for f in range(n_fields + 1)] for members, _ in shorts], dtype=np.uint8)
    return Form(
        continues,
        np.append(field, n_fields).astype(np.uint32),
        np.ascontiguousarray(_padded(counters, len(sets))[:, : max(1, *map(len, counters))]),
        _padded([np.flatnonzero(row).tolist() for row in (*continues, *continues.T)] + sharing + members, n_labels),
        _caps(step),
        base,
        step,
        level,
        member.reshape(len(shorts), n_fields + 1),
        np.array([below for _, below in shorts], dtype=np.int64),
        short_weight,
        np.array([first for first, _ in orders], dtype=np.int64),
        np.array([then for _, then in orders], dtype=np.int64),
        order_weight,
    )


def _simple(parts: Sequence[Counted | Short | Order]) -> list[Counted | Short | Order]:
    """Straight lines of a sum are sums of straight lines: those need no counter of several fields."""
    simple: list[Counted | Short | Order] = []
    for part in parts:
        if isinstance(part, Counted) and len(part.table) == 1 and len(part.fields) > 1:
            simple += [Counted((f,), part.table if n == 0 else (0.0,), part.slope) for n, f in enumerate(part.fields)]
        else:
            simple.append(part)
    return simple


def _numbered(
    parts: Sequence[Sequence[Counted | Short | Order]],
) -> tuple[dict[tuple[int, ...], int], dict[tuple[tuple[int, ...], int], int], dict[tuple[int, int], int]]:
    """Every counter, short and order that occurs, and its number."""
    sets: dict[tuple[int, ...], int] = {}
    shorts: dict[tuple[tuple[int, ...], int], int] = {}
    orders: dict[tuple[int, int], int] = {}
    for part in (part for several in parts for part in several):
        if isinstance(part, Counted):
            sets.setdefault(part.fields, len(sets))
        elif isinstance(part, Short):
            shorts.setdefault((part.fields, part.below), len(shorts))
        else:
            orders.setdefault((part.first, part.then), len(orders))
    return sets, shorts, orders


def _padded(lists: list[list[int]], end: int) -> IndexArray:
    """One row a list, each followed by ``end``."""
    rows = np.full((len(lists), max(map(len, lists), default=0) + 1), end, dtype=np.uint32)
    for row, values in zip(rows, lists, strict=True):
        row[: len(values)] = values
    return rows


def _caps(step: FloatArray) -> IndexArray:
    """By counter: from where on the steps of all statistics are the same."""
    n_counters, longest = step.shape[1:]
    caps = np.zeros(n_counters, dtype=np.int64)
    for j in range(n_counters):
        for n in range(longest - 1, 0, -1):
            if np.any(step[:, j, n - 1] != step[:, j, n]):
                caps[j] = n
                break
    return caps


def memories(form: Form, n: int) -> FloatArray:
    """How many different things can be remembered after 1, …, n labels, at most (see ``memory``). O(n·J·C)."""
    ways = np.zeros(n * form.counters.shape[1] + 1)  # by the sum of all counters, each up to its cap
    ways[0] = 1.0
    for cap in form.cap:
        sums = np.cumsum(ways)
        ways = sums - np.concatenate([np.zeros(min(int(cap) + 1, len(sums))), sums[: -int(cap) - 1]])
    reached = np.cumsum(ways)[form.counters.shape[1] :: form.counters.shape[1]]
    return reached * float(np.max(form.short_below, initial=1)) * 3.0 ** len(form.order_first)


def new_tally(form: Form, n: int) -> Tally:
    sizes = (n, len(form.cap) + 1), (n, len(form.short_below)), (n, len(form.order_first)), (len(form.counters),)
    return Tally(*(np.zeros(size, dtype=np.int64) for size in sizes))


@kernel
def measure(form: Form, labels: IndexArray, start: Integer, n: int, tally: Tally, i: Integer) -> None:
    """Row i of the tally: that of the sequence labels[start : start + n]. O(n)."""
    continues, field, counters, counts, shorts = form.continues, form.field, form.counters, tally.counts, tally.shorts
    member, below, seen, n_shorts = form.short_member, form.short_below, tally.seen, tally.shorts.shape[1]
    for j in range(counts.shape[1]):
        counts[i, j] = 0
    for q in range(n_shorts):
        shorts[i, q] = 0
    for f in range(len(seen)):
        seen[f] = n
    left, before, run = np.uint32(len(field) - 1), np.uint32(len(counters) - 1), 0
    for t in range(n):
        y = np.uint32(labels[start + t])
        if continues[left, y]:
            run += 1
        else:
            for q in range(n_shorts):
                shorts[i, q] += member[q, before] & (run < below[q])
            f = field[y]
            for c in range(counters.shape[1]):
                counts[i, counters[f, c]] += 1
            seen[f] = min(seen[f], t)
            before, run = f, 1
        left = y
    for q in range(n_shorts):
        shorts[i, q] += member[q, before] & (run < below[q])
    for o in range(tally.orders.shape[1]):
        then = seen[form.order_then[o]]
        tally.orders[i, o] = seen[form.order_first[o]] < then < n


@kernel
def values(form: Form, tally: Tally, i: int, out: FloatArray) -> None:
    """out[k] ← g_k of row i. O(S·(J + Q + O))."""
    counts, shorts, orders, step, level = tally.counts, tally.shorts, tally.orders, form.step, form.level
    last = step.shape[2] - 1
    for k in range(len(out)):
        total = 0.0
        for j in range(step.shape[1]):
            n = counts[i, j]
            total += form.base[k, j] + level[k, j, min(n, last)] + step[k, j, last] * max(0, n - last)
        for q in range(shorts.shape[1]):
            total += form.short_weight[k, q] * shorts[i, q]
        for o in range(orders.shape[1]):
            total += form.order_weight[k, o] * orders[i, o]
        out[k] = total
