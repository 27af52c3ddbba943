"""Segmental statistics as kernels read them (``inference.segmental.pack``), and their values for one sequence.

All parts of all statistics are about three kinds of numbers, each held once however many statistics use it:

    counters   n_j, the number of segments of a set of fields        g_k gets h_kj(n_j)
    shorts     the number of segments of a set of fields below a length    weight_kq times it
    orders     1 if one field comes first and another after it             weight_ko times it

so g_k = Σ_j h_kj(n_j) + Σ_q weight_kq·short_q + Σ_o weight_ko·order_o, and the priced sum Σ_k
price_k·g_k has the same form with one table per counter
(``Prices``, for many sets of prices at once). From n = cap_j on, h_kj is a straight line.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tiltfit.arrays import FloatArray, IndexArray
from tiltfit.kernels.compile import kernel

Integer = int | np.integer[Any]

_FORBIDDING = -1e9  # stands for −inf, so that a chain that starts among the forbidden can leave, breach by breach


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
    """The counts of each of n label sequences."""

    counts: IndexArray  # [n, J + 1]: the last is nobody's
    shorts: IndexArray  # [n, Q]
    orders: IndexArray  # [n, O]
    seen: IndexArray  # [F + 1]: room for the first position of every field


def memories(form: Form, n: int) -> FloatArray:
    """The most different things that can be remembered after 1, …, n labels (see ``memory``). O(n·J·C)."""
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


class Prices(NamedTuple):
    """Priced statistics, a row for each of r sets of prices.

    A label put where there is none goes on with 0, 1 or 2 of its neighbours. With n segments in a counter before,
    gain[r, j, 0, n] is what one more adds, gain[r, j, 1, n] = 0, gain[r, j, 2, n] what one less adds. From n = C + 1 on
    they stay the same.
    """

    gain: FloatArray  # [r, J, 3, C + 2]
    factor: FloatArray  # [r, J + 1, 3, C + 2]: exp(gain); the last counter is nobody's and adds nothing
    level: FloatArray  # [r, J, C + 2]: what n segments add, and the slope beyond n = C
    run: FloatArray  # [r, F + 1, K + 1]: what a segment of that length adds, 0 from length K on
    short: FloatArray  # [r, Q]
    order: FloatArray  # [r, O]
    widest: FloatArray  # [r]: no gain of a label's counters is above


def new_prices(form: Form, n: int) -> Prices:
    n_counters, size = form.step.shape[1:]
    longest = int(np.max(form.short_below, initial=1))
    shapes = (n, n_counters, 3, size + 1), (n, n_counters + 1, 3, size + 1), (n, n_counters, size + 1)
    rest = (n, len(form.counters), longest + 1), (n, len(form.short_below)), (n, len(form.order_first)), n
    return Prices(*(np.zeros(shape) for shape in (*shapes, *rest)))


@kernel
def set_prices(form: Form, whole: FloatArray, i: int, prices: Prices, r: int) -> None:
    """Row r of ``prices`` from the prices of the statistics, whole[i, S]. O(S·(J·C + Q + O))."""
    gain, level, run, short, order = prices.gain, prices.level, prices.run, prices.short, prices.order
    n_statistics, last, widest = whole.shape[1], form.step.shape[2] - 1, 0.0
    for j in range(gain.shape[1]):
        for n in range(last + 1):
            step, height = 0.0, 0.0
            for k in range(n_statistics):
                step += max(whole[i, k], _FORBIDDING) * form.step[k, j, n]
                height += max(whole[i, k], _FORBIDDING) * form.level[k, j, n]
            gain[r, j, 0, n], gain[r, j, 2, n + 1], level[r, j, n] = step, -step, height
        gain[r, j, 0, last + 1] = level[r, j, last + 1] = gain[r, j, 0, last]
        for d in range(3):
            for n in range(last + 2):
                prices.factor[r, j, d, n] = np.exp(gain[r, j, d, n])
    for d in range(3):
        for n in range(last + 2):
            prices.factor[r, gain.shape[1], d, n] = 1.0
    _sum(whole, i, form.short_weight, short, r)
    _sum(whole, i, form.order_weight, order, r)
    for f in range(run.shape[1]):
        for n in range(run.shape[2]):
            run[r, f, n] = 0.0
            for q in range(short.shape[1]):
                run[r, f, n] += short[r, q] if form.short_member[q, f] and 0 < n < form.short_below[q] else 0.0
        widest = max(widest, _widest_step(form.counters, gain, r, f))
    prices.widest[r] = widest


@kernel
def _sum(whole: FloatArray, i: int, weight: FloatArray, out: FloatArray, r: int) -> None:
    """out[r, q] ← Σ_k whole[i, k]·weight[k, q]."""
    for q in range(out.shape[1]):
        out[r, q] = 0.0
        for k in range(whole.shape[1]):
            out[r, q] += max(whole[i, k], _FORBIDDING) * weight[k, q]


@kernel
def _widest_step(counters: IndexArray, gain: FloatArray, r: int, f: int) -> float:
    total = 0.0
    for c in range(counters.shape[1]):
        if counters[f, c] < gain.shape[1]:
            top = 0.0
            for n in range(gain.shape[3]):
                top = max(top, abs(gain[r, counters[f, c], 0, n]))
            total += top
    return total


@kernel
def energy(prices: Prices, r: int, tally: Tally, i: Integer) -> float:
    """Σ_k price_k·g_k of row i of the tally, less what is the same for all label sequences. O(J + Q + O)."""
    level, counts = prices.level, tally.counts
    total, last = 0.0, level.shape[2] - 2
    for j in range(level.shape[1]):
        n = counts[i, j]
        total += level[r, j, min(n, last)] + level[r, j, last + 1] * max(0, n - last)
    for q in range(tally.shorts.shape[1]):
        total += prices.short[r, q] * tally.shorts[i, q]
    for o in range(tally.orders.shape[1]):
        total += prices.order[r, o] * tally.orders[i, o]
    return total
