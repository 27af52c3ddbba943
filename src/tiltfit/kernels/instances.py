"""Instance-level prices: at every position its own tiny dual problem, solved by exact coordinate ascent.

At one position with log-potentials s, the rows r of that position (event E_r, penalty U_r, support c_r) have prices ν
that maximise

    −c·log Σ_y exp(s_y + Σ_r ν_r 1[y ∈ E_r]) − Σ_r U_r*(−c_r ν_r).

In one coordinate the share of the event is m(ν) = σ(ℓ + ν), ℓ its log-odds without the row, and the optimum is where
the increasing function m(ν) − ∇U*(−cν) crosses zero: in closed form for hard bounds, else by Newton's method kept
inside a bracket. Cycling over the rows converges (the non-smooth part is separable); a single row is exact at once.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tiltfit.arrays import FloatArray, IndexArray
from tiltfit.kernels.compile import kernel
from tiltfit.kernels.exponential import softmax_rows

INTERVAL, KL = 0, 1
_MAX_SWEEPS = 1000
_PRICE_TOL = 1e-11


@kernel
def solve_positions(
    node: FloatArray,
    log_z: FloatArray,
    share: FloatArray,
    prices: FloatArray,
    solved: npt.NDArray[np.bool_],
    indptr: IndexArray,
    order: IndexArray,
    event: IndexArray,
    events: FloatArray,
    block: IndexArray,
    kind: IndexArray,
    parameters: FloatArray,
    support: FloatArray,
    cap: float,
    start: int,
    stop: int,
) -> None:
    """For start ≤ i < stop: node[i] from log-potentials to q, log_z[i], and the prices and shares of the rows of i.

    ``prices`` is the starting point and the result. Rows of position i: order[indptr[i]:indptr[i+1]]; ``event[r]`` is a
    row of ``events``; ``parameters[r]`` = (low, high, slack, slope) or (target, –, –, weight). O(rows·labels) a sweep.
    """
    for i in range(start, stop):
        s = node[i]
        rows = order[indptr[i] : indptr[i + 1]]
        alone = len(rows) == 0  # a single row or distribution is exact at once
        for r in rows:
            _shift(s, events[event[r]], prices[r])
        for _ in range(_MAX_SWEEPS):
            moved = 0.0
            k = 0
            while k < len(rows):
                r = rows[k]
                if block[r] >= 0:
                    last = k + 1
                    while last < len(rows) and block[rows[last]] == block[r]:
                        last += 1
                    change = _distribution_prices(rows[k:last], event, events, parameters, support, prices, s)
                    alone, k = last - k == len(rows), last
                else:
                    change = _row_price(r, events[event[r]], kind, parameters, support, cap, prices, s)
                    alone, k = len(rows) == 1, k + 1
                moved = max(moved, change)
            if alone or moved <= _PRICE_TOL * (1.0 + _largest(rows, prices)):
                break
        else:
            solved[i] = False
        softmax_rows(node, log_z, i, i + 1)
        for r in rows:
            total = 0.0
            for y in range(node.shape[1]):
                total += node[i, y] * events[event[r], y]
            share[r] = total


@kernel
def _row_price(
    r: int,
    inside: FloatArray,
    kind: IndexArray,
    parameters: FloatArray,
    support: FloatArray,
    cap: float,
    prices: FloatArray,
    s: FloatArray,
) -> float:
    """The price of row r, all others held; ``s`` goes from the old price to the new. Returns the change."""
    _shift(s, inside, -prices[r])
    odds = _log_odds(s, inside)
    if kind[r] == INTERVAL:
        new = _interval_price(odds, parameters[r], support[r], cap)
    else:
        new = _kl_price(odds, parameters[r, 0], parameters[r, 3], support[r])
    _shift(s, inside, new)
    change: float = abs(new - prices[r])
    prices[r] = new
    return change


@kernel
def _largest(rows: IndexArray, prices: FloatArray) -> float:
    top = 0.0
    for r in rows:
        top = max(top, abs(prices[r]))
    return top


@kernel
def _distribution_prices(
    rows: IndexArray,
    event: IndexArray,
    events: FloatArray,
    parameters: FloatArray,
    support: FloatArray,
    prices: FloatArray,
    s: FloatArray,
) -> float:
    """All prices of one distribution at once; ``s`` goes from the old prices to the new. Returns the largest change.

    Its events cover every label once, so with κ = w/c the optimum has ν_y = κ(u_y/q_y − 1) and log q_y = s_y + ν_y − L.
    For given L that is v + log v = log(κu_y) − s_y + κ + L with v = κu_y/q_y (u_y = 0: q_y = exp(s_y − κ − L)), and L
    is where Σ q = 1: a decreasing, convex function of L, so Newton's method cannot overshoot from the left. One by
    one the rows would creep: a common shift of all prices hardly changes q.
    """
    kappa = parameters[rows[0], 3] / support[rows[0]]
    label = np.empty(len(rows), dtype=np.int64)
    top = -np.inf
    for k in range(len(rows)):
        for y in range(len(s)):
            if events[event[rows[k]], y] > 0.0:
                label[k] = y
        s[label[k]] -= prices[rows[k]]
        top = max(top, s[label[k]])
    level = top - kappa  # Σ q ≥ 1 here, from the label at the top alone
    for _ in range(200):
        total, slope = -1.0, 0.0
        for k in range(len(rows)):
            q, v = _distributed_share(s[label[k]], parameters[rows[k], 0], kappa, level)
            total += q
            slope += q / (1.0 + v)
        step = total / slope
        level += step
        if abs(step) <= 1e-15 * max(1.0, abs(level)):
            break
    moved = 0.0
    for k in range(len(rows)):
        _, v = _distributed_share(s[label[k]], parameters[rows[k], 0], kappa, level)
        new = v - kappa if s[label[k]] > -np.inf else 0.0
        moved = max(moved, abs(new - prices[rows[k]]))
        prices[rows[k]] = new
        s[label[k]] += new
    return moved


@kernel
def _distributed_share(s: float, target: float, kappa: float, level: float) -> tuple[float, float]:
    """(q, v) of one label for a given level."""
    if s == -np.inf:
        return 0.0, 0.0
    if target == 0.0:
        return np.exp(s - kappa - level), 0.0
    t = np.log(kappa * target) - s + kappa + level
    # Wright's omega: the v with v + log v = t.
    v = t - np.log(t) if t > 1.0 else np.exp(t)
    if t > -30.0:
        for _ in range(8):
            v *= (1.0 + t - np.log(v)) / (1.0 + v)
    return kappa * target / v, v


@kernel
def _shift(s: FloatArray, inside: FloatArray, by: float) -> None:
    if by != 0.0:
        for y in range(len(s)):
            if inside[y] > 0.0:
                s[y] += by


@kernel
def _log_odds(s: FloatArray, inside: FloatArray) -> float:
    """log Σ_{y ∈ E} e^{s_y} − log Σ_{y ∉ E} e^{s_y}: ±inf where one side is empty or forbidden."""
    within, without = 0.0, 0.0
    # Each side is scaled by its own maximum, so that neither underflows beside the other.
    top_in, top_out = -np.inf, -np.inf
    for y in range(len(s)):
        if inside[y] > 0.0:
            top_in = max(top_in, s[y])
        else:
            top_out = max(top_out, s[y])
    if top_in == -np.inf:
        return -np.inf
    if top_out == -np.inf:
        return np.inf
    for y in range(len(s)):
        if inside[y] > 0.0:
            within += np.exp(s[y] - top_in)
        else:
            without += np.exp(s[y] - top_out)
    odds: float = top_in - top_out + np.log(within) - np.log(without)
    return odds


@kernel
def _sigmoid(x: float) -> float:
    e: float = np.exp(-abs(x))
    return 1.0 / (1.0 + e) if x >= 0 else e / (1.0 + e)


@kernel
def _interval_price(odds: float, parameters: FloatArray, c: float, cap: float) -> float:
    low, high, slack, slope = parameters[0], parameters[1], parameters[2], parameters[3]
    m = _sigmoid(odds)
    if low <= m <= high:
        return 0.0
    # Mirror "too low" into "too high": the share of the complement has log-odds −odds.
    sign = -1.0
    edge = high
    if m < low:
        sign, edge, odds = 1.0, 1.0 - low, -odds
    limit = slope / c if slope < np.inf else (cap if slack == 0.0 else np.inf)
    if slack == 0.0:
        if edge <= 0.0 or odds == np.inf:
            return sign * limit
        step: float = odds - (np.log(edge) - np.log1p(-edge))
        return sign * min(max(step, 0.0), limit)
    # Root of σ(odds − t) − edge − slack·c·t over t ≥ 0, a decreasing function, convex or concave in turn.
    left, right = 0.0, (1.0 - edge) / (slack * c)
    t = 0.0
    for _ in range(100):
        p = _sigmoid(odds - t)
        f = p - edge - slack * c * t
        if f > 0:
            left = t
        else:
            right = t
        newton = t + f / (p * (1.0 - p) + slack * c)
        t_new = newton if left < newton < right else 0.5 * (left + right)
        if abs(t_new - t) <= 1e-15 * max(1.0, t):
            break
        t = t_new
    return sign * min(t, limit)


@kernel
def _kl_price(odds: float, target: float, weight: float, c: float) -> float:
    left = -weight * (1.0 - target) / c
    if target == 0.0:
        return left
    # Root of σ(odds + t) − target/(1 + c·t/weight), increasing in t; negative at `left`, where the second term is 1.
    right = max(1.0, 2.0 * abs(left))
    while _sigmoid(odds + right) - target / (1.0 + c * right / weight) < 0.0 and right < 1e12:
        right *= 2.0
    t = min(max(0.0, left), right)
    for _ in range(200):
        p = _sigmoid(odds + t)
        room = 1.0 + c * t / weight
        f = p - target / room
        if f < 0:
            left = t
        else:
            right = t
        newton = t - f / (p * (1.0 - p) + target * c / (weight * room * room))
        t_new = newton if left < newton < right else 0.5 * (left + right)
        if abs(t_new - t) <= 1e-15 * max(1.0, abs(t)):
            break
        t = t_new
    return t
