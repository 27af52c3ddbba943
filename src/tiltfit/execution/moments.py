"""Additive sums: all that has to cross a border between threads, processes or machines."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, eq=False)
class Moments:
    """Σ ω·log Z, Σ ω·E[f] and Σ ω over some instances, ω their weights. Sums of disjoint parts add up."""

    log_z: float
    expectation: npt.NDArray[np.float64]
    count: float

    def __add__(self, other: Moments) -> Moments:
        return Moments(self.log_z + other.log_z, self.expectation + other.expectation, self.count + other.count)
