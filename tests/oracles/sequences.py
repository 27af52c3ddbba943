"""Constraints on sequences by brute force: every labelling of every sequence of a tiny data set, one by one.

A ``Said`` says once more, in plain Python, what a constraint of the library says: where it is looked at, when it
happens, of which rows it consists. From that follow supports, expectations under any distribution over labellings, and
primal and dual value of an information projection (its minimisation itself is in ``sequence_primal``).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy.special import entr, logsumexp
from tests.oracles.tilts import information_projection

from tiltfit.data.sequences import as_sequences
from tiltfit.inference.chain import Chains
from tiltfit.inference.potentials import Potentials
from tiltfit.language.constraint import Constraint, ConstraintSet
from tiltfit.language.relations import About, DistributedAs
from tiltfit.projections.components import Strength
from tiltfit.projections.grounding import Grounded, Grounding, ground
from tiltfit.projections.information import Projection
from tiltfit.samples.sample import Sample

BETA = 0.05


@dataclass(frozen=True, eq=False)
class World:
    """Token lists, classes, known labels (None: unknown), weights, further columns, and a model with random potentials:
    ``node[s][t, y]``, and ``edge[kind, y, y′]`` with the kind of every edge."""

    tokens: list[list[str]]
    classes: list[str]
    labels: list[list[str | None]] | None = None
    weight: Sequence[float] | None = None
    columns: dict[str, list[object]] = field(default_factory=dict)
    seed: int = 0
    spread: float = 1.0
    n_kinds: int = 2

    @property
    def n(self) -> int:
        return len(self.tokens)

    @cached_property
    def weights(self) -> np.ndarray:
        return np.ones(self.n) if self.weight is None else np.asarray(self.weight, dtype=float)

    @cached_property
    def known(self) -> list[list[str | None]]:
        return self.labels if self.labels is not None else [[None] * len(x) for x in self.tokens]

    def is_open(self, s: int, t: int) -> bool:
        return self.known[s][t] is None

    def undecided(self, s: int) -> bool:
        """Whether something about the sequence is unknown."""
        return None in self.known[s]

    @cached_property
    def structure(self) -> Chains:
        rng = np.random.default_rng(self.seed)
        offsets = np.cumsum([0, *map(len, self.tokens)])
        return Chains(offsets, rng.integers(self.n_kinds, size=offsets[-1]).astype(np.int32), self.n_kinds)

    @cached_property
    def potentials(self) -> Potentials:
        rng, n_labels = np.random.default_rng(self.seed + 1), len(self.classes)
        node = self.spread * rng.normal(size=(self.structure.offsets[-1], n_labels))
        return Potentials(node, self.spread * rng.normal(size=(self.n_kinds, n_labels, n_labels)))

    def labellings(self, s: int) -> list[tuple[str, ...]]:
        """Every sequence of labels, whether it agrees with the known ones or not."""
        return list(itertools.product(self.classes, repeat=len(self.tokens[s])))

    @cached_property
    def p(self) -> list[np.ndarray]:
        """The model's probability of every labelling."""
        return [np.exp(found) for found in self.log_p]

    @cached_property
    def log_p(self) -> list[np.ndarray]:
        """Its logarithm, from the definition."""
        found = []
        number = {c: k for k, c in enumerate(self.classes)}
        for s, start in enumerate(self.structure.offsets[:-1]):
            scores = []
            for y in self.labellings(s):
                codes = [number[label] for label in y]
                score = sum(self.potentials.node[start + t, k] for t, k in enumerate(codes))
                for t in range(1, len(codes)):
                    score += self.potentials.edge[self.structure.kind[start + t], codes[t - 1], codes[t]]
                scores.append(score)
            found.append(np.array(scores) - logsumexp(scores))
        return found

    def agrees(self, s: int) -> np.ndarray:
        """Which labellings agree with the known labels."""
        known = self.known[s]
        return np.array(
            [all(k is None or k == label for k, label in zip(known, y, strict=True)) for y in self.labellings(s)]
        )

    def ground(self, constraints: Sequence[Constraint], scale: str = "unit", **options: object) -> Grounded:
        """What the library makes of the constraints. ``options``: of ``ground``."""
        number = {c: k for k, c in enumerate(self.classes)}
        codes = np.array([number.get(label, -1) for row in self.known for label in row], dtype=np.intp)
        inputs = as_sequences({"tokens": self.tokens, **self.columns})
        found = ConstraintSet(tuple(constraints)).with_classes(self.classes)
        strength = Strength(BETA, scale)
        sample = Sample(inputs, self.classes, self.structure, codes, self.weights)
        return ground(found, sample, strength, Grounding(**options))  # type: ignore[arg-type]

    def project(self, grounded: Grounded, **options: float) -> Projection:
        """The library's information projection of this world's model."""
        assert grounded.tilt is not None
        return information_projection(grounded.tilt, self.base(grounded), **{"tol": 1e-9, **options})

    def base(self, grounded: Grounded) -> Potentials:
        """Where projections of this world's model start."""
        assert grounded.tilt is not None
        p = self.structure.infer(self.potentials)
        positions = self.structure.positions(grounded.touched)
        here = Potentials(self.potentials.node[positions], self.potentials.edge)
        return grounded.tilt.base(here, p.log_z[grounded.touched])

    def model_expectation(self, grounded: Grounded) -> np.ndarray:
        """The library's m of every row under the model."""
        assert grounded.tilt is not None
        return self._model(grounded)[1]

    def told(self, grounded: Grounded) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """What the library would tell of the model."""
        marginals, expectation = self._model(grounded)
        return grounded.told(expectation, marginals)

    def _model(self, grounded: Grounded):
        positions = self.structure.positions(grounded.touched)
        return grounded.tilt.of_model(Potentials(self.potentials.node[positions], self.potentials.edge))


Happens = Callable[[Sequence[str], int], bool]
Fires = Callable[[Sequence[str], int], bool]

PLACES = {
    "token": lambda t, n: True,
    "edge": lambda t, n: t > 0,
    "first": lambda t, n: t == 0,
    "last": lambda t, n: t == n - 1,
    "border": lambda t, n: t in (0, n - 1),
    "segment": lambda t, n: True,
}


@dataclass(frozen=True, eq=False)
class Said:
    """A constraint, and what it means: ``happens(y, t)`` at positions t of a sequence that are a ``place`` of its kind
    and where ``fires(x, t)``. An event of kind edge or segment (after the first token) speaks of the edge into t.

    ``group``: the group of each sequence; None: all in one.
    """

    constraint: Constraint
    place: str = "token"
    happens: Happens | None = None
    fires: Fires = field(default=lambda x, t: True)
    of: Said | None = None
    group: Sequence[object] | None = None
    is_other: bool = False  # the event that a share is of

    def __post_init__(self) -> None:
        if self.of is not None:
            object.__setattr__(self.of, "is_other", True)

    def looked_at(self, world: World, s: int) -> list[int]:
        """The positions of sequence s that the constraint speaks of."""
        x = world.tokens[s]
        places = [t for t in range(len(x)) if PLACES[self.place](t, len(x)) and self.fires(x, t)]
        if self.of is not None:
            return [t for t in places if t in self.of.looked_at(world, s)]
        if self.constraint.on == "all":
            return places
        if self.constraint.event.counts and not self.is_other:  # a number is that in the whole sequence
            return places if any(world.is_open(s, t) for t in range(len(world.tokens[s]))) else []
        return [t for t in places if self.is_open(world, s, t)]

    def is_open(self, world: World, s: int, t: int) -> bool:
        on_edge = self.place == "edge" or (self.place == "segment" and t > 0)
        return world.is_open(s, t) or (on_edge and world.is_open(s, t - 1))

    def count(self, world: World, s: int, y: Sequence[str]) -> int:
        assert self.happens is not None
        return sum(self.happens(y, t) for t in self.looked_at(world, s))


@dataclass(frozen=True, eq=False)
class Row:
    """One expectation: m = (Σ_s w_s E[f_s] + offset) / support. ``f[s]``: of every labelling; None where it says
    nothing. ``cost``: U as (kind, numbers)."""

    key: tuple[int, int, object]
    f: list[np.ndarray | None]
    other: list[np.ndarray | None]
    support: float
    cost: tuple[str, tuple[float, ...]]
    relation_share: float = 0.0

    def m(self, world: World, q: list[np.ndarray]) -> float:
        return self.total(world, q, self.f) / self.support

    @staticmethod
    def total(world: World, q: list[np.ndarray], values: list[np.ndarray | None]) -> float:
        return sum(world.weights[s] * float(q[s] @ f) for s, f in enumerate(values) if f is not None)


def settled(world: World, q: list[np.ndarray]) -> list[np.ndarray]:
    """q, with the truth in place of sequences all of whose labels are known."""
    return [
        q[s] if world.undecided(s) else world.agrees(s).astype(float)  # exactly one labelling agrees
        for s in range(world.n)
    ]


def rows(world: World, number: int, said: Said, scale: str = "unit") -> list[Row]:
    """The rows of a constraint, by the words of the design."""
    constraint = said.constraint
    local = constraint.per in ("instance", "sequence")
    if isinstance(constraint.relation, DistributedAs):
        shares = dict(constraint.relation.shares)
        found = []
        for k, name in enumerate(world.classes):
            one = Said(constraint, said.place, lambda y, t, name=name: y[t] == name, said.fires, None, said.group)
            found += _rows(world, number, k, one, ("kl", (shares.get(name, 0.0),)), local, scale, None)
        return found
    relation = constraint.relation
    if said.of is None:
        return _rows(world, number, -1, said, _cost(constraint), local, scale, None)
    found = []
    for k, u in enumerate(sorted(set(relation.numbers))):
        if isinstance(relation, About):
            cost = (relation.penalty or "l2", (0.0,))
        else:
            low, high = relation.interval
            cost = ("box", (0.0 if u == low else -np.inf, 0.0 if u == high else np.inf))
        found += _rows(world, number, -1 - k, said, cost, local, scale, u)
    return found


def _cost(constraint: Constraint) -> tuple[str, tuple[float, ...]]:
    relation = constraint.relation
    if isinstance(relation, About):
        return relation.penalty or "l2", (relation.target,)
    return "box", relation.interval


def _rows(world, number, component, said, cost, local, scale, u):
    groups = said.group if said.group is not None else [None] * world.n
    if local:
        groups = list(range(world.n))
    spoken = said.of if said.of is not None else said
    if not any(said.looked_at(world, s) for s in range(world.n)):  # a condition that never fires rests
        return []
    found = []
    for name in sorted(set(groups), key=lambda g: (g is not None, g)):
        members = [s for s in range(world.n) if groups[s] == name and (world.undecided(s) or not local)]
        places = {s: spoken.looked_at(world, s) for s in members}
        heavy = [s for s in members if world.weights[s] > 0]
        if not any(spoken.is_open(world, s, t) for s in heavy for t in places[s]):
            continue
        if not any(said.looked_at(world, s) for s in heavy):  # a share that cannot happen here rests here
            continue
        if said.constraint.event.counts and said.of is None:
            counted = [s for s in members if world.undecided(s) or said.constraint.on == "all"]
            support = sum(world.weights[s] for s in counted)
        else:
            support = sum(world.weights[s] * len(places[s]) for s in members)
        f: list[np.ndarray | None] = [None] * world.n
        other: list[np.ndarray | None] = [None] * world.n
        for s in members:
            ys = world.labellings(s)
            f[s] = np.array([said.count(world, s, y) for y in ys], dtype=float)
            if said.of is not None:
                other[s] = np.array([said.of.count(world, s, y) for y in ys], dtype=float)
                f[s] = f[s] - u * other[s]
        softness = said.constraint.beta if said.constraint.beta is not None else BETA
        if cost[0] == "box":
            softness = said.constraint.slack or 0.0
        # The penalty is of the share itself: m/rate, of support rate·c.
        rate = 1.0 if said.of is None else happens_at_rate(world, said.of)
        softness = softness / (rate * support) if scale == "support" else softness
        softness *= rate if cost[0] == "l1" else rate**2
        found.append(Row((number, component, name), f, other, support, (cost[0], (*cost[1], softness)), u or 0.0))
    return found


def happens_at_rate(world: World, said: Said) -> float:
    """How often it happens at places with known labels, with ten more places of which one has it."""
    known, happened = 10.0, 1.0
    for s, x in enumerate(world.tokens):
        y = [label or world.classes[0] for label in world.known[s]]  # an unknown label is at no place that counts
        for t in range(len(x)):
            if PLACES[said.place](t, len(x)) and said.fires(x, t) and not said.is_open(world, s, t):
                known += world.weights[s]
                happened += world.weights[s] * said.happens(y, t)
    return happened / known


def all_rows(world: World, statements: Sequence[Said], scale: str = "unit") -> list[Row]:
    """Of all statements, in the library's order: those that speak of single sequences come last."""
    listed = [(said, rows(world, number, said, scale)) for number, said in enumerate(statements)]
    listed.sort(key=lambda pair: pair[0].constraint.per in ("instance", "sequence") and pair[0].of is None)
    return [row for _, found in listed for row in found]


def penalty(cost: tuple[str, tuple[float, ...]], m: float) -> float:
    """U(m); inf where a hard relation does not hold (within 1e-6)."""
    kind, numbers = cost
    if kind == "l2":
        return (m - numbers[0]) ** 2 / (2 * numbers[1])
    if kind == "l1":
        return abs(m - numbers[0]) / numbers[1]
    if kind == "kl":
        u, beta = numbers
        return ((u * np.log(u / m) if u > 0 else 0.0) - u + m) / beta
    low, high, slack = numbers
    d = max(low - m, m - high, 0.0)
    return d**2 / (2 * slack) if slack else (0.0 if d <= 1e-6 else np.inf)


def tilted(world: World, found: Sequence[Row], prices: Sequence[float], allowed: list[np.ndarray]) -> list[np.ndarray]:
    """q ∝ p·exp(prices·f) over the allowed labellings: the price is added once for every time the event happens."""
    q = []
    for s in range(world.n):
        score = world.log_p[s].copy()
        for row, price in zip(found, prices, strict=True):
            if row.f[s] is not None:
                score += price * row.f[s]
        score[~allowed[s]] = -np.inf
        q.append(np.exp(score - logsumexp(score)))
    return q


def value(world: World, found: Sequence[Row], q: list[np.ndarray]) -> float:
    """Σ w D(q‖p) over undecided sequences + Σ U(m(q))."""
    q = settled(world, q)
    divergence = sum(
        world.weights[s] * float(-entr(q[s]).sum() - q[s] @ world.log_p[s])
        for s in range(world.n)
        if world.undecided(s)
    )
    return divergence + sum(penalty(row.cost, row.m(world, q)) for row in found)


def conjugate(cost: tuple[str, tuple[float, ...]], eta: float) -> float:
    """U*(η) = sup_m η·m − U(m), from the table of the design."""
    kind, numbers = cost
    if kind == "l2":
        return eta * numbers[0] + numbers[1] * eta**2 / 2
    if kind == "l1":
        return eta * numbers[0] if abs(eta) <= (1 + 1e-9) / numbers[1] else np.inf
    if kind == "kl":
        u, beta = numbers
        return (-u * np.log(1 - beta * eta) if u > 0 else 0.0) / beta if beta * eta <= 1 + 1e-9 else np.inf
    low, high, slack = numbers
    edge = high * eta if eta > 0 else low * eta if eta < 0 else 0.0
    return edge + slack * eta**2 / 2


def dual_value(world: World, found: Sequence[Row], prices: Sequence[float], allowed: list[np.ndarray]) -> float:
    """−Σ w log Σ_y p(y) exp(prices·f) − prices·offset − U*(−c∘prices): for any prices at most the least value there is
    (weak duality), so that prices and a q of equal value prove each other optimal."""
    total = 0.0
    for s in range(world.n):
        score = np.zeros(len(world.p[s]))
        for row, price in zip(found, prices, strict=True):
            score += 0.0 if row.f[s] is None else price * row.f[s]
        if world.undecided(s):
            total -= world.weights[s] * float(logsumexp((world.log_p[s] + score)[allowed[s]]))
        else:
            total -= world.weights[s] * float(score @ world.agrees(s))
    return total - sum(conjugate(row.cost, -row.support * price) for row, price in zip(found, prices, strict=True))


def allowed_by(world: World, banned: Callable[[int, Sequence[str]], bool] | None = None) -> list[np.ndarray]:
    """Labellings that agree with what is known and that no rule (``banned(s, y)``) forbids."""
    agree = [world.agrees(s) for s in range(world.n)]
    if banned is None:
        return agree
    return [a & ~np.array([banned(s, y) for y in world.labellings(s)]) for s, a in enumerate(agree)]


def node_marginals(world: World, q: list[np.ndarray]) -> list[np.ndarray]:
    """q(y_t) of every position, a table a sequence."""
    found = []
    for s in range(world.n):
        table = np.zeros((len(world.tokens[s]), len(world.classes)))
        for y, share in zip(world.labellings(s), q[s], strict=True):
            for t, label in enumerate(y):
                table[t, world.classes.index(label)] += share
        found.append(table)
    return found


# What events are, said once more: plain labels, and tags of BIO or IOBES.


def same_label(y: Sequence[str], t: int) -> bool:
    return y[t] == y[t - 1]


def chunks(y: Sequence[str]) -> list[tuple[int, int, str]]:
    """The segments of a tagged sequence, (first, last, field), O and plain labels included: read from left to right, a
    token joins the open segment if it is of the same field, does not begin anew, and nothing has closed it."""
    found: list[tuple[int, int, str]] = []
    closed = True
    for t, tag in enumerate(y):
        mark, _, name = tag.partition("-")
        field_ = name or tag
        begins = bool(name) and mark in ("B", "S")
        if found and not closed and not begins and found[-1][2] == field_:
            found[-1] = (found[-1][0], t, field_)
        else:
            found.append((t, t, field_))
        closed = bool(name) and mark in ("E", "S")
    return found


def begins(y: Sequence[str], t: int, name: str) -> bool:
    """Whether a segment of the field starts at t."""
    return any(first == t and field_ == name for first, _, field_ in chunks(y))


def changes(y: Sequence[str], t: int) -> bool:
    """Whether t and t − 1 are of different segments."""
    return any(first == t for first, _, _ in chunks(y))
