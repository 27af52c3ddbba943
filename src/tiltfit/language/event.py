"""What an event is (the thing whose share, or mean count, a constraint speaks of), and the plainest one: a label."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from tiltfit.language.prose import join, show
from tiltfit.language.table import Table
from tiltfit.language.values import Exact, Label, exact, labels

if TYPE_CHECKING:
    from tiltfit.data.inputs import Unit
    from tiltfit.language.condition import Condition

Document = dict[str, object]
Outcomes = frozenset[object]


class Event(Exact):
    """One kind of event. Its class owns its TOML keys, its Python code and its words.

    ``counts``: the constraint speaks of a mean count per sequence, which may exceed one; otherwise of a share.
    ``per_sequence``: it happens at most once in a sequence (or document), so that a share is a probability there.
    ``trained``: estimators can take it; of those that they cannot yet, messages do not speak.
    """

    registry: ClassVar[dict[str, type[Event]]] = {}
    keys: ClassVar[tuple[str, ...]]
    is_sequence: ClassVar[bool] = True
    counts: ClassVar[bool] = False
    per_sequence: ClassVar[bool] = False
    trained: ClassVar[bool] = True

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
        return "expect", arguments(self.labels)

    def outcomes(self, classes: Outcomes | None = None) -> tuple[Hashable, Outcomes, Outcomes | None]:
        return "label", frozenset(map(exact, self.labels)), classes

    def support(self, given: Condition | None, unit: Unit, plural: bool) -> str:
        noun = unit if plural else unit.removesuffix("s")
        return noun if given is None else f"{noun} {given.clause(unit)}"

    def predicate(self, plural: bool) -> str:
        return f"{'are' if plural else 'is'} {any_label(self.labels)}"

    def among(self, given: Condition | None, unit: Unit) -> str:
        return f"{self.support(given, unit, True)} that are {any_label(self.labels)}"

    def is_among(self) -> str:
        return self.predicate(plural=True)

    def located(self, given: Condition, unit: Unit) -> str:
        return f"are ones {given.clause(unit)}"


def arguments(values: tuple[Label, ...]) -> str:
    """Labels as Python writes them."""
    return ", ".join(map(repr, values))


def any_label(values: tuple[Label, ...]) -> str:
    """``author or editor``."""
    return join([show(v) for v in values], "or")
