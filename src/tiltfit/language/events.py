"""What is expected to happen: the event whose share (or mean count) a constraint speaks of.

An event class owns its TOML keys, its Python code and its words. Adding one is adding one class here.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from tiltfit.errors import ConstraintError
from tiltfit.language.prose import join, quote, show
from tiltfit.language.table import Table
from tiltfit.language.values import Exact, Label, exact, label, labels, text

if TYPE_CHECKING:
    from tiltfit.data.inputs import Unit
    from tiltfit.language.condition import Condition

Document = dict[str, object]
Outcomes = frozenset[object]


class Event(Exact):
    """One kind of event.

    ``counts``: the constraint speaks of a mean count per sequence, which may exceed one; otherwise of a share.
    ``per_sequence``: it happens at most once in a sequence (or document), so that a share is a probability there.
    """

    registry: ClassVar[dict[str, type[Event]]] = {}
    keys: ClassVar[tuple[str, ...]]
    is_sequence: ClassVar[bool] = True
    counts: ClassVar[bool] = False
    per_sequence: ClassVar[bool] = False

    def __init_subclass__(cls) -> None:
        for key in cls.__dict__.get("keys", ()):
            Event.registry[key] = cls

    @property
    def names(self) -> tuple[Label, ...]:
        """The labels that the event names."""
        return ()

    @abstractmethod
    def to_document(self) -> Document:
        """The event's key and value."""

    @classmethod
    @abstractmethod
    def from_table(cls, table: Table, key: str) -> Event:
        """Read the event that ``key`` announces."""

    @property
    @abstractmethod
    def code(self) -> tuple[str, str]:
        """The call that makes it and its arguments: ``("expect.start", "'a', 'b'")``."""

    def outcomes(self, classes: Outcomes | None = None) -> tuple[Hashable, Outcomes, Outcomes | None]:
        """(family, its outcomes in the family, all of the family's if known): shares of a family sum to one or less."""
        return self.identity(), frozenset({True}), None

    # Words. `given` is the condition or None; the share events implement support and predicate, the others quantity.

    def support(self, given: Condition | None, unit: Unit, plural: bool) -> str:
        """What the share is a share of: ``documents with the word "puck"``."""
        raise NotImplementedError

    def predicate(self, plural: bool) -> str:
        """What they do: ``are hockey``."""
        raise NotImplementedError

    def quantity(self, number: str, one: bool, given: Condition | None, subject: str) -> str:
        """The sentence of a count: ``a sequence has at most 1 segment of journal on average``."""
        raise NotImplementedError

    @abstractmethod
    def among(self, given: Condition | None, unit: Unit) -> str:
        """The event as a plural noun: ``field changes after punctuation``."""

    def is_among(self) -> str:
        """What members of another event are when they are this one: ``are transitions from a to b``."""
        return f"are {self.among(None, 'tokens')}"

    def located(self, given: Condition, unit: Unit) -> str:
        """Where instances of the event are: ``come after punctuation``."""
        return f"come {given.place()}"


@dataclass(frozen=True, eq=False)
class Labels(Event):
    """The label is one of these. No labels: no event, for ``distributed_as``."""

    labels: tuple[Label, ...] = ()
    keys = ("label", "labels")
    is_sequence = False
    unordered = ("labels",)

    def __post_init__(self) -> None:
        self._set(labels=labels(self.labels, "expect(...)"))

    @property
    def names(self) -> tuple[Label, ...]:
        return self.labels

    def to_document(self) -> Document:
        if len(self.labels) == 1:
            return {"label": self.labels[0]}
        return {"labels": list(self.labels)} if self.labels else {}

    @classmethod
    def from_table(cls, table: Table, key: str) -> Labels:
        if key == "label":
            return cls((table.label(key),))
        return cls(tuple(table.labels(key)))

    @property
    def code(self) -> tuple[str, str]:
        return "expect", _arguments(self.labels)

    def outcomes(self, classes: Outcomes | None = None) -> tuple[Hashable, Outcomes, Outcomes | None]:
        return "label", frozenset(map(exact, self.labels)), classes

    def support(self, given: Condition | None, unit: Unit, plural: bool) -> str:
        noun = unit if plural else unit.removesuffix("s")
        return noun if given is None else f"{noun} {given.clause(unit)}"

    def predicate(self, plural: bool) -> str:
        return f"{'are' if plural else 'is'} {_any_of(self.labels)}"

    def among(self, given: Condition | None, unit: Unit) -> str:
        return f"{self.support(given, unit, True)} that are {_any_of(self.labels)}"

    def is_among(self) -> str:
        return self.predicate(plural=True)

    def located(self, given: Condition, unit: Unit) -> str:
        return f"are ones {given.clause(unit)}"


class _Edge(Event):
    """Something about two neighbouring tokens; a condition looks at the second."""

    def support(self, given: Condition | None, unit: Unit, plural: bool) -> str:
        noun = "transitions" if plural else "transition"
        return noun if given is None else f"{noun} into {'tokens' if plural else 'a token'} {given.clause('tokens')}"


@dataclass(frozen=True, eq=False)
class Stay(_Edge):
    """A token has the label of the token before it."""

    keys = ("stay",)

    def to_document(self) -> Document:
        return {"stay": True}

    @classmethod
    def from_table(cls, table: Table, key: str) -> Stay:
        table.true(key)
        return cls()

    @property
    def code(self) -> tuple[str, str]:
        return "expect.stay", ""

    def outcomes(self, classes: Outcomes | None = None) -> tuple[Hashable, Outcomes, Outcomes | None]:
        return "edge", frozenset({"stay"}), frozenset({"stay", "change"})

    def predicate(self, plural: bool) -> str:
        return f"{'keep' if plural else 'keeps'} the label"

    def among(self, given: Condition | None, unit: Unit) -> str:
        return f"{self.support(given, unit, True)} that keep the label"


@dataclass(frozen=True, eq=False)
class Change(_Edge):
    """A token has another label than the token before it."""

    keys = ("change",)

    def to_document(self) -> Document:
        return {"change": True}

    @classmethod
    def from_table(cls, table: Table, key: str) -> Change:
        table.true(key)
        return cls()

    @property
    def code(self) -> tuple[str, str]:
        return "expect.change", ""

    def outcomes(self, classes: Outcomes | None = None) -> tuple[Hashable, Outcomes, Outcomes | None]:
        return "edge", frozenset({"change"}), frozenset({"stay", "change"})

    def predicate(self, plural: bool) -> str:
        return f"{'change' if plural else 'changes'} the label"

    def among(self, given: Condition | None, unit: Unit) -> str:
        return "field changes" if given is None else f"field changes {given.place()}"


@dataclass(frozen=True, eq=False)
class Transition(_Edge):
    """A token labelled ``before`` is followed by one labelled ``after``."""

    before: Label
    after: Label
    keys = ("transition",)

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
        return "expect.transition", _arguments((self.before, self.after))

    def outcomes(self, classes: Outcomes | None = None) -> tuple[Hashable, Outcomes, Outcomes | None]:
        return "transition", frozenset({self.identity()}), None

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
    token: ClassVar[str]

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
        return f"expect.{self.verb}", _arguments(self.labels)

    def outcomes(self, classes: Outcomes | None = None) -> tuple[Hashable, Outcomes, Outcomes | None]:
        return self.verb, frozenset(map(exact, self.labels)), classes

    def support(self, given: Condition | None, unit: Unit, plural: bool) -> str:
        noun = "sequences" if plural else "sequence"
        return noun if given is None else f"{noun} whose {self.token} token is {given.neighbour('one')}"

    def predicate(self, plural: bool) -> str:
        return f"{self.verb}{'' if plural else 's'} with {_any_of(self.labels)}"

    def among(self, given: Condition | None, unit: Unit) -> str:
        noun = f"{self.verb}s with {_any_of(self.labels)}"
        return noun if given is None else f"{noun} {given.place()}"


@dataclass(frozen=True, eq=False)
class Start(_Border):
    """A sequence's first token has one of these labels."""

    keys = ("start",)
    verb = "start"
    token = "first"


@dataclass(frozen=True, eq=False)
class End(_Border):
    """A sequence's last token has one of these labels."""

    keys = ("end",)
    verb = "end"
    token = "last"


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
        return "expect.repeats", _arguments(self.labels)

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
        return _any_of(self.labels) if self.labels else "any field"


@dataclass(frozen=True, eq=False)
class Statistic(Event):
    """A named statistic of the whole sequence."""

    name: str
    keys = ("statistic",)
    counts = True

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


def _arguments(values: tuple[Label, ...]) -> str:
    return ", ".join(map(repr, values))


def _any_of(values: tuple[Label, ...]) -> str:
    return join([show(v) for v in values], "or")
