"""Constraints as statements about the label of single positions: where, which labels, between which shares."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tiltfit.arrays import BoolArray, FloatArray, IntArray
from tiltfit.check.data import Data
from tiltfit.check.support import places_of
from tiltfit.language.conditions import Column
from tiltfit.language.constraint import Constraint, ConstraintSet
from tiltfit.language.event import indicator
from tiltfit.language.values import Label


@dataclass(frozen=True, eq=False)
class Statement:
    """low ≤ m ≤ high for the share m of ``labels`` (a mask over the classes) in every group of positions.

    ``number``: of its constraint; ``component``: the class of a distribution, else None. ``at``: the positions that the
    constraint speaks of and whose label is open, ``group``: the group of each. ``count``: the size of each group,
    ``known``: how many known labels of it are among ``labels`` (both count known labels only under ``on="all"``).
    ``each``: it is stated of every single position, and there is one group. ``hard``: it must hold; a soft one is
    stated as low = high = target.
    """

    number: int
    at: IntArray
    group: IntArray
    labels: BoolArray
    low: float
    high: float
    hard: bool
    count: FloatArray
    known: FloatArray
    each: bool = False
    component: Label | None = None


def states_labels(constraint: Constraint) -> bool:
    """Whether it is about labels of single positions, so it can be stated in a linear programme over them."""
    return constraint.of is None and constraint.event.place is not None


def statements_of(constraints: ConstraintSet, data: Data, usable: tuple[int, ...]) -> list[Statement]:
    """Those constraints that speak of labels of single positions and that find an open one."""
    found = (s for k in usable if states_labels(constraints[k]) for s in _statements(k, constraints[k], data))
    return [s for s in found if len(s.count)]


def _statements(number: int, constraint: Constraint, data: Data) -> Iterator[Statement]:
    group, each = _groups(constraint, data)
    looked_at, is_open = places_of(constraint, data)[0], data.open_positions
    counted = np.flatnonzero(looked_at if constraint.on == "all" and not each else looked_at & is_open)
    which, code = np.unique(group[counted], return_inverse=True)
    count = np.bincount(code, minlength=len(which)).astype(np.float64)
    mine = is_open[counted]
    for labels, (low, high), component in _stated(constraint, list(data.sample.classes)):
        hits = ~mine & labels[data.sample.labels[counted]]  # a label is known where it is not open
        known = np.bincount(code[hits], minlength=len(which)).astype(np.float64)
        yield Statement(
            number, counted[mine], code[mine], labels, low, high, constraint.is_hard, count, known, each, component
        )


Stated = tuple[BoolArray, tuple[float, float], Label | None]


def _stated(constraint: Constraint, classes: list[Any]) -> Iterator[Stated]:
    """The labels, between which shares they must lie, and the class if it is a part of a distribution."""
    named = indicator(constraint.event.names, classes) > 0
    for target in constraint.targets(classes):
        labels = named if target.label is None else np.arange(len(classes)) == target.number
        yield labels, (target.low, target.high), target.label


def _groups(constraint: Constraint, data: Data) -> tuple[IntArray, bool]:
    """The group of every position, and whether each position is one."""
    if isinstance(constraint.per, Column):
        values = data.sample.inputs.column(constraint.per.name)
        return np.unique(values.astype(str), return_inverse=True)[1].astype(np.intp), False
    if not constraint.is_local:
        return np.zeros(data.n, dtype=np.intp), False
    if data.is_sequences and constraint.event.place == "all":
        return data.sample.instance, False
    return np.zeros(data.n, dtype=np.intp), True  # documents, and the first or last token of sequences
