"""One sequence as a reader found it, and the checks that hold for every format of sequences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tiltfit.data.positions import unfit
from tiltfit.data.readers.record import Label, Record, problem

Tags = Sequence[Label | None] | None


@dataclass(frozen=True, slots=True)
class Tagged:
    """Tokens, and their tags (None: unlabelled). ``record`` says where they stand; its text is empty."""

    record: Record
    tokens: list[str]
    tags: Tags


@dataclass(frozen=True)
class TaggedPart:
    """What one source gave: its sequences, the fields it has, whether it has tags at all, and its format."""

    place: str
    sequences: list[Tagged]
    fields: frozenset[str]
    has_tags: bool
    format: str


_KNOWN, _TOKEN = 1 << 14, 100  # tokens that are remembered, and their length: a stream may never end


class Vocabulary:
    """Checks a token when it is new, and keeps one string for all its occurrences."""

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
        if len(self._known) == _KNOWN:
            self._known.clear()  # common tokens are soon back
        if len(token) <= _TOKEN:
            self._known[token] = token
        return token
