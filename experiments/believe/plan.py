"""The figures of the table, and the cells that they are made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

from experiments.believe.cells import (
    DEV,
    RULES,
    SOURCES,
    TEST,
    WORDS,
    Demo,
    GlobalWords,
    Marked,
    Page,
    Statements,
    Text,
)
from experiments.command import Cell, Finished
from experiments.table3.cells import SIZES

Reader = Callable[["Plan", Finished], float]


@dataclass(frozen=True)
class Figure:
    """``now``: what it was before the defaults of this page; ``must`` and ``goal``: what it has to be and should be.
    ``needs``: the cells that ``read`` takes it from."""

    title: str
    now: float
    must: float
    goal: float
    needs: Callable[[Plan], list[Cell]]
    read: Reader
    lower: bool = False
    """Whether less is better."""

    def value(self, plan: Plan, found: Finished) -> float | None:
        """None where the plan leaves it out."""
        return self.read(plan, found) if all(cell.key in found for cell in self.needs(plan)) else None

    def reached(self, value: float, limit: float) -> bool:
        """Whether a value is as good as a limit, both as they are shown."""
        shown, wanted = round(value, 3), round(limit, 3)
        return shown <= wanted if self.lower else shown >= wanted

    def progress(self, value: float) -> float:
        """0 as before, 1 at the goal."""
        return (value - self.now) / (self.goal - self.now)


@dataclass(frozen=True)
class Plan:
    """``part``: ``test``, or ``dev`` while defaults are still being chosen. ``words``: the text sets with labelled
    words. ``pages``: whether other pages and the large collection take part. ``demo``: the generated references."""

    part: str = TEST
    words: tuple[str, ...] = WORDS
    sources: tuple[str, ...] = SOURCES
    pages: bool = True
    demo: Demo = field(default_factory=Demo)

    @property
    def texts(self) -> list[Text]:
        return [Text(name, self.part) for name in (*RULES, *self.words)]

    def cells(self) -> list[Cell]:
        listed: list[Cell] = [*self.texts, *(Marked(name, self.part) for name in self.sources), Statements(), self.demo]
        return [*listed, GlobalWords(self.part), Page("table1"), Page("table3")] if self.pages else listed

    @property
    def folders(self) -> tuple[str, ...]:
        return ("youtube", "rules", "entities", *self.words)


def _one(make: Callable[[Plan], Cell]) -> dict[str, Any]:
    """The score of one cell."""
    return {"needs": lambda plan: [make(plan)], "read": lambda plan, found: float(found[make(plan).key]["score"])}


def _mean(name: str, make: Callable[[Plan], list[Cell]]) -> dict[str, Any]:
    """The mean of a figure over cells."""
    return {"needs": make, "read": lambda plan, found: fmean(found[cell.key][name] for cell in make(plan))}


def _rules(plan: Plan) -> list[Cell]:
    return [Text(name, plan.part) for name in RULES]


def _cora(which: str, n: int) -> dict[str, Any]:
    page = Page("table3")
    return {"needs": lambda _: [page], "read": lambda _, found: float(found[page.key][which][str(n)])}


FIGURES = (
    Figure(
        "calibration error, mean of the seven text sets", 0.14, 0.06, 0.04, lower=True,
        **_mean("calibration", lambda plan: list(plan.texts)),
    ),
    Figure("rules at 0.9: mean of youtube, sms (F1), trec", 0.794, 0.83, 0.86, **_mean("score", _rules)),
    Figure("Table 1: mean of eight rows", 0.779, 0.785, 0.80, **_one(lambda _: Page("table1"))),
    Figure("entities: laptop, F1", 0.12, 0.58, 0.63, **_one(lambda plan: Marked("laptop", plan.part))),
    Figure("entities: ncbi, F1", 0.14, 0.68, 0.74, **_one(lambda plan: Marked("ncbi", plan.part))),
    Figure(
        "20 newsgroups, 294 words of all labels together", 0.567, 0.66, 0.70, **_one(lambda p: GlobalWords(p.part))
    ),
    *(
        Figure(f"Cora, AP-T, N = {n}", now, now, goal, **_cora("AP-T", n))
        for n, now, goal in zip(SIZES, (0.803, 0.900, 0.975), (0.82, 0.91, 0.977), strict=True)
    ),
    *(
        Figure(f"Cora, AP-T, all eleven statements, N = {n}", now, must, goal, **_cora("AP-T, all of Table 2", n))
        for n, now, must, goal in zip(
            SIZES, (0.577, 0.772, 0.971), (0.79, 0.89, 0.972), (0.81, 0.905, 0.976), strict=True
        )
    ),
    Figure(
        "five statements of 90 % on 500 messages end within", 0.20, 0.05, 0.03, lower=True,
        **_one(lambda _: Statements()),
    ),
    Figure("demo tagger without options", 0.893, 0.92, 0.93, **_one(lambda plan: plan.demo)),
)  # fmt: skip

FULL = Plan()
QUICK = Plan(DEV, (), ("laptop",), pages=False, demo=Demo(seed=1, n=60))
