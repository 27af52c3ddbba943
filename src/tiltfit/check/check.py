"""Constraints against data, before anything is fitted: ``ConstraintSet.check`` and ``tiltfit check``.

A check in words has a verdict in one line, and sections with what matters most first.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from tiltfit.check.evidence import Evidence, find_evidence
from tiltfit.check.feasibility import Change, Feasibility, Implied, examine, find_repeated
from tiltfit.check.programme import statements_of, states_labels
from tiltfit.check.support import Data, Dispute, Overlap, Support, Supports, find_disputes, find_supports
from tiltfit.data.inputs import Unit
from tiltfit.errors import ConflictError, TiltfitWarning
from tiltfit.language.constraint import ConstraintSet
from tiltfit.language.prose import join, rough_percent
from tiltfit.projections.components import Strength
from tiltfit.projections.grounding import ground

MOST = 8
"""Lines of a section; the rest is counted."""

Section = tuple[str, list[str]]


@dataclass(frozen=True)
class Check:
    """The findings; one entry per constraint says where it applies. ``print`` it, or take it apart.

    ``errors``: what cannot be asked of these data. ``not_covered``: numbers of the hard constraints that the search for
    conflicts with others knows nothing of (transitions, segments, whole sequences, shares of other events); each was
    looked at by itself. ``not_tried``: of how many hard constraints it was not tried whether they follow from others,
    because there are too many.
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
        return (*self.errors, *self._conflicts)

    @property
    def _conflicts(self) -> tuple[str, ...]:
        found = [self._titles(core) for core in self.feasibility.conflicts]
        all_of = {1: "", 2: "both "}
        return tuple(
            f"{join([repr(name) for name in names], 'and')} cannot {all_of.get(len(names), 'all ')}hold on these data."
            for names in found
        )

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
        """One line: errors, or else what is worth a look, or else that there is nothing to object to."""
        feasibility = self.feasibility
        wrong = [
            *_counted(len(self.errors), "error"),
            *_counted(len(feasibility.conflicts), "set of hard constraints that cannot hold together"),
        ]
        look = [
            *_counted(sum(e.support == 0 for e in self), "constraint that never fires"),
            *(["soft targets that cannot all be met"] if feasibility.tension else []),
            *_counted(sum(e.gap > 0 for e in self.evidence), "target that the labels contradict"),
            *_counted(len(self.overlap.disputes), "pair that disputes labels"),
            *_counted(len(self.implied), "constraint that says nothing new"),
        ]
        if wrong:
            return f"Not as it stands: {join(wrong, 'and')}." + (f" Also: {join(look, 'and')}." if look else "")
        held = "The hard constraints can hold together." if feasibility.asked and not self.not_covered else "No error."
        return f"{held} Worth a look: {join(look, 'and')}." if look else f"{held} Nothing to object to."

    def __str__(self) -> str:
        lines = [self.verdict, ""]
        entries = list(self)
        if len(entries) > 2 * MOST:  # those that find least are those to look at
            entries.sort(key=lambda e: -1 if e.support is None else e.support)
        told = [
            ("-" if e.support is None else f"{e.support:,} ({rough_percent(e.coverage or 0.0)})", e.sentence)
            for e in entries
        ]
        width = max((len(where) for where, _ in told), default=0)
        lines += [f"  {where:>{width}}  {sentence}" for where, sentence in told[: 2 * MOST]]
        lines += _more(len(entries) - 2 * MOST)
        lines += ["", coverage(self)]
        wrong = [("Errors:", self.errors), ("Cannot hold together:", self._conflicts)]
        problems = [(heading, cut(found)) for heading, found in wrong if found]
        for heading, body in (*problems, *sections(self)):
            lines += ["", heading, *(f"  {line}" for line in body)]
        if self.warnings:
            lines += ["", "Never fires:", *(f"  {note}" for note in cut(self.warnings))]
        return "\n".join(lines)

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
    feasibility, implied, not_tried = examine(constraints, statements, data.sample.banned)
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


def coverage(check: Check) -> str:
    """On how much of the data some condition fires."""
    found = check.supports
    text = f"At least one condition fires on {_of(found.covered, found.rows, check.unit)}"
    if found.sequences is not None and found.sequences_covered is not None:
        text += f", in {_of(found.sequences_covered, found.sequences, 'sequences')}"
    return f"{text}."


def sections(check: Check) -> Iterator[Section]:
    """Headings with their lines, cut."""
    feasibility = check.feasibility
    if feasibility.relaxation:
        yield (
            "Smallest change after which all hard constraints can hold:",
            cut(f"{check.title(c.number)}: {c.to} instead of {c.said}" for c in feasibility.relaxation),
        )
    if feasibility.tension:
        total = sum(c.by for c in feasibility.tension)
        yield (
            f"Soft targets that cannot all be met: in total they miss by at least {rough_percent(total)}, for example",
            cut(f"{check.title(c.number)}: {c.to} instead of {c.said}" for c in feasibility.tension),
        )
    if check.evidence:
        against = [e for e in check.evidence if e.gap > 0]
        yield (
            f"Against the labels: {len(check.evidence) - len(against)} of {len(check.evidence)} targets agree with them"
            f" (95% intervals){':' if against else '.'}",
            cut(f"{check.title(e.number)}: {e.sentence}" for e in against),
        )
    yield from _disputes(check)
    if check.implied:
        yield "Nothing new on these data:", cut(_implied(check))
    if check.not_tried:
        yield f"Of {check.not_tried:,} hard constraints it was not tried whether others imply them: too many.", []
    if feasibility.skipped:
        yield f"Conflicts were not looked for: {feasibility.skipped}.", []
    if check.not_covered:
        yield (
            "Looked at one by one, not for conflicts with others (only labels of single positions are, not "
            "transitions, segments, whole sequences or shares of other events):",
            cut(check.title(number) for number in check.not_covered),
        )


def _disputes(check: Check) -> Iterator[Section]:
    overlap = check.overlap
    if not overlap.shared:
        return
    where = check.unit.removesuffix("s") if overlap.shared == 1 else check.unit
    yield (
        f"Two or more constraints point to a label on {overlap.shared:,} {where}, and disagree on "
        f"{overlap.disputed:,} of these ({rough_percent(overlap.disputed / overlap.shared)})"
        + (":" if overlap.disputes else "."),
        cut(_dispute(check, d) for d in overlap.disputes),
    )


def _dispute(check: Check, dispute: Dispute) -> str:
    text = dispute.examples[0][1]
    return (
        f"{check.title(dispute.first)} / {check.title(dispute.second)}: both fire on {dispute.overlap:,} "
        f"(Jaccard {dispute.jaccard:.2f}), as in: {text}"
    )


def _implied(check: Check) -> Iterator[str]:
    for found in check.implied:
        title, others = check.title(found.number), [repr(check.title(k)) for k in found.by]
        if not others:
            yield f"{title}: always holds"
        elif found.soft:
            yield f"{title}: says the same as {others[0]}, and so doubles its weight"
        else:
            yield f"{title}: follows from {join(others, 'and')}"


def cut(lines: Iterable[str]) -> list[str]:
    """The first few, and how many more there are."""
    found = list(lines)
    return [*found[:MOST], *_more(len(found) - MOST)]


def _more(n: int) -> list[str]:
    return [f"and {n:,} more"] if n > 0 else []


def _counted(n: int, one: str) -> list[str]:
    """``2 pairs that dispute labels``: the verb agrees."""
    if n < 2:
        return [f"1 {one}"] if n else []
    noun, _, rest = one.partition(" ")
    for single, several in (("never fires", "never fire"), ("disputes", "dispute"), ("says", "say")):
        rest = rest.replace(single, several)
    return [f"{n:,} {noun}s {rest}".rstrip()]


def _of(n: int, whole: int, noun: str) -> str:
    return f"{n:,} of {whole:,} {noun} ({rough_percent(n / whole if whole else 0.0)})"
