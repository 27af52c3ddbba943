"""Random choices that are the same on every platform and in every Python."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")
_SLOT = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class Draws:
    """Draws from ``rng`` with random() alone: Python guarantees its sequence, but not that of choice()."""

    rng: random.Random

    def happens(self, rate: float) -> bool:
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
