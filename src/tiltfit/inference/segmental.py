"""Statistics of the segments of a label sequence, in a form that kernels evaluate in O(1) a candidate label."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tiltfit.inference.fields import Fields, Segment
from tiltfit.inference.statistic import Labels, Statistic


@dataclass(frozen=True)
class Counted:
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


@dataclass(frozen=True)
class Short:
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


@dataclass(frozen=True)
class Order:
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


@dataclass(frozen=True, eq=False)
class Segmental(Statistic):
    """g(y) = Σ parts: a sum of functions of counts of segments, of short segments, and of who comes first.

    >>> fields = Fields.plain(["author", "title"])
    >>> twice = Segmental("author twice", fields, (Counted((0,), (0.0, 0.0, 1.0)),))
    >>> import numpy as np
    >>> twice.count(np.array([0, 1, 0])), twice.change(np.array([0, 1, 0]), 1, 0)
    (1.0, -1.0)
    """

    name: str
    fields: Fields
    parts: tuple[Counted | Short | Order, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "least", sum(part.least for part in self.parts))
        object.__setattr__(self, "most", sum(part.most for part in self.parts))

    def count(self, labels: Labels) -> float:
        segments = self.fields.segments(labels)
        return float(sum(part.value(segments) for part in self.parts))
