"""Attributes that users made themselves, as for CRFsuite (``data.attributes`` says how they are written)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tiltfit.data.attributes import AttributeRows, Attributes
from tiltfit.errors import DataError
from tiltfit.features.tokens import check_names

IntArray = npt.NDArray[np.intp]


@dataclass(frozen=True)
class AttributeTemplates:
    """Attributes as they are; ``min_count``: those at fewer positions are dropped."""

    min_count: int = 1

    def __post_init__(self) -> None:
        if isinstance(self.min_count, bool) or not isinstance(self.min_count, int) or self.min_count < 1:
            raise DataError(f"min_count={self.min_count!r} must be a whole number from 1 on.")

    def fit(self, items: Sequence[Attributes], offsets: IntArray) -> tuple[AttributeEncoder, sparse.csr_array]:
        """Learn which attributes occur; encode them. The order of columns is that of appearance."""
        rows = AttributeRows.of(items)
        kept = np.flatnonzero(np.bincount(rows.matrix.indices, minlength=len(rows.names)) >= self.min_count)
        encoder = AttributeEncoder(tuple(rows.names[j] for j in kept))
        return encoder, rows.matrix if len(kept) == len(rows.names) else rows.matrix[:, kept]


@dataclass(frozen=True, eq=False)
class AttributeEncoder:
    """Fitted attributes: ``names[j]`` is that of column j."""

    names: tuple[str, ...]

    def transform(self, items: Sequence[Attributes], offsets: IntArray) -> sparse.csr_array:
        """Positions × attributes; attributes that did not occur in fitting are dropped."""
        rows = AttributeRows.of(items)
        columns = np.array([self._columns.get(name, -1) for name in rows.names], dtype=np.intp)
        known = np.flatnonzero(columns >= 0)
        place = (np.ones(len(known)), (known, columns[known]))
        return sparse.csr_array(rows.matrix @ sparse.csr_array(place, shape=(len(columns), len(self.names))))

    def to_document(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return {"names": list(self.names)}

    @staticmethod
    def from_document(document: Mapping[str, Any]) -> AttributeEncoder:
        """The inverse of ``to_document``."""
        return AttributeEncoder(check_names(document["names"]))

    @cached_property
    def _columns(self) -> dict[str, int]:
        return {name: j for j, name in enumerate(self.names)}
