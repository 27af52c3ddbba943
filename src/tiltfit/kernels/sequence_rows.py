"""Sequence-level prices: for every sequence its own small dual problem, all in one parallel pass.

For one sequence of weight w, with rows r (feature f_r, penalty U_r, m_r = scale_r·E_q[f_r] + offset_r, c_r = w/scale_r)
and q ∝ exp(potentials + Σ_r θ_r f_r), the prices θ minimise the convex function

    w·log Z(θ) + Σ_r [c_r·offset_r·θ_r + U_r*(−c_r θ_r)]

``prices`` says where to evaluate next; an evaluation is one forward–backward with the potentials that θ gives. Edges of
a sequence on which the same rows fire in the same way form a *pattern* and share one table. Where hard rows cannot
hold, prices end at ±cap.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tiltfit.arrays import FloatArray, IndexArray
from tiltfit.kernels.chain import Scratch, Tables, infer_sequence, new_scratch, padded, row_range
from tiltfit.kernels.compile import ZERO, kernel
from tiltfit.kernels.constants import LANES
from tiltfit.kernels.log_chain import exp_all
from tiltfit.kernels.prices import SEARCH, advance, begin
from tiltfit.kernels.proximal import Records

# At a place, the feature of the row in ``slot`` (its number among the rows of its sequence) has value·tables[table].
ENTRY = np.dtype([("slot", np.int64), ("table", np.int64), ("value", np.float64)])


class Firings(NamedTuple):
    """entries[indptr[i]:indptr[i+1]] are those of place i.

    Places are positions (tables over labels), or patterns of edges (tables over pairs of labels, padded).
    """

    indptr: IndexArray
    entries: Records
    tables: FloatArray


class Edges(NamedTuple):
    """pattern[t] of the edge that leads to t; ``order`` are the edges of every sequence by pattern, as distances from
    its first position (``Chains.by_kind``); kind[p] is the kind of edge of a pattern, ``fires`` what fires on it."""

    pattern: IndexArray
    order: IndexArray
    kind: IndexArray
    fires: Firings


class TiltRoom(NamedTuple):
    """For one sequence at a time of up to n positions and g patterns."""

    tilted: FloatArray  # [n, L]: potentials, then node marginals
    group: IndexArray  # [n]: the pattern of each edge, numbered from 0 in this sequence
    pattern: IndexArray  # [g]
    tables: Tables  # [g, P, P]: of each pattern, at the prices of the last evaluation
    pairs: FloatArray  # [g, P, P]: sums of edge marginals
    direct: FloatArray
    scratch: Scratch


@kernel
def solve_sequences(
    node: FloatArray,
    base: Tables,
    log_z: FloatArray,
    rows: Records,
    indptr: IndexArray,
    solved: npt.NDArray[np.bool_],
    weight: FloatArray,
    offsets: IndexArray,
    edges: Edges,
    fires: Firings,
    cap: float,
    tol: float,
    cuts: IndexArray,
    sums: FloatArray,
    first: int,
    last: int,
) -> None:
    """For the sequences s of chunks first … last − 1: prices ``theta`` and E[f] (``new_expectation``) of their rows,
    rows[indptr[s]:indptr[s+1]]; node from log-potentials to the marginals of q; log_z; and sums[chunk, kind] of
    weighted edge marginals (labels padded).

    ``base`` are the edges without prices. ``theta`` is the starting point and the result. A sequence without any
    possible labelling has log Z = −inf, marginals and prices 0. O(n·L²) an evaluation; for one row about nine, five
    from a good start.
    """
    longest, n_rows = ZERO, ZERO
    for s in range(cuts[first], cuts[last]):
        longest = max(longest, offsets[s + 1] - offsets[s])
        n_rows = max(n_rows, indptr[s + 1] - indptr[s])
    room = _new_tilt_room(longest, _most_patterns(edges, offsets, cuts[first], cuts[last]), node.shape[1])
    matrices, search = np.zeros((2, n_rows, n_rows)), np.zeros(1, dtype=SEARCH)
    for c in range(first, last):
        for s in range(cuts[c], cuts[c + 1]):
            start, stop, mine = offsets[s], offsets[s + 1], rows[indptr[s] : indptr[s + 1]]
            n_groups = _prepare(base, edges, start, stop, room)
            begin(search[0], mine, weight[s], cap, tol)
            over = False
            while not over:
                log_z[s] = _evaluate(node, base, edges, fires, start, stop, n_groups, mine, room)
                over = advance(search[0], mine, matrices, log_z[s])
            solved[s] = search[0].converged
            _keep(node, start, stop, edges, n_groups, weight[s], room, sums[c])


@kernel
def _new_tilt_room(n: int, n_groups: int, n_labels: int) -> TiltRoom:
    shape = (n_groups, padded(n_labels), padded(n_labels))
    tables = Tables(
        np.zeros(shape), np.zeros(shape), np.zeros(shape), np.zeros(shape), np.zeros(n_groups), np.zeros(n_groups)
    )
    return TiltRoom(
        np.empty((n, n_labels)),
        np.zeros(n, dtype=np.int32),
        np.zeros(n_groups, dtype=np.int64),
        tables,
        np.zeros(shape),
        np.zeros(shape),
        new_scratch(n, n_labels),
    )


@kernel
def _most_patterns(edges: Edges, offsets: IndexArray, first: int, last: int) -> int:
    most = 0
    for s in range(first, last):
        here = 0
        for n in range(offsets[s] + 1, offsets[s + 1]):
            new = n == offsets[s] + 1
            if not new:
                before = edges.pattern[offsets[s] + edges.order[n - 1]]
                new = edges.pattern[offsets[s] + edges.order[n]] != before
            here += new
        most = max(most, here)
    return most


@kernel
def _prepare(base: Tables, edges: Edges, start: int, stop: int, room: TiltRoom) -> int:
    """Number the patterns of a sequence and fill their tables, without prices; returns how many there are."""
    n_groups = 0
    for n in range(start + 1, stop):
        t = edges.order[n]
        pattern = edges.pattern[start + t]
        if n_groups == 0 or room.pattern[n_groups - 1] != pattern:
            room.pattern[n_groups] = pattern
            n_groups += 1
        room.group[t] = n_groups - 1
    for g in range(n_groups):
        k, tables = edges.kind[room.pattern[g]], room.tables
        _copy(base.log[k], tables.log[g])
        _copy(base.log_t[k], tables.log_t[g])
        _copy(base.factor[k], tables.factor[g])
        _copy(base.factor_t[k], tables.factor_t[g])
        tables.top[g], tables.spread[g] = base.top[k], base.spread[k]
    return n_groups


@kernel
def _copy(source: FloatArray, target: FloatArray) -> None:
    a, b = source.reshape(source.size), target.reshape(target.size)
    for n in range(len(a)):
        b[n] = a[n]


@kernel
def _tilt_table(base: Tables, edges: Edges, g: int, rows: Records, room: TiltRoom) -> None:
    """T of the pattern's kind + Σ θ·value·table over what fires on it, and exp of it."""
    tables, fires, p = room.tables, edges.fires, room.pattern[g]
    _copy(base.log[edges.kind[p]], tables.log[g])
    log, factor = tables.log[g], tables.factor[g]
    flat = log.reshape(log.size)
    for f in range(fires.indptr[p], fires.indptr[p + 1]):
        amount = rows[fires.entries[f].slot].trial * fires.entries[f].value
        table = fires.tables[fires.entries[f].table].reshape(log.size)
        for n in range(len(flat)):
            flat[n] += amount * table[n]
    top, bottom = -np.inf, np.inf
    for i in range(len(log)):
        high, low = row_range(log, i)
        top, bottom = max(top, high), min(bottom, low)
    tables.top[g] = top if top > -np.inf else 0.0
    tables.spread[g] = top - bottom if top > -np.inf else 0.0
    shifted = factor.reshape(factor.size)
    for n in range(len(flat)):
        shifted[n] = flat[n] - tables.top[g]
    exp_all(factor, factor.size)
    for i in range(len(log)):
        for j in range(len(log)):
            tables.factor_t[g, j, i] = factor[i, j]
            tables.log_t[g, j, i] = log[i, j]


@kernel
def _evaluate(
    node: FloatArray,
    base: Tables,
    edges: Edges,
    fires: Firings,
    start: int,
    stop: int,
    n_groups: int,
    rows: Records,
    room: TiltRoom,
) -> float:
    """log Z of a sequence at the trial prices of its rows; marginals into ``room``, E[f] into ``new_expectation``."""
    n_labels, tilted = node.shape[1], room.tilted
    for t in range(start, stop):
        for y in range(n_labels):
            tilted[t - start, y] = node[t, y]
        for f in range(fires.indptr[t], fires.indptr[t + 1]):
            amount = rows[fires.entries[f].slot].trial * fires.entries[f].value
            for y in range(n_labels):
                tilted[t - start, y] += amount * fires.tables[fires.entries[f].table, y]
    for g in range(n_groups):
        if edges.fires.indptr[room.pattern[g]] < edges.fires.indptr[room.pattern[g] + 1]:
            _tilt_table(base, edges, g, rows, room)
    room.pairs[:n_groups] = 0.0
    room.direct[:n_groups] = 0.0
    log_z = infer_sequence(
        tilted, room.group, edges.order[start:stop], ZERO, stop - start, room.tables, room.scratch, 1.0, room.pairs,
        room.direct,
    )  # fmt: skip
    for k in range(len(rows)):
        rows[k].new_expectation = 0.0
    for t in range(start, stop):
        for f in range(fires.indptr[t], fires.indptr[t + 1]):
            total = 0.0
            for y in range(n_labels):
                total += tilted[t - start, y] * fires.tables[fires.entries[f].table, y]
            rows[fires.entries[f].slot].new_expectation += fires.entries[f].value * total
    for g in range(n_groups):
        _expect_pairs(edges.fires, g, n_labels, room, rows)
    return log_z


@kernel
def _expect_pairs(fires: Firings, g: int, n_labels: int, room: TiltRoom, rows: Records) -> None:
    """The sums of edge marginals of one pattern, and what they add to E[f]."""
    pairs, direct, factor = room.pairs[g], room.direct[g], room.tables.factor[g]
    for i in range(len(pairs)):
        for j in range(len(pairs)):
            pairs[i, j] = pairs[i, j] * factor[i, j] + direct[i, j]
    for f in range(fires.indptr[room.pattern[g]], fires.indptr[room.pattern[g] + 1]):
        table = fires.tables[fires.entries[f].table]
        s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
        for i in range(n_labels):
            for j in range(0, len(pairs), LANES):
                s0 += pairs[i, j] * table[i, j]
                s1 += pairs[i, j + 1] * table[i, j + 1]
                s2 += pairs[i, j + 2] * table[i, j + 2]
                s3 += pairs[i, j + 3] * table[i, j + 3]
        rows[fires.entries[f].slot].new_expectation += fires.entries[f].value * ((s0 + s1) + (s2 + s3))


@kernel
def _keep(
    node: FloatArray,
    start: int,
    stop: int,
    edges: Edges,
    n_groups: int,
    weight: float,
    room: TiltRoom,
    sums: FloatArray,
) -> None:
    """The marginals of the last evaluation, where they belong."""
    for t in range(stop - start):
        for y in range(node.shape[1]):
            node[start + t, y] = room.tilted[t, y]
    if weight != 0.0:
        for g in range(n_groups):
            kind = edges.kind[room.pattern[g]]
            for i in range(sums.shape[1]):
                for j in range(sums.shape[2]):
                    sums[kind, i, j] += weight * room.pairs[g, i, j]
