"""Columns of a matrix, best first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tiltfit.arrays import FloatArray
from tiltfit.errors import DataError

Columns = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Ranking:
    """Columns of X, best first, and what each of them scores. Equal scores are in the order of the columns, unless a
    ranker says otherwise."""

    columns: Columns
    scores: FloatArray

    def __len__(self) -> int:
        return len(self.columns)

    def named(self, words: Sequence[str]) -> list[tuple[str, float]]:
        """Words with their scores; ``words`` are the names of all columns of X."""
        if len(self) and self.columns.max() >= len(words):
            raise DataError(
                f"The ranking has column {self.columns.max()}, but there are {len(words)} words: give the names of all "
                f"columns of X."
            )
        return [(words[int(j)], float(score)) for j, score in zip(self.columns, self.scores, strict=True)]


def rank(scores: FloatArray, n: int | None) -> Ranking:
    """The ``n`` columns of highest score, or all of them."""
    check_number("n", n, len(scores))
    best = np.argsort(-scores, kind="stable")[:n]
    return Ranking(best, scores[best])


def check_number(name: str, n: int | None, columns: int) -> None:
    """``n`` of ``columns`` can be asked for."""
    if n is not None and (isinstance(n, bool) or not isinstance(n, int | np.integer) or not 0 < n <= columns):
        raise DataError(f"{name}={n}, but X has {columns} columns: ask for 1 to {columns} of them.")


def check_counts(X: Any) -> sparse.csr_array:
    """X as a sparse matrix of numbers that are finite and not negative; DataError says what else it is."""
    matrix = sparse.csr_array(X, dtype=np.float64)
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise DataError(f"X has the shape {matrix.shape}: a ranking needs at least one document and one column.")
    if not np.all(np.isfinite(matrix.data)):
        raise DataError("X holds NaN or infinite numbers: a ranking needs counts or weights of words.")
    if matrix.data.min(initial=0.0) < 0:
        raise DataError(f"X holds {matrix.data.min():g}: a ranking needs counts or weights that are not negative.")
    return matrix


def presence(X: sparse.csr_array) -> sparse.csr_array:
    """1 where X is not 0."""
    present = X.copy()
    present.data = (present.data != 0).astype(np.float64)
    return present
