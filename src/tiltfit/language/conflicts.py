"""Hard constraints that cannot hold together, found before any data are seen.

Two shares of the same support, of outcome sets S and T with intervals [s, s′] and [t, t′], contradict each other if

    S ⊆ T and s > t′             the smaller set must not have the larger share
    S ∩ T = ∅ and s + t > 1      disjoint sets share at most everything
    S ∪ T = all and s′ + t′ < 1  together they cover everything

Counts only contradict counts of the same event: for them S = T.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

from tiltfit.errors import ConflictError
from tiltfit.language.constraint import Constraint
from tiltfit.language.event import Outcomes
from tiltfit.language.prose import amount, percent
from tiltfit.language.sentences import titled
from tiltfit.language.values import Label, exact

if TYPE_CHECKING:
    from tiltfit.data.inputs import Unit

_ROUNDING = 1e-9


@dataclass(frozen=True)
class _Claim:
    constraint: Constraint
    outcomes: Outcomes
    everything: Outcomes | None
    low: float
    high: float
    unit: Unit

    def __str__(self) -> str:
        share = not self.constraint.event.counts or self.constraint.of is not None
        words = self.constraint.relation.words(percent if share else amount)
        return f"{titled(self.constraint, self.unit)!r} ({words})"


def check_conflicts(
    constraints: Iterable[Constraint], classes: Sequence[Label] | None, unit: Unit = "documents"
) -> None:
    """Refuse the first two that contradict each other, by name."""
    known = None if classes is None else frozenset(map(exact, classes))
    groups: dict[object, list[_Claim]] = {}
    for constraint in constraints:
        if constraint.is_hard:
            family, outcomes, everything = constraint.event.outcomes(known)
            # A share among another event's instances need not sum to one over all labels.
            everything = everything if constraint.of is None else None
            claim = _Claim(constraint, outcomes, everything, *constraint.relation.interval, unit)
            if everything is not None and outcomes >= everything and claim.high < 1 - _ROUNDING:
                raise ConflictError(
                    f"{claim} cannot hold: it names all classes, and together they are always 100%.",
                    constraint=titled(constraint, unit),
                )
            scope = (constraint.given, constraint.of, constraint.per, constraint.on)
            groups.setdefault((family, exact(scope)), []).append(claim)
    for group in groups.values():
        for a, b in combinations(group, 2):
            if reason := _contradiction(a, b):
                raise ConflictError(
                    f"{a} and {b} cannot both hold: {reason}. Widen one of them, or soften it with slack=.",
                    constraint=titled(a.constraint, unit),
                )


def _contradiction(a: _Claim, b: _Claim) -> str | None:
    for s, t, order in ((a, b, ("first", "second")), (b, a, ("second", "first"))):
        if s.outcomes <= t.outcomes and s.low > t.high + _ROUNDING:
            same = s.outcomes == t.outcomes
            return "both are about the same thing" if same else f"the {order[0]} is a part of the {order[1]}"
    if a.constraint.of is not None:
        return None
    if not a.outcomes & b.outcomes and a.low + b.low > 1 + _ROUNDING:
        return "together they would need more than 100%"
    if a.everything is not None and a.outcomes | b.outcomes >= a.everything and a.high + b.high < 1 - _ROUNDING:
        return "together they are always 100%"
    return None
