"""Hard constraints that cannot hold together on these data: which ones, and how little they must give way.

    conflict     a set of statements without a solution, every proper part of which has one
    relaxation   min Σ_k (down_k + up_k)  such that  low_k − down_k ≤ m_k ≤ high_k + up_k  has a solution
    tension      the same for soft targets, while the hard statements hold

A conflict is found by halving (QuickXplain; Junker 2004), among the statements that the multipliers of the relaxation
name: they are a proof that there is no solution, and those with the largest are tried first. Further conflicts are
looked for among the statements that are in none so far.

Other constraints say nothing new on these data.

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

from tiltfit.arrays import BoolArray, FloatArray
from tiltfit.check.programme import ROUNDING, Programme, Statement
from tiltfit.language.constraint import Constraint, ConstraintSet
from tiltfit.language.prose import percent, show
from tiltfit.language.relations import AtLeast, AtMost, Between, Relation

MOST = 60_000
"""Unknowns and rows of the largest programme that is tried: some seconds a solution."""

MOST_CONFLICTS = 10
"""Sets of constraints that cannot hold together, at most: by then it is time to repair some."""

_DIGITS = 1000  # targets that would do are rounded outwards to thousandths
_FELT = 0.005  # soft targets that must miss by less in total are near enough


@dataclass(frozen=True)
class Change:
    """The constraint ``number`` would hold with the relation ``to`` (the target ``said`` would have to give way by
    ``by``)."""

    number: int
    said: str
    to: str
    by: float
    interval: tuple[float, float]


@dataclass(frozen=True)
class Feasibility:
    """``asked``: how many hard constraints were looked at together. ``conflicts``: numbers of constraints that cannot
    hold together; of each, all but one could. ``relaxation``: the smallest change after which all hold. ``tension``:
    soft targets that cannot be met all at once, and what would be nearest in total. ``skipped``: why nothing was
    found out, if so."""

    asked: int = 0
    conflicts: tuple[tuple[int, ...], ...] = ()
    relaxation: tuple[Change, ...] = ()
    tension: tuple[Change, ...] = ()
    skipped: str | None = None


def examine(
    constraints: ConstraintSet, statements: Sequence[Statement], banned: BoolArray | None
) -> tuple[Feasibility, tuple[Implied, ...], int]:
    """Conflicts, what follows from what, and for how many that was not tried; without the soft statements where these
    make it too large."""
    if not statements:
        return Feasibility(), (), 0
    programme = Programme.of(statements, banned)
    hard = [s for s in statements if s.hard]
    if programme.size > MOST and hard:
        statements, programme = hard, Programme.of(hard, banned)
    if programme.size > MOST:
        patterns, columns = programme.shape
        skipped = (
            f"{patterns:,} different combinations of constraints fire, times {columns} labels: more than the "
            f"{MOST:,} that are tried. Check on a part of the data, or fewer constraints at a time"
        )
        return Feasibility(skipped=skipped), (), 0
    found = find_conflicts(constraints, statements, programme, banned)
    # From what cannot be, anything follows.
    return (found, (), 0) if found.conflicts else (found, *find_implied(statements, programme))


def find_conflicts(
    constraints: ConstraintSet, statements: Sequence[Statement], programme: Programme, banned: BoolArray | None
) -> Feasibility:
    """``programme``: that of the statements."""
    hard = [k for k, s in enumerate(statements) if s.hard]
    relaxed = programme.relax(hard)
    if relaxed.total <= ROUNDING:
        return Feasibility(len(hard), tension=_tension(constraints, statements, programme, hard))
    found: list[tuple[int, ...]] = []
    left, here, search = list(hard), relaxed, _Conflicts(statements, banned)
    while here.total > ROUNDING and len(found) < MOST_CONFLICTS:
        # Where rounding hides a conflict of a few, all of them are one.
        core = search.minimal(here.active) or search.minimal(left) or tuple(left)
        found.append(core)
        left = [k for k in left if k not in core]
        here = programme.relax(left)
    changes = [
        _change(statements[k], constraints[statements[k].number], float(relaxed.down[k]), float(relaxed.up[k]))
        for k in hard
        if max(relaxed.down[k], relaxed.up[k]) > ROUNDING
    ]
    conflicts = tuple(tuple(statements[k].number for k in core) for core in found)
    return Feasibility(len(hard), conflicts, tuple(sorted(changes, key=lambda c: -c.by)))


class _Conflicts:
    """Looks for minimal sets without a solution. Few statements have few patterns, so that their programme is small."""

    def __init__(self, statements: Sequence[Statement], banned: BoolArray | None) -> None:
        self._statements = statements
        self._banned = banned

    def minimal(self, among: Sequence[int]) -> tuple[int, ...]:
        """A conflict among these, nothing if they have a solution."""
        if not among or self._has_solution(among):
            return ()
        return tuple(sorted(self._explain([], among, is_new=False)))

    def _explain(self, base: Sequence[int], candidates: Sequence[int], *, is_new: bool) -> list[int]:
        """The candidates that it takes for the base to have no solution. ``is_new``: something was added to it."""
        if is_new and not self._has_solution(base):
            return []
        if len(candidates) == 1:
            return list(candidates)
        half = len(candidates) // 2
        first, second = candidates[:half], candidates[half:]
        late = self._explain([*base, *first], second, is_new=True)
        return [*self._explain([*base, *late], first, is_new=bool(late)), *late]

    def _has_solution(self, some: Sequence[int]) -> bool:
        return Programme.of([self._statements[k] for k in some], self._banned).is_feasible(range(len(some)))


def _tension(
    constraints: ConstraintSet, statements: Sequence[Statement], programme: Programme, hard: list[int]
) -> tuple[Change, ...]:
    soft = [k for k, s in enumerate(statements) if not s.hard]
    relaxed = programme.relax(soft, hard)
    if not soft or relaxed.total <= _FELT:
        return ()
    changes = [
        _nearest(statements[k], constraints[statements[k].number], float(relaxed.down[k]), float(relaxed.up[k]))
        for k in soft
        if max(relaxed.down[k], relaxed.up[k]) > _FELT / 2
    ]
    return tuple(sorted(changes, key=lambda c: -c.by))


def _change(statement: Statement, constraint: Constraint, down: float, up: float) -> Change:
    # What is a thousandth but for rounding stays one.
    low = math.floor((statement.low - down + ROUNDING / 2) * _DIGITS) / _DIGITS if down > ROUNDING else statement.low
    high = math.ceil((statement.high + up - ROUNDING / 2) * _DIGITS) / _DIGITS if up > ROUNDING else statement.high
    ends = max(low, 0.0) if math.isfinite(low) else low, min(high, 1.0) if math.isfinite(high) else high
    said = constraint.relation.words(percent)
    return Change(statement.number, said, _relation(*ends).words(percent), down + up, ends)


def _nearest(statement: Statement, constraint: Constraint, down: float, up: float) -> Change:
    low, high = statement.low - down, statement.high + up
    if statement.low == statement.high and min(down, up) <= ROUNDING:  # one share, on one side of the target
        low = high = round(low if down > up else high, 3)
        words = percent(low)
    else:
        words = f"between {percent(round(low, 3))} and {percent(round(high, 3))}"
    of = "" if statement.component is None else f" {show(statement.component)}"
    said = constraint.relation.words(percent)
    return Change(statement.number, said, words + of, down + up, (low, high))


def _relation(low: float, high: float) -> Relation:
    if not math.isfinite(high):
        return AtLeast(low)
    return Between(low, high) if math.isfinite(low) else AtMost(high)


MOST_TRIED = 1_000_000
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
        if search.spent > MOST_TRIED:
            return tuple(reversed(found)), len(kept) + len(found) - done
        by = search.follows(k, [other for other in kept if other != k])
        if by is not None:
            kept.remove(k)
            found.append(Implied(statements[k].number, tuple(statements[other].number for other in by)))
    return tuple(reversed(found)), 0


class _Search:
    """The search for statements that follow from others. ``spent``: the size of all programmes solved so far."""

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
        """Return whether, under the others, the expectation of the row could lie beyond the end (None: rounding
        hides it); and what keeps it from it."""
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
            arrays = tuple(array.tobytes() for array in (s.at, s.group, s.known, labels))
            key = (*arrays, s.each, round(low, 9), round(high, 9))
            if first.setdefault(key, s.number) != s.number and s.number not in found:
                found[s.number] = Implied(s.number, (first[key],), soft=True)
    return tuple(found.values())
