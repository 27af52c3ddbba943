"""Words, phrases and patterns, against a plain scan of the tokens."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tiltfit import TiltClassifier, expect
from tiltfit.data.inputs import MatrixInputs, TableInputs, TextInputs
from tiltfit.data.sequences import as_sequences
from tiltfit.data.words import tokenise
from tiltfit.errors import ConstraintError, InactiveConstraintWarning, UnsupportedError
from tiltfit.language import texts
from tiltfit.language.condition import any_of
from tiltfit.language.conditions import column, phrase, regex, word
from tiltfit.language.texts import FOLDS_ODDLY

TEXTS = ["The puck hit the Goalie", "New York, new puck!", "new-york's PUCK", "nothing", "", "York new", "US and us"]


def fires(condition, texts=TEXTS):
    return np.flatnonzero(condition.fires(TextInputs(texts))).tolist()


@pytest.mark.parametrize(
    ("condition", "where"),
    [
        (word("puck"), [0, 1, 2]),
        (word("PUCK"), [2]),
        (word("PUCK", case=False), [0, 1, 2]),
        (word("puck", case=True), [0, 1]),
        (word("goalie"), [0]),
        (word("US"), [6]),
        (word("puc"), []),
        (phrase("new york"), [1, 2]),
        (phrase("New York"), [1]),
        (phrase("New York", case=False), [1, 2]),
        (phrase("new york", case=True), [2]),
        (phrase("york new"), [1, 5]),
        (phrase("new  puck?"), [1]),
        (phrase("ew york"), []),
        (phrase("new yor"), []),
        (phrase("puck"), [0, 1, 2]),
        (regex("puck"), [0, 1]),
        (regex("(?i)PUCK$"), [2]),
        (regex("^$"), [4]),
        (regex("[[Y]ork n"), [5]),
    ],
)
def test_where_it_fires(condition, where) -> None:
    assert fires(condition) == where
    assert fires(~condition) == [i for i in range(len(TEXTS)) if i not in where]


# Letters whose case is not a matter of one character, and separators of several kinds.
odd = st.text(st.sampled_from("aAbBßẞSsİiIıKKſ_1é \u0345\u03b9-.\n"), max_size=12)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(odd, min_size=1, max_size=4), odd.filter(lambda t: tokenise(t) != []), st.sampled_from([None, True, False])
)
def test_phrase_is_consecutive_tokens(texts: list[str], text: str, case: bool | None) -> None:
    condition = phrase(text, case)
    fold = str if condition.exact_case else str.casefold
    wanted = [fold(t) for t in tokenise(text)]

    def occurs(document: str) -> bool:
        tokens = [fold(t) for t in tokenise(document)]
        return any(tokens[i : i + len(wanted)] == wanted for i in range(len(tokens)))

    texts = [*texts, text, text.upper(), f"{text} {text}"]
    assert condition.fires(TextInputs(texts)).tolist() == [occurs(t) for t in texts]


@pytest.mark.parametrize("case", [None, True])
def test_a_phrase_is_no_part_of_longer_words(case: bool | None) -> None:
    texts = ["new yorker york", "anew york new", "new, york", "york é new york", "newyork new york1 york"]
    assert fires(phrase("new york", case), texts) == [2, 3]


def test_letters_that_fold_oddly_are_all_known() -> None:
    letter = re.compile(r"\w")
    cased = (c for c in map(chr, range(0x110000)) if c.casefold() != c)
    odd = [c for c in cased if any(bool(letter.match(f)) != bool(letter.match(c)) for f in c.casefold())]
    assert odd
    assert all(FOLDS_ODDLY.match(c) for c in odd)


def test_columns_of_a_table() -> None:
    table = TableInputs(
        {
            "title": np.array(["a puck", None, "new york"], dtype=object),
            "body": np.array(["x", "puck", "y"], dtype=object),
        }
    )
    assert column("title").word("puck").fires(table).tolist() == [True, False, False]
    assert column("body").word("puck").fires(table).tolist() == [False, True, False]
    assert column("title").phrase("new york").fires(table).tolist() == [False, False, True]
    assert column("title").regex("p.ck").fires(table).tolist() == [True, False, False]
    assert (~column("title").word("puck")).fires(table).tolist() == [False, True, True]
    with pytest.raises(ConstraintError, match="must say which"):
        word("puck").fires(table)


def test_words_of_a_matrix_are_its_names() -> None:
    X = np.array([[1.0, 0.0], [0.0, 2.0]])
    assert word("puck").fires(MatrixInputs(X, ["puck", "b t"])).tolist() == [True, False]
    assert word("b t").fires(MatrixInputs(X, ["puck", "b t"])).tolist() == [False, True]
    with pytest.raises(ConstraintError, match="feature_names="):
        word("puck").fires(MatrixInputs(X, None))
    for condition in (phrase("a puck"), regex("puck")):
        with pytest.raises(ConstraintError, match="raw text"):
            condition.fires(MatrixInputs(X, ["puck", "bat"]))


def test_words_of_tokens_are_whole_tokens() -> None:
    inputs = as_sequences([["Call", "*PHONE*"], ["*PHONE*", "now"]])
    assert word("*PHONE*").fires(inputs).tolist() == [False, True, True, False]
    assert word("call").fires(inputs).tolist() == [True, False, False, False]
    with pytest.raises(UnsupportedError, match=r"word\('call'\) & word\('now'\)\.after"):
        phrase("call now").fires(inputs)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: word(""), "must not be empty"),
        (lambda: word(3), "must be a string"),
        (lambda: word("a", case="yes"), "must be True, False or None"),
        (lambda: phrase("?!"), "contains no word"),
        (lambda: regex("("), "not a valid pattern"),
        (lambda: regex("a{99999999999999999999}"), "not a valid pattern"),
        (lambda: column(3).word("x"), "must be a string"),
    ],
)
def test_bad_conditions(make, message) -> None:
    with pytest.raises(ConstraintError, match=message):
        make()


def test_a_word_of_several_words_is_refused() -> None:
    with pytest.raises(ConstraintError, match=r"Use phrase\('new york'\)"):
        fires(word("new york"))


def test_what_is_suggested_for_a_word_that_never_occurs() -> None:
    inputs = TextInputs(TEXTS)
    assert word("pukc").suggest(inputs) == "puck"
    assert word("goaliee").suggest(inputs) == "goalie"
    assert word("Puck").suggest(inputs) == "puck"
    assert phrase("new yrok").suggest(inputs) == "york"
    assert (word("puck") & word("goaly")).suggest(inputs) == "goalie"
    assert word("zebra").suggest(inputs) is None
    assert regex("pukc").suggest(inputs) is None
    assert (~word("pukc")).suggest(inputs) is None
    assert (word("puck") & phrase("new york")).words == ("puck", "new", "york")


def test_the_nearest_of_thousands_of_absent_words_are_searched_only_for_the_first(monkeypatch) -> None:
    searched = []
    monkeypatch.setattr(texts, "nearest", lambda word, known, cutoff=0.6: searched.append(word))
    inputs = TextInputs(["abcdefgh and others"])
    absent = [word(f"qwertyu{i:04}") for i in range(200)] * 2
    assert {condition.suggest(inputs) for condition in absent} == {None}
    assert searched == [f"qwertyu{i:04}" for i in range(texts.MOST_GUESSES)]


def test_one_warning_for_all_absent_words_of_a_constraint() -> None:
    given = any_of([word("puck"), word("goalei"), *(word(f"zzz{i}") for i in range(400))])
    stated = [expect("a", given=given).about(0.9)]
    with pytest.warns(InactiveConstraintWarning) as caught:
        TiltClassifier(stated, classes=["a", "b"]).fit(["the puck", "a goalie", "x", "y"])
    (message,) = [str(w.message) for w in caught]
    assert "word('goalei'), word('zzz0'), word('zzz1') and 398 more, which occur nowhere" in message
    assert message.endswith("""for word('goalei') did you mean "goalie"?""")
