"""Markov chains over label sequences with priced whole-sequence statistics.

One step of a sequence's chain is a proposal of all its labels (``propose``) and then a Gibbs sweep (``gibbs``). Each
alone sticks somewhere, sweeps on sharp distributions and proposals on flat ones; both leave q as it is, so their
mixture does.

Every sequence has a stream of random numbers a step, derived from the seed, its number and the step's: nothing depends
on how sequences are shared out to threads. A chunk of sequences takes its steps together, so that kernels are called
once per chunk and step; compiled one by one, they are ready in half the time that one kernel around them would take.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tiltfit.arrays import FloatArray, IndexArray
from tiltfit.kernels.chain import Tables, padded
from tiltfit.kernels.compile import kernel
from tiltfit.kernels.form import Form, Prices, Tally, measure, new_prices, new_tally, set_prices, values
from tiltfit.kernels.gibbs import Site, new_site, sweep, sweep_logs
from tiltfit.kernels.propose import IMPOSSIBLE, filter_forward, propose
from tiltfit.kernels.sample import stream

_TRIES = 200  # steps in search of labels that no statistic forbids
NOT_FOUND = 3  # a status: there were none


class Problem(NamedTuple):
    """The input of the sampler. ``whole`` has one row for all sequences, or one for each."""

    node: FloatArray  # [N, L]
    offsets: IndexArray
    kind: IndexArray
    tables: Tables
    form: Form
    whole: FloatArray  # [1 or n, S]
    weight: FloatArray  # [n]


class Outcome(NamedTuple):
    """Sums over m steps, by chunk where sums run over sequences."""

    node: FloatArray  # [N, L]
    whole: FloatArray  # [n, S]
    edge: FloatArray  # [c, max(1, K), P, P]
    totals: FloatArray  # [c, m, S]
    accepted: FloatArray  # [n]: the share of proposals that were accepted
    status: IndexArray  # [n]: that of ``filter_forward``, or ``NOT_FOUND``


class SamplerRoom(NamedTuple):
    """For a chunk of b sequences with n positions together, the longest of which has m: one per thread."""

    local: FloatArray  # [n, P]: ψ
    ahead: FloatArray  # [n, P]: a
    node: FloatArray  # [1, n, P]: sums of node marginals
    prices: Prices
    price: IndexArray  # [b]: the row of prices of a sequence
    tally: Tally
    other: Tally
    site: Site
    proposal: IndexArray  # [m]
    seeds: npt.NDArray[np.uint64]  # [b]
    states: npt.NDArray[np.uint64]  # [b]
    active: FloatArray  # [b]: below 0, the sequence is left alone; else what a step counts in sums
    done: IndexArray  # [b]: how many labels a sweep has drawn
    value: FloatArray  # [S]


def new_sampler_room(problem: Problem, first: int, last: int) -> SamplerRoom:
    form, lengths = problem.form, np.diff(problem.offsets[first : last + 1])
    n, b, longest, width = int(lengths.sum()), last - first, int(lengths.max()), padded(len(form.field))
    shared = len(problem.whole) == 1
    return SamplerRoom(
        np.zeros((n, width)), np.zeros((n, width)), np.zeros((1, n, width)), new_prices(form, 1 if shared else b),
        np.zeros(b, dtype=np.int64) if shared else np.arange(b), new_tally(form, b), new_tally(form, 1),
        new_site(form, longest), np.zeros(longest, dtype=np.int16), np.zeros(b, dtype=np.uint64),
        np.zeros(b, dtype=np.uint64), np.zeros(b), np.zeros(b, dtype=np.int64), np.zeros(len(form.base)),
    )  # fmt: skip


def sample_chunk(
    problem: Problem,
    seed: np.uint64,
    burn_in: int,
    labels: npt.NDArray[np.int16],
    outcome: Outcome,
    chunk: int,
    first: int,
    last: int,
) -> None:
    """``burn_in`` steps and then m that are summed up, for sequences first … last − 1, which are a chunk.

    ``labels`` are where the chains are, before and after; −1: nowhere yet. O(m·N·L + N·L²).
    """
    node, offsets, kind, tables, form, whole, weight = problem
    room, status, n_steps = new_sampler_room(problem, first, last), outcome.status, outcome.totals.shape[1]
    lengths = np.diff(offsets[first : last + 1])
    counters_alone = form.counters.shape[1] == 1 and len(form.short_below) + len(form.order_first) == 0

    def step(number: int) -> None:
        propose(
            room.ahead, status, offsets, kind, tables.factor_t, tables.log_t, form, room.prices, room.price, labels,
            room.tally, room.other, room.site, room.proposal, room.seeds, number, room.states, room.active,
            outcome.accepted, first, last,
        )  # fmt: skip
        shared = (
            form, room.prices, room.price, labels, room.tally, room.site, room.states, room.active, weight, room.node,
            outcome.edge[chunk], room.done, first, last,
        )  # fmt: skip
        room.done[:] = 0
        if counters_alone:
            sweep(room.local, offsets, kind, tables.factor, tables.factor_t, *shared)
        if np.any((room.done < lengths) & (room.active >= 0.0)):
            sweep_logs(node, offsets, kind, tables.log, tables.log_t, *shared)

    filter_forward(node, offsets, kind, tables, room.local, room.ahead, status, first, last)
    _begin(node, offsets, kind, tables.log, form, whole, room.prices, seed, labels, room.seeds, status, first, last)
    for tried in range(_TRIES + 1):
        _search(form, whole, offsets, labels, room.tally, room.value, status, room.active, first, last)
        if np.all(room.active < 0.0):
            break
        if tried < _TRIES:
            step(-1 - tried)
    status[first:last][room.active >= 0.0] = NOT_FOUND
    room.active[:] = np.where(status[first:last] < IMPOSSIBLE, 0.0, -1.0)
    for m in range(burn_in):
        step(m)
    room.active[room.active >= 0.0] = 1.0 / n_steps
    for m in range(n_steps):
        step(burn_in + m)
        _record(
            form, offsets, labels, room.tally, room.value, room.active, weight, outcome.whole, outcome.totals, chunk, m,
            first, last,
        )  # fmt: skip
    outcome.node[offsets[first] : offsets[last]] = room.node[0, :, : node.shape[1]]


@kernel
def _begin(
    node: FloatArray,
    offsets: IndexArray,
    kind: IndexArray,
    log: FloatArray,
    form: Form,
    whole: FloatArray,
    prices: Prices,
    seed: np.uint64,
    labels: IndexArray,
    seeds: npt.NDArray[np.uint64],
    status: IndexArray,
    first: int,
    last: int,
) -> None:
    """Seeds and prices of the sequences; labels that the chain forbids become −1."""
    shared, n_labels = len(whole) == 1, node.shape[1]
    for s in range(first, last):
        seeds[s - first] = stream(seed, s)
        if s == first or not shared:
            set_prices(form, whole, 0 if shared else s, prices, s - first)
        allowed = status[s] != IMPOSSIBLE
        for t in range(offsets[s], offsets[s + 1]):
            y = labels[t]
            allowed = allowed and 0 <= y < n_labels and node[t, y] > -np.inf
            allowed = allowed and (t == offsets[s] or log[kind[t], labels[t - 1], y] > -np.inf)
        if not allowed:
            for t in range(offsets[s], offsets[s + 1]):
                labels[t] = -1


@kernel
def _search(
    form: Form,
    whole: FloatArray,
    offsets: IndexArray,
    labels: IndexArray,
    tally: Tally,
    value: FloatArray,
    status: IndexArray,
    active: FloatArray,
    first: int,
    last: int,
) -> None:
    """Tallies, and active[s − first] ← 0 for sequences without labels or with forbidden ones, else −1."""
    for s in range(first, last):
        i, row, broken = s - first, (0 if len(whole) == 1 else s), labels[offsets[s]] < 0
        if not broken:
            measure(form, labels, offsets[s], offsets[s + 1] - offsets[s], tally, i)
            values(form, tally, i, value)
            for k in range(whole.shape[1]):
                broken = broken or (whole[row, k] == -np.inf and value[k] > 0.0)
        active[i] = 0.0 if broken and status[s] != IMPOSSIBLE else -1.0


@kernel
def _record(
    form: Form,
    offsets: IndexArray,
    labels: IndexArray,
    tally: Tally,
    value: FloatArray,
    active: FloatArray,
    weight: FloatArray,
    whole: FloatArray,
    totals: FloatArray,
    chunk: int,
    m: int,
    first: int,
    last: int,
) -> None:
    """The statistics after step m, into the means by sequence and the weighted totals. O(N + n·S·J)."""
    others = len(form.short_below) + len(form.order_first) > 0
    for s in range(first, last):
        i = s - first
        if active[i] > 0.0:
            if others:
                measure(form, labels, offsets[s], offsets[s + 1] - offsets[s], tally, i)
            values(form, tally, i, value)
            for k in range(len(value)):
                whole[s, k] += active[i] * value[k]
                totals[chunk, m, k] += weight[s] * value[k]
