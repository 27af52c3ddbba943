"""Attributes of the spelling of one token: its shape, its pieces, the classes it belongs to."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence

from tiltfit.arguments import are_strings, check_mapping
from tiltfit.errors import DataError

_MONTHS = (
    "jan(uary)?|feb(ruary)?|mar(ch)?|apr(il)?|may|june?|july?|aug(ust)?"
    "|sept?(ember)?|oct(ober)?|nov(ember)?|dec(ember)?"
)

SIGNS: Mapping[str, str] = {
    "comma": r",",
    "full stop": r"\.",
    "colon": r":",
    "semicolon": r";",
    "opening bracket": r"[(\[{]",
    "closing bracket": r"[)\]}]",
    "quote": r"[\"'`´‘’“”„«»]+",
    "dash": r"[-–—]+",
}
"""Classes of punctuation: name, and pattern of the whole token."""

PATTERNS: Mapping[str, str] = {
    "digits": r"\d+",
    "one digit": r"\d",
    "two digits": r"\d\d",
    "three digits": r"\d{3}",
    "four digits": r"\d{4}",
    "year": r"(1[5-9]|20)\d\d[a-z]?",
    "ordinal": r"\d+(st|nd|rd|th)",
    "number with hyphen": r"\d+[-–—]+\d+",
    "has digit": r".*\d.*",
    "digits and letters": r"(?=.*\d)(?=.*[A-Za-z]).+",
    "initial": r"[A-Z]\.?",
    "capitalised": r"[A-Z][a-z].*",
    "all caps": r"[A-Z]{2,}",
    "mixed case": r".*[a-z][A-Z].*",
    "has hyphen": r"\w+-\w+.*",
    "month": rf"(?i:{_MONTHS})\.?",
    "address": r"(?i:.*(https?:|ftp:|www\.|\w@\w).*)",
    "punctuation": r"[^\w\s]+",
    **SIGNS,
    "opens quote": r"[\"`“„«]+\w.*",
    "closes quote": r".*\w(''|[\"”»])",
}
"""The default classes of tokens: name, and pattern (of Python's ``re``) of the whole token."""


def shape(token: str) -> str:
    """Capitals become X, other letters x, digits 0, and runs of one sign are written once.

    >>> shape("McDonald's"), shape("1991-95"), shape("...")
    ("XxXx'x", '0-0', '.')
    """
    found: list[str] = []
    for c in token:
        sign = ("X" if c.isupper() else "x") if c.isalpha() else "0" if c.isdigit() else c
        if not found or found[-1] != sign:
            found.append(sign)
    return "".join(found)


def in_latin(token: str) -> str:
    """Letters without their marks; letters of other alphabets become A or a: what Latin patterns can compare with.

    >>> in_latin("Über"), in_latin("Πρᾶξις"), in_latin("naïve")
    ('Uber', 'Aaaaaa', 'naive')
    """
    if token.isascii():
        return token
    letters = (c for c in unicodedata.normalize("NFKD", token) if not unicodedata.combining(c))
    return "".join(c if c.isascii() or not c.isalpha() else "A" if c.isupper() else "a" for c in letters)


def core(token: str) -> str:
    """The token in lower case without the signs around it: what word lists contain.

    >>> core("``Reaching"), core("U.S."), core("--")
    ('reaching', 'u.s', '')
    """
    folded = token.casefold()
    start, end = 0, len(folded)
    while start < end and not folded[start].isalnum():
        start += 1
    while end > start and not folded[end - 1].isalnum():
        end -= 1
    return folded[start:end]


def prefixes(token: str, lengths: Sequence[int]) -> list[str]:
    """The beginnings of a token, in lower case, shorter than the token itself."""
    folded = token.lower()
    return [folded[:k] for k in lengths if k < len(folded)]


def suffixes(token: str, lengths: Sequence[int]) -> list[str]:
    """The ends of a token, in lower case, shorter than the token itself."""
    folded = token.lower()
    return [folded[-k:] for k in lengths if k < len(folded)]


def ngrams(token: str, lengths: Sequence[int]) -> list[str]:
    """The distinct runs of characters of a token between ``^`` and ``$``, in lower case.

    >>> ngrams("Aha", [3])
    ['^ah', 'aha', 'ha$']
    """
    text = f"^{token.lower()}$"
    return list(dict.fromkeys(text[i : i + k] for k in lengths for i in range(len(text) - k + 1)))


def classifier(patterns: Mapping[str, str]) -> Callable[[str], list[str]]:
    """A function that names the classes of a token: those whose pattern matches all of it, as spelt or ``in_latin``."""
    compiled = {name: re.compile(pattern).fullmatch for name, pattern in patterns.items()}

    def classes(token: str) -> list[str]:
        latin = in_latin(token)
        folded = latin is not token
        return [name for name, matches in compiled.items() if matches(token) or (folded and matches(latin))]

    return classes


def check_patterns(option: str, patterns: object) -> dict[str, str]:
    """Name → pattern, each a valid one."""
    found = check_mapping(option, patterns, "patterns")
    for name, pattern in found.items():
        if not are_strings((name, pattern)):
            raise DataError(f"{option}= must hold strings, but has {name!r}: {pattern!r:.80}.")
        try:
            re.compile(pattern)
        except re.error as error:
            raise DataError(f"The pattern {name!r} ({pattern!r:.80}) is not valid: {error}.") from None
    return found
