"""The best label sequence under priced statistics: max-sum over (memory, label), bounded from above.

    δ_t(m, j) = the best score of a beginning that remembers m and ends in label j, with R(m) (see ``memory``)
    δ_t(m, j) + v_t(j) ≥ the score of every label sequence that goes on from there,

v_t the best that the chain alone can still add (Viterbi from the right). A first pass keeps the best few memories of
every position. If what it dropped has no bound above the best score it found, that is the best there is; else passes
follow that keep more, and drop whatever cannot beat the best so far.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tiltfit.arrays import FloatArray, IndexArray
from tiltfit.kernels.chain import padded
from tiltfit.kernels.compile import kernel
from tiltfit.kernels.form import Form
from tiltfit.kernels.memory import (
    Gains,
    Memory,
    Rows,
    begin,
    final_gain,
    keep,
    link,
    new_gains,
    new_rows,
    set_gains,
)  # fmt: skip

_FIRST, _GROWTH = 32, 16  # memories that the first pass keeps, and how many times more every further one
_SLACK = 1e-9  # of a score: sums in another order differ by less


class SearchRoom(NamedTuple):
    """For one sequence at a time of up to n positions: one per thread."""

    rows: Rows
    gains: Gains
    score: FloatArray  # [m, P]: δ
    origin: IndexArray  # [m, P, 2]: the row and the label before
    kept: IndexArray  # [m]
    starts: IndexArray  # [n + 2]: the rows of position t are starts[t + 1] … starts[t + 2] − 1
    stamp: IndexArray  # [1]: numbers from here on were not used in the hash table
    step: FloatArray  # [n, P, P]: edge and node scores, with θ, where a segment starts
    go_on: FloatArray  # [n, c]: the same where it goes on, by pair
    pairs: IndexArray  # [c, 2]
    ahead: FloatArray  # [n, P]: v
    top: FloatArray  # [2, P]: room: the best and where it came from
    bound: FloatArray  # [m]: of the rows of a position
    found: IndexArray  # [n]: labels


def new_search_room(form: Form, memory: Memory, longest: int, n_rows: int) -> SearchRoom:
    width, pairs = padded(len(form.field) - 1), np.argwhere(form.continues)
    return SearchRoom(
        new_rows(memory, n_rows), new_gains(form), np.empty((n_rows, width)),
        np.empty((n_rows, width, 2), dtype=np.int32), np.empty(n_rows, dtype=np.int64),
        np.zeros(longest + 2, dtype=np.int64), np.ones(1, dtype=np.int64), np.zeros((longest, width, width)),
        np.zeros((longest, len(pairs))), pairs, np.zeros((longest, width)), np.zeros((2, width)), np.empty(n_rows),
        np.zeros(longest, dtype=np.int64),
    )  # fmt: skip


@kernel
def _steps(
    node: FloatArray,
    kind: IndexArray,
    start: int,
    n: int,
    table: FloatArray,
    form: Form,
    theta: FloatArray,
    room: SearchRoom,
) -> None:
    """``step``, ``go_on`` and ``ahead`` of a sequence. O(n·L²)."""
    n_labels, step, go_on, pairs, ahead = node.shape[1], room.step, room.go_on, room.pairs, room.ahead
    field, width = form.field, room.step.shape[1]
    for t in range(n):
        for i in range(width):
            for j in range(width):
                step[t, i, j] = -np.inf
        for i in range(n_labels if t > 0 else 1):
            for j in range(n_labels):
                step[t, i, j] = node[start + t, j] + theta[field[j]] + (table[kind[start + t], i, j] if t > 0 else 0.0)
        if t > 0:
            for p in range(len(pairs)):
                i, j = pairs[p, 0], pairs[p, 1]
                go_on[t, p] = node[start + t, j] + table[kind[start + t], i, j]
                step[t, i, j] = -np.inf
    for i in range(width):
        ahead[n - 1, i] = 0.0
    for t in range(n - 1, 0, -1):
        for i in range(n_labels):
            best = -np.inf
            for j in range(n_labels):
                best = max(best, step[t, i, j] + ahead[t, j])
            ahead[t - 1, i] = best
        for p in range(len(pairs)):
            i, j = pairs[p, 0], pairs[p, 1]
            ahead[t - 1, i] = max(ahead[t - 1, i], go_on[t, p] + ahead[t, j])


@kernel
def _search(  # noqa: PLR0912 (one loop)
    memory: Memory, form: Form, n: int, room: SearchRoom, most: int, low: float, stamp: int, labels: IndexArray
) -> tuple[float, float]:
    """A pass that keeps up to ``most`` memories per position and drops what cannot reach ``low``. Returns the best
    score, and a bound of all that were dropped for want of room. O(memories·L²)."""
    rows, score, origin, starts, field, ahead = room.rows, room.score, room.origin, room.starts, form.field, room.ahead
    step, go_on, pairs, top, came = room.step, room.go_on, room.pairs, room.top[0], room.top[1]
    code, following, gain, going = rows.code, rows.next, rows.gain, rows.gain.shape[1]
    end, n_labels, width, run_mask, lost = room.gains.end, len(field) - 1, score.shape[1], memory.longest[1], -np.inf
    starts[0], starts[1] = 0, 1
    for j in range(width):
        score[0, j] = 0.0 if j == 0 else -np.inf
    for t in range(n):
        first, middle = starts[t], starts[t + 1]
        last = link(memory, room.gains, rows, first, middle, stamp + t)
        if last < 0:
            return -np.inf, np.inf
        for row in range(middle, last):
            for j in range(width):
                score[row, j] = -np.inf
        for row in range(first, middle):
            r = code[row] & run_mask
            for j in range(width):
                top[j] = -np.inf
            for i in range(n_labels):
                x = score[row, i] + (end[field[i], r] if t > 0 else 0.0)
                if x > -np.inf:
                    for j in range(width):
                        value = x + step[t, i, j]
                        came[j] = i if value > top[j] else came[j]
                        top[j] = value if value > top[j] else top[j]
            for j in range(n_labels):
                target = following[row, field[j]]
                if target >= 0 and top[j] + gain[row, field[j]] > score[target, j]:
                    score[target, j] = top[j] + gain[row, field[j]]
                    origin[target, j, 0], origin[target, j, 1] = row, int(came[j])
            target = following[row, going]
            for p in range(len(pairs) if t > 0 else 0):
                i, j = pairs[p, 0], pairs[p, 1]
                if score[row, i] + go_on[t, p] > score[target, j]:
                    score[target, j] = score[row, i] + go_on[t, p]
                    origin[target, j, 0], origin[target, j, 1] = row, i
        limit = _limit(score, ahead, t, middle, last, most, low, room.bound)
        count = 0
        for row in range(middle, last):
            bound = room.bound[row - middle]
            room.kept[row - middle] = bound >= limit and count < most  # of several alike, the first
            count += room.kept[row - middle]
            if bound >= low and not room.kept[row - middle]:
                lost = max(lost, bound)
        starts[t + 2] = keep(rows, first, middle, last, room.kept)
        for row in range(middle, last):
            if room.kept[row - middle] >= 0:
                for j in range(width):
                    score[room.kept[row - middle], j] = score[row, j]
                    origin[room.kept[row - middle], j, 0] = origin[row, j, 0]
                    origin[room.kept[row - middle], j, 1] = origin[row, j, 1]
        if starts[t + 2] == middle:
            return -np.inf, lost
    best, row_best, y_best = -np.inf, 0, 0
    for row in range(starts[n], starts[n + 1]):
        final, r = final_gain(memory, room.gains, rows, row), code[row] & run_mask
        for j in range(n_labels):
            value = score[row, j] + end[field[j], r] + final
            if value > best:
                best, row_best, y_best = value, row, j
    if best > -np.inf:
        for t in range(n - 1, -1, -1):
            labels[t] = y_best
            row_best, y_best = origin[row_best, y_best, 0], origin[row_best, y_best, 1]
    return best, lost


@kernel
def _limit(
    score: FloatArray, ahead: FloatArray, t: int, first: int, last: int, most: int, low: float, bound: FloatArray
) -> float:
    """bound[row − first] ← max_j δ + v; the least bound that at most ``most`` rows reach, and not below ``low``."""
    highest, least, count = -np.inf, np.inf, 0
    for row in range(first, last):
        top = -np.inf
        for j in range(score.shape[1]):
            top = max(top, score[row, j] + ahead[t, j])
        bound[row - first] = top
        highest = max(highest, top)
        if top > -np.inf and top >= low:
            least, count = min(least, top), count + 1
    if count <= most:
        return least
    above = highest  # at most ``most`` rows reach it, unless all are alike
    for _ in range(40):
        middle = 0.5 * (least + above)
        count = 0
        for row in range(first, last):
            count += bound[row - first] >= middle
        least, above = (middle, above) if count > most else (least, middle)
    return above


@kernel
def best_whole(
    node: FloatArray,
    offsets: IndexArray,
    kind: IndexArray,
    table: FloatArray,
    form: Form,
    memory: Memory,
    whole: FloatArray,
    room: SearchRoom,
    labels: IndexArray,
    scores: FloatArray,
    proven: IndexArray,
    first: int,
    last: int,
) -> None:
    """labels, scores[s] and proven[s] of sequences first … last − 1; −1 and −inf where nothing was found."""
    for s in range(first, last):
        start, n = offsets[s], offsets[s + 1] - offsets[s]
        set_gains(form, whole, 0 if len(whole) == 1 else s, room.gains)
        _steps(node, kind, start, n, table, form, room.gains.theta, room)
        begin(memory, room.gains, room.rows)
        widest = max(1, len(room.kept) // (n + room.rows.next.shape[1] + 1))
        best, most, sure = -np.inf, min(_FIRST, widest), False
        while True:
            low = best - _SLACK * max(1.0, abs(best)) if best > -np.inf else -np.inf
            value, lost = _search(memory, form, n, room, most, low, room.stamp[0], room.found)
            room.stamp[0] += n
            if value > best:
                best = value
                for t in range(n):
                    labels[start + t] = room.found[t]
            sure = lost <= best + _SLACK * max(1.0, abs(best)) if best > -np.inf else lost == -np.inf
            if sure or most == widest:
                break
            most = min(_GROWTH * most, widest)
        scores[s], proven[s] = best + room.gains.base[0] + room.rows.rest[0], sure
        if best == -np.inf:
            for t in range(n):
                labels[start + t] = -1
