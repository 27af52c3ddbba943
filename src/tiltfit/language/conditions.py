"""Conditions as users write them, and the classes for positions in a sequence and for Python functions.

>>> word("puck") & ~phrase("hockey stick")
word('puck') & ~phrase('hockey stick')
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tiltfit.arguments import whole
from tiltfit.arrays import BoolArray
from tiltfit.errors import ConstraintError, UnsupportedError
from tiltfit.features.vectors import STATIC
from tiltfit.language.comparisons import Column, Feature
from tiltfit.language.condition import AllOf, Condition, all_of, any_of, require_sequences
from tiltfit.language.lexicon import Lexicon, lexicon_of
from tiltfit.language.meaning import Near
from tiltfit.language.prose import ordinal, show
from tiltfit.language.texts import Phrase, Regex, Word, Words, word_or_words
from tiltfit.language.values import Label
from tiltfit.language.values import text as _text
from tiltfit.language.witness import Witness
from tiltfit.language.written import TRUE, Document

if TYPE_CHECKING:
    from tiltfit.data.inputs import Inputs, Unit

# Names of other modules that are imported from here.
__all__ = [
    "AllOf", "Column", "Condition", "Feature", "Lexicon", "Near", "Phrase", "Regex", "Witness", "Word", "Words",
    "all_of", "any_of",
]  # fmt: skip


@dataclass(frozen=True, eq=False, repr=False)
class When(Condition):
    """A Python function of the document, row or token returns True. It cannot be written to a file."""

    function: Callable[[Any], object]
    name: str

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise ConstraintError(f"when({self.function!r}) needs a function of one document, row or token.")
        self._set(name=_text(self.name, "The name of when(...)"))

    def fires(self, inputs: Inputs) -> BoolArray:
        return np.fromiter((self._ask(inputs, i) for i in range(inputs.n)), dtype=np.bool_, count=inputs.n)

    def _ask(self, inputs: Inputs, i: int) -> bool:
        row = inputs.row(i)
        try:
            return bool(self.function(row))
        except Exception as error:
            why = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
            raise ConstraintError(
                f"The function of {self!r} failed at {inputs.place(i)} with {why}. It must answer for everything in X."
            ) from error

    def __repr__(self) -> str:
        return f"when({self.name})"

    def to_document(self) -> Document:
        raise UnsupportedError(
            f"{self!r} is a Python function, which cannot be written to a file. "
            "Say it with word, phrase, regex, column or feature instead."
        )

    def clause(self, unit: Unit, negated: bool = False) -> str:
        return f"for which {show(self.name)} {'does not hold' if negated else 'holds'}"


class _OfTokens(Condition):
    """A condition that only tokens of sequences can fulfil; unless it says otherwise, Python calls it by its key."""

    @property
    def is_sequence(self) -> bool:
        return True

    def __repr__(self) -> str:
        return self.key


@dataclass(frozen=True, eq=False, repr=False)
class Punctuation(_OfTokens):
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


class _Placed(_OfTokens):
    """The token at index ``k`` of its sequence: 0 is the first, −1 the last."""

    k: int

    def fires(self, inputs: Inputs) -> BoolArray:
        offsets = require_sequences(inputs, repr(self))
        found = (offsets[:-1] if self.k >= 0 else offsets[1:]) + self.k
        mask = np.zeros(inputs.n, dtype=np.bool_)
        mask[found[(found >= offsets[:-1]) & (found < offsets[1:])]] = True
        return mask

    def _where(self) -> str:
        return f"at the {'end' if self.k else 'start'}"

    def clause(self, unit: Unit, negated: bool = False) -> str:
        return f"{'not ' if negated else ''}{self._where()} of a sequence"

    def place(self) -> str:
        return self.clause("tokens")


@dataclass(frozen=True, eq=False, repr=False)
class First(_Placed):
    """The first token of a sequence."""

    keys = {"first": TRUE}
    k = 0


@dataclass(frozen=True, eq=False, repr=False)
class Last(_Placed):
    """The last token of a sequence."""

    keys = {"last": TRUE}
    k = -1


@dataclass(frozen=True, eq=False, repr=False)
class Position(_Placed):
    """The token at index k of its sequence: 0 is the first, −1 the last."""

    k: int
    keys = {"position": {"type": "integer"}}

    def __post_init__(self) -> None:
        k = whole(self.k)
        if k is None:
            raise ConstraintError(f"position({self.k!r}) must be a whole number: 0 is the first token, -1 the last.")
        if not -(2**31) <= k < 2**31:
            raise ConstraintError("position(...) is longer than any sequence.")
        self._set(k=k)

    def __repr__(self) -> str:
        return f"position({self.k})"

    def _where(self) -> str:
        return f"in {ordinal(self.k + 1)} place" if self.k >= 0 else f"in {ordinal(-self.k)} place from the end"


def word(text: str | None = None, case: bool | None = None, *, words: Iterable[str] | None = None) -> Condition:
    """Contains the word as a whole token.

    Parameters
    ----------
    text : str
        The word. In sequences it is compared with the token as it stands, whatever it contains.
    case : bool, optional
        Whether capitals count; by default if the word has one.
    words : list of str
        Instead of ``text``: any of these words. One condition, which takes thousands of them.
    """
    return word_or_words(text, case, words)


def lexicon(words: str | os.PathLike[str] | Iterable[str], name: str | None = None, case: bool = False) -> Condition:
    """Contains one of many phrases; for sequences, the token is part of one.

    Parameters
    ----------
    words : list of str, or path
        Words and phrases, thousands if need be: all are looked up in one pass. Words and signs are compared, whatever
        white space is between them; in sequences a phrase begins and ends where tokens do. A path is that of a file
        with one phrase per line; blank lines are skipped.
    name : str, optional
        What sentences call it; default: the name of the file, without its suffix.
    case : bool
        Whether capitals count.

    Examples
    --------
    >>> from tiltfit import expect, lexicon
    >>> print(expect("disease", given=lexicon(["breast cancer", "colitis"], name="diseases")).about(0.9))
    about 90% of documents with a phrase of the lexicon diseases are disease
    """
    return lexicon_of(words, name, case)


def phrase(text: str, case: bool | None = None) -> Condition:
    """Contains these words in a row.

    Parameters
    ----------
    text : str
        The words.
    case : bool, optional
        Whether capitals count; by default if there is one.
    """
    return Phrase(text, case)


def regex(pattern: str) -> Condition:
    """The pattern (of Python's ``re``) occurs in the text."""
    return Regex(pattern)


def near(*phrases: str, above: float, encoder: str = STATIC) -> Condition:
    """Is close in meaning to one of the phrases; for sequences, the token by itself.

    Parameters
    ----------
    phrases : str
        One phrase or several.
    above : float
        The least cosine similarity of the vectors of text and phrase, more than 0 and at most 1. What is near depends
        on the encoder: ``check`` shows how often the condition fires, and the nearest text if it never does.
    encoder : str, optional
        The name of an encoder of texts. ``"static"`` needs ``pip install 'tiltfit[embeddings]'`` where data are looked
        at; ``tiltfit.register_encoder`` adds others.
    """
    return Near(phrases, above, encoder)


def witness(source: str, says: Label | None = None) -> Condition:
    """A source of votes says a label.

    Parameters
    ----------
    source : str
        The name of a source in ``votes=``: a rule, an annotator, another model.
    says : label, optional
        What it says; by default anything.

    Examples
    --------
    >>> from tiltfit import expect, witness
    >>> print(expect("spam", given=witness("gpt-4", says="spam")).about(0.9))
    about 90% of documents where gpt-4 says spam are spam
    """
    return Witness(source, says)


def column(name: str) -> Column:
    """A column of a table: ``column("age").above(30)``, ``column("title").word("x")``, ``per=column("county")``."""
    return Column(name)


def feature(name: str) -> Feature:
    """A named feature is not zero; ``feature("length").above(3)`` compares it."""
    return Feature(name)


def when(function: Callable[[Any], object], name: str | None = None) -> Condition:
    """A Python function of one document, row or token returns True.

    Parameters
    ----------
    function : callable
        Gets one document, row or token and answers true or false. It cannot be written to a file: models are saved
        without it, and then predict, but do not project.
    name : str, optional
        What sentences call it; default: the name of the function.
    """
    return When(function, name or getattr(function, "__name__", None) or type(function).__name__)


def position(k: int) -> Condition:
    """The token at index k of its sequence: 0 is the first, -1 the last."""
    return Position(k)


punctuation: Condition = Punctuation()
first: Condition = First()
last: Condition = Last()
