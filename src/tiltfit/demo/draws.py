"""Random choices that are the same on every platform and in every Python, and writing a generated collection."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")
_SLOT = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class Draws:
    """Draws from ``rng`` with random() alone: Python guarantees its sequence, but not that of choice() or shuffle().

    The order of the draws is part of what makes a collection reproducible. ``rates`` says how often things happen.
    """

    rng: random.Random
    rates: Mapping[str, float]

    def happens(self, what: str) -> bool:
        return self.chance(self.rates[what])

    def chance(self, rate: float) -> bool:
        return self.rng.random() < rate

    def pick(self, options: Sequence[T]) -> T:
        return options[int(self.rng.random() * len(options))]

    def whole(self, low: int, high: int) -> int:
        """Return an integer from ``low`` to ``high``, both included."""
        return low + int(self.rng.random() * (high - low + 1))

    def weighted(self, shares: Mapping[str, float]) -> str:
        at = self.rng.random() * math.fsum(shares.values())  # sum() rounds differently in Python 3.11 and 3.12
        names = list(shares)
        passed = 0
        while passed < len(names) - 1 and at >= shares[names[passed]]:
            at -= shares[names[passed]]
            passed += 1
        return names[passed]

    def expand(self, template: str, phrases: Mapping[str, Sequence[str]]) -> str:
        """Replace every ``{name}`` by one of its phrases, and those in them, until none is left."""
        text = template
        while (slot := _SLOT.search(text)) is not None:
            text = text[: slot.start()] + self.pick(phrases[slot[1]]) + text[slot.end() :]
        return text


def write_files(folder: Path, files: Mapping[str, str]) -> list[Path]:
    """Write ``files`` (name → content) into ``folder``, which is created if it does not exist; return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).write_text(content, encoding="utf-8", newline="\n")
    return [folder / name for name in files]
