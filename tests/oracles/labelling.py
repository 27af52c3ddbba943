"""Methods that learn from labels they make themselves, step by step, by sums over all labellings of a tiny world:
votes, a model of the votes, self-training and constraint-driven learning."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.optimize import minimize
from tests.oracles.objectives import agreeing, counted, log_prior, truths
from tests.oracles.sequences import PLACES, Said
from tests.oracles.statements import Statement
from tests.oracles.tiny import ALPHA, DOCUMENTS, GAMMA, SEQUENCES, Tiny, logsumexp
from tests.oracles.whole_projection import Counted

from tiltfit.language.event import Labels
from tiltfit.language.relations import About, AtMost, DistributedAs

# Fits


def fitted(world: Tiny, allowed: Sequence[np.ndarray], start: np.ndarray) -> np.ndarray:
    """argmin_λ Σ ω·(−log p(what is allowed|x)) + ½·α‖λ‖², labelled sequences among them."""
    features, first, owner = world.flat
    weight, inside = world.omega, np.where(np.concatenate(allowed), 0.0, -np.inf)

    def objective(lam: np.ndarray) -> tuple[float, np.ndarray]:
        score = features @ lam
        log_z, left = np.logaddexp.reduceat(score, first), np.logaddexp.reduceat(score + inside, first)
        p, q = np.exp(score - log_z[owner]), np.exp(score + inside - left[owner])
        gradient = (weight[owner] * (p - q)) @ features + ALPHA * lam
        return float(weight @ (log_z - left)) + 0.5 * ALPHA * float(lam @ lam), gradient

    return minimize(objective, start, jac=True, method="BFGS", options={"gtol": 1e-7}).x


def projected(world: Tiny, q: Sequence[np.ndarray], start: np.ndarray) -> np.ndarray:
    """argmin_λ Σ ω·(−Σ_y q(y)·log p(y|x)) + ½·α‖λ‖² over the sequences that have a q (not all zero)."""
    features, first, owner = world.flat
    weight, target = world.omega * [float(share.sum() > 0) for share in q], world.expected(q)

    def objective(lam: np.ndarray) -> tuple[float, np.ndarray]:
        score = features @ lam
        log_z = np.logaddexp.reduceat(score, first)
        gradient = (weight[owner] * np.exp(score - log_z[owner])) @ features - target + ALPHA * lam
        return float(weight @ log_z) - float(lam @ target) + 0.5 * ALPHA * float(lam @ lam), gradient

    return minimize(objective, start, jac=True, method="BFGS", options={"gtol": 1e-7}).x


def estimated(world: Tiny, q: Sequence[np.ndarray], start: np.ndarray) -> np.ndarray:
    """The same, of a generative model in closed form."""
    return counted(world, world.expected(q)) if world.is_generative else projected(world, q, start)


# Votes


def voted(statement: Statement) -> tuple[float, list[list[int]]] | None:
    """The share that the constraint promises label a, and the places where it votes for it, if it does."""
    constraint = statement.constraint
    if not isinstance(constraint.event, Labels) or constraint.given is None or constraint.of is not None:
        return None
    if isinstance(constraint.relation, AtMost):
        return None
    numbers = constraint.relation.numbers
    share = max(numbers) if isinstance(constraint.relation, DistributedAs) else sum(numbers) / len(numbers)
    if share <= 0.5:
        return None
    said, world = statement.said, statement.world
    return share, [[t for t in range(len(x)) if said.fires(x, t)] for x in world.tokens]


def elected(world: Tiny, places: list[list[int]]) -> list[np.ndarray]:
    """Labellings that agree with y and with the votes for label a where y leaves it."""
    found = []
    for s, agree in enumerate(agreeing(world)):
        keep = agree.copy()
        for t in places[s]:
            possible = world.left.get((s, t), {"a"})
            if world.is_open(s, t) and "a" in possible:
                keep &= np.array([y[t] == "a" for y in world.labellings(s)])
        found.append(keep)
    return found


def label_model(world: Tiny, share: float, places: list[list[int]], strength: float = 10.0):
    """log P(fires|y) of firing and of silence, and π: EM for one source that votes for label a.

    P(y, fires) = π_y·r(y)^fires·(1 − r(y))^(1 − fires), r(a) = right, else wrong.
    """
    u, n = min(share, 0.99), len(world.classes)
    weight, fires, left = [], [], []
    for s, x in enumerate(world.tokens):
        for t in range(len(x)):
            known = world.known[s][t]
            names = {known} if known is not None else world.left.get((s, t), set(world.classes))
            weight.append(world.weights[s])
            fires.append(t in places[s])
            left.append([name in names for name in world.classes])
    w, f, left_ = np.array(weight), np.array(fires, dtype=float), np.array(left)
    balance = np.ones(n)
    balance[0] += w @ f
    balance /= balance.sum()
    coverage = float(w @ f / w.sum())
    first = np.clip([u * coverage / balance[0], (1 - u) * coverage / (1 - balance[0])], 1e-6, 0.99)
    pseudo = strength * np.array([u, 1 - u])
    rate = first.copy()
    for _ in range(1000):
        r = np.array([rate[0]] + [rate[1]] * (n - 1))
        mass = np.where(left_, balance * np.where(f[:, None] > 0, r, 1 - r), 0.0)
        mass *= (w / mass.sum(axis=1))[:, None]
        rows = mass.sum(axis=0)
        fired = f @ mass
        hits, sizes = np.array([fired[0], fired[1:].sum()]), np.array([rows[0], rows[1:].sum()])
        rate = (hits + pseudo) / (sizes + pseudo / first)
        balance = (rows + 1) / (rows + 1).sum()
    r = np.array([rate[0]] + [rate[1]] * (n - 1))
    return np.log(r), np.log(1 - r), balance


# Self-training


def self_trained(world: Tiny, threshold: float = 0.9, rounds: int = 20) -> np.ndarray:
    """Fit, take the surest labels for true, refit, until they are the same."""
    agree = agreeing(world)
    lam = fitted(world, agree, np.zeros(world.n_weights))
    before = None
    for _ in range(rounds):
        here, allowed = world.at(lam), []
        for s in range(world.n):
            score = np.where(agree[s], here.log_p[s], -np.inf)
            share = np.exp(score - logsumexp(score))
            best = int(np.argmax(share))
            sure = world.undecided(s) and share[best] >= threshold ** len(world.tokens[s])
            allowed.append(np.arange(len(share)) == best if sure else agree[s])
        now = [a.tolist() for a in allowed]
        if now == before or (before is None and all(map(np.array_equal, allowed, agree))):
            return lam
        before = now
        lam = fitted(world, allowed, lam)
    raise AssertionError("the labels still change")


# Constraint-driven learning


def usual(relation: object) -> bool:
    """Whether the event usually happens; that it usually does not, otherwise (other statements are refused)."""
    low, _ = bounds(relation)
    return low >= 1


def bounds(relation: object, times: float = 1.0) -> tuple[float, float]:
    if isinstance(relation, DistributedAs):
        relation = About(max(relation.numbers))
    low, high = (relation.target,) * 2 if isinstance(relation, About) else relation.interval
    low, high = times * low, times * high
    return math.ceil(low - 0.5) if low > -math.inf else low, math.floor(high + 0.5) if high < math.inf else high


def _is_counted(statement: Statement) -> bool:
    constraint = statement.constraint
    if constraint.of is not None:
        return False
    each = constraint.per in ("instance", "sequence") and statement.world.model in SEQUENCES
    return constraint.event.counts or each


def _places(said: Said, x: Sequence[str]) -> list[int]:
    return [t for t in range(len(x)) if PLACES[said.place](t, len(x)) and said.fires(x, t)]


def violations(statement: Statement, s: int, y: Sequence[str]) -> float:
    """d of labels y in sequence s. Of a sequence with unknown labels, places where all is known do not count."""
    world, said, relation = statement.world, statement.said, statement.constraint.relation
    if isinstance(said, Counted):
        return _distance(said.number(y), bounds(relation))
    happens = said.happens or (lambda y, t: y[t] == "a")  # the leading class of a distribution
    open_ = [
        t for t in _places(said if said.of is None else said.of, world.tokens[s])
        if not world.undecided(s) or said.is_open(world, s, t)
    ]  # fmt: skip
    if said.constraint.event.counts and said.of is None:
        return _distance(sum(happens(y, t) for t in _places(said, world.tokens[s])), bounds(relation))
    if _is_counted(statement):
        return _distance(sum(happens(y, t) for t in open_), bounds(relation, len(open_)))
    if said.of is None:
        return sum(happens(y, t) != usual(relation) for t in open_)
    both = [t for t in open_ if said.fires(world.tokens[s], t) and happens(y, t) and said.of.happens(y, t)]
    return sum(said.of.happens(y, t) for t in open_) - len(both) if usual(relation) else len(both)


def _distance(n: float, ends: tuple[float, float]) -> float:
    return max(0.0, ends[0] - n, n - ends[1])


def tally(statement: Statement) -> tuple[float, float, float]:
    """Kept, violated, and the share that the constraint states to be kept."""
    world, constraint = statement.world, statement.constraint
    relation, said = constraint.relation, statement.said
    full = [s for s in range(world.n) if not world.undecided(s)]
    numbers = relation.numbers
    if _is_counted(statement):
        speaks = [s for s in full if constraint.event.counts or _places(said, world.tokens[s])]
        bad = sum(world.weights[s] for s in speaks if violations(statement, s, world.known[s]) > 0)
        all_ = sum(world.weights[s] for s in speaks)
        stated = 1 - abs(numbers[0] - round(numbers[0])) if constraint.event.counts else 0.5
        return all_ - bad, bad, 0.5 if stated == 1 else stated
    target = max(numbers) if isinstance(relation, DistributedAs) else numbers[0 if usual(relation) else -1]
    bad = sum(world.weights[s] * violations(statement, s, world.known[s]) for s in full)
    if said.of is None:
        all_ = sum(world.weights[s] * len(_places(said, world.tokens[s])) for s in full)
    else:
        all_ = sum(
            world.weights[s] * sum(said.of.happens(world.known[s], t) for t in _places(said.of, world.tokens[s]))
            for s in full
        )
    return all_ - bad, bad, min(target if usual(relation) else 1 - target, 0.99)


def averaged(world: Tiny, tau: float, first: np.ndarray, q: Sequence[np.ndarray], lam: np.ndarray) -> np.ndarray:
    """τ·λ₀ + (1 − τ)·λ; of a generative model the same of counts, labelled ones as if they weighed what others do."""
    if not world.is_generative:
        return tau * first + (1 - tau) * estimated(world, q, lam)
    size = [sum(world.omega[s] for s in range(world.n) if world.undecided(s) == free) for free in (True, False)]
    counts = tau * world.expected(truths(world)) * size[0] / size[1] + (1 - tau) * world.expected(q)
    return counted(world, counts)


def constraint_driven(statement: Statement, top_k: int, tau: float = 0.3, rounds: int = 30) -> tuple[np.ndarray, float]:
    """λ and the penalised −log-likelihood of the last labellings."""
    world = statement.world
    zeros = np.zeros(world.n_weights)
    first = lam = estimated(world, truths(world), zeros)
    allowed = statement.allowed(world)
    if statement.is_rule:
        cost = [np.zeros(len(a)) for a in allowed]
    else:
        kept, violated_, s_ = tally(statement)
        rho = max(0.0, math.log((kept + 2 * s_) / (violated_ + 2 * (1 - s_))))
        cost = [np.array([rho * violations(statement, s, y) for y in world.labellings(s)]) for s in range(world.n)]
    before, q = None, []
    for _ in range(rounds):
        here = world.at(lam)
        q = []
        for s in range(world.n):
            score = np.where(allowed[s], here.scores[s] - cost[s], -np.inf)
            chosen = np.argsort(-score, kind="stable")[: min(top_k, int(allowed[s].sum()))]
            share = np.zeros(len(score))
            share[chosen] = float(world.undecided(s)) / len(chosen)
            q.append(share)
        if before is not None and all(map(np.array_equal, q, before)):
            break
        before = q
        lam = averaged(world, tau, first, q, lam)
    here = world.at(lam)
    if world.is_generative:
        return lam, -float(lam @ world.expected(before)) - log_prior(world, lam)
    loss = -sum(GAMMA * world.weights[s] * float(share @ here.log_p[s]) for s, share in enumerate(before))
    return lam, loss + 0.5 * ALPHA * float(lam @ lam)


def top_k_of(world: Tiny) -> int:
    return 1 if world.model in DOCUMENTS else 3
