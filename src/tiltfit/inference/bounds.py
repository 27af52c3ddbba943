"""Statistics by how far they are beyond a bound: forbidden at a price of −inf, they make the bound a hard one."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tiltfit.inference.segmental import Counted, Order, Segmental, Short
from tiltfit.inference.statistic import Labels, Statistic


def excess(statistic: Statistic, above: float) -> Statistic:
    """max(0, g(y) − above): 0 where the statistic is at most ``above``.

    Segmental, so that kernels know it, if the statistic is one function of a count of segments (``Counted``), or if
    ``above`` is the least it can be. A bound on any other sum is known to Python alone: slower, and never exact.

    >>> from tiltfit.inference.fields import Fields
    >>> from tiltfit.inference.statistics import repeats
    >>> import numpy as np
    >>> twice = excess(repeats(Fields.plain("ab"), ["a"]), 1)  # three segments of a, or more
    >>> twice.name, twice.count(np.array([0, 1, 0])), twice.count(np.array([0, 1, 0, 1, 0]))
    ('repeats above 1', 0.0, 1.0)
    """
    name = f"{statistic.name} above {above:g}"
    if isinstance(statistic, Segmental):
        parts = _beyond(statistic.parts, above)
        if parts is not None:
            return Segmental(name, statistic.fields, parts)
    return Beyond(name, statistic, above, 1.0)


def shortfall(statistic: Statistic, below: float) -> Statistic:
    """max(0, below − g(y)): 0 where the statistic is at least ``below``. As ``excess``, for −g above −below."""
    name = f"{statistic.name} below {below:g}"
    if isinstance(statistic, Segmental):
        parts = _beyond(tuple(_negative(part) for part in statistic.parts), -below)
        if parts is not None:
            return Segmental(name, statistic.fields, parts)
    return Beyond(name, statistic, -below, -1.0)


def below_most(statistic: Statistic) -> Statistic:
    """Above 0 exactly where the statistic is below the most it can be: forbidden, it must be the most.

    By how far, as ``shortfall`` says; of an order, by how many things are wrong with it (the first field is missing,
    the second is, or it comes first), which kernels know.
    """
    part = statistic.parts[0] if isinstance(statistic, Segmental) and len(statistic.parts) == 1 else None
    if isinstance(statistic, Segmental) and isinstance(part, Order) and part.weight > 0 and part.first != part.then:
        absent = (Counted((field,), (1.0, 0.0)) for field in (part.first, part.then))
        name = f"{statistic.name} below {statistic.most:g}"
        return Segmental(name, statistic.fields, (Order(part.then, part.first), *absent))
    return shortfall(statistic, statistic.most)


@dataclass(frozen=True, eq=False)
class Beyond(Statistic):
    """max(0, sign·g(y) − above)."""

    name: str
    statistic: Statistic
    above: float
    sign: float
    least = 0.0

    def count(self, labels: Labels) -> float:
        return max(0.0, self.sign * self.statistic.count(labels) - self.above)

    def change(self, labels: Labels, t: int, label: int) -> float:
        value = self.sign * self.statistic.count(labels) - self.above
        return max(0.0, value + self.sign * self.statistic.change(labels, t, label)) - max(0.0, value)


Part = Counted | Short | Order


def _negative(part: Part) -> Part:
    if isinstance(part, Counted):
        return Counted(part.fields, tuple(-h for h in part.table), -part.slope)
    return replace(part, weight=-part.weight)


def _beyond(parts: tuple[Part, ...], above: float) -> tuple[Part, ...] | None:
    """Parts that add up to max(0, Σ parts − above), none of them ever below 0; None if there are no such parts."""
    if len(parts) == 1 and isinstance(parts[0], Counted):
        return (_counted(parts[0], above),)
    if sum(part.least for part in parts) == above and not any(isinstance(p, Order) and p.weight < 0 for p in parts):
        return tuple(_counted(part, part.least) if isinstance(part, Counted) else part for part in parts)
    return None


def _counted(part: Counted, above: float) -> Counted:
    """max(0, h(n) − above): the table goes on until h has crossed the bound for good."""
    n = len(part.table) - 1
    while (part.slope > 0.0 and part.at(n) < above) or (part.slope < 0.0 and part.at(n) > above):
        n += 1
    table = tuple(max(0.0, part.at(m) - above) for m in range(n + 1))
    return Counted(part.fields, table, max(0.0, part.slope))
