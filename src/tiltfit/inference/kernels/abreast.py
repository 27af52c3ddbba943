"""Forward–backward on eight sequences side by side, where all edges share one table.

The recursions of ``chain``, with a number of each sequence in a vector: labels need no padding, sums over them no last
step across a register, and no sequence waits for itself alone. That takes two thirds of the time of one sequence after
the other.

**When is that exact?** If all scores are finite, a_t = (a_{t−1}Φ)∘ψ_t·c_t ≥ min Φ·min ψ_t·Σa_{t−1}·c_t ≥ e^−D for all
labels, D as in ``chain``. Then the rule given there holds wherever e^−D ≥ e^D·10⁻²⁹⁰, that is D ≤ 333. All other groups
(with labels that are forbidden, for one) are left to ``chain``.

Sequences of a group should be of about the same length. Past the end of one c is 0, hence a, b and V as well, and all
that they add.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tiltfit.inference.kernels.abreast_tiles import (
    ABREAST,
    WIDEST,
    backward_block,
    factors_block,
    forward_block,
    gather_block,
    outer_block,
    scatter_block,
)
from tiltfit.inference.kernels.chain import Tables
from tiltfit.inference.kernels.compile import kernel
from tiltfit.inference.kernels.tiles import LANES

FloatArray = npt.NDArray[np.float64]
IndexArray = npt.NDArray[Any]

_WIDEST_SPREAD = 330.0


class Room(NamedTuple):
    """For one group at a time, of up to n steps: one a thread."""

    local: FloatArray  # [n, P, 8], P above L: ψ, then the node marginals
    ahead: FloatArray  # [n, P, 8]: a
    back: FloatArray  # [n + 1, P, 8]: V
    scale: FloatArray  # [n, 8]: c
    total: FloatArray  # [n, 8]: Σa
    end: FloatArray  # [n, 8]: 1/Σa at last positions, else 0
    edges: FloatArray  # [P, P, 4]: Σ a ⊗ V
    tops: FloatArray  # [8]: Σ max s
    seen: FloatArray  # [2, 8]: the greatest score of a row; the least difference from it
    rows: IndexArray  # [8]: positions
    first: IndexArray  # [8]: first positions
    length: IndexArray  # [8]
    weight: FloatArray  # [8]


@kernel
def new_room(n: int, n_labels: int) -> Room:
    """Room for sequences of up to ``n`` positions."""
    # Even labels, as edges are summed two at a time; and an odd number of cache lines a step, or a column would fall
    # into a few sets of the cache.
    width = (n_labels + 1) | 1
    local, ahead, back = np.empty((n, width, ABREAST)), np.empty((n, width, ABREAST)), np.empty((n + 1, width, ABREAST))
    ahead[:, n_labels:] = 0.0
    scale, total, end = np.empty((n, ABREAST)), np.empty((n, ABREAST)), np.empty((n, ABREAST))
    return Room(
        local, ahead, back, scale, total, end, np.empty((width, width, LANES)),
        np.empty(ABREAST), np.empty((2, ABREAST)),
        np.empty(ABREAST, np.int64), np.empty(ABREAST, np.int64), np.empty(ABREAST, np.int64), np.empty(ABREAST),
    )  # fmt: skip


@kernel
def _block(n_labels: int) -> int:
    """Labels are taken in blocks of about equal size: so many at a time."""
    blocks = (n_labels + WIDEST - 1) // WIDEST
    return (n_labels + blocks - 1) // blocks


@kernel
def _at(room: Room, t: int) -> None:
    """``rows``: where step t of every sequence is; its last position once it has ended."""
    for lane in range(ABREAST):
        room.rows[lane] = room.first[lane] + min(t, room.length[lane] - 1)


@kernel
def _load(node: FloatArray, room: Room, steps: int, widest: float) -> bool:
    """ψ, Σ max s and the widest spread of every sequence; False if one is wider than ``widest``. O(steps·L)."""
    n_labels, top, low = node.shape[1], room.seen[0], room.seen[1]
    room.tops[:], low[:] = 0.0, 0.0
    for t in range(steps):
        _at(room, t)
        top[:] = -np.inf
        for y in range(0, n_labels, LANES):
            gather_block(node, room.rows, min(y, n_labels - LANES), room.local, t, top)
        for y in range(0, n_labels, 2):
            factors_block(min(2, n_labels - y), room.local, t, y, top, low)
        for lane in range(ABREAST):
            room.tops[lane] += top[lane] if t < room.length[lane] else 0.0
            if not low[lane] >= -widest:
                return False
    return True


@kernel
def _forward(room: Room, table: FloatArray, steps: int, n_labels: int) -> None:
    """a, c and Σa. O(steps·L²)."""
    block = _block(n_labels)
    room.total[:steps], room.scale[0] = 0.0, 1.0
    for y in range(n_labels):
        for lane in range(ABREAST):
            room.ahead[0, y, lane] = room.local[0, y, lane]
            room.total[0, lane] += room.local[0, y, lane]
    for t in range(1, steps):
        for lane in range(ABREAST):
            room.scale[t, lane] = 1.0 / room.total[t - 1, lane] if t < room.length[lane] else 0.0
        for y in range(0, n_labels, block):
            forward_block(
                min(block, n_labels - y), room.ahead, t, table, n_labels, room.local, room.scale, room.total, y
            )  # fmt: skip


@kernel
def _log_sum(total: FloatArray, lane: int, length: int) -> float:
    """Σ log Σa_t of a sequence."""
    log_sum, product = 0.0, 1.0
    for t in range(length):
        product *= total[t, lane]
        if not 1e-100 < product < 1e100:  # one logarithm for many steps
            log_sum += np.log(product)
            product = 1.0
    return float(log_sum + np.log(product))


@kernel
def _backward(node: FloatArray, room: Room, table_t: FloatArray, steps: int) -> None:
    """V, and the node marginals in place of the scores. O(steps·L²)."""
    n_labels = node.shape[1]
    block = _block(n_labels)
    room.end[:steps], room.back[steps] = 0.0, 0.0
    for lane in range(ABREAST):
        last = room.length[lane] - 1
        room.end[last, lane] = 1.0 / room.total[last, lane]
    for t in range(steps - 1, -1, -1):
        for y in range(0, n_labels, block):
            backward_block(
                min(block, n_labels - y), room.back, t, table_t, n_labels, room.local, room.ahead, room.scale,
                room.end, y,
            )  # fmt: skip
        # Zeros of sequences that have ended go to their last row first, and then its marginals.
        _at(room, t)
        for y in range(0, n_labels, LANES):
            scatter_block(room.local, t, node, room.rows, min(y, n_labels - LANES))


@kernel
def _add_edges(room: Room, steps: int, n_labels: int, outer: FloatArray) -> None:
    """outer += Σ w·a_{t−1} ⊗ V_t. O(steps·L²)."""
    block = _block(n_labels)
    room.edges[:] = 0.0
    for y in range(0, n_labels, block):
        for lane in range(0, ABREAST, LANES):
            outer_block(
                min(block, n_labels - y), room.ahead, room.back, steps, room.edges, n_labels, y, lane, room.weight
            )  # fmt: skip
    for i in range(n_labels):
        for j in range(n_labels):
            outer[i, j] += room.edges[i, j, 0] + room.edges[i, j, 1] + room.edges[i, j, 2] + room.edges[i, j, 3]


@kernel
def infer_abreast(
    node: FloatArray,
    log_z: FloatArray,
    weight: FloatArray,
    offsets: IndexArray,
    group: IndexArray,
    tables: Tables,
    room: Room,
    outer: FloatArray,
) -> bool:
    """``chain.infer_sequence`` for the eight sequences of ``group``, where no edge is forbidden; False, with nothing
    changed, if that is not exact for one of them, or if there are not eight, fewer than four labels or too little room.
    O(n·L²), n the longest."""
    steps, n_labels = 0, node.shape[1]
    if len(group) != ABREAST or n_labels < LANES or room.local.shape[1] <= n_labels:
        return False
    for lane in range(ABREAST):
        s = group[lane]
        room.first[lane], room.length[lane], room.weight[lane] = offsets[s], offsets[s + 1] - offsets[s], weight[s]
        steps = max(steps, room.length[lane])
    if steps > len(room.scale) or not _load(node, room, steps, _WIDEST_SPREAD - tables.spread[0]):
        return False
    _forward(room, tables.factor[0], steps, n_labels)
    for lane in range(ABREAST):
        if not room.total[room.length[lane] - 1, lane] > 0.0:  # there is a NaN somewhere
            return False
    for lane in range(ABREAST):
        n = room.length[lane]
        log_z[group[lane]] = room.tops[lane] + (n - 1) * tables.top[0] + _log_sum(room.total, lane, n)
    _backward(node, room, tables.factor_t[0], steps)
    if steps > 1:
        _add_edges(room, steps, n_labels, outer)
    return True
