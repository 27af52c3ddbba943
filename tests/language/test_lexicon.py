"""Lexicons and lists of words against naive matching, piece by piece."""

from __future__ import annotations

import itertools
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiltfit import ConstraintSet, TiltClassifier, TiltTagger, column, expect, lexicon, load, word
from tiltfit.data.inputs import MatrixInputs, TableInputs, TextInputs
from tiltfit.data.pieces import split
from tiltfit.data.sequences import as_sequences
from tiltfit.errors import ConstraintError, ConstraintFileError, DataFileError, InactiveConstraintWarning
from tiltfit.language.conditions import Word, any_of
from tiltfit.language.sentences import describe
from tiltfit.language.toml import read
from tiltfit.report.html.examples import spans

PIECES = ["a", "A", "b", "ß", "SS", "-", ".", "c"]
TEXTS = ["Breast-cancer was found.", "breast cancer", "breast. Cancer", "C# and C++", "", "breast", "colitis?"]


def holds(text: str, phrases: list[str], *, case: bool) -> bool:
    """Whether a phrase occurs in a text: looked for at every place."""
    fold = (lambda p: p) if case else str.casefold
    here = [fold(p) for p in split(text)]
    wanted = [[fold(p) for p in split(phrase)] for phrase in phrases]
    return any(here[i : i + len(w)] == w for w in wanted for i in range(len(here)))


def inside(sequence: list[str], phrases: list[str], *, case: bool) -> list[bool]:
    """The tokens that are part of a phrase: every run of tokens is compared with every phrase."""
    found = [False] * len(sequence)
    fold = (lambda p: p) if case else str.casefold
    wanted = [[fold(p) for p in split(phrase)] for phrase in phrases]
    for i in range(len(sequence)):
        for j in range(i + 1, len(sequence) + 1):
            pieces = [[fold(p) for p in split(token)] for token in sequence[i:j]]
            if pieces[0] and pieces[-1] and [p for some in pieces for p in some] in wanted:
                found[i:j] = [True] * (j - i)
    return found


texts = st.lists(st.sampled_from(PIECES), max_size=6).map(" ".join)
tokens = st.lists(st.sampled_from(PIECES), min_size=1, max_size=2).map("".join)
some_phrases = st.lists(st.lists(st.sampled_from(PIECES), min_size=1, max_size=3).map(" ".join), min_size=1, max_size=4)


@given(st.lists(texts, min_size=1, max_size=4), some_phrases, st.booleans())
def test_documents_with_a_phrase(documents: list[str], phrases: list[str], case: bool) -> None:
    found = lexicon(phrases, case=case).fires(TextInputs(documents))
    assert found.tolist() == [holds(text, phrases, case=case) for text in documents]


@given(st.lists(st.lists(tokens, max_size=5), min_size=1, max_size=3), some_phrases, st.booleans())
def test_tokens_of_a_phrase(sequences: list[list[str]], phrases: list[str], case: bool) -> None:
    found = lexicon(phrases, case=case).fires(as_sequences(sequences))
    assert found.tolist() == [hit for row in sequences for hit in inside(row, phrases, case=case)]


@given(st.lists(texts, min_size=1, max_size=4), st.lists(st.sampled_from(["a", "A", "b", "SS"]), min_size=1), st.data())
def test_words_are_the_words_one_by_one(documents: list[str], words: list[str], data: st.DataObject) -> None:
    case = data.draw(st.sampled_from([None, True, False]))
    inputs = TextInputs(documents)
    single = any_of([Word(w, case) for w in words]).fires(inputs)
    assert word(words=words, case=case).fires(inputs).tolist() == single.tolist()
    matrix = MatrixInputs(np.array([[1, 0, 2, 0], [0, 0, 0, 1], [0, 3, 0, 0]]), ["a", "A", "b", "c"])
    single = any_of([Word(w, case) for w in words]).fires(matrix)
    assert word(words=words, case=case).fires(matrix).tolist() == single.tolist()


def test_signs_count_and_white_space_does_not() -> None:
    fires = lexicon(["breast  cancer", "C#"]).fires(TextInputs(TEXTS))
    assert fires.tolist() == [False, True, False, True, False, False, False]
    fires = lexicon(["Breast-Cancer"]).fires(as_sequences([["breast", "-", "cancer"], ["breast-cancer", "x-cancer"]]))
    assert fires.tolist() == [True, True, True, True, False]


def test_neighbours_and_negations() -> None:
    sequences = as_sequences([["an", "oral", "cavity"], ["cavity", "oral", "cavity", "hurts"]])
    found = lexicon(["oral cavity"])
    assert found.fires(sequences).tolist() == [False, True, True, False, True, True, False]
    assert found.before.fires(sequences).tolist() == [False, False, True, False, False, True, True]
    assert (~found & found.after).fires(sequences).tolist() == [True, False, False, True, False, False, False]


def test_columns_of_tables() -> None:
    table = TableInputs({"title": np.array(["On colitis", "none"]), "body": np.array(["x", "colitis"])})
    found = column("title").lexicon(["colitis"], name="diseases")
    assert found.fires(table).tolist() == [True, False]
    assert column("body").word(words=["x", "y"]).fires(table).tolist() == [True, False]
    titles = as_sequences({"tokens": [["a", "b"], ["c"]], "title": ["On colitis", "none"]})
    assert found.fires(titles).tolist() == [True, True, False]


@pytest.mark.parametrize(
    ("condition", "unit", "clause", "negated"),
    [
        (
            lexicon(["a b"], name="x"),
            "documents",
            "with a phrase of the lexicon x",
            "without any phrase of the lexicon x",
        ),
        (lexicon(["a b"], name="x"), "tokens", "in a phrase of the lexicon x", "not in a phrase of the lexicon x"),
        (lexicon(["a b", "c"]), "documents", 'with "a b" or "c"', 'without "a b" or "c"'),
        (
            lexicon(list("abcde")),
            "documents",
            'with one of 5 phrases ("a", "b", "c", …)',
            'without any of 5 phrases ("a", "b", "c", …)',
        ),
        (lexicon(["A"], case=True), "tokens", 'in "A" in exactly this case', 'not in "A" in exactly this case'),
        (word(words=["a", "b"]), "documents", 'with the word "a" or "b"', 'without the word "a" or "b"'),
        (word(words=list("abcd")), "tokens", 'reading one of 4 words ("a", "b", "c", …)', None),
    ],
)
def test_sentences(condition, unit, clause, negated) -> None:  # type: ignore[no-untyped-def]
    assert condition.clause(unit) == clause
    assert negated is None or condition.clause(unit, negated=True) == negated
    assert condition.clause(unit) in describe(expect("a", given=condition).about(0.9), unit)


def test_files_beside_the_constraint_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "lists").mkdir()
    (tmp_path / "lists" / "places.txt").write_text("New York\n\nOslo\n", encoding="utf-8")
    said = '[[constraint]]\nlabel = "place"\ngiven = { lexicon = { path = "lists/places.txt" } }\nabout = 0.9\n'
    (tmp_path / "said.toml").write_text(said, encoding="utf-8")
    monkeypatch.chdir(tmp_path / "lists")
    found = read(tmp_path / "said.toml")
    assert found[0].given == lexicon(["Oslo", "New York"], name="places") == lexicon("places.txt")
    assert ConstraintSet.from_toml(found.to_toml()) == found  # the phrases themselves
    with pytest.raises(
        ConstraintFileError, match=r"`given\.lexicon\.path` is the path of a file, but only a constraint"
    ):
        ConstraintSet.from_toml(said)
    (tmp_path / "said.toml").write_text(said.replace("places", "plces"), encoding="utf-8")
    with pytest.raises(ConstraintFileError, match="`given.lexicon.path` cannot be read.*no such file"):
        read(tmp_path / "said.toml")
    with pytest.raises(DataFileError, match="no such file"):
        lexicon("nowhere.txt")


@pytest.mark.parametrize(
    ("inside", "why"),
    [
        ("{}", "needs either `words` or `path`"),
        ('{ words = ["a"], path = "b" }', "needs either `words` or `path`"),
        ("{ words = [] }", "holds no phrase"),
        ('{ words = ["a", 1] }', r"words\[1\]` must be a string"),
        ('{ words = ["a"], cse = true }', 'Did you mean "case"'),
    ],
)
def test_tables_that_are_refused(inside: str, why: str) -> None:
    with pytest.raises(ConstraintFileError, match=why):
        ConstraintSet.from_toml(f'[[constraint]]\nlabel = "a"\ngiven = {{ lexicon = {inside} }}\nabout = 0.9\n')


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: lexicon([], name="x"), "the lexicon x can never fire: it holds no phrase"),
        (lambda: lexicon(["a", ""], name="x"), "Phrase 1 of the lexicon x must not be empty"),
        (lambda: lexicon(["a", "  "]), "Phrase 1 of a lexicon must hold a word or a sign"),
        (lambda: lexicon(["a", "b " * 10_000]), "Phrase 1 of a lexicon has 10,000 words and signs, but at most 100"),
        (lambda: lexicon(["a", None]), "Phrase 1 of a lexicon must be a string"),
        (lambda: lexicon(3), "needs a list of phrases or the path of a file"),
        (lambda: lexicon(["a"], case="no"), "case of a lexicon must be True or False"),
        (lambda: lexicon(["a"], name=""), "name of a lexicon must not be empty"),
        (word, "needs one word, or words="),
        (lambda: word("a", words=["b"]), "needs one word, or words="),
        (lambda: word(words="abc"), "needs a list of words"),
        (lambda: word(words=[]), "can never fire"),
        (lambda: word(words=["a", ""]), "must not be empty"),
        (lambda: word(words=["a"], case=2), "case of word"),
    ],
)
def test_conditions_that_are_refused(make, why: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ConstraintError, match=why):
        make()


def test_data_that_are_refused() -> None:
    with pytest.raises(ConstraintError, match=r"lexicon\(\.\.\.\).* look at raw text, but X is a matrix"):
        lexicon(["a"]).fires(MatrixInputs(np.ones((1, 1)), ["a"]))
    with pytest.raises(ConstraintError, match="is not a single word"):
        word(words=["a", "b c"]).fires(TextInputs(["a"]))
    said = [expect("x", given=word(words=["pukc", "abc"])).about(0.9), expect("y", given=word("a")).about(0.9)]
    with pytest.warns(InactiveConstraintWarning, match='never fires on this data; did you mean "puck"'):
        TiltClassifier(said).fit(["a puck"])


@pytest.mark.filterwarnings("ignore::tiltfit.errors.TiltfitWarning")
def test_models_keep_their_lexicons(tmp_path: Path) -> None:
    found = lexicon(["new york", "oslo"], name="places")
    said = [expect("place", given=found).about(0.9), expect("other", given=word(words=["the", "in"])).about(0.9)]
    sequences = [["in", "New", "York"], ["the", "Oslo"]]
    tagger = TiltTagger(said).fit(sequences)
    tagger.save(tmp_path / "m.tilt")
    again = load(tmp_path / "m.tilt")
    assert again.constraints_ == tagger.constraints_
    for a, b in zip(again.project(sequences), tagger.project(sequences), strict=True):
        np.testing.assert_array_equal(a, b)


def test_pages_mark_what_was_found() -> None:
    text = "On breast cancer, and Colitis."
    found = [text[s.start : s.stop] for s in spans(lexicon(["breast cancer", "colitis"]), text)]
    assert found == ["breast cancer", "Colitis"]
    found = [text[s.start : s.stop] for s in spans(word(words=["colitis", "on", "And"]), text)]
    assert found == ["On", "Colitis"]


def test_many_phrases_on_many_tokens() -> None:
    """Against the set of all pairs of neighbours, in a time that a search phrase by phrase could not keep."""
    rng = np.random.default_rng(0)
    names = np.array([f"w{k}" for k in range(2_000)])
    rows = names[rng.integers(2_000, size=(4_000, 25))]
    phrases = {tuple(row) for row in names[rng.integers(2_000, size=(20_000, 2))].tolist()}
    condition, inputs = lexicon([" ".join(phrase) for phrase in phrases]), as_sequences(rows.tolist())
    began = time.perf_counter()
    found = condition.fires(inputs).reshape(rows.shape)
    assert time.perf_counter() - began < 5
    hits = np.array([[pair in phrases for pair in itertools.pairwise(row)] for row in rows.tolist()])
    wanted = np.zeros(rows.shape, dtype=bool)
    wanted[:, :-1] |= hits
    wanted[:, 1:] |= hits
    np.testing.assert_array_equal(found, wanted)
