"""Reliability: how often the model is right against how sure it is, in bins of equal mass:

confidence_b = mean over bin b of p(predicted label),  accuracy_b = share of bin b that is right
calibration error = Σ_b n_b |accuracy_b − confidence_b| / Σ_b n_b
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tiltfit.arrays import FloatArray, IntArray

BINS = 15


@dataclass(frozen=True, eq=False)
class Reliability:
    """One entry per bin that is not empty, the least sure first."""

    confidence: FloatArray
    accuracy: FloatArray
    count: IntArray

    @property
    def error(self) -> float:
        """The calibration error."""
        return float(np.average(np.abs(self.accuracy - self.confidence), weights=self.count))

    @property
    def bias(self) -> float:
        """Mean confidence minus accuracy: positive where the model is too sure of itself."""
        return float(np.average(self.confidence - self.accuracy, weights=self.count))

    @property
    def verdict(self) -> str:
        """The verdict in words."""
        sure, right = (float(np.average(v, weights=self.count)) for v in (self.confidence, self.accuracy))
        said = f"It is {sure:.0%} sure on average and right {right:.0%} of the time"
        if self.error < 0.02:
            return f"{said}: its probabilities can be trusted."
        if abs(self.bias) < self.error / 2:
            return f"{said}, but too sure in some places and too modest in others."
        return f"{said}: it is too {'sure of itself' if self.bias > 0 else 'modest'}."


def bins(confidence: FloatArray) -> IntArray:
    """Return the bin of every position.

    >>> bins(np.array([0.9, 0.5, 0.5, 0.7])).tolist()
    [11, 0, 0, 7]
    """
    below = np.searchsorted(np.sort(confidence), confidence, side="left")
    return np.asarray(BINS * below // max(1, len(confidence)), dtype=np.intp)


def reliability(confidence: FloatArray, correct: npt.NDArray[np.bool_]) -> Reliability:
    """Return the reliability of predictions with these confidences.

    >>> found = reliability(np.array([0.6, 0.6, 0.9, 0.9]), np.array([True, False, True, True]))
    >>> found.confidence.tolist(), found.accuracy.tolist(), round(found.error, 3)
    ([0.6, 0.9], [0.5, 1.0], 0.1)
    """
    bin_of = bins(confidence)
    count = np.bincount(bin_of, minlength=BINS)
    kept = np.flatnonzero(count)
    sums = [np.bincount(bin_of, weights=v, minlength=BINS)[kept] for v in (confidence, correct.astype(np.float64))]
    return Reliability(sums[0] / count[kept], sums[1] / count[kept], count[kept].astype(np.intp))
