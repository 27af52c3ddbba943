"""Constraints that say nothing new on these data.

A hard statement low ≤ m ≤ high follows from others if, under them, min m ≥ low and max m ≤ high: two linear programmes
for each of its expectations. The multipliers name the statements that it follows from. Statements are tried from the
last to the first and left out once found to follow, so that all that are reported could be left out together.

A soft target weighs as much as it is stated often, so it follows from nothing. It is only reported where another soft
one states the same share of the same labels in the same places (or 1 − share of all other labels).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tiltfit.checking.programme import ROUNDING, Programme
from tiltfit.checking.statements import Statement

MOST = 3_000_000
"""Programmes to be solved times their size: from about half a minute on, implications are not looked for."""


@dataclass(frozen=True)
class Implied:
    """The constraint ``number`` follows from ``by``, or repeats them (``soft``). No ``by``: it always holds."""

    number: int
    by: tuple[int, ...]
    soft: bool = False


def find_implied(statements: Sequence[Statement], programme: Programme) -> tuple[Implied, ...]:
    """Of hard statements that have a common solution. ``programme``: that of all the statements."""
    kept = [k for k, s in enumerate(statements) if s.hard]
    found: list[Implied] = []
    for k in reversed(kept.copy()):
        others = [other for other in kept if other != k]
        by = _follows(programme, k, others)
        if by is not None:
            kept.remove(k)
            found.append(Implied(statements[k].number, tuple(statements[other].number for other in by)))
    return tuple(reversed(found))


def cost_of(statements: Sequence[Statement], programme: Programme) -> int:
    """Programmes to be solved times their size."""
    hard = (k for k, s in enumerate(statements) if s.hard)
    return 2 * sum(len(programme.rows_of(k)) for k in hard) * programme.size


def _follows(programme: Programme, statement: int, others: list[int]) -> tuple[int, ...] | None:
    """The others that it follows from, None if it does not."""
    due: set[int] = set()
    for row in programme.rows_of(statement):
        for largest, end in ((False, programme.low[row]), (True, programme.high[row])):
            if not math.isfinite(end):
                continue
            m, by = programme.extreme(int(row), others, largest=largest)
            if (m > end + ROUNDING) if largest else (m < end - ROUNDING):
                return None
            due |= set(by) if _needs(programme, int(row), end, largest=largest) else set()
    return tuple(sorted(due))


def _needs(programme: Programme, row: int, end: float, *, largest: bool) -> bool:
    """Whether the end says anything at all: whether the expectation could lie beyond it if nothing else were stated."""
    m, _ = programme.extreme(row, [], largest=largest)
    return m > end + ROUNDING if largest else m < end - ROUNDING


def find_repeated(statements: Sequence[Statement]) -> tuple[Implied, ...]:
    """Soft statements that say what one before them says."""
    first: dict[object, int] = {}
    found: dict[int, Implied] = {}
    spread = {s.number for s in statements if s.component is not None}  # a distribution is more than each of its shares
    for s in statements:
        if s.hard or s.number in spread:
            continue
        for labels, low, high in ((s.labels, s.low, s.high), (~s.labels, 1 - s.high, 1 - s.low)):
            key = (s.code.tobytes(), s.each, s.known.tobytes(), labels.tobytes(), round(low, 9), round(high, 9))
            if first.setdefault(key, s.number) != s.number and s.number not in found:
                found[s.number] = Implied(s.number, (first[key],), soft=True)
    return tuple(found.values())
