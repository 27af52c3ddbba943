"""Small fitted models that the tests of pages share."""

from __future__ import annotations

import pytest

from tiltfit import TiltClassifier, TiltTagger, expect, word

TEXTS = [
    "the puck hit the goalie", "goalie saves the puck", "a bat and a pitcher", "the pitcher has a bat",
    "puck or bat, who knows", "the goalie skates", "a pitcher of water", "nothing at all",
]  # fmt: skip
LABELS = ["hockey", "hockey", "baseball", "baseball", "hockey", "hockey", None, None]
CONSTRAINTS = [
    expect("hockey", given=word("puck")).about(0.9, name="pucks"),
    expect("baseball", given=word("bat")).between(0.6, 0.95, name="bats", rationale="they <bat>"),
    expect("hockey").at_least(0.3),
    expect(given=word("goalie")).distributed_as({"hockey": 0.9, "baseball": 0.1}),
]
SEQUENCES = [["Smith", ",", "A", "title", ".", "1999"], ["Jones", ".", "More", "<b>", "1984"], ["Lee", "2001"]]
TAGS = [["author", "author", "title", "title", "title", "date"], None, ["author", "date"]]


@pytest.fixture(scope="session")
def classifier() -> TiltClassifier:
    return TiltClassifier(CONSTRAINTS, classes=["baseball", "hockey"]).fit(TEXTS)


@pytest.fixture(scope="session")
def tagger() -> TiltTagger:
    constraints = [
        expect("date", given=word("1984") | word("2001")).about(0.95, name="years"),
        expect.segments("title").about(1),
        expect.start("author").at_least(0.8),
    ]
    return TiltTagger(constraints, classes=["author", "title", "date"]).fit(SEQUENCES, TAGS)
