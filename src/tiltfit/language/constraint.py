"""A constraint: an event, where it is looked at, and what is expected of it; and a set of them.

A set refuses hard constraints that cannot hold together, before any data are seen. Two shares of the same support, of
outcome sets S and T with intervals [s, s′] and [t, t′], contradict each other if

    S ⊆ T and s > t′             the smaller set must not have the larger share
    S ∩ T = ∅ and s + t > 1      disjoint sets share at most everything
    S ∪ T = all and s′ + t′ < 1  together they cover everything

Counts only contradict counts of the same event: for them S = T.
"""

from __future__ import annotations

import math
import os
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import InitVar, dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from tiltfit.errors import ConflictError, ConstraintError, TiltfitWarning, UnknownLabelError, did_you_mean
from tiltfit.language.conditions import Column, Condition, all_of
from tiltfit.language.event import Event, Labels, Outcomes
from tiltfit.language.prose import amount, percent
from tiltfit.language.relations import Relation, Target
from tiltfit.language.scheme import entities
from tiltfit.language.sentences import describe, titled
from tiltfit.language.values import Exact, Label, exact, labels, match, real, text

if TYPE_CHECKING:
    from tiltfit.check.check import Check
    from tiltfit.data.inputs import Unit

SCOPES = ("dataset", "instance", "sequence")
PARTS = ("unlabelled", "all")
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Among(Exact):
    """The event that a share is a share of (``of=``), and where both are looked at."""

    event: Event
    given: Condition | None = None

    def __repr__(self) -> str:
        return expectation_code(self.event, self.given)


@dataclass(frozen=True, eq=False)
class Constraint(Exact):
    """An expectation: ``relation`` between the targets and the share of ``event`` where ``given`` fires.

    ``of``: a share among the instances of another event. ``per``: one expectation for the whole data set, for each
    instance or sequence, or for each value of a column. ``on``: the unlabelled part of the data, or all of it.
    ``beta`` softens about and distributed_as, ``slack`` the hard relations. A relation may state a deviation instead of
    ``beta`` (``within``).
    """

    event: Event
    relation: Relation
    given: Condition | None = None
    of: Among | None = None
    per: str | Column = "dataset"
    on: str = "unlabelled"
    beta: float | None = None
    slack: float | None = None
    name: str | None = None
    rationale: str | None = None

    def __post_init__(self) -> None:
        self._check_types()
        self._check_strength()
        self._check_event()
        problem = self.relation.check(share=not self.is_count)
        if problem is not None:
            raise self._error(problem)

    @property
    def title(self) -> str:
        """Its name, or its sentence if it has none: how messages refer to it where it is not known what X holds."""
        return titled(self)

    @property
    def names(self) -> tuple[Label, ...]:
        """Every label that it names."""
        among = self.of.event.names if self.of is not None else ()
        return (*self.event.names, *among, *self.relation.names)

    @property
    def where(self) -> Condition | None:
        """The condition where the event is looked at: ``given``, inside that of ``of`` if there is one."""
        parts = [c for c in (self.of.given if self.of is not None else None, self.given) if c is not None]
        return all_of(parts) if parts else None

    @property
    def is_sequence(self) -> bool:
        """True if it only makes sense for sequences."""
        among = () if self.of is None else (self.of.event, self.of.given)
        parts = (self.event, self.given, *among)
        return self.per == "sequence" or any(part.is_sequence for part in parts if part is not None)

    def names_entity(self, name: Label) -> bool:
        """True if ``name`` may be an entity of BIO labels: segments and the like are of those, not of tags."""
        events = (self.event, *(() if self.of is None else (self.of.event,)))
        return any(event.counts and name in event.names for event in events)

    @property
    def is_local(self) -> bool:
        """True if it is stated for each instance."""
        return self.per in ("instance", "sequence")

    @property
    def is_count(self) -> bool:
        """True if it states a mean number per sequence; otherwise a share."""
        return self.event.counts and self.of is None

    @property
    def per_column(self) -> str | None:
        """The name of the column for each of whose values it is stated; None if it is not stated per column."""
        return None if self.per in SCOPES else self.per.name  # type: ignore[union-attr]

    def targets(self, classes: Sequence[object]) -> list[Target]:
        """The expectations that it states for these classes."""
        return self.relation.targets(classes, of_another=self.of is not None)

    @property
    def promise(self) -> tuple[tuple[Label, ...], float]:
        """The labels that it votes for where it fires, and their share there; none if it does not vote. It votes if it
        states more than half of single positions (``methods.votes``)."""
        if self.event.place != "all" or self.of is not None or self.relation.bounds[0] == -math.inf:
            return (), 0.0
        if self.relation.shares:
            return next((((label,), share) for label, share in self.relation.shares if share > 0.5), ((), 0.0))
        stated = sum(self.relation.numbers) / len(self.relation.numbers)
        return (self.event.names, stated) if stated > 0.5 else ((), 0.0)

    @property
    def is_hard(self) -> bool:
        """True if a value outside its interval is impossible, not just expensive."""
        return self.relation.hard and not self.slack

    @property
    def bounds_structure(self) -> bool:
        """True for a hard bound on what several labels of a sequence do together: transitions, segments, statistics."""
        return self.is_hard and self.event.is_sequence and self.event.place is None

    def __str__(self) -> str:
        return describe(self)

    def __repr__(self) -> str:
        expectation = expectation_code(self.event, self.given, self.of, self.per, self.on)
        strength = {"beta": self.beta, "slack": self.slack, "name": self.name, "rationale": self.rationale}
        extra = "".join(f", {key}={value!r}" for key, value in strength.items() if value is not None)
        return f"{expectation}.{self.relation.code}{self.relation.options}{extra})"

    def _repr_html_(self) -> str:
        from tiltfit.report.html.constraints import constraint_html

        return constraint_html(self)

    def _error(self, problem: str) -> ConstraintError:
        return ConstraintError(f"{self!r}: {problem}.")

    def _check_types(self) -> None:
        if not isinstance(self.event, Event) or not isinstance(self.relation, Relation):
            raise ConstraintError("A constraint needs an event and a relation: expect('hockey').about(0.9).")
        check_given(self.given)
        if self.of is not None and not isinstance(self.of, Among):
            raise self._error(f"of must be an event, like of=expect.change(), but is {self.of!r}")
        if not isinstance(self.per, Column) and self.per not in SCOPES:
            raise self._error(f"per={self.per!r} is unknown: it is {', '.join(map(repr, SCOPES))} or column(...)")
        if self.on not in PARTS:
            raise self._error(f"on={self.on!r} is unknown: it is {' or '.join(map(repr, PARTS))}")
        for key in ("name", "rationale"):
            if getattr(self, key) is not None:
                self._set(**{key: text(getattr(self, key), f"The {key} of a constraint")})

    def _check_strength(self) -> None:
        if self.beta is not None:
            self._set(beta=real(self.beta, "beta"))
            if self.beta is not None and self.beta <= 0:
                raise self._error(f"beta must be positive, but is {self.beta:g}")
            if self.relation.within is not None:
                raise self._error("within= and beta= both say how soft it is; leave one of them out")
            if self.relation.hard:
                warnings.warn(f"{self!r}: beta has no effect on a hard relation; slack= softens it.", TiltfitWarning, 6)
        if self.slack is not None:
            if not self.relation.hard:
                raise self._error("slack softens between, at_least, at_most and exactly; use beta= here")
            self._set(slack=real(self.slack, "slack"))
            if self.slack is not None and self.slack < 0:
                raise self._error(f"slack must not be negative, but is {self.slack:g}")

    def _check_event(self) -> None:
        nameless = self.event == Labels()
        if self.relation.shares:
            if not nameless:
                raise self._error("distributed_as names the labels itself: write expect(given=...)")
            if self.of is not None:
                raise self._error("distributed_as is about all classes, so it takes no of=")
        elif nameless:
            raise self._error("it names no label; write expect('hockey', ...), or use distributed_as")
        if self.of is None:
            return
        if not (self.event.has_instances and self.of.event.has_instances):
            raise self._error("a statistic has no instances, so there is no share of them: leave of= out")
        if self.of.event == Labels():
            raise self._error("of= names no label")
        check_given(self.of.given)
        if self.event == self.of.event and self.where == self.of.given:
            raise self._error("this share is always 1: of= names the same event; say where with given=")
        both_labels = self.event.place == self.of.event.place == "all"
        if both_labels and not self.event.outcomes()[1] <= self.of.event.outcomes()[1]:
            raise self._error("it is not a share: the labels of of= must include those of the event")


def expectation_code(
    event: Event, given: object = None, of: object = None, per: object = "dataset", on: object = "unlabelled"
) -> str:
    """The Python call that says all this, without what is left at its default."""
    call, arguments = event.code
    options = (("given", given, None), ("of", of, None), ("per", per, "dataset"), ("on", on, "unlabelled"))
    shown = [f"{key}={value!r}" for key, value, default in options if value != default]
    return f"{call}({', '.join([arguments, *shown] if arguments else shown)})"


def check_given(given: object) -> None:
    """Refuse anything but a condition, with what was probably meant."""
    if given is None or isinstance(given, Condition):
        return
    if isinstance(given, Column):
        raise ConstraintError(f"given={given!r} is not a condition yet: add .above(...), .isin(...) or .word(...).")
    hint = f": write word({given!r})" if isinstance(given, str) else ", like word('puck')"
    raise ConstraintError(f"given must be a condition, but is {given!r}{hint}.")


@dataclass(frozen=True, eq=False)
class ConstraintSet(Exact, Sequence[Constraint]):
    """Constraints in the order given, with different names and no two that contradict each other.

    ``classes``: the labels there are, if the set says so; then every label named must be one of them. ``unit``: what
    messages say that it is about; tokens if some constraint only makes sense for sequences, else documents.
    """

    constraints: tuple[Constraint, ...] = ()
    classes: tuple[Label, ...] | None = None
    unit: InitVar[Unit | None] = None

    def __post_init__(self, unit: Unit | None) -> None:
        self._set(constraints=tuple(_constraint(c) for c in self.constraints))
        counts = Counter(c.name for c in self.constraints if c.name is not None)
        for name, count in counts.items():
            if count > 1:
                raise ConstraintError(
                    f"{count} constraints have the name {name!r}: give each its own.", constraint=name
                )
        if self.classes is not None:
            self._set(classes=labels(self.classes, "classes"))
            if not self.classes:
                raise ConstraintError("classes is empty: name the labels, or leave it out.")
            self.check_labels(self.classes, unit)
        _check_conflicts(self.constraints, self.classes, unit or self._unit)

    @property
    def _unit(self) -> Unit:
        return "tokens" if any(c.is_sequence for c in self.constraints) else "documents"

    @staticmethod
    def of(
        source: ConstraintSet | Constraint | Iterable[Constraint] | str | os.PathLike[str], unit: Unit | None = None
    ) -> ConstraintSet:
        """A set from what users pass: a set, one constraint, several, or the path of a file (``read``)."""
        if isinstance(source, ConstraintSet):
            return source
        if isinstance(source, str | os.PathLike):
            return ConstraintSet.read(source)
        return ConstraintSet(tuple(source) if isinstance(source, Iterable) else (source,), unit=unit)

    @staticmethod
    def read(path: str | os.PathLike[str]) -> ConstraintSet:
        """Read a file: a table of label, word and share if it ends in ``.csv`` or ``.tsv``, else TOML."""
        from tiltfit.language.listed import is_listed, read_listed

        return read_listed(path) if is_listed(path) else ConstraintSet.from_toml(Path(path))

    @staticmethod
    def from_toml(source: str | os.PathLike[str]) -> ConstraintSet:
        """Read TOML: a path object, a string that ends in ``.toml`` (``.toml.gz``), or the text itself."""
        from tiltfit.data.readers.packed import without_packing
        from tiltfit.language import toml

        is_path = not isinstance(source, str) or ("\n" not in source and without_packing(source).endswith(".toml"))
        return toml.read(source) if is_path else toml.loads(str(source))

    def to_toml(self) -> str:
        """The set as TOML; ``from_toml`` gives back an equal set."""
        from tiltfit.language import toml

        return toml.dumps(self)

    def check_labels(self, classes: Iterable[object], unit: Unit | None = None) -> None:
        """Refuse a constraint that names a label that is not one of the classes."""
        known = list(classes)
        fields = entities(known)
        for constraint in self.constraints:
            for name in constraint.names:
                if match(name, known) is None and not (name in fields and constraint.names_entity(name)):
                    some = ", ".join(map(repr, known[:10])) + (", …" if len(known) > 10 else "")
                    title = titled(constraint, unit or self._unit)
                    raise UnknownLabelError(
                        f"The constraint {title!r} names the label {name!r}, which is not one of the classes ({some})."
                        f"{did_you_mean(name, known)} Correct it, or add it to `classes`, the list of all classes.",
                        constraint=title,
                    )

    def with_classes(self, classes: Iterable[Label], unit: Unit | None = None) -> ConstraintSet:
        """The same constraints with these classes: labels and contradictions are checked against them."""
        return ConstraintSet(self.constraints, tuple(classes), unit)

    def check(
        self,
        X: Any,
        y: Any = None,
        *,
        feature_names: Iterable[str] | None = None,
        evidence: Any = None,
        votes: Any = None,
    ) -> Check:
        """Check the constraints on these data before anything is fitted: where they fire, which cannot
        hold together, which dispute each other, which say nothing new, and what labels say of their targets.
        ``evidence``, ``votes``: what conditions look at beside X, as for ``fit``.

        >>> from tiltfit import ConstraintSet, expect, word
        >>> said = ConstraintSet((expect("hockey", given=word("puck")).at_least(0.9), expect("hockey").at_most(0.3)))
        >>> found = said.check(["a puck", "the puck", "a bat"])
        >>> found.is_valid, [change.to for change in found.feasibility.relaxation]
        (False, ['at most 60%'])
        """
        from tiltfit.check.check import check
        from tiltfit.data.beside import together

        return check(self, together(X, evidence, votes), y, feature_names=feature_names)

    def __len__(self) -> int:
        return len(self.constraints)

    @overload
    def __getitem__(self, index: int) -> Constraint: ...
    @overload
    def __getitem__(self, index: slice) -> ConstraintSet: ...
    def __getitem__(self, index: int | slice) -> Constraint | ConstraintSet:
        if isinstance(index, slice):
            return ConstraintSet(self.constraints[index], self.classes)
        return self.constraints[index]

    def __iter__(self) -> Iterator[Constraint]:
        return iter(self.constraints)

    def _repr_html_(self) -> str:
        from tiltfit.report.html.constraints import set_html

        return set_html(self)

    def __str__(self) -> str:
        return "\n".join(map(str, self.constraints))

    def __repr__(self) -> str:
        classes = "" if self.classes is None else f", classes={self.classes!r}"
        return f"ConstraintSet([{', '.join(map(repr, self.constraints))}]{classes})"


def _constraint(value: object) -> Constraint:
    if isinstance(value, Constraint):
        return value
    relation = getattr(value, "unfinished", None)
    if relation is not None:
        raise ConstraintError(
            f"{value!r} is unfinished: it does not say what is expected. Add {relation}, between, at_least or the like."
        )
    raise ConstraintError(f"{value!r} is not a constraint. Write expect('hockey', given=word('puck')).about(0.9).")


@dataclass(frozen=True)
class _Claim:
    """A hard constraint as a set of outcomes and the interval of their share."""

    constraint: Constraint
    outcomes: Outcomes
    everything: Outcomes | None
    low: float
    high: float
    unit: Unit

    def __str__(self) -> str:
        words = self.constraint.relation.words(amount if self.constraint.is_count else percent)
        return f"{titled(self.constraint, self.unit)!r} ({words})"


def _check_conflicts(constraints: Iterable[Constraint], classes: Sequence[Label] | None, unit: Unit) -> None:
    """Refuse the first two that contradict each other, by name."""
    known = None if classes is None else frozenset(map(exact, classes))
    groups: dict[object, list[_Claim]] = {}
    for constraint in constraints:
        if constraint.is_hard:
            family, outcomes, everything = constraint.event.outcomes(known)
            if constraint.of is not None:  # then shares need not sum to one over all labels
                everything = None
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
