"""The target of each entry of a constraint report, in words and as an interval."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tiltfit.data.inputs import Unit
from tiltfit.language.condition import Condition
from tiltfit.language.constraint import Constraint
from tiltfit.language.prose import amount, percent
from tiltfit.language.sentences import describe
from tiltfit.report.constraints import Entry

Key = tuple[str | None, str, str | None]


@dataclass(frozen=True)
class Target:
    """``low`` and ``high`` are equal where it is one number; an open side is infinite. ``given``: the condition, None:
    everywhere."""

    words: str
    low: float
    high: float
    given: Condition | None = None

    @property
    def bounds(self) -> tuple[float, ...]:
        """The numbers that were stated."""
        return tuple(sorted({bound for bound in (self.low, self.high) if math.isfinite(bound)}))


Targets = Mapping[Key, Target]


def targets_of(constraints: Iterable[Constraint], classes: Iterable[object], unit: Unit) -> Targets:
    """Return the targets of all entries of a report on these constraints, by ``key_of``."""
    found: dict[Key, Target] = {}
    names = [str(name) for name in classes]
    for constraint in constraints:
        sentence, relation, where = describe(constraint, unit), constraint.relation, constraint.where
        if relation.shares:
            stated = {str(label): share for label, share in relation.shares}
            for name in names:
                share = stated.get(name, 0.0)
                found[constraint.name, sentence, name] = Target(percent(share), share, share, where)
        else:
            words = relation.words(amount if constraint.is_count else percent)
            found[constraint.name, sentence, None] = Target(words, *relation.bounds, where)
    return found


def key_of(entry: Entry) -> Key:
    """Return the key of an entry's target: a model file may have lost a constraint, but not its entry."""
    return entry.name, entry.sentence, entry.component
