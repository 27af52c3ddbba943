"""Names for the arrays that travel through the library."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]
BoolArray = npt.NDArray[np.bool_]
IndexArray = npt.NDArray[Any]
"""Indices of sparse matrices and kernels: integers of 32 or 64 bits."""
