"""Plain twins of ``llvm.sparse``."""

from __future__ import annotations

from collections.abc import Callable

from tiltfit.arrays import FloatArray, IndexArray
from tiltfit.kernels.compile import kernel


@kernel
def _tile(
    indptr: IndexArray, indices: IndexArray, data: FloatArray | None, rows: IndexArray, first: int, last: int,
    dense: FloatArray, more: FloatArray, inner: FloatArray | None, outer: FloatArray | None, column: int, width: int,
    base: FloatArray, out: FloatArray,
) -> None:  # fmt: skip
    """out[i, C] ← outer[i]·(base[C] + Σ_j data[j]·inner[n]·[dense; more][n, C]),    C = column … column + width − 1

    for i = rows[r], indptr[r] ≤ j < indptr[r + 1], n = indices[j], first ≤ r < last (``data``, ``inner``, ``outer``
    None: all ones). Terms are added in the order of the non-zeros.
    """
    for r in range(first, last):
        i = rows[r]
        for c in range(column, column + width):
            out[i, c] = base[c]
        for j in range(indptr[r], indptr[r + 1]):
            n, factor = indices[j], 1.0
            if data is not None:
                factor = data[j]
            if inner is not None:
                factor = inner[n] * factor
            if n < len(dense):
                for c in range(column, column + width):
                    out[i, c] += factor * dense[n, c]
            else:
                for c in range(column, column + width):
                    out[i, c] += factor * more[n - len(dense), c]
        if outer is not None:
            for c in range(column, column + width):
                out[i, c] *= outer[i]


def sparse_tile(lanes: int, count: int) -> Callable[..., None]:
    """The same loop for every width."""
    return _tile


@kernel
def ask_for(array: FloatArray, k: int) -> None:
    """Nothing: plain Numba has no prefetch."""
