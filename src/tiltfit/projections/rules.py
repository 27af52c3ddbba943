"""Statements that leave no choice: labels that hard 0/1 statements rule out, and what room that leaves others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tiltfit.errors import ConflictError
from tiltfit.language.constraint import Constraint, ConstraintSet
from tiltfit.language.relations import DistributedAs
from tiltfit.penalties.penalty import Penalty

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]
BoolArray = npt.NDArray[np.bool_]


class Ban:
    """Collects labels that hard statements of 0 or 1 rule out."""

    def __init__(self, n_labels: int, n: int) -> None:
        self._shape = (n, n_labels)
        self._mask: BoolArray | None = None
        self._takers: list[tuple[int, BoolArray, BoolArray]] = []

    def supports(self, weight: FloatArray) -> dict[int, float]:
        """The constraints taken over, with their supports."""
        return {number: float(weight[fires].sum()) for number, fires, _ in self._takers}

    def take(self, number: int, constraint: Constraint, fires: BoolArray, events: FloatArray, labels: IntArray) -> bool:
        """Whether the constraint is a hard 0 or 1; if so it is taken over as forbidden labels."""
        if not constraint.is_hard:
            return False
        low, high = constraint.relation.interval
        if high > 0 and low < 1:
            return False
        banned = events[0] > 0 if high <= 0 else events[0] == 0
        against = np.flatnonzero(fires & (labels >= 0) & banned[labels])
        if len(against):
            raise ConflictError(
                f"The constraint {constraint.title!r} rules out the label that row {against[0]} has. "
                'Correct the label, soften the constraint with slack=, or leave out on="all".'
            )
        if self._mask is None:
            self._mask = np.zeros(self._shape, dtype=np.bool_)
        self._mask[fires] |= banned
        self._takers.append((number, fires, banned))
        return True

    def mask(self, constraints: ConstraintSet, free: BoolArray) -> BoolArray | None:
        """Forbidden labels, positions × labels, on unlabelled positions."""
        if self._mask is None:
            return None
        self._mask[~free] = False
        empty = np.flatnonzero(self._mask.all(axis=1))
        if len(empty):
            names = [constraints[number].title for number, fires, _ in self._takers if fires[empty[0]]]
            raise ConflictError(
                f"No label is left for row {empty[0]}: {' and '.join(repr(n) for n in names)} together rule out all of "
                "them. Soften one with slack= or a target inside (0, 1)."
            )
        return self._mask if self._mask.any() else None


@dataclass(frozen=True, eq=False)
class Room:
    """What known and forbidden labels leave of the share of each row of a constraint.

    ``fires``: positions × rows; ``events``: rows × labels; ``labels``: class number or −1, one a position.
    """

    fires: sparse.csc_array
    events: FloatArray
    support: FloatArray
    forbidden: BoolArray | None
    labels: IntArray
    weight: FloatArray

    def check(self, constraint: Constraint, penalty: Penalty, groups: Sequence[object]) -> None:
        """Refuse a constraint whose penalty would be infinite whatever q."""
        if self.forbidden is None and constraint.on == "unlabelled":
            return
        least, most = self._extremes()
        if isinstance(constraint.relation, DistributedAs):
            shares = penalty.grad_conjugate(np.zeros(len(penalty)))
            bad = np.flatnonzero((shares > 0) & (most == 0))
        elif constraint.is_hard:
            low, high = constraint.relation.interval
            bad = np.flatnonzero((most < low - 1e-12) | (least > high + 1e-12))
        else:
            return
        if len(bad):
            r = bad[0]
            where = "" if groups[r] is None else f" in {groups[r]!r}"
            raise ConflictError(
                f"The constraint {constraint.title!r} cannot hold{where}: known labels and rules leave its share "
                f"between {least[r]:.0%} and {most[r]:.0%}. Change its target, soften it, or drop the rule."
            )

    def _extremes(self) -> tuple[FloatArray, FloatArray]:
        """The least and the greatest share of each row over all q that keep to known and forbidden labels."""
        n, n_labels = len(self.labels), self.events.shape[1]
        allowed = np.ones((n, n_labels), dtype=np.bool_) if self.forbidden is None else ~self.forbidden
        known = np.flatnonzero(self.labels >= 0)
        allowed[known] = False
        allowed[known, self.labels[known]] = True
        position, row = sparse.coo_array(self.fires).coords
        inside = self.events[row] > 0
        can = (allowed[position] & inside).any(axis=1)
        must = ~(allowed[position] & ~inside).any(axis=1)
        sums = (np.bincount(row, self.weight[position] * hit, len(self.support)) for hit in (must, can))
        least, most = (np.asarray(total / self.support) for total in sums)
        return least, most
