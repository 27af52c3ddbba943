"""How kernels are compiled: on first call, without the GIL, cached on disk where that is possible.

Kernels are free functions over arrays. So that ``import tiltfit`` and ``tiltfit --help`` do not pay for Numba, modules
of kernels are imported inside the functions that call them; or named through their package, which loads them when they
are first asked for (``kernels.vectors``), where a solver comes by in every iteration and would wait for an import.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np

Kernel = TypeVar("Kernel", bound=Callable[..., Any])

# "contract" allows fused multiply–add. Reassociation and the no-NaN/no-infinity flags stay off: −inf is a legal
# potential, and results must not depend on how a loop was vectorised.
_OPTIONS: dict[str, Any] = {"nogil": True, "fastmath": {"contract"}, "error_model": "numpy"}

# A number that is written out is a type of its own to Numba: all that it is passed to is compiled once more for it.
ZERO = cast(int, np.int64(0))


def kernel(function: Kernel) -> Kernel:
    """Compile ``function`` on its first call. Where no cache folder can be written, it is compiled anew each run."""
    return _compiled(function, _OPTIONS)


def summing_kernel(function: Kernel) -> Kernel:
    """Like ``kernel``, and terms of sums may be added in another order, the same in every run. For finite numbers;
    −inf may be among what is summed, not both infinities."""
    return _compiled(function, {**_OPTIONS, "fastmath": {"contract", "reassoc"}})


def _compiled(function: Kernel, options: dict[str, Any]) -> Kernel:
    try:
        compiled = numba.njit(cache=True, **options)(function)
    except RuntimeError:  # "cannot cache function …: no locator available"
        compiled = numba.njit(**options)(function)
    return cast(Kernel, compiled)
