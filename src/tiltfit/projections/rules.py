"""Statements that leave no choice: labels that hard 0/1 statements rule out, and what that leaves to the others.

Where every label that a hard statement looks at is known, nothing is left to tilt, but the statement may be broken:

    m = Σ_i w_i·f′(x_i, y_i) / c        must lie where U is finite

Such sequences and groups have no rows, so without ``refuse_broken`` the report would say that the statement holds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from tiltfit.arrays import BoolArray, FloatArray, IntArray
from tiltfit.errors import ConflictError
from tiltfit.execution.workers import Workers
from tiltfit.features.constraints import Parts
from tiltfit.inference.bounds import below_most, excess
from tiltfit.inference.chain import Chains
from tiltfit.inference.potentials import Potentials
from tiltfit.inference.statistic import Statistic
from tiltfit.inference.whole import WholeChains
from tiltfit.language.constraint import Constraint
from tiltfit.language.event import Term, disjoint
from tiltfit.projections.components import Component, Strength, components, groups, looked_at, penalty_of
from tiltfit.projections.information import Tilt
from tiltfit.projections.kinds import refine
from tiltfit.samples.sample import Sample

_ROUNDING = 1e-12


class Forbidden:
    """Collects what hard statements of 0 or 1 rule out: labels at positions, pairs of labels on edges, and label
    sequences that count beyond a bound (``whole``).

    Known labels rule out all others in a sequence that also has unknown ones; a set of labels rules out those that are
    not in it. ``by_labels``: what labels and sets rule out.
    """

    def __init__(self, sample: Sample) -> None:
        self._sample = sample
        self.node: BoolArray | None = None
        self.edges: list[tuple[BoolArray, BoolArray]] = []
        """Positions that edges lead to, and the pairs of labels ruled out there."""
        self.whole: list[tuple[Statistic, BoolArray]] = []
        """Statistics that must be 0, and the instances where."""
        self.supports: dict[int, float] = {}
        self._takers: list[tuple[Constraint, BoolArray]] = []
        partly = sample.structure.spread(sample.unlabelled) & ~sample.open_positions
        if partly.any():
            mask = self._mask()
            mask[partly] = True
            mask[partly, sample.labels[partly]] = False
        if sample.banned is not None:
            mask = self._mask()
            mask |= sample.banned
        self.by_labels = None if self.node is None else self.node.copy()

    def take(self, found: list[Component]) -> bool:
        """Take over a constraint, by its components, if it is a hard 0 or 1; otherwise return False."""
        number, constraint = found[0].number, found[0].constraint
        if constraint.is_hard and found[0].statistic is not None:
            self._refuse_beyond(constraint, found[0].statistic, found[0].terms[0].at)
        ruled = ruled_out(found)
        if ruled is None:
            return False
        if ruled.statistic is not None:
            self._take_whole(number, constraint, ruled.statistic, ruled.terms[0].at)
            return True
        at = np.zeros(self._sample.inputs.n, dtype=np.bool_)
        for term in ruled.terms:
            self._refuse_known(constraint, term)
            at |= term.at
            if term.on_edges:
                self.edges.append((term.at & self._sample.open_edges, term.table > 0))
            else:
                self._mask()[term.at & self._sample.open_positions] |= term.table > 0
        self._takers.append((constraint, at))
        self.supports[number] = float(self._sample.position_weight[at].sum())
        if constraint.is_count:  # of a count, sequences are the places
            self.supports[number] = float(self._sample.weight[np.unique(self._sample.instance[at])].sum())
        return True

    def _refuse_beyond(self, constraint: Constraint, statistic: Statistic, at: BoolArray) -> None:
        (low, high), sample = constraint.relation.interval, self._sample
        if high < statistic.least or low > statistic.most:
            reach = f"never below {statistic.least:g}" if high < statistic.least else f"never above {statistic.most:g}"
            raise ConflictError(
                f"The constraint {sample.title(constraint)!r} cannot hold in {sample.noun} "
                f"{sample.number[sample.instance[at][0]]}, "
                f"nor in any other: what it counts is {reach}. Change its target, or soften it with slack=.",
                constraint=sample.title(constraint),
            )

    def _take_whole(self, number: int, constraint: Constraint, beyond: Statistic, at: BoolArray) -> None:
        """``beyond``: what must be 0."""
        sample = self._sample
        here = np.zeros(len(sample.structure), dtype=np.bool_)
        here[sample.instance[at]] = True
        for s in np.flatnonzero(here & ~sample.unlabelled):
            if beyond.count(sample.labels[sample.structure.positions(np.array([s]))]) > 0:
                self._refuse(constraint, int(s))
        self.whole.append((beyond, here))
        self._takers.append((constraint, at))
        self.supports[number] = float(sample.weight[here].sum())

    def _refuse(self, constraint: Constraint, instance: int) -> None:
        number = int(self._sample.number[instance])
        raise ConflictError(
            f"The constraint {self._sample.title(constraint)!r} rules out the label that {self._sample.noun} "
            f"{number} has. "
            'Correct the label, soften the constraint with slack=, or leave out on="all".',
            constraint=self._sample.title(constraint),
            instance=number,
        )

    def _mask(self) -> BoolArray:
        if self.node is None:
            self.node = np.zeros((self._sample.inputs.n, len(self._sample.classes)), dtype=np.bool_)
        return self.node

    def _refuse_known(self, constraint: Constraint, term: Term) -> None:
        where = np.flatnonzero(term.at & ~self._sample.is_open(term.on_edges))
        hits = term.values(self._sample.labels, where) > 0
        if np.any(hits):
            self._refuse(constraint, int(self._sample.instance[where[np.argmax(hits)]]))

    @property
    def touched(self) -> BoolArray:
        """Positions where something is ruled out."""
        touched = np.zeros(self._sample.inputs.n, dtype=np.bool_)
        if self.node is not None:
            touched |= self.node.any(axis=1)
        for at, _ in self.edges:
            touched |= at
        for _, here in self.whole:
            touched |= self._sample.structure.spread(here)
        return touched

    def check(self, tilt: Tilt, touched: IntArray) -> None:
        """Refuse rules that leave an instance without any labelling; ``touched``: the instances of ``tilt``."""
        if tilt.rules is None:
            return
        empty = tilt.structure.impossible(tilt.rules, tilt.workers)
        if len(empty):
            instance, numbers = touched[empty[0]], self._sample.number[touched[empty]]
            here = self._sample.instance == instance
            titles = [self._sample.title(c) for c, at in self._takers if at[here].any()]
            names = [*map(repr, titles)]
            if self.by_labels is not None and self.by_labels[here].any():
                names.append("what y says")
            raise ConflictError(
                f"No label is left for {self._sample.noun} {numbers[0]}: {' and '.join(names)} together rule out all "
                "of them. Soften one with slack= or a target inside (0, 1).",
                constraint=titles[0] if titles else None,
                instances=numbers,
            )


def ruled_out(found: list[Component]) -> Component | None:
    """The labels that a hard statement of 0 or 1 rules out, as a component that must be 0; None if it leaves a choice.

    A mean that must be the least there is leaves no sequence any choice, and nor does the greatest.
    """
    constraint, statistic = found[0].constraint, found[0].statistic
    if not constraint.is_hard or len(found) != 1:
        return None
    low, high = constraint.relation.interval
    if statistic is not None:
        if high == statistic.least:
            return replace(found[0], statistic=excess(statistic, high))
        return replace(found[0], statistic=below_most(statistic)) if low == statistic.most else None
    if high > 0 and (low < 1 or constraint.is_count):
        return None
    # A share of another event has f′ = event − u·other, which must not exceed or go below 0 then.
    least = 1 if constraint.of is None else 0
    # Where terms meet, any of them can exceed 0 alone, but only their sum says whether it falls short.
    if high <= 0:
        terms = [Term(t.at, (t.table > 0).astype(np.float64)) for t in found[0].terms]
    else:
        terms = [Term(t.at, (t.table < least).astype(np.float64)) for t in disjoint(found[0].terms)]
    return replace(found[0], terms=terms, among=None, event=None)


@dataclass(frozen=True, eq=False)
class Extremes:
    """The extremes of expectations over all labellings of the ``touched`` instances that known labels and rules leave.
    ``base``: log q₀ of the model, whose −inf are rules as well."""

    sample: Sample
    forbidden: Forbidden
    touched: IntArray
    workers: Workers
    base: Potentials | None = None

    def check(self, component: Component, offset: FloatArray) -> None:
        """Refuse a constraint whose penalty would be infinite whatever q. ``offset``: what labelled instances add."""
        constraint = component.constraint
        if not (constraint.relation.shares or constraint.is_hard):
            return
        least, most = self._of_rows(component, offset)
        low, high = component.penalty.domain()
        bad = np.flatnonzero((most < low - _ROUNDING) | (least > high + _ROUNDING))
        if constraint.relation.shares:
            bad = np.flatnonzero((component.target.low > 0) & (most == 0))
        if len(bad):
            group, noun, title = component.group[bad[0]], self.sample.noun, self.sample.title(constraint)
            instances = [self.sample.number[int(group)]] if constraint.is_local else []
            where = f" in {noun} {instances[0]}" if instances else "" if group is None else f" in {group!r}"
            also = "" if self.base is None else ", and what the model forbids (base=, valid_only=True),"
            left = _between(constraint, least[bad[0]], most[bad[0]])
            raise ConflictError(
                f"The constraint {title!r} cannot hold{where}: known labels and rules{also} leave its {left}. Change "
                "its target, soften it, or drop the rule.",
                constraint=title,
                instances=instances,
            )

    def _of_rows(self, component: Component, offset: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The least and the greatest m of every row. They lie on different instances, so one search per direction for
        the best labelling is enough."""
        group, weight = component.group_of[self.touched], self.sample.weight[self.touched]
        inside = group >= 0
        bounds = []
        for best in self._best(component):
            with np.errstate(invalid="ignore"):  # an instance without weight adds no bound: 0·inf
                terms = best[inside] * weight[inside]
            sums = np.bincount(group[inside], terms, minlength=len(component))
            bounds.append((sums + offset) / component.support)
        return bounds[0], bounds[1]

    def _best(self, component: Component) -> tuple[FloatArray, FloatArray]:
        """The least and the greatest f′ on every touched instance."""
        positions, n_labels = self.sample.structure.positions(self.touched), len(self.sample.classes)
        structure = self.sample.structure.take(self.touched)
        if component.statistic is not None:
            return self._best_whole(component.statistic, structure.chains, positions)
        node = np.zeros((len(positions), n_labels))
        for term in (t for t in component.terms if not t.on_edges):
            node[term.at[positions]] += term.table
        forbidden = self._forbidden(positions)
        edge, pairs = None, self._forbidden_pairs
        if structure.chains is not None:
            on_edges = [t for t in component.terms if t.on_edges]
            masks = np.stack([np.zeros(len(positions)), *(t.at[positions] for t in on_edges)], axis=1)
            tables = np.stack([np.zeros(n_labels**2), *(t.table.ravel() for t in on_edges)])
            parts = Parts(sparse.csr_array(masks), tables, np.zeros(len(tables), dtype=np.intp))
            plain = Chains(structure.chains.offsets, np.zeros(len(positions), dtype=np.int32), 1)
            structure, _, parts, edge_rules = refine(plain, parts, self.forbidden.edges, positions)
            edge = parts.score(np.ones(1)).reshape(-1, n_labels, n_labels)
            pairs = pairs if edge_rules is None else pairs + edge_rules
        found = []
        for sign in (-1.0, 1.0):
            potentials = Potentials(sign * node + forbidden, None if edge is None else sign * edge + pairs)
            best = structure.best(potentials, self.workers)[1]
            # Where no labelling is possible, that is refused elsewhere, and not held against any constraint.
            found.append(sign * np.where(best == -np.inf, np.inf, best))
        return found[0], found[1]

    def _best_whole(
        self, statistic: Statistic, structure: Chains | None, positions: IntArray
    ) -> tuple[FloatArray, FloatArray]:
        """The least and the greatest count; what no search can prove is not held against anyone."""
        assert structure is not None
        n_labels = len(self.sample.classes)
        none = Parts(sparse.csr_array((len(positions), 0)), np.empty((0, n_labels**2)), np.empty(0, dtype=np.intp))
        structure, _, _, edge = refine(structure, none, self.forbidden.edges, positions)
        if edge is None:
            edge = np.zeros((structure.n_kinds, n_labels, n_labels))
        rules = Potentials(self._forbidden(positions), edge + self._forbidden_pairs)
        chains, found = WholeChains(structure, (statistic,)), []
        for sign in (-1.0, 1.0):
            best = chains.best(rules, np.array([sign]), self.workers)
            found.append(np.where(best.proven, sign * best.scores, sign * np.inf))
        return found[0], found[1]

    def _forbidden(self, positions: IntArray) -> FloatArray:
        """−inf where a label is ruled out at a position, else 0."""
        banned = np.zeros((len(positions), len(self.sample.classes)), dtype=np.bool_)
        if self.forbidden.node is not None:
            banned |= self.forbidden.node[positions]
        if self.base is not None:
            banned |= self.base.node[positions] == -np.inf
        return np.where(banned, -np.inf, 0.0)

    @property
    def _forbidden_pairs(self) -> FloatArray:
        """−inf where the model forbids a pair of labels on edges of every kind, else 0."""
        n_labels = len(self.sample.classes)
        if self.base is None or self.base.edge is None:
            return np.zeros((n_labels, n_labels))
        return np.where(np.all(self.base.edge == -np.inf, axis=0), -np.inf, 0.0)


def _between(constraint: Constraint, least: float, most: float) -> str:
    if constraint.of is not None:
        return "difference to that share out of reach"
    if constraint.is_count:
        return f"mean number between {least:g} and {most:g}"
    return f"share between {least:.0%} and {most:.0%}"


def refuse_broken(constraint: Constraint, sample: Sample, strength: Strength) -> None:
    """Refuse a hard statement of single instances or groups (``on="all"``) that known labels break, by name."""
    if constraint.on != "all" or not constraint.is_hard or constraint.per == "dataset":
        return
    # As if nothing were known, it looks at every instance.
    everywhere = replace(sample, labels=np.full_like(sample.labels, -1), banned=None)
    found = components(0, constraint, everywhere)
    group_of, names = groups(constraint, looked_at(found), everywhere)
    for component in (replace(c, group_of=group_of, group=tuple(names)) for c in found):
        _, of_group, weight = component.firings(everywhere)
        support = np.bincount(of_group, weights=weight, minlength=len(names)).astype(np.float64)
        settled = np.flatnonzero((support > 0) & ~_is_open(component, sample))
        mean = _known_sums(component, sample)[settled] / support[settled]
        low, high = penalty_of(constraint, component.target, support[settled], strength).domain()
        bad = np.flatnonzero((mean < low - _ROUNDING) | (mean > high + _ROUNDING))
        if len(bad):
            _refuse_group(constraint, names[settled[bad[0]]], float(mean[bad[0]]), sample)


def _is_open(component: Component, sample: Sample) -> BoolArray:
    """Groups in which some label that is looked at is unknown."""
    found = np.zeros(len(component), dtype=np.bool_)
    if component.statistic is not None:
        found[component.group_of[sample.unlabelled & (component.group_of >= 0)]] = True
        return found
    for term in component.terms:
        found[component.places(term.within(sample.is_open(term.on_edges)), sample)[1]] = True
    return found


def _known_sums(component: Component, sample: Sample) -> FloatArray:
    """Σ w·f′(x, y) of every group, over what is known."""
    if component.statistic is not None:
        return component.known_counts(np.arange(len(component.group_of)), sample)
    sums = np.zeros(len(component))
    for term in component.terms:
        at, of_group = component.places(term.within(~sample.is_open(term.on_edges)), sample)
        np.add.at(sums, of_group, term.values(sample.labels, at) * sample.position_weight[at])
    return sums


def _refuse_group(constraint: Constraint, name: Any, mean: float, sample: Sample) -> None:
    instances = [sample.number[int(name)]] if constraint.is_local else []
    where = f"{sample.noun} {instances[0]}" if instances else repr(name)
    shown = f"{mean:g}" if constraint.event.counts else f"{mean:.0%}"
    raise ConflictError(
        f"The constraint {sample.title(constraint)!r} cannot hold in {where}: the labels that it looks at are known "
        f"there and make it {shown if constraint.of is None else 'another share'}. Correct them, soften the constraint "
        'with slack=, or leave out on="all".',
        constraint=sample.title(constraint),
        instances=instances,
    )
