"""Which cells there are, and which are left out with a reason."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from experiments.command import KEPT
from experiments.command import Cell as AnyCell

from benchmarks.models.cells import Cell, Encoded
from benchmarks.models.contestants import CONTESTANTS, Contestant

TOO_LONG = "its texts are long, and the sentence encoder is slow on them"
NO_SENTENCES = "its texts are stemmed and have lost the order of words"
LEFT_OUT = {"movie": TOO_LONG, "webkb": TOO_LONG, "sector": NO_SENTENCES, "20newsgroups": TOO_LONG}
"""Collections whose texts the sentence encoder does not read."""
LARGE = ("sector", "20newsgroups")
"""Only their first split is tried."""


@dataclass(frozen=True)
class Plan:
    """``folder``: where vectors are kept."""

    names: tuple[str, ...]
    splits: int
    contestants: tuple[Contestant, ...] = CONTESTANTS
    folder: Path = KEPT

    @property
    def here(self) -> list[Contestant]:
        """Those that can run on this machine."""
        return [c for c in self.contestants if not c.missing]

    @property
    def folders(self) -> tuple[str, ...]:
        """Of the data."""
        return tuple(dict.fromkeys("rules" if name in ("trec", "sms") else name for name in self.names))

    def encoded(self) -> list[AnyCell]:
        if not any(c.sentences for c in self.here):
            return []
        return [Encoded(name, self.folder) for name in self.names if name not in LEFT_OUT]

    def cells(self) -> list[AnyCell]:
        """The first splits first, and of each the quick ones."""
        return [
            Cell(name, split, c.title, self.folder)
            for split in range(self.splits)
            for slow in (False, True)
            for name in self.names
            for c in self.here
            if c.slow == slow and not (c.sentences and name in LEFT_OUT) and not (split and (slow or name in LARGE))
        ]


FULL = Plan(("trec", "sms", "youtube", "movie", "webkb", "sector", "20newsgroups"), 3)
QUICK = Plan(("youtube",), 1)
