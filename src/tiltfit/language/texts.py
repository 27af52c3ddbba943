"""Conditions on text: a word, words in a row, a pattern."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import TYPE_CHECKING, cast

import numpy as np
import numpy.typing as npt

from tiltfit.arrays import BoolArray
from tiltfit.data.words import has_marks, normal, places_of_run, tokenise
from tiltfit.errors import ConstraintError, UnsupportedError, nearest
from tiltfit.language.condition import Condition
from tiltfit.language.prose import join, quote, show
from tiltfit.language.values import text
from tiltfit.language.written import TEXT, Document, Table

if TYPE_CHECKING:
    from tiltfit.data.inputs import Inputs, Unit, WordIndex


_SHOWN = 3  # of many words, in sentences
_WRITTEN = 20  # in Python code; what is longer is not code that rebuilds it
MOST_GUESSES = 50
_LETTERS = "abcdefghijklmnopqrstuvwxyz"

# Folding the case of these makes letters of signs or signs of letters, so that folded text has other words.
FOLDS_ODDLY = re.compile(
    "[\u0130\u01f0\u0345\u0390\u03b0\u1e96-\u1e99\u1f50\u1f52\u1f54\u1f56\u1fb6\u1fb7\u1fc6\u1fc7"
    "\u1fd2\u1fd3\u1fd6\u1fd7\u1fe2-\u1fe4\u1fe6\u1fe7\u1ff6\u1ff7]"
)


@dataclass(frozen=True, eq=False, repr=False)
class _Spelt(Condition):
    """Something spelt out. ``case=None``: capital letters count only if it has one."""

    text: str
    case: bool | None = None
    column: str | None = None
    modifiers = {
        "case": {"type": "boolean", "description": "Whether capitals count; by default only if the text has one."},
        "column": TEXT,
    }

    def __post_init__(self) -> None:
        self._set(text=normal(text(self.text, f"The text of {self.key}(...)")))
        if self.case not in (None, True, False):
            raise ConstraintError(f"case of {self.key}({self.text!r}) must be True, False or None.")
        self._set(case=None if self.case is None else bool(self.case))
        if self.column is not None:
            self._set(column=text(self.column, "The name of a column"))

    @property
    def exact_case(self) -> bool:
        """True if capital letters count."""
        return _has_capital(self.text) if self.case is None else self.case

    @property
    def words(self) -> tuple[str, ...]:
        return (self.text,)

    def suggest(self, inputs: Inputs) -> str | None:
        index = inputs.index(self.column)
        for word in self.words:
            if word not in index:
                return nearest_word(word, index)
            if self.exact_case and not len(index.positions(word, case=True)):
                return word.casefold()
        return None

    def __repr__(self) -> str:
        case = "" if self.case is None else f", case={self.case}"
        return f"{_on_column(self.column)}{self.key}({self.text!r}{case})"

    def to_document(self) -> Document:
        document: Document = {} if self.column is None else {"column": self.column}
        document[self.key] = self.text
        return document if self.case is None else {**document, "case": self.case}

    @classmethod
    def from_table(cls, table: Table, key: str) -> Condition:
        if table.holds(key, list, tuple):
            any_of = "words = [...]" if key == "word" else f"any = [{{ {key} = ... }}, ...]"
            raise table.error(f"must be a string, but is an array: for any of several write {any_of}", key)
        case = table.flag("case") if "case" in table else None
        return cls(table.text(key), case, table.text("column") if "column" in table else None)

    def clause(self, unit: Unit, negated: bool = False) -> str:
        return f"{'without' if negated else 'with'} the {self.key} {self._quoted}"

    @property
    def _quoted(self) -> str:
        usual = self.exact_case == _has_capital(self.text)
        case = "" if usual else " in exactly this case" if self.exact_case else " in any case"
        column = "" if self.column is None else f" in {show(self.column)}"
        return f"{quote(self.text)}{case}{column}"


@dataclass(frozen=True, eq=False, repr=False)
class Word(_Spelt):
    """A document contains the word as a whole token; a token is the word."""

    keys = {"word": TEXT}

    def fires(self, inputs: Inputs) -> BoolArray:
        return _at(inputs.index(self.column).positions(self.text, case=self.exact_case), inputs.n)

    def clause(self, unit: Unit, negated: bool = False) -> str:
        if unit == "tokens":
            return f"{'not ' if negated else ''}reading {self._quoted}"
        return super().clause(unit, negated)

    def neighbour(self, noun: str = "a token") -> str:
        return self._quoted


@dataclass(frozen=True, eq=False, repr=False)
class Words(Condition):
    """A document contains one of the words as a whole token; a token is one of them. Capitals count as for ``Word``."""

    texts: tuple[str, ...]
    case: bool | None = None
    column: str | None = None
    keys = {"words": {"type": "array", "items": TEXT, "minItems": 1}}
    modifiers = _Spelt.modifiers
    unordered = ("texts",)

    def __post_init__(self) -> None:
        if not self.texts:
            raise ConstraintError("word(words=[]) can never fire: pass at least one word.")
        checked = [Word(value, self.case, self.column) for value in self.texts]
        self._set(texts=tuple(dict.fromkeys(word.text for word in checked)), case=checked[0].case)

    def identity(self) -> tuple[object, ...]:
        return (type(self), self._distinct, self.case, self.column)

    @cached_property
    def _distinct(self) -> frozenset[str]:
        return frozenset(self.texts)  # it keeps its hash: constraints are compared often

    def holds(self, token: str) -> bool:
        """True if the token is one of the words."""
        token = normal(token)
        return token in self._spelt[True] or token.casefold() in self._spelt[False]

    @cached_property
    def _spelt(self) -> dict[bool, set[str]]:
        """The words in which capitals count (True), and the others, case folded."""
        found: dict[bool, set[str]] = {True: set(), False: set()}
        for word in self.members:
            found[word.exact_case].add(word.text if word.exact_case else word.text.casefold())
        return found

    @property
    def members(self) -> Iterator[Word]:
        """Every word as a condition of its own."""
        return (Word(value, self.case, self.column) for value in self.texts)

    def fires(self, inputs: Inputs) -> BoolArray:
        index = inputs.index(self.column)
        found = [index.positions(word.text, case=word.exact_case) for word in self.members]
        return _at(np.concatenate(found), inputs.n)

    @property
    def words(self) -> tuple[str, ...]:
        return self.texts

    def suggest(self, inputs: Inputs) -> str | None:
        return next(self.members).suggest(inputs)  # to look for all of them would take too long

    def __repr__(self) -> str:
        more = ", ..." if len(self.texts) > _WRITTEN else ""
        case = "" if self.case is None else f", case={self.case}"
        return f"{_on_column(self.column)}word(words=[{', '.join(map(repr, self.texts[:_WRITTEN]))}{more}]{case})"

    def to_document(self) -> Document:
        document: Document = {} if self.column is None else {"column": self.column}
        document["words"] = list(self.texts)
        return document if self.case is None else {**document, "case": self.case}

    @classmethod
    def from_table(cls, table: Table, key: str) -> Condition:
        listed = table.entries(key)
        case = table.flag("case") if "case" in table else None
        column = table.text("column") if "column" in table else None
        return cls(tuple(listed.text(entry) for entry in listed.keys), case, column)

    def clause(self, unit: Unit, negated: bool = False) -> str:
        if unit == "tokens":
            return f"{'not ' if negated else ''}reading {self._called()}"
        return f"{'without' if negated else 'with'} {self._called(negated)}"

    def neighbour(self, noun: str = "a token") -> str:
        return self._called()

    def _called(self, negated: bool = False) -> str:
        shown, n = [quote(value) for value in self.texts[:_SHOWN]], len(self.texts)
        some = "any" if negated else "one"
        named = f"{some} of {n:,} words ({', '.join(shown)}, …)" if n > _SHOWN else f"the word {join(shown, 'or')}"
        case = "" if self.case is None else " in exactly this case" if self.case else " in any case"
        return named + case + ("" if self.column is None else f" in {show(self.column)}")


@dataclass(frozen=True, eq=False, repr=False)
class Phrase(_Spelt):
    """A document contains these words in a row, with anything but words between them."""

    keys = {"phrase": TEXT}

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.words:
            raise ConstraintError(f"phrase({self.text!r}) contains no word. Use regex(...) to look for signs.")

    @property
    def words(self) -> tuple[str, ...]:
        return tuple(tokenise(self.text))

    def fires(self, inputs: Inputs) -> BoolArray:
        if inputs.unit == "tokens":
            first, *rest = self.words
            instead = " & ".join([f"word({first!r})", *(f"word({w!r}){'.after' * i}" for i, w in enumerate(rest, 1))])
            raise UnsupportedError(f"{self!r} looks inside a text, but X holds tokens. Use {instead}.")
        texts = inputs.texts(self.column)
        index = inputs.index(self.column)
        # Few texts have all of the words; only these are searched for the words in a row.
        found = [index.positions(word, case=self.exact_case) for word in self.words]
        candidates = reduce(lambda a, b: np.intersect1d(a, b, assume_unique=True), sorted(found, key=len))
        if len(self.words) > 1:
            hits = [i for i in candidates.tolist() if self._occurs(texts[i])]
            candidates = np.asarray(hits, dtype=np.intp)
        return _at(candidates, inputs.n)

    def _occurs(self, candidate: str) -> bool:
        fold = str if self.exact_case else str.casefold
        if not has_marks(candidate) and (self.exact_case or not FOLDS_ODDLY.search(candidate)):
            return self._pattern.search(fold(candidate)) is not None
        return bool(places_of_run(candidate, self.words, fold))

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        r"""For texts without marks: w₁ not preceded by a letter, non-letters, w₂ …, not followed by a letter.

        It starts with the word itself, since ``re`` finds a literal beginning many times faster than ``\b``.
        """
        first, *rest = (re.escape(w if self.exact_case else w.casefold()) for w in self.words)
        return re.compile(rf"{first}(?<!\w{first})" + "".join(rf"\W+{word}" for word in rest) + r"(?!\w)")


@dataclass(frozen=True, eq=False, repr=False)
class Regex(Condition):
    """A pattern of Python's ``re`` occurs anywhere in the text (or token)."""

    pattern: str
    column: str | None = None
    keys = {"regex": {**TEXT, "description": "A pattern of Python's re."}}
    modifiers = {"column": TEXT}

    def __post_init__(self) -> None:
        self._set(pattern=text(self.pattern, "The pattern of regex(...)"))
        if self.column is not None:
            self._set(column=text(self.column, "The name of a column"))
        try:
            self._compiled  # noqa: B018 - compiled now, so that a bad pattern is refused where it is written
        except (re.error, OverflowError, RecursionError) as error:
            raise ConstraintError(f"regex({self.pattern!r}) is not a valid pattern: {error}.") from None

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # "[[" may mean something else in a later Python
            return re.compile(self.pattern)

    def fires(self, inputs: Inputs) -> BoolArray:
        search = self._compiled.search
        texts = inputs.texts(self.column)
        return np.fromiter((search(t) is not None for t in texts), dtype=np.bool_, count=inputs.n)

    def __repr__(self) -> str:
        return f"{_on_column(self.column)}regex({self.pattern!r})"

    def to_document(self) -> Document:
        column: Document = {} if self.column is None else {"column": self.column}
        return {**column, "regex": self.pattern}

    @classmethod
    def from_table(cls, table: Table, key: str) -> Condition:
        return cls(table.text(key), table.text("column") if "column" in table else None)

    def clause(self, unit: Unit, negated: bool = False) -> str:
        if self.column is None:
            return f"{'not ' if negated else ''}matching {quote(self.pattern)}"
        return f"whose {show(self.column)} {'does not match' if negated else 'matches'} {quote(self.pattern)}"


def word_or_words(
    value: str | None, case: bool | None, words: Iterable[str] | None, column: str | None = None
) -> Condition:
    """The condition of ``word(text)`` or ``word(words=[…])``."""
    if (value is None) == (words is None):
        raise ConstraintError("word(...) needs one word, or words= with several.")
    if words is None:
        return Word(cast(str, value), case, column)
    if isinstance(words, str | bytes) or not isinstance(words, Iterable):
        raise ConstraintError(f"words= of word(...) needs a list of words, but got {words!r:.80}.")
    return Words(tuple(words), case, column)


def _at(positions: npt.NDArray[np.intp], n: int) -> BoolArray:
    mask = np.zeros(n, dtype=np.bool_)
    mask[positions] = True
    return mask


def _has_capital(value: str) -> bool:
    return any(c.isupper() or c.istitle() for c in value)


def _on_column(name: str | None) -> str:
    return "" if name is None else f"column({name!r})."


def nearest_word(word: str, index: WordIndex) -> str | None:
    """The nearest word of the index, or None.

    Most slips are one letter away: those are looked up, not searched. Otherwise words with the same beginning and
    about the same length are compared: a pass over 200,000 words takes some 30 ms, so that only the first
    ``MOST_GUESSES`` of many words get one.
    """
    folded = word.casefold()
    if close := [edit for edit in _edits(folded) if edit in index]:
        return nearest(folded, close, cutoff=0.0)
    if folded not in index.guesses and len(index.guesses) < MOST_GUESSES:
        index.guesses[folded] = nearest(folded, _alike(folded, index))
    return index.guesses.get(folded)


def _edits(word: str) -> Iterator[str]:
    """Words one deletion, swap, replacement or insertion away."""
    letters = dict.fromkeys(_LETTERS + word)
    for i in range(len(word) + 1):
        head, tail = word[:i], word[i:]
        if tail:
            yield head + tail[1:]
            yield from (head + c + tail[1:] for c in letters)
        if len(tail) > 1:
            yield head + tail[1] + tail[0] + tail[2:]
        yield from (head + c + tail for c in letters)


def _alike(word: str, index: WordIndex) -> list[str]:
    start, length = word[:1], len(word)
    return [w for w in index.words if w.startswith(start) and -2 <= len(w) - length <= 2]
