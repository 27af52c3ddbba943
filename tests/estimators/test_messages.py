"""What estimators say of parameters and labels that cannot be right, and in whose words."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

from tiltfit import TiltClassifier, TiltTagger, expect, when, word
from tiltfit.errors import (
    ConflictError,
    ConstraintError,
    DataError,
    NotSavedWarning,
    TiltfitWarning,
    UnknownLabelError,
    UnmetConstraintWarning,
    UnsupportedError,
)

ADS = [["big", "room"], ["call", "Ann"]]
TAGS = [["size", "size"], ["contact", "contact"]]
ATTRIBUTES = [[["w=big", "capital"], ["w=room"]], [["w=call"], ["w=Ann", "capital"]]]
TEXTS, LABELS = ["big room", "call Ann"], ["size", "contact"]
BIG = expect("size", given=word("big"))


def tagger(*constraints: Any, **options: Any) -> TiltTagger:
    return TiltTagger(list(constraints), **{"classes": ["contact", "size"], **options})


def test_templates_of_tokens_do_not_go_with_attributes() -> None:
    with pytest.raises(DataError, match=r"features=\{'window': ...\}.*X holds attributes already: only 'min_count'"):
        TiltTagger(features={"window": 1}).fit(ATTRIBUTES, TAGS)


@pytest.mark.parametrize("classes", [5, "size", 2.5])
def test_classes_that_are_no_list(classes: Any) -> None:
    with pytest.raises(DataError, match=r"classes=.* must be a list of all labels"):
        TiltTagger(classes=classes).fit(ADS, TAGS)
    with pytest.raises(DataError, match=r"classes=.* must be a list of all labels"):
        TiltClassifier(classes=classes).fit(TEXTS, LABELS)


@pytest.mark.parametrize("n_jobs", [2.5, True, "2", 0])
def test_threads_are_a_whole_number(n_jobs: Any) -> None:
    for estimator, data in ((TiltTagger, (ADS, TAGS)), (TiltClassifier, (TEXTS, LABELS))):
        with pytest.raises(DataError, match=r"n_jobs=.* must be a whole number of threads"):
            estimator(n_jobs=n_jobs).fit(*data)
        fitted = estimator().fit(*data)
        with pytest.raises(DataError, match=r"n_jobs="):
            fitted.set_params(n_jobs=n_jobs).predict(data[0])


def test_a_condition_that_fails_says_where() -> None:
    with pytest.raises(ConstraintError, match=r"position 0 of sequence 1 \(X\[1\]\[0\]\) with KeyError: 'call'"):
        tagger(expect("size", given=when({"big": 1, "room": 0}.__getitem__, "known")).about(0.9)).fit(ADS)


def test_attributes_of_transitions_that_occur_nowhere() -> None:
    with pytest.warns(TiltfitWarning, match=r"'capitol' of transitions= occurs nowhere.*Did you mean \"capital\"\?"):
        TiltTagger(transitions={"attributes": ["capitol"]}).fit(ATTRIBUTES, TAGS)
    with pytest.raises(DataError, match=r"'attributes'.*X holds tokens.*'before' or 'at'"):
        TiltTagger(transitions={"attributes": ["capital"]}).fit(ADS, TAGS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        TiltTagger(transitions={"attributes": ["capital"]}).fit(ATTRIBUTES, TAGS)


@pytest.mark.parametrize("items", [ADS, ATTRIBUTES], ids=["tokens", "attributes"])
def test_a_count_that_no_attribute_reaches(items: Any) -> None:
    with pytest.raises(DataError, match="min_count=50 drops every attribute"):
        TiltTagger(features={"min_count": 50}).fit(items, TAGS)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([[1, "a"], [1, 2]], "1 and 'a' are of different types, a whole number and a text"),
        ([[1, 2.5], [1, 1]], r"1 and 2\.5 are of different types, a whole number and a decimal number"),
        ([[0, True], [0, 2]], "0 and True are of different types, a whole number and a truth value"),
    ],
)
def test_labels_of_several_types(labels: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        TiltTagger().fit(ADS, labels)


def test_messages_to_taggers_speak_of_tokens(tmp_path: Any) -> None:
    with pytest.raises(UnknownLabelError, match='about 90% of tokens reading "big" are size'):
        tagger(BIG.about(0.9), classes=["contact", "other"]).fit(ADS)
    with pytest.raises(ConflictError, match='at least 90% of tokens reading "big" are size.*cannot both hold'):
        tagger(BIG.at_least(0.9), BIG.at_most(0.5)).fit(ADS)
    each = expect("size", given=word("big"), per="instance").about(0.9)
    fitted = tagger(each).fit(ADS)
    with pytest.raises(UnsupportedError, match=r"tokens reading .* has a price for each training instance"):
        fitted.project(ADS, prices="fitted")
    fitted = tagger(BIG.at_least(0.9), expect("size").at_most(0.4)).fit(ADS)
    with pytest.warns(UnmetConstraintWarning, match='at least 90% of tokens reading "big" are size'):
        fitted.project([["big", "big"]], prices="solve")
    with pytest.warns(NotSavedWarning, match=r"about 90% of tokens for which"):
        tagger(expect("size", given=when(str.islower, "low")).about(0.9)).fit(ADS).save(tmp_path / "m.tilt")


def test_messages_to_classifiers_speak_of_documents() -> None:
    with pytest.raises(UnknownLabelError, match='about 90% of documents with the word "big" are size'):
        TiltClassifier([BIG.about(0.9)], classes=["contact", "other"]).fit(TEXTS)


def test_only_classifiers_are_told_of_vectorizers() -> None:
    far = [expect("size", given=word(w)).about(share) for w, share in (("big", 0.99), ("call", 0.01))]
    soft: dict[str, Any] = {"alpha": 1000.0, "beta": 100.0, "classes": ["contact", "size"]}
    with pytest.warns(UnmetConstraintWarning) as told:
        TiltTagger(far, **soft).fit(ADS)
    assert not any("vectorizer" in str(w.message) for w in told)
    with pytest.warns(UnmetConstraintWarning, match="vectorizer='tfidf'"):
        TiltClassifier(far, **soft).fit(TEXTS)
