"""What is close in meaning to words that are stated or suggested, against cosines computed by hand."""

from __future__ import annotations

import numpy as np
import pytest

from tiltfit import expect, near, phrase, regex, suggest, word
from tiltfit.errors import DataError, UnsupportedError
from tiltfit.features.vectors import ENCODERS, named_encoder, register_encoder
from tiltfit.language import toml

ANGLES = {"puck": 0, "goalie": 30, "rink": 60, "bat": 180, "pitcher": 200, "won": 270}
TEXTS = [
    "puck won",
    "puck today",
    "goalie won",
    "goalie late",
    "rink",
    "rink late",
    "bat won",
    "bat",
    "pitcher",
    "pitcher",
]
LABELS = ["hockey", None, None, None, None, None, "baseball", None, None, None]


class Compass:
    """Words are directions; a text is the sum of those it knows."""

    def encode(self, texts):
        known = [[np.radians(ANGLES[token]) for token in text.split() if token in ANGLES] for text in texts]
        return np.array([[np.sum(np.cos(angles)), np.sum(np.sin(angles))] for angles in known])


@pytest.fixture(autouse=True)
def compass():
    register_encoder("compass", Compass)
    yield
    ENCODERS.remove("compass")
    named_encoder.cache_clear()


def found(**options):
    return suggest(TEXTS, LABELS, min_support=2, longest=1, encoder="compass", **options)


def test_words_are_those_within_the_angle_nearest_first():
    (alike,) = [alike for condition, alike in found().alike.items() if condition == word("puck")]
    assert [(w.text, c) for w, c in alike.words] == [
        ("goalie", pytest.approx(np.cos(np.radians(30)))),
        ("rink", pytest.approx(0.5)),
    ]


def test_the_condition_fires_as_often_as_the_word_and_its_examples_lack_it():
    # Directions: "puck won" 315°, "puck today" 0°, "goalie won" 330°, "goalie late" 30°, those with "rink" 60°.
    alike = found().alike[word("puck")]
    # Two texts say "puck", and the second largest cosine is 0.866, which two texts have.
    assert alike.near == near("puck", above=0.86, encoder="compass")
    assert (alike.count, alike.apart, alike.examples) == (3, 2, ("goalie won", "goalie late"))


def test_stated_words_are_asked_too_and_are_no_news():
    stated = [
        expect("hockey", given=word("goalie") & ~regex("x")).about(0.9),
        expect("baseball", given=phrase("bat won")).about(0.9),
    ]
    result = found(constraints=stated, top=1)
    assert {word("goalie"), phrase("bat won")} <= set(result.alike)
    assert all(w != word("goalie") for alike in result.alike.values() for w, _ in alike.words)
    text = str(result)
    assert 'Stated: documents with the word "goalie"' in text
    assert 'also "puck" (0.87), "rink" (0.87)?' in text


def test_a_file_to_fill_in_is_valid_and_its_conditions_are_too():
    result = found(top=3)
    written = result.to_toml()
    assert len(toml.loads(written)) == 0
    (line, *_) = [line for line in written.splitlines() if "near = {" in line]
    entry = 'version = 1\n[[constraint]]\nlabel = "hockey"\nabout = 0.9\n' + line.lstrip("# ")
    (constraint,) = toml.loads(entry)
    assert constraint.given in {alike.near for alike in result.alike.values()}
    assert {a["near"]["near"]["encoder"] for a in result.to_dict()["alike"] if a["near"]} == {"compass"}


def test_without_an_encoder_nothing_changes():
    plain = suggest(TEXTS, LABELS, min_support=2, longest=1)
    assert plain.alike == {}
    assert plain.entries == found().entries
    assert "also" not in str(plain)


def test_words_that_the_encoder_does_not_know_are_left_out():
    assert word("late") not in found(top=20).alike


def test_what_has_no_texts_is_refused():
    with pytest.raises(UnsupportedError, match="compares texts, but X holds tokens"):
        suggest([["a", "b"]] * 4, [["x", "y"]] * 4, min_support=1, encoder="compass")
    with pytest.raises(UnsupportedError, match="compares texts, but X holds rows"):
        suggest(np.eye(4), [0, 1, 0, 1], feature_names=list("abcd"), min_support=1, encoder="compass")


def test_unknown_encoders_are_refused_by_name():
    with pytest.raises(DataError, match="compas"):
        suggest(TEXTS, LABELS, min_support=2, encoder="compas")


def test_the_static_encoder():
    pytest.importorskip("wordllama")
    texts = ["the city sleeps", "a city", "our town", "the town", "nice weather", "the weather"] * 2
    found = suggest(texts, ["place", None, None, None, "sky", None] * 2, encoder="static", longest=1)
    assert [w.text for w, _ in found.alike[word("city")].words] == ["town"]
