"""Events: the thing whose share, or mean count, a constraint states; and the plainest one, a label.

    f′(x, y) = Σ_t 1[at t]·table[y_t]   or   Σ_t 1[at t]·table[y_{t−1}, y_t]

An event is a sum of such terms, or a statistic of the whole sequence. Most have one term; a segment begins at the start
of a sequence or on an edge.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Literal, Self, TypeVar

import numpy as np

from tiltfit.arrays import BoolArray, FloatArray, IntArray
from tiltfit.errors import ConstraintError, TiltfitError, UnsupportedError
from tiltfit.inference.chain import Chains
from tiltfit.inference.independent import Independent
from tiltfit.inference.statistic import Statistic, check_statistic
from tiltfit.language.prose import join, show
from tiltfit.language.values import Label, exact, labels, match
from tiltfit.language.written import LABEL, LABELS, Document, Table, Written, enrol, guard, require_subclass
from tiltfit.registry import Registry

if TYPE_CHECKING:
    from tiltfit.data.inputs import Unit
    from tiltfit.language.condition import Condition

Outcomes = frozenset[object]
PLACES = ("all", "first", "last", "edge")
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


def disjoint(terms: list[Term]) -> list[Term]:
    """The same sum with at most one term at every position; terms that never meet are returned as they are.

    Where terms meet, their tables are added. A table over labels is then added to each row of one over pairs, because
    an edge is at the position it leads to.
    """
    if len(terms) < 2:
        return terms
    fires = np.stack([term.at for term in terms], axis=1)
    if not np.any(np.count_nonzero(fires, axis=1) > 1):
        return terms
    patterns, number = np.unique(fires, axis=0, return_inverse=True)
    found = []
    for k, pattern in enumerate(patterns):
        tables = [term.table for term, here in zip(terms, pattern, strict=True) if here]
        if tables:
            found.append(Term(number.ravel() == k, np.asarray(sum(tables))))
    return found


class Event(Written):
    """One kind of event. Its class owns its TOML keys, its Python code, its words and its tables.

    An extension is a frozen dataclass with ``key``, ``plural`` and one of ``tables`` and ``statistic``.

    ``counts``: the constraint states a mean count per sequence, which may exceed one; otherwise a share.
    ``per_sequence``: it happens at most once in a sequence (or document), so a share is a probability there.
    ``whole``: it looks at the whole sequence at once (``statistic``), not at single tokens and edges (``tables``).
    ``has_instances``: single ones can be pointed at, so it can be a share of another event or have shares (``of=``).
    ``place``: where it happens, if it is that the label there is one of ``names``; otherwise None.
    """

    registry: ClassVar[Registry[type[Event]]] = Registry("event key")
    plural: ClassVar[str] = ""
    """The events as a plural noun: ``returns to the label before``."""
    is_sequence: ClassVar[bool] = True
    counts: ClassVar[bool] = False
    per_sequence: ClassVar[bool] = False
    whole: ClassVar[bool] = False
    has_instances: ClassVar[bool] = True
    place: ClassVar[Place | None] = None

    @property
    def names(self) -> tuple[Label, ...]:
        """The labels that the event names."""
        return ()

    @property
    def code(self) -> tuple[str, str]:
        """The call that makes it and its arguments: ``("expect.start", "'a', 'b'")``."""
        return "expect.event", repr(self)

    def outcomes(self, classes: Outcomes | None = None) -> tuple[Hashable, Outcomes, Outcomes | None]:
        """(family, its outcomes in the family, all of the family's if known): shares of a family sum to one or less."""
        return self.identity(), frozenset({True}), None

    # Meaning: an event implements one of `tables` and `statistic`.

    def tables(self, classes: Sequence[object]) -> Tables:
        """The places where the event can happen, and 1 for the labels (or pairs) that make it happen there."""
        raise UnsupportedError(
            f"{self.code[0]}({self.code[1]}) is not a sum over tokens and edges, so there is no share of it: leave of= "
            "out."
        )

    def statistic(self, classes: Sequence[object]) -> Statistic | None:
        """The statistic that an event of whole sequences counts; None for other events."""
        return None

    def terms(self, classes: Sequence[object], structure: Independent | Chains) -> list[Term]:
        """The event on data, at every position where it could happen: one term at each."""
        found = disjoint([Term(_positions(place, structure), table) for place, table in self.tables(classes)])
        twice = next((term for term in found if not self.counts and np.any(term.table > 1)), None)
        if twice is not None:
            instance = np.searchsorted(structure.first, np.argmax(twice.at), side="right") - 1
            where = f"one token of sequence {instance}" if structure.has_edges else f"document {instance}"
            raise ConstraintError(
                f"The tables of {self!r} add up to {twice.table.max():g} at {where}, but a share counts an event at "
                "most once at each place. Let only one table hold 1 there, or set counts = True to state a mean number."
            )
        return found

    # Words. `given` is the condition or None. Share events use support and predicate, the others quantity.

    def support(self, given: Condition | None, unit: Unit, plural: bool) -> str:
        """The noun that the share is a share of: ``documents with the word "puck"``."""
        if self._is_between_tokens:
            return transitions(given, plural)
        noun = unit if plural else unit.removesuffix("s")
        return noun if given is None else f"{noun} {given.clause(unit)}"

    @property
    def _is_between_tokens(self) -> bool:
        """True for a share that an extension states by tables of edges alone: it is a share of transitions."""
        if self.place is not None or self.counts or self.whole:
            return False
        try:
            tables = self.tables((*self.names, "one label", "another label"))
        except TiltfitError:  # it needs labels that it does not name
            return False
        return all(place == "edge" for place, _ in tables)

    def predicate(self, plural: bool) -> str:
        """The verb of the sentence: ``are hockey``."""
        return f"{'are' if plural else 'is one of the'} {self.plural}"

    def quantity(self, number: str, one: bool, given: Condition | None, subject: str) -> str:
        """The sentence of a count: ``a sequence has at most 1 segment of journal on average``."""
        only = "" if given is None else f", counting only those {given.place()}"
        return f"{subject} has {number} {self.plural} on average{only}"

    def among(self, given: Condition | None, unit: Unit) -> str:
        """The event as a plural noun: ``field changes after punctuation``."""
        return self.plural if given is None else f"{self.plural} {given.place()}"

    def is_among(self) -> str:
        """The verb for members of another event that are this one: ``are transitions from a to b``."""
        return f"are {self.among(None, 'tokens')}"

    def located(self, given: Condition, unit: Unit) -> str:
        """The verb for the place of its instances: ``come after punctuation``."""
        return f"come {given.place()}"


class BuiltIn(Event):
    """An event that ``expect`` has a method for, called like its key, which takes the labels that the event names."""

    @property
    def code(self) -> tuple[str, str]:
        return f"expect.{self.key}", ", ".join(map(repr, self.names))


@dataclass(frozen=True, eq=False)
class OfLabels(BuiltIn):
    """An event that names some labels, in any order."""

    labels: tuple[Label, ...] = ()
    unordered = ("labels",)

    def __post_init__(self) -> None:
        self._set(labels=labels(self.labels, self.code[0]))

    @property
    def names(self) -> tuple[Label, ...]:
        return self.labels

    @classmethod
    def from_table(cls, table: Table, key: str) -> Self:
        return cls(tuple(table.labels(key)))


@dataclass(frozen=True, eq=False)
class Labels(OfLabels):
    """The label is one of these. No labels: no event, for ``distributed_as``."""

    keys = {"label": LABEL, "labels": LABELS}
    is_sequence = False
    place = "all"

    def __post_init__(self) -> None:
        self._set(labels=labels(self.labels, "expect(...)"))

    def to_document(self) -> Document:
        if len(self.labels) == 1:
            return {"label": self.labels[0]}
        return {"labels": list(self.labels)} if self.labels else {}

    @classmethod
    def from_table(cls, table: Table, key: str) -> Self:
        return cls((table.label(key),)) if key == "label" else super().from_table(table, key)

    @property
    def code(self) -> tuple[str, str]:
        return "expect", super().code[1]

    def outcomes(self, classes: Outcomes | None = None) -> tuple[Hashable, Outcomes, Outcomes | None]:
        return "label", frozenset(map(exact, self.labels)), classes

    def tables(self, classes: Sequence[object]) -> Tables:
        return [("all", indicator(self.labels, classes))]

    def predicate(self, plural: bool) -> str:
        return f"{'are' if plural else 'is'} {any_label(self.labels)}"

    def among(self, given: Condition | None, unit: Unit) -> str:
        return f"{self.support(given, unit, True)} that are {any_label(self.labels)}"

    def is_among(self) -> str:
        return self.predicate(plural=True)

    def located(self, given: Condition, unit: Unit) -> str:
        return f"are ones {given.clause(unit)}"


def transitions(given: Condition | None, plural: bool) -> str:
    """``transitions into tokens with the word "of"``: a condition looks at the second token of the two."""
    noun = "transitions" if plural else "transition"
    return noun if given is None else f"{noun} into {'tokens' if plural else 'a token'} {given.clause('tokens')}"


def any_label(values: tuple[Label, ...]) -> str:
    """``author or editor``."""
    return join([show(v) for v in values], "or")


def indicator(names: Sequence[Label], classes: Sequence[object]) -> FloatArray:
    """1 for the classes of these names, which ``ConstraintSet.check_labels`` has checked, and 0 for the others."""
    vector = np.zeros(len(classes))
    vector[np.array([match(name, classes) for name in names], dtype=np.intp)] = 1.0
    return vector


def _positions(place: Place, structure: Independent | Chains) -> BoolArray:
    n = int(structure.last[-1]) + 1 if len(structure) else 0
    if place == "all":
        return np.ones(n, dtype=np.bool_)
    mask = np.zeros(n, dtype=np.bool_)
    mask[structure.last if place == "last" else structure.first] = True
    return ~mask if place == "edge" else mask


E = TypeVar("E", bound=type[Event])

_RESERVED = {
    "about", "at_least", "at_most", "exactly", "between", "distribution", "penalty", "within",
    "given", "of", "per", "on", "beta", "slack", "name", "rationale",
}  # fmt: skip


def register_event(cls: E) -> E:
    """Make an event known: constraint files, sentences, the JSON schema and model files can then hold it.

    Use it as a decorator above ``@dataclass(frozen=True)``. Write ``expect.event(MyEvent(...))`` to state something
    about it. The class is a subclass of ``tiltfit.Event`` with

    - ``key``: the key that files use for it;
    - ``plural``: the events as a plural noun, for sentences;
    - either ``tables(classes)``: a list of (place, table), where place is "all", "first", "last" (table: one number per
      class) or "edge" (classes × classes), and a table holds 1 where the labels make the event happen, otherwise 0
      (with ``counts = True``: any amount of at least 0); tables that meet at a place are added there;
    - or ``statistic(classes)``: a ``tiltfit.Statistic`` of the whole sequence, whose mean is then constrained;
    - ``names``, a property: the labels it names, if any, so that unknown ones are refused.

    Its fields hold texts, numbers, bools or tuples of them. ``counts = True`` says that the constraint states a mean
    number per sequence instead of a share, ``is_sequence = False`` that the event also makes sense for documents.
    """
    require_subclass(cls, Event)
    own = [name for name in ("tables", "statistic") if getattr(cls, name) is not getattr(Event, name)]
    if len(own) != 1:
        raise ConstraintError(
            f"{cls.__name__} must define tables(classes), for events at tokens and edges, or statistic(classes), for "
            f"whole sequences; it defines {' and '.join(own) or 'neither'}."
        )
    enrol(cls, Event, _RESERVED)
    cls.plural = cls.plural or cls.key.replace("_", " ")
    if own == ["tables"]:
        guard(cls, "tables", _checked_tables)
    else:
        cls.counts = cls.whole = True
        guard(cls, "statistic", _checked_statistic)
    return cls


def _checked_tables(event: Event, found: object, classes: Sequence[object]) -> Tables:
    n, checked = len(classes), []
    entries = found if isinstance(found, list | tuple) else [found]
    if not entries:
        raise ConstraintError(f"tables of {event!r} must return at least one (place, table), but returned none.")
    for entry in entries:
        if not (isinstance(entry, tuple) and len(entry) == 2 and entry[0] in PLACES):
            raise ConstraintError(
                f"tables of {event!r} must return a list of (place, table), place one of {', '.join(PLACES)}, but "
                f"holds {entry!r}."
            )
        place, table = entry[0], np.asarray(entry[1])
        shape = (n, n) if place == "edge" else (n,)
        if table.shape != shape or table.dtype.kind not in "biuf":
            raise ConstraintError(
                f'The table of {event!r} for "{place}" must hold numbers and have the shape {shape}, but has the shape '
                f"{table.shape} and the type {table.dtype}."
            )
        fits = (table >= 0) & (table < np.inf) if event.counts else (table == 0) | (table == 1)
        if not fits.all():
            allowed = "numbers of at least 0" if event.counts else "only 0 and 1, as it is a share,"
            raise ConstraintError(
                f'The table of {event!r} for "{place}" must hold {allowed} but holds {table[~fits][0]:g}.'
            )
        checked.append((place, table.astype(np.float64)))
    return checked


def _checked_statistic(event: Event, found: object, classes: Sequence[object]) -> Statistic:
    if not isinstance(found, Statistic):
        raise ConstraintError(f"statistic of {event!r} must return a tiltfit.Statistic, but returned {found!r}.")
    if not getattr(found, "name", None):
        found.name = event.key
    check_statistic(found, len(classes))
    return found
