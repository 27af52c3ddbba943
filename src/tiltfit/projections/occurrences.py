"""Where an event can happen, and which labels make it happen: events as tables over labels and pairs of labels.

    f′(x, y) = Σ_t 1[fires at t]·table[y_t]   or   Σ_t 1[fires at t]·table[y_{t−1}, y_t]

A piece is one such sum. Most events have one; a segment begins at the start of a sequence or on an edge.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import singledispatch

import numpy as np

from tiltfit.arrays import BoolArray, FloatArray, IntArray
from tiltfit.errors import UnsupportedError
from tiltfit.inference.chain import Chains
from tiltfit.inference.fields import Fields
from tiltfit.inference.independent import Independent
from tiltfit.inference.segmental import Segmental
from tiltfit.inference.statistic import Statistic, check_statistic
from tiltfit.inference.statistics import build
from tiltfit.language.counts import Repeats, Segments
from tiltfit.language.counts import Statistic as NamedStatistic
from tiltfit.language.event import Event, Labels
from tiltfit.language.events import Change, End, Start, Stay, Transition
from tiltfit.language.scheme import continues, is_scheme, parse
from tiltfit.language.values import match


@dataclass(frozen=True, eq=False)
class Piece:
    """``at``: the positions where it is looked at. ``table``: over labels (of the position) or pairs (of the edge that
    leads to it)."""

    at: BoolArray
    table: FloatArray

    @property
    def on_edges(self) -> bool:
        return self.table.ndim == 2

    def within(self, at: BoolArray) -> Piece:
        """Only where ``at`` holds, too."""
        return replace(self, at=self.at & at)


def pieces(event: Event, classes: Sequence[object], structure: Independent | Chains) -> list[Piece]:
    """The event as tables, at every position where it could happen."""
    n = int(structure.positions(np.arange(len(structure))).size)
    first = _mask(n, structure.first)
    where = {"all": np.ones(n, dtype=np.bool_), "first": first, "last": _mask(n, structure.last), "edge": ~first}
    return [Piece(where[place], table) for place, table in _tables(event, classes)]


def statistic_of(event: Event, classes: Sequence[object]) -> Statistic:
    """What an event of whole sequences counts; checked, if somebody wrote it."""
    tags = [(parse(c) or ("", None))[1] if is_scheme(classes) else c for c in classes]
    fields = Fields.of(tags, continues(classes))
    if isinstance(event, Repeats):
        return build("repeats", fields, labels=event.labels)
    assert isinstance(event, NamedStatistic)
    found = build(event.name, fields, **dict(event.options))
    if not isinstance(found, Segmental):
        check_statistic(found, len(classes))
    return found


Tables = list[tuple[str, FloatArray]]


@singledispatch
def _tables(event: Event, classes: Sequence[object]) -> Tables:
    raise UnsupportedError(
        f"{event.code[0]}({event.code[1]}) is no sum over tokens and edges, so there is no share of it: leave of= out."
    )


@_tables.register
def _(event: Labels, classes: Sequence[object]) -> Tables:
    return [("all", _vector(event.labels, classes))]


@_tables.register
def _(event: Start, classes: Sequence[object]) -> Tables:
    return [("first", _vector(event.labels, classes))]


@_tables.register
def _(event: End, classes: Sequence[object]) -> Tables:
    return [("last", _vector(event.labels, classes))]


@_tables.register
def _(event: Stay, classes: Sequence[object]) -> Tables:
    return [("edge", continues(classes).astype(np.float64))]


@_tables.register
def _(event: Change, classes: Sequence[object]) -> Tables:
    return [("edge", (~continues(classes)).astype(np.float64))]


@_tables.register
def _(event: Transition, classes: Sequence[object]) -> Tables:
    return [("edge", np.outer(_vector((event.before,), classes), _vector((event.after,), classes)))]


@_tables.register
def _(event: Segments, classes: Sequence[object]) -> Tables:
    inside = _of_field(event.label, classes)
    return [("first", inside), ("edge", inside[None, :] * ~continues(classes))]


def _of_field(name: object, classes: Sequence[object]) -> FloatArray:
    """1 for the labels of a field: itself, or in a scheme the tags of that entity."""
    if match(name, classes) is not None:  # type: ignore[arg-type]
        return _vector((name,), classes)
    return np.array([float((parse(c) or ("", None))[1] == name) for c in classes])


def _vector(names: Sequence[object], classes: Sequence[object]) -> FloatArray:
    vector = np.zeros(len(classes))
    for name in names:
        found = match(name, classes)  # type: ignore[arg-type]
        assert found is not None  # ConstraintSet.check_labels has seen to it
        vector[found] = 1.0
    return vector


def _mask(n: int, places: IntArray) -> BoolArray:
    mask = np.zeros(n, dtype=np.bool_)
    mask[places] = True
    return mask
