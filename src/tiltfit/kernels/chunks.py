"""Forward–backward over all sequences, chunk by chunk, each sequence in the way that is fastest for it.

    edges[c] = Σ_{s in c} w_s·Σ_t p_s(y_{t−1}, y_t) = Φ∘Σ_{s in c} w_s·Σ_t a_{t−1} ⊗ V_t + direct

over the edges of each kind, with a, V and Φ of ``chain``; ``direct`` is of the sequences that ``log_chain`` takes.

Where all edges share one table, eight sequences are taken side by side: the recursions of ``chain``, with a number of
each sequence in a vector. Labels need no padding, sums over them no last step across a register, and no sequence waits
for itself alone. With AVX-512 and thirteen labels that takes less than half of the time of one sequence after the
other. Sequences of a group should be of about the same length: past the end of one c is 0, hence a, b and V as well,
and all that they add.

**When is that exact?** If all scores are finite, a_t = (a_{t−1}Φ)∘ψ_t·c_t ≥ min Φ·min ψ_t·Σa_{t−1}·c_t ≥ e^−D for all
labels, D as in ``chain``. Then the rule given there holds wherever e^−D ≥ e^D·10⁻²⁹⁰, that is D ≤ 333. All other groups
(such as those with forbidden labels) are left to ``chain``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tiltfit.arrays import FloatArray, IndexArray
from tiltfit.kernels.chain import Tables, edge_tables, infer_sequence, longest_of, new_scratch
from tiltfit.kernels.compile import ZERO, kernel
from tiltfit.kernels.constants import ABREAST, LANES, WIDEST_BLOCK
from tiltfit.kernels.primitives import blocks

EDGE_LANES, EDGE_ROWS = blocks.EDGE_LANES, blocks.EDGE_ROWS
_WIDEST_SPREAD = 330.0


class GroupScratch(NamedTuple):
    """Room for one group at a time, of up to n steps: one per thread."""

    local: FloatArray  # [n, P, 8], P above L: ψ, then the node marginals
    ahead: FloatArray  # [n, P, 8]: a
    back: FloatArray  # [n + 1, P, 8]: V
    scale: FloatArray  # [n, 8]: c
    total: FloatArray  # [n, 8]: Σa
    end: FloatArray  # [n, 8]: 1/Σa at last positions, else 0
    edges: FloatArray  # [P, P, EDGE_LANES]: Σ w·a ⊗ V
    tops: FloatArray  # [8]: Σ max s
    low: FloatArray  # [8]: the least difference of a score from the greatest of its row
    product: FloatArray  # [8]: ∏ Σa
    log_sum: FloatArray  # [8]: Σ log Σa
    first: IndexArray  # [8]: first positions
    length: IndexArray  # [8]
    weight: FloatArray  # [8]


@kernel
def _aligned(n: int) -> FloatArray:
    """Room for n numbers that starts on a cache line: vectors that straddle two take twice as long to load."""
    room = np.empty(n + ABREAST)
    first = -room.ctypes.data % 64 // 8
    return room[first : first + n]


@kernel
def new_group_scratch(n: int, n_labels: int) -> GroupScratch:
    """Room for sequences of up to ``n`` positions."""
    # Edges are summed some rows at a time; and an odd number of cache lines a step, or a column would fall into a few
    # sets of the cache.
    width = (n_labels + EDGE_ROWS - 1) // EDGE_ROWS * EDGE_ROWS | 1
    size = n * width * ABREAST
    local, ahead = _aligned(size).reshape((n, width, ABREAST)), _aligned(size).reshape((n, width, ABREAST))
    back = _aligned(size + width * ABREAST).reshape((n + 1, width, ABREAST))
    ahead[:, n_labels:] = 0.0
    scale, total = _aligned(n * ABREAST).reshape((n, ABREAST)), _aligned(n * ABREAST).reshape((n, ABREAST))
    end, edges = _aligned(n * ABREAST).reshape((n, ABREAST)), _aligned(width * width * EDGE_LANES)
    return GroupScratch(
        local, ahead, back, scale, total, end, edges.reshape((width, width, EDGE_LANES)),
        np.empty(ABREAST), np.empty(ABREAST), np.empty(ABREAST), np.empty(ABREAST),
        np.empty(ABREAST, np.int64), np.empty(ABREAST, np.int64), np.empty(ABREAST),
    )  # fmt: skip


@kernel
def _block(n_labels: int) -> int:
    """Labels are taken in blocks of about equal size: so many at a time."""
    blocks = (n_labels + WIDEST_BLOCK - 1) // WIDEST_BLOCK
    return (n_labels + blocks - 1) // blocks


@kernel
def _forward(node: FloatArray, scratch: GroupScratch, table: FloatArray, steps: int, widest: float) -> bool:
    """ψ, Σ max s, a, c and Σa; False if the scores of a sequence spread more than ``widest``. O(steps·L²).

    Step by step: a waits for the step before, and while it does, the exponentials of the next are taken.
    """
    n_labels, low = node.shape[1], scratch.low
    block = _block(n_labels)
    scratch.tops[:], low[:], scratch.total[:steps], scratch.scale[0] = 0.0, 0.0, 0.0, 1.0
    for t in range(steps):
        blocks.load_step(node, scratch.first, scratch.local, t, scratch.length, scratch.tops, low)
        if t == 0:
            for y in range(n_labels):
                for lane in range(ABREAST):
                    scratch.ahead[0, y, lane] = scratch.local[0, y, lane]
                    scratch.total[0, lane] += scratch.local[0, y, lane]
            continue
        blocks.scale_step(scratch.total, t, scratch.length, scratch.scale)
        y = 0
        while y < n_labels:  # a range would divide by ``block`` in every step
            blocks.forward_block(
                min(block, n_labels - y), scratch.ahead, t, table, n_labels, scratch.local, scratch.scale,
                scratch.total, y,
            )  # fmt: skip
            y += block
    return bool(low.min() >= -widest)


@kernel
def _log_sums(scratch: GroupScratch, steps: int) -> None:
    """Σ log Σa_t of every sequence: one logarithm for many steps. O(steps)."""
    product, log_sum = scratch.product, scratch.log_sum
    product[:], log_sum[:] = 1.0, 0.0
    for t in range(steps):
        if not blocks.multiply_step(scratch.total, t, scratch.length, product) or t == steps - 1:
            for lane in range(ABREAST):
                log_sum[lane] += np.log(product[lane])
                product[lane] = 1.0


@kernel
def _backward(node: FloatArray, scratch: GroupScratch, table_t: FloatArray, steps: int) -> None:
    """V, and the node marginals in place of the scores. O(steps·L²)."""
    n_labels = node.shape[1]
    block = _block(n_labels)
    scratch.end[:steps], scratch.back[steps] = 0.0, 0.0
    for lane in range(ABREAST):
        last = scratch.length[lane] - 1
        scratch.end[last, lane] = 1.0 / scratch.total[last, lane]
    for t in range(steps - 1, -1, -1):
        y = 0
        while y < n_labels:
            blocks.backward_block(
                min(block, n_labels - y), scratch.back, t, table_t, n_labels, scratch.local, scratch.ahead,
                scratch.scale, scratch.end, y,
            )  # fmt: skip
            y += block
        # Zeros of sequences that have ended go to their last row first, and then its marginals.
        blocks.scatter_step(scratch.local, t, node, scratch.first, scratch.length)


@kernel
def _add_edges(scratch: GroupScratch, steps: int, n_labels: int, outer: FloatArray) -> None:
    """outer += Σ w·a_{t−1} ⊗ V_t. O(steps·L²)."""
    block, edges = _block(n_labels), scratch.edges
    edges[:] = 0.0
    for y in range(0, n_labels, block):
        for lane in range(0, ABREAST, EDGE_LANES):
            blocks.outer_block(
                min(block, n_labels - y), scratch.ahead, scratch.back, steps, edges, n_labels, y, lane,
                scratch.weight,
            )  # fmt: skip
    for i in range(n_labels):
        for j in range(n_labels):
            for lane in range(EDGE_LANES):
                outer[i, j] += edges[i, j, lane]


@kernel
def infer_abreast(
    node: FloatArray,
    log_z: FloatArray,
    weight: FloatArray,
    offsets: IndexArray,
    group: IndexArray,
    tables: Tables,
    scratch: GroupScratch,
    outer: FloatArray,
) -> bool:
    """``chain.infer_sequence`` for the eight sequences of ``group``, where no edge is forbidden; False, with nothing
    changed, if that is not exact for one of them, or if there are not eight, fewer than four labels or too little room.
    O(n·L²), n the longest."""
    steps, n_labels = 0, node.shape[1]
    if len(group) != ABREAST or n_labels < LANES or scratch.local.shape[1] <= n_labels:
        return False
    for lane in range(ABREAST):
        s = group[lane]
        scratch.first[lane], scratch.length[lane] = offsets[s], offsets[s + 1] - offsets[s]
        scratch.weight[lane] = weight[s]
        steps = max(steps, scratch.length[lane])
    widest = _WIDEST_SPREAD - tables.spread[0]
    if steps > len(scratch.scale) or not _forward(node, scratch, tables.factor[0], steps, widest):
        return False
    for lane in range(ABREAST):
        if not scratch.total[scratch.length[lane] - 1, lane] > 0.0:  # there is a NaN somewhere
            return False
    _log_sums(scratch, steps)
    for lane in range(ABREAST):
        edges = (scratch.length[lane] - 1) * tables.top[0]
        log_z[group[lane]] = scratch.tops[lane] + edges + scratch.log_sum[lane]
    _backward(node, scratch, tables.factor_t[0], steps)
    if steps > 1:
        _add_edges(scratch, steps, n_labels, outer)
    return True


@kernel
def _all_possible(tables: Tables, n_labels: int) -> bool:
    """Return whether no edge is forbidden."""
    for k in range(len(tables.log)):
        for i in range(n_labels):
            for j in range(n_labels):
                if not tables.log[k, i, j] > -np.inf:
                    return False
    return True


@kernel
def _put(outer: FloatArray, direct: FloatArray, factor: FloatArray, edges: FloatArray) -> None:
    """edges ← Φ∘outer + direct, without padding."""
    for k in range(edges.shape[0]):
        for i in range(edges.shape[1]):
            for j in range(edges.shape[2]):
                edges[k, i, j] = factor[k, i, j] * outer[k, i, j] + direct[k, i, j]


@kernel
def add_up(edges: FloatArray) -> FloatArray:
    """The sum over chunks, in their order."""
    total = np.zeros(edges.shape[1:])
    for c in range(len(edges)):
        for k in range(edges.shape[1]):
            for i in range(edges.shape[2]):
                for j in range(edges.shape[3]):
                    total[k, i, j] += edges[c, k, i, j]
    return total


@kernel
def infer_chunks(
    node: FloatArray,
    edge: FloatArray,
    log_z: FloatArray,
    weight: FloatArray,
    offsets: IndexArray,
    kind: IndexArray,
    order: IndexArray,
    cuts: IndexArray,
    edges: FloatArray,
    first: int,
    last: int,
) -> None:
    """``infer_sequence`` for the sequences of chunks first … last − 1; edges[c] ← its weighted edge marginals. Chunk c
    has the sequences cuts[c] … cuts[c + 1] − 1."""
    tables, scratch = edge_tables(edge), new_scratch(longest_of(offsets, cuts[first], cuts[last]), node.shape[1])
    outer, direct = np.empty_like(tables.factor), np.empty_like(tables.factor)
    for c in range(first, last):
        outer[:], direct[:] = 0.0, 0.0
        for s in range(cuts[c], cuts[c + 1]):
            log_z[s] = infer_sequence(
                node, kind, order, offsets[s], offsets[s + 1], tables, scratch, weight[s], outer, direct
            )
        _put(outer, direct, tables.factor, edges[c])


@kernel
def infer_groups(
    node: FloatArray,
    edge: FloatArray,
    log_z: FloatArray,
    weight: FloatArray,
    offsets: IndexArray,
    kind: IndexArray,
    order: IndexArray,
    cuts: IndexArray,
    edges: FloatArray,
    groups: IndexArray,
    members: IndexArray,
    first: int,
    last: int,
) -> None:
    """``infer_chunks`` where chunk c has the groups cuts[c] … cuts[c + 1] − 1, and group g the sequences
    members[groups[g] : groups[g + 1]]: one, or eight for ``infer_abreast``."""
    longest, longest_abreast = ZERO, ZERO
    for g in range(cuts[first], cuts[last]):
        for m in range(groups[g], groups[g + 1]):
            length = offsets[members[m] + 1] - offsets[members[m]]
            longest = max(longest, length)
            if groups[g + 1] - groups[g] == ABREAST:
                longest_abreast = max(longest_abreast, length)
    scratch, group_scratch = new_scratch(longest, node.shape[1]), new_group_scratch(longest_abreast, node.shape[1])
    tables = edge_tables(edge)
    all_possible = _all_possible(tables, node.shape[1])
    outer, direct = np.empty_like(tables.factor), np.empty_like(tables.factor)
    for c in range(first, last):
        outer[:], direct[:] = 0.0, 0.0
        for g in range(cuts[c], cuts[c + 1]):
            group = members[groups[g] : groups[g + 1]]
            abreast = all_possible and len(group) == ABREAST
            if abreast and infer_abreast(node, log_z, weight, offsets, group, tables, group_scratch, outer[0]):
                continue
            for s in group:
                log_z[s] = infer_sequence(
                    node, kind, order, offsets[s], offsets[s + 1], tables, scratch, weight[s], outer, direct
                )
        _put(outer, direct, tables.factor, edges[c])
