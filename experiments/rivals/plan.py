"""The cells that the comparison of methods is made of."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from experiments.rivals.cells import (
    LETTERS,
    MALLET_TOKENS,
    NO_STOP_WORDS,
    OVERALL,
    SCIKIT_LEARN,
    TEN,
    Rival,
    Setup,
    split_of,
)

LABELLED = "2"
"""So many of each class, in the part with labels."""

AP_SOFTNESS = ((0.05, 1e-3), (0.05, 1e-4), (0.01, 1e-3), (0.01, 1e-4), (0.01, 1e-5), (0.003, 1e-4), (0.001, 1e-4))
SUPERVISED = Setup("", "", "supervised")
WITHOUT = replace(SUPERVISED, stopped=True, tol=1e-4)
PEER = replace(WITHOUT, alpha=10, method=SCIKIT_LEARN)
OTHER_TOKENS = tuple(
    replace(WITHOUT, alpha=10, stopped=stopped, tokens=tokens)
    for tokens in (MALLET_TOKENS, LETTERS)
    for stopped in (False, True)
)
IN_A_HUNDRED = tuple(replace(WITHOUT, alpha=alpha, relative=True) for alpha in (1, 10))
STOPPED = (
    replace(SUPERVISED, stopped=True),
    WITHOUT,
    replace(WITHOUT, alpha=10),
    *(Setup(TEN, "kl", "ge", beta=beta, tol=1e-4, stopped=True) for beta in (1, 0.05)),
    *(Setup(TEN, "l2", "ge", beta=beta, tol=1e-4, stopped=True) for beta in (0.5, 0.05)),
    Setup(TEN, "either", "ge", tol=1e-4, stopped=True),
    Setup(TEN, "either", "ap", beta=0.01, tol=1e-4, stopped=True),
    Setup(NO_STOP_WORDS, "kl", "ge", tol=1e-4, stopped=True),
)
"""The model's features without stop words."""

TRIED = (
    SUPERVISED,
    replace(SUPERVISED, tol=1e-4),
    *(Setup(TEN, "kl", "ge", beta=1, tol=tol) for tol in (1e-3, 1e-4, 1e-5)),
    Setup(TEN, "kl", "ge", tol=1e-4),
    *(Setup(TEN, "l2", "ge", beta=0.5, tol=tol) for tol in (1e-3, 1e-4)),
    Setup(TEN, "l2", "ge", tol=1e-4),
    *(Setup(TEN, "either", "ge", beta=beta, tol=1e-4) for beta in (0.5, 0.05)),
    *(Setup(TEN, "either", "ap", beta=beta, tol=tol) for beta, tol in AP_SOFTNESS),
    *(Setup(OVERALL, "kl", "ge", beta=1, tol=tol) for tol in (1e-3, 1e-4)),
    Setup(OVERALL, "l2", "ge", beta=0.5),
    Setup(NO_STOP_WORDS, "kl", "ge", beta=1, tol=1e-4),
    Setup(NO_STOP_WORDS, "either", "ge", tol=1e-4),
    Setup(NO_STOP_WORDS, "either", "ap"),
    *STOPPED,
    *(replace(WITHOUT, alpha=alpha) for alpha in (3, 30)),
    replace(SUPERVISED, alpha=10, tol=1e-4),
    *OTHER_TOKENS,
    *IN_A_HUNDRED,
)
"""On the development part, MALLET's set-up."""

UNLABELLED = (
    Rival("ap"),
    Rival("ge", method="ge"),
    Rival("ge, words of the constraints alone (base)", method="ge", base=True),
    Rival("ap, naive Bayes", model="naive_bayes"),
    Rival("ap, naive Bayes, scale=support", model="naive_bayes", scale="support"),
    Rival("ap, naive Bayes, α = 0.1", model="naive_bayes", alpha=0.1),
    Rival("vote", method="vote"),
    Rival("label model", method="label_model"),
    Rival("supervised", "all", "supervised", says=False),
)
FEW_LABELS = (
    Rival("ap", LABELLED),
    Rival("ge", LABELLED, "ge"),
    Rival("codl", LABELLED, "codl"),
    Rival("entropy", LABELLED, "entropy", says=False),
    Rival("self-training", LABELLED, "self_training", says=False),
    Rival("label regularisation", LABELLED, "label_regularization", says=False),
    Rival("supervised", LABELLED, "supervised", says=False),
    Rival("supervised, naive Bayes", LABELLED, "supervised", "naive_bayes", says=False),
    Rival("em, naive Bayes", LABELLED, "em", "naive_bayes", says=False),
    Rival("em, naive Bayes, even γ", LABELLED, "em", "naive_bayes", says=False, even=True),
)


@dataclass(frozen=True)
class Cell:
    """A set-up or a rival on one split of a collection, or on its development part."""

    collection: str
    seed: int
    what: Setup | Rival
    development: bool = False

    @property
    def key(self) -> str:
        part = "development" if self.development else "test"
        return f"{self.collection} | {part} {self.seed} | {self.what.key}"

    def measure(self) -> dict[str, Any]:
        split = split_of(self.collection, self.seed, development=self.development)
        if isinstance(self.what, Setup):
            return self.what.measure(split)
        return self.what.measure(split, self.seed)


@dataclass(frozen=True)
class Plan:
    """``mallet``: the collection of MALLET's set-up; what is ``tried`` on its development part and what is then
    ``chosen`` for its test part. ``seeds``: splits of each collection; ``labelled``: the collections of the part with
    few labels."""

    mallet: str
    tried: tuple[Setup, ...]
    chosen: tuple[Setup, ...]
    seeds: dict[str, int]
    labelled: tuple[str, ...]

    def cells(self) -> list[Cell]:
        found = [Cell(self.mallet, 0, setup, development=True) for setup in self.tried]
        found += [Cell(self.mallet, 0, setup) for setup in self.chosen]
        for name, n in self.seeds.items():
            rivals = UNLABELLED + (FEW_LABELS if name in self.labelled else ())
            found += [Cell(name, seed, rival) for seed in range(n) for rival in rivals]
        return found

    @property
    def collections(self) -> list[str]:
        return list(dict.fromkeys([self.mallet, *self.seeds]))


CHOSEN = (
    SUPERVISED,
    *(Setup(TEN, "kl", "ge", beta=beta, tol=1e-4) for beta in (1, 0.05)),
    *STOPPED,
    PEER,
    *OTHER_TOKENS,
    *IN_A_HUNDRED,
)
"""On the test part: MALLET's own weights (β = 1 and 0.5) beside the default β, and α as the development part has it."""

GOALS = {
    IN_A_HUNDRED[0]: 0.778,
    Setup(TEN, "kl", "ge", tol=1e-4, stopped=True): 0.609,
    Setup(TEN, "l2", "ge", tol=1e-4, stopped=True): 0.629,
}
"""Macro-F1 of MALLET 2.1.1 as measured elsewhere, and which set-up must reach it: the default β for GE."""

FULL = Plan("20newsgroups", TRIED, CHOSEN, {"movie": 3, "webkb": 3, "sector": 3, "20newsgroups": 1}, ("webkb", "movie"))
QUICK = Plan("youtube", (SUPERVISED, TRIED[2]), (SUPERVISED, TRIED[2]), {"youtube": 1}, ("youtube",))
