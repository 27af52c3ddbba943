"""One constraint on data: which expectations it speaks of, where they are taken, and which penalty each has.

A constraint has one *feature* (``distributed_as``: one a class; a share of another event between two bounds: one a
bound), and of each feature one *row* for every group it is stated for. Rows of one feature lie on different instances.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tiltfit.arrays import BoolArray, FloatArray, IntArray
from tiltfit.data.inputs import is_missing
from tiltfit.errors import ConstraintError
from tiltfit.features.constraints import Parts
from tiltfit.inference.chain import Chains
from tiltfit.inference.statistic import Statistic
from tiltfit.language.conditions import Column
from tiltfit.language.constraint import Constraint
from tiltfit.language.relations import About, AtLeast, AtMost, Between, DistributedAs
from tiltfit.language.values import match
from tiltfit.penalties.interval import box
from tiltfit.penalties.kl import kl
from tiltfit.penalties.penalty import REGISTRY, Penalty
from tiltfit.penalties.stacked import stack
from tiltfit.projections.expected import Feature, is_local
from tiltfit.projections.occurrences import Piece
from tiltfit.projections.strength import Strength
from tiltfit.samples.sample import Sample


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

    def supports(self, sample: Sample) -> sparse.csr_array:
        """What every instance adds to the support of every row: instances × rows."""
        n = len(self) // len(self.features)
        found = [firing_places(self.constraint, feature, self.group_of, sample) for feature in self.features]
        instance = np.concatenate([i for i, _, _ in found])
        row = np.concatenate([k * n + group for k, (_, group, _) in enumerate(found)])
        weight = np.concatenate([w for _, _, w in found])
        return sparse.csr_array(sparse.coo_array((weight, (instance, row)), shape=(len(sample.structure), len(self))))

    def wakes(self, sample: Sample) -> sparse.csr_array:
        """Instances × rows: where a share of another event might happen itself (nothing for other constraints)."""
        n = len(self) // len(self.features)
        cells = [np.empty((0, 2), dtype=np.intp)]
        for k, piece in ((k, p) for k, feature in enumerate(self.features) for p in feature.event or []):
            instance = np.unique(sample.instance[piece.at & (sample.position_weight > 0)])
            instance = instance[self.group_of[instance] >= 0]
            cells.append(np.column_stack([instance, k * n + self.group_of[instance]]))
        instance, row = np.concatenate(cells).T
        shape = (len(sample.structure), len(self))
        return sparse.csr_array(sparse.coo_array((np.ones(len(row)), (instance, row)), shape=shape))


def is_apart(constraint: Constraint, together: bool) -> bool:
    """Whether prices are found instance by instance. A share of another event is left to the solver of shared rows, and
    so is everything where sequences cannot be inferred one by one at little cost."""
    return is_local(constraint) and constraint.of is None and not together


def make_rows(
    number: int,
    constraint: Constraint,
    found: list[Feature],
    sample: Sample,
    strength: Strength,
    *,
    together: bool = False,
    idle_groups: bool = False,
) -> Rows:
    """The rows of a constraint that fires somewhere. ``idle_groups``: the mean number of something also has rows for
    groups where it is not found, in which it may be found in other parts of the data; and so have shares."""
    group, names = groups(constraint, looked_at(found), sample)
    # A group in which everything is known (on="all") or weighs nothing has nothing to decide. Nor has a share in one
    # where it can never happen: it could only ask that what it is a share of does not happen either.
    open_places = [piece.within(sample.is_open(piece.on_edges)) for feature in found for piece in feature.pieces]
    alive = _weights(open_places, group, len(names), sample) > 0
    if idle_groups and constraint.event.counts and constraint.of is None and not is_local(constraint):
        _, of_group, weight = firing_places(constraint, found[0], group, sample)
        alive |= np.bincount(of_group, weights=weight, minlength=len(names)) > 0
    if found[0].event is not None and (is_local(constraint) or not idle_groups):
        alive &= _weights(found[0].event, group, len(names), sample) > 0
    renumbered = np.where(alive, np.cumsum(alive) - 1, -1)
    group = np.where(group >= 0, renumbered[group], -1)
    names = [name for name, lives in zip(names, alive, strict=True) if lives]
    n = len(names)
    places = (firing_places(constraint, feature, group, sample) for feature in found)
    support = np.concatenate([np.bincount(of, weights=weight, minlength=n) for _, of, weight in places])
    often = strength.rates.get(number, 1.0)
    apart = is_apart(constraint, together)
    unlisted = found[0].statistic is not None or (apart and isinstance(sample.structure, Chains))
    listed = [] if unlisted else found
    return Rows(
        number=number,
        constraint=constraint,
        features=found,
        group_of=group,
        node=_parts([f.pieces for f in listed], False, group, n, sample),
        edge=_parts([f.pieces for f in listed], True, group, n, sample),
        among_node=_parts([f.among or [] for f in listed], False, group, n, sample),
        among_edge=_parts([f.among or [] for f in listed], True, group, n, sample),
        share=np.repeat([f.share for f in found], n),
        component=np.repeat([f.component for f in found], n).astype(np.intp),
        group=tuple(names) * len(found),
        support=support,
        penalty=stack(
            [
                penalty_of(constraint, feature.component, support[k * n : (k + 1) * n], strength, often, sample.classes)
                for k, feature in enumerate(found)
            ]
        ),
        is_apart=apart,
    )


def _weights(places: list[Piece], group: IntArray, n_groups: int, sample: Sample) -> FloatArray:
    """How much weight the places have in every group."""
    sums = np.zeros(n_groups)
    for where in (np.flatnonzero(piece.at) for piece in places):
        of_group = group[sample.instance[where]]
        inside = of_group >= 0
        np.add.at(sums, of_group[inside], sample.position_weight[where[inside]])
    return sums


def looked_at(found: list[Feature]) -> BoolArray:
    """The positions that a constraint speaks of."""
    masks = [piece.at for feature in found for piece in [*feature.pieces, *(feature.among or [])]]
    return np.asarray(np.logical_or.reduce(masks), dtype=np.bool_)


def _parts(found: list[list[Piece]], on_edges: bool, group: IntArray, n_groups: int, sample: Sample) -> Parts:
    """One part for each piece and group."""
    n_labels = len(sample.classes)
    width = n_labels**2 if on_edges else n_labels
    tables, rows = [np.empty((0, width))], [np.empty(0, dtype=np.intp)]
    where, part, n_parts = [np.empty(0, dtype=np.intp)], [np.empty(0, dtype=np.intp)], 0
    for k, listed in enumerate(found):
        for piece in (p for p in listed if p.on_edges == on_edges):
            at = np.flatnonzero(piece.at)
            of_group = group[sample.instance[at]]
            at, of_group = at[of_group >= 0], of_group[of_group >= 0]
            where.append(at)
            part.append(n_parts + of_group)
            n_parts += n_groups
            tables.append(np.tile(piece.table.reshape(1, -1), (n_groups, 1)))
            rows.append(k * n_groups + np.arange(n_groups))
    positions, columns = np.concatenate(where), np.concatenate(part)
    fires = sparse.coo_array((np.ones(len(positions)), (positions, columns)), shape=(sample.inputs.n, n_parts))
    return Parts(sparse.csr_array(fires), np.concatenate(tables), np.concatenate(rows).astype(np.intp))


def firing_places(
    constraint: Constraint, feature: Feature, group: IntArray, sample: Sample
) -> tuple[IntArray, IntArray, FloatArray]:
    """Where the event could happen (of a count: the instances): instance, group and weight of every such place."""
    if constraint.event.counts and feature.among is None:
        inside = np.flatnonzero(group >= 0 if constraint.on == "all" else (group >= 0) & sample.unlabelled)
        return inside, group[inside], sample.weight[inside]
    places = feature.pieces if feature.among is None else feature.among
    at = np.flatnonzero(np.logical_or.reduce([p.at for p in places]))
    of_group = group[sample.instance[at]]
    at, of_group = at[of_group >= 0], of_group[of_group >= 0]
    return sample.instance[at], of_group, sample.position_weight[at]


def groups(constraint: Constraint, fires: BoolArray, sample: Sample) -> tuple[IntArray, list[object]]:
    """The group of every instance (−1: the constraint does not fire there), and the groups' names."""
    n = len(sample.structure)
    if constraint.per == "dataset":
        return np.zeros(n, dtype=np.intp), [None]
    involved = np.unique(sample.instance[fires])
    group = np.full(n, -1, dtype=np.intp)
    if not isinstance(constraint.per, Column):
        group[involved] = np.arange(len(involved))
        return group, [int(i) for i in involved]
    if constraint.event.counts and constraint.of is None:  # a mean over all sequences, with or without a firing
        involved = np.arange(n) if constraint.on == "all" else np.flatnonzero(sample.unlabelled)
    values = sample.inputs.column(constraint.per.name)[sample.structure.first[involved]]
    group[involved], names = _by_value(sample.title(constraint), constraint.per, values, involved, sample.noun)
    return group, names


def _by_value(
    title: str, per: Column, values: npt.NDArray[Any], involved: IntArray, noun: str
) -> tuple[IntArray, list[object]]:
    missing = [int(i) for i, v in zip(involved, values, strict=True) if is_missing(v)]
    if missing:
        raise ConstraintError(
            f"The constraint {title!r} is stated per {per.name!r}, but that column is missing in "
            f"{len(missing)} {noun}s where it applies ({noun} {missing[0]} first). Fill it in, or add a condition that "
            f"leaves these {noun}s out.",
            constraint=title,
            instances=missing,
        )
    try:
        names, groups = np.unique(values, return_inverse=True)
    except TypeError as error:
        raise ConstraintError(
            f"The constraint {title!r} is stated per {per.name!r}, but that column mixes kinds "
            "of values that have no common order: make it all texts or all numbers."
        ) from error
    return groups.astype(np.intp), list(names.tolist())


def penalty_of(
    constraint: Constraint,
    component: int,
    support: FloatArray,
    strength: Strength,
    often: float,
    classes: Sequence[object],
) -> Penalty:
    """U of rows of one feature, which ``component`` names, that have these supports."""
    relation, n = constraint.relation, len(support)
    if isinstance(relation, DistributedAs):
        shares = {match(name, classes): share for name, share in relation.shares}
        return kl(np.full(n, shares.get(component, 0.0)), strength.of(constraint.beta, support))
    if isinstance(relation, About):
        # A share of another event is compared with its target inside the feature, so that 0 is wanted.
        target = relation.target if constraint.of is None else 0.0
        power = 1 if relation.penalty == "l1" else 2
        return REGISTRY[relation.penalty](np.full(n, target), strength.of(constraint.beta, support, often, power))
    low, high = relation.interval if constraint.of is None else _sign(constraint, component)
    slack = strength.of(constraint.slack, support, often) if constraint.slack else np.zeros(n)
    return box(np.full(n, low), np.full(n, high), slack)


def _sign(constraint: Constraint, component: int) -> tuple[float, float]:
    """What E[event − u·among] may be: −1 − component numbers the bound u."""
    relation = constraint.relation
    low, high = relation.interval
    share = sorted(set(relation.numbers))[-1 - component]
    is_low = isinstance(relation, AtLeast) or (isinstance(relation, Between) and share == low != high)
    is_high = isinstance(relation, AtMost) or (isinstance(relation, Between) and share == high != low)
    return (0.0, np.inf) if is_low else (-np.inf, 0.0) if is_high else (0.0, 0.0)
