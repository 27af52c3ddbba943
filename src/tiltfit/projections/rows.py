"""One constraint on data: which expectations it speaks of, where they are taken, and which penalty each has.

A constraint has one *feature* (``distributed_as``: one a class; a share of another event between two bounds: one a
bound), and of each feature one *row* for every group it is stated for. Rows of one feature lie on different instances.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tiltfit.data.inputs import Inputs, is_missing
from tiltfit.errors import ConstraintError, UnsupportedError
from tiltfit.features.constraints import Parts
from tiltfit.inference.chain import Chains
from tiltfit.inference.independent import Independent
from tiltfit.inference.statistic import Statistic
from tiltfit.language.conditions import Column, Condition
from tiltfit.language.constraint import Constraint
from tiltfit.language.relations import About, AtLeast, AtMost, Between, DistributedAs
from tiltfit.language.sentences import titled
from tiltfit.language.values import match
from tiltfit.penalties.interval import box
from tiltfit.penalties.kl import kl
from tiltfit.penalties.penalty import REGISTRY, Penalty
from tiltfit.penalties.stacked import stack
from tiltfit.projections.occurrences import Piece, pieces, statistic_of

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]
BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Strength:
    """The default β, and whether it is that of a constraint (``unit``) or of each firing (``support``: β/c).

    A share of another event has m = (E[event] − u·E[other])/c, c the places where the other might happen; but its
    deviation is (E[event] − u·E[other])/E[other] = m/ρ and its support ρ·c, with ρ = E[other]/c, the *rate* of the
    other event. Hence in units of m

        (m/ρ)²/(2β) = m²/(2βρ²)        |m/ρ|/β = |m|/(βρ)

    with β/(ρc) for β under ``support``: β is multiplied by ρ² (L1: ρ), and divided by ρ under ``support``. So that the
    row stays linear, ρ is not that of q but an estimate that does not move (``rate``): ``rates``, by the number of the
    constraint, 1 where there is none.
    """

    beta: float
    scale: str
    rates: Mapping[int, float] = field(default_factory=dict)

    def of(self, softness: float | None, support: FloatArray, rate: float = 1.0, power: int = 2) -> FloatArray:
        """β in units of m of rows with these supports, of a penalty that grows as its deviation to that power."""
        value = (self.beta if softness is None else softness) * rate**power
        return value / (rate * support) if self.scale == "support" else np.full(len(support), value)


@dataclass(frozen=True, eq=False)
class Scene:
    """The data that constraints are looked up on. ``labels``: class number or −1, one a position; ``weight``: one an
    instance. ``whole``: whether some constraint looks at whole sequences."""

    inputs: Inputs
    classes: Sequence[object]
    structure: Independent | Chains
    labels: IntArray
    weight: FloatArray
    whole: bool = False

    @property
    def noun(self) -> str:
        """What an instance is called."""
        return "sequence" if isinstance(self.structure, Chains) else "row"

    @cached_property
    def instance(self) -> IntArray:
        """The instance of every position."""
        return np.asarray(self.structure.spread(np.arange(len(self.structure))), dtype=np.intp)

    @cached_property
    def position_weight(self) -> FloatArray:
        return np.asarray(self.structure.spread(self.weight), dtype=np.float64)

    @cached_property
    def open_positions(self) -> BoolArray:
        """Positions whose label is unknown."""
        return np.asarray(self.labels < 0)

    @cached_property
    def open_edges(self) -> BoolArray:
        """Positions that an edge leads to one of whose ends is unknown."""
        unknown = self.open_positions.copy()
        unknown[1:] |= self.open_positions[:-1]
        unknown[self.structure.first] = False
        return unknown

    @cached_property
    def unlabelled(self) -> BoolArray:
        """Instances with an unknown position."""
        return np.bincount(self.instance, weights=self.open_positions, minlength=len(self.structure)) > 0

    def is_open(self, piece: Piece) -> BoolArray:
        """Where the piece says something about unknown labels."""
        return self.open_edges if piece.on_edges else self.open_positions

    def statistic(self, constraint: Constraint) -> Statistic:
        """What a constraint on whole sequences counts."""
        return statistic_of(constraint.event, self.classes)

    def title(self, constraint: Constraint) -> str:
        """How messages refer to a constraint: its name, or its sentence about what there is here."""
        return titled(constraint, self.inputs.unit)

    def fires(self, condition: Condition | None) -> BoolArray:
        if condition is None:
            return np.ones(self.inputs.n, dtype=np.bool_)
        return np.asarray(condition.fires(self.inputs), dtype=np.bool_)


@dataclass(frozen=True, eq=False)
class Feature:
    """One expectation of a constraint. ``component``: the class of a distribution, else negative. ``among``: the pieces
    of the event it is a share of, ``event`` those of the share, ``share`` the share that it is compared with.
    ``statistic``: what it counts in whole sequences; its piece only says in which."""

    pieces: list[Piece]
    component: int = -1
    among: list[Piece] | None = None
    share: float = 0.0
    event: list[Piece] | None = None
    statistic: Statistic | None = None


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of one constraint, features outermost.

    ``node`` and ``edge``: parts over all positions (an edge stands at the position it leads to); ``among_…``: those of
    the event that a share is of, by the same rows. ``group_of``: the group of every instance, −1 for none.
    ``is_apart``: prices are found instance by instance, inside the projection. Such rows of sequences have no parts:
    their features say it all.
    """

    number: int
    constraint: Constraint
    features: list[Feature]
    group_of: IntArray
    node: Parts
    edge: Parts
    among_node: Parts
    among_edge: Parts
    share: FloatArray
    component: IntArray
    group: tuple[object, ...]
    support: FloatArray
    penalty: Penalty
    is_apart: bool

    def __len__(self) -> int:
        return len(self.support)

    @property
    def statistic(self) -> Statistic | None:
        """What it counts in whole sequences, if that is what it does."""
        return self.features[0].statistic

    @property
    def is_local(self) -> bool:
        """Whether each row speaks of one instance."""
        return is_local(self.constraint)


def is_local(constraint: Constraint) -> bool:
    """Whether the constraint is stated for each instance."""
    return constraint.per in ("instance", "sequence")


def is_apart(constraint: Constraint, scene: Scene) -> bool:
    """Whether prices are found instance by instance. A share of another event is left to the solver of shared rows, and
    so is everything where sequences cannot be inferred one by one at little cost."""
    return is_local(constraint) and constraint.of is None and not scene.whole


def features(constraint: Constraint, scene: Scene) -> list[Feature]:
    """The expectations of a constraint, at the places it looks at."""
    classes, structure = scene.classes, scene.structure
    if isinstance(constraint.relation, DistributedAs):
        fires = scene.fires(constraint.given)
        table = np.eye(len(classes))
        return [Feature([_seen(Piece(fires, table[k]), constraint, scene)], k) for k in range(len(classes))]
    if constraint.of is not None and (constraint.event.whole or constraint.of.event.whole):
        raise UnsupportedError(
            f"The constraint {scene.title(constraint)!r} is a share (of=), but what counts whole sequences has no "
            "shares: leave of= out."
        )
    if constraint.event.whole:
        return [
            Feature([_seen(_stand_in(constraint, scene), constraint, scene)], statistic=scene.statistic(constraint))
        ]
    fires = scene.fires(constraint.where)
    event = [p.within(fires) for p in pieces(constraint.event, classes, structure)]
    if constraint.of is None:
        return [Feature([_seen(p, constraint, scene) for p in event])]
    around = scene.fires(constraint.of.given)
    among = [_seen(p.within(around), constraint, scene) for p in pieces(constraint.of.event, classes, structure)]
    both = list(_both(event, among))
    if both and not any(p.table.any() for p in both):
        raise ConstraintError(
            f"The constraint {scene.title(constraint)!r} is no share: what it speaks of never happens among what of= "
            "names."
        )
    shares = sorted(set(constraint.relation.numbers))
    return [Feature(list(_difference(both, among, u)), -1 - k, among, u, both) for k, u in enumerate(shares)]


def _stand_in(constraint: Constraint, scene: Scene) -> Piece:
    """One position of every sequence, which stands for the whole of it: the first whose label is unknown."""
    if constraint.where is not None:
        raise UnsupportedError(
            f"The constraint {scene.title(constraint)!r} looks at whole sequences, so it takes no condition on tokens. "
            "State it for groups of sequences with per=column(...)."
        )
    at = np.zeros(scene.inputs.n, dtype=np.bool_)
    first = np.asarray(scene.structure.first)
    at[first] = True
    unknown = np.flatnonzero(scene.open_positions)
    sequence, where = np.unique(scene.instance[unknown], return_index=True)
    at[first[sequence]] = False
    at[unknown[where]] = True
    return Piece(at, np.zeros(len(scene.classes)))


def _seen(piece: Piece, constraint: Constraint, scene: Scene) -> Piece:
    """The part of the data that the constraint speaks of: unknown labels, or all."""
    if is_local(constraint):
        piece = piece.within(scene.structure.spread(scene.unlabelled & (scene.weight > 0)))
    if constraint.on == "all":
        return piece
    if constraint.event.counts and constraint.of is None:
        # A number in a sequence is that in the whole of it, known labels included.
        return piece.within(scene.structure.spread(scene.unlabelled))
    return piece.within(scene.is_open(piece))


def _both(event: list[Piece], among: list[Piece]) -> Iterator[Piece]:
    """Where both happen at one position, so that one is a share of the other. An edge is at the position it leads to,
    hence of a label and a pair the label is that of the second."""
    for a, b in itertools.product(event, among):
        at = a.at & b.at
        if at.any():
            yield Piece(at, a.table * b.table)


def _difference(event: list[Piece], among: list[Piece], u: float) -> Iterator[Piece]:
    """event − u·among, as pieces on different places: the share of event in among is u where its expectation is 0."""
    for on_edges in (False, True):
        a = next((p for p in event if p.on_edges == on_edges), None)
        b = next((p for p in among if p.on_edges == on_edges), None)
        if a is not None and b is not None:
            yield Piece(a.at & b.at, a.table - u * b.table)
        if a is not None:
            yield a if b is None else a.within(~b.at)
        if b is not None:
            yield Piece(b.at if a is None else b.at & ~a.at, -u * b.table)


def make_rows(number: int, constraint: Constraint, found: list[Feature], scene: Scene, strength: Strength) -> Rows:
    """The rows of a constraint that fires somewhere."""
    group, names = _groups(constraint, _touched(found), scene)
    # A group in which everything is known (on="all") or weighs nothing has nothing to decide. Nor has a share in one
    # where it can never happen: it could only ask that what it is a share of does not happen either.
    open_places = [piece.within(scene.is_open(piece)) for feature in found for piece in feature.pieces]
    alive = _weights(open_places, group, len(names), scene) > 0
    if found[0].event is not None:
        alive &= _weights(found[0].event, group, len(names), scene) > 0
    renumbered = np.where(alive, np.cumsum(alive) - 1, -1)
    group = np.where(group >= 0, renumbered[group], -1)
    names = [name for name, lives in zip(names, alive, strict=True) if lives]
    n = len(names)
    support = np.concatenate([_support(constraint, feature, group, n, scene) for feature in found])
    often = strength.rates.get(number, 1.0)
    apart = is_apart(constraint, scene)
    unlisted = found[0].statistic is not None or (apart and isinstance(scene.structure, Chains))
    listed = [] if unlisted else found
    return Rows(
        number=number,
        constraint=constraint,
        features=found,
        group_of=group,
        node=_parts([f.pieces for f in listed], False, group, n, scene),
        edge=_parts([f.pieces for f in listed], True, group, n, scene),
        among_node=_parts([f.among or [] for f in listed], False, group, n, scene),
        among_edge=_parts([f.among or [] for f in listed], True, group, n, scene),
        share=np.repeat([f.share for f in found], n),
        component=np.repeat([f.component for f in found], n).astype(np.intp),
        group=tuple(names) * len(found),
        support=support,
        penalty=stack(
            [
                _penalty(constraint, feature, support[k * n : (k + 1) * n], strength, often, scene.classes)
                for k, feature in enumerate(found)
            ]
        ),
        is_apart=apart,
    )


_PRIOR_PLACES, _PRIOR_RATE = 10.0, 0.1
"""What ρ is taken for where no label is known: nothing more is claimed than that events in outputs are rarer than the
places where they might happen. It counts as much as ten known places, and so fades as labels come."""


def with_rates(strength: Strength, constraints: Iterable[Constraint], scene: Scene) -> Strength:
    """The same, with the rates of all events that shares are of; those that it has stay."""
    found = {k: rate(c, scene) for k, c in enumerate(constraints) if c.of is not None}
    return replace(strength, rates={**found, **strength.rates})


def rate(constraint: Constraint, scene: Scene) -> float:
    """ρ = (1 + Σ w·[other happens]) / (10 + Σ w) over the places of the other event whose labels are known.

    The constraint is a share of another event.
    """
    assert constraint.of is not None
    happened, places = _PRIOR_PLACES * _PRIOR_RATE, _PRIOR_PLACES
    around = scene.fires(constraint.of.given)
    for piece in pieces(constraint.of.event, scene.classes, scene.structure):
        at = np.flatnonzero(piece.at & around & ~scene.is_open(piece))
        cells = (scene.labels[at - 1], scene.labels[at]) if piece.on_edges else scene.labels[at]
        happened += float(scene.position_weight[at] @ piece.table[cells])
        places += float(scene.position_weight[at].sum())
    return happened / places


def _weights(places: list[Piece], group: IntArray, n_groups: int, scene: Scene) -> FloatArray:
    """How much weight the places have in every group."""
    sums = np.zeros(n_groups)
    for where in (np.flatnonzero(piece.at) for piece in places):
        of_group = group[scene.instance[where]]
        inside = of_group >= 0
        np.add.at(sums, of_group[inside], scene.position_weight[where[inside]])
    return sums


def _touched(found: list[Feature]) -> BoolArray:
    masks = [piece.at for feature in found for piece in [*feature.pieces, *(feature.among or [])]]
    return np.asarray(np.logical_or.reduce(masks), dtype=np.bool_)


def _parts(found: list[list[Piece]], on_edges: bool, group: IntArray, n_groups: int, scene: Scene) -> Parts:
    """One part for each piece and group."""
    n_labels = len(scene.classes)
    width = n_labels**2 if on_edges else n_labels
    tables, rows = [np.empty((0, width))], [np.empty(0, dtype=np.intp)]
    where, part, n_parts = [np.empty(0, dtype=np.intp)], [np.empty(0, dtype=np.intp)], 0
    for k, listed in enumerate(found):
        for piece in (p for p in listed if p.on_edges == on_edges):
            at = np.flatnonzero(piece.at)
            of_group = group[scene.instance[at]]
            at, of_group = at[of_group >= 0], of_group[of_group >= 0]
            where.append(at)
            part.append(n_parts + of_group)
            n_parts += n_groups
            tables.append(np.tile(piece.table.reshape(1, -1), (n_groups, 1)))
            rows.append(k * n_groups + np.arange(n_groups))
    positions, columns = np.concatenate(where), np.concatenate(part)
    fires = sparse.coo_array((np.ones(len(positions)), (positions, columns)), shape=(scene.inputs.n, n_parts))
    return Parts(sparse.csr_array(fires), np.concatenate(tables), np.concatenate(rows).astype(np.intp))


def _support(constraint: Constraint, feature: Feature, group: IntArray, n: int, scene: Scene) -> FloatArray:
    """c: how often the event could happen, in every group; of a count, how many instances there are."""
    if constraint.event.counts and feature.among is None:
        inside = group >= 0 if constraint.on == "all" else (group >= 0) & scene.unlabelled
        return np.asarray(np.bincount(group[inside], weights=scene.weight[inside], minlength=n), dtype=np.float64)
    places = feature.pieces if feature.among is None else feature.among
    at = np.flatnonzero(np.logical_or.reduce([p.at for p in places]))
    of_group = group[scene.instance[at]]
    at, of_group = at[of_group >= 0], of_group[of_group >= 0]
    return np.asarray(np.bincount(of_group, weights=scene.position_weight[at], minlength=n), dtype=np.float64)


def _groups(constraint: Constraint, fires: BoolArray, scene: Scene) -> tuple[IntArray, list[object]]:
    """The group of every instance (−1: the constraint does not fire there), and the groups' names."""
    n = len(scene.structure)
    if constraint.per == "dataset":
        return np.zeros(n, dtype=np.intp), [None]
    involved = np.unique(scene.instance[fires])
    group = np.full(n, -1, dtype=np.intp)
    if not isinstance(constraint.per, Column):
        group[involved] = np.arange(len(involved))
        return group, [int(i) for i in involved]
    if constraint.event.counts and constraint.of is None:  # a mean over all sequences, with or without a firing
        involved = np.arange(n) if constraint.on == "all" else np.flatnonzero(scene.unlabelled)
    values = scene.inputs.column(constraint.per.name)[scene.structure.first[involved]]
    group[involved], names = _by_value(scene.title(constraint), constraint.per, values, involved, scene.noun)
    return group, names


def _by_value(
    title: str, per: Column, values: npt.NDArray[Any], involved: IntArray, noun: str
) -> tuple[IntArray, list[object]]:
    missing = [int(i) for i, v in zip(involved, values, strict=True) if is_missing(v)]
    if missing:
        raise ConstraintError(
            f"The constraint {title!r} is stated per {per.name!r}, but that column is missing in "
            f"{len(missing)} {noun}s where it applies ({noun} {missing[0]} first). Fill it in, or add a condition that "
            f"leaves these {noun}s out."
        )
    try:
        names, groups = np.unique(values, return_inverse=True)
    except TypeError as error:
        raise ConstraintError(
            f"The constraint {title!r} is stated per {per.name!r}, but that column mixes kinds "
            "of values that have no common order: make it all texts or all numbers."
        ) from error
    return groups.astype(np.intp), list(names.tolist())


def _penalty(
    constraint: Constraint,
    feature: Feature,
    support: FloatArray,
    strength: Strength,
    often: float,
    classes: Sequence[object],
) -> Penalty:
    relation, n = constraint.relation, len(support)
    if isinstance(relation, DistributedAs):
        shares = {match(name, classes): share for name, share in relation.shares}
        return kl(np.full(n, shares.get(feature.component, 0.0)), strength.of(constraint.beta, support))
    if isinstance(relation, About):
        # A share of another event is compared with its target inside the feature, so that 0 is wanted.
        target = relation.target if feature.among is None else 0.0
        power = 1 if relation.penalty == "l1" else 2
        return REGISTRY[relation.penalty](np.full(n, target), strength.of(constraint.beta, support, often, power))
    low, high = relation.interval if feature.among is None else _sign(constraint, feature)
    slack = strength.of(constraint.slack, support, often) if constraint.slack else np.zeros(n)
    return box(np.full(n, low), np.full(n, high), slack)


def _sign(constraint: Constraint, feature: Feature) -> tuple[float, float]:
    """What E[event − u·among] may be."""
    relation = constraint.relation
    low, high = relation.interval
    is_low = isinstance(relation, AtLeast) or (isinstance(relation, Between) and feature.share == low != high)
    is_high = isinstance(relation, AtMost) or (isinstance(relation, Between) and feature.share == high != low)
    return (0.0, np.inf) if is_low else (-np.inf, 0.0) if is_high else (0.0, 0.0)
