"""The expectations that a constraint speaks of, and where on the data they are taken."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tiltfit.errors import ConstraintError, UnsupportedError
from tiltfit.inference.statistic import Statistic
from tiltfit.language.constraint import Constraint
from tiltfit.language.relations import DistributedAs
from tiltfit.projections.occurrences import Piece, pieces, statistic_of
from tiltfit.samples.sample import Sample


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


def is_local(constraint: Constraint) -> bool:
    """Whether the constraint is stated for each instance."""
    return constraint.per in ("instance", "sequence")


def features(constraint: Constraint, sample: Sample) -> list[Feature]:
    """The expectations of a constraint, at the places it looks at."""
    classes, structure = sample.classes, sample.structure
    if isinstance(constraint.relation, DistributedAs):
        fires = sample.fires(constraint.given)
        table = np.eye(len(classes))
        return [Feature([_seen(Piece(fires, table[k]), constraint, sample)], k) for k in range(len(classes))]
    statistic = whole_statistic(constraint, classes, sample.title(constraint))
    if statistic is not None:
        return [Feature([_seen(_stand_in(sample), constraint, sample)], statistic=statistic)]
    fires = sample.fires(constraint.where)
    event = [p.within(fires) for p in pieces(constraint.event, classes, structure)]
    if constraint.of is None:
        return [Feature([_seen(p, constraint, sample) for p in event])]
    around = sample.fires(constraint.of.given)
    among = [_seen(p.within(around), constraint, sample) for p in pieces(constraint.of.event, classes, structure)]
    both = list(_both(event, among))
    if both and not any(p.table.any() for p in both):
        raise ConstraintError(
            f"The constraint {sample.title(constraint)!r} is no share: what it speaks of never happens among what of= "
            "names."
        )
    shares = sorted(set(constraint.relation.numbers))
    return [Feature(list(_difference(both, among, u)), -1 - k, among, u, both) for k, u in enumerate(shares)]


def whole_statistic(constraint: Constraint, classes: Sequence[object], title: str) -> Statistic | None:
    """What a constraint on whole sequences counts, None if it is on something else; refuses what cannot be."""
    if constraint.of is not None and (constraint.event.whole or constraint.of.event.whole):
        raise UnsupportedError(
            f"The constraint {title!r} is a share (of=), but what counts whole sequences has no shares: leave of= out."
        )
    if not constraint.event.whole:
        return None
    if constraint.where is not None:
        raise UnsupportedError(
            f"The constraint {title!r} looks at whole sequences, so it takes no condition on tokens. "
            "State it for groups of sequences with per=column(...)."
        )
    statistic = statistic_of(constraint.event, classes)
    beyond = [u for u in constraint.relation.numbers if not statistic.least <= u <= statistic.most]
    if beyond and not constraint.relation.hard:
        raise ConstraintError(
            f"The constraint {title!r} asks for {beyond[0]:g}, but what it counts is always between "
            f"{statistic.least:g} and {statistic.most:g}."
        )
    return statistic


def _stand_in(sample: Sample) -> Piece:
    """One position of every sequence, which stands for the whole of it: the first whose label is unknown."""
    at = np.zeros(sample.inputs.n, dtype=np.bool_)
    first = np.asarray(sample.structure.first)
    at[first] = True
    unknown = np.flatnonzero(sample.open_positions)
    sequence, where = np.unique(sample.instance[unknown], return_index=True)
    at[first[sequence]] = False
    at[unknown[where]] = True
    return Piece(at, np.zeros(len(sample.classes)))


def _seen(piece: Piece, constraint: Constraint, sample: Sample) -> Piece:
    """The part of the data that the constraint speaks of: unknown labels, or all."""
    if is_local(constraint):
        piece = piece.within(sample.structure.spread(sample.unlabelled & (sample.weight > 0)))
    if constraint.on == "all":
        return piece
    if constraint.event.counts and constraint.of is None:
        # A number in a sequence is that in the whole of it, known labels included.
        return piece.within(sample.structure.spread(sample.unlabelled))
    return piece.within(sample.is_open(piece.on_edges))


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
