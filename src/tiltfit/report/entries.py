"""Several entries of one kind: what reports, explanations and suggestions give."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar


class Plain(Protocol):
    """One entry, which prints itself and has a form as plain data."""

    def to_dict(self) -> dict[str, Any]: ...


E = TypeVar("E", bound=Plain)


@dataclass(frozen=True)
class Entries(Generic[E]):
    """A tuple that prints itself, one entry after another."""

    entries: tuple[E, ...]

    def __iter__(self) -> Iterator[E]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def __getitem__(self, index: int) -> E:
        return self.entries[index]

    def __str__(self) -> str:
        return "\n".join(map(str, self.entries))

    def to_dicts(self) -> list[dict[str, Any]]:
        """Rows as plain data, for JSON."""
        return [entry.to_dict() for entry in self.entries]
