"""Scores as weights: p ∝ exp(s), so that the gradient of an objective by its weights is ω·(p − q) itself.

It is the model that stands for any other one: whatever makes the scores is trained with that gradient.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from tiltfit.arrays import FloatArray, IntArray
from tiltfit.inference.potentials import Potentials
from tiltfit.inference.structure import Structure
from tiltfit.models.model import Model


@dataclass(frozen=True, eq=False)
class Scores(Model):
    """p ∝ exp(s): the weights are the scores themselves, positions × labels, and then the transitions of chains.

    ``rows``: which of the ``n_all`` positions these are.
    """

    structure: Structure
    labels: int
    rows: IntArray
    n_all: int
    base: Potentials | None = None

    @property
    def n_labels(self) -> int:
        return self.labels

    @property
    def n_nodes(self) -> int:
        return self.n_all * self.labels

    @property
    def n_weights(self) -> int:
        return self.n_nodes + (self.labels**2 if self.structure.has_edges else 0)

    def potentials(self, weights: FloatArray) -> Potentials:
        node = weights[: self.n_nodes].reshape(-1, self.labels)[self.rows]
        if not self.structure.has_edges:
            return Potentials(node)
        return Potentials(node, weights[self.n_nodes :].reshape(1, self.labels, self.labels).copy())

    def pull(self, weights: FloatArray, node: FloatArray, edge: FloatArray | None = None) -> FloatArray:
        found = np.zeros(self.n_weights)
        found[: self.n_nodes].reshape(-1, self.labels)[self.rows] = node
        if edge is not None:
            found[self.n_nodes :] = edge.sum(axis=0).ravel()
        return found

    def take(self, instances: IntArray) -> Self:
        rows = self.rows[self.structure.positions(instances)]
        return replace(self, rows=rows, structure=self.structure.take(instances))

    @staticmethod
    def of(structure: Structure, n_labels: int) -> Scores:
        """Those of all positions of ``structure``."""
        n = int(structure.last[-1]) + 1 if len(structure) else 0
        return Scores(structure, n_labels, np.arange(n), n)
