"""Attributes with large values: units in which to search for their weights.

    z = s·w,    s = (largest |value|)/10

A search takes all weights for alike, so it hardly moves beside a column of millions, where the smallest step changes
everything. In z the largest value of every attribute is 10 at most; the objective is the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from tiltfit.arrays import FloatArray

_MOST = 100.0  # values up to here are left as they are: those of words go up to ten, and counts of words are small
_USUAL = 10.0


def units(X: Any) -> FloatArray | None:
    """s of every column of X (sparse or dense), 1 where its values are small; None if all of them are.

    >>> units(np.array([[1.0, 200.0, 0.0], [-2.0, -50.0, 0.0]])).tolist(), units(np.eye(2))
    ([1.0, 20.0, 1.0], None)
    """
    is_sparse = sparse.issparse(X)
    values = np.abs(X.data if is_sparse else X)
    if np.max(values, initial=0.0) <= _MOST:
        return None
    if is_sparse:
        largest = np.zeros(X.shape[1])
        np.maximum.at(largest, X.indices, values)
    else:
        largest = values.max(axis=0)
    return np.where(largest > _MOST, largest / _USUAL, 1.0)
