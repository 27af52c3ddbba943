"""Label sequences with priced statistics of the whole sequence.

    q(y | x_s) ∝ exp(Σ_t node[t, y_t] + Σ_t edge[kind[t], y_{t−1}, y_t] + Σ_k whole[s, k]·g_k(y))

``WholeChains`` infers exactly, by dynamic programming over what statistics must remember, or by Markov chains, and
finds the best label sequences. All of them take:

    potentials   ``Potentials(node[N, L], edge[K, L, L])``, as ``Chains`` take them
    whole        prices of the S statistics, [S] for all sequences or [n, S] for each: what one more of g_k adds to the
                 score, so that a price below 0 makes it rarer. −inf forbids g_k > 0; to forbid g_k above another value,
                 price ``bounds.excess(statistic, value)`` so
    workers      threads; results are the same bits on any number of them
    weight       what sequences count in ``edge`` and ``totals``, [n]; 1 each if None
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from tiltfit.arrays import FloatArray, IntArray
from tiltfit.errors import DataError, UnsupportedError
from tiltfit.execution.workers import Workers
from tiltfit.inference.chain import Chains
from tiltfit.inference.potentials import Potentials
from tiltfit.inference.python_statistics import Steps, best_plain, sample_plain
from tiltfit.inference.segmental import Segmental, pack
from tiltfit.inference.statistic import Statistic

if TYPE_CHECKING:
    from tiltfit.kernels.form import Form
    from tiltfit.kernels.memory import Memory

_CHUNKS = 32  # so many sums over sequences at most
_CHUNK = 8192  # positions in a chunk, at least: kernels are called once per chunk and step
_ROOM = 1 << 22  # approximate number of entries in all sums of edges together
MAX_ROWS = 400_000  # of dynamic programming
_STEP = 40.0  # operations of ``cost`` in the time of a step of the sampler, by position and label


@dataclass(frozen=True, eq=False)
class SamplerState:
    """The state of the Markov chains of n sequences: a value that can be kept, saved, and continued from.

    ``labels[N]``: one label per position, all −1 in a sequence whose chain has not begun. ``seed`` and ``round``, the
    number of calls so far, say which random numbers come next: each sequence has its own stream of them, by its number.
    """

    labels: npt.NDArray[np.int16]
    seed: int = 0
    round: int = 0

    def stream(self) -> int:
        """The seed of the next call."""
        return int(np.random.SeedSequence([self.seed % 2**64, self.round]).generate_state(1, np.uint64)[0])

    def after(self, labels: npt.NDArray[np.int16]) -> SamplerState:
        """The state after a call."""
        return SamplerState(labels, self.seed, self.round + 1)

    def fitting(self, chains: Chains, n_labels: int) -> npt.NDArray[np.int16]:
        """A copy of the labels; those that are not labels become −1."""
        n = int(chains.offsets[-1])
        if np.shape(self.labels) != (n,) or not np.issubdtype(self.labels.dtype, np.integer):
            raise DataError(f"The labels of a state must be integers, one per position, {n} in all: see start().")
        known = (self.labels >= 0) & (self.labels < n_labels)
        return np.ascontiguousarray(np.where(known, self.labels, -1), dtype=np.int16)


@dataclass(frozen=True, eq=False)
class WholeMarginals:
    """Expectations under q of n sequences with N positions, K kinds of edge, L labels and S statistics.

    ``log_z[n]``: exact; NaN where q was sampled; −inf where no labelling is possible, and expectations are 0 then.
    ``node[N, L]``: P(y_t = j).
    ``edge[K, L, L]``: how often each pair of labels is expected on edges of each kind, Σ over weighted sequences.
    ``whole[n, S]``: E[g_k] of every sequence, not weighted.
    ``refused``: the numbers of sequences without an answer; their node, whole and log_z are NaN, and no sum has them.
    ``totals[m, S]``: Σ_s weight_s·g_k after each of m steps of the sampler, for ``diagnostics``; sequences inferred
    exactly are in it by their means. m = 0 if none was sampled.
    ``accepted[n]``: the share of proposals that were accepted; NaN where q is exact.
    ``state``: where the sampler is now; None if there is none.
    """

    log_z: FloatArray
    node: FloatArray
    edge: FloatArray
    whole: FloatArray
    refused: IntArray
    totals: FloatArray
    accepted: FloatArray
    state: SamplerState | None = None


class Best(NamedTuple):
    """The best label sequences, ``labels[N]`` (−1 where none was found).

    ``scores[n]``: their potentials and priced statistics added up (−inf where none was found).
    ``proven[n]``: True where it is certain that there is no better one.
    """

    labels: IntArray
    scores: FloatArray
    proven: npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class WholeChains:
    """Chains with S statistics, at least one. Segmental statistics must be of the same fields.

    >>> from tiltfit.inference.fields import Fields
    >>> from tiltfit.inference.statistics import repeats
    >>> chains = Chains(np.array([0, 3]), np.zeros(3, dtype=np.int32), n_kinds=1)
    >>> whole = WholeChains(chains, (repeats(Fields.plain("ab")),))
    >>> flat = Potentials(np.zeros((3, 2)))
    >>> got = whole.exact(flat, np.array([-np.inf]))  # of the 8 labellings, aba and bab repeat a field
    >>> float(np.exp(got.log_z[0]).round(9)), got.edge.round(3).tolist()
    (6.0, [[[0.667, 0.333], [0.333, 0.667]]])
    """

    chains: Chains
    statistics: tuple[Statistic, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "statistics", tuple(self.statistics))
        if not self.statistics:
            raise DataError("There are no whole-sequence statistics; Chains alone do without.")
        if any(known.fields != self._segmental[0].fields for known in self._segmental):
            raise DataError("Statistics of one set of sequences must be of the same fields.")

    def start(self, seed: int = 0) -> SamplerState:
        """The sampler's state before its first step."""
        return SamplerState(np.full(self.chains.offsets[-1], -1, dtype=np.int16), seed)

    def take(self, sequences: IntArray) -> WholeChains:
        """These sequences alone, in this order."""
        return WholeChains(self.chains.take(sequences), self.statistics)

    @cached_property
    def form(self) -> Form | None:
        """The statistics as kernels take them; None if there is one that only Python knows."""
        return pack(self._segmental) if len(self._segmental) == len(self.statistics) else None

    def cost(self) -> FloatArray:
        """About how many operations ``exact`` takes per sequence if it can drop nothing; inf where it cannot be used.

        Σ_t (what can be remembered after t labels, of which there are no more than L^t lists)·L²·4, and four times that
        if it is too much to be laid out in advance. Then what is unlikely is dropped, so it is often far less.
        """
        from tiltfit.kernels.form import memories
        from tiltfit.kernels.whole_few import MOST

        if self.form is None or self._memory is None:
            return np.full(len(self.chains), np.inf)
        lengths, n_labels = self.chains.lengths, len(self.form.field) - 1
        with np.errstate(over="ignore"):
            lists = float(n_labels) ** np.arange(1, int(lengths.max()) + 1)
        remembered = memories(self.form, int(lengths.max()))
        rows, each = np.minimum(remembered, lists), 4.0 if remembered[-1] <= MOST else 16.0
        return np.asarray(each * n_labels**2 * np.cumsum(rows)[lengths - 1])

    def affordable(self, n_steps: int) -> bool:
        """True if exact inference costs at most as much as so many steps of the sampler, for every sequence."""
        if self.form is None:
            return False
        n_labels = len(self.form.field) - 1
        return bool(np.all(self.cost() <= _STEP * n_steps * n_labels * self.chains.lengths))

    def exact(
        self,
        potentials: Potentials,
        whole: FloatArray,
        workers: Workers | None = None,
        *,
        weight: FloatArray | None = None,
        tol: float = 1e-9,
        max_rows: int = MAX_ROWS,
    ) -> WholeMarginals:
        """By dynamic programming: every probability is off by at most ``tol``, a mean by tol times its range.

        Where little must be remembered (up to 64 different things: six fields that may not repeat), nothing is dropped.
        Refused are sequences for which more than ``max_rows`` rows were needed in spite of dropping what is unlikely
        (a row: what is remembered at one position; 400,000 of 13 labels are 120 MB a worker), and all of them if some
        statistic is not segmental.
        """
        from tiltfit.kernels.chain import edge_tables
        from tiltfit.kernels.memory import new_gains
        from tiltfit.kernels.whole import infer_whole, new_memory_room
        from tiltfit.kernels.whole_few import infer_all, new_few, new_plan

        node, edge = self.chains.checked(potentials)
        prices, weights, n = self._rows(whole, node.shape[1]), self._weights(weight), len(self.chains)
        log_z, means, marginals = np.full(n, np.nan), np.zeros((n, len(self.statistics))), np.zeros_like(node)
        form, memory, costs = self.form, self._memory, self.cost()
        edges = np.zeros_like(edge)
        if form is not None and memory is not None:
            work = np.concatenate([[0.0], np.cumsum(costs / costs.max())])
            cuts = np.unique(np.searchsorted(work, np.linspace(0.0, work[-1], _CHUNKS + 1)))
            plan = new_plan(form, memory)
            tables, sums = edge_tables(edge), np.zeros((len(cuts) - 1, *edge.shape))

            def run(a: int, b: int) -> None:
                longest, gains = int(self.chains.lengths[cuts[a] : cuts[b]].max()), new_gains(form)
                few = new_few(plan, memory, tables, longest, max_rows)
                for c in range(a, b) if len(plan.code) else ():
                    infer_all(
                        node, self.chains.offsets, self.chains.kind, tables, form, memory, prices, weights, gains, few,
                        log_z, marginals, sums[c], means, cuts[c], cuts[c + 1],
                    )  # fmt: skip
                if not np.any(np.isnan(log_z[cuts[a] : cuts[b]])):
                    return
                room = new_memory_room(form, memory, longest, max_rows)
                for c in range(a, b):
                    infer_whole(
                        node, self.chains.offsets, self.chains.kind, tables.log, form, memory, prices, weights, tol,
                        room, log_z, marginals, sums[c], means, cuts[c], cuts[c + 1],
                    )  # fmt: skip

            (workers or Workers()).run(run, (1e6 * work[cuts]).astype(np.int64))
            edges = sums.sum(axis=0)
        log_z = self._with_possible(log_z, potentials, prices, workers)
        refused = np.flatnonzero(np.isnan(log_z))
        marginals[self.chains.positions(refused)], means[refused] = np.nan, np.nan
        return WholeMarginals(
            log_z, marginals, edges, means, refused, np.empty((0, len(self.statistics))), np.full(n, np.nan)
        )

    def _with_possible(
        self, log_z: FloatArray, potentials: Potentials, prices: FloatArray, workers: Workers | None
    ) -> FloatArray:
        """NaN where no mass was left only because numbers have an end: there are possible labels after all."""
        empty = np.flatnonzero(log_z == -np.inf)
        if len(empty) == 0:
            return log_z
        part = Potentials(potentials.node[self.chains.positions(empty)], potentials.edge)
        best = self.take(empty).best(part, prices if len(prices) == 1 else prices[empty], workers)
        answer = log_z.copy()
        answer[empty[(best.scores > -np.inf) | ~best.proven]] = np.nan
        return answer

    def best(
        self, potentials: Potentials, whole: FloatArray, workers: Workers | None = None, *, max_rows: int = MAX_ROWS
    ) -> Best:
        """The best label sequences, statistics at their prices; −inf forbids what counts above 0.

        A beam search first; where it cannot prove that it found the best, wider ones up to ``max_rows`` rows, dropping
        only what cannot beat it. With statistics that are not segmental: the best of the chain's best
        (``python_statistics``).
        """
        from tiltfit.kernels.chain import edge_tables
        from tiltfit.kernels.whole_best import best_whole, new_search_room

        node, edge = self.chains.checked(potentials)
        prices, form, memory = self._rows(whole, node.shape[1]), self.form, self._memory
        if form is None or memory is None:
            return Best(*best_plain(self.chains, self.statistics, potentials, prices, workers))
        labels, scores = np.empty(len(node), dtype=np.intp), np.empty(len(self.chains))
        proven, tables = np.zeros(len(self.chains), dtype=np.bool_), edge_tables(edge)

        def run(a: int, b: int) -> None:
            room = new_search_room(form, memory, int(self.chains.lengths[a:b].max()), max_rows)
            best_whole(
                node, self.chains.offsets, self.chains.kind, tables.log, form, memory, prices, room, labels, scores,
                proven, a, b,
            )  # fmt: skip

        (workers or Workers()).run(run, self.chains.offsets)
        return Best(labels, scores, proven)

    @cached_property
    def _memory(self) -> Memory | None:
        """None if what statistics must remember does not fit into a number."""
        from tiltfit.kernels.memory import new_memory

        try:
            return None if self.form is None else new_memory(self.form)
        except OverflowError:
            return None

    def sample(
        self,
        potentials: Potentials,
        whole: FloatArray,
        state: SamplerState,
        n_steps: int,
        workers: Workers | None = None,
        *,
        weight: FloatArray | None = None,
        burn_in: int = 0,
    ) -> WholeMarginals:
        """Means over ``n_steps`` steps of one Markov chain per sequence, after ``burn_in`` more that are not counted.

        A step is a proposal of all labels and a Gibbs pass over them. Chains go on from ``state``, whose labels are
        drawn anew where they have become impossible; the answer's ``state`` is where they end, and the one given is
        left as it is. Refused are sequences for which no labels were found that no statistic forbids. For a trace by
        sequence, take steps one by one. O(n_steps·N·L + N·L²); slow if a statistic is not segmental.
        """
        from tiltfit.kernels.gibbs import open_tables
        from tiltfit.kernels.mixture import NOT_FOUND, Outcome, Problem, sample_chunk
        from tiltfit.kernels.propose import IMPOSSIBLE

        node, edge = self.chains.checked(potentials)
        prices, weights = self._rows(whole, node.shape[1]), self._weights(weight)
        labels = self._begin(state, node.shape[1], n_steps, burn_in)
        if self.form is None:
            steps = sample_plain(
                self.chains, self.statistics, potentials, prices, labels, n_steps, state.stream(), weights, burn_in
            )
            return _summary(self.chains, steps, state.after(labels))
        tables, (n, n_statistics) = open_tables(edge), (len(self.chains), len(self.statistics))
        cuts = self._cuts(tables.factor.size)
        outcome = Outcome(
            np.zeros_like(node), np.zeros((n, n_statistics)), np.zeros((len(cuts) - 1, *tables.factor.shape)),
            np.zeros((len(cuts) - 1, n_steps, n_statistics)), np.zeros(n), np.zeros(n, dtype=np.int8),
        )  # fmt: skip
        seed = np.uint64(state.stream())
        problem = Problem(node, self.chains.offsets, self.chains.kind, tables, self.form, prices, weights)

        def run(a: int, b: int) -> None:
            for c in range(a, b):
                sample_chunk(problem, seed, burn_in, labels, outcome, c, int(cuts[c]), int(cuts[c + 1]))

        (workers or Workers()).run(run, self.chains.offsets[cuts])
        n_kinds, n_labels = edge.shape[:2]
        edges = np.ascontiguousarray(outcome.edge.sum(axis=0)[:n_kinds, :n_labels, :n_labels])
        steps = Steps(
            outcome.node, edges, outcome.whole, outcome.totals.sum(axis=0), outcome.accepted,
            outcome.status != IMPOSSIBLE, outcome.status != NOT_FOUND,
        )  # fmt: skip
        return _summary(self.chains, steps, state.after(labels))

    def _rows(self, whole: FloatArray, n_labels: int) -> FloatArray:
        """Prices [S] or [n, S], checked, as [1, S] or [n, S]; statistics must be of as many labels as potentials."""
        n, prices = len(self.chains), np.atleast_2d(np.ascontiguousarray(whole, dtype=np.float64))
        if prices.shape not in {(1, len(self.statistics)), (n, len(self.statistics))}:
            raise DataError(
                f"Prices of shape {np.shape(whole)} do not fit {n} sequences and {len(self.statistics)} statistics: one"
                " row for all, or one for each."
            )
        if np.any(np.isnan(prices)) or np.any(prices == np.inf):
            raise DataError("Prices of statistics must be numbers or −inf, which forbids what counts above 0.")
        for k in np.flatnonzero(np.any(prices == -np.inf, axis=0)).tolist():
            if self.statistics[k].may_be_negative:
                raise UnsupportedError(
                    f'A price of −inf forbids what counts above 0, but the statistic "{self.statistics[k].name}" may be'
                    " below: give it a finite price, or forbid its excess (bounds.excess)."
                )
        for known in self._segmental:
            if known.fields.n_labels != n_labels:
                raise DataError(f"The statistics are of {known.fields.n_labels} labels, the potentials of {n_labels}.")
        return prices

    def _weights(self, weight: FloatArray | None) -> FloatArray:
        """The weights of sequences, checked, [n]; 1 each if None."""
        n = len(self.chains)
        if weight is None:
            return np.ones(n)
        weights = np.ascontiguousarray(weight, dtype=np.float64)
        if weights.shape != (n,) or not np.all(np.isfinite(weights)):
            raise DataError(f"Weights must be {n} finite numbers, one per sequence; these have shape {weights.shape}.")
        return weights

    @cached_property
    def _segmental(self) -> list[Segmental]:
        """The statistics that kernels know."""
        return [s.segmental for s in self.statistics if s.segmental is not None]

    def _begin(self, state: SamplerState, n_labels: int, n_steps: int, burn_in: int) -> npt.NDArray[np.int16]:
        if n_labels > np.iinfo(np.int16).max:
            raise UnsupportedError(f"The sampler takes up to {np.iinfo(np.int16).max} labels; there are {n_labels}.")
        if n_steps < 1 or burn_in < 0:
            raise DataError(f"The sampler takes one step or more and no negative burn-in, not {n_steps} and {burn_in}.")
        return state.fitting(self.chains, n_labels)

    def _cuts(self, table_size: int) -> IntArray:
        """Bounds of chunks of sequences, by the data alone."""
        offsets = self.chains.offsets
        chunks = max(1, min(_CHUNKS, _ROOM // max(1, table_size), int(offsets[-1]) // _CHUNK))
        goals = np.linspace(0, offsets[-1], chunks + 1)[1:-1]
        return np.unique(np.concatenate([[0], np.searchsorted(offsets, goals), [len(self.chains)]])).astype(np.intp)


def _summary(chains: Chains, steps: Steps, state: SamplerState) -> WholeMarginals:
    refused = np.flatnonzero(~steps.found)
    steps.node[chains.positions(refused)], steps.whole[refused] = np.nan, np.nan
    log_z = np.where(steps.possible, np.nan, -np.inf)
    return WholeMarginals(log_z, steps.node, steps.edge, steps.whole, refused, steps.totals, steps.accepted, state)
