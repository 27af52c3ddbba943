"""Labellings of linear chains drawn at random: a forward pass, then labels from the last position to the first.

    y_n ~ a_n,      P(y_{t−1} = i | y_t = j) ∝ a_{t−1}(i)·Φ(i, j)

Every sequence has its own stream of random numbers, derived from the seed and its number: draws do not depend on how
sequences are shared out to threads. The first draws are the same however many are asked for.
"""

from __future__ import annotations

import numpy as np

from tiltfit.arrays import FloatArray, IndexArray
from tiltfit.kernels.chain import Scratch, Tables, exact, forward, load, longest_of, new_scratch
from tiltfit.kernels.compile import kernel
from tiltfit.kernels.exponential import exp_of_negative
from tiltfit.kernels.log_chain import log_forward

# SplitMix64 (Steele, Lea & Flood 2014): a counter that steps by the golden ratio, and a mixing of its bits.
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1, _MIX_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_S30, _S27, _S31, _S11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)


@kernel
def _mix(z: np.uint64) -> np.uint64:
    z = (z ^ (z >> _S30)) * _MIX_1
    z = (z ^ (z >> _S27)) * _MIX_2
    return z ^ (z >> _S31)


@kernel
def stream(seed: np.uint64, number: int) -> np.uint64:
    """The state of the stream of one number."""
    return _mix(_mix(seed + _GOLDEN) ^ _mix(np.uint64(number) * _GOLDEN + _MIX_1))


@kernel
def uniform(state: np.uint64) -> tuple[np.uint64, float]:
    """The next state, and a number in [0, 1) with 53 random bits."""
    state = state + _GOLDEN
    return state, float(_mix(state) >> _S11) * 2.0**-53


@kernel
def sample_labels(
    node: FloatArray,
    offsets: IndexArray,
    kind: IndexArray,
    tables: Tables,
    seed: np.uint64,
    labels: IndexArray,
    start: int,
    stop: int,
) -> None:
    """labels[m, t] of len(labels) draws for sequences start … stop − 1; −1 where no labelling is possible.
    O(N·L²) once and O(N·L) a draw, room for one sequence."""
    n_labels = node.shape[1]
    scratch = new_scratch(longest_of(offsets, start, stop), n_labels)
    for s in range(start, stop):
        first, last = offsets[s], offsets[s + 1]
        possible, logs = _filter(node, kind, first, last, tables, scratch)
        if not possible:
            labels[:, first:last] = -1
            continue
        state = stream(seed, s)
        for m in range(len(labels)):
            state = _draw(kind, first, last, tables, scratch, logs, state, n_labels, labels[m])


@kernel
def _filter(
    node: FloatArray, kind: IndexArray, first: int, last: int, tables: Tables, scratch: Scratch
) -> tuple[bool, bool]:
    """The forward pass into ``scratch.ahead``: whether a labelling is possible, and whether it holds logarithms."""
    tops, node_spread = load(node, first, last, scratch.local, scratch.least)
    if tops == -np.inf:
        return False, False
    log_sum, edge_spread = forward(scratch, tables, kind, first, last - first, node.shape[1])
    if exact(scratch, node_spread + edge_spread):
        return log_sum > -np.inf, False
    return log_forward(node, kind, first, last, tables.log, scratch.ahead) > -np.inf, True


@kernel
def _draw(
    kind: IndexArray,
    first: int,
    last: int,
    tables: Tables,
    scratch: Scratch,
    logs: bool,
    state: np.uint64,
    n_labels: int,
    labels: IndexArray,
) -> np.uint64:
    """One labelling; returns the next state. ``scratch.back[0]`` is room for a row."""
    ahead, room = scratch.ahead, scratch.back[0]
    y = 0
    for t in range(last - first - 1, -1, -1):
        end = t == last - first - 1
        k = 0 if end else kind[first + t + 1]
        if logs:
            top = -np.inf
            for i in range(n_labels):
                room[i] = ahead[t, i] + (0.0 if end else tables.log_t[k, y, i])
                top = max(top, room[i])
            for i in range(n_labels):
                room[i] = exp_of_negative(room[i] - top)
        else:
            for i in range(n_labels):
                room[i] = ahead[t, i] * (1.0 if end else tables.factor_t[k, y, i])
        state, u = uniform(state)
        y = _choose(room, n_labels, u)
        labels[first + t] = y
    return state


@kernel
def _choose(weights: FloatArray, n: int, u: float) -> int:
    """The label in whose part of Σ weights the fraction u falls; never one of weight 0."""
    total = 0.0
    for i in range(n):
        total += weights[i]
    goal, reached, chosen = u * total, 0.0, 0
    for i in range(n):
        if weights[i] > 0.0 and reached <= goal:  # the last one, if rounding leaves the goal at the very end
            chosen = i
        reached += weights[i]
    return chosen
