"""Statistics of the segments of a label sequence, in a form that kernels evaluate in O(1) per candidate label.

A statistic is a sum of parts, each a function of a count of segments, of short segments, or of which field comes first.
``pack`` gives counts that several statistics share one number (``kernels.form``).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from tiltfit.arrays import FloatArray, IndexArray
from tiltfit.inference.fields import Fields, Segment
from tiltfit.inference.statistic import Labels, Statistic

if TYPE_CHECKING:
    from tiltfit.kernels.form import Form


class Part(ABC):
    """One term of a statistic."""

    @property
    @abstractmethod
    def least(self) -> float:
        """The least value it can have."""

    @property
    @abstractmethod
    def most(self) -> float:
        """The greatest value it can have."""

    @abstractmethod
    def value(self, segments: Sequence[Segment]) -> float: ...
    @abstractmethod
    def negative(self) -> Part:
        """−1 times it."""

    @abstractmethod
    def above_least(self) -> Part | None:
        """The part less its least value, in parts that are never below 0; None if there is no such part."""

    def above(self, bound: float) -> Part | None:
        """max(0, part − bound); None if no part is that."""
        return self.above_least() if bound == self.least else None

    def wrong(self) -> tuple[Part, ...] | None:
        """Parts never below 0 that are all 0 exactly where this one is the most it can be, if simpler ones exist."""
        return None

    def split(self) -> tuple[Part, ...]:
        """Parts with the same sum whose counters are as simple as can be."""
        return (self,)

    @abstractmethod
    def number(self, found: _Numbers) -> None:
        """Enter what it counts, if it is not there yet."""

    @abstractmethod
    def add_to(self, tables: _Tables, k: int) -> None:
        """Add its values to the tables of statistic k."""


@dataclass(frozen=True)
class Counted(Part):
    """h(n),  n the number of segments of these fields together.

    h(0), …, h(C) are ``table``; beyond, h(n) = h(C) + slope·(n − C).
    """

    fields: tuple[int, ...]
    table: tuple[float, ...]
    slope: float = 0.0

    def at(self, n: int) -> float:
        last = len(self.table) - 1
        return self.table[min(n, last)] + self.slope * max(0, n - last)

    def value(self, segments: Sequence[Segment]) -> float:
        return self.at(sum(segment.field in self.fields for segment in segments))

    @property
    def least(self) -> float:
        return min(self.table) if self.slope >= 0 else -math.inf

    @property
    def most(self) -> float:
        return max(self.table) if self.slope <= 0 else math.inf

    def negative(self) -> Counted:
        return Counted(self.fields, tuple(-h for h in self.table), -self.slope)

    def above_least(self) -> Counted:
        return self.above(self.least)

    def above(self, bound: float) -> Counted:
        """The table goes on until h has crossed the bound for good."""
        n = len(self.table) - 1
        while (self.slope > 0.0 and self.at(n) < bound) or (self.slope < 0.0 and self.at(n) > bound):
            n += 1
        table = tuple(max(0.0, self.at(m) - bound) for m in range(n + 1))
        return Counted(self.fields, table, max(0.0, self.slope))

    def split(self) -> tuple[Counted, ...]:
        """A straight line of a sum is a sum of straight lines: it needs no counter of several fields."""
        if len(self.table) > 1 or len(self.fields) < 2:
            return (self,)
        return tuple(Counted((f,), self.table if n == 0 else (0.0,), self.slope) for n, f in enumerate(self.fields))

    def number(self, found: _Numbers) -> None:
        found.counters.setdefault(self.fields, len(found.counters))
        found.longest = max(found.longest, len(self.table))

    def add_to(self, tables: _Tables, k: int) -> None:
        h, j = np.array([self.at(n) for n in range(tables.step.shape[2] + 1)]), tables.numbers.counters[self.fields]
        tables.base[k, j] += h[0]
        tables.step[k, j] += np.diff(h)
        tables.level[k, j] += h[:-1] - h[0]


@dataclass(frozen=True)
class Short(Part):
    """weight · (the number of segments of these fields of fewer than ``below`` tokens)."""

    fields: tuple[int, ...]
    below: int
    weight: float = 1.0

    def value(self, segments: Sequence[Segment]) -> float:
        return self.weight * sum(s.field in self.fields and s.length < self.below for s in segments)

    @property
    def least(self) -> float:
        return 0.0 if self.weight >= 0 else -math.inf

    @property
    def most(self) -> float:
        return 0.0 if self.weight <= 0 else math.inf

    def negative(self) -> Short:
        return replace(self, weight=-self.weight)

    def above_least(self) -> Short:
        return self

    def number(self, found: _Numbers) -> None:
        found.shorts.setdefault((self.fields, self.below), len(found.shorts))

    def add_to(self, tables: _Tables, k: int) -> None:
        tables.short_weight[k, tables.numbers.shorts[self.fields, self.below]] += self.weight


@dataclass(frozen=True)
class Order(Part):
    """weight if both fields appear and the first segment of ``first`` starts before the first of ``then``, else 0."""

    first: int
    then: int
    weight: float = 1.0

    def value(self, segments: Sequence[Segment]) -> float:
        seen = [s.field for s in segments if s.field in (self.first, self.then)]
        return self.weight if self.first != self.then and seen and seen[0] == self.first and self.then in seen else 0.0

    @property
    def least(self) -> float:
        return min(0.0, self.weight)

    @property
    def most(self) -> float:
        return max(0.0, self.weight)

    def negative(self) -> Order:
        return replace(self, weight=-self.weight)

    def above_least(self) -> Order | None:
        return self if self.weight >= 0 else None

    def wrong(self) -> tuple[Part, ...] | None:
        """The other order, and either field missing."""
        if self.weight <= 0 or self.first == self.then:
            return None
        absent = (Counted((f,), (1.0, 0.0)) for f in (self.first, self.then))
        return (Order(self.then, self.first), *absent)

    def number(self, found: _Numbers) -> None:
        found.orders.setdefault((self.first, self.then), len(found.orders))

    def add_to(self, tables: _Tables, k: int) -> None:
        tables.order_weight[k, tables.numbers.orders[self.first, self.then]] += self.weight


@dataclass(frozen=True, eq=False)
class Segmental(Statistic):
    """g(y) = Σ parts: a sum of functions of counts of segments, of short segments, and of which field comes first.

    >>> fields = Fields.plain(["author", "title"])
    >>> twice = Segmental("author twice", fields, (Counted((0,), (0.0, 0.0, 1.0)),))
    >>> import numpy as np
    >>> twice.count(np.array([0, 1, 0])), twice.change(np.array([0, 1, 0]), 1, 0)
    (1.0, -1.0)
    """

    name: str
    fields: Fields
    parts: tuple[Part, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "least", sum(part.least for part in self.parts))
        object.__setattr__(self, "most", sum(part.most for part in self.parts))

    @property
    def segmental(self) -> Segmental:
        return self

    @property
    def may_be_negative(self) -> bool:
        return any(part.least < 0.0 for part in self.parts)

    def count(self, labels: Labels) -> float:
        segments = self.fields.segments(labels)
        return float(sum(part.value(segments) for part in self.parts))


@dataclass
class _Numbers:
    """The number of every counter (a set of fields), short and order that occurs; the longest table."""

    counters: dict[tuple[int, ...], int] = field(default_factory=dict)
    shorts: dict[tuple[tuple[int, ...], int], int] = field(default_factory=dict)
    orders: dict[tuple[int, int], int] = field(default_factory=dict)
    longest: int = 1


@dataclass
class _Tables:
    """The terms of statistics by these numbers, as in ``kernels.form.Form``."""

    numbers: _Numbers
    base: FloatArray
    step: FloatArray
    level: FloatArray
    short_weight: FloatArray
    order_weight: FloatArray


def pack(statistics: Sequence[Segmental]) -> Form:
    """Statistics as kernels take them: at least one, all of the same fields."""
    from tiltfit.kernels.form import Form

    fields, n = statistics[0].fields, len(statistics)
    parts = [[simple for part in statistic.parts for simple in part.split()] for statistic in statistics]
    numbers = _Numbers()
    for part in (part for several in parts for part in several):
        part.number(numbers)
    sets, shorts, orders = numbers.counters, numbers.shorts, numbers.orders
    step, level = np.zeros((2, n, len(sets), numbers.longest))
    tables = _Tables(
        numbers, np.zeros((n, len(sets))), step, level, np.zeros((n, len(shorts))), np.zeros((n, len(orders)))
    )
    for k, several in enumerate(parts):
        for part in several:
            part.add_to(tables, k)
    n_fields, n_labels = len(fields.names), fields.n_labels
    continues = np.zeros((n_labels + 1, n_labels + 1), dtype=np.uint8)
    continues[:-1, :-1] = fields.continues
    counters = [[j for members, j in sets.items() if f in members] for f in range(n_fields)] + [[]]
    field = np.where(fields.field < 0, n_fields, fields.field)
    shared = [{f, *(g for members in sets for g in members if f in members)} for f in range(n_fields + 1)]
    sharing = [[y for y in range(n_labels) if field[y] in group] for group in shared]
    members = [np.flatnonzero(field == f).tolist() for f in range(n_fields + 1)]
    member = np.array([[f in members for f in range(n_fields + 1)] for members, _ in shorts], dtype=np.uint8)
    return Form(
        continues,
        np.append(field, n_fields).astype(np.uint32),
        np.ascontiguousarray(_padded(counters, len(sets))[:, : max(1, *map(len, counters))]),
        _padded([np.flatnonzero(row).tolist() for row in (*continues, *continues.T)] + sharing + members, n_labels),
        _caps(step),
        tables.base,
        step,
        level,
        member.reshape(len(shorts), n_fields + 1),
        np.array([below for _, below in shorts], dtype=np.int64),
        tables.short_weight,
        np.array([first for first, _ in orders], dtype=np.int64),
        np.array([then for _, then in orders], dtype=np.int64),
        tables.order_weight,
    )


def _padded(lists: list[list[int]], end: int) -> IndexArray:
    """One row per list, each followed by ``end``."""
    rows = np.full((len(lists), max(map(len, lists), default=0) + 1), end, dtype=np.uint32)
    for row, values in zip(rows, lists, strict=True):
        row[: len(values)] = values
    return rows


def _caps(step: FloatArray) -> IndexArray:
    """By counter: from where on the steps of all statistics are the same."""
    n_counters, longest = step.shape[1:]
    caps = np.zeros(n_counters, dtype=np.int64)
    for j in range(n_counters):
        for n in range(longest - 1, 0, -1):
            if np.any(step[:, j, n - 1] != step[:, j, n]):
                caps[j] = n
                break
    return caps
