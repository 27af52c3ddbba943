"""What of a label sequence's beginning its statistics must remember, as one number; what the future can add at most.

For every counter how many segments it has seen, up to its cap; for every order whether it is open (0), its first field
has come (1), or it is decided (2); and the length of the present segment, up to the longest that counts as short. Two
beginnings that end in the same label and remember the same have the same future.

The priced sum is taken step by step, so that what is still to come can be bounded:

    Σ_k price_k·g_k = Σ over segments [θ_f + what its start adds + what its end adds] + what the sequence's end adds

θ_f, the gains that never end (the slope of a straight line, a premium on short segments), goes to the potentials of
the chain. Then ends add at most 0 and starts at most ``rest`` of what is remembered, however the sequence goes on.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tiltfit.arrays import FloatArray, IndexArray
from tiltfit.kernels.compile import kernel
from tiltfit.kernels.form import Form

OPEN, BEGUN, DECIDED = 0, 1, 2


class Memory(NamedTuple):
    """The lowest bits of a memory are the length less one; (memory >> shift_j) & mask_j is min(n_j, cap_j), and
    (memory >> order_shift_o) & 3 the state of an order."""

    counters: IndexArray  # [F + 1, c]: those of a field, then J
    cap: IndexArray  # [J]
    shift: IndexArray  # [J]
    mask: IndexArray  # [J]
    order_first: IndexArray  # [O]
    order_then: IndexArray  # [O]
    order_shift: IndexArray  # [O]
    tracked: IndexArray  # [F + 1]: whether lengths matter for a field
    longest: IndexArray  # [2]: K, where lengths end, and the mask of their bits


class Gains(NamedTuple):
    """The gains of one set of prices, in logarithms."""

    up: FloatArray  # [J, C + 1]: the start of one more segment
    rest: FloatArray  # [J, C + 1]: the best that further ones can add
    final: FloatArray  # [J, C + 1]: the end of the sequence: 0, or −inf where that is forbidden
    end: FloatArray  # [F + 1, K]: the end of a segment of length 1 … K
    order: FloatArray  # [O]: an order that turns out as said
    theta: FloatArray  # [F + 1]: θ
    base: FloatArray  # [1]: what all label sequences have


def new_memory(form: Form) -> Memory:
    """Raises OverflowError if memories do not fit into 62 bits."""
    longest = int(np.max(form.short_below, initial=1))
    bits = [(longest - 1).bit_length(), *(int(cap).bit_length() for cap in form.cap), *[2] * len(form.order_first)]
    if sum(bits) > 62:
        raise OverflowError
    shifts, n_counters = np.cumsum(bits), len(form.cap)
    return Memory(
        form.counters, form.cap, shifts[:n_counters], 2 ** np.array(bits[1 : n_counters + 1], dtype=np.int64) - 1,
        form.order_first, form.order_then, shifts[n_counters:-1],
        np.append(form.short_member, [[0] * len(form.counters)], 0).max(0).astype(np.uint8),
        np.array([longest, 2 ** bits[0] - 1]),
    )  # fmt: skip


def new_gains(form: Form) -> Gains:
    n_fields, longest = len(form.counters), int(np.max(form.short_below, initial=1))
    shapes = *[form.step.shape[1:]] * 3, (n_fields, longest), len(form.order_first), n_fields, 1
    return Gains(*(np.zeros(shape) for shape in shapes))


@kernel
def set_gains(form: Form, whole: FloatArray, i: int, gains: Gains) -> None:
    """From whole[i]. A price of −inf forbids whatever has a part above 0; no part is below. O(S·(J·C + Q·K + O))."""
    up, rest, theta = gains.up, gains.rest, gains.theta
    gains.base[0] = 0.0
    for f in range(len(theta)):
        theta[f] = 0.0
    for j in range(up.shape[0]):
        _set_counter(form, whole, i, gains, j)
        slope = max(0.0, up[j, form.cap[j]])
        for f in range(len(theta)):
            for c in range(form.counters.shape[1]):
                theta[f] += slope if form.counters[f, c] == j else 0.0
        for n in range(form.cap[j], -1, -1):
            up[j, n] -= slope
            rest[j, n] = max(0.0, up[j, n] + rest[j, n + 1]) if n < form.cap[j] else 0.0
    _set_ends(form, whole, i, gains.end, theta)
    for o in range(len(gains.order)):
        gains.order[o] = 0.0
        for k in range(whole.shape[1]):
            gains.order[o] += whole[i, k] * form.order_weight[k, o] if form.order_weight[k, o] != 0.0 else 0.0


@kernel
def _set_ends(form: Form, whole: FloatArray, i: int, end: FloatArray, theta: FloatArray) -> None:
    for f in range(len(theta)):
        for r in range(end.shape[1]):
            end[f, r] = 0.0
    for q in range(len(form.short_below)):
        price = 0.0
        for k in range(whole.shape[1]):
            price += whole[i, k] * form.short_weight[k, q] if form.short_weight[k, q] != 0.0 else 0.0
        for f in range(len(theta)):
            if form.short_member[q, f]:
                theta[f] += max(0.0, price)
                for r in range(end.shape[1]):
                    end[f, r] += (price if r + 1 < form.short_below[q] else 0.0) - max(0.0, price)


@kernel
def _set_counter(form: Form, whole: FloatArray, i: int, gains: Gains, j: int) -> None:
    """``up`` and ``final`` of counter j, θ not yet taken off."""
    cap = form.cap[j]
    for n in range(cap + 1):
        gains.up[j, n], gains.final[j, n] = 0.0, 0.0
    for k in range(whole.shape[1]):
        if whole[i, k] > -np.inf:
            gains.base[0] += whole[i, k] * form.base[k, j]
            for n in range(cap + 1):
                gains.up[j, n] += whole[i, k] * form.step[k, j, n]
            continue
        alive = form.step[k, j, cap] == 0.0  # whether some number of further segments from here on is allowed
        for n in range(cap, -1, -1):
            if not alive:
                gains.up[j, n] = -np.inf
            if form.base[k, j] + form.level[k, j, n] != 0.0:
                gains.final[j, n] = -np.inf
                alive = alive and n < cap
            else:
                alive = True


class Rows(NamedTuple):
    """Room for memories, one per row; the rows of a position follow one another. Values of rows are kept elsewhere."""

    code: IndexArray  # [m]: the memory
    rest: FloatArray  # [m]: the most that starts can still add
    next: IndexArray  # [m, F + 2]: the row after the start of a segment of field f, and after going on (−1: none)
    gain: FloatArray  # [m, F + 1]: what that start adds, with the change of ``rest``: at most 0
    slots: IndexArray  # [2, h]: a hash table: rows, and when they were put there; h a power of two


def new_rows(memory: Memory, size: int) -> Rows:
    """Pages of memory that are never touched cost nothing."""
    n_fields = len(memory.tracked)
    slots = np.zeros((2, 1 << (2 * size).bit_length()), dtype=np.int64)
    return Rows(
        np.empty(size, dtype=np.int64), np.empty(size), np.empty((size, n_fields + 1), dtype=np.int32),
        np.empty((size, n_fields)), slots,
    )  # fmt: skip


@kernel
def link(memory: Memory, gains: Gains, rows: Rows, first: int, last: int, stamp: int) -> int:  # noqa: PLR0912 (one loop)
    """The successors of rows first … last − 1, from row ``last`` on; returns where they end, −1 if there is no room.

    ``stamp``: a number that was not used before, above 0. O(rows·(F + counters and orders of all fields)).
    """
    code, rest, following, gain = rows.code, rows.rest, rows.next, rows.gain
    n_fields, free, up, order = gain.shape[1], last, gains.up, gains.order
    counters, cap, shift, mask, order_shift = memory.counters, memory.cap, memory.shift, memory.mask, memory.order_shift
    order_first, order_then = memory.order_first, memory.order_then
    run_mask, longest = memory.longest[1], memory.longest[0]
    bits = 1
    while bits < 2 * (last - first) * (n_fields + 1) and bits < rows.slots.shape[1]:
        bits *= 2
    for row in range(first, last):
        old = code[row]
        for f in range(n_fields + 1):
            if f == n_fields:
                new = old + (1 if (old & run_mask) < longest - 1 else 0)
                value = 0.0
            else:
                new = old - (old & run_mask) + (0 if memory.tracked[f] else longest - 1)
                value = 0.0
                for c in range(counters.shape[1]):
                    j = counters[f, c]
                    if j < len(cap):
                        n = (old >> shift[j]) & mask[j]
                        value += up[j, n]
                        new += (1 << shift[j]) if n < cap[j] else 0
                for o in range(len(order_first)):
                    state = (old >> order_shift[o]) & 3
                    if order_first[o] == f and state == OPEN:
                        new += BEGUN << order_shift[o]
                    elif order_then[o] == f and state != DECIDED:
                        value += order[o] if state == BEGUN else 0.0
                        new += (DECIDED - state) << order_shift[o]
            following[row, f] = -1
            if value == -np.inf:
                continue
            place = _find(rows.slots, code, new, stamp, bits - 1)
            if rows.slots[1, place] != stamp:
                if free == len(code):
                    return -1
                rows.slots[0, place], rows.slots[1, place] = free, stamp
                code[free] = new
                rest[free] = rest_of(gains.rest, order, new, shift, mask, order_shift)
                free += 1
            following[row, f] = rows.slots[0, place]
            if f < n_fields:
                gain[row, f] = value + rest[following[row, f]] - rest[row]
    return free


@kernel
def _find(slots: IndexArray, code: IndexArray, new: int, stamp: int, mask: int) -> int:
    """The place of the memory ``new`` in the hash table, or the empty place for it."""
    mixed = new * 0x2545F4914F6CDD1D
    place = (mixed ^ (mixed >> 32)) & mask
    while slots[1, place] == stamp and code[slots[0, place]] != new:
        place = (place + 1) & mask
    return place


@kernel
def rest_of(
    rest: FloatArray, order: FloatArray, code: int, shift: IndexArray, mask: IndexArray, order_shift: IndexArray
) -> float:
    total = 0.0
    for j in range(len(shift)):
        total += rest[j, (code >> shift[j]) & mask[j]]
    for o in range(len(order_shift)):
        total += max(0.0, order[o]) if (code >> order_shift[o]) & 3 != DECIDED else 0.0
    return total


@kernel
def begin(memory: Memory, gains: Gains, rows: Rows) -> None:
    """Row 0: what is remembered before the first label."""
    rows.code[0] = 0
    rows.rest[0] = rest_of(gains.rest, gains.order, rows.code[0], memory.shift, memory.mask, memory.order_shift)


@kernel
def final_gain(memory: Memory, gains: Gains, rows: Rows, row: int) -> float:
    """The gain at the end of the sequence, with the change of ``rest``."""
    total, code = -rows.rest[row], rows.code[row]
    for j in range(len(memory.shift)):
        total += gains.final[j, (code >> memory.shift[j]) & memory.mask[j]]
    return float(total)


@kernel
def keep(rows: Rows, first: int, middle: int, last: int, kept: IndexArray) -> int:
    """Of rows middle … last − 1, successors of first … middle − 1, only those that are kept (1): closes the ranks.

    kept[row − middle] becomes the new row, −1 if there is none. Returns where they end. Values of rows are left to the
    caller.
    """
    free = middle
    for row in range(middle, last):
        if kept[row - middle]:
            rows.code[free], rows.rest[free] = rows.code[row], rows.rest[row]
            kept[row - middle] = free
            free += 1
        else:
            kept[row - middle] = -1
    for row in range(first, middle):
        for f in range(rows.next.shape[1]):
            if rows.next[row, f] >= 0:
                rows.next[row, f] = kept[rows.next[row, f] - middle]
    return free
