"""What an event is (the thing whose share, or mean count, a constraint states), and the plainest one: a label.

    f′(x, y) = Σ_t 1[at t]·table[y_t]   or   Σ_t 1[at t]·table[y_{t−1}, y_t]

An event is a sum of such terms, or a statistic of the whole sequence. Most have one term; a segment begins at the start
of a sequence or on an edge.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from tiltfit.arrays import BoolArray, FloatArray, IntArray
from tiltfit.errors import UnsupportedError
from tiltfit.inference.chain import Chains
from tiltfit.inference.independent import Independent
from tiltfit.inference.statistic import Statistic
from tiltfit.language.prose import join, show
from tiltfit.language.table import Table
from tiltfit.language.values import Exact, Label, exact, labels, match

if TYPE_CHECKING:
    from tiltfit.data.inputs import Unit
    from tiltfit.language.condition import Condition

Document = dict[str, object]
Outcomes = frozenset[object]
Place = Literal["all", "first", "last", "edge"]
"""Every position, the first or last of each sequence, or every position that an edge leads to."""

Tables = list[tuple[Place, FloatArray]]


@dataclass(frozen=True, eq=False)
class Term:
    """``at``: the positions where it is looked at. ``table``: over labels (of the position) or over pairs of labels (of
    the edge that leads to the position)."""

    at: BoolArray
    table: FloatArray

    @property
    def on_edges(self) -> bool:
        return self.table.ndim == 2

    def within(self, at: BoolArray) -> Term:
        """Only where ``at`` holds as well."""
        return replace(self, at=self.at & at)

    def values(self, labels: IntArray, at: IntArray) -> FloatArray:
        """The entries of the table at these positions, under these labels of all positions."""
        return np.asarray(self.table[labels[at - 1], labels[at]] if self.on_edges else self.table[labels[at]])


class Event(Exact):
    """One kind of event. Its class owns its TOML keys, its Python code, its words and its tables.

    ``counts``: the constraint states a mean count per sequence, which may exceed one; otherwise a share.
    ``per_sequence``: it happens at most once in a sequence (or document), so a share is a probability there.
    ``whole``: it looks at the whole sequence at once (``statistic``), not at single tokens and edges (``tables``).
    ``has_instances``: single ones can be pointed at, so it can be a share of another event or have shares (``of=``).
    ``place``: where it happens, if it is that the label there is one of ``names``; otherwise None.
    """

    registry: ClassVar[dict[str, type[Event]]] = {}
    keys: ClassVar[tuple[str, ...]]
    is_sequence: ClassVar[bool] = True
    counts: ClassVar[bool] = False
    per_sequence: ClassVar[bool] = False
    whole: ClassVar[bool] = False
    has_instances: ClassVar[bool] = True
    place: ClassVar[Place | None] = None

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

    # Meaning: an event implements one of `tables` and `statistic`.

    def tables(self, classes: Sequence[object]) -> Tables:
        """Where the event can happen, and 1 for the labels (or pairs of labels) that make it happen there."""
        raise UnsupportedError(
            f"{self.code[0]}({self.code[1]}) is not a sum over tokens and edges, so there is no share of it: leave of= "
            "out."
        )

    def statistic(self, classes: Sequence[object]) -> Statistic | None:
        """What an event of whole sequences counts; None for other events."""
        return None

    def terms(self, classes: Sequence[object], structure: Independent | Chains) -> list[Term]:
        """The event on data, at every position where it could happen."""
        n = int(structure.positions(np.arange(len(structure))).size)
        first, last = (np.isin(np.arange(n), places) for places in (structure.first, structure.last))
        where = {"all": np.ones(n, dtype=np.bool_), "first": first, "last": last, "edge": ~first}
        return [Term(where[place], table) for place, table in self.tables(classes)]

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
    place = "all"
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

    def tables(self, classes: Sequence[object]) -> Tables:
        return [("all", indicator(self.labels, classes))]

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


def indicator(names: Sequence[Label], classes: Sequence[object]) -> FloatArray:
    """1 for the classes of these names, which ``ConstraintSet.check_labels`` has checked, and 0 for the others."""
    vector = np.zeros(len(classes))
    vector[np.array([match(name, classes) for name in names], dtype=np.intp)] = 1.0
    return vector
