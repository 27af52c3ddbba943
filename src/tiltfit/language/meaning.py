"""The condition on meaning: a text is near a phrase, by the vectors of an encoder."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from tiltfit.arrays import BoolArray, FloatArray, IntArray
from tiltfit.data.inputs import cut
from tiltfit.errors import ConstraintError, DataError, UnsupportedError
from tiltfit.features.vectors import STATIC, encode, named_encoder
from tiltfit.language.condition import Condition
from tiltfit.language.prose import join, quote, show
from tiltfit.language.values import plain, real, text
from tiltfit.language.written import TEXT, Document, Table

if TYPE_CHECKING:
    from tiltfit.data.inputs import Inputs, Unit

Single = npt.NDArray[np.float32]

_ROUNDING = 1e-6  # vectors are kept in single precision, in half of the memory


@dataclass(frozen=True, eq=False, repr=False)
class Near(Condition):
    """cos(v(text), v(phrase)) ≥ ``above`` for one of the phrases; v is the encoder of that name.

    The encoder is looked up when data are looked at, so that a file can be read where it is not installed.
    """

    phrases: tuple[str, ...]
    above: float
    encoder: str = STATIC
    column: str | None = None
    keys = {
        "near": {
            "type": "object",
            "properties": {
                "phrases": {"type": "array", "items": TEXT, "minItems": 1},
                "above": {
                    "type": "number",
                    "exclusiveMinimum": 0,
                    "maximum": 1,
                    "description": "The least cosine similarity.",
                },
                "encoder": {**TEXT, "description": "The name of an encoder of texts."},
            },
            "required": ["phrases", "above"],
            "additionalProperties": False,
        }
    }
    modifiers = {"column": TEXT}
    unordered = ("phrases",)

    def __post_init__(self) -> None:
        if not self.phrases:
            raise ConstraintError('near(...) can never fire: pass at least one phrase, near("my card", above=0.6).')
        self._set(phrases=tuple(dict.fromkeys(map(_phrase, self.phrases))))
        what = f"above of near({self.phrases[0]!r}, ...)"
        self._set(above=real(self.above, what))
        if not 0 < self.above <= 1:
            raise ConstraintError(f"{what} is a cosine similarity, more than 0 and at most 1, but is {self.above!r}.")
        if not isinstance(self.encoder, str):
            raise ConstraintError(
                f"encoder of near({self.phrases[0]!r}, ...) must be the name of an encoder, but is {self.encoder!r}. "
                "Give it a name with tiltfit.register_encoder(name, load)."
            )
        self._set(encoder=text(self.encoder, f"encoder of near({self.phrases[0]!r}, ...)"))
        if self.column is not None:
            self._set(column=text(self.column, "The name of a column"))

    def fires(self, inputs: Inputs) -> BoolArray:
        return np.asarray(self.similarities(inputs) >= self.above - _ROUNDING)

    def hint(self, inputs: Inputs) -> str | None:
        found = self.similarities(inputs)
        if not len(found) or np.any(found >= self.above - _ROUNDING):
            return None
        best = int(np.argmax(found))
        # Rounded down, so that the condition fires with this number.
        value = math.floor((float(found[best]) + _ROUNDING) * 100) / 100
        return f"the nearest is {value:.2f}: {quote(cut(inputs.texts(self.column)[best]))}"

    def similarities(self, inputs: Inputs) -> Single:
        """The cosine of every text with the phrase that is nearest to it."""
        texts = inputs.texts(self.column)
        try:
            phrases = inputs.once((Near, self.encoder, self.phrases), lambda: self._vectors(self.phrases))
            vectors, which = inputs.once((Near, self.encoder, self.column), lambda: self._distinct(texts))
        except (DataError, UnsupportedError) as error:
            raise error.with_message(f"{self!r}: {error}", parameter=None, instances=()) from error
        if not len(which):
            return np.empty(0, dtype=np.float32)
        if vectors.shape[1] != phrases.shape[1]:
            raise DataError(
                f"{self!r}: the encoder {self.encoder!r} returned vectors of {phrases.shape[1]} dimensions for the "
                f"phrases and of {vectors.shape[1]} for the texts. It must return equally long vectors for all texts."
            )
        empty = np.flatnonzero(~phrases.any(axis=1))
        if len(empty):
            raise ConstraintError(
                f"{self!r} can never fire for {quote(self.phrases[empty[0]])}: the encoder {self.encoder!r} returns 0 "
                "for it. Use other words."
            )
        found: Single = (vectors @ phrases.T).max(axis=1)[which]
        return found

    def _distinct(self, texts: Sequence[str]) -> tuple[Single, IntArray]:
        """The vectors of the distinct texts, and which of them every position has."""
        numbers: dict[str, int] = {}
        which = np.fromiter((numbers.setdefault(t, len(numbers)) for t in texts), dtype=np.intp, count=len(texts))
        return (self._vectors(list(numbers)) if numbers else np.empty((0, 0), dtype=np.float32)), which

    def _vectors(self, texts: Sequence[str]) -> Single:
        found: FloatArray = encode(named_encoder(self.encoder), texts)
        return found.astype(np.float32)

    def __repr__(self) -> str:
        of = "" if self.column is None else f"column({self.column!r})."
        by = "" if self.encoder == STATIC else f", encoder={self.encoder!r}"
        return f"{of}near({', '.join(map(repr, self.phrases))}, above={plain(self.above)}{by})"

    def to_document(self) -> Document:
        column: Document = {} if self.column is None else {"column": self.column}
        # The encoder is always named: a number means nothing without it.
        return {**column, "near": {"phrases": list(self.phrases), "above": self.above, "encoder": self.encoder}}

    @classmethod
    def from_table(cls, table: Table, key: str) -> Condition:
        inner = table.child(key)
        inner.only(["phrases", "above", "encoder"])
        listed = inner.entries("phrases")
        phrases = tuple(listed.text(entry) for entry in listed.keys)
        encoder = inner.text("encoder") if "encoder" in inner else STATIC
        return cls(phrases, inner.number("above"), encoder, table.text("column") if "column" in table else None)

    def clause(self, unit: Unit, negated: bool = False) -> str:
        be = "" if self.column is None else f"whose {show(self.column)} is "
        phrases = join([quote(phrase) for phrase in self.phrases], "or")
        by = "" if self.encoder == STATIC else f" by {quote(self.encoder)}"
        least = f"{'below' if negated else 'at least'} {plain(self.above)}{by}"
        return f"{be}{'not ' if negated else ''}close in meaning to {phrases} ({least})"


def _phrase(value: object) -> str:
    found = text(value, "A phrase of near(...)")
    if found.isspace():
        raise ConstraintError(f"A phrase of near(...) must hold more than spaces, but is {found!r}.")
    return found
