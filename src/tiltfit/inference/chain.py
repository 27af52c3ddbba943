"""Exact inference on linear chains.

    p(y | x) ∝ exp(Σ_t node[t, y_t] + Σ_t edge[kind[t], y_{t−1}, y_t])

Cost O(N·L²) in time; beside the results, memory for one sequence per thread, or for eight side by side. Which sequences
are taken side by side, and which chunks are summed up, depends on the data alone, not on the number of threads.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Self, TypeVar

import numpy as np
import numpy.typing as npt

from tiltfit import kernels
from tiltfit.arrays import FloatArray, IntArray
from tiltfit.errors import DataError
from tiltfit.execution.workers import Workers
from tiltfit.inference.potentials import Marginals, Potentials

if TYPE_CHECKING:
    from tiltfit.inference.tangent import ChainTangent

Scalar = TypeVar("Scalar", bound=np.generic)

_CHUNKS = 32  # so many sums of edges at most: enough for any number of threads to share the work evenly
_CHUNK = 512  # positions in a chunk, at least
_ROOM = 1 << 20  # approximate number of entries in all sums of edges together
_ABREAST = 8  # as many as ``kernels.llvm.blocks`` takes
_FEWEST_LABELS = 4
_MOST_LABELS = 192  # with more, sums over pairs of labels, in four numbers each, cost what side by side wins
_LARGEST = 4096  # positions times labels of a sequence: what is kept of eight such should stay in the cache
_EVEN = 0.75  # of the steps of a group at least so many must be those of its sequences


@dataclass(frozen=True, eq=False)
class Chains:
    """Sequence s has positions offsets[s]:offsets[s+1], at least one. kind[t] numbers the table of the edge from t − 1
    to t (at the first position of a sequence it is ignored).

    >>> import numpy as np
    >>> chains = Chains(np.array([0, 2]), np.zeros(2, dtype=np.int32), n_kinds=1)
    >>> stay = np.log([[[3.0, 1.0], [1.0, 3.0]]])
    >>> marginals = chains.infer(Potentials(np.log([[1.0, 1.0], [3.0, 1.0]]), stay))
    >>> marginals.node.round(3).tolist(), float(np.exp(marginals.log_z[0]).round(6))
    ([[0.625, 0.375], [0.75, 0.25]], 16.0)
    """

    offsets: IntArray
    kind: npt.NDArray[np.int32]
    n_kinds: int
    has_edges: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if len(self.offsets) == 0 or self.offsets[0] != 0 or np.any(np.diff(self.offsets) < 1):
            raise DataError("The offsets of sequences must start at 0 and grow: no sequence may be empty.")
        if len(self.kind) != self.offsets[-1]:
            raise DataError(f"There are {self.offsets[-1]} positions but {len(self.kind)} kinds of edge.")
        inner = np.delete(self.kind, self.first)
        if len(inner) and not 0 <= inner.min() <= inner.max() < self.n_kinds:
            raise DataError(f"Kinds of edge run from {inner.min()} to {inner.max()}; there are {self.n_kinds}.")

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def is_sampled(self) -> bool:
        return False

    @property
    def chains(self) -> Self:
        return self

    @property
    def unpriced(self) -> Chains:
        return self

    @cached_property
    def lengths(self) -> IntArray:
        return np.diff(self.offsets)

    @property
    def first(self) -> IntArray:
        """The first position of every sequence."""
        return self.offsets[:-1]

    @property
    def last(self) -> IntArray:
        """The last position of every sequence."""
        return self.offsets[1:] - 1

    @cached_property
    def second(self) -> IntArray:
        """The positions that an edge leads to: all but the first of every sequence."""
        inner = np.ones(len(self.kind), dtype=np.bool_)
        inner[self.first] = False
        return np.flatnonzero(inner)

    def spread(self, values: npt.NDArray[Scalar]) -> npt.NDArray[Scalar]:
        """One value per sequence → one per position."""
        return np.repeat(values, self.lengths, axis=0)

    def positions(self, sequences: IntArray) -> IntArray:
        """The positions of these sequences, in their order."""
        lengths = self.lengths[sequences]
        ends = np.cumsum(lengths)
        moved = np.repeat(self.first[sequences] - (ends - lengths), lengths)
        moved += np.arange(len(moved), dtype=np.intp)
        return moved

    def take(self, sequences: IntArray) -> Self:
        """These sequences alone, in this order. Kinds of edge keep their numbers."""
        offsets = np.concatenate([[0], np.cumsum(self.lengths[sequences])]).astype(np.intp)
        return replace(self, offsets=offsets, kind=self.kind[self.positions(sequences)])

    def narrow(self, sequences: IntArray) -> tuple[Self, IntArray]:
        """``take`` with the kinds of edge that occur there alone (at least one), and which kinds these are: in the
        order in which they occur, so that the result does not depend on how others were numbered."""
        few = self.take(sequences)
        kinds, at, number = np.unique(few.kind[few.second], return_index=True, return_inverse=True)
        kind, order = np.zeros(len(few.kind), dtype=np.int32), np.argsort(at)
        kind[few.second] = np.argsort(order)[number.ravel()]
        kinds = kinds[order] if len(kinds) else np.zeros(1, dtype=np.int32)
        return replace(few, kind=kind, n_kinds=len(kinds)), kinds.astype(np.intp)

    def edge_zeros(self, n_labels: int) -> FloatArray:
        """A table of zeros [K, L, L]."""
        return np.zeros((self.n_kinds, n_labels, n_labels))

    def count_pairs(self, labels: IntArray, weight: FloatArray, n_labels: int) -> FloatArray:
        """[K, L, L]: Σ weight[t] over edges into t of kind k whose labels are i and j; ``weight``: one per position."""
        second = self.second
        cell = (self.kind[second] * n_labels + labels[second - 1]) * n_labels + labels[second]
        sums = np.bincount(cell, weights=weight[second], minlength=self.n_kinds * n_labels**2)
        return np.asarray(sums, dtype=np.float64).reshape(self.n_kinds, n_labels, n_labels)

    def weigh_kinds(self, weight: FloatArray) -> FloatArray:
        """The weighted number of edges of each kind; ``weight``: one per sequence."""
        on_edges = self.spread(weight)
        on_edges[self.first] = 0.0
        return np.asarray(np.bincount(self.kind, weights=on_edges, minlength=self.n_kinds), dtype=np.float64)

    def infer(
        self,
        potentials: Potentials,
        workers: Workers | None = None,
        *,
        weight: FloatArray | None = None,
        overwrite: bool = False,
    ) -> Marginals:
        """log Z of every sequence, marginals of nodes, and the sums of edge marginals over weighted sequences.

        ``overwrite``: node marginals may overwrite the potentials. A sequence
        without any possible labelling has log Z = −inf and marginals 0.
        """
        node, edge = self.checked(potentials, overwrite=overwrite)
        log_z, grouping = np.empty(len(self)), self.grouping(node.shape[1])
        weights = np.ones(len(self)) if weight is None else np.ascontiguousarray(weight, dtype=np.float64)
        edges = np.empty((len(grouping.cuts) - 1, *edge.shape))
        what = (node, edge, log_z, weights, self.offsets, self.kind, self.by_kind, grouping.cuts, edges)

        def run(a: int, b: int) -> None:
            if grouping.is_grouped:  # two kernels, as the one for groups takes long to compile
                kernels.chunks.infer_groups(*what, grouping.groups, grouping.members, a, b)
            else:
                kernels.chunks.infer_chunks(*what, a, b)

        (workers or Workers()).run(run, grouping.work, each=0.27 * node.shape[1])
        return Marginals(log_z, node, kernels.chunks.add_up(edges))

    def estimate(
        self,
        potentials: Potentials,
        n_steps: int,
        seed: int,
        workers: Workers | None = None,
        *,
        weight: FloatArray | None = None,
    ) -> Marginals:
        """``infer``; priced chains may take ``n_steps`` steps of a sampler instead."""
        return self.infer(potentials, workers, weight=weight)

    def best(self, potentials: Potentials, workers: Workers | None = None) -> tuple[IntArray, FloatArray]:
        """The most probable labelling (Viterbi), one label per position, and its score, the sum of its potentials,
        one per sequence. Where no labelling is possible: −1 and −inf."""
        from tiltfit.kernels.decode import best_labels

        node, edge = self.checked(potentials)
        labels, score = np.empty(len(node), dtype=np.intp), np.empty(len(self))

        def run(a: int, b: int) -> None:
            best_labels(node, edge, self.offsets, self.kind, labels, score, a, b)

        (workers or Workers()).run(run, self.offsets, each=node.shape[1] ** 2)
        return labels, score

    def k_best(self, potentials: Potentials, k: int, workers: Workers | None = None) -> tuple[IntArray, FloatArray]:
        """The k most probable labellings, best first: labels [k, N] and scores [n, k]. Where a sequence has fewer
        labellings that are possible: −1 and −inf."""
        from tiltfit.kernels.decode import k_best_labels

        node, edge = self.checked(potentials)
        labels, score = np.empty((k, len(node)), dtype=np.intp), np.empty((len(self), k))

        def run(a: int, b: int) -> None:
            k_best_labels(node, edge, self.offsets, self.kind, labels, score, a, b)

        (workers or Workers()).run(run, self.offsets, each=node.shape[1] ** 2)
        return labels, score

    def score(self, potentials: Potentials, labels: IntArray) -> FloatArray:
        """The sum of potentials of these labels (one per position), for every sequence."""
        node, edge = self.checked(potentials)
        terms, second = node[np.arange(len(labels)), labels], self.second
        terms[second] += edge[self.kind[second], labels[second - 1], labels[second]]
        return np.asarray(np.add.reduceat(terms, self.first), dtype=np.float64)

    def entropy(self, potentials: Potentials, workers: Workers | None = None) -> FloatArray:
        """−Σ_y p(y) log p(y) of every sequence, over all its labellings; 0 where none is possible."""
        from tiltfit.kernels.chain import edge_tables
        from tiltfit.kernels.log_chain import chain_entropy

        node, edge = self.checked(potentials)
        entropy, table = np.empty(len(self)), edge_tables(edge).log

        def run(a: int, b: int) -> None:
            chain_entropy(node, self.offsets, self.kind, table, entropy, a, b)

        (workers or Workers()).run(run, self.offsets, each=node.shape[1] ** 2)
        return entropy

    def sample(self, potentials: Potentials, n_samples: int, seed: int, workers: Workers | None = None) -> IntArray:
        """Labellings drawn from p, [n_samples, N]; −1 where none is possible. A sequence's draws depend on the seed
        and on its number alone."""
        from tiltfit.kernels.chain import edge_tables
        from tiltfit.kernels.sample import sample_labels

        node, edge = self.checked(potentials)
        labels, tables = np.empty((n_samples, len(node)), dtype=np.intp), edge_tables(edge)
        start = np.uint64(seed % 2**64)

        def run(a: int, b: int) -> None:
            sample_labels(node, self.offsets, self.kind, tables, start, labels, a, b)

        (workers or Workers()).run(run, self.offsets, each=node.shape[1] ** 2)
        return labels

    def impossible(self, potentials: Potentials, workers: Workers | None = None) -> IntArray:
        """The numbers of the sequences that certainly have no possible labels."""
        return np.flatnonzero(self.best(potentials, workers)[1] == -np.inf)

    def tangent(self, potentials: Potentials, workers: Workers, weight: FloatArray) -> ChainTangent:
        """The derivatives of marginals by the potentials; ``weight``: one per sequence."""
        from tiltfit.inference.tangent import ChainTangent

        return ChainTangent(self, potentials, workers, weight)

    def cuts(self, n_labels: int) -> IntArray:
        """Bounds of chunks of sequences, for kernels that take one sequence after the other."""
        return edge_chunks(self.offsets, self.n_kinds, n_labels)

    def grouping(self, n_labels: int) -> Grouping:
        """Groups of sequences, and chunks of groups."""
        if n_labels not in self._groupings:
            self._groupings[n_labels] = grouped(self.lengths, self.n_kinds, n_labels)
        return self._groupings[n_labels]

    @cached_property
    def _groupings(self) -> dict[int, Grouping]:
        """Those that were needed so far, by the number of labels."""
        return {}

    @cached_property
    def by_kind(self) -> npt.NDArray[np.int32]:
        """The edges of every sequence by kind: at offsets[s] + 1 … offsets[s+1] − 1, each as its distance from
        offsets[s]."""
        start = self.spread(self.first)
        steps = (np.arange(len(self.kind)) - start).astype(np.int32)
        if self.n_kinds <= 1:
            return steps
        key = start * self.n_kinds + self.kind
        key[self.first] = self.first * self.n_kinds - 1  # before all edges of its sequence
        return steps[np.argsort(key, kind="stable")]

    def checked(self, potentials: Potentials, *, overwrite: bool = True) -> tuple[FloatArray, FloatArray]:
        """Node and edge potentials as kernels take them. ``overwrite``: no copy where none is needed."""
        node, edge = potentials.node, potentials.edge
        n_labels = node.shape[1]
        if edge is None:
            edge = self.edge_zeros(n_labels)
        if len(node) != self.offsets[-1] or edge.shape != (self.n_kinds, n_labels, n_labels):
            raise DataError(
                f"Potentials of shape {node.shape} and {edge.shape} do not fit {self.offsets[-1]} positions"
                f" and {self.n_kinds} kinds of edge."
            )
        copy = None if overwrite else True
        return np.array(node, dtype=np.float64, order="C", copy=copy), np.ascontiguousarray(edge, dtype=np.float64)


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
