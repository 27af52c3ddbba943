"""Compilation of kernels: on first call, without the GIL, cached on disk where that is possible.

Kernels are free functions over arrays. So that ``import tiltfit`` and ``tiltfit --help`` do not pay for Numba, modules
of kernels are imported inside the functions that call them; or named through their package, which loads them when they
are first asked for (``kernels.vectors``), where a solver comes by in every iteration and would wait for an import.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np

from tiltfit.kernels.choice import MODE

Kernel = TypeVar("Kernel", bound=Callable[..., Any])

logger = logging.getLogger("tiltfit")

# "contract" allows fused multiply–add. Reassociation and the no-NaN/no-infinity flags stay off: −inf is a legal
# potential, and results must not depend on how a loop was vectorised.
_OPTIONS: dict[str, Any] = {"nogil": True, "fastmath": {"contract"}, "error_model": "numpy"}

# To Numba a literal number has its own type: all that it is passed to would be compiled once more for it.
ZERO = cast(int, np.int64(0))


def kernel(function: Kernel) -> Kernel:
    """Compile ``function`` on its first call. Where no cache folder can be written, it is compiled anew each run."""
    return _compiled(function, _OPTIONS)


def summing_kernel(function: Kernel) -> Kernel:
    """Like ``kernel``, and terms of sums may be added in another order, the same in every run. For finite numbers;
    −inf may be among what is summed, not both infinities."""
    return _compiled(function, {**_OPTIONS, "fastmath": {"contract", "reassoc"}})


class _ForgivingCache:
    """The cache of a compiled function, without which everything works as well: what cannot be read is compiled anew,
    and what cannot be written (on a full disk) is not kept."""

    def __init__(self, cache: Any) -> None:
        self._cache = cache

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cache, name)

    def load_overload(self, *arguments: Any) -> Any:
        try:
            return self._cache.load_overload(*arguments)
        except Exception as error:
            logger.debug("A compiled kernel cannot be read from %s: %r", self._cache.cache_path, error)
        self._quietly(self._cache.flush)
        return None

    def save_overload(self, *arguments: Any) -> None:
        self._quietly(self._cache.save_overload, *arguments)

    def _quietly(self, write: Callable[..., None], *arguments: Any) -> None:
        try:
            write(*arguments)
        except OSError as error:
            logger.debug("A compiled kernel cannot be written to %s: %r", self._cache.cache_path, error)


def _compiled(function: Kernel, options: dict[str, Any]) -> Kernel:
    # Numba looks for compiled code by the name and the file of a function, and does not see that the inner loops that
    # are compiled into it are others now: so plain kernels have other names.
    if MODE == "plain":
        function.__qualname__ += "-plain"
    try:
        compiled = numba.njit(cache=True, **options)(function)
    except RuntimeError:  # "cannot cache function …: no locator available"
        compiled = numba.njit(**options)(function)
    if hasattr(compiled, "_cache"):
        compiled._cache = _ForgivingCache(compiled._cache)
    return cast(Kernel, compiled)
