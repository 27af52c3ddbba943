"""The cells of Table 3: one way of learning from N labelled citations, scored by token accuracy."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from benchmarks.citations import LABELS, citations, few_labelled, lexicons, table_2

from tiltfit import Constraint, TiltTagger, expect, punctuation
from tiltfit.language.relations import About

ALL = 300
SIZES = (5, 20, ALL)
SUBSETS = 5
SUPERVISED, TRANSDUCTIVE, INDUCTIVE = "supervised", "transductive", "inductive"

ONCE = [expect.repeats().at_most(0.3, name="fields come once")]
ON_PUNCTUATION = [expect.change(given=~punctuation.before).at_most(0.01, name="fields change on punctuation")]
OF_CHANGES = [
    expect.change(given=punctuation.before, of=expect.change()).at_least(0.9, name="changes are on punctuation")
]
MUST = [
    expect.appears("author").at_least(0.95),
    expect.appears("title").at_least(0.97),
    expect.appears("date").at_least(0.95),
]

WORDS, TABLE_2 = "words (3)–(11)", "words, (1), (2): Table 2"
CHOICES: dict[str, list[Constraint]] = {
    WORDS: [],
    "words, (2) on punctuation": ON_PUNCTUATION,
    "words, (2) as a share of changes": OF_CHANGES,
    "words, (1) once": ONCE,
    "words, must appear": MUST,
    "words, (1) once, must appear": ONCE + MUST,
    TABLE_2: ONCE + ON_PUNCTUATION,
}
"""Constraints beside the words: Table 2, and what must appear (Chang et al. 2007; targets from the 300 labelled)."""

PAPER = "all of Table 2, the paper's procedure"
"""§6 as near as can be: α = β = 1 on sums, squared penalties, γ = 0.1, T = 10 rounds of stochastic gradient descent
from the model of the labels alone, q by Markov chains; (1) is "at most one repetition", and labels revise nothing."""
_PROCEDURE: dict[str, Any] = {
    "alpha": 1.0, "gamma": 0.1, "scale": "support", "penalize_intercept": True, "revise": None, "solver": "sgd",
    "max_iter": 10, "tol": 0.0, "init": "supervised", "inference": "sampled",
}  # fmt: skip


def papers_statements() -> list[Constraint]:
    """All of Table 2, with the values and penalties of §6."""
    words = [replace(c, relation=About(0.99, penalty="l2"), beta=1.0) for c in table_2()]
    return [*words, expect.repeats().at_most(1.0, name="fields come once"), *ON_PUNCTUATION]


@dataclass(frozen=True)
class Cell:
    """One fit. ``more``: which constraints of ``CHOICES``, or ``PAPER``; ``part``: what is scored."""

    n: int
    subset: int
    part: str
    method: str = "supervised"
    way: str = SUPERVISED
    more: str = ""

    @property
    def key(self) -> str:
        told = [self.part, self.method, *([self.way, self.more] if self.more else [])]
        return " | ".join([*told, f"N = {self.n}", f"subset {self.subset}"])

    def measure(self) -> dict[str, Any]:
        """``accuracy`` of p, and of every citation how many tokens are ``right``; ``projected``: accuracy of q;
        ``prices`` of the constraints in log-odds an event."""
        scored = citations(self.part)
        X, y = few_labelled(self.n, self.subset)
        unlabelled = self._unlabelled(list(scored.tokens))
        said = self._said()
        tagger = TiltTagger(
            said,
            classes=LABELS,
            features={"lexicons": lexicons()},
            method=self.method if said else "ap",
            random_state=self.subset,
            n_jobs=1,
            **(_PROCEDURE if self.more == PAPER else {}),
        )
        started = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # words that a subset does not have, constraints that are not quite met
            tagger.fit(X + unlabelled, y + [None] * len(unlabelled))
            seconds = time.process_time() - started
            right = _right(tagger.predict(list(scored.tokens)), scored.y)
            total = sum(map(len, scored.tokens))
            found = {"accuracy": sum(right) / total, "seconds": seconds, "rounds": tagger.n_iter_, "right": right}
            if said:
                tags = tagger.project(list(scored.tokens), decode=True)
                found["projected"] = sum(_right(tags, scored.y)) / total
                found["prices"] = {entry.title: entry.price for entry in tagger.constraint_report_}
        return found

    def _said(self) -> list[Constraint]:
        if self.more == PAPER:
            return papers_statements()
        return [*table_2(), *CHOICES[self.more]] if self.more else []

    def _unlabelled(self, scored: list[list[str]]) -> list[list[str]]:
        if self.way == SUPERVISED:
            return []
        return scored if self.way == TRANSDUCTIVE else list(citations("unlabeled", labelled=False).tokens)


def _right(tags: Any, truth: Any) -> list[int]:
    return [int(np.sum(np.asarray(a) == np.asarray(b))) for a, b in zip(tags, truth, strict=True)]
