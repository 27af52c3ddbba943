"""An event of whole sequences: a label changes and changes straight back, as in a, b, a."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tiltfit import Event, Statistic, register_event

Labels = npt.NDArray[np.intp]


class _Returns(Statistic):
    """Σ_t 1[y_t ≠ y_{t−1} and y_{t+1} = y_{t−1}]: a sum over windows of three labels."""

    name = "changes straight back"
    least = 0.0

    def count(self, labels: Labels) -> float:
        return float(np.sum((labels[1:-1] != labels[:-2]) & (labels[2:] == labels[:-2])))

    def change(self, labels: Labels, t: int, label: int) -> float:
        near = labels[max(t - 2, 0) : t + 3]  # no other window sees the label at t
        changed = near.copy()
        changed[min(t, 2)] = label
        return self.count(changed) - self.count(near)


@register_event
@dataclass(frozen=True)
class ChangesBack(Event):
    """How often a sequence goes from one label to another and straight back."""

    key = "changes_back"
    plural = "changes straight back"

    def statistic(self, classes: Sequence[object]) -> Statistic:
        return _Returns()
