"""Conditions: where in the input a constraint applies.

A condition answers yes, no or neither at each position: a missing number is neither above 30 nor not above 30.
So ``~`` swaps yes and no, ``&`` and ``|`` follow Kleene's three-valued logic, and a condition fires where it says yes.

A condition class owns its TOML keys, its Python code, its words and its evaluation.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar, NoReturn, TypeVar

import numpy as np
import numpy.typing as npt

from tiltfit.arrays import BoolArray
from tiltfit.errors import ConstraintError, UnsupportedError
from tiltfit.language.written import Table, Written, enrol, guard, require_subclass
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
        """For a condition that never fires: the nearest thing that does occur, if one is alike."""
        return next((s for s in (part.suggest(inputs) for part in self.parts) if s is not None), None)

    # Python

    def __and__(self, other: Condition) -> Condition:
        from tiltfit.language.combinations import all_of

        return all_of([self, other]) if isinstance(other, Condition) else NotImplemented

    def __or__(self, other: Condition) -> Condition:
        from tiltfit.language.combinations import any_of

        return any_of([self, other]) if isinstance(other, Condition) else NotImplemented

    def __invert__(self) -> Condition:
        from tiltfit.language.combinations import Not

        return Not(self)

    @property
    def before(self) -> Condition:
        """The same condition, asked of the token before."""
        from tiltfit.language.combinations import Before

        return Before(self)

    @property
    def after(self) -> Condition:
        """The same condition, asked of the token after."""
        from tiltfit.language.combinations import After

        return After(self)

    def __bool__(self) -> NoReturn:
        raise ConstraintError(
            f"{self!r} is neither true nor false by itself. Combine conditions with & | ~ instead of `and or not`."
        )

    # Data

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
            table.only([*known, *_modifiers()])
            raise table.error(f"says no condition; one of these keys is needed: {', '.join(known)}")
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
