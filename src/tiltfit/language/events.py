"""Events of sequences: what is expected of neighbouring tokens, and of the first and last token."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from tiltfit.errors import ConstraintError
from tiltfit.language.counts import Repeats, Segments, Statistic
from tiltfit.language.event import Event, Labels, Outcomes, Tables, any_label, arguments, indicator
from tiltfit.language.prose import show
from tiltfit.language.scheme import continues
from tiltfit.language.table import Table
from tiltfit.language.values import Label, exact, label, labels
from tiltfit.language.written import LABELS, SOME_LABELS, TRUE, Document

if TYPE_CHECKING:
    from tiltfit.data.inputs import Unit
    from tiltfit.language.condition import Condition

__all__ = [
    "Change",
    "Document",
    "End",
    "Event",
    "Labels",
    "Outcomes",
    "Repeats",
    "Segments",
    "Start",
    "Statistic",
    "Stay",
    "Transition",
]


class _Edge(Event):
    """Something about two neighbouring tokens; a condition looks at the second."""

    def support(self, given: Condition | None, unit: Unit, plural: bool) -> str:
        noun = "transitions" if plural else "transition"
        return noun if given is None else f"{noun} into {'tokens' if plural else 'a token'} {given.clause('tokens')}"


@dataclass(frozen=True, eq=False)
class Stay(_Edge):
    """A token has the label of the token before it."""

    keys = {"stay": TRUE}

    @property
    def code(self) -> tuple[str, str]:
        return "expect.stay", ""

    def outcomes(self, classes: Outcomes | None = None) -> tuple[Hashable, Outcomes, Outcomes | None]:
        return "edge", frozenset({"stay"}), frozenset({"stay", "change"})

    def tables(self, classes: Sequence[object]) -> Tables:
        return [("edge", continues(classes).astype(np.float64))]

    def predicate(self, plural: bool) -> str:
        return f"{'keep' if plural else 'keeps'} the label"

    def among(self, given: Condition | None, unit: Unit) -> str:
        return f"{self.support(given, unit, True)} that keep the label"


@dataclass(frozen=True, eq=False)
class Change(_Edge):
    """A token has another label than the token before it."""

    keys = {"change": TRUE}

    @property
    def code(self) -> tuple[str, str]:
        return "expect.change", ""

    def outcomes(self, classes: Outcomes | None = None) -> tuple[Hashable, Outcomes, Outcomes | None]:
        return "edge", frozenset({"change"}), frozenset({"stay", "change"})

    def tables(self, classes: Sequence[object]) -> Tables:
        return [("edge", (~continues(classes)).astype(np.float64))]

    def predicate(self, plural: bool) -> str:
        return f"{'change' if plural else 'changes'} the label"

    def among(self, given: Condition | None, unit: Unit) -> str:
        return "field changes" if given is None else f"field changes {given.place()}"


@dataclass(frozen=True, eq=False)
class Transition(_Edge):
    """A token labelled ``before`` is followed by one labelled ``after``."""

    before: Label
    after: Label
    keys = {"transition": {**SOME_LABELS, "minItems": 2, "maxItems": 2}}

    def __post_init__(self) -> None:
        self._set(before=label(self.before), after=label(self.after))

    @property
    def names(self) -> tuple[Label, ...]:
        return (self.before,) if exact(self.before) == exact(self.after) else (self.before, self.after)

    def to_document(self) -> Document:
        return {"transition": [self.before, self.after]}

    @classmethod
    def from_table(cls, table: Table, key: str) -> Transition:
        ends = table.labels(key)
        if len(ends) != 2:
            raise table.error(f"must be two labels [from, to], but has {len(ends)}", key)
        return cls(*ends)

    @property
    def code(self) -> tuple[str, str]:
        return "expect.transition", arguments((self.before, self.after))

    def outcomes(self, classes: Outcomes | None = None) -> tuple[Hashable, Outcomes, Outcomes | None]:
        return "transition", frozenset({self.identity()}), None

    def tables(self, classes: Sequence[object]) -> Tables:
        return [("edge", np.outer(indicator((self.before,), classes), indicator((self.after,), classes)))]

    def predicate(self, plural: bool) -> str:
        return f"{'go' if plural else 'goes'} from {show(self.before)} to {show(self.after)}"

    def among(self, given: Condition | None, unit: Unit) -> str:
        noun = f"transitions from {show(self.before)} to {show(self.after)}"
        return noun if given is None else f"{noun} {given.place()}"


@dataclass(frozen=True, eq=False)
class _Border(Event):
    """A sequence's outermost token has one of these labels."""

    labels: tuple[Label, ...]
    unordered = ("labels",)
    per_sequence = True
    verb: ClassVar[str]
    token: ClassVar[Literal["first", "last"]]

    def __post_init__(self) -> None:
        self._set(labels=labels(self.labels, self.code[0]))
        if not self.labels:
            raise ConstraintError(f"{self.code[0]}() names no label: pass at least one.")

    @property
    def names(self) -> tuple[Label, ...]:
        return self.labels

    def to_document(self) -> Document:
        return {self.verb: list(self.labels)}

    @classmethod
    def from_table(cls, table: Table, key: str) -> _Border:
        return cls(tuple(table.labels(key)))

    @property
    def code(self) -> tuple[str, str]:
        return f"expect.{self.verb}", arguments(self.labels)

    def outcomes(self, classes: Outcomes | None = None) -> tuple[Hashable, Outcomes, Outcomes | None]:
        return self.verb, frozenset(map(exact, self.labels)), classes

    def tables(self, classes: Sequence[object]) -> Tables:
        return [(self.token, indicator(self.labels, classes))]

    def support(self, given: Condition | None, unit: Unit, plural: bool) -> str:
        noun = "sequences" if plural else "sequence"
        return noun if given is None else f"{noun} whose {self.token} token is {given.neighbour('one')}"

    def predicate(self, plural: bool) -> str:
        return f"{self.verb}{'' if plural else 's'} with {any_label(self.labels)}"

    def among(self, given: Condition | None, unit: Unit) -> str:
        return f"{self.support(given, unit, True)} that {self.predicate(plural=True)}"

    def is_among(self) -> str:
        return f"{self.verb} a sequence with {any_label(self.labels)}"


@dataclass(frozen=True, eq=False)
class Start(_Border):
    """A sequence's first token has one of these labels."""

    keys = {"start": LABELS}
    verb = "start"
    token = place = "first"


@dataclass(frozen=True, eq=False)
class End(_Border):
    """A sequence's last token has one of these labels."""

    keys = {"end": LABELS}
    verb = "end"
    token = place = "last"
