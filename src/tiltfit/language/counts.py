"""Events of a whole sequence that are counted: the constraint states the mean number, which may exceed one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tiltfit.errors import ConstraintError
from tiltfit.inference import statistic as inference
from tiltfit.inference.fields import Fields
from tiltfit.inference.segmental import Segmental
from tiltfit.inference.statistics import build
from tiltfit.language.event import Event, Tables, any_label, arguments, indicator
from tiltfit.language.prose import quote, show
from tiltfit.language.scheme import continues, is_scheme, parse
from tiltfit.language.table import Table
from tiltfit.language.values import Label, label, labels, match, text
from tiltfit.language.written import LABEL, LABELS, SOME_LABELS, TEXT, TRUE, Document

if TYPE_CHECKING:
    from tiltfit.data.inputs import Unit
    from tiltfit.language.condition import Condition

Option = Label | tuple[Label, ...]


@dataclass(frozen=True, eq=False)
class Segments(Event):
    """The number of maximal runs of a label in a sequence."""

    label: Label
    keys = {"segments": LABEL}
    counts = True

    def __post_init__(self) -> None:
        self._set(label=label(self.label))

    @property
    def names(self) -> tuple[Label, ...]:
        return (self.label,)

    @property
    def code(self) -> tuple[str, str]:
        return "expect.segments", repr(self.label)

    def tables(self, classes: Sequence[object]) -> Tables:
        # 1 for the labels of the field: the label itself, or in a scheme the tags of that entity.
        if match(self.label, classes) is None:
            inside = np.array([float(entity == self.label) for entity in _entities(classes)])
        else:
            inside = indicator((self.label,), classes)
        return [("first", inside), ("edge", inside[None, :] * ~continues(classes))]

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
    """The number of times that a field comes back after another one in a sequence: one of these, or any."""

    labels: tuple[Label, ...] = ()
    keys = {"repeats": {"anyOf": [TRUE, {"type": ["string", "number"]}, SOME_LABELS]}}
    counts = True
    whole = True
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

    def statistic(self, classes: Sequence[object]) -> inference.Statistic:
        return build("repeats", _fields(classes), labels=self.labels)

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
        found = [dict(self.options).get(key, ()) for key in _LABELS]
        return tuple(name for value in found for name in (value if isinstance(value, tuple) else (value,)))

    def to_document(self) -> Document:
        if not self.options:
            return {"statistic": self.name}
        options = {key: list(value) if isinstance(value, tuple) else value for key, value in self.options}
        return {"statistic": {"name": self.name, **options}}

    @classmethod
    def from_table(cls, table: Table, key: str) -> Statistic:
        if isinstance(table.raw(key), str):
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
    return any_label(value) if isinstance(value, tuple) else show(value)
