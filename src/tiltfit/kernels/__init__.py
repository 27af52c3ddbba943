"""Everything that is compiled. A module of kernels is loaded when it is first used, such as ``kernels.vectors``, so
that Numba is imported only when there is something to compute."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tiltfit.kernels import chunks as chunks
    from tiltfit.kernels import exponential as exponential
    from tiltfit.kernels import lazy as lazy
    from tiltfit.kernels import sparse as sparse
    from tiltfit.kernels import vectors as vectors


def __getattr__(name: str) -> ModuleType:
    """A module of this package. It becomes an attribute when it is imported, so this is called once for each."""
    if name.startswith("_"):  # none of ours: the import system looks for such
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return importlib.import_module(f"{__name__}.{name}")
    except ModuleNotFoundError as error:
        if error.name != f"{__name__}.{name}":
            raise
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from error
