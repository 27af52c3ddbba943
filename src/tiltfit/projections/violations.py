"""How often labels violate a constraint *within one instance*: what constraint-driven learning penalises.

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
from tiltfit.inference.chain import Chains
from tiltfit.inference.independent import Independent
from tiltfit.inference.potentials import Potentials
from tiltfit.inference.statistic import Statistic
from tiltfit.language.constraint import Constraint
from tiltfit.language.event import Labels
from tiltfit.language.relations import About, DistributedAs, Relation
from tiltfit.language.values import match
from tiltfit.projections.expected import Feature, features, is_local
from tiltfit.projections.kinds import refine
from tiltfit.projections.occurrences import Piece, statistic_of
from tiltfit.projections.rules import Ban
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
        which the stated share s keeps it: where no label tells, the log-odds of s; with s = ½, add-one smoothing."""
        return max(0.0, math.log((self.kept + _PRIOR * self.stated) / (self.violated + _PRIOR * (1 - self.stated))))


@dataclass(frozen=True, eq=False)
class Count:
    """A violation that is no sum over places: how far a number n of a whole instance is from [low, high].

    n is Σ tables of ``pieces``, over positions, or the ``statistic``. ``low``, ``high``: one an instance; −inf and inf
    where nothing is asked for.
    """

    number: int
    pieces: tuple[Piece, ...]
    statistic: Statistic | None
    low: FloatArray
    high: FloatArray

    def at(self, instances: IntArray, positions: IntArray) -> Count:
        """On these instances alone, which have these positions."""
        pieces = tuple(Piece(p.at[positions], p.table) for p in self.pieces)
        return replace(self, pieces=pieces, low=self.low[instances], high=self.high[instances])

    def of_pieces(self, labels: IntArray, first: IntArray) -> FloatArray:
        """d of every instance by its pieces. ``labels``: one a position; ``first``: where instances begin."""
        n = np.add.reduceat(happened(self.pieces, labels), first)
        return self.distance(n, slice(None))

    def distance(self, n: FloatArray | float, instance: int | slice) -> FloatArray:
        return np.asarray(np.maximum(0.0, np.maximum(self.low[instance] - n, n - self.high[instance])))


@dataclass(frozen=True, eq=False)
class Violations:
    """d_k of the unlabelled ``instances``, of every constraint k, as far as rules do not take care of it.

    ``features``: those that are sums over places, row k; ``structure`` has kinds of edge so fine that they are the same
    on all edges of one, ``parent`` the model's kind of each. ``counts``: the others. ``rules``: −inf where a label or
    pair is forbidden; ``bans``: statistics that must be 0, and in which instances. ``tallies``: one a constraint, None
    for rules.
    """

    instances: IntArray
    structure: Independent | Chains
    parent: IntArray | None
    features: ConstraintFeatures
    counts: tuple[Count, ...]
    rules: Potentials
    bans: tuple[tuple[Statistic, BoolArray], ...]
    tallies: tuple[Tally | None, ...]


def whole_bounds(relation: Relation, times: float = 1.0) -> tuple[float, float]:
    """[⌈low − ½⌉, ⌊high + ½⌋] of ``times`` the stated bounds.

    >>> from tiltfit.language.relations import AtMost, Between
    >>> whole_bounds(About(0.9)), whole_bounds(About(0.5)), whole_bounds(AtMost(0.3)), whole_bounds(Between(0.2, 0.9))
    ((1, 1), (0, 1), (-inf, 0), (0, 1))
    """
    low, high = (relation.target, relation.target) if isinstance(relation, About) else relation.interval
    low, high = times * low, times * high
    return (math.ceil(low - 0.5) if math.isfinite(low) else low), (math.floor(high + 0.5) if high < math.inf else high)


def usual(relation: Relation) -> bool | None:
    """Whether an event of that share usually happens (True), usually does not (False), or neither (None)."""
    if isinstance(relation, DistributedAs):
        return True if max(relation.numbers) > 0.5 else None
    low, high = whole_bounds(relation)
    return True if low >= 1 else False if high <= 0 else None


def silent(constraint: Constraint, classes: Sequence[object], unit: Unit) -> str | None:
    """Why a constraint says nothing of a single instance, if that is so."""
    relation, event = constraint.relation, constraint.event
    if constraint.event.whole:
        statistic = statistic_of(event, classes)
        low, high = whole_bounds(relation)
        says = low > statistic.least or high < statistic.most
    elif event.counts and constraint.of is None:
        low, high = whole_bounds(relation)
        says = low > 0 or high < math.inf
    else:
        if _is_proportion(constraint):
            return "it is a share of all the data, which no single instance has"
        says = usual(relation) is not None or (is_local(constraint) and constraint.of is None and unit == "tokens")
    return None if says else "of a single instance it says neither that it usually happens nor that it usually does not"


def _is_proportion(constraint: Constraint) -> bool:
    """Whether it states how common a label is, wherever: of an instance nothing, unless all or none have it."""
    free = isinstance(constraint.event, Labels) and constraint.where is None and constraint.of is None
    relation = constraint.relation
    if not free or is_local(constraint):
        return False
    return isinstance(relation, DistributedAs) or not (constraint.is_hard and {*relation.numbers} <= {0.0, 1.0})


def measure_violations(constraints: Iterable[Constraint], sample: Sample, ban: Ban) -> Violations:
    """d of all constraints that ``ban`` does not take care of, on unlabelled instances; and how labelled ones do."""
    hidden = replace(sample, labels=np.full(len(sample.labels), -1, dtype=np.intp))
    placed: list[tuple[int, Piece]] = []
    counts: list[Count] = []
    tallies: list[Tally | None] = []
    for number, constraint in enumerate(constraints):
        if number in ban.supports:
            tallies.append(None)
            continue
        found = features(constraint, hidden)
        feature = found[_leading(constraint, sample)] if isinstance(constraint.relation, DistributedAs) else found[0]
        measured = _of_instance if _is_counted(constraint, sample) else _of_places
        pieces, count, tally = measured(number, constraint, feature, sample)
        placed += [(number, piece) for piece in pieces]
        counts += [] if count is None else [count]
        tallies.append(tally)
    return _assembled(placed, counts, tallies, sample, ban)


def _is_counted(constraint: Constraint, sample: Sample) -> bool:
    """Whether its units are instances, not places."""
    if constraint.of is not None:
        return False
    return constraint.event.counts or (is_local(constraint) and isinstance(sample.structure, Chains))


def _leading(constraint: Constraint, sample: Sample) -> int:
    """The class of the largest share."""
    assert isinstance(constraint.relation, DistributedAs)
    name = max(constraint.relation.shares, key=lambda pair: pair[1])[0]
    found = match(name, sample.classes)
    assert found is not None
    return found


Measured = tuple[list[Piece], Count | None, Tally]


def _of_places(number: int, constraint: Constraint, feature: Feature, sample: Sample) -> Measured:
    """A sum over places where it could happen: those where what is usual does not, or what is not usual does."""
    relation = constraint.relation
    happens = feature.pieces if feature.event is None else feature.event
    possible = [Piece(p.at, np.ones_like(p.table)) for p in happens] if feature.among is None else feature.among
    usually = usual(relation)
    if usually is None:
        return [], None, Tally()
    fails = [*possible, *(Piece(p.at, -p.table) for p in happens)]
    violated, kept = (fails, happens) if usually else (happens, fails)
    target = max(relation.numbers) if isinstance(relation, DistributedAs) else relation.numbers[0 if usually else -1]
    known = sample.structure.spread(~sample.unlabelled)
    sums = (
        float(happened([p.within(known) for p in listed], sample.labels) @ sample.position_weight)
        for listed in (kept, violated)
    )
    share = min(target if usually else 1 - target, _SURE)
    return [p.within(_unknown(p, feature, sample)) for p in violated], None, Tally(next(sums), next(sums), share)


def _unknown(piece: Piece, feature: Feature, sample: Sample) -> BoolArray:
    """Where it says something about unknown labels; of a share, where what it is a share of is not known."""
    if feature.among is None:
        return sample.is_open(piece.on_edges)
    return np.asarray(np.logical_or.reduce([p.at & sample.is_open(p.on_edges) for p in feature.among]), dtype=np.bool_)


def _of_instance(number: int, constraint: Constraint, feature: Feature, sample: Sample) -> Measured:
    """A number of each instance; where it should be 0, its violation is a sum over places after all."""
    relation, first = constraint.relation, sample.structure.first
    if isinstance(relation, DistributedAs):
        relation = About(max(relation.numbers))
    known = sample.structure.spread(~sample.unlabelled)
    pieces = [] if feature.statistic is not None else feature.pieces
    if constraint.event.counts:
        places = np.ones(len(sample.structure))
        low, high = (np.full(len(places), bound) for bound in whole_bounds(relation))
        target = relation.numbers[0]
        stated = 1 - abs(target - round(target))  # a mean of 0.3 where there should be none: at most 30% have one
        stated = 0.5 if stated == 1 else stated
    else:
        pieces = [p.within(known | sample.is_open(p.on_edges)) for p in pieces]  # a share of what is unknown
        at = np.logical_or.reduce([p.at for p in pieces]).astype(np.float64)
        places, stated = np.add.reduceat(at, first), 0.5
        low, high = np.array([whole_bounds(relation, c) for c in places]).T
    listed = [p.within(~known) for p in pieces]
    count = Count(number, tuple(pieces), feature.statistic, low, high)
    tally = _tally(count, places, sample, stated)
    if feature.statistic is None and np.all(high <= 0) and np.all(low <= 0):
        return listed, None, tally
    return [], replace(count, pieces=tuple(listed)), tally


def _tally(count: Count, places: FloatArray, sample: Sample, stated: float) -> Tally:
    """How many labelled instances that it speaks of keep it."""
    known = np.flatnonzero(~sample.unlabelled & (places > 0))
    if count.statistic is None:
        d = count.of_pieces(sample.labels, sample.structure.first)[known]
    else:
        counted = (count.statistic.count(sample.labels[sample.structure.positions(np.array([s]))]) for s in known)
        d = np.array([count.distance(n, int(s)) for s, n in zip(known, counted, strict=True)])
    violated = float(sample.weight[known][d > 0].sum())
    return Tally(float(sample.weight[known].sum()) - violated, violated, stated)


def happened(pieces: Iterable[Piece], labels: IntArray) -> FloatArray:
    """Σ tables of the pieces at every position, under these labels."""
    sums = np.zeros(len(labels))
    for piece in pieces:
        at = np.flatnonzero(piece.at)
        sums[at] += piece.table[labels[at - 1], labels[at]] if piece.on_edges else piece.table[labels[at]]
    return sums


def _assembled(
    placed: list[tuple[int, Piece]], counts: list[Count], tallies: list[Tally | None], sample: Sample, ban: Ban
) -> Violations:
    """What is known by position, as inference on the unlabelled instances takes it."""
    instances = np.flatnonzero(sample.unlabelled)
    positions, n_labels = sample.structure.positions(instances), len(sample.classes)
    structure: Independent | Chains = sample.structure.take(instances)
    node, edge = (
        _parts([(k, p) for k, p in placed if p.on_edges == wanted], positions, n_labels ** (2 if wanted else 1))
        for wanted in (False, True)
    )
    forbidden = np.zeros((len(positions), n_labels))
    if ban.node is not None:
        forbidden[ban.node[positions]] = -np.inf
    parent, on_edges, edge_rules = None, None, None
    if isinstance(structure, Chains) and len(instances):
        structure, parent, on_edges, edge_rules = refine(structure, edge, ban.edges, positions)
    return Violations(
        instances=instances,
        structure=structure,
        parent=parent,
        features=ConstraintFeatures(len(tallies), node, on_edges),
        counts=tuple(count.at(instances, positions) for count in counts),
        rules=Potentials(forbidden, edge_rules),
        bans=tuple((statistic, here[instances]) for statistic, here in ban.whole),
        tallies=tuple(tallies),
    )


def _parts(placed: list[tuple[int, Piece]], positions: IntArray, width: int) -> Parts:
    fires = [sparse.csr_array(piece.at[positions, None].astype(np.float64)) for _, piece in placed]
    empty = sparse.csr_array((len(positions), 0))
    return Parts(
        sparse.csr_array(sparse.hstack([empty, *fires], format="csr")),
        np.concatenate([np.empty((0, width)), *(piece.table.reshape(1, -1) for _, piece in placed)]),
        np.array([k for k, _ in placed], dtype=np.intp),
    )
