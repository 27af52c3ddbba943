"""Events of a whole sequence that are counted: the constraint speaks of the mean number, which may exceed one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tiltfit.language.event import Document, Event, any_label, arguments
from tiltfit.language.prose import quote, show
from tiltfit.language.table import Table
from tiltfit.language.values import Label, label, labels, text

if TYPE_CHECKING:
    from tiltfit.data.inputs import Unit
    from tiltfit.language.condition import Condition


@dataclass(frozen=True, eq=False)
class Segments(Event):
    """The number of maximal runs of a label in a sequence."""

    label: Label
    keys = ("segments",)
    counts = True

    def __post_init__(self) -> None:
        self._set(label=label(self.label))

    @property
    def names(self) -> tuple[Label, ...]:
        return (self.label,)

    def to_document(self) -> Document:
        return {"segments": self.label}

    @classmethod
    def from_table(cls, table: Table, key: str) -> Segments:
        return cls(table.label(key))

    @property
    def code(self) -> tuple[str, str]:
        return "expect.segments", repr(self.label)

    def quantity(self, number: str, one: bool, given: Condition | None, subject: str) -> str:
        only = "" if given is None else f", counting only segments that start {given.place()}"
        return f"{subject} has {number} {'segment' if one else 'segments'} of {show(self.label)} on average{only}"

    def among(self, given: Condition | None, unit: Unit) -> str:
        noun = f"segments of {show(self.label)}"
        return noun if given is None else f"{noun} that start {given.place()}"

    def located(self, given: Condition, unit: Unit) -> str:
        return f"start {given.place()}"


@dataclass(frozen=True, eq=False)
class Repeats(Event):
    """How often a field comes back after another one, in a sequence; of these labels, or of every one."""

    labels: tuple[Label, ...] = ()
    keys = ("repeats",)
    counts = True
    trained = False
    unordered = ("labels",)

    def __post_init__(self) -> None:
        self._set(labels=labels(self.labels, "expect.repeats"))

    @property
    def names(self) -> tuple[Label, ...]:
        return self.labels

    def to_document(self) -> Document:
        return {"repeats": list(self.labels) or True}

    @classmethod
    def from_table(cls, table: Table, key: str) -> Repeats:
        if isinstance(table.raw(key), bool):
            table.true(key)
            return cls()
        return cls(tuple(table.labels(key)))

    @property
    def code(self) -> tuple[str, str]:
        return "expect.repeats", arguments(self.labels)

    def quantity(self, number: str, one: bool, given: Condition | None, subject: str) -> str:
        only = "" if given is None else f", counting only repeats that start {given.place()}"
        return f"{subject} has {number} {'repeat' if one else 'repeats'} of {self._what} on average{only}"

    def among(self, given: Condition | None, unit: Unit) -> str:
        noun = f"repeats of {self._what}"
        return noun if given is None else f"{noun} that start {given.place()}"

    def located(self, given: Condition, unit: Unit) -> str:
        return f"start {given.place()}"

    @property
    def _what(self) -> str:
        return any_label(self.labels) if self.labels else "any field"


@dataclass(frozen=True, eq=False)
class Statistic(Event):
    """A named statistic of the whole sequence."""

    name: str
    keys = ("statistic",)
    counts = True
    trained = False

    def __post_init__(self) -> None:
        self._set(name=text(self.name, "The name of a statistic"))

    def to_document(self) -> Document:
        return {"statistic": self.name}

    @classmethod
    def from_table(cls, table: Table, key: str) -> Statistic:
        return cls(table.text(key))

    @property
    def code(self) -> tuple[str, str]:
        return "expect.statistic", repr(self.name)

    def quantity(self, number: str, one: bool, given: Condition | None, subject: str) -> str:
        only = "" if given is None else f", counting only tokens {given.clause('tokens')}"
        return f"the statistic {quote(self.name)} of {subject} is {number} on average{only}"

    def among(self, given: Condition | None, unit: Unit) -> str:
        raise NotImplementedError  # a statistic has no instances: constraints refuse it with `of`
