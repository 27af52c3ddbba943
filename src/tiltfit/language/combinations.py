"""Combinations of conditions: ``& | ~``, and the same question asked of the neighbouring token."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from tiltfit.arrays import BoolArray
from tiltfit.errors import ConstraintError
from tiltfit.language.condition import Condition, require_sequences
from tiltfit.language.prose import join
from tiltfit.language.written import CONDITION, MAX_DEPTH, Document, Table

if TYPE_CHECKING:
    from tiltfit.data.inputs import Inputs, Unit


@dataclass(frozen=True, eq=False, repr=False)
class _OfOne(Condition):
    """A condition made of one other."""

    part: Condition

    def __post_init__(self) -> None:
        _check_parts([self.part])

    @property
    def parts(self) -> tuple[Condition, ...]:
        return (self.part,)

    def to_document(self) -> Document:
        return {self.key: self.part.to_document()}


class _Neighbour(_OfOne):
    """A condition asked of the neighbouring token of the same sequence; at the sequence's edge the answer is no."""

    side: ClassVar[str]  # where the token stands that the condition is about, seen from the neighbour
    step: ClassVar[int]  # from the neighbour to that token

    @property
    def is_sequence(self) -> bool:
        return True

    def decide(self, inputs: Inputs) -> tuple[BoolArray, BoolArray]:
        offsets = require_sequences(inputs, repr(self))
        yes, no = self.part.decide(inputs)
        return self._shift(yes, offsets, edge=False), self._shift(no, offsets, edge=True)

    def _shift(self, values: BoolArray, offsets: npt.NDArray[np.intp], *, edge: bool) -> BoolArray:
        """The neighbour's value at each token, ``edge`` where there is none."""
        shifted = np.roll(values, self.step)
        filled = np.diff(offsets) > 0
        shifted[offsets[:-1][filled] if self.step > 0 else offsets[1:][filled] - 1] = edge
        return shifted

    def __repr__(self) -> str:
        return f"{_operand(self.part, self._binding)}.{self.key}"

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
    side = "after"
    step = 1


@dataclass(frozen=True, eq=False, repr=False)
class After(_Neighbour):
    """The token after fulfils the condition."""

    keys = {"after": CONDITION}
    side = "before"
    step = -1


@dataclass(frozen=True, eq=False, repr=False)
class Not(_OfOne):
    """The negation of a condition."""

    keys = {"not": CONDITION}
    _binding = 2

    def decide(self, inputs: Inputs) -> tuple[BoolArray, BoolArray]:
        yes, no = self.part.decide(inputs)
        return no, yes

    def suggest(self, inputs: Inputs) -> str | None:
        return None  # it never fires because its part always does

    def __invert__(self) -> Condition:
        return self.part

    def __repr__(self) -> str:
        return f"~{_operand(self.part, self._binding)}"

    def _joined_by(self, negated: bool) -> str | None:
        return self.part._joined_by(not negated)

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
    holds: ClassVar[np.ufunc]  # of the answers of the parts: whether it holds, and whether its negation does
    fails: ClassVar[np.ufunc]

    def __post_init__(self) -> None:
        _check_parts(self.members)
        self._set(members=self._flat(self.members))
        if len(self.members) < 2:
            raise ConstraintError(f"{type(self).__name__} needs at least two different conditions.")

    @property
    def parts(self) -> tuple[Condition, ...]:
        return self.members

    @classmethod
    def of(cls, parts: Iterable[Condition]) -> Condition:
        """The group of these parts; one part (or several equal ones) is just that part."""
        flat = cls._flat(parts)
        return flat[0] if len(flat) == 1 else cls(flat)

    @classmethod
    def _flat(cls, parts: Iterable[Condition]) -> tuple[Condition, ...]:
        inside = (part.parts if type(part) is cls else (part,) for part in parts)
        return tuple(dict.fromkeys(itertools.chain.from_iterable(inside)))

    def decide(self, inputs: Inputs) -> tuple[BoolArray, BoolArray]:
        yes, no = zip(*(part.decide(inputs) for part in self.members), strict=True)
        return self.holds.reduce(yes), self.fails.reduce(no)

    def __repr__(self) -> str:
        return f" {self.symbol} ".join(_operand(part, AllOf._binding) for part in self.members)

    def to_document(self) -> Document:
        return {self.key: [part.to_document() for part in self.members]}

    @classmethod
    def from_table(cls, table: Table, key: str) -> Condition:
        return cls.of([Condition.parse(child) for child in table.children(key)])

    def clause(self, unit: Unit, negated: bool = False) -> str:
        clauses = [part.clause(unit, negated) for part in self.members]
        inside = [part._joined_by(negated) for part in self.members]
        if not any(inside):
            clauses = _without_repeats(clauses)
        own = self._joined_by(negated)
        return join([f"({c})" if i not in (None, own) else c for c, i in zip(clauses, inside, strict=True)], own)

    def _joined_by(self, negated: bool) -> str:
        return self.dual if negated else self.conjunction


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
    conjunction, dual = "and", "or"
    holds, fails = np.logical_and, np.logical_or
    _binding = 1


@dataclass(frozen=True, eq=False, repr=False)
class AnyOf(_Group):
    """At least one of the conditions holds."""

    keys = {"any": {"type": "array", "items": CONDITION, "minItems": 1}}
    symbol = "|"
    conjunction, dual = "or", "and"
    holds, fails = np.logical_or, np.logical_and
    _binding = 0


all_of = AllOf.of
any_of = AnyOf.of


def _operand(part: Condition, least: int) -> str:
    return f"({part!r})" if part._binding < least else repr(part)


def _check_parts(parts: Iterable[object]) -> None:
    for part in parts:
        if not isinstance(part, Condition):
            raise ConstraintError(f"Only conditions can be combined, but {part!r} is none.")
        if part.depth >= MAX_DEPTH:
            raise ConstraintError(f"The condition is nested more than {MAX_DEPTH} deep.")
