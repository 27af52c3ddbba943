"""Constraints that say nothing new on these data.

A hard statement low ≤ m ≤ high follows from others if, under them, min m ≥ low and max m ≤ high: two linear programmes
for each of its expectations. The multipliers name the statements that it follows from. Mostly it does not follow, and
a smaller programme shows that: labels are free only where it applies, and stay as in some solution elsewhere.
Statements are tried from the last to the first and left out once found to follow, so that all that are reported could
be left out together.

A soft target weighs as much as it is stated often, so it follows from nothing. It is only reported where another soft
one states the same share of the same labels in the same places (or 1 − share of all other labels).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tiltfit.arrays import FloatArray
from tiltfit.check.programme import ROUNDING, Programme
from tiltfit.check.statements import Statement

MOST = 1_000_000
"""Unknowns and rows of all programmes together, up to a minute: what is not tried by then is not tried."""

_CLEAR = 0.01  # how far beyond an end an expectation must be found for rounding not to matter


@dataclass(frozen=True)
class Implied:
    """The constraint ``number`` follows from ``by``, or repeats them (``soft``). No ``by``: it always holds."""

    number: int
    by: tuple[int, ...]
    soft: bool = False


def find_implied(statements: Sequence[Statement], programme: Programme) -> tuple[tuple[Implied, ...], int]:
    """Of hard statements that have a common solution, and how many were not tried. ``programme``: that of all the
    statements."""
    kept = [k for k, s in enumerate(statements) if s.hard]
    search = _Search(programme, programme.relax(kept).point)
    found: list[Implied] = []
    for done, k in enumerate(reversed(kept.copy())):
        if search.spent > MOST:
            return tuple(reversed(found)), len(kept) + len(found) - done
        by = search.follows(k, [other for other in kept if other != k])
        if by is not None:
            kept.remove(k)
            found.append(Implied(statements[k].number, tuple(statements[other].number for other in by)))
    return tuple(reversed(found)), 0


class _Search:
    """Whether statements follow from others. ``spent``: the size of all programmes solved so far."""

    def __init__(self, programme: Programme, point: FloatArray) -> None:
        self._programme = programme
        self._point = point
        self.spent = 0

    def follows(self, statement: int, others: list[int]) -> tuple[int, ...] | None:
        """The others that it follows from, None if it does not."""
        due: set[int] = set()
        ends = ((False, self._programme.low), (True, self._programme.high))
        for row in self._programme.rows_of(statement).tolist():
            for largest, end in ((largest, float(which[row])) for largest, which in ends):
                if not math.isfinite(end) or not self._is_beyond(self._programme, row, [], end, largest)[0]:
                    continue  # nothing is said, or nothing that could be otherwise
                near = self._programme.around(row, self._point)
                if self._is_beyond(near, row, others, end, largest, _CLEAR)[0]:
                    return None
                beyond, by = self._is_beyond(self._programme, row, others, end, largest)
                if beyond is not False:
                    return None
                due |= set(by)
        return tuple(sorted(due))

    def _is_beyond(
        self, programme: Programme, row: int, others: list[int], end: float, largest: bool, by: float = ROUNDING
    ) -> tuple[bool | None, tuple[int, ...]]:
        """Whether, under the others, the expectation of the row could lie beyond the end (None: rounding does not let
        it be told); and what keeps it from it."""
        if others:
            self.spent += programme.size
            m, due = programme.extreme(row, others, largest=largest)
        else:
            m, due = programme.free(row, largest=largest), ()
        if math.isnan(m):
            return None, due
        return (m > end + by if largest else m < end - by), due


def find_repeated(statements: Sequence[Statement]) -> tuple[Implied, ...]:
    """Soft statements that say what one before them says."""
    first: dict[object, int] = {}
    found: dict[int, Implied] = {}
    spread = {s.number for s in statements if s.component is not None}  # a distribution is more than each of its shares
    for s in statements:
        if s.hard or s.number in spread:
            continue
        for labels, low, high in ((s.labels, s.low, s.high), (~s.labels, 1 - s.high, 1 - s.low)):
            key = (
                s.at.tobytes(),
                s.group.tobytes(),
                s.each,
                s.known.tobytes(),
                labels.tobytes(),
                round(low, 9),
                round(high, 9),
            )
            if first.setdefault(key, s.number) != s.number and s.number not in found:
                found[s.number] = Implied(s.number, (first[key],), soft=True)
    return tuple(found.values())
