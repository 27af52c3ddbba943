"""The condition of many phrases at once: a dictionary, a gazetteer, a list of names."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tiltfit.arrays import BoolArray
from tiltfit.data.pieces import Pieces, Trie, places_of, split
from tiltfit.data.readers.source import read_words
from tiltfit.data.words import normal
from tiltfit.errors import ConstraintError, ConstraintFileError, DataFileError
from tiltfit.language.condition import Condition
from tiltfit.language.prose import join, quote, show
from tiltfit.language.values import text
from tiltfit.language.written import TEXT, Document, Table, as_string

if TYPE_CHECKING:
    from tiltfit.data.inputs import Inputs, Unit

MOST = 100
"""The most words and signs of a phrase: a longer one is a text that is in the list by mistake."""
_SHOWN = 3  # in sentences
_WRITTEN = 20  # in Python code; what is longer is not code that rebuilds it

_OPTIONS = {
    "name": {**TEXT, "description": "What sentences call it."},
    "case": {"type": "boolean", "description": "Whether capitals count; by default not."},
}


def _shape(source: str, shape: dict[str, object]) -> dict[str, object]:
    return {
        "type": "object",
        "properties": {source: shape, **_OPTIONS},
        "required": [source],
        "additionalProperties": False,
    }


@dataclass(frozen=True, eq=False, repr=False)
class Lexicon(Condition):
    """One of the phrases occurs: in a document, or such that the token is part of it.

    Words and signs of text and phrase are compared, whatever white space is between them. In sequences a phrase begins
    and ends where tokens do. All phrases are looked up in one pass, however many there are.
    """

    phrases: tuple[str, ...]
    name: str | None = None
    case: bool = False
    column: str | None = None
    keys = {
        "lexicon": {
            "oneOf": [
                _shape("words", {"type": "array", "items": TEXT, "minItems": 1}),
                _shape("path", {**TEXT, "description": "A file with one phrase per line, from the constraint file."}),
            ]
        }
    }
    modifiers = {"column": TEXT}
    unordered = ("phrases",)

    def __post_init__(self) -> None:
        if self.name is not None:
            self._set(name=text(self.name, "The name of a lexicon"))
        if self.case not in (True, False):
            raise ConstraintError(f"case of {self._title} must be True or False.")
        self._set(case=bool(self.case))
        if self.column is not None:
            self._set(column=text(self.column, "The name of a column"))
        found = [self._checked(i, phrase) for i, phrase in enumerate(self.phrases)]
        if not found:
            raise ConstraintError(f"{self._title} can never fire: it holds no phrase.")
        self._set(phrases=tuple(dict.fromkeys(found)))

    def _checked(self, i: int, phrase: object) -> str:
        what = f"Phrase {i} of {self._title}"
        found = normal(" ".join(text(phrase, what).split()))
        size = len(split(found))
        if not size:
            raise ConstraintError(f"{what} must hold a word or a sign, but is {phrase!r}.")
        if size > MOST:
            raise ConstraintError(
                f"{what} has {size:,} words and signs, but at most {MOST} can be looked up: {found[:40]!r}… "
                "Is it one phrase per entry?"
            )
        return found

    @property
    def _title(self) -> str:
        return "a lexicon" if self.name is None else f"the lexicon {show(self.name)}"

    def identity(self) -> tuple[object, ...]:
        return (type(self), self._distinct, self.name, self.case, self.column)

    @cached_property
    def _distinct(self) -> frozenset[str]:
        return frozenset(self.phrases)  # it keeps its hash: constraints are compared often

    @cached_property
    def _trie(self) -> Trie:
        return Trie([self.fold(piece) for piece in split(phrase)] for phrase in self.phrases)

    def fold(self, piece: str) -> str:
        """What is equal for pieces that the lexicon does not tell apart."""
        return normal(piece) if self.case else normal(piece).casefold()

    def fires(self, inputs: Inputs) -> BoolArray:
        texts = inputs.texts(self.column)
        pieces = inputs.once((Pieces, self.column), lambda: Pieces.of(texts, inputs.runs(self.column)))
        mask = np.zeros(inputs.n, dtype=np.bool_)
        mask[pieces.position[self._trie.cover(pieces, self.fold)]] = True
        return mask

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Where phrases stand in a text: where each begins, and where it ends."""
        covered = self._trie.cover(Pieces.of([text]), self.fold)
        ends = np.flatnonzero(np.diff(np.concatenate([[0], covered, [0]])))
        places = list(places_of(text))
        return [(places[a][0], places[b - 1][1]) for a, b in ends.reshape(-1, 2).tolist()]

    def __repr__(self) -> str:
        of = "" if self.column is None else f"column({self.column!r})."
        more = ", ..." if len(self.phrases) > _WRITTEN else ""
        name = "" if self.name is None else f", name={self.name!r}"
        case = ", case=True" if self.case else ""
        return f"{of}lexicon([{', '.join(map(repr, self.phrases[:_WRITTEN]))}{more}]{name}{case})"

    def to_document(self) -> Document:
        inside: Document = {} if self.name is None else {"name": self.name}
        inside["words"] = list(self.phrases)
        column: Document = {} if self.column is None else {"column": self.column}
        return {**column, "lexicon": {**inside, "case": True} if self.case else inside}

    @classmethod
    def from_table(cls, table: Table, key: str) -> Condition:
        if table.holds(key, str):
            raise table.error(
                f"must be a table, but is a string. Write {{ path = {as_string(table.text(key))} }} for a file, or "
                "{ words = […] }",
                key,
            )
        inner = table.child(key)
        inner.only(["words", "path", *_OPTIONS])
        if ("words" in inner) == ("path" in inner):
            raise inner.error("needs either `words` or `path`")
        name = inner.text("name") if "name" in inner else None
        if "path" in inner:
            phrases, name = _read(inner), name or Path(inner.text("path")).stem
        else:
            listed = inner.entries("words")
            phrases = tuple(listed.text(entry) for entry in listed.keys)
        case = inner.flag("case") if "case" in inner else False
        return cls(phrases, name, case, table.text("column") if "column" in table else None)

    def clause(self, unit: Unit, negated: bool = False) -> str:
        if unit == "tokens":
            return f"{'not ' if negated else ''}in {self._called()}{self._where}"
        return f"{'without' if negated else 'with'} {self._called(negated)}{self._where}"

    def _called(self, negated: bool = False) -> str:
        if self.name is not None:
            return f"{'any' if negated else 'a'} phrase of the lexicon {show(self.name)}"
        shown = [quote(phrase) for phrase in self.phrases[:_SHOWN]]
        if len(self.phrases) <= _SHOWN:
            return join(shown, "or")
        return f"{'any' if negated else 'one'} of {len(self.phrases):,} phrases ({', '.join(shown)}, …)"

    @property
    def _where(self) -> str:
        case = " in exactly this case" if self.case else ""
        return case if self.column is None else f"{case} in {show(self.column)}"


def lexicon_of(words: object, name: str | None, case: bool, column: str | None = None) -> Lexicon:
    """The lexicon of a file (a path) or of phrases."""
    if isinstance(words, str | os.PathLike):
        return Lexicon(tuple(read_words(words)), name or Path(words).stem, case, column)
    if not isinstance(words, Iterable) or isinstance(words, bytes):
        raise ConstraintError(f"lexicon(...) needs a list of phrases or the path of a file, but got {words!r:.80}.")
    return Lexicon(tuple(words), name, case, column)


def _read(table: Table) -> tuple[str, ...]:
    """The phrases of the file that a constraint file names."""
    given = table.text("path")
    if table.folder is None:
        raise table.error("is the path of a file, but only a constraint file may name one. Write `words = […]`", "path")
    try:
        return tuple(read_words(table.folder / given))
    except DataFileError as error:
        raise ConstraintFileError(f"{table.error('cannot be read', 'path')} {error}") from error
