"""One sequence as a reader found it, and the checks that hold for every format of sequences."""

from __future__ import annotations

import bz2
import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import cast

from tiltfit.data.positions import unfit
from tiltfit.data.readers.record import Label, Record, problem
from tiltfit.errors import DataFileError

Tags = Sequence[Label | None] | None

_BZIP2 = b"BZh"


@dataclass(frozen=True, slots=True)
class Tagged:
    """Tokens, and their tags (None: unlabelled). ``record`` says where they stand; its text is empty."""

    record: Record
    tokens: list[str]
    tags: Tags


@dataclass(frozen=True)
class TaggedPart:
    """What one source gave: its sequences, the fields it has, and whether it has tags at all."""

    place: str
    sequences: list[Tagged]
    fields: frozenset[str]
    has_tags: bool


class Vocabulary:
    """Checks every distinct token once, and keeps one string for all its occurrences."""

    def __init__(self, place: str) -> None:
        self._place = place
        self._known: dict[str, str] = {}

    def take(self, token: str, line: int, where: str) -> str:
        found = self._known.get(token)
        if found is not None:
            return found
        why = unfit(token)
        if why is not None:
            raise problem(self._place, line, f"{where} {why}")
        self._known[token] = token
        return token


@contextmanager
def unpacked(place: str, raw: io.BufferedReader) -> Iterator[io.BufferedReader]:
    """The bytes of a source, out of bzip2 if they are in it (gzip is unpacked already)."""
    if not raw.peek(len(_BZIP2)).startswith(_BZIP2):
        yield raw
        return
    try:
        with bz2.BZ2File(raw, mode="rb") as file:
            yield io.BufferedReader(cast("io.RawIOBase", file))
    except (OSError, EOFError) as error:
        raise DataFileError(f"{place}: the bzip2 data are damaged or cut off ({error}).") from error
