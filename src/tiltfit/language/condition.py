"""Conditions: where in the input a constraint applies; and their combinations, ``& | ~ .before .after``.

A condition answers yes, no or neither at each position: a missing number is neither above 30 nor not above 30.
So ``~`` swaps yes and no, ``&`` and ``|`` follow Kleene's three-valued logic, and a condition fires where it says yes.

A condition class owns its TOML keys, its Python code, its words and its evaluation.
"""

from __future__ import annotations

import itertools
from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NoReturn, TypeVar

import numpy as np
import numpy.typing as npt

from tiltfit.arrays import BoolArray
from tiltfit.errors import ConstraintError, UnsupportedError
from tiltfit.language.prose import join
from tiltfit.language.written import (
    CONDITION,
    MAX_DEPTH,
    Document,
    Table,
    Written,
    as_string,
    enrol,
    guard,
    require_subclass,
)
from tiltfit.registry import Registry, load_extensions

if TYPE_CHECKING:
    from tiltfit.data.inputs import Inputs, Unit


class Condition(Written):
    """A test of the input that says where a constraint applies.

    ``needs``: modifiers of which exactly one must be present. An extension is a frozen dataclass with ``key``,
    ``fires`` and ``clause``.
    """

    registry: ClassVar[Registry[type[Condition]]] = Registry("condition key")
    needs: ClassVar[tuple[str, ...]] = ()
    _binding: ClassVar[int] = 3
    """How tightly its Python code binds: 0 like ``|``, 1 like ``&``, 2 like ``~``, 3 like a call."""

    @property
    def parts(self) -> tuple[Condition, ...]:
        """The conditions that this one is made of."""
        return ()

    @property
    def leaves(self) -> tuple[Condition, ...]:
        """The conditions without parts that it is made of."""
        return tuple(leaf for part in self.parts for leaf in part.leaves) if self.parts else (self,)

    @property
    def depth(self) -> int:
        """Levels of nesting, 1 for a condition without parts."""
        return 1 + max((part.depth for part in self.parts), default=0)

    @property
    def is_sequence(self) -> bool:
        """True if it only makes sense for tokens of sequences."""
        return any(part.is_sequence for part in self.parts)

    # Evaluation: a condition implements `fires`, or `decide` if it may be undecided.

    def fires(self, inputs: Inputs) -> BoolArray:
        """The positions where the condition holds, as one bool per position."""
        return self.decide(inputs)[0]

    def decide(self, inputs: Inputs) -> tuple[BoolArray, BoolArray]:
        """The positions where it holds, and those where its negation holds; neither where it is undecided."""
        yes = self.fires(inputs)
        return yes, ~yes

    @property
    def words(self) -> tuple[str, ...]:
        """The words it looks for."""
        return tuple(word for part in self.parts for word in part.words)

    def suggest(self, inputs: Inputs) -> str | None:
        """For a condition that never fires: the nearest thing that does occur, if one is similar."""
        return next((s for s in (part.suggest(inputs) for part in self.parts) if s is not None), None)

    def hint(self, inputs: Inputs) -> str | None:
        """The same in words, as the end of a sentence: ``did you mean "puck"?``"""
        if self.parts:
            return next((h for h in (part.hint(inputs) for part in self.parts) if h is not None), None)
        guess = self.suggest(inputs)
        return None if guess is None else f'did you mean "{guess}"?'

    # Python

    def __and__(self, other: Condition) -> Condition:
        return all_of([self, other]) if isinstance(other, Condition) else NotImplemented

    def __or__(self, other: Condition) -> Condition:
        return any_of([self, other]) if isinstance(other, Condition) else NotImplemented

    def __invert__(self) -> Condition:
        return Not(self)

    @property
    def before(self) -> Condition:
        """The same condition, asked of the token before."""
        return Before(self)

    @property
    def after(self) -> Condition:
        """The same condition, asked of the token after."""
        return After(self)

    def __bool__(self) -> NoReturn:
        raise ConstraintError(
            f"{self!r} is neither true nor false by itself. Combine conditions with & | ~ instead of `and or not`."
        )

    # Data

    @staticmethod
    def under(table: Table, key: str) -> Condition:
        """Read the condition that a key of a table holds."""
        if table.holds(key, str):
            text = table.text(key)
            kind = "phrase" if len(text.split()) > 1 else "word"
            raise table.error(f"must be a table, but is a string. Write {{ {kind} = {as_string(text)} }}", key)
        return Condition.parse(table.child(key))

    @staticmethod
    def parse(table: Table) -> Condition:
        """Read any condition: one announcing key, whose class allows all the others."""
        known = Condition.registry.loaded
        if not {*table.keys} <= {*known, *_modifiers()}:
            load_extensions()
        announced = [key for key in table.keys if key in known]
        for key in announced:
            cls = known[key]
            if set(table.keys) <= {key, *cls.modifiers}:
                found: Condition = cls.from_table(table, key)
                return found
        if not announced:
            table.only([*known, *_modifiers()], "condition")
            column = "column" in table
            fitting = [key for key, cls in known.items() if not column or "column" in cls.modifiers]
            beside = " beside `column`" if column else ""
            raise table.error(f"says no condition; one of these keys is needed{beside}: {', '.join(fitting)}")
        chosen = min(announced, key=lambda key: key in _modifiers())
        others = [key for key in announced if key != chosen and key not in known[chosen].modifiers]
        if others:
            raise table.error(
                f"holds two conditions, {chosen} and {others[0]}. Write {{ all = [{{ {chosen} = … }}, "
                f"{{ {others[0]} = … }}] }} to ask for both"
            )
        table.only([chosen, *known[chosen].modifiers])
        raise AssertionError  # pragma: no cover - `only` has found the key that does not fit

    # Words

    @abstractmethod
    def clause(self, unit: Unit, negated: bool = False) -> str:
        """The words that follow a noun: ``with the word "puck"``, negated ``without the word "puck"``."""

    def neighbour(self, noun: str = "a token") -> str:
        """A single token it holds for, as a noun: ``punctuation``, ``a token matching "x"``."""
        return f"{noun} {self.clause('tokens')}"

    def place(self) -> str:
        """The place of an event between tokens: ``after punctuation``, ``at a token matching "x"``."""
        return f"at {self.neighbour()}"

    def _joined_by(self, negated: bool) -> str | None:
        """The word that joins the parts in its clause, once negations are worked in; None if it has no parts."""
        return None


def require_sequences(inputs: Inputs, what: str) -> npt.NDArray[np.intp]:
    """Offsets of the sequences among the tokens (first token of each, then the number of tokens)."""
    offsets = getattr(inputs, "offsets", None)
    if inputs.unit != "tokens" or offsets is None:
        raise UnsupportedError(
            f"{what} looks at the tokens of a sequence, but X holds {inputs.unit}. "
            "Use word, phrase, regex, column or feature for documents and rows."
        )
    return np.asarray(offsets, dtype=np.intp)


def _modifiers() -> set[str]:
    return {key for cls in Condition.registry.loaded.values() for key in cls.modifiers}


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
        return cls(Condition.under(table, key))

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

    def hint(self, inputs: Inputs) -> str | None:
        return None

    def __invert__(self) -> Condition:
        return self.part

    def __repr__(self) -> str:
        return f"~{_operand(self.part, self._binding)}"

    def _joined_by(self, negated: bool) -> str | None:
        return self.part._joined_by(not negated)

    @classmethod
    def from_table(cls, table: Table, key: str) -> Condition:
        return ~Condition.under(table, key)

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
        inner = table.entries(key)
        if not inner.keys:
            raise table.error("must hold at least one table", key)
        return cls.of([Condition.under(inner, entry) for entry in inner.keys])

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
    """'with the word "a", "b" or the phrase "c d"': what the clause before says is not repeated."""
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


C = TypeVar("C", bound=type[Condition])


def register_condition(cls: C) -> C:
    """Make a condition known: constraint files, sentences, the JSON schema and model files can then hold it.

    Use it as a decorator above ``@dataclass(frozen=True)``. The class is a subclass of ``tiltfit.Condition`` with

    - ``key``: the key that files use for it;
    - ``fires(inputs)``: an array of bools, one per document, row or token. ``inputs.texts()`` are the texts (or
      tokens), ``inputs.column(name)`` the values of a column, ``inputs.n`` their number;
    - ``clause(unit, negated=False)``: the words that follow "documents" (rows, tokens) in a sentence.

    Its fields hold texts, numbers, bools or tuples of them. ``& | ~ .before .after`` work without further code.
    """
    require_subclass(cls, Condition)
    own = [name for name in ("fires", "decide") if getattr(cls, name) is not getattr(Condition, name)]
    if not own or cls.clause is Condition.clause:
        lacks = "clause(unit, negated=False)" if own else "fires(inputs)"
        raise ConstraintError(f"{cls.__name__} must define {lacks}.")
    enrol(cls, Condition, {"case", "column"})
    guard(cls, "fires", _checked_firings)
    return cls


def _checked_firings(condition: Condition, found: object, inputs: Inputs) -> BoolArray:
    fires = np.asarray(found)
    if fires.dtype != np.bool_ or fires.shape != (inputs.n,):
        raise ConstraintError(
            f"fires of {condition!r} must return {inputs.n} bools, one per {inputs.unit.removesuffix('s')}, but "
            f"returned an array of type {fires.dtype} and shape {fires.shape}."
        )
    return fires
