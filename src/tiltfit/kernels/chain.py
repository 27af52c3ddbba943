"""Forward–backward on linear chains, scaled so that it runs on probabilities.

With ψ_t = exp(s_t − max s_t) and Φ = exp(T − max T) of the edge's kind,

    a_t = (a_{t−1}Φ) ∘ ψ_t · c_t,   c_t = 1/Σa_{t−1}        V_t = ψ_t ∘ b_t · c_t,   b_{t−1} = ΦV_t,   b_n = 1/Σa_n
    node marginals a_t ∘ b_t        edge marginals Φ ∘ (a_{t−1} ⊗ V_t)        log Z = Σ max s + Σ max T + Σ log Σa_t

The scale lags by one step, so that a step does not wait for its own sum. Φ multiplies the sum of the outer products
once, at the end.

**When is that exact?** Products of numbers ≥ 0 lose something only where they fall below the least double. Let D be
the spread of the finite scores of a row plus that of the finite entries of T. If no a_t(y) lies strictly between 0 and
e^D·10⁻²⁹⁰, then no product in the next step can underflow, so (by induction) the zeros of a are exactly the labels
that cannot be reached, and all else has its full precision. Then b, kept at zero where a is, is at most 1/a: it cannot
overflow; and where b underflows, a·b is off by less than 10⁻³⁰⁰. So one comparison per sequence, against the least a
above zero, decides; forbidden labels and transitions cost nothing. Sequences that fail go through ``log_chain``.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from tiltfit.arrays import FloatArray, IndexArray
from tiltfit.kernels.compile import ZERO, kernel
from tiltfit.kernels.constants import LANES, WIDEST
from tiltfit.kernels.exponential import exp_of_negative
from tiltfit.kernels.log_chain import log_forward_backward
from tiltfit.kernels.primitives import tiles

_LEAST = 1e-290  # times e^D: what a may not fall below
_WIDEST_SPREAD = 660.0  # beyond, no a ≤ 1 passes
_SQUARE = 16  # labels by labels that are transposed at a time: two cache lines a row


class Tables(NamedTuple):
    """The edges of K kinds, labels padded to P: Φ and its transpose, T and its transpose (padding 0 and −inf)."""

    factor: FloatArray  # [K, P, P]
    factor_t: FloatArray
    log: FloatArray
    log_t: FloatArray
    top: FloatArray  # [K]: max T
    spread: FloatArray  # [K]: max T − min T over finite entries


class Scratch(NamedTuple):
    """Room for one sequence at a time, of up to n positions: one per thread."""

    local: FloatArray  # [n, P]: ψ, then the node marginals
    ahead: FloatArray  # [n, P]: a
    back: FloatArray  # [n, P]: V
    scale: FloatArray  # [n]: c
    least: FloatArray  # [4]: the least a above zero, by lane


@kernel
def padded(n_labels: int) -> int:
    """The least multiple of four that is not below ``n_labels``."""
    return (n_labels + LANES - 1) // LANES * LANES


def aligned(shape: tuple[int, ...]) -> FloatArray:
    """Zeros that start on a cache line: vectors that straddle two lines take twice as long to load."""
    size = math.prod(shape) + 8
    room = np.zeros(size)  # takes no memory before it is touched
    first = -room.__array_interface__["data"][0] % 64 // 8
    return room[first : first + size - 8].reshape(shape)


@kernel
def edge_tables(edge: FloatArray) -> Tables:
    """From log-potentials [K, L, L]. A table with a NaN in it is NaN. O(K·L²).

    Φ is 0 where T is more than 708 below its maximum: ``log_chain`` takes the sequences that have such edges.
    """
    n_kinds, n_labels = edge.shape[:2]
    shape = (n_kinds, padded(n_labels), padded(n_labels))
    factor, factor_t, log, log_t = np.zeros(shape), np.empty(shape), np.full(shape, -np.inf), np.empty(shape)
    top, spread = np.zeros(n_kinds), np.zeros(n_kinds)
    for k in range(n_kinds):
        high, low, has_nan = -np.inf, np.inf, False
        for i in range(n_labels):
            scores, row = edge[k, i], log[k, i]
            for j in range(n_labels):
                row[j] = scores[j]
            row_high, row_low = row_range(log[k], i)
            high, low, has_nan = max(high, row_high), min(low, row_low), has_nan or _has_nan(log[k], i)
        if has_nan:
            top[k], spread[k] = np.nan, np.nan
        elif high != -np.inf:
            top[k], spread[k] = high, high - low
        for i in range(n_labels):
            scores, row = edge[k, i], factor[k, i]
            for j in range(n_labels):
                row[j] = exp_of_negative(scores[j] - top[k])
        _transpose(log[k], log_t[k])
        _transpose(factor[k], factor_t[k])
    return Tables(factor, factor_t, log, log_t, top, spread)


@kernel
def _transpose(table: FloatArray, out: FloatArray) -> None:
    """out ← tableᵀ, in squares, so that each line of the cache that is touched is used at once and as a whole."""
    n = len(table)
    for first in range(0, n, _SQUARE):
        for column in range(0, n, _SQUARE):
            for j in range(column, min(column + _SQUARE, n)):
                for i in range(first, min(first + _SQUARE, n)):
                    out[j, i] = table[i, j]


@kernel
def longest_of(offsets: IndexArray, first: int, last: int) -> int:
    """The length of the longest of sequences first … last − 1."""
    longest = ZERO
    for s in range(first, last):
        longest = max(longest, offsets[s + 1] - offsets[s])
    return longest


@kernel
def new_scratch(n: int, n_labels: int) -> Scratch:
    """Room for sequences of up to ``n`` positions."""
    width = padded(n_labels)
    return Scratch(
        np.zeros((n, width)), np.zeros((n, width)), np.zeros((n, width)), np.zeros(n), np.zeros(LANES)
    )  # fmt: skip


@kernel
def load(node: FloatArray, start: int, stop: int, local: FloatArray, least: FloatArray) -> tuple[float, float]:
    """local[t] ← exp(node[start + t] − max), padded with zeros. Returns Σ max and the widest spread. O(n·L).

    Σ max is −inf where all labels of a position are forbidden; ``local`` is of no use then. ``least[4]`` is room.
    """
    n, width = stop - start, local.shape[1]
    tops, least[:LANES] = 0.0, 0.0
    for t in range(n):
        top, column = -np.inf, 0
        while column < width:
            count = min(WIDEST, (width - column) // LANES)
            top = max(top, tiles.greatest_tile(count, node, start + t, column))
            column += LANES * count
        if top == -np.inf:
            if not _has_nan(node, start + t):
                return -np.inf, 0.0
            top = 0.0
        tops += top
        local[t, 0] = top  # kept there for the second loop, so that no row waits for its own maximum
    for t in range(n):
        top, column = local[t, 0], 0
        while column < width:
            count = min(WIDEST, (width - column) // LANES)
            tiles.factors_tile(count, node, start + t, column, top, local, t, least)
            column += LANES * count
    return tops, -min(least[0], least[1], least[2], least[3])


@kernel
def row_range(rows: FloatArray, t: int) -> tuple[float, float]:
    """The greatest and the least finite entry of a padded row, four chains of comparisons at a time."""
    top0, top1, top2, top3 = -np.inf, -np.inf, -np.inf, -np.inf
    low0, low1, low2, low3 = np.inf, np.inf, np.inf, np.inf
    for y in range(0, rows.shape[1], LANES):
        v0, v1, v2, v3 = rows[t, y], rows[t, y + 1], rows[t, y + 2], rows[t, y + 3]
        top0, top1 = (v0 if v0 > top0 else top0), (v1 if v1 > top1 else top1)
        top2, top3 = (v2 if v2 > top2 else top2), (v3 if v3 > top3 else top3)
        v0, v1 = (v0 if v0 > -np.inf else np.inf), (v1 if v1 > -np.inf else np.inf)
        v2, v3 = (v2 if v2 > -np.inf else np.inf), (v3 if v3 > -np.inf else np.inf)
        low0, low1 = (v0 if v0 < low0 else low0), (v1 if v1 < low1 else low1)
        low2, low3 = (v2 if v2 < low2 else low2), (v3 if v3 < low3 else low3)
    return max(top0, top1, top2, top3), min(low0, low1, low2, low3)


@kernel
def _has_nan(rows: FloatArray, t: int) -> bool:
    found = False
    for y in range(rows.shape[1]):
        found |= rows[t, y] != rows[t, y]
    return found


@kernel
def forward(
    scratch: Scratch, tables: Tables, kind: IndexArray, start: int, n: int, n_labels: int
) -> tuple[float, float]:
    """a and c of a loaded sequence. Returns log Z less Σ max s, and the widest spread of its edges. O(n·L²)."""
    local, ahead, scale, least = scratch.local, scratch.ahead, scratch.scale, scratch.least
    least[:] = 1.0
    total, width = 0.0, ahead.shape[1]
    for y in range(width):
        ahead[0, y] = local[0, y]
        total += local[0, y]
        if 0.0 < local[0, y] < least[0]:
            least[0] = local[0, y]
    scale[0] = 1.0
    log_sum, product, widest = 0.0, total, 0.0
    for t in range(1, n):
        k = kind[start + t]
        log_sum += tables.top[k]
        widest = max(widest, tables.spread[k])
        scale[t] = 1.0 / total
        total, column = 0.0, 0
        while column < width:
            count = min(WIDEST, (width - column) // LANES)
            total += tiles.forward_tile(count, ahead, t, tables.factor, k, n_labels, local, column, scale[t], least)
            column += LANES * count
        if total == 0.0:
            return -np.inf, widest
        product *= total
        if not 1e-100 < product < 1e100:  # one logarithm for many steps
            log_sum += np.log(product)
            product = 1.0
    scale[n - 1] = scale[n - 1] / total  # b_n = 1/Σa_n
    return log_sum + np.log(product), widest


@kernel
def exact(scratch: Scratch, spread: float) -> bool:
    """Return whether the forward pass has lost nothing, by the rule above; ``spread`` is D."""
    return exact_enough(min(scratch.least[0], scratch.least[1], scratch.least[2], scratch.least[3]), spread)


@kernel
def exact_enough(least: float, spread: float) -> bool:
    """The rule above: ``least`` is the least a above zero, ``spread`` D."""
    return spread < _WIDEST_SPREAD and least >= _LEAST * np.exp(spread)


@kernel
def backward(scratch: Scratch, tables: Tables, kind: IndexArray, start: int, n: int, n_labels: int) -> None:
    """V, and the node marginals in place of ψ, after ``forward``. O(n·L²)."""
    local, ahead, back, scale = scratch.local, scratch.ahead, scratch.back, scratch.scale
    total, width = 0.0, back.shape[1]
    for y in range(width):
        total += ahead[n - 1, y]
    for y in range(width):
        seen = ahead[n - 1, y]
        back[n - 1, y] = local[n - 1, y] * scale[n - 1] if seen > 0.0 else 0.0
        local[n - 1, y] = seen / total
    for t in range(n - 1, 0, -1):
        k, column = kind[start + t], 0
        while column < width:
            count = min(WIDEST, (width - column) // LANES)
            tiles.backward_tile(count, back, t, tables.factor_t, k, n_labels, local, ahead, column, scale[t - 1])
            column += LANES * count


@kernel
def add_edges(
    ahead: FloatArray,
    back: FloatArray,
    kind: IndexArray,
    order: IndexArray,
    start: int,
    stop: int,
    low: int,
    high: int,
    n_labels: int,
    weight: float,
    outer: FloatArray,
) -> None:
    """outer[k] += weight·Σ a_{t−1} ⊗ V_t over the edges of kind k that lead to positions low … high. O(n·L²).

    order[start + 1 : stop] are the edges by kind, and within a kind in their order, each as t − start.
    """
    first, width = start + 1, outer.shape[2]
    while first < stop:
        k = kind[start + order[first]]
        last = first + 1
        while last < stop and kind[start + order[last]] == k:
            last += 1
        a, b, column = first, last, 0
        while a < b and start + order[a] < low:
            a += 1
        while b > a and start + order[b - 1] > high:
            b -= 1
        while column < width and a < b:
            count = min(WIDEST, (width - column) // LANES)
            tiles.outer_tile(count, ahead, back, order, a, b, outer, k, n_labels, column, weight)
            column += LANES * count
        first = last


@kernel
def infer_sequence(
    node: FloatArray,
    kind: IndexArray,
    order: IndexArray,
    start: int,
    stop: int,
    tables: Tables,
    scratch: Scratch,
    weight: float,
    outer: FloatArray,
    direct: FloatArray,
) -> float:
    """log Z of the sequence at positions start … stop − 1; node[start:stop] from log-potentials to marginals.

    Weighted edge marginals are Φ∘outer + direct: a sequence adds to one of the two. A sequence without any possible
    labelling has log Z = −inf and marginals 0. O(n·L²).
    """
    n_labels, n = node.shape[1], stop - start
    tops, node_spread = load(node, start, stop, scratch.local, scratch.least)
    if tops == -np.inf:
        node[start:stop] = 0.0
        return -np.inf
    log_sum, edge_spread = forward(scratch, tables, kind, start, n, n_labels)
    if not exact(scratch, node_spread + edge_spread):
        return log_forward_backward(
            node, kind, start, stop, tables.log, tables.log_t, scratch.ahead, scratch.back, weight, direct
        )
    if log_sum == -np.inf:
        node[start:stop] = 0.0
        return -np.inf
    backward(scratch, tables, kind, start, n, n_labels)
    for t in range(n):
        for y in range(n_labels):
            node[start + t, y] = scratch.local[t, y]
    if weight != 0.0:
        ahead, back = scratch.ahead, scratch.back
        add_edges(ahead, back, kind, order, start, stop, start, stop, n_labels, weight, outer)
    return tops + log_sum
