"""Words with marks, against the categories of Unicode, and plain words, against ``\\w+``."""

from __future__ import annotations

import re
import sys
import unicodedata

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tiltfit import TiltClassifier, expect, lexicon, load, phrase, regex, word
from tiltfit.data.inputs import MatrixInputs, TableInputs, TextInputs, cut
from tiltfit.data.pieces import split
from tiltfit.data.sequences import as_sequences
from tiltfit.data.words import _marks, has_marks, normal, places_of_run, places_of_words, tokenise
from tiltfit.estimators.encoders import TextEncoder
from tiltfit.estimators.file_parts import dump_encoder, restore_encoder
from tiltfit.features.text import WITHOUT_MARKS, BagOfWords, HashedWords, fit_bag_of_words, fit_views
from tiltfit.report.html.examples import spans, spans_of_words
from tiltfit.suggesting.context import in_context

CAFE, DECOMPOSED = "café", "cafe\u0301"
HINDI = "मैं हिन्दी में लिखता हूँ"
ARABIC = "كَتَبَ الوَلَدُ"

plain = st.text(st.characters(max_codepoint=0x2FF), max_size=30)
anything = st.text(
    st.one_of(
        st.sampled_from("aé_1 -.\u0301\u0308\u094d\u093f\u0939\u200d\u200c\U0001e944\U0001e900😀"), st.characters()
    ),
    max_size=20,
)


def is_mark(c: str) -> bool:
    return unicodedata.category(c)[0] == "M"


def naive(text: str) -> list[str]:
    """Character by character: joiners count only between what belongs to one word."""
    text = unicodedata.normalize("NFC", text)
    found, waiting, open_ = [], "", False
    for c in text:
        letter = c.isalnum() or c == "_"
        if letter or (is_mark(c) and open_):
            if open_:
                found[-1] += waiting + c
            else:
                found.append(c)
            waiting, open_ = "", True
        elif c in "\u200c\u200d" and open_:
            waiting += c
        else:
            waiting, open_ = "", False
    return found


@settings(max_examples=300, deadline=None)
@given(plain)
def test_plain_texts_have_the_words_that_they_always_had(text: str) -> None:
    assert tokenise(text) == re.findall(r"\w+", text) == re.findall(WITHOUT_MARKS, text)
    assert split(text) == re.findall(r"\w+|[^\w\s]", text)


@settings(max_examples=300, deadline=None)
@given(anything)
def test_words_have_their_marks(text: str) -> None:
    assert tokenise(text) == naive(text)
    assert has_marks(text) or tokenise(text) == re.findall(r"\w+", normal(text))
    text = normal(text)
    assert [text[a:b] for a, b in places_of_words(text)] == tokenise(text)


def test_all_marks_are_known() -> None:
    inside = re.compile("[" + "".join(_marks()) + "]")
    found = {c for c in map(chr, range(sys.maxunicode + 1)) if inside.match(c)}
    assert found == {c for c in map(chr, range(sys.maxunicode + 1)) if is_mark(c)}
    assert not any(re.match(r"\w", c) for c in found)  # else a word could be read in two ways


@pytest.mark.parametrize("one", [*HINDI.split(), *ARABIC.split(), "แมว", "ที่นี่", "می\u200cخواهم", "İstanbul", CAFE])
def test_a_word_of_any_script_is_one_word(one: str) -> None:
    texts = [f"({one}), x", "x", f"{one}क"]
    assert word(one).fires(TextInputs(texts)).tolist() == [True, False, False]
    assert phrase(one).fires(TextInputs(texts)).tolist() == [True, False, False]
    assert phrase(f"{one} x").fires(TextInputs(texts)).tolist() == [True, False, False]
    assert lexicon([one]).fires(TextInputs(texts)).tolist() == [True, False, False]


def test_a_phrase_is_no_part_of_longer_words() -> None:
    assert phrase("हिन्द").fires(TextInputs(["हिन्दी", "हिन्द"])).tolist() == [False, True]
    assert phrase("cafe x").fires(TextInputs([f"{DECOMPOSED} x", "cafe x"])).tolist() == [False, True]


@pytest.mark.parametrize("written", [CAFE, DECOMPOSED])
def test_a_text_is_the_same_however_it_was_typed(written: str) -> None:
    texts = [f"un {CAFE} noir", f"un {DECOMPOSED} noir", "un cafe noir"]
    table = TableInputs({"text": np.array(texts, dtype=object)})
    for condition in (word(written), phrase(f"{written} noir"), lexicon([written]), word(words=[written, "zz"])):
        assert condition.fires(TextInputs(texts)).tolist() == [True, True, False]
        assert condition.fires(table).tolist() == [True, True, False]
    assert word("cafe").fires(TextInputs(texts)).tolist() == [False, False, True]
    assert regex(CAFE).fires(TextInputs(texts)).tolist() == [True, True, False]
    tokens = as_sequences([[CAFE, DECOMPOSED, "cafe"]])
    assert word(written).fires(tokens).tolist() == [True, True, False]
    assert lexicon([written]).fires(tokens).tolist() == [True, True, False]
    names = MatrixInputs(np.eye(3), [CAFE, DECOMPOSED, "cafe"])
    assert word(written).fires(names).tolist() == [True, True, False]
    assert word(written) == word(CAFE)
    assert word(written).to_document() == {"word": CAFE}


def test_what_the_user_gave_is_kept() -> None:
    assert TextInputs([DECOMPOSED]).row(0) == DECOMPOSED
    assert as_sequences([[DECOMPOSED]]).row(0) == DECOMPOSED


@pytest.mark.parametrize("weighting", ["tfidf", "counts"])
def test_features_are_whole_words(weighting: str) -> None:
    bag, matrix = fit_bag_of_words([HINDI, DECOMPOSED, CAFE.upper()], weighting)
    assert set(bag.words) == {*HINDI.split(), CAFE}
    assert np.array_equal(matrix.toarray()[1], matrix.toarray()[2])
    assert np.array_equal(bag.transform([DECOMPOSED]).toarray(), bag.transform([CAFE]).toarray())


def test_hashed_words_pairs_and_characters_are_in_the_normal_form() -> None:
    bag = HashedWords(64)
    assert np.array_equal(bag.transform([f"un {CAFE}"]).toarray(), bag.transform([f"un {DECOMPOSED}"]).toarray())
    texts = [f"un {CAFE}", f"un {DECOMPOSED}"]
    views, matrix = fit_views(texts, fit_bag_of_words(texts, "tfidf")[0])
    assert views.units == ("words", "pairs", "characters")
    assert np.array_equal(matrix.toarray()[0], matrix.toarray()[1])


@settings(max_examples=50, deadline=None)
@given(st.lists(st.text(st.characters(max_codepoint=0x12F), max_size=30), min_size=1, max_size=4))
def test_features_of_plain_texts_are_those_of_old_files(texts: list[str]) -> None:
    texts = ["a", *texts]  # one word at least
    bag, matrix = fit_bag_of_words(texts, "counts")
    old = BagOfWords(bag.words, "counts", None, marks=False)
    assert np.array_equal(old.transform(texts).toarray(), matrix.toarray())


def test_files_without_marks_keep_their_words() -> None:
    texts = [HINDI, "hello"]
    for bag in (
        fit_bag_of_words(texts, "tfidf")[0],
        HashedWords(64),
        fit_views(texts * 2, fit_bag_of_words(texts, "tfidf")[0])[0],
    ):
        arrays: dict[str, np.ndarray] = {}
        document = dump_encoder(TextEncoder(bag=bag), arrays, [])
        again = restore_encoder(document, arrays)
        assert np.array_equal(again.bag.transform(texts).toarray(), bag.transform(texts).toarray())
        for part in [document["bag"], *document["bag"].get("views", [])]:
            part.pop("marks", None)
        old = restore_encoder(document, arrays).bag
        assert {view.marks for view in getattr(old, "bags", [old])} == {False}
    old = BagOfWords(("द", "हello", "hello"), "counts", None, marks=False)
    assert old.transform(["हिन्दी"]).toarray().tolist() == [[1, 0, 0]]


def test_a_classifier_of_hindi(tmp_path) -> None:
    texts = ["हिन्दी अच्छी है", "हिन्दी में लिखता", "क्रिकेट खेल है", "क्रिकेट का खेल"] * 5
    stated = [
        expect("language", given=word("हिन्दी")).about(0.9),
        expect("sport", given=word("क्रिकेट")).about(0.9),
    ]
    clf = TiltClassifier(classes=["language", "sport"], constraints=stated).fit(texts)
    assert clf.predict(["हिन्दी", "क्रिकेट"]).tolist() == ["language", "sport"]
    clf.save(tmp_path / "m.tilt")
    assert np.array_equal(load(tmp_path / "m.tilt").predict_proba(texts), clf.predict_proba(texts))


def test_places_are_those_of_the_text_as_it_is() -> None:
    text = f"un {DECOMPOSED} noir"
    for condition in (word(CAFE), phrase(CAFE), lexicon([CAFE]), word(words=[CAFE])):
        assert [text[s.start : s.stop] for s in spans(condition, text)] == [DECOMPOSED]
    assert [text[s.start : s.stop] for s in spans_of_words([CAFE], text)] == [DECOMPOSED]
    assert places_of_run(text, [CAFE, "noir"]) == [(3, 13)]
    assert in_context(text, (CAFE,)) == f"un [{DECOMPOSED}] noir"
    assert cut("x " * 60 + HINDI, ["लिखता"]).endswith("लिखता हूँ")
