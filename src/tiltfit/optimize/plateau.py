"""When a search has arrived: its objective no longer falls, and what it predicts no longer changes.

    O(t − T) − O(t) ≤ tol·|O(t)|      and      predictions(t − T) ≠ predictions(t) for at most one in a thousand

T is ten rounds. Where the objective stays flat for four periods, it decides alone: what still changes then are ties
between labels. Neither compares with where the search began: a start that is far away, a column of large numbers or a
hard statement makes the first gradient as large as it likes, and a small part of it may be anywhere.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tiltfit.arrays import FloatArray, IntArray

PERIOD = 10
_NEAR = 10.0  # times tol: predictions are looked at from here on
_CHANGED = 1e-3  # the share of predictions that may still change in a period
_PATIENCE = 4  # periods


class Plateau:
    """The rounds of one search so far. ``predict(x)``: a label for every position; without it, the objective decides.

    With ``tol`` = 0 a plateau is never reached: the search makes all the rounds that it may make.

    >>> plateau = Plateau(1e-3)
    >>> [plateau.reached(1 + 0.5**t, np.empty(0)) for t in range(22)].index(True)
    20
    """

    def __init__(self, tol: float, predict: Callable[[FloatArray], IntArray] | None = None) -> None:
        self._tol, self._predict = tol, predict
        self._values: list[float] = []
        self._predicted: IntArray | None = None
        self._flat = 0  # periods in a row

    def reached(self, value: float, x: FloatArray) -> bool:
        """Add a round. True if there is nothing left to gain."""
        self._values.append(value)
        if self._tol == 0 or len(self._values) % PERIOD != 1 or len(self._values) == 1:
            return False
        fall = self._values[-1 - PERIOD] - value
        self._flat = self._flat + 1 if fall <= self._tol * abs(value) else 0
        if fall > _NEAR * self._tol * abs(value):
            self._predicted = None
            return False
        if self._predict is None:
            return self._flat > 0
        before, self._predicted = self._predicted, self._predict(x)
        if before is None or self._flat == 0:
            return False
        return self._flat >= _PATIENCE or bool(np.mean(before != self._predicted) <= _CHANGED)
