"""Every kind of bad input: a specific exception that says what, which and what would work; nothing half-done."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from tiltfit import TiltClassifier, column, expect, feature, phrase, punctuation, word
from tiltfit.errors import (
    ConflictError,
    ConstraintError,
    DataError,
    InactiveConstraintWarning,
    NotConvergedWarning,
    TiltfitError,
    UnknownLabelError,
    UnmetConstraintWarning,
    UnsupportedError,
)

TEXTS = ["the puck", "a puck and ice", "the bat", "a bat and a ball"]
PUCK = expect("hockey", given=word("puck")).about(0.9)
BAT = expect("baseball", given=word("bat")).about(0.9)


def fit(constraints=(PUCK, BAT), X=TEXTS, y=None, sample_weight=None, **options):
    return TiltClassifier(constraints, **options).fit(X, y, sample_weight)


def test_unknown_label_suggests_the_nearest():
    with pytest.raises(UnknownLabelError, match=r"'hokcey'.*Did you mean \"hockey\"\?"):
        fit([expect("hokcey", given=word("puck")).about(0.9)], classes=["hockey", "baseball"])


def test_labels_outside_classes():
    with pytest.raises(UnknownLabelError, match="'basebal'.*baseball"):
        fit(y=["hockey", None, "basebal", None], classes=["hockey", "baseball"])


def test_a_label_only_constraints_name_is_unknown_when_y_has_labels():
    with pytest.raises(UnknownLabelError, match="'curling'"):
        fit([expect("curling", given=word("puck")).about(0.9)], y=["hockey", None, "baseball", None])


def test_condition_that_never_fires_warns_with_the_nearest_word():
    with pytest.warns(InactiveConstraintWarning, match=r'never fires.*did you mean "puck"'):
        clf = fit([PUCK, BAT, expect("hockey", given=word("pukc")).about(0.9)])
    assert clf.constraint_report_[2].status == "rests"


def test_condition_that_fires_on_labelled_rows_only():
    with pytest.warns(InactiveConstraintWarning, match="labelled rows only"):
        fit([PUCK, BAT], y=["hockey", "hockey", None, None], classes=["hockey", "baseball"])


def test_constraints_with_every_row_labelled():
    with pytest.warns(InactiveConstraintWarning, match="every row has a label"):
        fit([PUCK], y=["hockey", "hockey", "baseball", "baseball"])


@pytest.mark.parametrize("share", [-0.1, 1.1, 90, float("nan")])
def test_share_outside_0_1(share):
    with pytest.raises(ConstraintError):
        expect("hockey", given=word("puck")).about(share)


def test_lower_bound_above_upper():
    with pytest.raises(ConstraintError, match="lower bound"):
        expect("hockey").between(0.9, 0.1)


def test_distribution_that_does_not_sum_to_one():
    with pytest.raises(ConstraintError, match=r"sum to 0.8"):
        expect(given=word("puck")).distributed_as({"hockey": 0.5, "baseball": 0.3})


def test_two_hard_constraints_on_one_event_that_contradict_each_other():
    with pytest.raises(ConflictError, match=r"(?s)low.*high|high.*low"):
        fit(
            [expect("hockey").at_most(0.2, name="low"), expect("hockey").at_least(0.6, name="high")],
            classes=["hockey", "x"],
        )


def test_hard_constraints_that_contradict_each_other_only_on_the_data():
    hard = [
        expect("hockey", given=word("puck")).at_least(0.9, name="puck"),
        expect("hockey", given=word("the") | word("a")).at_most(0.1, name="all"),
    ]
    with pytest.warns(UnmetConstraintWarning, match="(?s)puck|all"):
        clf = fit(hard, classes=["hockey", "baseball"])
    assert "violated" in {e.status for e in clf.constraint_report_}


def test_hard_one_and_zero_leave_no_label():
    rules = [
        expect("hockey", given=word("puck")).exactly(1, name="A"),
        expect("hockey", given=word("ice")).exactly(0, name="B"),
    ]
    with pytest.raises(ConflictError, match="row 1.*'A' and 'B'"):
        fit(rules, classes=["hockey", "baseball"])


def test_hard_rule_against_a_known_label():
    rule = expect("hockey", given=word("puck"), on="all").exactly(0, name="rule")
    with pytest.raises(ConflictError, match="'rule'.*row 0"):
        fit([rule], y=["hockey", None, None, None], classes=["hockey", "baseball"])


def test_an_event_of_every_class():
    with pytest.raises(ConstraintError):
        fit([expect("hockey", "baseball", given=word("puck")).at_most(0.5)], classes=["hockey", "baseball"])


def test_sequence_events_are_refused_by_name():
    for constraint in (
        expect.change(given=~punctuation.before).at_most(0.01, name="borders"),
        expect.segments("hockey", per="sequence").at_most(1, name="borders"),
        expect("hockey", given=punctuation).about(0.5, name="borders"),
        expect("hockey", given=word("x").before).about(0.5, name="borders"),
    ):
        with pytest.raises(UnsupportedError, match="'borders'.*sequences"):
            fit([constraint], classes=["hockey", "baseball"])


def test_share_of_another_event_is_refused_by_name():
    with pytest.raises(UnsupportedError, match="'share'.*of="):
        fit([expect("hockey", of=expect("hockey", "x")).about(0.5, name="share")], classes=["hockey", "x", "y"])


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_nan_or_infinite_X(bad):
    with pytest.raises(ValueError, match="NaN|infinity"):
        TiltClassifier().fit([[1.0], [bad]], [0, 1])


def test_nan_in_a_column_of_a_table():
    frame = pd.DataFrame({"text": TEXTS, "age": [1.0, np.nan, 2.0, 3.0]})
    with pytest.raises(DataError, match="'age'.*row 1"):
        fit([expect("hockey", given=column("text").word("puck")).about(0.9)], frame, classes=["hockey", "x"])


@pytest.mark.parametrize("X", [np.empty((0, 2)), {"text": np.array([], dtype=object)}])
def test_zero_rows(X):
    with pytest.raises(ValueError, match="(?i)no rows|0 sample"):
        TiltClassifier(classes=["a", "b"], constraints=[expect("a").about(0.5)]).fit(X)


def test_no_texts():
    with pytest.raises(ValueError, match="."):
        fit(X=[])


def test_one_class():
    with pytest.raises(DataError, match="only one class"):
        fit([expect("hockey", given=word("puck")).about(0.9)])
    with pytest.raises(DataError, match="only one class"):
        TiltClassifier().fit([[0.0], [1.0]], [1, 1])


def test_duplicate_names():
    with pytest.raises(ConstraintError, match="'twin'"):
        fit([expect("a").about(0.3, name="twin"), expect("b").about(0.3, name="twin")])


def test_duplicate_classes():
    with pytest.raises(DataError, match="twice"):
        fit(classes=["hockey", "hockey", "baseball"])


def test_X_and_feature_names_that_disagree():
    with pytest.raises(DataError, match="3 names.*2 columns"):
        TiltClassifier(feature_names=["a", "b", "c"]).fit(np.eye(2), [0, 1])
    with pytest.raises(DataError, match="'a' twice"):
        TiltClassifier(feature_names=["a", "a"]).fit(np.eye(2), [0, 1])
    with pytest.raises(DataError, match="feature_names"):
        fit(feature_names=["a"])


def test_matrix_without_names():
    with pytest.raises(ConstraintError, match="feature_names="):
        TiltClassifier([PUCK, BAT]).fit(np.eye(2))


def test_text_conditions_on_a_matrix():
    with pytest.raises(ConstraintError, match="raw text"):
        TiltClassifier([expect(0, given=phrase("a b")).about(0.5)], classes=[0, 1], feature_names=["a", "b"]).fit(
            np.eye(2)
        )


def test_unknown_feature_and_column():
    with pytest.raises(ConstraintError, match='Did you mean "price"'):
        TiltClassifier(
            [expect(0, given=feature("prize")).about(0.5)], classes=[0, 1], feature_names=["price", "b"]
        ).fit(np.eye(2))
    with pytest.raises(ConstraintError, match="data frame"):
        fit([expect("hockey", given=column("age").above(3)).about(0.5), BAT])


@pytest.mark.parametrize("y", [[["hockey"], ["hockey", "baseball"], [], []], np.eye(4, dtype=int)])
def test_multi_label_y(y):
    with pytest.raises(DataError, match="Multi-label"):
        fit(y=y)


def test_y_of_another_length():
    with pytest.raises(DataError, match="4 and 2"):
        fit(y=["hockey", None])


def test_classes_that_cannot_be_sorted():
    with pytest.raises(DataError, match="different types, a text and a whole number"):
        fit(classes=["hockey", "baseball", 3])


@pytest.mark.parametrize("weight", [[1, 1, -1, 1], [0, 0, 0, 0], [1, np.nan, 1, 1], [1, 1]])
def test_bad_weights(weight):
    with pytest.raises(ValueError, match="."):
        fit(sample_weight=weight)


def test_a_single_string_and_texts_with_holes():
    with pytest.raises(DataError, match="single text"):
        fit(X="the puck")
    with pytest.raises(DataError, match="row 1 is missing"):
        fit(X=["the puck", None])
    with pytest.raises(DataError, match="no words"):
        fit(X=["...", "!"])


@pytest.mark.parametrize("X", [[["a", "puck"], ["a", "bat"]], [("a", "puck"), ("bat",)]])
def test_lists_of_tokens(X):
    with pytest.raises(DataError, match=r"X\[0\] is a list of tokens.*TiltTagger") as caught:
        fit(X=X)
    assert caught.value.parameter == "X"


def test_lists_of_numbers_that_are_texts_are_numbers():
    X = [["1", "0"], ["0", "1"]]
    assert TiltClassifier().fit(X, ["a", "b"]).predict(X).tolist() == ["a", "b"]


def test_nothing_to_learn_from():
    with pytest.raises(DataError, match=r"requires y to be passed.*method='em'.*names for them: classes=\.\)"):
        TiltClassifier().fit(TEXTS)
    with pytest.warns(InactiveConstraintWarning), pytest.raises(DataError, match="nothing to learn"):
        fit([expect("a", given=word("zzz")).about(0.9), expect("b", given=word("yyy")).about(0.9)])


def test_an_unfinished_expectation():
    with pytest.raises(ConstraintError, match="unfinished"):
        fit([expect("hockey", given=word("puck"))])


@pytest.mark.parametrize(
    "options",
    [
        {"solver": "jiont"},
        {"model": "crf"},
        {"method": "gee"},
        {"scale": "none"},
        {"alpha": -1},
        {"beta": 0},
        {"gamma": float("inf")},
        {"tol": float("nan")},
        {"max_iter": 0},
        {"vectorizer": "tfdif"},
        {"vectorizer": 3},
    ],
)
def test_bad_parameters_are_named(options):
    with pytest.raises(TiltfitError, match=next(iter(options))):
        fit(**options)


def test_too_few_rounds_warn():
    with pytest.warns(NotConvergedWarning, match="max_iter"):
        clf = fit(max_iter=1, tol=1e-9)
    assert not clf.converged_


def test_group_column_with_missing_values():
    frame = pd.DataFrame({"text": TEXTS, "county": ["n", None, "s", "n"]})
    with pytest.raises(ConstraintError, match="'county'.*row 1"):
        fit([expect("hockey", per=column("county")).at_least(0.2)], frame, classes=["hockey", "x"])


def test_using_before_fitting():
    for use in ("predict", "predict_proba", "project"):
        with pytest.raises(NotFittedError):
            getattr(TiltClassifier([PUCK]), use)(TEXTS)


def test_a_failed_fit_leaves_no_half_fitted_estimator():
    clf = TiltClassifier([PUCK, BAT, expect("hockey", given=column("x").above(1)).about(0.5)])
    with pytest.raises(ConstraintError):
        clf.fit(TEXTS)
    with pytest.raises(NotFittedError):
        clf.predict(TEXTS)
