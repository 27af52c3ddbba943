"""Memory that is used again.

A solver makes and drops arrays as long as its weights, step by step. If each went back to the operating system, every
page would be mapped and cleared anew: a third of the time of an iteration with seven million weights.
"""

from __future__ import annotations

import ctypes
import math
import weakref

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]

_SMALL = 1 << 12  # numbers below which there is nothing to gain


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
        self._spare: dict[int, list[FloatArray]] = {}

    def empty(self, *shape: int) -> FloatArray:
        """An array of this shape, C-contiguous."""
        n = math.prod(shape)
        if n < _SMALL:
            return np.empty(shape)
        spare = self._spare.setdefault(n, [])
        owner = spare.pop() if spare else np.empty(n)
        # The array and all its views hold on to ``lent``, and nothing else does.
        lent = (ctypes.c_double * n).from_buffer(owner.data)
        weakref.finalize(lent, spare.append, owner).atexit = False
        return np.frombuffer(memoryview(lent), dtype=np.float64).reshape(shape)

    def copy(self, array: FloatArray) -> FloatArray:
        """The same numbers in an array of its own."""
        made = self.empty(*array.shape)
        np.copyto(made, array)
        return made
