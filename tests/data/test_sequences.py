"""From raw sequences and labels to flat positions: what is read, what conditions see, what is refused and where."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tiltfit.data.attributes import AttributeRows
from tiltfit.data.inputs import WordIndex
from tiltfit.data.sequences import TokenIndex, as_sequences
from tiltfit.errors import ConstraintError, DataError, UnknownLabelError
from tiltfit.language.conditions import column, feature, punctuation, regex, when, word
from tiltfit.samples.labels import tag_targets

X = [["Call", "me", "!"], ["call"]]
ATTRIBUTES: list[list[Any]] = [
    [["w=call", "first"], {"w": "me", "len": 2, "upper": False, "ok": True, "next": {"w": "!", "tags": ["a", "b"]}}],
    [{}],
]


# Sequences --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "given_",
    [
        X,
        tuple(tuple(s) for s in X),
        [np.array(s) for s in X],
        [np.array(s, dtype=object) for s in X],
        pd.Series(X),
        pl.Series(X),
        {"tokens": X},
        pd.DataFrame({"tokens": X}),
        pl.DataFrame({"tokens": X}),
    ],
)
def test_every_container_gives_the_same_positions(given_: object) -> None:
    found = as_sequences(given_)
    assert found.kind == "tokens"
    assert list(found.items) == ["Call", "me", "!", "call"]
    assert {type(t) for t in found.items} == {str}
    assert found.offsets.tolist() == [0, 3, 4]
    assert found.offsets.dtype == np.intp
    assert (found.n, found.n_sequences, found.lengths.tolist()) == (4, 2, [3, 1])


def test_a_matrix_of_strings_is_sequences_of_one_length() -> None:
    assert as_sequences(np.array([["a", "b"], ["c", "d"]])).offsets.tolist() == [0, 2, 4]


def test_sequences_pass_through() -> None:
    found = as_sequences(X)
    assert as_sequences(found) is found


def test_split_is_the_inverse_of_flattening() -> None:
    found = as_sequences([["a"], [], ["b", "c"], []])
    assert [part.tolist() for part in found.split(np.arange(3))] == [[0], [], [1, 2], []]
    assert as_sequences([]).split(np.arange(0)) == []


def test_places_skip_empty_sequences() -> None:
    found = as_sequences([["a"], [], ["b"]])
    assert found.where(1) == "Position 0 of sequence 2 (X[2][0])"
    assert as_sequences({"tokens": [["a"]]}).where(0).endswith('(X["tokens"][0][0])')


def test_attributes_become_names_and_values() -> None:
    rows = as_sequences(ATTRIBUTES).items
    assert isinstance(rows, AttributeRows)
    table = {name: rows.matrix.toarray()[:, j].tolist() for j, name in enumerate(rows.names)}
    assert table == {
        "w=call": [1, 0, 0],
        "first": [1, 0, 0],
        "w=me": [0, 1, 0],
        "len": [0, 2, 0],
        "upper": [0, 0, 0],
        "ok": [0, 1, 0],
        "next:w=!": [0, 1, 0],
        "next:tags:a": [0, 1, 0],
        "next:tags:b": [0, 1, 0],
    }


def test_repeated_attributes_add_up_and_sets_have_an_order() -> None:
    rows = AttributeRows.of([["a", "a"], {"c", "b"}])
    assert rows.names == ["a", "b", "c"]
    assert rows.matrix.toarray().tolist() == [[2, 0, 0], [0, 1, 1]]


def refused(given_: object, **options: Any) -> str:
    with pytest.raises(DataError) as caught:
        as_sequences(given_, **options)
    return str(caught.value)


@pytest.mark.parametrize(
    ("given_", "words"),
    [
        ("some text", ["single text", "text.split()"]),
        (3, ["must be a list of token lists", "int"]),
        (["some text", "more"], ["Sequence 0", "'some text'", "text.split()"]),
        ([["a"], b"x"], ["Sequence 1", "text.split()"]),
        ([["a"], None], ["Sequence 1", "missing"]),
        ([["a"], 3], ["Sequence 1 (X[1])", "int"]),
        ([{"a": 1}], ["Sequence 0", "dict", "a list around it is missing"]),
        ([["a"], ["b", ""]], ["Position 1 of sequence 1 (X[1][1])", "empty token"]),
        ([["a", " \t"]], ["X[0][1]", "empty token"]),
        ([["a", "b\x07"]], ["X[0][1]", "control character '\\x07'"]),
        ([["a", "b\nc"]], ["X[0][1]", "control character '\\n'"]),
        ([["a"], ["\ud800"]], ["X[1][0]", "surrogate"]),
        ([["a", 3]], ["(X[0][1]) is 3 (int)", "str(token)"]),
        ([["a", b"b"]], ["X[0][1]", "bytes", "decode"]),
        ([["a", None]], ["X[0][1]", "None", "Leave it out"]),
        ([["a", float("nan")]], ["X[0][1]", "nan"]),
        ([[1, 2]], ["X[0][0]", "1 (int)"]),
        ([["a"], [{"w": "b"}]], ["Position 0 of sequence 1", "holds attributes", "(X[0][0]) is the token 'a'"]),
        ([[["a"]], ["b"]], ["X[1][0]", "the token 'b'", "(X[0][0]) holds attributes"]),
        ([[["a"], 3]], ["X[0][1]", "3 (int)"]),
        ([[["a", 3]]], ["X[0][0]", "the attribute 3"]),
        ([[{3: 1}]], ["X[0][0]", "the attribute 3"]),
        ([[["a"]], [{"w": None}]], ["X[1][0]", "'w'", "None"]),
        ([[{"w": float("inf")}]], ["X[0][0]", "'w'", "finite"]),
        ([[{"w": [["a"]]}]], ["X[0][0]", "['a']"]),
        ({"text": [["a"]]}, ["'tokens'"]),
        ({"token": [["a"]]}, ['Did you mean "token"']),
        ({"tokens": [["a"]], "county": ["x", "y"]}, ["'county'", "1 sequences"]),
        (pl.DataFrame({"tokens": [["a"]]}).lazy(), ["collect()"]),
    ],
)
def test_bad_input_is_named_by_sequence_and_position(given_: object, words: list[str]) -> None:
    message = refused(given_)
    for part in words:
        assert part in message


def test_a_dict_that_holds_itself_ends() -> None:
    item: dict[str, Any] = {}
    item["again"] = item
    assert "nested" in refused([[item]])


def test_fitting_refuses_empty_sequences_and_predicting_takes_them() -> None:
    assert as_sequences([[], ["a"]]).n == 1
    assert "Sequence 1 (and 1 more) is empty" in refused([["a"], [], ["b"], []], allow_empty=False)
    assert as_sequences([]).n_sequences == 0
    assert "no sequences" in refused([], allow_empty=False)


def test_format_characters_are_no_control_characters() -> None:
    assert as_sequences([["co\u00adop", "\U0001f468\u200d\U0001f469", "a\u00a0b"]]).n == 3


# What conditions see ----------------------------------------------------------------------------------------------


def test_conditions_on_tokens() -> None:
    inputs = as_sequences(X)
    assert inputs.unit == "tokens"
    assert word("call").fires(inputs).tolist() == [True, False, False, True]
    assert word("Call").fires(inputs).tolist() == [True, False, False, False]
    assert word("!").fires(inputs).tolist() == punctuation.fires(inputs).tolist() == [False, False, True, False]
    assert regex("^m").fires(inputs).tolist() == [False, True, False, False]
    assert word("call").before.fires(inputs).tolist() == [False, True, False, False]
    assert when(lambda token: token == "me").fires(inputs).tolist() == [False, True, False, False]
    assert inputs.row(2) == "!"


def test_columns_are_repeated_to_the_tokens() -> None:
    table = {"tokens": X, "year": [1999, 2001], "title": ["New York", None], "mixed": [1, "a"]}
    for given_ in (table, pd.DataFrame(table)):
        inputs = as_sequences(given_)
        assert inputs.column("year").tolist() == [1999, 1999, 1999, 2001]
        assert inputs.column("mixed").tolist() == [1, 1, 1, "a"]
        assert column("year").above(2000).fires(inputs).tolist() == [False, False, False, True]
        assert column("title").word("york").fires(inputs).tolist() == [True, True, True, False]
        assert column("title").regex("York").fires(inputs).tolist() == [True, True, True, False]
        with pytest.raises(ConstraintError, match="yaer.*year"):
            inputs.column("yaer")
    with pytest.raises(ConstraintError, match="mapping"):
        as_sequences(X).column("year")


def test_conditions_on_attributes() -> None:
    inputs = as_sequences(ATTRIBUTES)
    assert feature("w=call").fires(inputs).tolist() == [True, False, False]
    assert feature("len").above(1).fires(inputs).tolist() == [False, True, False]
    assert inputs.feature("len").tolist() == [0, 2, 0]
    assert feature("w=never").fires(inputs).tolist() == [False] * 3
    assert inputs.row(0) == ["w=call", "first"]
    with pytest.raises(ConstraintError, match=r"feature\('w=call'\)"):
        feature("w").fires(inputs)
    with pytest.raises(ConstraintError, match="attributes"):
        word("call").fires(inputs)
    with pytest.raises(ConstraintError, match="attributes"):
        punctuation.fires(inputs)
    with pytest.raises(ConstraintError, match="tokens"):
        feature("w=call").fires(as_sequences(X))


@settings(deadline=None, max_examples=50)
@given(st.lists(st.sampled_from(["a", "A", "b", "ß", "SS", ","]), max_size=12), st.sampled_from(["a", "ss", "x", "A"]))
def test_the_token_index_is_a_word_index(tokens: list[str], wanted: str) -> None:
    ours, plain = TokenIndex(tokens), WordIndex([t] for t in tokens)
    for case in (True, False):
        assert ours.positions(wanted, case=case).tolist() == plain.positions(wanted, case=case).tolist()
    assert (wanted in ours) == (wanted in plain)
    assert ours.words == plain.words


# Labels -----------------------------------------------------------------------------------------------------------


def encode(y: object, **options: Any) -> tuple[list[Any], list[int]]:
    classes, codes, _ = tag_targets(y, as_sequences(X), **options)
    assert codes.dtype == np.intp
    return classes.tolist(), codes.tolist()


NAN = float("nan")


@pytest.mark.parametrize(
    ("y", "codes"),
    [
        (None, [-1, -1, -1, -1]),
        ([None, None], [-1, -1, -1, -1]),
        ([["b", "a", None], None], [1, 0, -1, -1]),
        ([["b", NAN, pd.NA], NAN], [1, -1, -1, -1]),
        ([("b", "b", -1), ["a"]], [1, 1, -1, 0]),
        ([np.array(["b", "a", "b"]), pd.Series(["a"])], [1, 0, 1, 0]),
        (pd.Series([["b", "a", "b"], None]), [1, 0, 1, -1]),
        (pl.Series([["b", "a", "b"], None]), [1, 0, 1, -1]),
    ],
)
def test_labels_become_class_numbers(y: object, codes: list[int]) -> None:
    assert encode(y, classes=["b", "a"]) == (["a", "b"], codes)


def test_classes_come_from_y_or_from_the_constraints() -> None:
    assert encode([["b", None, "a"], None]) == (["a", "b"], [1, -1, 0, -1])
    assert encode(None, named=["y", "x", "y"]) == (["x", "y"], [-1] * 4)
    assert encode([[2, 1, 2], [NAN]]) == ([1, 2], [1, 0, 1, -1])
    assert encode([np.array([2.0, 1.0, NAN]), None]) == ([1.0, 2.0], [1, 0, -1, -1])


def test_minus_one_is_a_label_only_beside_a_single_other() -> None:
    assert encode([[-1, 1, 1], [-1]]) == ([-1, 1], [0, 1, 1, 0])
    assert encode([[-1, 1, 0], [-1]]) == ([0, 1], [-1, 1, 0, -1])
    assert encode([[-1, 1, 1], [-1]], classes=[0, 1]) == ([0, 1], [-1, 1, 1, -1])


@pytest.mark.parametrize(
    ("y", "options", "words"),
    [
        ("abcd", {}, ["must be a list"]),
        ([["a", "b", "a"]], {}, ["2 sequences", "1 entries"]),
        ([["a", "b"], ["a"]], {}, ["Sequence 0 has 3 positions", "y[0] has 2 labels"]),
        ([["a", "b", "a"], []], {}, ["Sequence 1", "0 labels"]),
        ([["a", "b", "a"], "a"], {}, ["y[1] is 'a'", "one label for each position"]),
        ([["a", ["b"], "a"], None], {}, ["Position 1 of sequence 0 (y[0][1])", "['b']"]),
        ([["a", "b", np.inf], None], {}, ["y[0][2]", "inf"]),
        (None, {}, ["y is None", "classes="]),
        ([None, None], {}, ["y has no label"]),
        ([["a", "a", "a"], None], {}, ["only one class"]),
        (None, {"classes": ["a", "a"]}, ["twice"]),
        (None, {"classes": ["a", None]}, ["A label of classes is None"]),
        ([["a", 1, "a"], None], {}, ["different types"]),
    ],
)
def test_bad_labels_are_named(y: object, options: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(DataError) as caught:
        encode(y, **options)
    for part in words:
        assert part in str(caught.value)


@pytest.mark.parametrize(
    ("y", "words"),
    [
        ([["author", "titel", None], None], ["Position 1 of sequence 0 (y[0][1])", "'titel'", 'Did you mean "title"']),
        ([None, ["1"]], ["y[1][0]", "'1'"]),
    ],
)
def test_unknown_labels_are_named_with_the_nearest(y: object, words: list[str]) -> None:
    with pytest.raises(UnknownLabelError) as caught:
        encode(y, classes=["author", "title"])
    for part in words:
        assert part in str(caught.value)


def test_labels_of_other_types_are_told_apart() -> None:
    with pytest.raises(UnknownLabelError, match="different types"):
        encode([None, [True]], classes=["True", "False"])
    with pytest.raises(UnknownLabelError, match=r"y\[1\]\[0\]"):
        encode([None, [True]], classes=[0, 1])


@settings(deadline=None, max_examples=50)
@given(st.data())
def test_encoding_then_decoding_gives_y_back(data: st.DataObject) -> None:
    labels = st.sampled_from(["a", "b", "c", None])
    lengths = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    y = [data.draw(st.lists(labels, min_size=n, max_size=n) | st.none()) for n in lengths]
    sequences = as_sequences([["x"] * n for n in lengths])
    classes, codes, _ = tag_targets(y, sequences, classes=["c", "b", "a"])
    names = [[classes[k] if k >= 0 else None for k in part] for part in sequences.split(codes)]
    assert names == [row if row is not None else [None] * n for row, n in zip(y, lengths, strict=True)]
