"""Constraints as statements about the label of single positions: where, which labels, between which shares."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tiltfit.checking.data import Data
from tiltfit.checking.support import places_of
from tiltfit.inference.chain import Chains
from tiltfit.language.conditions import Column
from tiltfit.language.constraint import Constraint, ConstraintSet
from tiltfit.language.event import Event, Labels
from tiltfit.language.events import End, Start
from tiltfit.language.relations import DistributedAs
from tiltfit.language.values import Label, match
from tiltfit.projections.expected import is_local

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]
BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Statement:
    """low ≤ m ≤ high for the share m of ``labels`` (a mask over the classes) in every group of positions.

    ``number``: of its constraint; ``component``: the class of a distribution, else None. ``code``: the group of every
    position whose label is open and which the constraint speaks of, else −1. ``count``: the size of each group,
    ``known``: how many known labels of it are among ``labels`` (both count known labels only under ``on="all"``).
    ``each``: it is stated of every single position, and ``code`` is 0 there. ``hard``: it must hold; a soft one is
    stated as low = high = target.
    """

    number: int
    code: IntArray
    labels: BoolArray
    low: float
    high: float
    hard: bool
    count: FloatArray
    known: FloatArray
    each: bool = False
    component: Label | None = None


def is_local_event(event: Event) -> bool:
    """Whether an event is about the label of one position: of any, of the first or of the last."""
    return isinstance(event, Labels | Start | End)


def states_labels(constraint: Constraint) -> bool:
    """Whether it speaks of labels of single positions, and so can be stated in a linear programme over them."""
    return constraint.of is None and is_local_event(constraint.event)


def statements_of(constraints: ConstraintSet, data: Data, usable: tuple[int, ...]) -> list[Statement]:
    """Those constraints that speak of labels of single positions and that find an open one."""
    found = (s for k in usable if states_labels(constraints[k]) for s in _statements(k, constraints[k], data))
    return [s for s in found if len(s.count)]


def _statements(number: int, constraint: Constraint, data: Data) -> Iterator[Statement]:
    classes: list[Any] = list(data.scene.classes)
    relation = constraint.relation
    if isinstance(relation, DistributedAs):
        shares = {match(name, classes): share for name, share in relation.shares}
        for k in range(len(classes)):
            target = shares.get(k, 0.0)
            yield _statement(number, constraint, data, np.arange(len(classes)) == k, (target, target), classes[k])
        return
    labels = np.isin(np.arange(len(classes)), np.array([match(name, classes) for name in constraint.event.names]))
    if relation.hard:
        yield _statement(number, constraint, data, labels, relation.interval)
    else:
        (target,) = relation.numbers
        yield _statement(number, constraint, data, labels, (target, target))


def _statement(
    number: int,
    constraint: Constraint,
    data: Data,
    labels: BoolArray,
    ends: tuple[float, float],
    component: Label | None = None,
) -> Statement:
    group, each = _groups(constraint, data)
    looked_at = places_of(constraint, data)[0]
    is_open = data.open_positions
    counted = looked_at if constraint.on == "all" and not each else looked_at & is_open
    which, code = np.unique(group[counted], return_inverse=True)
    codes = np.full(data.n, -1, dtype=np.intp)
    codes[counted] = code
    hits = counted & ~is_open & labels[data.scene.labels]  # a label is known where it is not open
    known = np.bincount(codes[hits], minlength=len(which)).astype(np.float64)
    count = np.bincount(codes[counted], minlength=len(which)).astype(np.float64)
    codes[~is_open] = -1
    return Statement(number, codes, labels, *ends, constraint.is_hard, count, known, each, component)


def _groups(constraint: Constraint, data: Data) -> tuple[IntArray, bool]:
    """The group of every position, and whether each position is one."""
    if isinstance(constraint.per, Column):
        values = data.scene.inputs.column(constraint.per.name)
        return np.unique(values.astype(str), return_inverse=True)[1].astype(np.intp), False
    if not is_local(constraint):
        return np.zeros(data.n, dtype=np.intp), False
    if isinstance(data.scene.structure, Chains) and isinstance(constraint.event, Labels):
        return data.scene.instance, False
    return np.zeros(data.n, dtype=np.intp), True  # documents, and the first or last token of sequences
