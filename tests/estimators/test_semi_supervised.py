"""Some labels, some constraints: transductive and inductive, and labels kept aside to stop by."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

from tiltfit import TiltClassifier, TiltTagger, expect, load, word
from tiltfit.errors import DataError, InactiveConstraintWarning, TiltfitError, UnknownLabelError, UnsupportedError

TEXTS = ["the puck and ice", "a goalie on ice", "the bat and ball", "a pitcher and a ball", "the season", "a season"]
Y = ["hockey", None, "baseball", None, None, None]
PUCK = expect("hockey", given=word("goalie")).about(0.9)
SEASON = expect("hockey", given=word("season")).at_least(0.95)

ADS = [
    ["big", "room", ",", "call", "Ann"],
    ["sunny", "room", ".", "phone", "Bob"],
    ["big", "garden", "phone", "Ann"],
    ["call", "Bob", ",", "big", "room"],
]
TAGS = [["size"] * 3 + ["contact"] * 2, None, [None, None, None, "size"], None]
CALL = expect("contact", given=word("call") | word("phone")).about(0.95)
GARDEN = expect("contact", given=word("garden")).exactly(1.0)

DOCUMENTS = (["ice", "ball", "who knows"], ["hockey", "baseball", None])
SENTENCES = ([["big", "garden"], ["call", "Ann"], []], [["size", None], ["contact", "contact"], None])
SOLVERS = ["joint", "alternating"]


# Transductive


def test_documents_are_labelled_under_the_constraints():
    clf = TiltClassifier([SEASON], alpha=100.0)  # the model itself learns next to nothing
    labels = clf.fit_predict(TEXTS, Y)
    assert labels.tolist()[4:] == ["hockey", "hockey"]
    np.testing.assert_array_equal(labels, clf.classes_[clf.project(TEXTS, Y).argmax(axis=1)])


def test_known_labels_of_documents_stay_whatever_the_model_thinks():
    y = ["hockey", "baseball", "baseball", "hockey", None, None]
    clf = TiltClassifier([expect("hockey").about(0.9)])
    assert clf.fit_predict(["same"] * 6, y).tolist() == [*y[:4], "hockey", "hockey"]
    q = clf.project(["same"] * 6, y)
    assert q[:4].tolist() == [[0.0, 1.0], [1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]


def test_constraints_speak_of_the_unlabelled_documents_only():
    clf = TiltClassifier([expect("hockey").exactly(0.75)])
    q = clf.fit(TEXTS, Y).project(TEXTS, Y)
    assert q[[1, 3, 4, 5], 1].mean() == pytest.approx(0.75, abs=1e-4)
    assert clf.project(TEXTS, prices="solve")[:, 1].mean() == pytest.approx(0.75, abs=1e-4)  # without y: of all of them


def test_q_is_that_of_the_fit():
    clf = TiltClassifier([PUCK, SEASON], tol=1e-8).fit(TEXTS, Y)
    puck, season = clf.constraint_report_
    q = clf.project(TEXTS, Y)
    assert q[1, 1] == pytest.approx(puck.projected, abs=1e-4)
    assert q[[4, 5], 1].mean() == pytest.approx(season.projected, abs=1e-4)


def test_tokens_are_labelled_under_the_constraints_and_known_ones_stay():
    tagger = TiltTagger([CALL, GARDEN], gamma=1e-6)  # the model itself learns from labels only
    labels = tagger.fit_predict(ADS, TAGS)
    assert labels[0] == TAGS[0]
    assert labels[2][3] == "size"
    assert labels[2][1] == "contact"  # what the constraint says, and no model would
    assert tagger.predict(ADS)[2][1] == "size"
    q = tagger.project(ADS, TAGS)
    assert q[0].tolist() == [[0, 1]] * 3 + [[1, 0]] * 2
    assert q[2][3].tolist() == [0, 1]
    assert [len(row) for row in q] == [5, 5, 4, 5]


def test_what_fit_has_warned_of_is_not_said_twice():
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        TiltClassifier([SEASON, expect("hockey", given=word("nowhere")).about(0.9)]).fit_predict(TEXTS, Y)
        TiltTagger([CALL, expect("size", given=word("nowhere")).about(0.9)]).fit_predict(ADS, TAGS)
    assert [w.category for w in said] == [InactiveConstraintWarning] * 2


def test_base_probabilities_of_the_training_rows_are_known_while_fitting():
    base = np.array([[0.5, 0.5]] * 4 + [[0.01, 0.99]] * 2)
    clf = TiltClassifier([PUCK], base=base)
    assert clf.fit_predict(TEXTS, Y).tolist()[4:] == ["hockey", "hockey"]
    with pytest.raises(UnsupportedError, match="say nothing about other rows"):
        clf.project(TEXTS)


def test_a_data_frame_and_numbers():
    frame = pd.DataFrame({"ice": [1.0, 1.0, 0.0, 0.0], "ball": [0.0, 0.0, 1.0, 1.0]})
    assert TiltClassifier(classes=[0, 1]).fit_predict(frame, [1, -1, 0, -1]).tolist() == [1, 1, 0, 0]


# A development set


@pytest.mark.parametrize("solver", SOLVERS)
def test_classifier_keeps_the_best_round(solver):
    wrong = expect("baseball", given=word("ice")).about(0.999, beta=1e-4)
    clf = TiltClassifier([wrong], solver=solver, gamma=20.0, alpha=1e-3, init="supervised")
    clf.fit(TEXTS, Y, dev=DOCUMENTS, patience=2)
    scores = [r.dev_score for r in clf.history_]
    assert clf.score(*DOCUMENTS) == max(scores)
    assert clf.converged_
    assert "the best on the development set" in clf.message_


@pytest.mark.parametrize("options", [{"solver": s} for s in SOLVERS] + [{"weights": "observed"}], ids=str)
def test_tagger_keeps_the_best_round(options):
    tagger = TiltTagger([CALL, GARDEN], **options)
    tagger.fit(ADS, TAGS, dev=SENTENCES, patience=2)
    scores = [r.dev_score for r in tagger.history_]
    assert tagger.score(*SENTENCES) == max(scores)
    assert tagger.converged_


def test_sampled_q_stops_by_the_development_set_too():
    repeats = expect.repeats().at_most(0.2)
    tagger = TiltTagger([CALL, repeats], inference="sampled", random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tagger.fit(ADS, TAGS, dev=SENTENCES, patience=1)
    scores = [r.dev_score for r in tagger.history_ if r.dev_score is not None]
    assert len(scores) <= scores.index(max(scores)) + 2  # the start, the fit without repeats, counts as well
    assert tagger.score(*SENTENCES) >= max(scores)


def test_of_several_starts_the_best_on_the_development_set_wins():
    kept = []
    clf = TiltClassifier([SEASON], n_init=3, random_state=0, callback=lambda told: kept.append(told.dev_score))
    clf.fit(TEXTS, Y, dev=DOCUMENTS, patience=1)
    assert clf.score(*DOCUMENTS) == max(kept)


def test_without_dev_nothing_changes():
    plain, same = TiltClassifier([PUCK]).fit(TEXTS, Y), TiltClassifier([PUCK]).fit(TEXTS, Y, patience=1)
    np.testing.assert_array_equal(plain.coef_, same.coef_)
    assert {r.dev_score for r in plain.history_} == {None}


def test_scores_survive_a_file(tmp_path):
    clf = TiltClassifier([PUCK]).fit(TEXTS, Y, dev=DOCUMENTS)
    plain = TiltClassifier([PUCK]).fit(TEXTS, Y)
    for k, model in enumerate((clf, plain)):
        model.save(tmp_path / f"{k}.tilt")
        assert load(tmp_path / f"{k}.tilt").history_ == model.history_


# Bad input


def refused(dev, patience=5, error=DataError):
    with pytest.raises(error) as said:
        TiltClassifier([PUCK]).fit(TEXTS, Y, dev=dev, patience=patience)
    return str(said.value)


@pytest.mark.parametrize("patience", [0, -1, 1.5, True, None, "5"])
def test_patience_is_a_positive_whole_number(patience):
    assert "patience=" in refused(DOCUMENTS, patience)
    with pytest.raises(DataError, match="patience="):
        TiltTagger([CALL]).fit(ADS, TAGS, dev=SENTENCES, patience=patience)


@pytest.mark.parametrize("dev", [["ice"], "ice", 3, (1, 2, 3), {"X": 1}], ids=repr)
def test_dev_is_a_pair(dev):
    assert "must be a pair (X_dev, y_dev)" in refused(dev)


def test_dev_without_labels():
    assert "y_dev is None" in refused((["ice"], None))
    assert "everything in y_dev is unlabelled" in refused((["ice"], [None]))
    with pytest.raises(DataError, match="everything in y_dev is unlabelled"):
        TiltTagger([CALL]).fit(ADS, TAGS, dev=([["call"]], [None]))


def test_dev_with_an_unknown_label():
    said = refused((["ice"], ["hokey"]), error=UnknownLabelError)
    assert said.startswith("In dev=(X_dev, y_dev): y[0] has the label 'hokey'")
    with pytest.raises(UnknownLabelError, match="In dev=.*'contakt'"):
        TiltTagger([CALL]).fit(ADS, TAGS, dev=([["call"]], [["contakt"]]))


def test_dev_of_the_wrong_shape():
    assert "In dev=(X_dev, y_dev): X and y have different lengths" in refused((["ice"], ["hockey", "hockey"]))
    numbers = TiltClassifier(classes=[0, 1])
    with pytest.raises(DataError, match="In dev=.*3 features"):
        numbers.fit(np.eye(2), [0, 1], dev=(np.eye(3), [0, 1, 0]))
    with pytest.raises(DataError, match="In dev=.*1 positions"):
        TiltTagger([CALL]).fit(ADS, TAGS, dev=([["call"]], [["contact", "size"]]))


def test_dev_of_another_kind_of_data():
    assert "fitted on raw texts" in refused((np.eye(2), ["hockey", "baseball"]))
    with pytest.raises(TiltfitError, match="In dev="):
        TiltTagger([CALL]).fit(ADS, TAGS, dev=(["call"], ["contact"]))


def test_a_refused_dev_leaves_the_estimator_as_it_was():
    clf = TiltClassifier([PUCK]).fit(TEXTS, Y)
    before = clf.coef_
    with pytest.raises(DataError):
        clf.fit(TEXTS[:2], ["hockey", None], dev=(["ice"], [None]))
    assert clf.coef_ is before
