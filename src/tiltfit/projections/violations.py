"""Violations of constraints *within one instance*, which constraint-driven learning penalises.

    d(x, y) = Σ_units of x  distance of n(y) from [⌈low − ½⌉, ⌊high + ½⌋]

A unit is a place where the condition fires (then n is 0 or 1: the event happens there or not) or, for counts, whole
statistics and ``per="sequence"``, the instance. An expectation is a property of a data set; of one instance it can only
say what is *usual*, so that its bounds are rounded to whole numbers: "about 90%" becomes "it happens", "at most 1%" "it
does not", "at most 0.3 repeats" "none". Shares that round to nothing (about one half, at least 40%) say nothing of an
instance. How often labelled instances keep it is counted beside (``Tally``).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from tiltfit.arrays import BoolArray, FloatArray, IntArray
from tiltfit.data.inputs import Unit
from tiltfit.features.constraints import ConstraintFeatures, Parts
from tiltfit.inference.potentials import Potentials
from tiltfit.inference.statistic import Statistic
from tiltfit.inference.structure import Structure
from tiltfit.language.constraint import Constraint
from tiltfit.language.event import Term
from tiltfit.language.relations import Relation
from tiltfit.language.values import match
from tiltfit.projections.components import Component, components
from tiltfit.projections.kinds import refine
from tiltfit.projections.rules import Forbidden
from tiltfit.samples.sample import Sample

_PRIOR = 2.0  # occurrences that what is stated counts as much as
_SURE = 0.99  # no statement is taken for more certain than that


@dataclass(frozen=True)
class Tally:
    """Units of labelled instances where the constraint is kept and where it is violated, and the share that it states
    itself to be kept (½ if it states none)."""

    kept: float = 0.0
    violated: float = 0.0
    stated: float = 0.5

    @property
    def penalty(self) -> float:
        """ρ = max(0, log((kept + 2s)/(violated + 2(1 − s)))), the log-odds of being kept with two more occurrences of
        which the stated share s keeps it: without labels, the log-odds of s; with s = ½, add-one smoothing."""
        return max(0.0, math.log((self.kept + _PRIOR * self.stated) / (self.violated + _PRIOR * (1 - self.stated))))


@dataclass(frozen=True, eq=False)
class Count:
    """A violation that is not a sum over places: how far a number n of a whole instance is from [low, high].

    n is Σ tables of ``terms``, over positions, or the ``statistic``. ``low``, ``high``: one per instance; −inf and inf
    where nothing is asked for.
    """

    number: int
    terms: tuple[Term, ...]
    statistic: Statistic | None
    low: FloatArray
    high: FloatArray

    def at(self, instances: IntArray, positions: IntArray) -> Count:
        """On these instances alone, which have these positions."""
        terms = tuple(Term(p.at[positions], p.table) for p in self.terms)
        return replace(self, terms=terms, low=self.low[instances], high=self.high[instances])

    def of_terms(self, labels: IntArray, first: IntArray) -> FloatArray:
        """d of every instance by its terms. ``labels``: one per position; ``first``: where instances begin."""
        n = np.add.reduceat(happened(self.terms, labels), first)
        return self.distance(n, slice(None))

    def distance(self, n: FloatArray | float, instance: int | slice) -> FloatArray:
        return np.asarray(np.maximum(0.0, np.maximum(self.low[instance] - n, n - self.high[instance])))


@dataclass(frozen=True, eq=False)
class Violations:
    """d_k of the unlabelled ``instances``, of every constraint k, as far as rules do not take care of it.

    ``features``: those that are sums over places, row k; ``structure`` has kinds of edge so fine that they are the same
    on all edges of one, ``parent`` the model's kind of each. ``counts``: the others. ``rules``: −inf where a label or
    pair is forbidden; ``bans``: statistics that must be 0, and in which instances. ``tallies``: one per constraint,
    None for rules.
    """

    instances: IntArray
    structure: Structure
    parent: IntArray | None
    features: ConstraintFeatures
    counts: tuple[Count, ...]
    rules: Potentials
    bans: tuple[tuple[Statistic, BoolArray], ...]
    tallies: tuple[Tally | None, ...]


def whole_bounds(bounds: tuple[float, float], times: float = 1.0) -> tuple[float, float]:
    """[⌈low − ½⌉, ⌊high + ½⌋] of ``times`` the stated bounds.

    >>> from tiltfit.language.relations import About, AtMost, Between
    >>> [whole_bounds(relation.bounds) for relation in (About(0.9), About(0.5), AtMost(0.3), Between(0.2, 0.9))]
    [(1, 1), (0, 1), (-inf, 0), (0, 1)]
    """
    low, high = times * bounds[0], times * bounds[1]
    return (math.ceil(low - 0.5) if math.isfinite(low) else low), (math.floor(high + 0.5) if high < math.inf else high)


def usual(relation: Relation) -> bool | None:
    """Return True if an event of that share usually happens, False if it usually does not, otherwise None."""
    if relation.shares:
        return True if max(relation.numbers) > 0.5 else None
    low, high = whole_bounds(relation.bounds)
    return True if low >= 1 else False if high <= 0 else None


def silent(constraint: Constraint, classes: Sequence[object], unit: Unit) -> str | None:
    """Why a constraint says nothing of a single instance, if that is so."""
    low, high = whole_bounds(constraint.relation.bounds)
    statistic = constraint.event.statistic(classes)
    if statistic is not None:
        says = low > statistic.least or high < statistic.most
    elif constraint.is_count:
        says = low > 0 or high < math.inf
    elif _is_proportion(constraint):
        return "it is a share of all the data, which no single instance has"
    else:
        counted = constraint.is_local and constraint.of is None and unit == "tokens"
        says = usual(constraint.relation) is not None or counted
    return None if says else "of a single instance it says neither that it usually happens nor that it usually does not"


def _is_proportion(constraint: Constraint) -> bool:
    """True if it states how common a label is, wherever: of an instance nothing, unless all or none have it."""
    free = constraint.event.place == "all" and constraint.where is None and constraint.of is None
    certain = constraint.is_hard and {*constraint.relation.numbers} <= {0.0, 1.0}
    return free and not constraint.is_local and not certain


def measure_violations(constraints: Iterable[Constraint], sample: Sample, forbidden: Forbidden) -> Violations:
    """d of all constraints that are not rules (``forbidden``), on unlabelled instances; and how labelled ones do."""
    hidden = replace(sample, labels=np.full(len(sample.labels), -1, dtype=np.intp))
    placed: list[tuple[int, Term]] = []
    counts: list[Count] = []
    tallies: list[Tally | None] = []
    for number, constraint in enumerate(constraints):
        if number in forbidden.supports:
            tallies.append(None)
            continue
        found, leading = components(number, constraint, hidden), 0
        if constraint.relation.shares:  # of a distribution, the class of the largest share
            name = max(constraint.relation.shares, key=lambda pair: pair[1])[0]
            leading = match(name, sample.classes) or 0
        measured = _of_instance if _is_counted(constraint, sample) else _of_places
        terms, count, tally = measured(found[leading], sample)
        placed += [(number, term) for term in terms]
        counts += [] if count is None else [count]
        tallies.append(tally)
    return _assembled(placed, counts, tallies, sample, forbidden)


def _is_counted(constraint: Constraint, sample: Sample) -> bool:
    """True if its units are instances, not places."""
    if constraint.of is not None:
        return False
    return constraint.event.counts or (constraint.is_local and sample.structure.has_edges)


Measured = tuple[list[Term], Count | None, Tally]


def _of_places(component: Component, sample: Sample) -> Measured:
    """A sum over places where it could happen: those where what is usual does not, or what is not usual does."""
    relation = component.constraint.relation
    happens = component.terms if component.event is None else component.event
    possible = component.among or [Term(t.at, np.ones_like(t.table)) for t in happens]
    usually = usual(relation)
    if usually is None:
        return [], None, Tally()
    fails = [*possible, *(Term(t.at, -t.table) for t in happens)]
    violated, kept = (fails, happens) if usually else (happens, fails)
    target = component.target.low if relation.shares else relation.numbers[0 if usually else -1]
    known = sample.structure.spread(~sample.unlabelled)
    sums = (
        float(happened([t.within(known) for t in listed], sample.labels) @ sample.position_weight)
        for listed in (kept, violated)
    )
    share = min(target if usually else 1 - target, _SURE)
    return [t.within(_unknown(t, component, sample)) for t in violated], None, Tally(next(sums), next(sums), share)


def _unknown(term: Term, component: Component, sample: Sample) -> BoolArray:
    """The positions where it is about unknown labels; of a share, where what it is a share of is not known."""
    if component.among is None:
        return sample.is_open(term.on_edges)
    return np.asarray(np.logical_or.reduce([t.at & sample.is_open(t.on_edges) for t in component.among]), np.bool_)


def _of_instance(component: Component, sample: Sample) -> Measured:
    """A number of each instance; where it should be 0, its violation is a sum over places after all."""
    constraint, first = component.constraint, sample.structure.first
    stated_bounds = component.target.low, component.target.high
    known = sample.structure.spread(~sample.unlabelled)
    terms = [] if component.statistic is not None else component.terms
    if constraint.event.counts:
        places = np.ones(len(sample.structure))
        low, high = (np.full(len(places), bound) for bound in whole_bounds(stated_bounds))
        target = constraint.relation.numbers[0]
        stated = 1 - abs(target - round(target))  # a mean of 0.3 where there should be none: at most 30% have one
        stated = 0.5 if stated == 1 else stated
    else:
        terms = [t.within(known | sample.is_open(t.on_edges)) for t in terms]  # a share of what is unknown
        at = np.logical_or.reduce([t.at for t in terms]).astype(np.float64)
        places, stated = np.add.reduceat(at, first), 0.5
        low, high = np.array([whole_bounds(stated_bounds, c) for c in places]).T
    listed = [t.within(~known) for t in terms]
    count = Count(component.number, tuple(terms), component.statistic, low, high)
    tally = _tally(count, places, sample, stated)
    if component.statistic is None and np.all(high <= 0) and np.all(low <= 0):
        return listed, None, tally
    return [], replace(count, terms=tuple(listed)), tally


def _tally(count: Count, places: FloatArray, sample: Sample, stated: float) -> Tally:
    """Count the labelled instances that keep it, among those it is about."""
    known = np.flatnonzero(~sample.unlabelled & (places > 0))
    if count.statistic is None:
        d = count.of_terms(sample.labels, sample.structure.first)[known]
    else:
        counted = (count.statistic.count(sample.labels[sample.structure.positions(np.array([s]))]) for s in known)
        d = np.array([count.distance(n, int(s)) for s, n in zip(known, counted, strict=True)])
    violated = float(sample.weight[known][d > 0].sum())
    return Tally(float(sample.weight[known].sum()) - violated, violated, stated)


def happened(terms: Iterable[Term], labels: IntArray) -> FloatArray:
    """Σ tables of the terms at every position, under these labels."""
    sums = np.zeros(len(labels))
    for term in terms:
        at = np.flatnonzero(term.at)
        sums[at] += term.values(labels, at)
    return sums


def _assembled(
    placed: list[tuple[int, Term]],
    counts: list[Count],
    tallies: list[Tally | None],
    sample: Sample,
    forbidden: Forbidden,
) -> Violations:
    """Everything by position, as inference on the unlabelled instances takes it."""
    instances = np.flatnonzero(sample.unlabelled)
    positions, n_labels = sample.structure.positions(instances), len(sample.classes)
    structure: Structure = sample.structure.take(instances)
    node, edge = (
        _parts([(k, p) for k, p in placed if p.on_edges == wanted], positions, n_labels ** (2 if wanted else 1))
        for wanted in (False, True)
    )
    rules = np.zeros((len(positions), n_labels))
    if forbidden.node is not None:
        rules[forbidden.node[positions]] = -np.inf
    parent, on_edges, edge_rules = None, None, None
    if structure.chains is not None and len(instances):
        structure, parent, on_edges, edge_rules = refine(structure.chains, edge, forbidden.edges, positions)
    return Violations(
        instances=instances,
        structure=structure,
        parent=parent,
        features=ConstraintFeatures(len(tallies), node, on_edges),
        counts=tuple(count.at(instances, positions) for count in counts),
        rules=Potentials(rules, edge_rules),
        bans=tuple((statistic, here[instances]) for statistic, here in forbidden.whole),
        tallies=tuple(tallies),
    )


def _parts(placed: list[tuple[int, Term]], positions: IntArray, width: int) -> Parts:
    fires = [sparse.csr_array(term.at[positions, None].astype(np.float64)) for _, term in placed]
    empty = sparse.csr_array((len(positions), 0))
    return Parts(
        sparse.csr_array(sparse.hstack([empty, *fires], format="csr")),
        np.concatenate([np.empty((0, width)), *(term.table.reshape(1, -1) for _, term in placed)]),
        np.array([k for k, _ in placed], dtype=np.intp),
    )
