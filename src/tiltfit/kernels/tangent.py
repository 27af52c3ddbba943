"""The derivative of chain marginals along a direction: forward-mode differentiation of forward–backward.

With a direction g_t(y) on positions and G(y, y′) on edges, D(y) = Σ_t g_t(y_t) + Σ_t G(y_{t−1}, y_t), the derivative of
an expectation along it is a covariance with D. In the scaled recursions of ``chain``, with S_t = ψ_t·c_t, Φ̇ = Φ∘G and
h_t = g_t − E[g_t],

    ȧ_t = (ȧ_{t−1}Φ + a_{t−1}Φ̇)∘S_t + a_t∘h_t,   then   ȧ_t ← ȧ_t − e·a_t,  e = Σ_t E[G_t] = ȧ_n·b_n
    W_t = S_t∘ḃ_t + V_t∘h_t,   ḃ_{t−1} = ΦW_t + Φ̇V_t

    Cov(1[y_t], D)          = ȧ_t∘b_t + a_t∘ḃ_t
    Cov(1[y_{t−1}, y_t], D) = Φ∘(ȧ_{t−1}⊗V_t + a_{t−1}⊗W_t) + Φ̇∘(a_{t−1}⊗V_t)

O(n·L²), as forward–backward itself; before the first position at which something moves ȧ is zero, and after the last
one ḃ is, so that few places that move, as labelled words are, cost half. Sequences whose scores differ too much for
scaled probabilities go through ``log_chain``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tiltfit.arrays import FloatArray, IndexArray
from tiltfit.kernels.chain import Scratch, Tables, add_edges, exact, forward, load, longest_of
from tiltfit.kernels.compile import kernel
from tiltfit.kernels.constants import LANES, WIDEST
from tiltfit.kernels.log_chain import differentiate_on_logarithms, log_forward_backward
from tiltfit.kernels.primitives import tiles


class Store(NamedTuple):
    """The results of forward–backward for all N positions, labels padded: node marginals are a∘b, and V = S∘b.
    ``scaled``: by sequence, whether all of it is here; else a is its marginals, and b one."""

    step: FloatArray  # [N, P]: S
    ahead: FloatArray  # [N, P]: a
    behind: FloatArray  # [N, P]: b
    scaled: npt.NDArray[np.bool_]


@kernel
def infer_and_store(
    node: FloatArray,
    log_z: FloatArray,
    weight: FloatArray,
    offsets: IndexArray,
    kind: IndexArray,
    order: IndexArray,
    tables: Tables,
    cuts: IndexArray,
    outer: FloatArray,
    direct: FloatArray,
    store: Store,
    first: int,
    last: int,
) -> None:
    """``chunks.infer_chunks`` that keeps its recursions; ``node`` are log-potentials and stay so. O(N·L²)."""
    longest, n_labels = longest_of(offsets, cuts[first], cuts[last]), node.shape[1]
    scale, least, nothing = np.zeros(longest), np.zeros(LANES), np.zeros((1, tables.factor.shape[2]))
    rescued, room = np.zeros((longest, n_labels)), np.zeros((longest, tables.factor.shape[2]))
    for c in range(first, last):
        for s in range(cuts[c], cuts[c + 1]):
            start, stop = offsets[s], offsets[s + 1]
            n = stop - start
            step, ahead, back = store.step[start:stop], store.ahead[start:stop], room[:n]
            scratch = Scratch(step, ahead, back, scale, least)
            tops, node_spread = load(node, start, stop, step, least)
            log_sum_, edge_spread, fine = -np.inf, 0.0, True
            if tops > -np.inf:
                log_sum_, edge_spread = forward(scratch, tables, kind, start, n, n_labels)
                fine = exact(scratch, node_spread + edge_spread)
            store.scaled[s] = fine and log_sum_ > -np.inf
            if store.scaled[s]:
                log_z[s] = tops + log_sum_
                total = _scale_steps(scratch, n)
                _backward(step, total, store.behind[start:stop], back, tables, kind, start, n, n_labels, nothing)
                if weight[s] != 0.0:
                    add_edges(ahead, back, kind, order, start, stop, start, stop, n_labels, weight[s], outer[c])
                continue
            log_z[s] = -np.inf
            if not fine:
                rescued[:n] = node[start:stop]
                log_z[s] = log_forward_backward(
                    rescued, kind[start:stop], 0, n, tables.log, tables.log_t, ahead, back, weight[s], direct[c]
                )
            ahead[:] = 0.0
            store.behind[start:stop] = 1.0
            if log_z[s] > -np.inf:
                ahead[:, :n_labels] = rescued[:n]


@kernel
def _scale_steps(scratch: Scratch, n: int) -> float:
    """From ψ_t to S_t = ψ_t·c_t, zero where a_t is; returns Σa_n. The scale of the last position also holds
    b_n = 1/Σa_n, which is taken out."""
    step, ahead, width = scratch.local, scratch.ahead, scratch.ahead.shape[1]
    total = 0.0
    for y in range(width):
        total += ahead[n - 1, y]
    scratch.scale[n - 1] *= total
    flat, reached = step[:n].reshape(n * width), ahead[:n].reshape(n * width)
    for t in range(n):
        for y in range(width):
            step[t, y] *= scratch.scale[t]
    for m in range(n * width):
        flat[m] = flat[m] if reached[m] > 0.0 else 0.0
    return total


@kernel
def _backward(
    step: FloatArray,
    total: float,
    behind: FloatArray,
    back: FloatArray,
    tables: Tables,
    kind: IndexArray,
    start: int,
    n: int,
    n_labels: int,
    nothing: FloatArray,
) -> None:
    """b_t and V_t = S_t∘b_t, from b_n = 1/``total``. O(n·L²)."""
    width = step.shape[1]
    for y in range(width):
        behind[n - 1, y] = 1.0 / total
        back[n - 1, y] = step[n - 1, y] / total
    for t in range(n - 1, 0, -1):
        column = 0
        while column < width:
            count = min(WIDEST, (width - column) // LANES)
            tiles.step_tile(
                count, back, t, tables.factor_t, kind[start + t], n_labels, nothing, 0, step, t - 1, behind, t - 1,
                back, column,
            )  # fmt: skip
            column += LANES * count


class Direction(NamedTuple):
    """A direction in which potentials move. ``dotted``: Φ̇ and its transpose, labels padded."""

    place: npt.NDArray[np.int32]  # [N]: the row of ``node`` that is g_t, −1 where it is zero
    node: FloatArray  # [M, L]
    edge: FloatArray  # [K, P, P]: G
    dotted: FloatArray
    dotted_t: FloatArray
    has_edges: bool


class Dots(NamedTuple):
    """Room for one sequence, labels padded: one per thread."""

    ahead: FloatArray  # ȧ
    back: FloatArray  # W
    raw: FloatArray  # ḃ
    known: FloatArray  # V
    mean: FloatArray  # [n]: E[g_t]


@kernel
def differentiate(
    potentials: FloatArray,
    direction: Direction,
    log_z: FloatArray,
    weight: FloatArray,
    offsets: IndexArray,
    kind: IndexArray,
    order: IndexArray,
    tables: Tables,
    cuts: IndexArray,
    outer: FloatArray,
    direct: FloatArray,
    store: Store,
    out: FloatArray,
    first: int,
    last: int,
) -> None:
    """out[N, L] ← weight·Cov(1[y_t], D) of the sequences of chunks first … last − 1; Φ∘outer + direct are the
    covariances of weighted edges but for G∘(edge marginals). O(N·L²)."""
    longest, n_labels, width = longest_of(offsets, cuts[first], cuts[last]), out.shape[1], store.ahead.shape[1]
    shape = (longest, width)
    dots = Dots(np.zeros(shape), np.zeros(shape), np.zeros(shape), np.zeros(shape), np.zeros(longest))
    extra = np.zeros((longest if direction.has_edges else 1, width))
    for c in range(first, last):
        for s in range(cuts[c], cuts[c + 1]):
            start, stop = offsets[s], offsets[s + 1]
            if log_z[s] == -np.inf or weight[s] == 0.0:
                out[start:stop] = 0.0
            elif not store.scaled[s]:
                differentiate_on_logarithms(potentials, direction, kind, start, stop, tables, weight[s], direct[c], out)
            else:
                begin, end = _moving(direction, start, stop)
                _recall(store, start, stop, dots.known)
                if direction.has_edges:
                    _products(store.ahead, 1, direction.dotted, kind, start, stop, n_labels, extra)
                _ahead(store, direction, kind, start, stop, begin, tables, extra, dots)
                if direction.has_edges:
                    _products(dots.known, start, direction.dotted_t, kind, start, stop, n_labels, extra)
                add_edges(dots.ahead, dots.known, kind, order, start, stop, begin + 1, stop, width, weight[s], outer[c])
                _back(store, direction, kind, start, stop, end, tables, extra, dots)
                ahead = store.ahead[start:stop]
                add_edges(ahead, dots.back, kind, order, start, stop, start, end, width, weight[s], outer[c])
                _covariances(store, dots, start, stop, weight[s], out)


@kernel
def _moving(direction: Direction, start: int, stop: int) -> tuple[int, int]:
    """The first and the last position at which something moves; with edges: all."""
    if direction.has_edges:
        return start, stop - 1
    begin, end = stop, start - 1
    for t in range(start, stop):
        if direction.place[t] >= 0:
            begin, end = min(begin, t), t
    return begin, end


@kernel
def _ahead(
    store: Store,
    direction: Direction,
    kind: IndexArray,
    start: int,
    stop: int,
    begin: int,
    tables: Tables,
    extra: FloatArray,
    dots: Dots,
) -> None:
    """ȧ_t, and mean[t] = E[g_t] where something moves. ``extra``: a_{t−1}Φ̇, or one row of zeros. O(n·L²)."""
    n_labels, width = direction.node.shape[1], extra.shape[1]
    dots.ahead[: begin - start + 1] = 0.0
    for t in range(begin, stop):
        i, x, column = t - start, t - start if direction.has_edges else 0, 0
        while t > begin and column < width:
            count = min(WIDEST, (width - column) // LANES)
            tiles.step_tile(
                count, dots.ahead, i - 1, tables.factor, kind[t], n_labels, extra, x, store.step, t, dots.raw, i,
                dots.ahead, column,
            )  # fmt: skip
            column += LANES * count
        place = direction.place[t]
        if place >= 0:
            mean = 0.0
            for y in range(n_labels):
                mean += store.ahead[t, y] * store.behind[t, y] * direction.node[place, y]
            for y in range(n_labels):
                dots.ahead[i, y] += store.ahead[t, y] * (direction.node[place, y] - mean)
            dots.mean[i] = mean
    if direction.has_edges:
        _centre(store, start, stop, dots.ahead)


@kernel
def _centre(store: Store, start: int, stop: int, ahead_dot: FloatArray) -> None:
    """ȧ_t ← ȧ_t − e·a_t,  e = ȧ_n·b_n."""
    e, n, width = 0.0, stop - start, ahead_dot.shape[1]
    for y in range(width):
        e += ahead_dot[n - 1, y] * store.behind[stop - 1, y]
    flat, ahead = ahead_dot[:n].reshape(n * width), store.ahead[start:stop].reshape(n * width)
    for m in range(n * width):
        flat[m] -= e * ahead[m]


@kernel
def _back(
    store: Store,
    direction: Direction,
    kind: IndexArray,
    start: int,
    stop: int,
    end: int,
    tables: Tables,
    extra: FloatArray,
    dots: Dots,
) -> None:
    """W_t and ḃ_t, after ``_ahead``. ``extra``: Φ̇V_t, or one row of zeros. O(n·L²)."""
    n_labels, width, last = direction.node.shape[1], extra.shape[1], max(end, start)
    dots.back[last - start : stop - start] = 0.0
    dots.raw[last - start : stop - start] = 0.0
    for t in range(last, start - 1, -1):
        i, x, column = t - start, t - start if direction.has_edges else 0, 0
        place = direction.place[t]
        if place >= 0:
            for y in range(n_labels):
                dots.back[i, y] += dots.known[i, y] * (direction.node[place, y] - dots.mean[i])
        while t > start and column < width:
            count = min(WIDEST, (width - column) // LANES)
            tiles.step_tile(
                count, dots.back, i, tables.factor_t, kind[t], n_labels, extra, x, store.step, t - 1, dots.raw, i - 1,
                dots.back, column,
            )  # fmt: skip
            column += LANES * count


@kernel
def _recall(store: Store, start: int, stop: int, known: FloatArray) -> None:
    """V_t = S_t∘b_t: made again rather than kept, since memory is slower. O(n·L)."""
    size = (stop - start) * known.shape[1]
    step, behind = store.step[start:stop].reshape(size), store.behind[start:stop].reshape(size)
    out = known[: stop - start].reshape(size)
    for m in range(size):
        out[m] = step[m] * behind[m]


@kernel
def _covariances(store: Store, dots: Dots, start: int, stop: int, weight: float, out: FloatArray) -> None:
    """out[t] ← weight·(ȧ_t∘b_t + a_t∘ḃ_t). One long loop over all labels: short ones do not run on vectors. O(n·L)."""
    n_labels, width = out.shape[1], store.ahead.shape[1]
    size = (stop - start) * width
    ahead, behind = store.ahead[start:stop].reshape(size), store.behind[start:stop].reshape(size)
    ahead_dot, raw = dots.ahead[: stop - start].reshape(size), dots.raw[: stop - start].reshape(size)
    for m in range(size):
        raw[m] = weight * (ahead_dot[m] * behind[m] + ahead[m] * raw[m])
    for t in range(start, stop):
        for y in range(n_labels):
            out[t, y] = dots.raw[t - start, y]


@kernel
def _products(
    rows: FloatArray,
    shift: int,
    table: FloatArray,
    kind: IndexArray,
    start: int,
    stop: int,
    n_labels: int,
    out: FloatArray,
) -> None:
    """out[t − start] ← rows[t − shift]·table[kind of the edge into t]; zero at the first position. O(n·L²)."""
    width = table.shape[2]
    out[0] = 0.0
    for t in range(start + 1, stop):
        column = 0
        while column < width:
            count = min(WIDEST, (width - column) // LANES)
            tiles.product_tile(count, rows, t - shift, table, kind[t], n_labels, out, t - start, column)
            column += LANES * count
