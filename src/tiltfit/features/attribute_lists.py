"""Attributes that users made, as for CRFsuite (``data.attributes`` says how they are written)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from tiltfit.arrays import IntArray
from tiltfit.data.attributes import AttributeRows, Attributes
from tiltfit.errors import DataError
from tiltfit.features.hashing import Buckets, hashed
from tiltfit.features.tokens import check_hashing, read_names, written_names


@dataclass(frozen=True)
class AttributeTemplates:
    """Attributes as they are; ``min_count``: those at fewer positions are dropped; ``hashing``: into how many columns
    they are hashed (None: not at all)."""

    min_count: int = 1
    hashing: int | None = None

    def __post_init__(self) -> None:
        if type(self.min_count) is not int or self.min_count < 1:
            raise DataError(f"min_count={self.min_count!r} must be an integer of at least 1.")
        check_hashing(self.hashing, self.min_count)

    def fit(self, items: Sequence[Attributes], offsets: IntArray) -> tuple[AttributeEncoder, sparse.csr_array]:
        """Learn which attributes occur; encode them. The order of columns is that of appearance."""
        rows = AttributeRows.of(items)
        if self.hashing is not None:
            return AttributeEncoder(Buckets(self.hashing)), hashed(rows.matrix, rows.names, self.hashing)
        kept = np.flatnonzero(np.bincount(rows.matrix.indices, minlength=len(rows.names)) >= self.min_count)
        encoder = AttributeEncoder(tuple(rows.names[j] for j in kept))
        return encoder, rows.matrix if len(kept) == len(rows.names) else rows.matrix[:, kept]


@dataclass(frozen=True, eq=False)
class AttributeEncoder:
    """Fitted attributes: ``names[j]`` is that of column j; ``Buckets`` if hashed."""

    names: tuple[str, ...] | Buckets

    def transform(self, items: Sequence[Attributes], offsets: IntArray) -> sparse.csr_array:
        """Positions × attributes; without hashing, attributes that did not occur in fitting are dropped."""
        rows = AttributeRows.of(items)
        if self.hashing is not None:
            return hashed(rows.matrix, rows.names, self.hashing)
        columns = np.array([self._columns.get(name, -1) for name in rows.names], dtype=np.intp)
        known = np.flatnonzero(columns >= 0)
        place = (np.ones(len(known)), (known, columns[known]))
        return sparse.csr_array(rows.matrix @ sparse.csr_array(place, shape=(len(columns), len(self.names))))

    def to_document(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return {"names": written_names(self.names), "hashing": self.hashing}

    @staticmethod
    def from_document(document: Mapping[str, Any]) -> AttributeEncoder:
        """The inverse of ``to_document``."""
        return AttributeEncoder(read_names(document["names"], document.get("hashing")))

    @property
    def hashing(self) -> int | None:
        """The number of columns into which attributes are hashed; None: they are not."""
        return len(self.names) if isinstance(self.names, Buckets) else None

    @cached_property
    def _columns(self) -> dict[str, int]:
        return {name: j for j, name in enumerate(self.names)}
