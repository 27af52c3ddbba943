"""Model features of chains: those of positions, and f(y_{t−1}, y_t, x) on the edges between them.

    score(weights).edge[k, i, j] = Σ_a kinds[k, a]·T[a, i, j]
    expect(node, edge)[a, i, j]  = Σ_k kinds[k, a]·edge[k, i, j]

Edges with the same attributes are of one kind, so an attribute of edges costs no more than its table of weights. It is
the operator of ``attributes`` again, with kinds for positions and pairs of labels for labels.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from tiltfit.arrays import FloatArray, IntArray
from tiltfit.execution.workers import Workers
from tiltfit.features.attributes import AttributeFeatures
from tiltfit.features.beside import BesideFeatures
from tiltfit.features.observed import ObservedFeatures
from tiltfit.inference.potentials import Potentials


@dataclass(frozen=True, eq=False)
class ChainFeatures:
    """``nodes``: features of positions; ``kinds``: kinds of edges × attributes of edges.

    Weights are one flat vector: those of ``nodes``, then ``T`` (attributes × labels × labels).
    """

    nodes: AttributeFeatures | ObservedFeatures | BesideFeatures
    kinds: FloatArray

    @cached_property
    def workers(self) -> Workers:
        return self.nodes.workers

    @cached_property
    def n_labels(self) -> int:
        return self.nodes.n_labels

    @cached_property
    def n_weights(self) -> int:
        return int(self.nodes.n_weights + self.kinds.shape[1] * self.n_labels**2)

    def unpack(self, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Views: the weights of nodes (flat), and ``T[attributes, labels, labels]``."""
        n = self.nodes.n_weights
        return weights[:n], weights[n:].reshape(-1, self.n_labels, self.n_labels)

    def tables(self, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Weights as tables: attributes × labels, and attributes of edges × labels × labels."""
        of_nodes, transitions = self.unpack(weights)
        return self.nodes.table(of_nodes), transitions

    def flat(self, table: FloatArray, transitions: FloatArray) -> FloatArray:
        """The inverse of ``tables``."""
        return np.concatenate([self.nodes.flat(table), transitions.ravel()])

    def whole(self, weights: FloatArray) -> FloatArray:
        """Weights with those of columns that have none here (``OccupiedFeatures``, ``ObservedFeatures``) as zeros."""
        return np.concatenate([table.ravel() for table in self.tables(weights)])

    def own(self, whole: FloatArray) -> FloatArray:
        """The inverse of ``whole``."""
        n = len(whole) - self.kinds.shape[1] * self.n_labels**2
        return self.flat(whole[:n].reshape(-1, self.n_labels), whole[n:].reshape(-1, self.n_labels, self.n_labels))

    def score(self, weights: FloatArray) -> Potentials:
        """O(non-zeros·labels). ``edge`` may be the memory of the weights: not to be written to."""
        of_nodes, edge = self.unpack(weights)
        if not self._is_plain:
            edge = (self.kinds @ edge.reshape(len(edge), -1)).reshape(-1, self.n_labels, self.n_labels)
        return Potentials(self.nodes.score(of_nodes).node, edge)

    def expect(self, node: FloatArray, edge: FloatArray | None = None) -> FloatArray:
        """O(non-zeros·labels)."""
        assert edge is not None
        out = self.workers.buffers.empty(self.n_weights)
        of_nodes, transitions = self.unpack(out)
        self.nodes.expect(node, out=of_nodes)
        if self._is_plain:
            transitions[:] = edge
        else:
            transitions[:] = (self.kinds.T @ edge.reshape(len(edge), -1)).reshape(transitions.shape)
        return out

    @cached_property
    def _is_plain(self) -> bool:
        """True if kinds and attributes of edges are the same, so that there is nothing to sum."""
        return np.array_equal(self.kinds, np.eye(self.kinds.shape[1]))

    def merged(self) -> tuple[ChainFeatures, IntArray] | None:
        """One weight for attributes that occur at the same positions; see ``AttributeFeatures.merged``."""
        found = self.nodes.merged()
        if found is None:
            return None
        nodes, group = found
        transitions = nodes.n_weights // self.n_labels + np.arange(self.kinds.shape[1] * self.n_labels)
        return ChainFeatures(nodes, self.kinds), np.concatenate([group, transitions])

    def units(self) -> FloatArray | None:
        """The unit of every weight (``scaling``); None if no attribute has large values. Those of edges are 0 or 1."""
        found = self.nodes.units()
        return None if found is None else np.append(found, np.ones(self.n_weights - len(found)))

    def take(self, positions: npt.NDArray[np.intp]) -> ChainFeatures:
        """The same features at these positions only."""
        return ChainFeatures(self.nodes.take(positions), self.kinds)

    def narrow(self, positions: IntArray, kinds: IntArray) -> tuple[ChainFeatures, IntArray]:
        """The features at these positions and on these kinds of edges with the attributes of positions that occur there
        alone, and which rows of their table these are. Attributes of edges are few, and stay."""
        nodes, rows = self.nodes.narrow(positions)
        return ChainFeatures(nodes, self.kinds[kinds]), rows
