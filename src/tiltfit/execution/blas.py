"""One thread for the linear-algebra library while kernels share out the work themselves.

Its own threads would compete with them, and its sums may depend on how many there are.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from typing import Any


def one_blas_thread() -> AbstractContextManager[Any]:
    """Inside ``with one_blas_thread():`` matrix products run on the calling thread."""
    limited: AbstractContextManager[Any] = _controller().limit(limits=1, user_api="blas")
    return limited


@cache
def _controller() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
