"""Statistics by how far they are beyond a bound: forbidden at a price of −inf, they make the bound a hard one."""

from __future__ import annotations

from dataclasses import dataclass

from tiltfit.inference.segmental import Segmental
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
    return _beyond(statistic, f"{statistic.name} above {above:g}", above, 1.0)


def shortfall(statistic: Statistic, below: float) -> Statistic:
    """max(0, below − g(y)): 0 where the statistic is at least ``below``. As ``excess``, for −g above −below."""
    return _beyond(statistic, f"{statistic.name} below {below:g}", -below, -1.0)


def below_most(statistic: Statistic) -> Statistic:
    """Above 0 exactly where the statistic is below the most it can be: forbidden, it must be the most.

    By how far, as ``shortfall`` says; of an order, by how many things are wrong with it (the first field is missing,
    the second is, or it comes first), which kernels know.
    """
    known = statistic.segmental
    if known is not None and len(known.parts) == 1:
        wrong = known.parts[0].wrong()
        if wrong is not None:
            return Segmental(f"{statistic.name} below {statistic.most:g}", known.fields, wrong)
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


def _beyond(statistic: Statistic, name: str, above: float, sign: float) -> Statistic:
    """max(0, sign·g − above), in parts that are never below 0 where there are such parts."""
    known = statistic.segmental
    if known is not None:
        parts = tuple(part.negative() for part in known.parts) if sign < 0 else known.parts
        if len(parts) == 1:
            found = [parts[0].above(above)]
        elif sum(part.least for part in parts) == above:
            found = [part.above_least() for part in parts]
        else:
            found = [None]
        kept = tuple(part for part in found if part is not None)
        if len(kept) == len(found):
            return Segmental(name, known.fields, kept)
    return Beyond(name, statistic, above, sign)
