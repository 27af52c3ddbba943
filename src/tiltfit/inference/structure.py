"""The interface that documents and sequences share: how the positions of a dataset hang together.

A dataset of n instances has N positions, numbered in the order of the instances. ``independent.Independent`` has one
position per instance, ``chain.Chains`` a sequence of them with an edge between neighbours, ``priced.PricedChains`` also
statistics of whole sequences. Callers need not ask which: without edges, ``second`` is empty and tables of edges are
None.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from tiltfit.arrays import FloatArray, IntArray
from tiltfit.execution.workers import Workers
from tiltfit.inference.potentials import Marginals, Potentials

if TYPE_CHECKING:
    from tiltfit.inference.chain import Chains
    from tiltfit.inference.tangent import Tangent


class Structure(Protocol):
    """Instances and their positions, with exact or sampled inference over their labels."""

    @property
    def has_edges(self) -> bool:
        """True if instances are sequences, with edges between neighbours."""
        ...

    @property
    def is_sampled(self) -> bool:
        """True if marginals come from a sampler, and log Z is not known."""
        ...

    @property
    def chains(self) -> Chains | None:
        """The structure itself if it has edges, else None."""
        ...

    @property
    def unpriced(self) -> Structure:
        """The same positions and edges without statistics of whole sequences."""
        ...

    @property
    def n_kinds(self) -> int:
        """The number of kinds of edges; 0 without edges."""
        ...

    @property
    def kind(self) -> npt.NDArray[np.int32]:
        """The kind of the edge into each position; meaningless at first positions."""
        ...

    @property
    def first(self) -> IntArray:
        """The first position of every instance."""
        ...

    @property
    def last(self) -> IntArray:
        """The last position of every instance."""
        ...

    @property
    def second(self) -> IntArray:
        """The positions that an edge leads to, in ascending order."""
        ...

    def __len__(self) -> int: ...
    def spread(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """One value per instance → one per position."""
        ...

    def positions(self, instances: IntArray) -> IntArray:
        """The positions of these instances, in their order."""
        ...

    def take(self, instances: IntArray) -> Structure:
        """These instances only, in this order."""
        ...

    def narrow(self, instances: IntArray) -> tuple[Structure, IntArray]:
        """``take``, and the kinds of edges that are kept, in their new order; empty without edges."""
        ...

    def edge_zeros(self, n_labels: int) -> FloatArray | None:
        """A table of zeros [K, L, L]; None without edges."""
        ...

    def count_pairs(self, labels: IntArray, weight: FloatArray, n_labels: int) -> FloatArray | None:
        """[K, L, L]: how often each pair of labels occurs on edges of each kind; None without edges.

        ``weight``: one per position, the weight of the edge into it.
        """
        ...

    def weigh_kinds(self, weight: FloatArray) -> FloatArray:
        """The weighted number of edges of each kind; ``weight``: one per instance."""
        ...

    def infer(
        self,
        potentials: Potentials,
        workers: Workers | None = None,
        *,
        weight: FloatArray | None = None,
        overwrite: bool = False,
    ) -> Marginals:
        """log Z and marginals; ``overwrite``: potentials may be overwritten."""
        ...

    def estimate(
        self,
        potentials: Potentials,
        n_steps: int,
        seed: int,
        workers: Workers | None = None,
        *,
        weight: FloatArray | None = None,
    ) -> Marginals:
        """``infer``; a sampler takes ``n_steps`` steps after as many of burn-in, from this seed."""
        ...

    def best(self, potentials: Potentials, workers: Workers | None = None) -> tuple[IntArray, FloatArray]:
        """The best labels, one per position, and their score, one per instance."""
        ...

    def k_best(self, potentials: Potentials, k: int, workers: Workers | None = None) -> tuple[IntArray, FloatArray]:
        """The k best labellings [k, N] and their scores [n, k]; −1 and −inf where there are fewer."""
        ...

    def impossible(self, potentials: Potentials, workers: Workers | None = None) -> IntArray:
        """The numbers of the instances that certainly have no possible labels."""
        ...

    def tangent(self, potentials: Potentials, workers: Workers, weight: FloatArray) -> Tangent:
        """The derivatives of marginals by the potentials; ``weight``: one per instance."""
        ...
