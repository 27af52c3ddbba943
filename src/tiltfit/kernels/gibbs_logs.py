"""The same sweep as ``gibbs.sweep`` on logarithms, for any segmental statistics and any scores.

To the gains by counters come those of short segments, which depend on the lengths of the neighbouring segments, and
those of orders, which depend on where each field comes first: all known when the label at a position is taken away.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tiltfit.arrays import FloatArray, IndexArray
from tiltfit.kernels.compile import kernel
from tiltfit.kernels.exponential import exp_of_negative
from tiltfit.kernels.form import Form, Tally
from tiltfit.kernels.gibbs import Site, add_row, block_sums, choose
from tiltfit.kernels.priced import Prices
from tiltfit.kernels.sample import uniform

Integer = int | np.integer[Any]


@kernel
def sweep_logs(  # noqa: PLR0912 (as ``sweep``)
    node: FloatArray,
    offsets: IndexArray,
    kind: IndexArray,
    log: FloatArray,
    log_t: FloatArray,
    form: Form,
    prices: Prices,
    price: IndexArray,
    labels: IndexArray,
    tally: Tally,
    site: Site,
    states: npt.NDArray[np.uint64],
    active: FloatArray,
    weight: FloatArray,
    node_sum: FloatArray,
    edge_sum: FloatArray,
    done: IndexArray,
    first: int,
    last: int,
) -> None:
    """Draw the labels of sequences first … last − 1 anew, from position done[s − first] on. O(N·L).

    All else is as in ``gibbs.sweep``.
    """
    continues, field, counters, run, order = form.continues, form.field, form.counters, prices.run, prices.order
    counts, room, fours, sums, seen = tally.counts, site.room, site.fours, site.sums, tally.seen
    head, ahead, gain, order_first, order_then = site.head, site.ahead, prices.gain, form.order_first, form.order_then
    n_labels, top, longest, nobody = node.shape[1], gain.shape[3] - 1, run.shape[2] - 1, np.uint32(node.shape[1])
    for s in range(first, last):
        i, start, n = s - first, offsets[s], offsets[s + 1] - offsets[s]
        if active[i] < 0.0 or done[i] == n:
            continue
        r, row, share = price[i], start - offsets[first], active[i]
        left, length = _look_around(continues, field, labels, start, n, done[i], site.next, head, ahead, seen)
        for t in range(done[i], n):
            old, right = np.uint32(labels[start + t]), nobody
            k, k_next = (kind[start + t] if t > 0 else 0), 0
            if t + 1 < n:
                right, k_next = np.uint32(labels[start + t + 1]), kind[start + t + 1]
            head[field[old]] = site.next[t]
            d = np.int64(1) - continues[left, old] - continues[old, right]
            for c in range(counters.shape[1]):
                counts[i, counters[field[old], c]] -= d
            highest = -np.inf
            for y in range(n_labels):
                neighbours, f = np.uint32(continues[left, y] + continues[y, right]), field[y]
                value = node[start + t, y] + log[k, left, y] + log_t[k_next, right, y]
                for c in range(counters.shape[1]):
                    j = counters[f, c]
                    if j < gain.shape[1]:
                        value += gain[r, j, neighbours, min(counts[i, j], top)]
                if longest > 1:
                    before, after = (length if continues[left, y] else 0), (ahead[t + 1] if continues[y, right] else 0)
                    value += run[r, f, min(before + 1 + after, longest)]
                    value -= run[r, f, min(before, longest)] + run[r, f, min(after, longest)]
                room[y] = value
            for o in range(order.shape[1]):
                a, b = order_first[o], order_then[o]
                here, there = min(seen[a], head[a]), min(seen[b], head[b])
                with_a, with_b = min(here, t) < there < n, here < min(there, t) < n
                was = here < there < n
                for y in range(n_labels):
                    room[y] += order[r, o] * (with_a - was) if field[y] == a else 0.0
                    room[y] += order[r, o] * (with_b - was) if field[y] == b else 0.0
            for y in range(n_labels):
                highest = max(highest, room[y])
            for y in range(n_labels):
                room[y] = exp_of_negative(room[y] - highest)
            total = block_sums(fours, sums)
            states[i], u = uniform(states[i])
            new = np.uint32(choose(fours, sums, u * total))
            if share > 0.0:
                add_row(node_sum, 0, row + t, room, share / total)
                if t > 0:
                    add_row(edge_sum, k, left, room, share * weight[s] / total)
            labels[start + t] = new
            d = np.int64(1) - continues[left, new] - continues[new, right]
            for c in range(counters.shape[1]):
                counts[i, counters[field[new], c]] += d
            length = length + 1 if continues[left, new] else np.int64(1)
            seen[field[new]] = min(seen[field[new]], t)
            left = new
        done[i] = n


@kernel
def _look_around(
    continues: IndexArray, field: IndexArray, labels: IndexArray, start: int, n: int, here: int, following: IndexArray,
    head: IndexArray, ahead: IndexArray, seen: IndexArray,
) -> tuple[Integer, Integer]:  # fmt: skip
    """Find what lies to the right of ``here`` and where each field comes first to its left. Returns the label to its
    left, and how long its segment is there. O(n)."""
    for f in range(len(head)):
        head[f], seen[f] = n, n
    right = np.uint32(len(field) - 1)
    ahead[n] = 0
    for t in range(n - 1, here - 1, -1):
        y = np.uint32(labels[start + t])
        following[t] = head[field[y]]
        head[field[y]] = t
        ahead[t] = ahead[t + 1] + 1 if continues[y, right] else 1
        right = y
    left, length = np.uint32(len(field) - 1), np.int64(0)
    for t in range(here):
        y = np.uint32(labels[start + t])
        length = length + 1 if continues[left, y] else np.int64(1)
        seen[field[y]] = min(seen[field[y]], t)
        left = y
    return left, length
