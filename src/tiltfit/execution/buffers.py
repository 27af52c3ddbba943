"""Memory that is used again.

A solver makes and drops arrays as long as its weights, step by step. If each went back to the operating system, every
page would be mapped and cleared anew: a third of the time of an iteration with seven million weights.
"""

from __future__ import annotations

import math
import sys
import threading

import numpy as np

from tiltfit.arrays import FloatArray

_SMALL = 1 << 12  # numbers below which there is nothing to gain


def _last_held_by_nobody(arrays: list[FloatArray]) -> int | None:
    """The number of the last array that nothing but this list holds: every view of an array holds it."""
    for k in range(len(arrays) - 1, -1, -1):
        if sys.getrefcount(arrays[k]) == _ONLY_A_LIST:
            return k
    return None


_EXAMPLE = [np.empty(0)]
_ONLY_A_LIST = sys.getrefcount(_EXAMPLE[0])


class Buffers:
    """Arrays without contents, like ``np.empty``; the memory of one that nobody holds any more goes to the next of its
    size, and to the system when the room is dropped.

    >>> room = Buffers()
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
            spare = _last_held_by_nobody(made)
            array = np.empty(n) if spare is None else made.pop(spare)
            made.append(array)
            return array.reshape(shape)

    def copy(self, array: FloatArray) -> FloatArray:
        """The same numbers in an array of its own."""
        made = self.empty(*array.shape)
        np.copyto(made, array)
        return made
