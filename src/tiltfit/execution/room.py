"""Memory that is used again.

A solver makes and drops arrays as long as its weights, step by step. If each went back to the operating system, every
page would be mapped and cleared anew: a third of the time of an iteration with seven million weights.
"""

from __future__ import annotations

import math
import sys
import threading

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]

_SMALL = 1 << 12  # numbers below which there is nothing to gain


def _holders(arrays: list[FloatArray]) -> list[int]:
    """How many hold each of them, this function among them: every view of an array holds it."""
    return [sys.getrefcount(array) for array in arrays]


(_ONLY_A_LIST,) = _holders([np.empty(0)])


class Room:
    """Arrays without contents, like ``np.empty``; the memory of one that nobody holds any more goes to the next of its
    size, and to the system when the room is dropped.

    >>> room = Room()
    >>> first = room.empty(100, 50)
    >>> place = first.ctypes.data
    >>> del first
    >>> room.empty(5000).ctypes.data == place
    True
    """

    def __init__(self) -> None:
        self._made: dict[int, list[FloatArray]] = {}  # by size, in the order in which views of them were lent
        self._lock = threading.Lock()

    def empty(self, *shape: int) -> FloatArray:
        """An array of this shape, C-contiguous."""
        n = math.prod(shape)
        if n < _SMALL:
            return np.empty(shape)
        with self._lock:
            made = self._made.setdefault(n, [])
            spare = [k for k, count in enumerate(_holders(made)) if count == _ONLY_A_LIST]
            # The one that was lent last: it is still in the cache.
            made.append(made.pop(spare[-1]) if spare else np.empty(n))
            return made[-1].reshape(shape)

    def copy(self, array: FloatArray) -> FloatArray:
        """The same numbers in an array of its own."""
        made = self.empty(*array.shape)
        np.copyto(made, array)
        return made
