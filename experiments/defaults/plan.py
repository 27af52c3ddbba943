"""The cells that the choice of defaults is based on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from experiments.defaults.cells import REFERENCES, Cell, Setting
from experiments.development import TICKETS

CHOSEN = Setting(scale="unit", beta=0.05, alpha=1.0, weighting="tfidf", length=10.0, solver="joint")
"""A compromise: labelled words at 0.9 would have β = 0.1, the demo's dozen careful statements 0.01."""


@dataclass(frozen=True)
class Plan:
    """The cells to measure. ``seeds``: how many splits of each collection, one where the judged side is large;
    ``variations`` are tried on the first. ``tickets``: how many generated collections of each size."""

    seeds: dict[str, int]
    grid: tuple[Setting, ...]
    variations: tuple[Setting, ...]
    alternating: tuple[str, ...]
    sized: tuple[Setting, ...]
    sizes: dict[str, tuple[str, ...]]
    tickets: dict[str, int]

    def splits(self, settings: Sequence[Setting | str]) -> list[Cell]:
        return [Cell(name, seed, s) for name, n in self.seeds.items() for seed in range(n) for s in settings]

    def first_splits(self, settings: Sequence[Setting]) -> list[Cell]:
        return [Cell(name, 0, s) for name in self.seeds for s in settings]

    def cells(self) -> list[Cell]:
        cells = self.splits([*REFERENCES, *self.grid])
        cells += self.splits([replace(s, true_targets=True) for s in self.sized])
        cells += self.first_splits(self.variations)
        cells += [Cell(name, 0, replace(CHOSEN, solver="alternating")) for name in self.alternating]
        for name, sizes in self.sizes.items():
            cells += [Cell(name, seed, s, n) for seed in range(self.seeds[name]) for s in self.sized for n in sizes]
        return cells + self.on_tickets()

    def on_tickets(self) -> list[Cell]:
        return [
            Cell(TICKETS, seed, s, n) for n, seeds in self.tickets.items() for seed in range(seeds) for s in self.sized
        ]


STRENGTHS = (*product(["unit"], (0.003, 0.01, 0.03, 0.05, 0.1, 0.3)), *product(["support"], (0.3, 1.0, 3.0)))
LENGTHS = (3.0, 10.0, 30.0)
VARIATIONS: tuple[dict[str, Any], ...] = (
    {"alpha": 0.3},
    {"alpha": 3.0},
    {"weighting": "log", "length": 10.0},
    {"weighting": "log", "length": None},
    {"weighting": "binary", "length": None},
    {"weighting": "counts", "length": None},
    {"tol": 1e-5},
)

FULL = Plan(
    seeds={"youtube": 3, "movie": 3, "webkb": 3, "sector": 1, "20newsgroups": 1},
    grid=tuple(Setting(s, b, length=n) for (s, b), n in product(STRENGTHS, LENGTHS)),
    variations=tuple(replace(CHOSEN, **change) for change in VARIATIONS),
    alternating=("youtube", "movie", "webkb"),
    sized=tuple(Setting(s, b) for s, b in STRENGTHS if s == "unit" or b == 1),
    sizes={
        "youtube": ("200",),
        "movie": ("200",),
        "webkb": ("200", "1000", "all × 10"),
        "sector": ("200", "1000", "3000"),
        "20newsgroups": ("200", "1000", "3000", "all + judged", "all × 10"),
    },
    tickets={"200": 3, "all": 3},
)
QUICK = Plan(
    seeds={"youtube": 1},
    grid=tuple(Setting(s, b) for s, b in STRENGTHS),
    variations=(replace(CHOSEN, weighting="log"),),
    alternating=("youtube",),
    sized=(Setting(beta=0.01), CHOSEN),
    sizes={"youtube": ("200",)},
    tickets={"200": 1, "all": 1},
)
