"""Events of sequences: what is counted in a whole one, neighbouring tokens, and the first and last token.

A constraint on a count states the mean number per sequence, which may exceed one; on other events it states a share.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from tiltfit.errors import ConstraintError
from tiltfit.inference import statistic as inference
from tiltfit.inference.fields import Fields
from tiltfit.inference.segmental import Segmental
from tiltfit.inference.statistics import build
from tiltfit.language.event import (
    BuiltIn,
    Event,
    Labels,
    OfLabels,
    Outcomes,
    Place,
    Tables,
    any_label,
    indicator,
    transitions,
)
from tiltfit.language.prose import quote, show
from tiltfit.language.scheme import continues, is_scheme, parse
from tiltfit.language.values import Label, exact, label, labels, match, text
from tiltfit.language.written import LABEL, LABELS, SOME_LABELS, TEXT, TRUE, Document, Table, entries, plain_field

if TYPE_CHECKING:
    from tiltfit.data.inputs import Unit
    from tiltfit.language.condition import Condition

__all__ = ["Change", "End", "Event", "Labels", "Repeats", "Segments", "Start", "Statistic", "Stay", "Transition"]


class _Counted(BuiltIn):
    """Runs of labels that are counted; its key is their plural noun, and a condition looks at their first token."""

    counts = True

    def quantity(self, number: str, one: bool, given: Condition | None, subject: str) -> str:
        only = "" if given is None else f", counting only {self.key} that start {given.place()}"
        noun = self.key.removesuffix("s") if one else self.key
        return f"{subject} has {number} {noun} of {self._what} on average{only}"

    def among(self, given: Condition | None, unit: Unit) -> str:
        noun = f"{self.key} of {self._what}"
        return noun if given is None else f"{noun} that {self.located(given, unit)}"

    def located(self, given: Condition, unit: Unit) -> str:
        return f"start {given.place()}"

    @property
    def _what(self) -> str:
        return any_label(self.names) if self.names else "any field"


@dataclass(frozen=True, eq=False)
class Segments(_Counted):
    """The number of maximal runs of a label in a sequence."""

    label: Label
    keys = {"segments": LABEL}

    def __post_init__(self) -> None:
        self._set(label=label(self.label))

    @property
    def names(self) -> tuple[Label, ...]:
        return (self.label,)

    def tables(self, classes: Sequence[object]) -> Tables:
        # 1 for the labels of the field: the label itself, or in a scheme the tags of that entity.
        if match(self.label, classes) is None:
            inside = np.array([float(entity == self.label) for entity in _entities(classes)])
        else:
            inside = indicator((self.label,), classes)
        return [("first", inside), ("edge", inside[None, :] * ~continues(classes))]


@dataclass(frozen=True, eq=False)
class Repeats(_Counted, OfLabels):
    """The number of times that a field comes back after another one in a sequence: one of these, or any."""

    keys = {"repeats": {"anyOf": [TRUE, {"type": ["string", "number"]}, SOME_LABELS]}}
    whole = True

    def to_document(self) -> Document:
        return {"repeats": list(self.labels) or True}

    @classmethod
    def from_table(cls, table: Table, key: str) -> Self:
        if not table.holds(key, bool):
            return super().from_table(table, key)
        table.true(key)
        return cls()

    def statistic(self, classes: Sequence[object]) -> inference.Statistic:
        return build("repeats", _fields(classes), labels=self.labels)


Option = Label | tuple[Label, ...]
_LABELS = ("labels", "first", "then")  # options that name labels
_WORDS = {
    "appears": "the share of sequences with {labels}",
    "missing": "the number of missing fields among {listed}",
    "distinct": "the number of different fields among {listed}",
    "before": "the share of sequences where {first} comes before {then}",
    "short": "the number of segments of {labels} shorter than {below} tokens",
    "capped": "the number of segments of {labels}, up to {cap},",
}


@dataclass(frozen=True, eq=False)
class Statistic(Event):
    """A named statistic of the whole sequence, with its options: ``Statistic("before", first="author", then="title")``.

    Options are labels, whole numbers, or tuples of labels. Which there are is for the statistic of that name to say.
    """

    name: str
    options: tuple[tuple[str, Option], ...] = ()
    keys = {
        "statistic": {
            "anyOf": [
                TEXT,
                {
                    "type": "object",
                    "properties": {"name": TEXT},
                    "required": ["name"],
                    "additionalProperties": LABELS,
                },
            ]
        }
    }
    counts = True
    whole = True
    has_instances = False

    def __post_init__(self) -> None:
        given = dict(self.options)
        self._set(
            name=text(self.name, "The name of a statistic"),
            options=tuple((key, _option(self.name, key, given[key])) for key in sorted(given)),
        )

    @property
    def names(self) -> tuple[Label, ...]:
        options = dict(self.options)
        return tuple(name for key in _LABELS for name in entries(options.get(key, ())))

    def to_document(self) -> Document:
        if not self.options:
            return {"statistic": self.name}
        return {"statistic": {"name": self.name, **{key: plain_field(self, value) for key, value in self.options}}}

    @classmethod
    def from_table(cls, table: Table, key: str) -> Statistic:
        if table.holds(key, str):
            return cls(table.text(key))
        inner = table.child(key)
        name = inner.text("name")
        return cls(name, tuple((k, _option(name, k, inner.raw(k))) for k in inner.keys if k != "name"))

    @property
    def code(self) -> tuple[str, str]:
        options = f", options={dict(self.options)!r}" if self.options else ""
        return "expect.statistic", f"{self.name!r}{options}"

    def statistic(self, classes: Sequence[object]) -> inference.Statistic:
        found = build(self.name, _fields(classes), **dict(self.options))
        if not isinstance(found, Segmental):  # somebody wrote it
            inference.check_statistic(found, len(classes))
        return found

    def quantity(self, number: str, one: bool, given: Condition | None, subject: str) -> str:
        only = "" if given is None else f", counting only tokens {given.clause('tokens')}"
        given_options = {key: _shown(value) for key, value in self.options}
        listed = given_options.get("labels", "all of them")
        known = {"labels": "any field", "listed": listed, "below": "2", "cap": "1"} | given_options
        if self.name in _WORDS and all(f"{{{key}}}" not in _WORDS[self.name] or key in known for key in _LABELS):
            where = f"in {subject}, " if subject.startswith("each") else ""
            return f"{where}{_WORDS[self.name].format(**known)} is {number} on average{only}"
        options = ", ".join(f"{key} {_shown(value)}" for key, value in self.options)
        what = quote(self.name) + (f" ({options})" if options else "")
        return f"the statistic {what} of {subject} is {number} on average{only}"


class _Edge(BuiltIn):
    """Something about two neighbouring tokens; a condition looks at the second."""

    def support(self, given: Condition | None, unit: Unit, plural: bool) -> str:
        return transitions(given, plural)


class _StayOrChange(_Edge):
    """One of the two things that can happen between neighbouring tokens. ``verb``: what it does to the label."""

    verb: ClassVar[str]

    def outcomes(self, classes: Outcomes | None = None) -> tuple[Hashable, Outcomes, Outcomes | None]:
        return "edge", frozenset({self.key}), frozenset({"stay", "change"})

    def predicate(self, plural: bool) -> str:
        return f"{self.verb}{'' if plural else 's'} the label"


@dataclass(frozen=True, eq=False)
class Stay(_StayOrChange):
    """A token has the label of the token before it."""

    keys = {"stay": TRUE}
    verb = "keep"

    def tables(self, classes: Sequence[object]) -> Tables:
        return [("edge", continues(classes).astype(np.float64))]

    def among(self, given: Condition | None, unit: Unit) -> str:
        return f"{self.support(given, unit, True)} that keep the label"


@dataclass(frozen=True, eq=False)
class Change(_StayOrChange):
    """A token has a different label from the token before it."""

    keys = {"change": TRUE}
    verb = "change"
    plural = "field changes"

    def tables(self, classes: Sequence[object]) -> Tables:
        return [("edge", (~continues(classes)).astype(np.float64))]


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
    def from_table(cls, table: Table, key: str) -> Self:
        ends = table.labels(key)
        if len(ends) != 2:
            raise table.error(f"must be two labels [from, to], but has {len(ends)}", key)
        return cls(*ends)

    @property
    def code(self) -> tuple[str, str]:
        return "expect.transition", f"{self.before!r}, {self.after!r}"

    def outcomes(self, classes: Outcomes | None = None) -> tuple[Hashable, Outcomes, Outcomes | None]:
        return "transition", frozenset({self.identity()}), None

    def tables(self, classes: Sequence[object]) -> Tables:
        return [("edge", np.outer(indicator((self.before,), classes), indicator((self.after,), classes)))]

    def predicate(self, plural: bool) -> str:
        return f"{'go' if plural else 'goes'} {self._ends}"

    def among(self, given: Condition | None, unit: Unit) -> str:
        noun = f"transitions {self._ends}"
        return noun if given is None else f"{noun} {given.place()}"

    @property
    def _ends(self) -> str:
        return f"from {show(self.before)} to {show(self.after)}"


class _Border(OfLabels):
    """The token at one end of a sequence (``place``) has one of these labels; its key is a verb."""

    per_sequence = True
    place: ClassVar[Place]

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.labels:
            raise ConstraintError(f"{self.code[0]}() names no label: pass at least one.")

    def outcomes(self, classes: Outcomes | None = None) -> tuple[Hashable, Outcomes, Outcomes | None]:
        return self.key, frozenset(map(exact, self.labels)), classes

    def tables(self, classes: Sequence[object]) -> Tables:
        return [(self.place, indicator(self.labels, classes))]

    def support(self, given: Condition | None, unit: Unit, plural: bool) -> str:
        noun = "sequences" if plural else "sequence"
        return noun if given is None else f"{noun} whose {self.place} token is {given.neighbour('one')}"

    def predicate(self, plural: bool) -> str:
        return f"{self.key}{'' if plural else 's'} with {any_label(self.labels)}"

    def among(self, given: Condition | None, unit: Unit) -> str:
        return f"{self.support(given, unit, True)} that {self.predicate(plural=True)}"

    def is_among(self) -> str:
        return f"{self.key} a sequence with {any_label(self.labels)}"


@dataclass(frozen=True, eq=False)
class Start(_Border):
    """A sequence's first token has one of these labels."""

    keys = {"start": LABELS}
    place = "first"


@dataclass(frozen=True, eq=False)
class End(_Border):
    """A sequence's last token has one of these labels."""

    keys = {"end": LABELS}
    place = "last"


def _entities(classes: Sequence[object]) -> list[str | None]:
    return [(parse(c) or ("", None))[1] for c in classes]


def _fields(classes: Sequence[object]) -> Fields:
    """The labels themselves, or the entities of a scheme."""
    return Fields.of(_entities(classes) if is_scheme(classes) else classes, continues(classes))


def _option(name: str, key: object, value: object) -> Option:
    what = f"The option {key!r} of the statistic {name!r}"
    if not isinstance(key, str) or not key.isidentifier() or key == "name":
        raise ConstraintError(f"{what} is not a name that an option can have.")
    if isinstance(value, list | tuple):
        if not value:
            raise ConstraintError(f"{what} is empty: name a label, or leave it out.")
        return labels(value, what)
    return (label(value, what),) if key == "labels" else label(value, what)


def _shown(value: Option) -> str:
    return any_label(entries(value))
