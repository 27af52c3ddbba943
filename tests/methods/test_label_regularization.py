"""Label regularisation: generalized expectation with the proportions of labels as its one constraint."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from tiltfit import TiltClassifier, TiltTagger, expect, load, word
from tiltfit.errors import DataError

TEXTS = ["puck ice", "puck goal", "bat ball", "ball base", "ice bat", "base", "goal"]
HALF = ["h", None, "b", None, None, None, None]
SHARES = {"b": 0.7, "h": 0.3}
ADS = [["big", "room", ",", "call", "Ann"], ["sunny", ".", "call", "Bob"], ["big", "garden", "phone"], ["call"]]
TAGS = [["s", "s", "s", "c", "c"], None, None, None]


def lr(*constraints, cls=TiltClassifier, **options):
    return cls(constraints, method="label_regularization", method_options=options, tol=1e-8)


def test_it_is_ge_with_one_constraint():
    one = lr(proportions=SHARES, strength=5.0).fit(TEXTS, HALF)
    other = TiltClassifier([expect().distributed_as(SHARES, beta=1 / 5)], method="ge", tol=1e-8).fit(TEXTS, HALF)
    np.testing.assert_allclose(one.coef_, other.coef_, atol=1e-6)
    np.testing.assert_allclose(one.objective_, other.objective_)


def test_of_sequences_too():
    shares = {"c": 0.4, "s": 0.6}
    one = lr(proportions=shares, strength=5.0, cls=TiltTagger).fit(ADS, TAGS)
    said = [expect().distributed_as(shares, beta=1 / 5)]
    other = TiltTagger(said, method="ge", tol=1e-8).fit(ADS, TAGS)
    np.testing.assert_allclose(one.coef_, other.coef_, atol=1e-6)


def test_a_stated_distribution_is_used_and_other_constraints_are_not():
    other = expect("h", given=word("base")).about(0.9)
    one = lr(expect().distributed_as(SHARES), other).fit(TEXTS, HALF)
    two = lr(proportions=SHARES).fit(TEXTS, HALF)
    np.testing.assert_allclose(one.coef_, two.coef_)
    assert len(one.constraint_report_.to_dicts()) >= 2


def test_else_the_labels_say_it():
    labels = ["h", "h", "b", "h", None, None, None]
    one = lr().fit(TEXTS, labels)
    two = lr(proportions={"b": 2 / 6, "h": 4 / 6}, strength=40.0).fit(TEXTS, labels)
    np.testing.assert_allclose(one.coef_, two.coef_, atol=1e-9)


def test_it_needs_labels_and_unlabelled_data():
    with pytest.raises(DataError, match="needs labelled instances"):
        lr(expect().distributed_as(SHARES)).fit(TEXTS)
    with pytest.raises(DataError, match="needs unlabelled data"):
        lr().fit(TEXTS[:3], ["h", "h", "b"])


def test_proportions_of_classes_that_are_numbers_survive_a_file(tmp_path):
    fitted = lr(proportions={0: 0.3, 1: 0.7}, strength=np.float64(2.0)).fit(TEXTS, [0, None, 1, None, None, None, None])
    fitted.save(tmp_path / "m.tilt")
    assert load(tmp_path / "m.tilt").method_options == {"proportions": {0: 0.3, 1: 0.7}, "strength": 2.0}


@pytest.mark.parametrize("method", ["label_regularization", "entropy", "supervised"])
def test_what_weighs_nothing_is_not_there(method):
    weight = np.array([0.0, 1, 0, 1, 1, 1, 1])
    with pytest.raises(DataError, match="needs label|learns from labels"):
        TiltClassifier(method=method, classes=["b", "h"]).fit(TEXTS, HALF, weight)
    if method != "supervised":
        with pytest.raises(DataError, match="needs unlabelled data"):
            TiltClassifier(method=method, classes=["b", "h"]).fit(TEXTS, HALF, 1 - weight)


def test_methods_that_follow_no_constraints_give_no_advice_about_them():
    said = [expect("b", given=word("puck")).about(0.99), expect("h", given=word("ball")).about(0.99)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        TiltClassifier(said, method="supervised").fit(TEXTS, HALF)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"proportions": 3}, "{'proportions': 3} must be a dict"),
        ({"proportions": {}}, "{'proportions': {}} must be a dict"),
        ({"proportions": {"h": 0.5, "b": 0.6}}, "must be shares whose sum is 1, but it is 1.1"),
        ({"proportions": {"h": "half", "b": 0.5}}, "must be shares of at least 0"),
        ({"proportions": {"h": -0.5, "b": 1.5}}, "must be shares of at least 0"),
        ({"proportions": {"h": 0.5, "bb": 0.5}}, "{'proportions': ...} names 'bb', which is no class"),
        ({"strength": 0}, "{'strength': 0} must be a positive, finite number"),
    ],
)
def test_options_that_cannot_be(options, message):
    with pytest.raises(DataError, match=message) as told:
        TiltClassifier(method="label_regularization", method_options=options, classes=["b", "h"]).fit(TEXTS, HALF)
    assert "distributed_as" not in str(told.value)


def test_proportions_are_stated_once():
    said = [expect().distributed_as({"b": share, "h": 1 - share}, name=f"{share}") for share in (0.3, 0.4)]
    with pytest.raises(DataError, match="one set of proportions, but 2 constraints state them: '0.3' and '0.4'"):
        TiltClassifier(said, method="label_regularization").fit(TEXTS, HALF)
    options = {"proportions": {"b": 0.3, "h": 0.7}}
    TiltClassifier(said, method="label_regularization", method_options=options).fit(TEXTS, HALF)
