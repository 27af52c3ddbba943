"""The information projection of sequences by brute force: minimise over the probability of every labelling.

min_q Σ_s w_s D(q_s‖p_s) + Σ_r U_r(m_r(q)), a convex problem with linear constraints, by SLSQP with exact derivatives.
Only for a handful of short sequences.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.optimize import minimize
from scipy.special import rel_entr
from tests.oracles.sequences import Row, World, penalty, settled


def primal(world: World, found: Sequence[Row], allowed: list[np.ndarray]) -> tuple[float, list[np.ndarray]]:
    """Least value and q, over distributions over the allowed labellings."""
    undecided = [s for s in range(world.n) if world.undecided(s) and world.weights[s] > 0]
    sizes = [int(allowed[s].sum()) for s in undecided]
    p = np.concatenate([world.p[s][allowed[s]] for s in undecided])
    w = np.repeat(world.weights[undecided], sizes)
    A, b = _moments(world, found, allowed, undecided)
    n, l1 = len(p), [r for r, row in enumerate(found) if row.cost[0] == "l1"]
    soft = [
        r for r, row in enumerate(found) if row.cost[0] in ("l2", "kl") or (row.cost[0] == "box" and row.cost[1][2])
    ]

    def objective(z: np.ndarray) -> tuple[float, np.ndarray]:
        q, away = np.maximum(z[:n], 1e-300), z[n:]  # away: |m − u| of the L1 rows
        slopes = np.array([1 / found[r].cost[1][1] for r in l1])
        total, gradient = float(w @ rel_entr(q, p)) + float(slopes @ away), w * (np.log(q / p) + 1)
        for r in soft:
            m = float(A[r] @ q) + b[r]
            total += penalty(found[r].cost, m)
            gradient = gradient + _slope(found[r].cost, m) * A[r]
        return total, np.concatenate([gradient, slopes])

    one = np.eye(len(undecided)).repeat(sizes, axis=1)
    limits = [_linear("eq", np.hstack([one, np.zeros((len(one), len(l1)))]), -np.ones(len(one)))]
    limits += [limit for r, row in enumerate(found) for limit in _limits(row, A[r], b[r], l1, r)]
    start = np.concatenate([p / (one.T @ (one @ p)), np.ones(len(l1))])
    got = minimize(
        objective, start, jac=True, method="SLSQP", constraints=limits, bounds=[(1e-13, None)] * len(start),
        options={"maxiter": 2000, "ftol": 1e-15},
    )  # fmt: skip
    q = settled(world, world.p)
    for s, share in zip(undecided, np.split(got.x[:n], np.cumsum(sizes)[:-1]), strict=True):
        q[s] = np.zeros(len(world.p[s]))
        q[s][allowed[s]] = share
    return float(got.fun), q


def _moments(world, found, allowed, undecided):
    """m = A·q + b, a row each."""
    A = [
        np.concatenate([
            (world.weights[s] * row.f[s] if row.f[s] is not None else np.zeros(len(allowed[s])))[allowed[s]]
            for s in undecided
        ]) / row.support
        for row in found
    ]  # fmt: skip
    truth = settled(world, world.p)
    known = [s for s in range(world.n) if not world.undecided(s)]
    b = [
        sum(world.weights[s] * float(truth[s] @ row.f[s]) for s in known if row.f[s] is not None) / row.support
        for row in found
    ]
    return np.array(A), np.array(b)


def _linear(kind, matrix, constant):
    return {"type": kind, "fun": lambda z: matrix @ z + constant, "jac": lambda z: matrix}


def _limits(row, a, b, l1, r):
    """What a hard row allows, and |m − u| ≤ away of an L1 row."""
    kind, numbers = row.cost
    away = np.zeros((1, len(l1)))
    wide = np.hstack([a[None, :], away])
    if kind == "l1":
        away[0, l1.index(r)] = 1.0
        yield _linear("ineq", np.hstack([-a[None, :], away]), numbers[0] - b)
        yield _linear("ineq", np.hstack([a[None, :], away]), b - numbers[0])
    elif kind == "box" and not numbers[2]:
        low, high, _ = numbers
        if low == high:
            yield _linear("eq", wide, b - low)
            return
        if np.isfinite(low):
            yield _linear("ineq", wide, b - low)
        if np.isfinite(high):
            yield _linear("ineq", -wide, high - b)


def _slope(cost, m):
    kind, numbers = cost
    if kind == "l2":
        return (m - numbers[0]) / numbers[1]
    if kind == "kl":
        return (1 - numbers[0] / m) / numbers[1]
    low, high, slack = numbers
    return (min(m - low, 0.0) + max(m - high, 0.0)) / slack
