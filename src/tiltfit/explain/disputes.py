"""The places where the data fight a constraint: there the model is furthest from what the constraint pulls to.

    fight(i) = max f′ − E_p[f′(x_i, y)]   where its price is above 0: it pulls its event up
    fight(i) = E_p[f′(x_i, y)] − min f′   where it is below 0: it pushes its event down

over the places i where its condition fires. For a share, f′ is 1 if the event happens: these are 1 − p(event) and
p(event). For a count the places are sequences, and it is how far the expected number is below (above) the target. A
price of 0 moves nothing: then it is the distance of p(event) from the targets. A share of another event (``of=``) has
f′ = event − u·other, whose target is 0. The prices of a distribution's classes only count against each other: there it
is the price less the mean price of the classes under p. A rule pulls to what it leaves.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from itertools import groupby
from typing import Any

import numpy as np

from tiltfit.arrays import FloatArray, IntArray
from tiltfit.errors import DataError
from tiltfit.estimators.estimator import TiltEstimator
from tiltfit.estimators.options import whole_parameter
from tiltfit.estimators.projecting import Projected
from tiltfit.explain.statements import Statement, state, unknown_only
from tiltfit.explain.view import View, check_explainable
from tiltfit.inference.chain import Chains
from tiltfit.inference.potentials import Potentials
from tiltfit.inference.priced import PricedChains
from tiltfit.language.event import Term
from tiltfit.projections.components import Component
from tiltfit.projections.grounding import Grounded
from tiltfit.report.constraints import signed
from tiltfit.report.entries import Entries

_LEAST = 1e-6  # less than that is not a fight
_ROOM = 1 << 22  # numbers in the edge marginals of the sequences at hand


@dataclass(frozen=True)
class Fight:
    """One place. ``index``: the number in X of the document, row or sequence; ``position``: of the token in it (None:
    all of it). ``model``, ``projected``: p(event) and q(event) there, or the expected number. ``amount``: how far the
    model is from what the constraint pulls to; ``price``: the price there (None: a rule)."""

    index: int
    position: int | None
    text: str
    model: float
    projected: float
    amount: float
    price: float | None


@dataclass(frozen=True)
class Dispute:
    """One constraint, or one class of a distribution, with the places that fight it most, worst first.

    ``direction``: 1 if it pulls its event up, −1 if down, 0 if it moves nothing. ``price``: the largest of its prices;
    ``pull``: as in the constraint report, but on X; None if it is a rule, or inactive. ``counts``: its numbers are
    expected numbers, not shares."""

    title: str
    price: float | None
    direction: int
    counts: bool = False
    fights: tuple[Fight, ...] = ()
    pull: float | None = None

    @property
    def verdict(self) -> str:
        """In words."""
        if not self.fights:
            return "nothing fights it"
        how = {
            1: "pulls up what these hold down",
            -1: "pushes down what these hold up",
            0: "moves nothing, but these differ",
        }
        effort = "a rule" if self.price is None else f"price {signed(self.price)}"
        if self.pull is not None:
            effort = f"pull {signed(self.pull)}, {effort}"
        return f"{effort}: {how[self.direction]}"

    def __str__(self) -> str:
        lines = [self.title, f"    {self.verdict}"]
        for fight in self.fights:
            told = [f"{v:.2f}" if self.counts else f"{v:.0%}" for v in (fight.model, fight.projected)]
            where = f"{fight.index}" if fight.position is None else f"{fight.index}.{fight.position}"
            lines.append(f"    model {told[0]}, projected {told[1]}  {where}: {fight.text}")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return asdict(self) | {"verdict": self.verdict}


@dataclass(frozen=True)
class Disputes(Entries[Dispute]):
    """One entry for each of the constraint report's, in its order. ``print`` it, or use ``to_dicts()``."""


def disputes(estimator: TiltEstimator, X: Any, y: Any = None, *, top: int = 5) -> Disputes:
    """Find the ``top`` places in X that fight each constraint most (formula: above); prices are those of X.

    X is most often what the estimator was fitted on. ``y``: labels that are known, as for ``fit``; places that they
    decide are left out.
    """
    check_explainable(estimator)
    whole_parameter("top", top)
    constraints = estimator.constraints_
    if not len(constraints):
        raise DataError("There is no constraint that anything could fight.")
    view = View.of(estimator, X, y)
    grounded = view.ground()
    found = view.project(grounded)
    prices = {} if found is None else dict(zip(grounded.keys, found.prices.tolist(), strict=True))
    measured = Expectations(view, grounded, found)
    entries = []
    said = [
        s
        for _, of_one in groupby(state(constraints, view.sample, prices), lambda s: s.number)
        for s in _centred(of_one, view)
    ]
    for _, listed in groupby(said, key=lambda s: (s.number, s.label)):
        # A share of another event between two bounds has a row for each: the one that acts is shown.
        statement = max(listed, key=lambda s: float(np.max(np.abs(s.price), initial=0.0)))
        inactive = statement.number in grounded.inactive
        if inactive:
            entries.append(Dispute(statement.title, None, 0, statement.counts))
        else:
            entries.append(replace(_dispute(statement, measured, top), pull=_pull(statement, measured)))
    return Disputes(tuple(entries))


def _pull(statement: Statement, measured: Expectations) -> float | None:
    """γ·Σ support·price over the rows of a statement; None for a rule."""
    grounded, found = measured.grounded, measured.projected
    if statement.forbidden is not None or found is None:
        return None
    component = grounded.component == statement.feature.target.number
    rows = (grounded.owner == statement.number) & (component if statement.label is not None else grounded.component < 0)
    support = grounded.told(np.zeros(len(rows)), found.marginals)[1]
    gamma = measured.view.estimator.gamma * grounded.instance_weight
    return float(gamma * (support[rows] @ found.prices[rows]))


def _dispute(statement: Statement, measured: Expectations, top: int) -> Dispute:
    view, is_rule = measured.view, statement.forbidden is not None
    places, p, q, amount, direction = (_counted if statement.counts else _shared)(statement, measured)
    price = np.zeros(len(view.sample.number)) if is_rule else statement.price
    instance = places if statement.counts else view.sample.instance[places]
    worst = np.argsort(-amount, kind="stable")[:top]
    fights = []
    for k in worst[amount[worst] > _LEAST]:
        where = (int(view.sample.number[places[k]]), None) if statement.counts else view.place(int(places[k]))
        text = view.text_of(int(places[k])) if statement.counts else view.text(int(places[k]), statement.words)
        told = None if is_rule else float(price[instance[k]])
        fights.append(Fight(*where, text, float(p[k]), float(q[k]), float(amount[k]), told))
    strongest = int(np.argmax(np.abs(price[instance]))) if len(places) else 0
    return Dispute(
        title=statement.title,
        price=None if is_rule or not len(places) else float(price[instance[strongest]]),
        direction=int(direction[strongest]) if len(places) else 0,
        counts=statement.counts,
        fights=tuple(fights),
    )


_Measured = tuple[IntArray, FloatArray, FloatArray, FloatArray, FloatArray]


def _shared(statement: Statement, measured: Expectations) -> _Measured:
    """Positions where the condition fires: p(event) and q(event), the fight, and the direction at each."""
    sample = measured.view.sample
    feature = unknown_only(statement.feature, sample)
    at = np.zeros(sample.inputs.n, dtype=np.bool_)
    for term in feature.terms:
        at |= term.at
    places = np.flatnonzero(at & (sample.position_weight > 0))
    p, q = (v[places] for v in measured.of_terms(feature.terms))
    value = p
    if feature.event is not None:
        event = unknown_only(replace(feature, terms=feature.event), sample)
        p, q = (v[places] for v in measured.of_terms(event.terms))
    least, most = (v[places] for v in reach(feature, sample.inputs.n))
    direction = _direction(statement, sample.instance[places])
    still = _distance(statement, p) if feature.event is None else _share_distance(statement, value)
    amount = np.where(direction > 0, most - value, np.where(direction < 0, value - least, still))
    return places, p, q, amount, direction


def _counted(statement: Statement, measured: Expectations) -> _Measured:
    """Instances with an unknown label: the expected numbers, the fight, and the direction in each."""
    sample = measured.view.sample
    places = np.flatnonzero(sample.unlabelled & (sample.weight > 0))
    p, q = (v[places] for v in measured.of_count(statement))
    numbers = statement.constraint.relation.numbers
    direction = _direction(statement, places)
    amount = np.where(
        direction > 0, min(numbers) - p, np.where(direction < 0, p - max(numbers), _distance(statement, p))
    )
    return places, p, q, amount, direction


def _centred(listed: Iterable[Statement], view: View) -> list[Statement]:
    """The statements of one constraint; the prices of a distribution less their mean under p, which moves nothing."""
    said = list(listed)
    if said[0].label is None:
        return said
    at = np.flatnonzero(said[0].feature.terms[0].at)
    share = view.marginals.node[at].mean(axis=0) if len(at) else np.zeros(len(said))
    mean = share @ np.stack([s.price for s in said])
    return [replace(s, price=np.where(s.price == 0, 0.0, s.price - mean)) for s in said]


def _direction(statement: Statement, instance: IntArray) -> FloatArray:
    """The direction in which it pulls at each place."""
    relation = statement.constraint.relation
    if statement.forbidden is not None:
        statistic = statement.feature.statistic
        least = 0.0 if statistic is None else statistic.least
        return np.full(len(instance), -1.0 if relation.interval[1] <= least else 1.0)
    return np.asarray(np.sign(statement.price[instance]))


def _distance(statement: Statement, p: FloatArray) -> FloatArray:
    """The distance of p(event) from the targets."""
    low, high = statement.feature.target.low, statement.feature.target.high
    return np.asarray(np.maximum(0.0, np.maximum(low - p, p - high)))


def _share_distance(statement: Statement, value: FloatArray) -> FloatArray:
    """The distance of E[event − u·other] from 0, on the side that u bounds."""
    relation, u = statement.constraint.relation, statement.feature.target.share
    low, high = relation.interval if relation.hard else (u, u)
    short = -value if u <= low else np.zeros_like(value)
    return np.asarray(np.maximum(0.0, np.maximum(short, value if u >= high else 0.0)))


@dataclass(frozen=True, eq=False)
class Expectations:
    """E[f′] place by place, under p and under q: at positions, on edges, and in whole sequences.

    p is that of ``view``, q its projection on the instances that ``grounded`` touches (elsewhere q = p).
    """

    view: View
    grounded: Grounded
    projected: Projected | None

    def of_terms(self, terms: list[Term]) -> tuple[FloatArray, FloatArray]:
        """Σ over the terms of E[table] at every position, under p and under q."""
        view, found = self.view, self.projected
        p = _values(terms, view.model.structure, view.potentials, view.marginals.node)
        q = p.copy()
        if found is not None:
            here = view.model.structure.positions(self.grounded.touched)
            there = [Term(term.at[here], term.table) for term in terms]
            q[here] = _values(there, found.structure, found.potentials, found.marginals.node)
        return p, q

    def of_count(self, statement: Statement) -> tuple[FloatArray, FloatArray]:
        """The expected number in every instance, under p and under q."""
        feature = statement.feature
        if feature.statistic is not None:
            return self._of_statistic(statement)
        instance, n = self.view.sample.instance, len(self.view.sample.number)
        p, q = self.of_terms(feature.terms)
        sums = (np.bincount(instance, weights=v, minlength=n).astype(np.float64) for v in (p, q))
        return next(sums), next(sums)

    def _of_statistic(self, statement: Statement) -> tuple[FloatArray, FloatArray]:
        view, found, statistic = self.view, self.projected, statement.feature.statistic
        assert isinstance(view.model.structure, Chains)
        assert statistic is not None
        structure = PricedChains.of(view.model.structure, (statistic,), *view.estimator.inference_)
        p = _means(structure, view.potentials, 0, view)
        q = p.copy()
        if found is None:
            return p, q
        touched, tilt = self.grounded.touched, self.grounded.tilt
        if statement.forbidden is not None:
            # What rules leave is the least or the greatest count in each.
            q[touched] = (
                statistic.least if statement.constraint.relation.interval[1] == statistic.least else statistic.most
            )
            return p, q
        rows = np.flatnonzero(self.grounded.owner == statement.number)
        assert tilt is not None
        parts = tilt.features.whole
        if parts is not None and len(rows) and found.marginals.whole is not None:
            column = int(parts.table[np.flatnonzero(np.isin(parts.row, rows))[0]].argmax())
            q[touched] = found.marginals.whole[:, column]
        return p, q


def _means(chains: PricedChains, potentials: Potentials, column: int, view: View) -> FloatArray:
    found = chains.infer(Potentials(potentials.node, potentials.edge), view.model.workers)
    assert found.whole is not None
    return np.asarray(found.whole[:, column]).copy()


def reach(feature: Component, n: int) -> tuple[FloatArray, FloatArray]:
    """The least and the greatest value of f′ at every position."""
    least, most = np.zeros(n), np.zeros(n)
    for term in feature.terms:
        least[term.at] += term.table.min()
        most[term.at] += term.table.max()
    return least, most


def _values(terms: list[Term], structure: Any, potentials: Potentials, node: FloatArray) -> FloatArray:
    values = np.zeros(len(node))
    for term in (p for p in terms if not p.on_edges):
        values[term.at] += node[term.at] @ term.table
    on_edges = [p for p in terms if p.on_edges and p.at.any()]
    if on_edges:
        for positions, edge in _edges(structure, potentials):
            for term in on_edges:
                values[positions] += term.at[positions] * np.einsum("tij,ij->t", edge, term.table)
    return values


def _edges(structure: Chains, potentials: Potentials) -> Iterator[tuple[IntArray, FloatArray]]:
    """Positions, and the marginals of the edges that lead to each (0 at the start of a sequence).

    Inference gives edge marginals as sums over kinds of edges, which is all that learning needs. Here every edge is a
    separate kind, some sequences at a time: O(N·L²) time, and memory for these sequences alone.
    """
    assert potentials.edge is not None
    step = max(1, _ROOM // potentials.node.shape[1] ** 2)
    parts = np.split(np.arange(len(structure)), np.flatnonzero(np.diff(structure.first // step)) + 1)
    for sequences in parts:
        positions, few = structure.positions(sequences), structure.take(sequences)
        n = len(positions)
        # At the start of a sequence the number of a kind means nothing.
        kind = few.kind.copy()
        kind[few.first] = 0
        each = replace(few, kind=np.arange(n, dtype=np.int32), n_kinds=n)
        whole = None if potentials.whole is None else potentials.whole[sequences]
        found = each.infer(Potentials(potentials.node[positions].copy(), potentials.edge[kind], whole))
        assert found.edge is not None
        yield positions, found.edge
