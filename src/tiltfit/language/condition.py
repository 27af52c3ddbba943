"""What a condition is: it says where in the input a constraint applies.

A condition answers yes, no or neither at each position: a missing number is neither above 30 nor not above 30.
So ``~`` swaps yes and no, ``&`` and ``|`` follow Kleene's three-valued logic, and a condition fires where it says yes.

A condition class owns its TOML keys, its Python code, its words and its evaluation.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar, NoReturn

import numpy as np
import numpy.typing as npt

from tiltfit.arrays import BoolArray
from tiltfit.errors import ConstraintError, UnsupportedError
from tiltfit.language.table import Table
from tiltfit.language.values import Exact

if TYPE_CHECKING:
    from tiltfit.data.inputs import Inputs, Unit

Document = dict[str, object]


class Condition(Exact):
    """Where in the input a constraint applies."""

    registry: ClassVar[dict[str, type[Condition]]] = {}
    keys: ClassVar[tuple[str, ...]]  # each announces the class in a table
    modifiers: ClassVar[tuple[str, ...]] = ()  # further keys the table may hold
    needs: ClassVar[tuple[str, ...]] = ()  # exactly one of these is among them

    def __init_subclass__(cls) -> None:
        for key in cls.__dict__.get("keys", ()):
            Condition.registry[key] = cls

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
        """Whether it only makes sense for tokens of sequences."""
        return any(part.is_sequence for part in self.parts)

    # Evaluation

    def fires(self, inputs: Inputs) -> BoolArray:
        """Where the condition holds: one entry a position."""
        return self.decide(inputs)[0]

    def decide(self, inputs: Inputs) -> tuple[BoolArray, BoolArray]:
        """Where it holds, and where its negation holds: both false where it cannot be told."""
        yes = self.holds(inputs)
        return yes, ~yes

    def holds(self, inputs: Inputs) -> BoolArray:
        """Where it holds, for conditions that can always be told."""
        raise NotImplementedError

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

    @abstractmethod
    def __repr__(self) -> str:
        """Python code that makes it."""

    # Data

    @abstractmethod
    def to_document(self) -> Document:
        """The condition as a table."""

    @classmethod
    @abstractmethod
    def from_table(cls, table: Table, key: str) -> Condition:
        """Read the condition that ``key`` announces."""

    @staticmethod
    def parse(table: Table) -> Condition:
        """Read any condition: one announcing key, whose class allows all the others."""
        announced = [key for key in table.keys if key in Condition.registry]
        for key in announced:
            cls = Condition.registry[key]
            if set(table.keys) <= {key, *cls.modifiers}:
                return cls.from_table(table, key)
        if not announced:
            table.only([*Condition.registry, *_modifiers()])
            raise table.error(f"says no condition; one of these keys is needed: {', '.join(Condition.registry)}")
        chosen = min(announced, key=lambda key: key in _modifiers())
        others = [key for key in announced if key != chosen and key not in Condition.registry[chosen].modifiers]
        if others:
            raise table.error(
                f"holds two conditions, {chosen} and {others[0]}. Write {{ all = [{{ {chosen} = … }}, "
                f"{{ {others[0]} = … }}] }} to ask for both"
            )
        table.only([chosen, *Condition.registry[chosen].modifiers])
        raise AssertionError  # pragma: no cover - `only` has found the key that does not fit

    # Words

    @abstractmethod
    def clause(self, unit: Unit, negated: bool = False) -> str:
        """What follows a noun, singular or plural: ``with the word "puck"``, negated ``without the word "puck"``."""

    def neighbour(self, noun: str = "a token") -> str:
        """A single token it holds for, as a noun: ``punctuation``, ``a token matching "x"``."""
        return f"{noun} {self.clause('tokens')}"

    def place(self) -> str:
        """Where an event between tokens happens: ``after punctuation``, ``at a token matching "x"``."""
        return f"at {self.neighbour()}"


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
    return {key for cls in Condition.registry.values() for key in cls.modifiers}
