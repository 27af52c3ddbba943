"""Word lists as classes of tokens. An entry of several words matches a run of tokens."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from tiltfit.arguments import check_mapping
from tiltfit.arrays import IntArray
from tiltfit.errors import DataError
from tiltfit.features.spelling import core

MAX_LEXICONS = 62  # one bit of an int64 each


def check_lexicons(lexicons: object) -> dict[str, tuple[str, ...]]:
    """Name → sorted entries, in lower case, one space between the words of an entry."""
    found = check_mapping("lexicons", lexicons, "word lists")
    if len(found) > MAX_LEXICONS:
        raise DataError(f"There are {len(found)} lexicons; at most {MAX_LEXICONS} can be used. Merge some of them.")
    return {name: _entries(name, words) for name, words in found.items()}


def _entries(name: object, words: object) -> tuple[str, ...]:
    if not name or not isinstance(name, str):
        raise DataError(f"The name of a lexicon must be a string, but is {name!r}.")
    if isinstance(words, str) or not isinstance(words, Iterable):
        raise DataError(f"The lexicon {name!r} must be a list of words, but is {words!r:.80}.")
    found = set()
    for word in words:
        if not isinstance(word, str):
            raise DataError(f"The lexicon {name!r} holds {word!r}, which is not a string.")
        found.add(" ".join(word.casefold().split()))
    return tuple(sorted(found - {""}))


class LexiconMatcher:
    """The lexicons that hold the token at each position: bit l is lexicon l."""

    def __init__(self, lexicons: Mapping[str, Sequence[str]]) -> None:
        self._words: dict[str, int] = {}
        self._runs: dict[str, list[tuple[tuple[str, ...], int]]] = {}  # by first word
        for bit, entries in enumerate(lexicons.values()):
            for entry in entries:
                first, *rest = entry.split(" ")
                if rest:
                    self._runs.setdefault(first, []).append((tuple(rest), 1 << bit))
                else:
                    self._words[first] = self._words.get(first, 0) | 1 << bit

    def masks(self, types: Sequence[str], codes: IntArray, offsets: IntArray) -> npt.NDArray[np.int64]:
        """One mask per position. ``types``: distinct tokens; ``codes``: the number of each position's."""
        forms = [(t.casefold(), core(t)) for t in types]
        words = self._words
        single = np.array([words.get(a, 0) | words.get(b, 0) for a, b in forms], dtype=np.int64)
        masks = single[codes] if len(types) else np.zeros(0, dtype=np.int64)
        starts = np.array([a in self._runs or b in self._runs for a, b in forms], dtype=np.bool_)
        if starts.any():
            self._add_runs(masks, forms, codes, offsets, np.flatnonzero(starts[codes]))
        return masks

    def _add_runs(
        self,
        masks: npt.NDArray[np.int64],
        forms: Sequence[tuple[str, str]],
        codes: IntArray,
        offsets: IntArray,
        candidates: IntArray,
    ) -> None:
        ends = offsets[np.searchsorted(offsets, candidates, side="right")]
        for i, end in zip(candidates.tolist(), ends.tolist(), strict=True):
            for first in dict.fromkeys(forms[codes[i]]):
                for rest, bit in self._runs.get(first, ()):
                    stop = i + 1 + len(rest)
                    if stop <= end and all(w in forms[c] for w, c in zip(rest, codes[i + 1 : stop], strict=True)):
                        masks[i:stop] |= bit
