"""Sparse matrices as users give them: whoever builds the arrays of one by hand can make it point outside of itself."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from scipy import sparse

from tiltfit.errors import DataError


def refuse_broken(matrix: Any, what: str, *, parameter: str) -> None:
    """Refuse a sparse matrix whose indices lie outside of it or whose row pointers descend: compiled code would read
    and write there. Anything else passes. One pass over the indices."""
    if not sparse.issparse(matrix):
        return
    make, given = type(matrix), cast(Any, matrix)  # SciPy's types know no constructor and no arrays
    try:
        seen = cast(Any, make)(given)  # the same arrays; the check may replace those of its object
        if hasattr(seen, "check_format"):  # CSR, CSC and BSR; the constructors of the others check
            seen.check_format(full_check=True)
            if np.any(np.diff(given.indptr) < 0):  # SciPy looks no further where the last pointer is 0
                raise ValueError("indptr descends")
    except (ValueError, IndexError) as error:
        raise DataError(
            f"{what} is a damaged sparse matrix: {error}. Build it from (data, (row, column)), or look at its indices "
            "and indptr.",
            parameter=parameter,
        ) from error
