"""Results of whole-sequence inference: expectations, the best label sequences, and where the sampler is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tiltfit.arrays import FloatArray, IntArray
from tiltfit.errors import DataError
from tiltfit.inference.chain import Chains


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
