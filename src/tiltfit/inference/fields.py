"""Fields: what labels are about, and where one of their segments ends and the next begins."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tiltfit.arrays import BoolArray, IntArray
from tiltfit.errors import DataError, UnknownLabelError, did_you_mean


class Segment(NamedTuple):
    """A maximal run of tokens that go on with one another."""

    field: int
    start: int
    length: int


@dataclass(frozen=True, eq=False)
class Fields:
    """``continues[i, j]``: whether a token labelled j goes on with the segment of the token before it, labelled i.
    ``field[i]``: the number of the field of label i, −1 for none. ``names``: what fields are called.

    With plain labels every label is a field and goes on with itself. With BIO or IOBES labels fields are entities.
    A token never goes on with the segment of another field.

    >>> fields = Fields.plain(["author", "title"])
    >>> fields.segments([0, 0, 1, 0])
    [Segment(field=0, start=0, length=2), Segment(field=1, start=2, length=1), Segment(field=0, start=3, length=1)]
    """

    continues: BoolArray
    field: IntArray
    names: tuple[Hashable, ...]

    def __post_init__(self) -> None:
        n = len(self.field)
        object.__setattr__(self, "continues", np.asarray(self.continues, dtype=np.bool_))
        object.__setattr__(self, "field", np.asarray(self.field, dtype=np.intp))
        if self.continues.shape != (n, n):
            raise DataError(f"There are {n} labels, but the table of what goes on has shape {self.continues.shape}.")
        if n and not -1 <= self.field.min() <= self.field.max() < len(self.names):
            raise DataError(
                f"Fields of labels must be numbers from −1 to {len(self.names) - 1}, not {self.field.tolist()}."
            )
        if np.any(self.continues & (self.field[:, None] != self.field[None, :])):
            i, j = np.argwhere(self.continues & (self.field[:, None] != self.field[None, :]))[0]
            raise DataError(f"Label {j} cannot go on with a segment of label {i}: they have different fields.")

    @classmethod
    def plain(cls, names: Sequence[Hashable]) -> Fields:
        """Every label is a field."""
        return cls(np.eye(len(names), dtype=np.bool_), np.arange(len(names)), tuple(names))

    @classmethod
    def of(cls, names: Sequence[Hashable | None], continues: BoolArray) -> Fields:
        """``names[i]``: the name of the field of label i, None for none."""
        known = tuple(dict.fromkeys(name for name in names if name is not None))
        number = {name: n for n, name in enumerate(known)}
        return cls(continues, np.array([-1 if name is None else number[name] for name in names]), known)

    @property
    def n_labels(self) -> int:
        return len(self.field)

    def number(self, name: Hashable) -> int:
        """The number of the field of that name."""
        if name not in self.names:
            known = ", ".join(str(n) for n in self.names)
            raise UnknownLabelError(f'There is no field "{name}"; there are {known}.{did_you_mean(name, self.names)}')
        return self.names.index(name)

    def numbers(self, names: Sequence[Hashable]) -> tuple[int, ...]:
        """Of these fields, in rising order; of all if none is named."""
        return tuple(sorted({self.number(name) for name in names})) if names else tuple(range(len(self.names)))

    def segments(self, labels: Sequence[int] | IntArray) -> list[Segment]:
        """From left to right; also those of no field (−1)."""
        found: list[Segment] = []
        for t, label in enumerate(labels):
            if t > 0 and self.continues[labels[t - 1], label]:
                found[-1] = found[-1]._replace(length=found[-1].length + 1)
            else:
                found.append(Segment(int(self.field[label]), t, 1))
        return found

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Fields):
            return NotImplemented
        same = np.array_equal(self.continues, other.continues) and np.array_equal(self.field, other.field)
        return same and self.names == other.names

    def __hash__(self) -> int:
        return hash((self.continues.tobytes(), self.field.tobytes(), self.names))
