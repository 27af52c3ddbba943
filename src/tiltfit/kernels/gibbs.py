"""One Gibbs sweep over label sequences: every position in turn gets a label drawn given all others.

Take the label at t away, so that a segment ends at t − 1 and another begins at t + 1. A label y put there goes on with
neither neighbour, with one, or with both: the counters of its field change by d = 1, 0 or −1, and no other. So

    P(y) ∝ ψ_t(y) · Φ(y_{t−1}, y) · Φ(y, y_{t+1}) · exp(gain(y)),

where gain is that of one more segment at the present counts for all labels but a few: those that go on with a
neighbour, and those that share a counter with the label taken away.

``sweep`` takes products of probabilities, where statistics are functions of counters alone and no field has two. Where
such products could lose something that matters it leaves the rest of the sequence to
``sweep_logs``, the same on logarithms, for any segmental statistics and any scores. There, to the gains by counters
come those of short segments, which depend on the lengths of the neighbouring segments, and those of orders, which
depend on where each field comes first: all known when the label at a position is taken away.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tiltfit.arrays import FloatArray, IndexArray
from tiltfit.kernels.chain import Tables, edge_tables, padded
from tiltfit.kernels.compile import kernel
from tiltfit.kernels.constants import LANES
from tiltfit.kernels.exponential import exp_of_negative
from tiltfit.kernels.form import Form, Integer, Prices, Tally
from tiltfit.kernels.sample import uniform

_WIDEST_GAIN = 150.0  # no gain above: then what underflows is below e^150·10⁻³⁰⁸,
_LEAST_TOTAL = 1e-200  # and nothing beside such a sum


class Site(NamedTuple):
    """Room for the work at one position of a sequence of up to n, labels padded."""

    gain: FloatArray  # [P]: what one more segment adds, by label; in ``sweep`` its exponential
    inverse: FloatArray  # [P]: one by that
    room: FloatArray  # [P]: P(y), not yet normalised
    fours: FloatArray  # [P / 4, 4]: the same numbers
    sums: FloatArray  # [P / 4]
    next: IndexArray  # [n]: the next position of the same field, or n
    head: IndexArray  # [F + 1]: the first position to the right of a field, or n
    ahead: IndexArray  # [n + 1]: how long the segment is that would begin here


def new_site(form: Form, n: int) -> Site:
    width = padded(len(form.field))
    gain, inverse, room, sums = (np.zeros(size) for size in (width, width, width, width // LANES))
    fours = room.reshape(-1, LANES)
    return Site(
        gain, inverse, room, fours, sums, *(np.zeros(size, dtype=np.int64) for size in (n, len(form.counters), n + 1))
    )


def open_tables(edge: FloatArray) -> Tables:
    """Tables with one more label, nobody, beyond the ends of a sequence: next to it all labels are alike."""
    n_kinds, n_labels = edge.shape[:2]
    wider = np.full((max(1, n_kinds), n_labels + 1, n_labels + 1), -np.inf)
    wider[:n_kinds, :-1, :-1] = edge
    tables = edge_tables(wider)
    for factor, log in ((tables.factor, tables.log), (tables.factor_t, tables.log_t)):
        factor[:, n_labels, :n_labels], log[:, n_labels, :n_labels] = 1.0, 0.0
    return tables


@kernel
def multiply_rows(
    room: FloatArray, local: FloatArray, row: int, gain: FloatArray, phi: FloatArray, k: Integer, left: Integer,
    phi_t: FloatArray, k_next: Integer, right: Integer,
) -> None:  # fmt: skip
    """room ← local[row] ∘ gain ∘ phi_t[k_next, right] ∘ phi[k, left]. O(P)."""
    here, before, after = local[row], phi[k, left], phi_t[k_next, right]
    for y in range(len(room)):
        room[y] = here[y] * gain[y] * after[y] * before[y]


@kernel
def add_row(out: FloatArray, k: Integer, row: Integer, room: FloatArray, scale: float) -> None:
    """out[k, row] += scale·room. O(P)."""
    sums = out[k, row]
    for y in range(len(room)):
        sums[y] += scale * room[y]


@kernel
def block_sums(fours: FloatArray, sums: FloatArray) -> float:
    """sums[b] ← Σ fours[: b + 1]; returns the sum."""
    total = 0.0
    for b in range(len(sums)):
        total += (fours[b, 0] + fours[b, 1]) + (fours[b, 2] + fours[b, 3])
        sums[b] = total
    return total


@kernel
def choose(fours: FloatArray, sums: FloatArray, goal: float) -> int:
    """The label in whose part of Σ fours the goal falls, never one of weight 0.

    First a block of four labels, then one of the four: two short chains of additions instead of a long one.
    """
    b = 0
    for i in range(len(sums) - 1):
        b += sums[i] <= goal
    first = (sums[b - 1] if b > 0 else 0.0) + fours[b, 0]
    second = first + fours[b, 1]
    third = second + fours[b, 2]
    y = (first <= goal) + (second <= goal) + (third <= goal)
    while y > 0 and fours[b, y] == 0.0:  # rounding left the goal at the very end
        y -= 1
    return int(LANES * b + y)


@kernel
def sweep(  # noqa: PLR0912 (see below)
    local: FloatArray,
    offsets: IndexArray,
    kind: IndexArray,
    phi: FloatArray,
    phi_t: FloatArray,
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
    """Draw every label of sequences first … last − 1 anew, from left to right. O(N·L).

    Row s − first of ``tally`` and ``states`` and row price[s − first] of ``prices`` are those of sequence s; ψ begins
    at row 0 of ``local``. Counts are kept up, shorts and orders are not. P(y) times active[s − first] is added to
    ``node_sum`` and, weighted, to row y_{t−1} of ``edge_sum[chunk]``: the mean of a conditional probability varies less
    than that of the labels drawn. Below 0, the sequence is left alone. done[s − first] ← how many labels were drawn.
    """
    # Arrays by their own names: to reach one through a tuple costs a count of its users every time. For the same reason
    # what happens at a position is not split into functions of many arrays.
    continues, field, counter, related, factor = form.continues, form.field, form.counters, form.related, prices.factor
    counts, gain, inverse, room, fours, sums = tally.counts, site.gain, site.inverse, site.room, site.fours, site.sums
    n_labels, nobody = len(field) - 1, np.uint32(len(field) - 1)
    top = factor.shape[3] - 1
    for s in range(first, last):
        i, start, n = s - first, offsets[s], offsets[s + 1] - offsets[s]
        done[i] = 0
        if active[i] < 0.0 or prices.widest[price[i]] > _WIDEST_GAIN:
            continue
        r, row, state, share = price[i], start - offsets[first], states[i], active[i]
        for f in range(len(counter)):
            _refresh(related, field, counter, counts, i, factor, r, gain, inverse, np.uint32(f))
        left, k_next = nobody, np.uint32(0)
        for t in range(n):
            old, k, right = np.uint32(labels[start + t]), k_next, nobody
            if t + 1 < n:
                right, k_next = np.uint32(labels[start + t + 1]), np.uint32(kind[start + t + 1])
            f_old, d_old = field[old], np.int64(1) - continues[left, old] - continues[old, right]
            counts[i, counter[f_old, 0]] -= d_old
            multiply_rows(room, local, row + t, gain, phi, k, left, phi_t, k_next, right)
            for part in range(3 if d_old != 0 else 2):
                which = left if part == 0 else (n_labels + 1 + right if part == 1 else 2 * n_labels + 2 + f_old)
                for e in range(related.shape[1] - 1):
                    y = related[np.uint32(which), e]
                    if y == nobody:
                        break
                    goes_on, joins = continues[left, y], continues[y, right]
                    if (part > 0 and goes_on) or (part > 1 and joins):
                        continue
                    value, j = room[y] * inverse[y], counter[field[y], 0]
                    if goes_on and joins:
                        value *= factor[r, j, 2, np.uint32(min(counts[i, j], top))]
                    elif not (goes_on or joins):
                        value *= factor[r, j, 0, np.uint32(min(counts[i, j], top))]
                    room[y] = value
            total = block_sums(fours, sums)
            if not total > _LEAST_TOTAL:
                counts[i, counter[f_old, 0]] += d_old
                break
            state, u = uniform(state)
            new = np.uint32(choose(fours, sums, u * total))
            if share > 0.0:
                add_row(node_sum, 0, row + t, room, share / total)
                if t > 0:
                    add_row(edge_sum, k, left, room, share * weight[s] / total)
            labels[start + t] = new
            f_new, d_new = field[new], np.int64(1) - continues[left, new] - continues[new, right]
            counts[i, counter[f_new, 0]] += d_new
            if f_new != f_old or d_new != d_old:
                _refresh(related, field, counter, counts, i, factor, r, gain, inverse, f_old)
                _refresh(related, field, counter, counts, i, factor, r, gain, inverse, f_new)
            done[i], left = t + 1, new
        states[i] = state


@kernel
def _refresh(
    related: IndexArray, field: IndexArray, counter: IndexArray, counts: IndexArray, i: int, factor: FloatArray, r: int,
    gain: FloatArray, inverse: FloatArray, f: Integer,
) -> None:  # fmt: skip
    """The gains of all labels that share a counter with field f, or are of it."""
    which = np.uint32(len(related) - 2 * len(counter) + f)
    for e in range(related.shape[1] - 1):
        y = related[which, e]
        if y == np.uint32(len(field) - 1):
            break
        j = counter[field[y], 0]
        value = factor[r, j, 0, np.uint32(min(counts[i, j], factor.shape[3] - 1))]
        gain[y], inverse[y] = value, 1.0 / value


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
