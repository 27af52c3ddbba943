"""What was meant, where a word or a number is not what it was taken for; and what is no reason to stop."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from tiltfit import TiltClassifier, TiltTagger, expect, word
from tiltfit.errors import ConflictError, DataError, TiltfitWarning, UnmetConstraintWarning, UnsupportedError

TEXTS = ["the puck", "a puck", "the bat", "a bat", "ice and puck", "bat and ball"]
SAID = [expect("h", given=word("puck")).about(0.9), expect("b", given=word("bat")).about(0.9)]
HALF = ["h", None, "b", None, None, None]
ADS = [["big", "room"], ["call", "Ann"], ["big", "call", "Bob"]]
TAGS = [["s", "n"], None, ["s", None, None]]


# Words of other parameters


@pytest.mark.parametrize(
    ("estimator", "given", "hint"),
    [
        (TiltClassifier, {"model": "hmm"}, "'hmm' is a model of TiltTagger"),
        (TiltClassifier, {"model": "crf"}, "'crf' is a model of TiltTagger"),
        (TiltTagger, {"model": "naive_bayes"}, "'naive_bayes' is a model of TiltClassifier"),
        (TiltClassifier, {"model": "em"}, "'em' is a method: use method='em'"),
        (TiltClassifier, {"method": "naive_bayes"}, "'naive_bayes' is a model: use model='naive_bayes'"),
        (TiltTagger, {"method": "hmm"}, "'hmm' is a model: use model='hmm'"),
        (TiltClassifier, {"method": "hmm"}, "'hmm' is a model of TiltTagger"),
        (TiltClassifier, {"method": "joint"}, "'joint' is a solver: use solver='joint'"),
        (TiltClassifier, {"method": "codel"}, 'Did you mean "codl"'),
        (TiltClassifier, {"method": ["ap"]}, "is not supported: use 'ap'"),
        (TiltClassifier, {"model": {"maxent": 1}}, "is not supported: use 'maxent'"),
    ],
)
def test_a_word_in_the_wrong_place_is_told_where_it_belongs(estimator, given, hint):
    with pytest.raises(UnsupportedError, match=hint):
        estimator(SAID, **given).fit(TEXTS)


# Votes


@pytest.mark.filterwarnings("ignore:.*is inactive")
@pytest.mark.parametrize("method", ["vote", "label_model"])
def test_nothing_to_vote_on_is_told_as_what_it_is(method):
    with pytest.raises(DataError, match="all of it is labelled. Use method='supervised'"):
        TiltClassifier(SAID, method=method).fit(TEXTS, list("hhbbhb"))
    with pytest.raises(DataError, match="votes of constraints, but there are none"):
        TiltClassifier(method=method).fit(TEXTS, HALF)
    with pytest.raises(DataError, match="no constraint votes on an unlabelled instance"):
        TiltClassifier([expect("h").about(0.6)], method=method).fit(TEXTS, HALF)


# One label in y


def test_one_label_in_y_does_not_hide_the_classes_that_constraints_name():
    found = TiltClassifier(SAID).fit(TEXTS, ["h", *[None] * 5])
    assert found.classes_.tolist() == ["b", "h"]
    assert found.predict(["a bat"]).tolist() == ["b"]
    said = [expect("s", given=word("big")).about(0.9), expect("c", given=word("call")).about(0.9)]
    assert TiltTagger(said).fit(ADS, [["s", None], None, None]).classes_.tolist() == ["c", "s"]
    assert TiltTagger(said).fit(ADS, [["n", None], None, None]).classes_.tolist() == ["c", "n", "s"]


def test_one_label_that_is_spelt_otherwise_is_told():
    said = [expect("electronics", given=word("puck")).about(0.9), expect("b", given=word("bat")).about(0.9)]
    with pytest.warns(TiltfitWarning, match="'electronic' and 'electronics'"):
        TiltClassifier(said).fit(TEXTS, ["electronic", *[None] * 5])


def test_one_label_and_no_constraints_are_one_class():
    with pytest.raises(DataError, match="only one class, 'h'"):
        TiltClassifier().fit(TEXTS, ["h", *[None] * 5])


# Constraints that cannot hold together

CONFLICTS = [
    expect("h", given=word("puck")).exactly(1, name="pucks"),
    expect("b", given=word("ice")).exactly(1, name="ices"),
]


@pytest.mark.parametrize("method", ["supervised", "entropy", "self_training", "label_regularization", "vote"])
def test_conflicts_do_not_stop_methods_that_do_not_follow_constraints(method):
    with pytest.raises(ConflictError, match="'pucks' and 'ices'"):
        TiltClassifier(CONFLICTS).fit(TEXTS, HALF)
    with pytest.warns(UnmetConstraintWarning, match=f"'pucks' and 'ices'.*method='{method}' does not follow"):
        found = TiltClassifier(CONFLICTS, method=method).fit(TEXTS, HALF)
    if method != "vote":  # which learns from both
        plain = TiltClassifier(method=method, classes=["b", "h"]).fit(TEXTS, HALF)
        np.testing.assert_allclose(found.coef_, plain.coef_, atol=1e-9)
    pucks, ices = found.constraint_report_
    share = found.predict_proba(["ice and puck"])[0]
    assert ices.model == pytest.approx(share[0])
    assert ices.model_violation == pytest.approx(1 - share[0])
    assert pucks.sentence == 'exactly 100% of documents with the word "puck" are h'
    with pytest.raises(ConflictError):
        found.project(TEXTS)


def test_conflicts_with_labels_do_not_stop_them_either():
    said = [expect("b", given=word("puck"), on="all").exactly(1)]
    with pytest.raises(ConflictError, match="rules out the label that row 0 has"):
        TiltClassifier(said, method="codl").fit(TEXTS, HALF)
    with pytest.warns(UnmetConstraintWarning, match="rules out the label that row 0 has"):
        TiltClassifier(said, method="supervised").fit(TEXTS, HALF)


def test_conflicts_in_sequences():
    said = [expect("B-x", given=word("Bob")).exactly(0), expect("O", given=word("Bob") | word("call")).exactly(0)]
    tagger = TiltTagger(said, classes=["B-x", "O"], method="supervised")
    with pytest.warns(UnmetConstraintWarning, match="method='supervised' does not follow"):
        tagger.fit(ADS, [["O", "B-x"], ["O", "B-x"], None])
    # Neither may a well-formed labelling be asked for that rules leave none of.
    said = [expect("B-x", "O").at_most(0)]
    tagger = TiltTagger(said, classes=["B-x", "I-x", "O"], method="supervised", valid_only=True)
    with pytest.warns(UnmetConstraintWarning, match="No well-formed labelling"):
        tagger.fit(ADS, [["O", "B-x"], ["O", "B-x"], None])


def test_without_conflicts_nothing_is_said():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        TiltClassifier(CONFLICTS[:1], method="supervised").fit(TEXTS, HALF)
