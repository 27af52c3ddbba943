"""What a word is, for everything that reads texts: conditions, features, suggestions and reports.

A word is a run of letters, digits and underscores with the marks that are written on them: the vowel signs of Hindi,
Thai and Arabic, and accents that are characters of their own. Within a word there may also be joiners (U+200C, U+200D).
Texts are compared in Unicode's normal form NFC, in which "é" is one character however it was typed.

Plain text has plain words: without such marks they are the matches of ``\\w+``.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache

_PLAIN = re.compile(r"\w+")
_JOINERS = "\u200c\u200d"
_ASTRAL = "[\U00010000-\U0010ffff]"
# Between these there are only Chinese and Korean signs, and planes without a letter.
_HAVE_MARKS = (range(0x300, 0x3100), range(0xA600, 0xAC00), range(0xF900, 0x1F000), range(0xE0100, 0xE01F0))


def normal(text: str) -> str:
    r"""The text in the normal form NFC.

    >>> len("cafe\u0301"), len(normal("cafe\u0301"))
    (5, 4)
    """
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def tokenise(text: str) -> list[str]:
    r"""The words of a text in the normal form, case kept.

    >>> tokenise("Don't re-boot WINDOWS 95!")
    ['Don', 't', 're', 'boot', 'WINDOWS', '95']
    >>> tokenise("हिन्दी में")
    ['हिन्दी', 'में']
    """
    return _PLAIN.findall(text) if text.isascii() else word_pattern().findall(unicodedata.normalize("NFC", text))


def places_of_words(text: str) -> Iterator[tuple[int, int]]:
    """Where each word of a text begins and ends, in the text as it is."""
    return (found.span() for found in word_pattern().finditer(text))


def places_of_run(text: str, words: Sequence[str], fold: Callable[[str], str] = str.casefold) -> list[tuple[int, int]]:
    """Where these words follow one another, with anything but words between them: where each run begins and ends.

    >>> places_of_run("A Puck on the ice-rink", ["ice", "rink"])
    [(14, 22)]
    """
    wanted, places = [fold(normal(word)) for word in words], list(places_of_words(text))
    found, n = [fold(normal(text[start:stop])) for start, stop in places], len(wanted)
    runs = (k for k in range(len(found) - n + 1) if found[k : k + n] == wanted)
    return [(places[k][0], places[k + n - 1][1]) for k in runs]


def has_marks(text: str) -> bool:
    r"""Whether a text may have words that ``\w+`` would cut; never false if it has."""
    return not text.isascii() and _mark_pattern().search(text) is not None


@cache
def word_pattern(otherwise: str = "") -> re.Pattern[str]:
    r"""The pattern of a word, or of what matches ``otherwise`` ("|" and a pattern).

    ``\w+`` goes first and takes all of most words: what looks for marks after it is as good as free.
    """
    low, high = _marks()
    after = rf"(?=[\u0300-\uffff])(?:[{_JOINERS}]*[{low}]+\w*|[{_JOINERS}]+\w+)|(?={_ASTRAL})[{high}]+\w*"
    return re.compile(rf"\w+(?:{after})*{otherwise}")


@cache
def _mark_pattern() -> re.Pattern[str]:
    return re.compile(f"[{_marks()[0]}{_JOINERS}{_ASTRAL[1:]}")


@cache
def _marks() -> tuple[str, str]:
    """The marks as inside of a class of a pattern, those up to U+FFFF and those beyond. It takes some 15 ms, and only
    those wait who have texts beyond ASCII."""
    found = [c for part in _HAVE_MARKS for c in map(chr, part) if unicodedata.category(c)[0] == "M"]
    return _class(c for c in found if c <= "\uffff"), _class(c for c in found if c > "\uffff")


def _class(characters: Iterable[str]) -> str:
    ranges: list[list[str]] = []
    for c in characters:
        if ranges and ord(c) == ord(ranges[-1][1]) + 1:
            ranges[-1][1] = c
        else:
            ranges.append([c, c])
    return "".join(f"{first}-{last}" for first, last in ranges)
