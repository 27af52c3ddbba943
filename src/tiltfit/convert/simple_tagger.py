"""MALLET's SimpleTagger files: one token per line, as its features and then its label; a blank line between sequences.

    Bill CAPITALIZED noun
    slept non-noun

One of the features is the token: the first, unless ``token`` says otherwise.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tiltfit.data.readers.conll import DOCSTART
from tiltfit.data.readers.record import Vocabulary, problem
from tiltfit.data.readers.source import lines, opened, place_of
from tiltfit.errors import DataFileError

_SPACES = re.compile(r"[ \t]+")


@dataclass(frozen=True)
class TaggedSequence:
    """One sequence. ``tags`` is None if the file has no labels; ``features`` are those besides the token."""

    line: int
    tokens: tuple[str, ...]
    tags: tuple[str, ...] | None
    features: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class _Line:
    token: str
    tag: str | None
    features: tuple[str, ...]


def read_simple_tagger(
    source: str | os.PathLike[str], *, token: int = 0, labels: bool = True
) -> tuple[TaggedSequence, ...]:
    """Return the sequences of a file, plain or compressed, or of standard input (``"-"``).

    ``token``: which feature is the token, 0 is the first. ``labels=False``: the last field is also a feature. Every
    problem is a DataFileError with file and line.
    """
    name = os.fspath(source)
    place = place_of(name)
    vocabulary = Vocabulary(place)
    found: list[TaggedSequence] = []
    start, current = 0, list[_Line]()
    with opened(name) as raw:
        for number, text in lines(place, raw):
            fields = [field for field in _SPACES.split(text.strip(" \t\r\n")) if field]
            if fields:
                start = start if current else number
                current.append(_line(place, number, fields, token, labels, vocabulary))
            elif current:
                found.append(_sequence(start, current))
                current = []
    if current:
        found.append(_sequence(start, current))
    if not found:
        raise DataFileError(f"{place}: no sequences. A line holds features and, last, a label.")
    return tuple(found)


def _line(place: str, number: int, fields: list[str], token: int, labels: bool, vocabulary: Vocabulary) -> _Line:
    features = fields[:-1] if labels else fields
    if not features:
        raise problem(
            place,
            number,
            f"the line has one field, {fields[0]!r}, but needs features and, last, a label. If the file has no labels, "
            "say so with labels=False (on the command line: --no-labels).",
        )
    if not -len(features) <= token < len(features):
        raise problem(place, number, f"there is no feature {token} to take for the token: there are {len(features)}.")
    at = token % len(features)
    return _Line(
        vocabulary.take(features[at], number, f"feature {at}"),
        fields[-1] if labels else None,
        (*features[:at], *features[at + 1 :]),
    )


def _sequence(start: int, found: list[_Line]) -> TaggedSequence:
    tags = tuple(line.tag for line in found if line.tag is not None)
    return TaggedSequence(
        start, tuple(line.token for line in found), tags or None, tuple(line.features for line in found)
    )


def as_conll(place: str, sequences: tuple[TaggedSequence, ...]) -> Iterator[str]:
    """Yield lines of CoNLL columns, ``token<TAB>tag``; only the token if there are no labels. Features are left out."""
    for sequence in sequences:
        for t, token in enumerate(sequence.tokens):
            if token.startswith(DOCSTART):
                raise problem(
                    place,
                    sequence.line + t,
                    f"a line of columns that begins with {DOCSTART} would be skipped. Write JSONL.",
                )
            yield token + ("" if sequence.tags is None else f"\t{sequence.tags[t]}") + "\n"
        yield "\n"


def as_objects(sequences: tuple[TaggedSequence, ...]) -> Iterator[dict[str, Any]]:
    """Yield objects of JSONL: tokens and, if there are any, tags and further features."""
    for sequence in sequences:
        row: dict[str, Any] = {"tokens": list(sequence.tokens)}
        if sequence.tags is not None:
            row["tags"] = list(sequence.tags)
        if any(sequence.features):
            row["features"] = [list(features) for features in sequence.features]
        yield row
