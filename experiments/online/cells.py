"""The cells: a variant on the development part of a collection, or a way of learning citations."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from benchmarks.citations import LABELS, citations, few_labelled, lexicons, table_2
from benchmarks.online import Prepared, batch

from experiments.online.variants import vary
from tiltfit import TiltTagger

BATCH = "batch"
SIZES = (5, 20, 300)
PAPER = {"gamma": 0.1, "alpha": 1.0, "beta": 1.0}
HOW: dict[str, dict[str, Any]] = {
    BATCH: {},
    "online": {"solver": "online", "online": {"passes": 10}},
    "as printed": {"solver": "online", "online": {"passes": 10, "steps": "printed"}},
}
A_STEP: dict[str, dict[str, Any]] = {
    BATCH: {},
    **{f"{k} a step": {"solver": "online", "online": {"passes": 10, "batch_size": k}} for k in (16, 32, 64)},
}


@dataclass(frozen=True)
class Variant:
    """A variant of ``variants.VARIANTS`` (or "batch") on the development part of a collection."""

    collection: str
    variant: str

    @property
    def key(self) -> str:
        return f"{self.collection} | {self.variant}"

    def measure(self) -> dict[str, Any]:
        """Macro-F1 (online: pass by pass), and seconds of all."""
        data = _prepared(self.collection)
        return batch(data) if self.variant == BATCH else vary(data, self.variant)


@lru_cache(maxsize=1)
def _prepared(collection: str) -> Prepared:
    return Prepared.of(collection, development=True)


@dataclass(frozen=True)
class Citations:
    """Cora, inductive (AP-I; γ = 0.1, α = β = 1, ten passes, words of Table 2). ``how``: of HOW or A_STEP; ``part``:
    what is scored."""

    n: int
    subset: int
    how: str
    part: str = "test"

    @property
    def key(self) -> str:
        return f"cora {self.part} | {self.n} | {self.subset} | {self.how}"

    def measure(self) -> dict[str, Any]:
        """Token accuracy, and seconds of the fit."""
        scored = citations(self.part)
        X, y = few_labelled(self.n, self.subset)
        more = list(citations("unlabeled", labelled=False).tokens)
        how: dict[str, Any] = {**PAPER, **(HOW | A_STEP)[self.how]}
        tagger = TiltTagger(
            table_2(), classes=LABELS, features={"lexicons": lexicons()}, random_state=self.subset, n_jobs=1, **how
        )
        started = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # words that a subset does not have
            tagger.fit(X + more, y + [None] * len(more))
        return {"accuracy": tagger.score(scored.tokens, scored.y), "seconds": time.perf_counter() - started}


def subsets(n: int) -> range:
    """All 300 give one run: nothing is random."""
    return range(1 if n == 300 else 5)


def citation_cells(ways: Iterable[str] = HOW, part: str = "test") -> list[Citations]:
    return [Citations(n, k, how, part) for how in ways for n in SIZES for k in subsets(n)]
