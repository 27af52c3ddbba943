"""Targets against labels: the share that labels show, and Wilson's interval around it at 95 %.

Tokens of one sequence count as the fewer the more alike they are, and counts get Student's interval
(``estimators.label_statistics``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tiltfit.check.support import Data
from tiltfit.estimators.label_statistics import LabelStatistics, Mean, Share
from tiltfit.language.constraint import Constraint, ConstraintSet
from tiltfit.language.event import Labels
from tiltfit.language.prose import amount, percent, show
from tiltfit.language.values import Label

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Evidence:
    """One target against labels. ``component``: the class of a distribution. ``said``: the least and the most that the
    target allows (``words``: as stated); ``low``, ``high``: between which values ``n`` labels put it. ``gap``: how far
    these are from what is said, 0 where they meet."""

    number: int
    component: Label | None
    words: str
    said: tuple[float, float]
    value: float
    n: int
    noun: str
    low: float
    high: float
    counts: bool = False

    @property
    def gap(self) -> float:
        return max(0.0, self.said[0] - self.high, self.low - self.said[1])

    @property
    def sentence(self) -> str:
        """``you said about 95%, 12 labelled documents say 47–91%``."""
        between = f"{self._end(self.low).removesuffix('%')}–{self._end(self.high)}"
        noun = self.noun if self.n != 1 else self.noun.removesuffix("s")
        of = "" if self.component is None else f" {show(self.component)}"
        return f"you said {self.words}{of}, {self.n:,} labelled {noun} {'say' if self.n != 1 else 'says'} {between}"

    def _end(self, value: float) -> str:
        """With two digits, or with three where two would hide that it is beyond what was said."""
        hides = self.gap > 0 and min(abs(value - end) for end in self.said) < 0.01
        digits = 3 if hides or (not self.counts and (0 < value < 0.01 or 0.99 < value < 1)) else 2
        return (amount if self.counts else percent)(round(value, digits))


def find_evidence(constraints: ConstraintSet, data: Data, usable: tuple[int, ...]) -> tuple[Evidence, ...]:
    """Every target of which labels say something; those that labels contradict most first."""
    sample = data.sample
    if sample.open_positions.all():
        return ()
    here = LabelStatistics(sample)
    found = [e for k in usable for e in _evidence(k, constraints[k], here, data.unit)]
    return tuple(sorted(found, key=lambda e: -round(e.gap, 9)))  # stable: else in the order of the file


def _evidence(number: int, constraint: Constraint, here: LabelStatistics, unit: str) -> Iterator[Evidence]:
    # A share among other events has no labels to count, and groups have too few each.
    if constraint.of is not None or constraint.per != "dataset":
        return
    relation = constraint.relation
    if relation.shares:
        for label, target in relation.shares:
            shown = here.share(Labels((label,)), constraint.given)
            if shown is not None:
                yield _compared(number, label, percent(target), (target, target), shown, unit)
        return
    counts = constraint.event.counts
    found = here.mean(constraint.event, constraint.given) if counts else here.share(constraint.event, constraint.given)
    if found is not None:
        said = relation.interval if relation.hard else (relation.numbers[0], relation.numbers[0])
        yield _compared(number, None, relation.words(amount if counts else percent), said, found, unit)


def _compared(
    number: int, component: Label | None, words: str, said: tuple[float, float], found: Share | Mean, unit: str
) -> Evidence:
    low, high = found.interval(CONFIDENCE)
    if isinstance(found, Mean):
        counts, noun = True, "sequences"
    else:
        counts, noun = False, unit if found.noun == "rows" else found.noun
    return Evidence(number, component, words, said, found.value, found.n, noun, low, high, counts)
