"""Constraints on statistics of whole sequences by brute force: what they count, said once more over all labellings.

``Counted`` fits into the oracle of local constraints (``sequences``): a whole-sequence statement is looked at once in
every sequence, and is open as long as anything in the sequence is unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from tests.oracles import sequences as oracle
from tests.oracles.sequences import Row, Said, World, chunks

Count = Callable[[Sequence[str]], float]


@dataclass(frozen=True, eq=False)
class Counted(Said):
    """A constraint on ``number(y)``, a number that a whole label sequence has."""

    place: str = "first"
    number: Count = field(default=lambda y: 0.0)

    def is_open(self, world: World, s: int, t: int) -> bool:
        return world.undecided(s)

    def count(self, world: World, s: int, y: Sequence[str]) -> float:
        return self.number(y) if self.looked_at(world, s) else 0.0


def _lengths(y: Sequence[str], name: str) -> list[int]:
    """The lengths of the segments of a field, from left to right."""
    return [last - first + 1 for first, last, found in chunks(y) if found == name]


def repeats(*names: str, beyond: int = 1) -> Count:
    return lambda y: float(sum(max(0, len(_lengths(y, name)) - beyond) for name in names))


def appears(*names: str) -> Count:
    return lambda y: float(any(_lengths(y, name) for name in names))


def missing(*names: str) -> Count:
    return lambda y: float(sum(not _lengths(y, name) for name in names))


def distinct(*names: str) -> Count:
    return lambda y: float(sum(bool(_lengths(y, name)) for name in names))


def capped(*names: str, cap: int) -> Count:
    return lambda y: float(min(cap, sum(len(_lengths(y, name)) for name in names)))


def short(*names: str, below: int) -> Count:
    return lambda y: float(sum(length < below for name in names for length in _lengths(y, name)))


def before(first: str, then: str) -> Count:
    def number(y: Sequence[str]) -> float:
        order = [name for _, _, name in chunks(y) if name in (first, then)]
        return float(first in order and then in order and order[0] == first)

    return number


def rows_of(world: World, statements: Sequence[Said], ruled: Sequence[int] = (), scale: str = "unit") -> list[Row]:
    """The rows of all statements that are no rules, in the order of the statements."""
    return [
        row
        for number, said in enumerate(statements)
        if number not in ruled
        for row in oracle.rows(world, number, said, scale)
    ]


def reach(world: World, said: Said, banned: Callable[[int, Sequence[str]], bool] | None = None) -> tuple[float, float]:
    """The least and the greatest m that every row of the statement can have by itself."""
    allowed = oracle.allowed_by(world, banned)
    ends = []
    for row in oracle.rows(world, 0, said):
        sums = np.zeros(2)
        for s in range(world.n):
            if row.f[s] is not None:
                values = row.f[s][allowed[s]]
                sums += world.weights[s] * np.array([values.min(), values.max()])
        ends.append(sums / row.support)
    low, high = np.array(ends).T
    ends_ = sorted([float(low.max()), float(high.min())])
    return ends_[0], ends_[1]
