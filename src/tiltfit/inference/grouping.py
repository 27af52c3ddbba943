"""The choice of sequences to work on side by side, and of chunks: by the data alone, not by the number of threads."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tiltfit.arrays import IntArray

_CHUNKS = 32  # so many sums of edges at most: enough for any number of threads to share the work evenly
_CHUNK = 512  # positions in a chunk, at least
_ROOM = 1 << 20  # numbers in all sums of edges together, about

_ABREAST = 8  # as many as ``kernels.llvm.blocks`` takes
_FEWEST_LABELS = 4
_MOST_LABELS = 192  # with more, sums over pairs of labels, in four numbers each, cost what side by side wins
_LARGEST = 4096  # positions times labels of a sequence: what is kept of eight such should stay in the cache
_EVEN = 0.75  # of the steps of a group at least so many must be those of its sequences


@dataclass(frozen=True, eq=False)
class Grouping:
    """Group g has the sequences members[groups[g] : groups[g + 1]], one or eight; chunk c the groups from cuts[c] up to
    cuts[c + 1]. ``work``: how much there is before each chunk."""

    members: IntArray
    groups: IntArray
    cuts: IntArray
    work: IntArray

    @property
    def is_grouped(self) -> bool:
        """True if there is a group of eight; if not, ``members`` are all sequences in their order."""
        return len(self.groups) <= len(self.members)


def grouped(lengths: IntArray, n_kinds: int, n_labels: int) -> Grouping:
    """Groups of eight where edges are all of one kind, labels neither few nor many, and eight sequences about as long
    as each other; else one by one.

    >>> made = grouped(np.array([5, 6, 5, 5, 5, 1, 5, 5, 5]), 1, 6)
    >>> made.members.tolist(), made.groups.tolist()
    ([5, 0, 2, 3, 4, 6, 7, 8, 1], [0, 1, 9])
    """
    members = np.argsort(lengths, kind="stable")
    eights: list[int] = []
    if n_kinds == 1 and _FEWEST_LABELS <= n_labels <= _MOST_LABELS:
        eights = _eights(lengths[members], _LARGEST // n_labels)
    if not eights:
        members = np.arange(len(lengths))
    begins = np.ones(len(members) + 1, dtype=np.bool_)
    begins[np.add.outer(eights, np.arange(1, _ABREAST)).astype(np.intp)] = False
    groups = np.flatnonzero(begins)
    ends = np.concatenate([[0], np.cumsum(lengths[members])])[groups]
    cuts = edge_chunks(ends, n_kinds, n_labels)
    return Grouping(members, groups, cuts, ends[cuts] * n_labels)


def _eights(lengths: IntArray, longest: int) -> list[int]:
    """The begins of groups of eight, of sequences sorted by length, none longer than ``longest``: the longest first,
    and one that is too long for the seven before it is left alone, so that those left over are short."""
    found, sums, end = [], [0, *np.cumsum(lengths).tolist()], int(np.searchsorted(lengths, longest, side="right"))
    while end >= _ABREAST:
        begin = end - _ABREAST
        if sums[end] - sums[begin] >= _EVEN * _ABREAST * (sums[end] - sums[end - 1]):
            found.append(begin)
            end = begin
        else:
            end -= 1
    return found


def chunks(ends: IntArray, size: int, least: int = _CHUNK) -> IntArray:
    """Bounds of chunks of about equal length, of what ends at these positions. Sums are taken chunk by chunk and then
    in the order of the chunks, whoever works on them. ``size``: numbers in the sums of a chunk; ``least``: positions of
    a chunk, at least."""
    count = max(1, min(_CHUNKS, max(4, _ROOM // max(1, size)), int(ends[-1]) // least))
    goals = np.linspace(0, ends[-1], count + 1)[1:-1]
    return np.unique(np.concatenate([[0], np.searchsorted(ends, goals), [len(ends) - 1]])).astype(np.intp)


def edge_chunks(ends: IntArray, n_kinds: int, n_labels: int) -> IntArray:
    """``chunks`` for sums over edges: a table of pairs of labels for each kind."""
    return chunks(ends, n_kinds * n_labels**2, max(_CHUNK, 8 * n_kinds))
