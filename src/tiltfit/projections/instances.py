"""Rows that are about one position each: their prices are found position by position, inside the information
projection.

    min_q  Σ_j w_j D(q_j ‖ p_j) + U(m(q)) + Σ_r V_r(q_{i(r)}(E_r))

For fixed shared prices the second sum falls apart into one tiny problem per position (``kernels.instances``), all
solved in one parallel pass. What remains is a concave function of the shared prices alone, whose gradient at the
inner optimum is the ordinary one (envelope theorem).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tiltfit.arrays import FloatArray, IntArray
from tiltfit.execution.workers import Workers
from tiltfit.features.products import between
from tiltfit.inference.independent import Independent, infer
from tiltfit.inference.potentials import Marginals, Potentials
from tiltfit.inference.structure import Structure
from tiltfit.penalties.penalty import Penalty


@dataclass(frozen=True, eq=False)
class InstanceRows:
    """Row r is about ``position[r]`` and of the labels ``events[event[r]]`` (0/1); ``support[r]`` is that position's
    weight. ``block[r]`` numbers the distribution over all labels that the row is part of (−1: none). ``n`` is the
    number of positions.
    """

    n: int
    position: IntArray
    event: IntArray
    events: FloatArray
    block: IntArray
    penalty: Penalty
    support: FloatArray

    def __len__(self) -> int:
        return len(self.event)

    def solve(
        self, potentials: Potentials, start: FloatArray, cap: float, workers: Workers, tol: float = 0.0
    ) -> tuple[Marginals, FloatArray, FloatArray, bool]:
        """q at every position, the prices that give it, the share of every row, and whether all positions converged.

        They are exact to rounding, so that ``tol`` has no effect.
        """
        from tiltfit.kernels.instances import solve_positions

        node = np.array(potentials.node, dtype=np.float64, order="C")
        log_z, share, prices = np.empty(len(node)), np.empty(len(self)), start.copy()
        solved = np.ones(len(node), dtype=np.bool_)
        indptr, order, kind, parameters = self._layout

        def run(a: int, b: int) -> None:
            solve_positions(
                node, log_z, share, prices, solved, indptr, order, self.event, self.events, self.block, kind,
                parameters, self.support, cap, a, b,
            )  # fmt: skip

        workers.run(run, (indptr + np.arange(self.n + 1)) * self.events.shape[1])
        return Marginals(log_z, node), prices, share, bool(solved.all())

    def take(self, instances: IntArray, structure: object = None) -> tuple[InstanceRows, IntArray]:
        """The rows of these positions alone, which are numbered in this order, and which rows these are. O(rows there),
        once they are sorted."""
        indptr, order, _, _ = self._layout
        where, counts = between(indptr, instances)
        kept = order[where]
        rows = InstanceRows(
            n=len(instances),
            position=np.repeat(np.arange(len(instances)), counts),
            event=self.event[kept],
            events=self.events,
            block=self.block[kept],
            penalty=self.penalty.take(kept),
            support=self.support[kept],
        )
        return rows, kept

    def eta(self, prices: FloatArray) -> FloatArray:
        """η = −c·ν, kept inside the dual bounds, where rounding may have carried it one unit too far."""
        return np.clip(-self.support * prices, *self.penalty.dual_bounds())

    def shares(self, potentials: Potentials, workers: Workers) -> FloatArray:
        """The share of every row's event without any price."""
        node = infer(potentials, workers).node
        return np.asarray(np.einsum("ry,ry->r", node[self.position], self.events[self.event]))

    def tilted(self, potentials: Potentials, prices: FloatArray) -> tuple[Structure, Potentials]:
        """Potentials with what the prices of single positions add to them."""
        node = potentials.node.copy()
        np.add.at(node, self.position, prices[:, None] * self.events[self.event])
        return Independent(self.n), Potentials(node)

    @cached_property
    def _layout(self) -> tuple[IntArray, IntArray, IntArray, FloatArray]:
        """As the kernel takes it: rows by position (``indptr``, ``order``), and their penalties as numbers."""
        kind, parameters = self.penalty.instance_form()
        counts = np.bincount(self.position, minlength=self.n)
        indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.intp)
        order = np.argsort(self.position, kind="stable").astype(np.intp)
        return indptr, order, kind, np.ascontiguousarray(parameters)
