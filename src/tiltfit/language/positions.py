"""Conditions on the tokens of a sequence: what kind they are and where they stand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from tiltfit.arrays import BoolArray
from tiltfit.errors import ConstraintError
from tiltfit.language.condition import Condition, require_sequences
from tiltfit.language.prose import ordinal
from tiltfit.language.written import TRUE

if TYPE_CHECKING:
    from tiltfit.data.inputs import Inputs, Unit


class _Plain(Condition):
    """A condition on tokens without parameters."""

    @property
    def is_sequence(self) -> bool:
        return True

    def __repr__(self) -> str:
        return self.key


@dataclass(frozen=True, eq=False, repr=False)
class Punctuation(_Plain):
    """A token without a letter or digit."""

    keys = {"punctuation": TRUE}

    def fires(self, inputs: Inputs) -> BoolArray:
        require_sequences(inputs, "punctuation")
        signs = (t != "" and not any(c.isalnum() for c in t) for t in inputs.texts())
        return np.fromiter(signs, dtype=np.bool_, count=inputs.n)

    def clause(self, unit: Unit, negated: bool = False) -> str:
        return f"{'not ' if negated else ''}consisting of punctuation"

    def neighbour(self, noun: str = "a token") -> str:
        return "punctuation"


class _Placed(_Plain):
    """A token at a fixed place of its sequence."""

    index: ClassVar[int]

    def fires(self, inputs: Inputs) -> BoolArray:
        return _at_index(require_sequences(inputs, repr(self)), self.index, inputs.n)

    def clause(self, unit: Unit, negated: bool = False) -> str:
        return f"{'not ' if negated else ''}at the {'end' if self.index else 'start'} of a sequence"

    def place(self) -> str:
        return self.clause("tokens")


@dataclass(frozen=True, eq=False, repr=False)
class First(_Placed):
    """The first token of a sequence."""

    keys = {"first": TRUE}
    index = 0


@dataclass(frozen=True, eq=False, repr=False)
class Last(_Placed):
    """The last token of a sequence."""

    keys = {"last": TRUE}
    index = -1


@dataclass(frozen=True, eq=False, repr=False)
class Position(Condition):
    """The token at index k of its sequence: 0 is the first, −1 the last."""

    k: int
    keys = {"position": {"type": "integer"}}

    def __post_init__(self) -> None:
        if isinstance(self.k, bool) or not isinstance(self.k, int | np.integer):
            raise ConstraintError(f"position({self.k!r}) must be a whole number: 0 is the first token, -1 the last.")
        if not -(2**31) <= self.k < 2**31:
            raise ConstraintError("position(...) is longer than any sequence.")
        self._set(k=int(self.k))

    @property
    def is_sequence(self) -> bool:
        return True

    def fires(self, inputs: Inputs) -> BoolArray:
        return _at_index(require_sequences(inputs, repr(self)), self.k, inputs.n)

    def __repr__(self) -> str:
        return f"position({self.k})"

    def clause(self, unit: Unit, negated: bool = False) -> str:
        end = " from the end" if self.k < 0 else ""
        place = ordinal(-self.k if self.k < 0 else self.k + 1)
        return f"{'not ' if negated else ''}in {place} place{end} of a sequence"

    def place(self) -> str:
        return self.clause("tokens")


def _at_index(offsets: npt.NDArray[np.intp], k: int, n: int) -> BoolArray:
    found = offsets[:-1] + k if k >= 0 else offsets[1:] + k
    inside = (found >= offsets[:-1]) & (found < offsets[1:])
    mask = np.zeros(n, dtype=np.bool_)
    mask[found[inside]] = True
    return mask
