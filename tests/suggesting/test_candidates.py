"""Candidates fire where their conditions do, and every frequent one is there."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tiltfit.data.inputs import MatrixInputs, TableInputs, TextInputs
from tiltfit.data.sequences import as_sequences
from tiltfit.data.words import tokenise
from tiltfit.language.conditions import Phrase, Regex, Word, first, punctuation
from tiltfit.suggesting.candidates import Candidates, change_candidates, document_candidates, shape, token_candidates

TEXTS = st.lists(st.lists(st.sampled_from(["new", "New", "york", "ab", "a", "İs", "ǰx", "is"]), max_size=7), max_size=8)
TOKENS = st.lists(
    st.lists(st.sampled_from([",", "J.", "McX", "1994", "12-17", "1-2", "the", "The", "AB", "İ1", "$"]), min_size=1),
    min_size=1,
    max_size=6,
)


def agree(found: Candidates, inputs) -> None:
    for j, condition in enumerate(found.conditions):
        np.testing.assert_array_equal(found.places(j), np.flatnonzero(condition.fires(inputs)), str(condition))


@given(TEXTS)
@settings(max_examples=60)
def test_words_and_phrases_are_all_that_are_frequent_and_fire_where_they_say(rows: list[list[str]]) -> None:
    texts = [" ".join(row) for row in [*rows, [], [], []]]
    inputs = TextInputs(texts)
    found = document_candidates(inputs, 2, 3)
    agree(found, inputs)
    expected: Counter[tuple[str, ...]] = Counter()
    for text in texts:
        words = [w.casefold() for w in tokenise(text)]
        expected.update({tuple(words[i : i + k]) for k in (1, 2, 3) for i in range(len(words) - k + 1)})
    frequent = {run for run, n in expected.items() if 2 <= n <= len(texts) / 2}
    plain = {r for r in frequent if len(" ".join(r)) > 1 and tuple(tokenise(" ".join(r))) == r}
    assert {tuple(c.words) for c in found.conditions} == plain
    assert all(isinstance(c, Word if len(c.words) == 1 else Phrase) for c in found.conditions)


@given(TOKENS)
@settings(max_examples=60)
def test_token_patterns_fire_where_they_say(rows: list[list[str]]) -> None:
    sequences = as_sequences(rows)
    inputs = sequences
    found = token_candidates(inputs, sequences.items, 1)
    agree(found, inputs)
    changes = change_candidates(inputs, 1)
    starts = set(sequences.offsets[:-1].tolist())
    for j, condition in enumerate(changes.conditions):
        places = [i for i in np.flatnonzero(condition.fires(inputs)).tolist() if i not in starts]
        assert changes.places(j).tolist() == places


def test_every_kind_of_pattern_is_tried() -> None:
    sequences = as_sequences([["By", "J.", "Doe", ",", "1994"], ["In", "Proc", ",", "pages", "1-2"]])
    found = token_candidates(sequences, sequences.items, 1).conditions
    wanted = [Word("doe"), Word(",").before, Regex("^[A-Z]\\.$"), Regex("^(19|20)[0-9]{2}$"), punctuation, first]
    assert [c for c in wanted if c not in found] == []


def test_shapes_are_disjoint() -> None:
    tokens = ["1994", "12-17", "McCallum", "J.", "ABC", "Abc", "A1", "x-Y"]
    shapes = [shape(token) for token in tokens]
    assert all(s is not None for s in shapes)
    assert [sum(Regex(s).fires(as_sequences([tokens]))) for s in shapes] == [1] * len(tokens)
    assert shape("the") is shape("été9") is shape("1a2b3c") is None


def test_columns_of_a_table_and_names_of_a_matrix() -> None:
    table = TableInputs({"title": np.array(["a puck", "puck", "x", "x"]), "body": np.array(["bat", "bat", "y", "z"])})
    agree(found := document_candidates(table, 2, 2), table)
    assert Word("puck", None, "title") in found.conditions
    matrix = MatrixInputs(np.array([[1.0, 0], [2.0, 0], [0, 1], [0, 0]]), ["Puck", "bat"])
    agree(found := document_candidates(matrix, 1, 3), matrix)
    assert [c.words for c in found.conditions] == [("bat",), ("puck",)]


def test_attributes_are_candidates_themselves() -> None:
    sequences = as_sequences([[{"w": "a", "n": 2.0}, {"w": "b", "n": 0.0}], [["x"], ["w=a"]]])
    found = token_candidates(sequences, sequences.items, 1)
    agree(found, sequences)
    assert [repr(c) for c in found.conditions] == ["feature('w=a')", "feature('n')", "feature('w=b')", "feature('x')"]


@pytest.mark.parametrize("texts", [[], [""], ["!", "?"]])
def test_no_words_no_candidates(texts: list[str]) -> None:
    assert len(document_candidates(TextInputs(texts), 1, 3)) == 0
