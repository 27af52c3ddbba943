"""Constraints against data, before anything is fitted: ``ConstraintSet.check`` and ``tiltfit check``."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from tiltfit.arrays import BoolArray
from tiltfit.check.data import Data
from tiltfit.check.evidence import Evidence, find_evidence
from tiltfit.check.feasibility import (
    Change,
    Feasibility,
    Implied,
    find_conflicts,
    find_implied,
    find_repeated,
    programme_of,
)
from tiltfit.check.programme import Statement, statements_of, states_labels
from tiltfit.check.support import Overlap, Support, Supports, find_disputes, find_supports
from tiltfit.data.inputs import Unit
from tiltfit.errors import ConflictError, TiltfitWarning
from tiltfit.language.constraint import ConstraintSet
from tiltfit.projections.components import Strength
from tiltfit.projections.grounding import ground


@dataclass(frozen=True)
class Check:
    """The findings; one entry per constraint says where it applies. ``print`` it, or take it apart.

    ``errors``: what cannot be asked of these data. ``not_covered``: numbers of the hard constraints that the search for
    conflicts with others knows nothing of (transitions, segments, whole sequences, shares of other events); each was
    looked at by itself. ``not_tried``: of how
    many hard constraints it was not tried whether they follow from others, because there are too many.
    """

    constraints: ConstraintSet
    unit: Unit
    supports: Supports
    feasibility: Feasibility = field(default_factory=Feasibility)
    implied: tuple[Implied, ...] = ()
    not_tried: int = 0
    overlap: Overlap = field(default_factory=Overlap)
    evidence: tuple[Evidence, ...] = ()
    errors: tuple[str, ...] = ()
    not_covered: tuple[int, ...] = ()

    def __iter__(self) -> Iterator[Support]:
        return iter(self.supports.entries)

    def __len__(self) -> int:
        return len(self.supports.entries)

    def __getitem__(self, index: int) -> Support:
        return self.supports.entries[index]

    def title(self, number: int) -> str:
        return self.supports.entries[number].title

    @property
    def problems(self) -> tuple[str, ...]:
        """Errors and conflicts, a sentence each."""
        from tiltfit.check.words import conflict_sentence

        return (*self.errors, *(conflict_sentence(self, core) for core in self.feasibility.conflicts))

    @property
    def is_valid(self) -> bool:
        """True if there is neither an error nor a conflict of hard constraints."""
        return not self.errors and not self.feasibility.conflicts

    @property
    def warnings(self) -> tuple[str, ...]:
        """Conditions that never fire, wholly or in part, with the word that was probably meant."""
        return tuple(entry.note for entry in self if entry.note is not None)

    @property
    def verdict(self) -> str:
        """The whole in one line."""
        from tiltfit.check.words import verdict

        return verdict(self)

    def __str__(self) -> str:
        from tiltfit.check.words import page

        return page(self)

    def to_dict(self) -> dict[str, Any]:
        """For machines: constraints by name, everything uncut."""
        supports, feasibility, overlap = self.supports, self.feasibility, self.overlap
        return {
            "valid": self.is_valid,
            "verdict": self.verdict,
            "errors": list(self.problems),
            "warnings": list(self.warnings),
            "classes": list(self.constraints.classes or ()),
            "unit": self.unit,
            "rows": supports.rows,
            "covered": supports.covered,
            "sequences": supports.sequences,
            "sequences_covered": supports.sequences_covered,
            "constraints": [
                {"name": e.title, "sentence": e.sentence, "support": e.support, "coverage": e.coverage} for e in self
            ],
            "conflicts": [self._titles(core) for core in feasibility.conflicts],
            "relaxation": [self._change(change) for change in feasibility.relaxation],
            "tension": [self._change(change) for change in feasibility.tension],
            "skipped": feasibility.skipped,
            "not_covered": self._titles(self.not_covered),
            "implied": [{"name": self.title(i.number), "by": self._titles(i.by), "soft": i.soft} for i in self.implied],
            "not_tried": self.not_tried,
            "overlap": {
                "pointed": overlap.pointed,
                "shared": overlap.shared,
                "disputed": overlap.disputed,
                "disputes": [
                    asdict(d) | {"first": self.title(d.first), "second": self.title(d.second)} for d in overlap.disputes
                ],
            },
            "evidence": [
                asdict(e) | {"name": self.title(e.number), "gap": e.gap, "sentence": e.sentence} for e in self.evidence
            ],
        }

    def _titles(self, numbers: Iterable[int]) -> list[str]:
        return [self.title(number) for number in numbers]

    def _change(self, change: Change) -> dict[str, Any]:
        return {"name": self.title(change.number), "said": change.said, "to": change.to, "by": change.by}


def check(
    constraints: ConstraintSet,
    X: Any,
    y: Any = None,
    *,
    feature_names: Iterable[str] | None = None,
    unit: Unit | None = None,
) -> Check:
    """Check constraints on these data before anything is fitted.

    X, y and ``feature_names`` are as for ``fit``; X may hold documents, rows or sequences. ``unit``: what to call
    positions, if not as X suggests.
    """
    data = Data.of(constraints, X, y, feature_names, unit)
    supports = find_supports(constraints, data)
    usable = supports.usable
    statements = statements_of(constraints, data, usable)
    feasibility, implied, not_tried = _logic(constraints, statements, data.sample.banned)
    not_covered = tuple(k for k in usable if constraints[k].is_hard and not states_labels(constraints[k]))
    return Check(
        constraints=constraints,
        unit=data.unit,
        supports=supports,
        feasibility=feasibility,
        implied=(*implied, *find_repeated(statements)),
        not_tried=not_tried,
        overlap=find_disputes(constraints, data, usable),
        evidence=find_evidence(constraints, data, usable),
        errors=(*data.errors, *supports.errors, *_impossible(constraints, data, not_covered)),
        not_covered=not_covered,
    )


def _impossible(constraints: ConstraintSet, data: Data, numbers: Iterable[int]) -> Iterator[str]:
    """Why some of these constraints cannot hold on the data, each by itself: what ``fit`` would say of it."""
    sample = data.sample
    labels = sample.labels if sample.open_positions.any() else np.full_like(sample.labels, -1)
    for number in numbers:
        alone = replace(constraints, constraints=(constraints[number],))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", TiltfitWarning)  # supports tell where it fires
                ground(alone, replace(sample, labels=labels), Strength(1.0, "unit"))
        except ConflictError as error:
            yield str(error)


def _logic(
    constraints: ConstraintSet, statements: list[Statement], banned: BoolArray | None
) -> tuple[Feasibility, tuple[Implied, ...], int]:
    """Conflicts, what follows from what, and for how many that was not tried; without the soft statements where these
    make it too large."""
    if not statements:
        return Feasibility(), (), 0
    programme = programme_of(statements, banned)
    if isinstance(programme, str):
        statements = [s for s in statements if s.hard]
        programme = programme_of(statements, banned) if statements else programme
    if isinstance(programme, str):
        return Feasibility(skipped=programme), (), 0
    found = find_conflicts(constraints, statements, programme, banned)
    # From what cannot be, anything follows.
    return (found, (), 0) if found.conflicts else (found, *find_implied(statements, programme))
