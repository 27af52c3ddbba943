"""Features of transitions: attributes of the edge into each position, f(y_{t−1}, y_t, x) of the paper's §6.

Column 0 is the plain transition and always on. By default the others say which punctuation the previous token is:
fields change after commas and full stops. Few classes make few distinct edges: ``kinds`` numbers them, so that
inference keeps one table of transition scores per kind.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from tiltfit.arguments import are_strings
from tiltfit.arrays import IntArray
from tiltfit.data.attributes import AttributeRows
from tiltfit.errors import DataError
from tiltfit.features.gathering import distinct, shifted
from tiltfit.features.spelling import PATTERNS, SIGNS, check_patterns

PLAIN = "transition"

PUNCTUATION: Mapping[str, str] = {**SIGNS, "other punctuation": PATTERNS["punctuation"]}
"""Classes of punctuation; the first whose pattern matches the whole token is its class."""

MAX_KINDS = 4096
"""More distinct edges than this are a sign of attributes that should not be on edges."""


@dataclass(frozen=True, eq=False)
class EdgeKinds:
    """``index[i]``: the kind of the edge into position i (at the start of a sequence that of a plain transition).

    ``attributes`` (kinds × ``names``): what holds on each kind of edge; column 0 is 1 everywhere.
    """

    index: IntArray
    attributes: sparse.csr_array
    names: tuple[str, ...]

    def rows(self) -> sparse.csr_array:
        """Positions × attributes."""
        return self.attributes[self.index]


@dataclass(frozen=True)
class EdgeTemplates:
    """The attributes that transition weights depend on.

    Parameters
    ----------
    before, at : dict
        Classes of the previous token and of the token itself, name → pattern; the first that matches the whole token
        counts.
    attributes : tuple of str
        For X made of attributes, the names of those that also weight transitions.
    """

    before: Mapping[str, str] = field(default_factory=lambda: dict(PUNCTUATION))
    at: Mapping[str, str] = field(default_factory=dict)
    attributes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "before", check_patterns("before", self.before))
        object.__setattr__(self, "at", check_patterns("at", self.at))
        names = (self.attributes,) if isinstance(self.attributes, str) else tuple(self.attributes)
        if not are_strings(names) or len(set(names)) < len(names):
            raise DataError(f"attributes={self.attributes!r} of the edges must be different names of attributes.")
        object.__setattr__(self, "attributes", names)

    def names(self, *, tokens: bool = True) -> tuple[str, ...]:
        """The columns for token input, or for attribute input."""
        if not tokens:
            return (PLAIN, *self.attributes)
        return (PLAIN, *(f"before: {name}" for name in self.before), *(f"at: {name}" for name in self.at))

    def kinds(self, items: Sequence[Any], offsets: IntArray) -> EdgeKinds:
        """The edges between flat tokens (or ``AttributeRows``) whose sequences start at ``offsets``."""
        if isinstance(items, AttributeRows):
            return self._of_attributes(items, offsets)
        types, codes = distinct(items)
        base = 1 + len(self.at)
        pairs = base * _classes(types, self.before)[shifted(codes, offsets, -1, len(types))]
        pairs += _classes(types, self.at)[codes]
        pairs[_starts(offsets)] = 0
        kinds, index = np.unique(pairs, return_inverse=True)
        present = np.zeros((len(kinds), base + len(self.before)))
        for k, (before, at) in enumerate(zip(*np.divmod(kinds, base), strict=True)):
            present[k, before] = 1.0
            present[k, len(self.before) + at if at else 0] = 1.0
        present[:, 0] = 1.0
        return EdgeKinds(index, sparse.csr_array(present), self.names())

    def _of_attributes(self, rows: AttributeRows, offsets: IntArray) -> EdgeKinds:
        numbers = {name: j for j, name in enumerate(rows.names)}
        values = np.zeros((len(rows), 1 + len(self.attributes)))
        for k, name in enumerate(self.attributes, 1):
            if name in numbers:
                values[:, k] = rows.matrix[:, [numbers[name]]].toarray().ravel()
        values[_starts(offsets)] = 0.0
        values[:, 0] = 1.0
        kinds, index = np.unique(values, axis=0, return_inverse=True)
        if len(kinds) > MAX_KINDS:
            raise DataError(
                f"The attributes {list(self.attributes)} make {len(kinds)} different edges; at most {MAX_KINDS} are "
                "allowed. Put attributes with few values on edges."
            )
        return EdgeKinds(index.ravel(), sparse.csr_array(kinds), self.names(tokens=False))

    def to_document(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return {"before": dict(self.before), "at": dict(self.at), "attributes": list(self.attributes)}

    @staticmethod
    def from_document(document: Mapping[str, Any]) -> EdgeTemplates:
        """The inverse of ``to_document``."""
        unknown = set(document) - {"before", "at", "attributes"}
        if unknown:
            raise DataError(f"Unknown edge templates: {', '.join(sorted(map(repr, unknown)))}.")
        return EdgeTemplates(**document)


def _classes(types: Sequence[str], patterns: Mapping[str, str]) -> IntArray:
    """The class of each type (from 1; 0: none); two more entries for the outside of sequences."""
    compiled: list[Callable[[str], object]] = [re.compile(pattern).fullmatch for pattern in patterns.values()]
    found = np.zeros(len(types) + 2, dtype=np.intp)
    for t, token in enumerate(types):
        found[t] = next((k for k, matches in enumerate(compiled, 1) if matches(token)), 0)
    return found


def _starts(offsets: IntArray) -> IntArray:
    return offsets[:-1][np.diff(offsets) > 0]
