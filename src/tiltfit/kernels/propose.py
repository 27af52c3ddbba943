"""Proposals of whole label sequences: drawn from the chain alone, accepted by what they change in the statistics.

A forward pass, then labels from the last position to the first, as in ``sample``; the proposal y′ takes the place of y
with probability min(1, exp(Σ_k price_k·(g_k(y′) − g_k(y)))) (Metropolis–Hastings).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tiltfit.arrays import FloatArray, IndexArray
from tiltfit.kernels.chain import Tables, exact_enough
from tiltfit.kernels.compile import kernel
from tiltfit.kernels.constants import LANES, WIDEST
from tiltfit.kernels.exponential import exp_of_negative
from tiltfit.kernels.form import Form, Integer, Prices, Tally, energy, measure
from tiltfit.kernels.gibbs import Site, block_sums, choose
from tiltfit.kernels.log_chain import log_forward
from tiltfit.kernels.primitives import tiles
from tiltfit.kernels.sample import stream, uniform

PROBABILITIES, LOGARITHMS, IMPOSSIBLE = 0, 1, 2


@kernel
def filter_forward(
    node: FloatArray,
    offsets: IndexArray,
    kind: IndexArray,
    tables: Tables,
    local: FloatArray,
    ahead: FloatArray,
    status: IndexArray,
    first: int,
    last: int,
) -> None:
    """ψ and the forward pass of sequences first … last − 1, from row 0 of ``local`` and ``ahead`` on. O(N·L²).

    status[s]: whether ``ahead`` holds probabilities or logarithms, or no labelling is possible.
    """
    n_labels, width, base, least = node.shape[1], local.shape[1], offsets[first], np.zeros(LANES)
    for s in range(first, last):
        spread, start, stop = 0.0, offsets[s], offsets[s + 1]
        status[s] = PROBABILITIES
        for t in range(start, stop):
            top, bottom = -np.inf, np.inf
            for y in range(n_labels):
                top = max(top, node[t, y])
                bottom = min(bottom, node[t, y] if node[t, y] > -np.inf else np.inf)
            if top == -np.inf:
                status[s] = IMPOSSIBLE
            spread = max(spread, top - bottom)
            for y in range(n_labels):
                local[t - base, y] = node[t, y] - top
            for y in range(n_labels, width):
                local[t - base, y] = -np.inf
        if status[s] == IMPOSSIBLE:
            continue
        rows = local[start - base : stop - base]
        flat = rows.reshape(rows.size)
        for m in range(len(flat)):
            flat[m] = exp_of_negative(flat[m])
        status[s] = _forward(
            kind, start, stop, tables.factor, tables.spread, n_labels, local, ahead, base, spread, least
        )
        if status[s] == LOGARITHMS:
            log_z = log_forward(node, kind, start, stop, tables.log, ahead[start - base : stop - base])
            status[s] = IMPOSSIBLE if log_z == -np.inf else LOGARITHMS


@kernel
def _forward(
    kind: IndexArray,
    start: int,
    stop: int,
    phi: FloatArray,
    spreads: FloatArray,
    n_labels: int,
    local: FloatArray,
    ahead: FloatArray,
    base: int,
    spread: float,
    least: FloatArray,
) -> int:
    """a, each row up to a factor, and the status. What may be lost is judged by the rule of ``chain``."""
    width, widest, total = ahead.shape[1], 0.0, 0.0
    for i in range(LANES):
        least[i] = 1.0
    for y in range(width):
        value = local[start - base, y]
        ahead[start - base, y] = value
        total += value
        least[0] = min(least[0], value if value > 0.0 else 1.0)
    for t in range(start + 1, stop):
        k, scale, column = kind[t], 1.0 / total, 0
        widest, total = max(widest, spreads[k]), 0.0
        while column < width:
            count = min(WIDEST, (width - column) // LANES)
            total += tiles.forward_tile(count, ahead, t - base, phi, k, n_labels, local, column, scale, least)
            column += LANES * count
        if not total > 0.0:
            break
    if not exact_enough(min(least[0], least[1], least[2], least[3]), spread + widest):
        return LOGARITHMS
    return PROBABILITIES if total > 0.0 else IMPOSSIBLE


@kernel
def draw(
    kind: IndexArray,
    start: int,
    n: int,
    phi_t: FloatArray,
    log_t: FloatArray,
    ahead: FloatArray,
    row: int,
    logs: bool,
    room: FloatArray,
    fours: FloatArray,
    sums: FloatArray,
    labels: IndexArray,
    state: np.uint64,
) -> np.uint64:
    """labels[0:n] of the sequence at ``start`` of ``kind``, at ``row`` of ``ahead``; the next random state. O(n·L)."""
    width = ahead.shape[1]
    y: Integer = np.int64(0)
    for t in range(n - 1, -1, -1):
        k = kind[start + t + 1] if t < n - 1 else 0
        if logs:
            top = -np.inf
            for i in range(width):
                room[i] = ahead[row + t, i] + (log_t[k, y, i] if t < n - 1 else 0.0)
                top = max(top, room[i])
            for i in range(width):
                room[i] = exp_of_negative(room[i] - top)
        elif t == n - 1:
            for i in range(width):
                room[i] = ahead[row + t, i]
        else:
            here, after = ahead[row + t], phi_t[k, y]
            for i in range(width):
                room[i] = here[i] * after[i]
        state, u = uniform(state)
        y = choose(fours, sums, u * block_sums(fours, sums))
        labels[t] = y
    return state


@kernel
def propose(
    ahead: FloatArray,
    status: IndexArray,
    offsets: IndexArray,
    kind: IndexArray,
    phi_t: FloatArray,
    log_t: FloatArray,
    form: Form,
    prices: Prices,
    price: IndexArray,
    labels: IndexArray,
    tally: Tally,
    other: Tally,
    site: Site,
    proposal: IndexArray,
    seeds: npt.NDArray[np.uint64],
    step: int,
    states: npt.NDArray[np.uint64],
    active: FloatArray,
    accepted: FloatArray,
    first: int,
    last: int,
) -> None:
    """One proposal for each of sequences first … last − 1, after ``filter_forward``. O(N·L).

    Rows are as in ``gibbs.sweep``, which leaves shorts and orders of the tally to be found here, and which goes on with
    the random numbers of ``states``; ``other`` has one row. A sequence without labels (−1) takes what is proposed.
    active[s − first] is added to ``accepted``; below 0, the sequence is left alone.
    """
    counts, zero = tally.counts, np.int64(0)
    others = len(form.short_below) + len(form.order_first) > 0
    for s in range(first, last):
        i, start, n = s - first, offsets[s], offsets[s + 1] - offsets[s]
        if active[i] < 0.0:
            continue
        row, r = start - offsets[first], price[i]
        if others and labels[start] >= 0:
            measure(form, labels, start, n, tally, i)
        state, u = uniform(stream(seeds[i], step))
        states[i] = draw(
            kind, start, n, phi_t, log_t, ahead, row, status[s] == LOGARITHMS, site.room, site.fours, site.sums,
            proposal, state
        )  # fmt: skip
        measure(form, proposal, zero, n, other, zero)
        change = energy(prices, r, other, zero) - energy(prices, r, tally, i)
        if labels[start] < 0 or u < np.exp(min(0.0, change)):
            for t in range(n):
                labels[start + t] = proposal[t]
            for j in range(counts.shape[1]):
                counts[i, j] = other.counts[0, j]
            accepted[s] += active[i]
