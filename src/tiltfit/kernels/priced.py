"""Σ_k price_k·g_k of a label sequence, for many prices at once: the form of one statistic, one table per counter."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tiltfit.arrays import FloatArray, IndexArray
from tiltfit.kernels.compile import kernel
from tiltfit.kernels.form import Form, Tally

Integer = int | np.integer[Any]

_FORBIDDING = -1e9  # stands for −inf, so that a chain that starts among the forbidden can leave, breach by breach


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
