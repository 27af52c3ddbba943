"""Words and signs of texts one after the other, and phrases among them, found with a trie.

A *piece* is a word or a sign: ``"C#, T-cell"`` has the pieces C, #, comma, T, -, cell. A phrase occurs where all of its
pieces follow one another, whatever white space is between them.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tiltfit.arrays import BoolArray, IntArray
from tiltfit.data.words import word_pattern

_PLAIN = re.compile(r"\w+|[^\w\s]")
_SIGN = r"|[^\w\s]"
_BREAK = -1
_SHIFT = 32  # bits of a piece in the key of an edge


def split(text: str) -> list[str]:
    """The pieces of a text.

    >>> split("C#, T-cell")
    ['C', '#', ',', 'T', '-', 'cell']
    """
    return (_PLAIN if text.isascii() else word_pattern(_SIGN)).findall(text)


def places_of(text: str) -> Iterator[tuple[int, int]]:
    """Where each piece of a text begins and ends."""
    return (found.span() for found in word_pattern(_SIGN).finditer(text))


@dataclass(frozen=True, eq=False)
class Pieces:
    """The pieces of all texts, run after run; a break (−1) follows every run but the last.

    ``forms``: the distinct pieces; ``number``: which of them each is. ``position``: the text that each is from.
    ``first``, ``last``: whether a phrase may begin or end with it.
    """

    forms: Sequence[str]
    number: IntArray
    position: IntArray
    first: BoolArray
    last: BoolArray

    @staticmethod
    def of(texts: Sequence[str], runs: IntArray | None = None) -> Pieces:
        """``runs``: where texts are tokens, the first of every run of them, and their number; a phrase then begins and
        ends where tokens do. None: each text stands by itself."""
        types: dict[str, int] = {}
        which = np.fromiter((types.setdefault(t, len(types)) for t in texts), dtype=np.intp, count=len(texts))
        forms: dict[str, int] = {}
        pieces = [[forms.setdefault(piece, len(forms)) for piece in split(text)] for text in types]
        ends = np.cumsum([0, *map(len, pieces)])
        listed = np.fromiter(itertools.chain.from_iterable(pieces), dtype=np.intp, count=int(ends[-1]))
        counts = np.diff(ends)[which]
        offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.intp)
        number = listed[np.repeat(ends[which] - offsets[:-1], counts) + np.arange(offsets[-1])]
        position = np.repeat(np.arange(len(texts)), counts)
        first = last = np.ones(len(number), dtype=np.bool_)
        if runs is not None:
            first, last = np.zeros_like(first), np.zeros_like(last)
            first[offsets[:-1][counts > 0]] = True
            last[offsets[1:][counts > 0] - 1] = True
        where = offsets[1:-1] if runs is None else offsets[runs[1:-1]]
        return Pieces(
            tuple(forms),
            np.insert(number, where, _BREAK),
            np.insert(position, where, 0),
            np.insert(first, where, False),
            np.insert(last, where, False),
        )

    @property
    def n(self) -> int:
        """Number of pieces, breaks included."""
        return len(self.number)

    def numbers_in(self, known: dict[str, int], fold: Callable[[str], str]) -> IntArray:
        """The number that each folded piece has in ``known``; −1: none, or a break."""
        table = np.fromiter(
            (known.get(fold(form), _BREAK) for form in self.forms), dtype=np.intp, count=len(self.forms)
        )
        return np.append(table, _BREAK)[self.number]


class Trie:
    """Phrases as paths from a root. Both building and matching are linear, for phrases of bounded length."""

    def __init__(self, phrases: Iterable[Sequence[str]]) -> None:
        self.numbers: dict[str, int] = {}
        edges: dict[int, int] = {}
        finals: set[int] = set()
        for phrase in phrases:
            node = 0
            for piece in phrase:
                number = self.numbers.setdefault(piece, len(self.numbers))
                node = edges.setdefault(node << _SHIFT | number, len(edges) + 1)
            finals.add(node)
        self._edges, self._finals = edges, finals

    @cached_property
    def _sorted(self) -> tuple[IntArray, IntArray]:
        """The keys of all edges in order, and the nodes that they lead to."""
        keys = np.fromiter(self._edges, dtype=np.int64, count=len(self._edges))
        nodes = np.fromiter(self._edges.values(), dtype=np.int64, count=len(self._edges))
        order = np.argsort(keys)
        return keys[order], nodes[order]

    def cover(self, pieces: Pieces, fold: Callable[[str], str]) -> BoolArray:
        """The pieces that are part of a phrase. ``fold``: what makes forms alike.

        From every piece where a phrase may begin a walk goes down the trie; all walks take their next step together.
        """
        keys, nodes = self._sorted
        final = np.zeros(len(keys) + 1, dtype=np.bool_)
        final[list(self._finals)] = True
        numbers = np.append(pieces.numbers_in(self.numbers, fold), _BREAK)
        longest = np.zeros(pieces.n, dtype=np.intp)
        start = np.flatnonzero(pieces.first)
        node, depth = np.zeros(len(start), dtype=np.int64), 0
        while len(start):
            number = numbers[start + depth]
            key = node << _SHIFT | number
            found = np.minimum(np.searchsorted(keys, key), len(keys) - 1)
            alive = (number != _BREAK) & (keys[found] == key)
            start, node = start[alive], nodes[found[alive]]
            depth += 1
            ended = start[final[node] & pieces.last[start + depth - 1]]
            longest[ended] = depth
        change = np.zeros(pieces.n + 1, dtype=np.intp)
        begins = np.flatnonzero(longest)
        np.add.at(change, begins, 1)
        np.add.at(change, begins + longest[begins], -1)
        return np.asarray(np.cumsum(change)[:-1] > 0)
