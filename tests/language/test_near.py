"""Nearness in meaning, against cosines computed by hand; the encoder counts what it is asked."""

from __future__ import annotations

import math
import re
import sys
import warnings

import numpy as np
import pytest
from scipy import sparse

import tiltfit
from tiltfit import ConstraintSet, TiltClassifier, TiltTagger, column, expect, near, word
from tiltfit.data.inputs import MatrixInputs, TableInputs, TextInputs
from tiltfit.data.sequences import as_sequences
from tiltfit.errors import (
    ConstraintError,
    ConstraintFileError,
    DataError,
    InactiveConstraintWarning,
    TiltfitError,
    UnsupportedError,
)
from tiltfit.features.vectors import ENCODERS, named_encoder, register_encoder
from tiltfit.language.sentences import describe
from tiltfit.testing import check_condition

AXES = {"card": 0, "visa": 0, "stolen": 1, "took": 1, "rain": 2, "sun": 2}
TEXTS = ["my card was stolen", "they took my visa", "card card card stolen", "rain and sun", "card", "", "rain"]


def vector(text: str) -> list[float]:
    """How often each of three topics is named."""
    found = [0.0, 0.0, 0.0]
    for token in text.split():
        if token in AXES:
            found[AXES[token]] += 1
    return found


def cosine(a: str, b: str) -> float:
    x, y = vector(a), vector(b)
    length = math.hypot(*x) * math.hypot(*y)
    return sum(p * q for p, q in zip(x, y, strict=True)) / length if length else 0.0


class Topics:
    """An encoder of three dimensions."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    def encode(self, texts):
        self.asked.append(list(texts))
        return np.array([vector(t) for t in texts])


class Uneven:
    """Its vectors are as long as the number of texts."""

    def encode(self, texts):
        return np.ones((len(texts), len(texts)))


class Broken:
    def encode(self, texts):
        return np.full((len(texts), 2), np.nan)


@pytest.fixture(autouse=True)
def encoders():
    kinds = {"topics": Topics, "uneven": Uneven, "broken": Broken}
    named_encoder.cache_clear()
    for name, kind in kinds.items():
        register_encoder(name, kind)
    yield
    named_encoder.cache_clear()
    for name in kinds:
        ENCODERS.remove(name)


def asked() -> list[list[str]]:
    encoder = named_encoder("topics")
    assert isinstance(encoder, Topics)
    return encoder.asked


def topical(*phrases: str, above: float):
    return near(*phrases, above=above, encoder="topics")


@pytest.mark.parametrize("above", [0.1, 0.5, 0.8, 0.9, 1.0])
@pytest.mark.parametrize("phrases", [["card stolen"], ["rain"], ["card", "sun"], ["visa took", "took"]])
def test_it_fires_from_that_cosine_on(phrases: list[str], above: float) -> None:
    wanted = [max(cosine(t, p) for p in phrases) >= above - 1e-9 for t in TEXTS]
    condition = topical(*phrases, above=above)
    assert condition.fires(TextInputs(TEXTS)).tolist() == wanted
    assert (~condition).fires(TextInputs(TEXTS)).tolist() == [not w for w in wanted]


def test_the_bound_itself_is_near_enough() -> None:
    # (3, 1, 0)·(1, 1, 0) = 4 / √20
    for above, wanted in [(4 / math.sqrt(20), True), (4 / math.sqrt(20) + 1e-4, False)]:
        assert topical("card stolen", above=above).fires(TextInputs(["card card card stolen"])).tolist() == [wanted]


def test_tokens_each_by_itself() -> None:
    inputs = as_sequences([["my", "visa", "stolen"], ["card", "rain"]])
    condition = topical("card", above=0.9)
    assert condition.fires(inputs).tolist() == [False, True, False, True, False]
    assert condition.before.fires(inputs).tolist() == [False, False, True, False, True]
    assert condition.after.fires(inputs).tolist() == [True, False, False, False, False]
    assert (condition & word("visa")).fires(inputs).tolist() == [False, True, False, False, False]
    assert (condition | word("my")).fires(inputs).tolist() == [True, True, False, True, False]


def test_columns() -> None:
    table = {"title": np.array(["rain", "visa", None], dtype=object), "body": np.array(["card", "sun", "card"])}
    assert column("title").near("card", above=0.5, encoder="topics").fires(TableInputs(table)).tolist() == [
        False,
        True,
        False,
    ]
    with pytest.raises(ConstraintError, match="2 text columns"):
        topical("card", above=0.5).fires(TableInputs(table))
    per_sequence = as_sequences({"tokens": [["a", "b"], ["c"]], "title": ["my card", "rain"]})
    found = column("title").near("card", above=0.5, encoder="topics").fires(per_sequence)
    assert found.tolist() == [True, True, False]


def test_every_text_is_encoded_once() -> None:
    inputs = TextInputs([*TEXTS, *TEXTS])
    for above in (0.2, 0.4, 0.9):
        topical("card", above=above).fires(inputs)
    topical("rain", above=0.9).fires(inputs)
    assert sorted(asked()) == sorted([["card"], ["rain"], TEXTS])


def test_every_token_is_encoded_once() -> None:
    inputs = as_sequences([["card", "rain", "card"], ["rain"]])
    topical("took", "sun", above=0.5).fires(inputs)
    assert asked() == [["took", "sun"], ["card", "rain"]]


def test_no_texts() -> None:
    assert topical("card", above=0.5).fires(TextInputs([])).tolist() == []
    assert topical("card", above=0.5).hint(TextInputs([])) is None


# What it is called


def test_sentences() -> None:
    one, two = near("my card was stolen", above=0.6), near("a", "b", "c", above=1)
    assert one.clause("documents") == 'close in meaning to "my card was stolen" (at least 0.6)'
    assert (~one).clause("documents") == 'not close in meaning to "my card was stolen" (below 0.6)'
    assert two.clause("tokens") == 'close in meaning to "a", "b" or "c" (at least 1)'
    assert one.before.clause("tokens") == 'after a token close in meaning to "my card was stolen" (at least 0.6)'
    assert topical("a", above=0.5).clause("documents") == 'close in meaning to "a" (at least 0.5 by "topics")'
    titled = column("title").near("a", above=0.5)
    assert titled.clause("rows") == 'whose title is close in meaning to "a" (at least 0.5)'
    assert (~titled).clause("rows") == 'whose title is not close in meaning to "a" (below 0.5)'
    said = describe(expect("fraud", given=one).about(0.9), "documents")
    assert 'documents close in meaning to "my card was stolen" (at least 0.6)' in said


@pytest.mark.parametrize(
    "condition",
    [
        near("my card was stolen", above=0.6),
        near("a", 'say "b"', above=1, encoder="other"),
        column("title").near("a\n", above=0.25),
        (~near("a", above=0.5) & word("b")).before,
    ],
    ids=repr,
)
def test_python_and_files_say_the_same(condition) -> None:
    assert eval(repr(condition), {"near": near, "column": column, "word": word}) == condition
    said = ConstraintSet((expect("x", given=condition).about(0.9),))
    assert ConstraintSet.from_toml(said.to_toml()) == said


def test_files_name_the_encoder() -> None:
    said = ConstraintSet((expect("x", given=near("a", above=0.6)).about(0.9),)).to_toml()
    assert 'given = { near = { phrases = ["a"], above = 0.6, encoder = "static" } }' in said
    assert ConstraintSet.from_toml(said.replace(', encoder = "static"', "")).to_toml() == said


def test_the_order_and_repetition_of_phrases_do_not_matter() -> None:
    assert near("a", "b", above=0.5) == near("b", "a", "b", above=0.5) != near("a", above=0.5)
    assert near("a", above=0.5) != near("a", above=0.5, encoder="other")


@pytest.mark.parametrize("X", [TEXTS, [["card", "rain"], ["my"]]], ids=["documents", "tokens"])
def test_conformance(X) -> None:
    check_condition(topical("card", "sun", above=0.7), X)


# What is refused


@pytest.mark.parametrize(
    ("phrases", "options", "told"),
    [
        ([], {"above": 0.5}, "at least one phrase"),
        ([""], {"above": 0.5}, "A phrase of near.* must not be empty"),
        ([" \n"], {"above": 0.5}, "more than spaces"),
        ([3], {"above": 0.5}, "must be a string, but is 3"),
        ([["a", "b"]], {"above": 0.5}, "must be a string, but is"),
        (["a"], {"above": 0}, r"above of near\('a', ...\) is a cosine similarity, more than 0 and at most 1, but is 0"),
        (["a"], {"above": -0.5}, "more than 0 and at most 1"),
        (["a"], {"above": 1.01}, "more than 0 and at most 1"),
        (["a"], {"above": math.nan}, "must be finite"),
        (["a"], {"above": True}, "must be a number, but is True"),
        (["a"], {"above": "0.5"}, "must be a number"),
        (["a"], {"above": 0.5, "encoder": ""}, "encoder of near.* must not be empty"),
        (["a"], {"above": 0.5, "encoder": Topics()}, r"must be the name of an encoder.*register_encoder\(name, load\)"),
    ],
    ids=lambda value: re.sub(r" at 0x\w+", "", str(value)),  # workers must agree on names
)
def test_bad_arguments(phrases, options, told) -> None:
    with pytest.raises(ConstraintError, match=told):
        near(*phrases, **options)
    with pytest.raises(ConstraintError, match=told):
        column("title").near(*phrases, **options)


def test_a_bad_name_of_a_column() -> None:
    with pytest.raises(ConstraintError, match="name of a column"):
        tiltfit.language.conditions.Near(("a",), 0.5, "static", "")


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ('"a"', "`given.near` must be a table, but is a string"),
        ("{ above = 0.5 }", "`given.near.phrases` is missing"),
        ('{ phrases = ["a"] }', "`given.near.above` is missing"),
        ('{ phrases = "a", above = 0.5 }', "`given.near.phrases` must be an array"),
        ("{ phrases = [], above = 0.5 }", "at least one phrase"),
        ("{ phrases = [1], above = 0.5 }", r"phrases\[0\]` must be a string"),
        ('{ phrases = [""], above = 0.5 }', "must not be empty"),
        ('{ phrases = ["a"], above = 2 }', "at most 1"),
        ('{ phrases = ["a"], above = nan }', "must be finite"),
        ('{ phrases = ["a"], above = true }', "must be a number, but is a bool"),
        ('{ phrases = ["a"], above = 0.5, encoder = 3 }', "must be a string"),
        ('{ phrases = ["a"], above = 0.5, encode = "x" }', 'Did you mean "encoder"'),
    ],
)
def test_bad_files(written: str, told: str) -> None:
    with pytest.raises((ConstraintError, ConstraintFileError), match=told):
        ConstraintSet.from_toml(f'[[constraint]]\nlabel = "x"\ngiven = {{ near = {written} }}\nabout = 0.9\n')


@pytest.mark.parametrize(
    ("condition", "error", "told"),
    [
        (near("a", above=0.5, encoder="topisc"), DataError, "There is no encoder 'topisc'.*Did you mean \"topics\""),
        (near("a", above=0.5, encoder="broken"), DataError, r"near\('a'.*NaN or infinite"),
        (near("a", above=0.5, encoder="uneven"), DataError, "of 1 dimensions for the phrases and of 7 for the texts"),
        (near("card", "unknown", above=0.5, encoder="topics"), ConstraintError, 'for "unknown".*Use other words'),
    ],
    ids=["unknown", "nan", "dimensions", "zero"],
)
def test_what_only_data_show(condition, error: type[TiltfitError], told: str) -> None:
    with pytest.raises(error, match=told) as caught:
        condition.fires(TextInputs(TEXTS))
    assert caught.value.parameter is None


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "wordllama", None)
    said = ConstraintSet.from_toml(ConstraintSet((expect("x", given=near("a", above=0.5)).about(0.9),)).to_toml())
    with pytest.raises(UnsupportedError, match=r"near\('a', above=0.5\).*pip install 'tiltfit\[embeddings\]'"):
        said[0].given.fires(TextInputs(["a"]))


@pytest.mark.parametrize("X", [np.eye(2), sparse.csr_array(np.eye(2))], ids=["dense", "sparse"])
def test_a_matrix_has_no_texts(X) -> None:
    with pytest.raises(ConstraintError, match=r"near\(\.\.\.\) look at raw text, but X is a matrix"):
        topical("card", above=0.5).fires(MatrixInputs(X, None))


def test_attributes_are_no_texts() -> None:
    with pytest.raises(ConstraintError, match="X holds attributes"):
        topical("card", above=0.5).fires(as_sequences([[{"w": "card"}]]))


# In use


def test_the_warning_names_the_nearest() -> None:
    said = [
        expect("a", given=topical("card stolen", above=0.95)).about(0.9),
        expect("b", given=word("rain")).about(0.9),
    ]
    X = ["card card card stolen", "rain", "sun"]  # 4 / √20 = 0.894…
    with pytest.warns(InactiveConstraintWarning, match=r'; the nearest is 0\.89: "card card card stolen"\.$'):
        TiltClassifier(said).fit(X)
    notes = [n for n in str(ConstraintSet(tuple(said)).check(X)).splitlines() if "nearest" in n]
    assert len(notes) == 1
    assert 'The nearest is 0.89: "card card card stolen".' in notes[0]
    assert topical("card stolen", above=0.89).fires(TextInputs(X)).any()
    both = word("sun") & topical("card", above=1)
    assert both.hint(TextInputs(["sun", "card stolen"])) == 'the nearest is 0.70: "card stolen"'
    assert (~topical("card", above=0.5)).hint(TextInputs(["card"])) is None
    assert word("crad").hint(TextInputs(["card"])) == 'did you mean "card"?'


def test_documents_from_end_to_end(tmp_path) -> None:
    X = ["my card was stolen", "they took my visa", "someone took the card", "rain again", "sun and rain", "sun today"]
    said = [
        expect("fraud", given=topical("card stolen", above=0.7)).about(0.95),
        expect("weather", given=topical("rain", above=0.7)).about(0.95),
    ]
    model = TiltClassifier(said).fit(X)
    assert model.predict(X).tolist() == ["fraud"] * 3 + ["weather"] * 3
    wanted = model.project(X)
    model.save(tmp_path / "near.tilt")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = tiltfit.load(tmp_path / "near.tilt")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    np.testing.assert_allclose(again.project(X), wanted)
    # A place without the encoder predicts, and says what it cannot do.
    ENCODERS.remove("topics")
    named_encoder.cache_clear()
    elsewhere = tiltfit.load(tmp_path / "near.tilt")
    np.testing.assert_array_equal(elsewhere.predict_proba(X), model.predict_proba(X))
    with pytest.raises(DataError, match="There is no encoder 'topics'"):
        elsewhere.project(X)


def test_sequences_from_end_to_end(tmp_path) -> None:
    X = [["visa", "rain"], ["card", "sun"], ["rain", "card"]] * 3
    said = [
        expect("pay", given=topical("card", above=0.9)).about(0.95),
        expect("sky", given=topical("rain", above=0.9)).about(0.95),
    ]
    model = TiltTagger(said).fit(X)
    assert [list(tags) for tags in model.predict(X[:3])] == [["pay", "sky"], ["pay", "sky"], ["sky", "pay"]]
    model.save(tmp_path / "near.tilt")
    assert tiltfit.load(tmp_path / "near.tilt").constraints == model.constraints


def test_the_real_encoder() -> None:
    pytest.importorskip("wordllama")
    texts = ["someone took my credit card", "nice weather today", ""]
    assert near("my card was stolen", above=0.3).fires(TextInputs(texts)).tolist() == [True, False, False]
