"""The model's log-potentials of every label at every position, and what they are made of.

    table[t, y] = node[t, y] + edge[y_{t−1}, y] + edge[y, y_{t+1}]

with the labels of the other tokens as they are: differences of a row are log-odds given these labels. Of documents
there are no edges.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tiltfit.arrays import FloatArray, IntArray
from tiltfit.explain.view import View
from tiltfit.features.edges import PLAIN
from tiltfit.inference.potentials import Potentials
from tiltfit.inference.structure import Structure

Told = tuple[str, str, float]


@dataclass(frozen=True, eq=False)
class Scores:
    """``table`` at ``labels``; ``names``: of the attributes (None: they have none)."""

    view: View
    labels: IntArray
    table: FloatArray
    names: Sequence[str] | None

    @staticmethod
    def of(view: View, labels: IntArray) -> Scores:
        """The scores at these labels, one per position."""
        table = conditional(view.model.structure, view.potentials, labels)
        names = view.estimator.names_
        # A foreign vectorizer need not know what its columns are called.
        return Scores(view, labels, table, names if names is not None and len(names) else None)

    def parts(self, t: int, a: int, b: int) -> Iterator[Told]:
        """(kind, name, amount) of all that ``table[t, a] − table[t, b]`` is the sum of."""
        coef = self.view.estimator.coef_
        for column, value in self._attributes(t):
            name = f"x{column}" if self.names is None else str(self.names[column])
            yield "feature", name, float(value * (coef[a, column] - coef[b, column]))
        if not self.view.is_sequences:
            intercept = self.view.estimator.intercept_
            yield "intercept", "intercept", float(intercept[a] - intercept[b])
        yield from self._transitions(t, a, b)
        if self.view.model.base is not None:
            yield "base", "base", float(self._base[t, a] - self._base[t, b])

    def _attributes(self, t: int) -> Iterator[tuple[int, float]]:
        features: Any = self.view.model.features
        X: Any = features.nodes.X if self.view.is_sequences else features.X
        if isinstance(X, np.ndarray):
            columns = np.flatnonzero(X[t])
            yield from zip(columns.tolist(), X[t, columns].tolist(), strict=True)
        else:
            here = slice(X.indptr[t], X.indptr[t + 1])
            yield from zip(X.indices[here].tolist(), X.data[here].tolist(), strict=True)

    def _transitions(self, t: int, a: int, b: int) -> Iterator[Told]:
        """From the label before, and to the label after, by the attributes of the edge."""
        structure = self.view.model.structure
        if not structure.has_edges:
            return
        weights, classes = self.view.estimator.transitions_, self.view.classes
        s = self.view.sample.instance[t]
        if t > structure.first[s]:
            before = self.labels[t - 1]
            for k, value, of in self._edge(t):
                amount = value * (weights[k, before, a] - weights[k, before, b])
                yield "transition", f"after {classes[before]}{of}", float(amount)
        if t < structure.last[s]:
            after = self.labels[t + 1]
            for k, value, of in self._edge(t + 1):
                amount = value * (weights[k, a, after] - weights[k, b, after])
                yield "transition", f"before {classes[after]}{of}", float(amount)

    def _edge(self, t: int) -> Iterator[tuple[int, float, str]]:
        """The attributes of the edge that leads to t: number, value, and name."""
        features: Any = self.view.model.features
        chains = self.view.model.structure.chains
        assert chains is not None
        values = features.kinds[chains.kind[t]]
        names = self.view.estimator.transition_names_
        for k in np.flatnonzero(values).tolist():
            yield k, float(values[k]), "" if names[k] == PLAIN else f" ({names[k]})"

    @cached_property
    def _base(self) -> FloatArray:
        assert self.view.model.base is not None
        return conditional(self.view.model.structure, self.view.model.base, self.labels)


def conditional(structure: Structure, potentials: Potentials, labels: IntArray) -> FloatArray:
    """``table`` for these potentials."""
    table = potentials.node.copy()
    chains = structure.chains
    if potentials.edge is None or chains is None:
        return table
    inner = chains.second
    kind = chains.kind[inner]
    table[inner] += potentials.edge[kind, labels[inner - 1], :]
    table[inner - 1] += potentials.edge[kind, :, labels[inner]]
    return table
