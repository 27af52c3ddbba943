"""Checks of what whole-sequence inference is given beside potentials."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tiltfit.arrays import FloatArray
from tiltfit.errors import DataError, UnsupportedError
from tiltfit.inference.segmental import Segmental
from tiltfit.inference.statistic import Statistic


def checked_prices(whole: FloatArray, n: int, statistics: Sequence[Statistic]) -> FloatArray:
    """[S] or [n, S] → [1, S] or [n, S]."""
    prices = np.atleast_2d(np.ascontiguousarray(whole, dtype=np.float64))
    if prices.shape not in {(1, len(statistics)), (n, len(statistics))}:
        raise DataError(
            f"Prices of shape {np.shape(whole)} do not fit {n} sequences and {len(statistics)} statistics: one row for"
            " all, or one for each."
        )
    if np.any(np.isnan(prices)) or np.any(prices == np.inf):
        raise DataError("Prices of statistics must be numbers or −inf, which forbids what counts above 0.")
    for k in np.flatnonzero(np.any(prices == -np.inf, axis=0)).tolist():
        statistic = statistics[k]
        parts = statistic.parts if isinstance(statistic, Segmental) else (statistic,)
        if any(part.least < 0.0 for part in parts):
            raise UnsupportedError(
                f'A price of −inf forbids what counts above 0, but the statistic "{statistic.name}" may be below:'
                " give it a finite price, or forbid its excess (bounds.excess)."
            )
    return prices


def checked_weights(weight: FloatArray | None, n: int) -> FloatArray:
    """[n], 1 each if None."""
    if weight is None:
        return np.ones(n)
    weights = np.ascontiguousarray(weight, dtype=np.float64)
    if weights.shape != (n,) or not np.all(np.isfinite(weights)):
        raise DataError(f"Weights are one finite number a sequence, {n} in all; these have shape {weights.shape}.")
    return weights


def check_labels(statistics: Sequence[Statistic], n_labels: int) -> None:
    """Statistics must be of as many labels as the potentials."""
    for statistic in statistics:
        if isinstance(statistic, Segmental) and statistic.fields.n_labels != n_labels:
            raise DataError(f"The statistics are of {statistic.fields.n_labels} labels, the potentials of {n_labels}.")
