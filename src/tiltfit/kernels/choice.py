"""The choice between the inner loops in LLVM's terms (``kernels.llvm``) and their plain twins (``kernels.plain``).

``TILTFIT_KERNELS`` in the environment, read once, when the first kernel is loaded:

- ``auto`` (default): those of ``kernels.llvm``; the twins, with a warning in the log, if they cannot be imported, as
  after a release of Numba that moved its internals.
- ``fast``: those of ``kernels.llvm`` or an error.
- ``plain``: the twins.
"""

from __future__ import annotations

import importlib
import logging
import os
from typing import Literal

from tiltfit.errors import UnsupportedError

VARIABLE = "TILTFIT_KERNELS"

logger = logging.getLogger("tiltfit")


def choose(wish: str) -> Literal["fast", "plain"]:
    """The kind of inner loops to use, for the value of ``TILTFIT_KERNELS``."""
    if wish not in {"auto", "fast", "plain"}:
        raise UnsupportedError(f'The environment variable {VARIABLE} must be "auto", "fast" or "plain", not {wish!r}.')
    if wish == "plain":
        return "plain"
    try:
        for name in ("blocks", "sparse", "tiles"):
            importlib.import_module(f"tiltfit.kernels.llvm.{name}")
    except (ImportError, AttributeError) as error:
        if wish == "fast":
            raise UnsupportedError(
                f"The fast kernels do not work with this release of Numba ({error}). Set {VARIABLE}=plain to use the "
                "slower plain ones, or install a release of Numba that tiltfit supports."
            ) from error
        logger.warning(
            "The fast kernels do not work with this release of Numba (%s). The plain ones are used, which are slower. "
            "Set %s=plain to silence this warning.",
            error,
            VARIABLE,
        )
        return "plain"
    return "fast"


MODE = choose(os.environ.get(VARIABLE) or "auto")
