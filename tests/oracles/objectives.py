"""The objectives of the methods, from their docstrings, by sums over all labellings of a tiny world.

Each is a function of the weights alone; that it is least is seen by central differences (``slope``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy.special import entr
from tests.oracles.sequences import Row, conjugate, penalty, settled, tilted
from tests.oracles.tiny import ALPHA, GAMMA, Tiny, logsumexp

from tiltfit.report.constraints import Entry

Objective = Callable[[np.ndarray], float]


def slope(objective: Objective, lam: np.ndarray, step: float = 1e-4, directions: int = 4) -> np.ndarray:
    """∇ along a few directions, by central differences."""
    moves = step * np.random.default_rng(0).normal(size=(directions, len(lam)))
    return np.array([(objective(lam + move) - objective(lam - move)) / (2 * step) for move in moves])


def ridge(lam: np.ndarray) -> float:
    return 0.5 * ALPHA * float(lam @ lam)


def truths(world: Tiny) -> list[np.ndarray]:
    """One labelling for certain where y tells all; nothing elsewhere."""
    return [world.agrees(s) * float(not world.undecided(s)) for s in range(world.n)]


def labelled(world: Tiny) -> float:
    """Σ_labelled −w·log p(y|x)."""
    return -sum(
        world.weights[s] * float(world.log_p[s][world.agrees(s)][0]) for s in range(world.n) if not world.undecided(s)
    )


def evidence(world: Tiny, allowed: Sequence[np.ndarray]) -> float:
    """Σ_unlabelled −w·log p(what is allowed|x)."""
    return -sum(
        world.weights[s] * float(logsumexp(world.log_p[s][allowed[s]]))
        for s in range(world.n)
        if world.undecided(s) and not allowed[s].all()
    )


def agreeing(world: Tiny) -> list[np.ndarray]:
    return [world.agrees(s) for s in range(world.n)]


def known(world: Tiny) -> Objective:
    """Labels, in whole and in part, and the ridge."""

    def value(lam: np.ndarray) -> float:
        here = world.at(lam)
        return labelled(here) + GAMMA * evidence(here, agreeing(here)) + ridge(lam)

    return value


def supervised(world: Tiny) -> Objective:
    return lambda lam: labelled(world.at(lam)) + ridge(lam)


def evident(world: Tiny, allowed: Sequence[np.ndarray]) -> Objective:
    """Labels, and what is left of the others."""

    def value(lam: np.ndarray) -> float:
        here = world.at(lam)
        return labelled(here) + GAMMA * evidence(here, allowed) + ridge(lam)

    return value


def soft(world: Tiny, log_evidence: Sequence[np.ndarray]) -> Objective:
    """Labels, and −log Σ_y p(y|x)·e(y) of the others; ``log_evidence``: log e of every labelling."""

    def value(lam: np.ndarray) -> float:
        here = world.at(lam)
        total = sum(
            here.weights[s] * float(logsumexp(here.log_p[s] + log_evidence[s]))
            for s in range(here.n)
            if here.undecided(s)
        )
        return labelled(here) - GAMMA * total + ridge(lam)

    return value


def cross_entropy(world: Tiny, q: Sequence[np.ndarray | None]) -> Objective:
    """Labels, and −Σ_y q(y)·log p(y|x) of those that have a q."""

    def value(lam: np.ndarray) -> float:
        here = world.at(lam)
        total = sum(
            here.weights[s] * float(share @ here.log_p[s])
            for s, share in enumerate(q)
            if share is not None and here.undecided(s)
        )
        return labelled(here) - GAMMA * total + ridge(lam)

    return value


def entropy(world: Tiny) -> Objective:
    """Labels, and the mean entropy a token of the others, times 2 % of the tokens that y names."""
    before = known(world)
    named = sum(world.weights[s] * sum(y is not None for y in world.known[s]) for s in range(world.n))
    others = sum(world.weights[s] * len(world.known[s]) for s in range(world.n) if world.undecided(s))

    def value(lam: np.ndarray) -> float:
        here = world.at(lam)
        unsure = sum(here.weights[s] * float(entr(here.p[s]).sum()) for s in range(here.n) if here.undecided(s))
        return before(lam) + GAMMA * 0.02 * named * unsure / others

    return value


def generalized_expectation(world: Tiny, found: Sequence[Row]) -> Objective:
    before = known(world)

    def value(lam: np.ndarray) -> float:
        here = world.at(lam)
        p = settled(here, here.p)
        return before(lam) + GAMMA * sum(penalty(row.cost, row.m(here, p)) for row in found)

    return value


def label_regularization(world: Tiny, stated: np.ndarray | None) -> Objective:
    """``stated``: proportions, else those of the labels, each seen once more; it counts ten times the labelled part."""
    before, classes = known(world), world.classes
    full = [s for s in range(world.n) if not world.undecided(s)]
    counts = np.ones(len(classes))
    for s in full:
        for label in world.known[s]:
            counts[classes.index(label)] += world.weights[s]
    shares = counts / counts.sum() if stated is None else stated
    strength = 10 * sum(world.weights[s] for s in full)
    appear = [
        np.array([[y.count(name) for name in classes] for y in world.labellings(s)], dtype=float)
        for s in range(world.n)
    ]

    def value(lam: np.ndarray) -> float:
        here = world.at(lam)
        mean = sum(here.weights[s] * (here.p[s] @ appear[s]) for s in range(here.n) if here.undecided(s))
        mean = mean / mean.sum()
        return before(lam) + GAMMA * strength * float(shares @ np.log(shares / mean))

    return value


# Projections


def check_projection(
    world: Tiny, found: Sequence[Row], prices: Sequence[float], allowed: list[np.ndarray], tol: float
) -> tuple[list[np.ndarray], float]:
    """q ∝ p·exp(prices·f) and D(q‖p) + U, after a proof that no q has less: each m is where U and its conjugate touch.

    By weak duality the sum of these Fenchel–Young gaps is an upper bound on what another q could win. A hard row has no
    U outside of its interval: m must lie in it, and a price must be zero unless m is at the end that it holds.
    """
    q = settled(world, tilted(world, found, prices, allowed))
    value = sum(
        world.weights[s] * float(-entr(q[s]).sum() - q[s][q[s] > 0] @ world.log_p[s][q[s] > 0])
        for s in range(world.n)
        if world.undecided(s)
    )
    for row, price in zip(found, prices, strict=True):
        m, eta = row.m(world, q), -row.support * price
        hard = row.cost[0] == "box" and row.cost[1][2] == 0
        if hard:
            low, high, _ = row.cost[1]
            assert low - tol <= m <= high + tol, f"row {row.key}: {m} is not between {low} and {high}"
        cost = 0.0 if hard else penalty(row.cost, m)
        gap = cost + conjugate(row.cost, eta) - eta * m
        assert abs(gap) <= tol * max(1.0, abs(eta)), f"row {row.key}: a gap of {gap} at m = {m}, price {price}"
        value += cost
    return q, value


def check_sampled(
    world: Tiny, found: Sequence[Row], prices: Sequence[float], allowed: list[np.ndarray], entries: Sequence[Entry]
) -> tuple[list[np.ndarray], float]:
    """The same where prices and expectations come from Markov chains: what is told of q is right within five of the
    standard errors that follow from how many draws it says it is worth, and so is m within ten (chains of the last
    steps and of the report are not the same)."""
    q = settled(world, tilted(world, found, prices, allowed))
    means, errors = [], []
    for row, price in zip(found, prices, strict=True):
        m, eta = row.m(world, q), -row.support * price
        spread = sum(
            world.weights[s] ** 2 * float(q[s] @ f**2 - (q[s] @ f) ** 2)
            for s, f in enumerate(row.f)
            if f is not None and world.undecided(s)
        )
        error = float(np.sqrt(spread / entries[0].effective)) / row.support
        low, high = wanted(row.cost, eta)
        assert low - 10 * error <= m <= high + 10 * error, f"row {row.key}: {m} is not in [{low}, {high}] ± {error}"
        means.append(m)
        errors.append(error)
    if found:
        told, error = entries[0].projected, max(errors)
        assert abs(told - np.mean(means)) <= 5 * error, f"{told} is told, but it is {np.mean(means)} ± {error}"
    return q, np.nan


def wanted(cost: tuple[str, tuple[float, ...]], eta: float) -> tuple[float, float]:
    """∇U*(η): the m that have this price."""
    kind, numbers = cost
    if kind == "l2":
        return (numbers[0] + numbers[1] * eta,) * 2
    if kind == "l1":
        edge = abs(eta) >= (1 - 1e-6) / numbers[1]
        low, high = numbers[0], numbers[0]
        return (-np.inf if edge and eta < 0 else low), (np.inf if edge and eta > 0 else high)
    low, high, slack = numbers
    return (high + slack * eta,) * 2 if eta > 0 else (low + slack * eta,) * 2 if eta < 0 else (low, high)


def danskin(world: Tiny, q: list[np.ndarray]) -> np.ndarray:
    """Σ ω·(E_p[F] − E_q[F]) + α·λ, with the truth for labelled sequences."""
    return world.expected(world.p) - world.expected(q) + ALPHA * world.lam


# Generative models


def counted(world: Tiny, counts: np.ndarray) -> np.ndarray:
    """The weights of shares of counts, with α more of each."""
    if world.model == "naive_bayes":
        table = counts.reshape(-1, 3) + ALPHA
        return np.vstack([np.log(table[:-1] / table[:-1].sum(axis=0)), np.log(table[-1] / table[-1].sum())]).ravel()
    if world.model == "bernoulli_naive_bayes":
        table = counts.reshape(-1, 3)
        size = table[-1]
        theta = (table[:-1] + ALPHA) / (size + 2 * ALPHA)
        prior = (size + ALPHA) / (size + ALPHA).sum()
        return np.vstack([np.log(theta / (1 - theta)), np.log(prior) + np.log(1 - theta).sum(axis=0)]).ravel()
    words, start, end, pairs = np.split(counts + ALPHA, [6, 8, 10])
    words = words.reshape(3, 2)
    leaving = np.column_stack([pairs.reshape(2, 2), end])
    leaving = np.log(leaving / leaving.sum(axis=1, keepdims=True))
    emitted = np.log(words / words.sum(axis=0))
    return np.concatenate([emitted.ravel(), np.log(start / start.sum()), leaving[:, 2], leaving[:, :2].ravel()])


def log_prior(world: Tiny, lam: np.ndarray) -> float:
    """Dirichlet: α·log of every parameter."""
    if world.model != "bernoulli_naive_bayes":
        return ALPHA * float(lam.sum())
    table = lam.reshape(-1, 3)
    theta = 1 / (1 + np.exp(-table[:-1]))
    prior = table[-1] - np.log(1 - theta).sum(axis=0)
    return ALPHA * float(np.log(theta).sum() + np.log(1 - theta).sum() + prior.sum())


def joint(world: Tiny, projected: float) -> float:
    """Σ_labelled −w·log p(x, y) − log prior + γ·[projected − Σ_unlabelled w·log p(x)]."""
    here = labelled(world) - log_prior(world, world.lam) + GAMMA * projected
    return here - sum(world.omega[s] * world.log_z[s] for s in range(world.n))
