"""Combinations of conditions: ``& | ~``, and the same question asked of the neighbouring token."""

from __future__ import annotations

import itertools
from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from tiltfit.arrays import BoolArray
from tiltfit.errors import ConstraintError
from tiltfit.language.condition import Condition, require_sequences
from tiltfit.language.prose import join
from tiltfit.language.table import MAX_DEPTH, Table
from tiltfit.language.written import CONDITION, Document

if TYPE_CHECKING:
    from tiltfit.data.inputs import Inputs, Unit


@dataclass(frozen=True, eq=False, repr=False)
class _Neighbour(Condition):
    """A condition asked of the neighbouring token of the same sequence; at the sequence's edge the answer is no."""

    part: Condition
    name: ClassVar[str]
    side: ClassVar[str]  # where the token stands that the condition is about, seen from the neighbour

    def __post_init__(self) -> None:
        _check_parts([self.part])

    @property
    def parts(self) -> tuple[Condition, ...]:
        return (self.part,)

    @property
    def is_sequence(self) -> bool:
        return True

    def decide(self, inputs: Inputs) -> tuple[BoolArray, BoolArray]:
        offsets = require_sequences(inputs, repr(self))
        yes, no = self.part.decide(inputs)
        return self._shift(yes, offsets, edge=False), self._shift(no, offsets, edge=True)

    @staticmethod
    @abstractmethod
    def _shift(values: BoolArray, offsets: npt.NDArray[np.intp], *, edge: bool) -> BoolArray:
        """The neighbour's value at each token, ``edge`` where there is none."""

    def __repr__(self) -> str:
        return f"{_operand(self.part, loose=(AllOf, AnyOf, Not))}.{self.name}"

    def to_document(self) -> Document:
        return {self.name: self.part.to_document()}

    @classmethod
    def from_table(cls, table: Table, key: str) -> Condition:
        return cls(Condition.parse(table.child(key)))

    def clause(self, unit: Unit, negated: bool = False) -> str:
        return f"{'not ' if negated else ''}{self.side} {self.part.neighbour()}"

    def place(self) -> str:
        return self.clause("tokens")


@dataclass(frozen=True, eq=False, repr=False)
class Before(_Neighbour):
    """The token before fulfils the condition."""

    keys = {"before": CONDITION}
    name = "before"
    side = "after"

    @staticmethod
    def _shift(values: BoolArray, offsets: npt.NDArray[np.intp], *, edge: bool) -> BoolArray:
        shifted = np.roll(values, 1)
        shifted[offsets[:-1][np.diff(offsets) > 0]] = edge
        return shifted


@dataclass(frozen=True, eq=False, repr=False)
class After(_Neighbour):
    """The token after fulfils the condition."""

    keys = {"after": CONDITION}
    name = "after"
    side = "before"

    @staticmethod
    def _shift(values: BoolArray, offsets: npt.NDArray[np.intp], *, edge: bool) -> BoolArray:
        shifted = np.roll(values, -1)
        shifted[offsets[1:][np.diff(offsets) > 0] - 1] = edge
        return shifted


@dataclass(frozen=True, eq=False, repr=False)
class Not(Condition):
    """The negation of a condition."""

    part: Condition
    keys = {"not": CONDITION}

    def __post_init__(self) -> None:
        _check_parts([self.part])

    @property
    def parts(self) -> tuple[Condition, ...]:
        return (self.part,)

    def decide(self, inputs: Inputs) -> tuple[BoolArray, BoolArray]:
        yes, no = self.part.decide(inputs)
        return no, yes

    def suggest(self, inputs: Inputs) -> str | None:
        return None  # it never fires because its part always does

    def __invert__(self) -> Condition:
        return self.part

    def __repr__(self) -> str:
        return f"~{_operand(self.part, loose=(AllOf, AnyOf))}"

    def to_document(self) -> Document:
        return {"not": self.part.to_document()}

    @classmethod
    def from_table(cls, table: Table, key: str) -> Condition:
        return ~Condition.parse(table.child(key))

    def clause(self, unit: Unit, negated: bool = False) -> str:
        return self.part.clause(unit, not negated)


@dataclass(frozen=True, eq=False, repr=False)
class _Group(Condition):
    """Two or more different conditions; groups of the same kind inside are merged into it."""

    members: tuple[Condition, ...]
    unordered = ("members",)
    symbol: ClassVar[str]
    conjunction: ClassVar[str]
    dual: ClassVar[str]  # the conjunction after negation

    def __post_init__(self) -> None:
        _check_parts(self.members)
        self._set(members=_flatten(type(self), self.members))
        if len(self.members) < 2:
            raise ConstraintError(f"{type(self).__name__} needs at least two different conditions.")

    @property
    def parts(self) -> tuple[Condition, ...]:
        return self.members

    def __repr__(self) -> str:
        return f" {self.symbol} ".join(_operand(part, loose=(AnyOf,)) for part in self.members)

    def to_document(self) -> Document:
        return {self.key: [part.to_document() for part in self.members]}

    def clause(self, unit: Unit, negated: bool = False) -> str:
        clauses = [part.clause(unit, negated) for part in self.members]
        inside = [_conjunction(part, negated) for part in self.members]
        if not any(inside):
            clauses = _without_repeats(clauses)
        own = self.dual if negated else self.conjunction
        return join([f"({c})" if i not in (None, own) else c for c, i in zip(clauses, inside, strict=True)], own)


def _without_repeats(clauses: list[str]) -> list[str]:
    """'with the word "a", "b" or the phrase "c d"': what the clause before has said need not be said again."""
    shorter = clauses[:1]
    for before, clause in itertools.pairwise(clauses):
        plain_words = all(c.startswith('with the word "') and c.endswith('"') for c in (before, clause))
        both_with = before.startswith("with ") and clause.startswith("with ")
        opening = "with the word " if plain_words else "with " if both_with else ""
        shorter.append(clause.removeprefix(opening))
    return shorter


@dataclass(frozen=True, eq=False, repr=False)
class AllOf(_Group):
    """All of the conditions hold."""

    keys = {"all": {"type": "array", "items": CONDITION, "minItems": 1}}
    symbol = "&"
    conjunction = "and"
    dual = "or"

    def decide(self, inputs: Inputs) -> tuple[BoolArray, BoolArray]:
        decided = [part.decide(inputs) for part in self.members]
        return np.logical_and.reduce([yes for yes, _ in decided]), np.logical_or.reduce([no for _, no in decided])

    @classmethod
    def from_table(cls, table: Table, key: str) -> Condition:
        return all_of([Condition.parse(child) for child in table.children(key)])


@dataclass(frozen=True, eq=False, repr=False)
class AnyOf(_Group):
    """At least one of the conditions holds."""

    keys = {"any": {"type": "array", "items": CONDITION, "minItems": 1}}
    symbol = "|"
    conjunction = "or"
    dual = "and"

    def decide(self, inputs: Inputs) -> tuple[BoolArray, BoolArray]:
        decided = [part.decide(inputs) for part in self.members]
        return np.logical_or.reduce([yes for yes, _ in decided]), np.logical_and.reduce([no for _, no in decided])

    @classmethod
    def from_table(cls, table: Table, key: str) -> Condition:
        return any_of([Condition.parse(child) for child in table.children(key)])


def all_of(parts: Iterable[Condition]) -> Condition:
    """All of the parts; one part (or several equal ones) is just that part."""
    flat = _flatten(AllOf, parts)
    return flat[0] if len(flat) == 1 else AllOf(flat)


def any_of(parts: Iterable[Condition]) -> Condition:
    """Any of the parts; one part (or several equal ones) is just that part."""
    flat = _flatten(AnyOf, parts)
    return flat[0] if len(flat) == 1 else AnyOf(flat)


def _flatten(kind: type[_Group], parts: Iterable[Condition]) -> tuple[Condition, ...]:
    found: dict[Condition, None] = {}
    for part in parts:
        found.update(dict.fromkeys(part.members if isinstance(part, kind) else (part,)))
    return tuple(found)


def _conjunction(part: Condition, negated: bool) -> str | None:
    """The word that joins the parts of a group once its negations are worked in."""
    while isinstance(part, Not):
        part, negated = part.part, not negated
    if not isinstance(part, _Group):
        return None
    return part.dual if negated else part.conjunction


def _operand(part: Condition, loose: tuple[type[Condition], ...]) -> str:
    return f"({part!r})" if isinstance(part, loose) else repr(part)


def _check_parts(parts: Iterable[object]) -> None:
    for part in parts:
        if not isinstance(part, Condition):
            raise ConstraintError(f"Only conditions can be combined, but {part!r} is none.")
        if part.depth >= MAX_DEPTH:
            raise ConstraintError(f"The condition is nested more than {MAX_DEPTH} deep.")
