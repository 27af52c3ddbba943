"""The cells that Table 3 is made of.

What is said of citations is chosen on the development part, for each method by the mean accuracy over N = 5 and 20,
transductively; only what won there is run on the test part.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from experiments.command import Finished, Stage
from experiments.table3.cells import ALL, CHOICES, INDUCTIVE, PAPER, SIZES, SUBSETS, TABLE_2, TRANSDUCTIVE, WORDS, Cell

METHODS = ("ap", "codl")
COLUMNS = {
    "Sup": ("supervised", "supervised"),
    "AP-T": ("ap", TRANSDUCTIVE),
    "AP-I": ("ap", INDUCTIVE),
    "CODL-T": ("codl", TRANSDUCTIVE),
    "CODL-I": ("codl", INDUCTIVE),
}
"""The table's columns: method and way."""

ALL_OF_TABLE_2 = "AP-T, all of Table 2"
PROCEDURE = "AP-T, all of Table 2, the paper's procedure"
OTHERS = {
    "AP-T, the words (3)–(11) alone": (TRANSDUCTIVE, WORDS),
    "AP-I, the words (3)–(11) alone": (INDUCTIVE, WORDS),
    ALL_OF_TABLE_2: (TRANSDUCTIVE, TABLE_2),
    PROCEDURE: (TRANSDUCTIVE, PAPER),
}
"""Told beside the table, whatever was chosen: what the paper's own statements give."""


@dataclass(frozen=True)
class Plan:
    """``chosen_by``: the sizes that decide; ``sizes`` are those of the table."""

    choices: tuple[str, ...] = tuple(CHOICES)
    chosen_by: tuple[int, ...] = (5, 20)
    sizes: tuple[int, ...] = SIZES
    subsets: int = SUBSETS
    test: str = "test"
    others: tuple[str, ...] = tuple(OTHERS)

    def tried(self, method: str, more: str, n: int) -> list[Cell]:
        return [Cell(n, k, "dev", method, TRANSDUCTIVE, more) for k in range(self.subsets)]

    def development(self, _: Finished) -> list[Cell]:
        return [
            cell for m in METHODS for more in self.choices for n in self.chosen_by for cell in self.tried(m, more, n)
        ]

    def chosen(self, found: Finished, method: str) -> str:
        """The best choice on the development part."""
        return max(
            self.choices,
            key=lambda more: np.mean([accuracies(found, self.tried(method, more, n)) for n in self.chosen_by]),
        )

    def column(self, found: Finished, name: str, n: int) -> list[Cell]:
        """The runs of one cell of the table. Of all 300 there is but one subset: its runs differ by the seed of the
        sampler alone, and without constraints nothing is random."""
        method, way = COLUMNS[name]
        if method == "supervised":
            return [Cell(n, k, self.test) for k in range(1 if n == ALL else self.subsets)]
        more = self.chosen(found, method)
        return [Cell(n, k, self.test, method, way, more) for k in range(self.subsets)]

    def other(self, name: str, n: int) -> list[Cell]:
        way, more = OTHERS[name]
        return [Cell(n, k, self.test, "ap", way, more) for k in range(self.subsets)]

    def final(self, found: Finished) -> list[Cell]:
        table = [cell for n in self.sizes for name in COLUMNS for cell in self.column(found, name, n)]
        return table + [cell for name in self.others for n in self.sizes for cell in self.other(name, n)]

    @property
    def stages(self) -> tuple[Stage, ...]:
        return (self.development, self.final)


def accuracies(found: Finished, cells: Sequence[Cell], field: str = "accuracy") -> list[float]:
    """Run by run."""
    return [float(found[cell.key][field]) for cell in cells]


FULL = Plan()
QUICK = Plan((WORDS,), (5,), (5,), 2, "dev", ())
