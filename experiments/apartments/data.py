"""The advertisements, what is said of them, and what the model looks at."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks.corpora import data_root

from tiltfit import Constraint, expect, punctuation, word
from tiltfit.data.readers.tagged import read_sequences
from tiltfit.features.similarity import WordVectors
from tiltfit.features.tokens import TokenTemplates

FOLDER = "apartments"


@dataclass(frozen=True)
class Ads:
    """Tokens and, of the parts that have them, their labels."""

    tokens: list[list[str]]
    labels: list[list[str]]


@cache
def ads(part: str) -> Ads:
    """``train``, ``dev``, ``test``."""
    found = read_sequences(_folder() / f"ads_{part}.txt", format="conll", delimiter=" ", label=1)
    return Ads([list(row) for row in found.tokens], [[str(label) for label in row or []] for row in found.y or []])


def unlabelled() -> list[list[str]]:
    """The texts that everything learns from: those of train and dev."""
    return ads("train").tokens + ads("dev").tokens


def other_ads() -> list[list[str]]:
    """8,464 further texts, for word lists alone."""
    path = _folder() / "ads_unlabeled.txt.bz2"
    found = read_sequences(path, unlabelled="?", blank="replace")
    return [list(row) for row in found.tokens]


@cache
def prototypes() -> dict[str, list[str]]:
    """Three words for each label."""
    lines = (_folder() / "prototypes.tsv").read_text(encoding="utf-8").splitlines()
    rows = dict(line.split("\t") for line in lines if not line.startswith("#"))
    return {label: words.split() for label, words in sorted(rows.items()) if label != "BOUNDARY"}


# What is said

WORDS = "words"
STAY = "words, 90 % stay"


def constraints(said: str, stay_beta: float | None = None) -> list[Constraint]:
    """The statements of a person: nine in ten of every prototype have its label; nine in ten tokens have the label
    of the token before; and, only where asked for, that four tokens in ten describe features of the flat, or that eight
    changes of the field in ten follow punctuation."""
    stay = expect.stay().about(0.9) if stay_beta is None else expect.stay().about(0.9, beta=stay_beta)
    more = {
        WORDS: [],
        STAY: [stay],
        f"{WORDS}, 40 % features": [expect("FEATURES").about(0.4)],
        f"{STAY}, 40 % features": [stay, expect("FEATURES").about(0.4)],
        f"{STAY}, changes on punctuation": [
            stay,
            expect.change(given=punctuation.before, of=expect.change()).at_least(0.8, slack=0.01),
        ],
    }
    listed = [(label, given) for label, words in prototypes().items() for given in words]
    return [expect(label, given=word(given, case=True)).about(0.9) for label, given in listed] + more[said]


MORE = (f"{WORDS}, 40 % features", f"{STAY}, 40 % features", f"{STAY}, changes on punctuation")


# What the model looks at

OWN, OTHERS = "200 ads", "8,464 ads"
"""The sources of word lists: the ads that are learned from, or these and all the others."""


@dataclass(frozen=True)
class Look:
    """``spelling``: affixes, shape, patterns, position, and the tokens beside, as by default; ``around``: the tokens up
    to three away, each at its place; ``nearby``: distances of tokens wherever; ``alike``: where lists of words used
    like each prototype come from, looked up for the token and, wherever, within the distances ``alike_nearby``; a word
    stands in ``top`` lists at most; ``dimensions``: of the vectors that are compared."""

    spelling: bool = False
    around: bool = False
    nearby: tuple[int, ...] = ()
    alike: str = ""
    alike_nearby: tuple[int, ...] = (3, 10)
    top: int = 3
    dimensions: int = 50
    punctuation: bool = True

    def __str__(self) -> str:
        parts = ["spelling"] if self.spelling else []
        parts += ["tokens ±3"] if self.around else []
        parts += [f"tokens within {_listed(self.nearby)}"] if self.nearby else []
        if self.alike:
            within = f" within {_listed(self.alike_nearby)}" if self.alike_nearby else ""
            lists = "" if self.top == 3 else f", top {self.top}"
            parts.append(f"words alike{within} ({self.alike}, {self.dimensions} dimensions{lists})")
        parts += [] if self.punctuation else ["plain transitions"]
        return " + ".join(["token", *parts])

    def templates(self) -> TokenTemplates:
        options: dict[str, Any] = {"nearby": self.nearby}
        if not self.spelling:
            options |= {"shape": (), "prefixes": (), "suffixes": (), "patterns": {}, "buckets": 0, "lower": (0,)}
            options |= {"classes_at": (0,)}
        if self.around:
            options["lower"] = (-3, -2, -1, 0, 1, 2, 3)
        if self.alike:
            options |= {"lexicons": alike(self.alike, self.top, self.dimensions), "classes_nearby": self.alike_nearby}
        return TokenTemplates(**options)


def _listed(distances: tuple[int, ...]) -> str:
    return " and ".join(map(str, distances))


@cache
def _vectors(source: str, dimensions: int) -> WordVectors:
    if source == OWN:
        return WordVectors.of(unlabelled(), min_count=2, dimensions=dimensions)
    return WordVectors.of(other_ads() + unlabelled(), dimensions=dimensions)


@cache
def alike(source: str, top: int, dimensions: int) -> dict[str, list[str]]:
    """Word lists of the prototypes. No label takes part."""
    return _vectors(source, dimensions).lexicons((w for words in prototypes().values() for w in words), top=top)


def _folder() -> Path:
    root = data_root()
    assert root is not None
    return root / FOLDER
