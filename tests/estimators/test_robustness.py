"""Sizes, scales and states that once went wrong: the answer must not depend on what does not matter."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tiltfit import TiltClassifier, column, expect, feature, labelled_scorer, load, when, word
from tiltfit.errors import (
    ConflictError,
    ConstraintError,
    DataError,
    InactiveConstraintWarning,
    NotSavedWarning,
    TiltfitWarning,
    UnmetConstraintWarning,
)

CONSTRAINTS = [expect(1, given=feature("a")).about(0.9), expect(0, given=feature("b")).about(0.9)]


def documents(n, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n)
    rates = np.where(y[:, None] == np.arange(10)[None, :] % 2, 0.1, 0.3)
    X = (rng.random((n, 10)) < rates).astype(float)
    return sparse.csr_array(X), y


NAMES = [*"abcdefghij"]


def test_rows_that_say_nothing_change_nothing():
    X, _ = documents(300)
    padded = sparse.csr_array(sparse.vstack([X, sparse.csr_array((30_000, 10))]))
    small = TiltClassifier(CONSTRAINTS, feature_names=NAMES).fit(X)
    large = TiltClassifier(CONSTRAINTS, feature_names=NAMES).fit(padded)
    np.testing.assert_allclose(large.coef_, small.coef_, atol=1e-9)


def test_many_rows_are_still_learned_from():
    X, y = documents(100_000)
    clf = TiltClassifier(CONSTRAINTS, feature_names=NAMES).fit(X)
    tight = TiltClassifier(CONSTRAINTS, feature_names=NAMES, tol=1e-8).fit(X)
    assert clf.n_iter_ > 2
    assert clf.objective_ == pytest.approx(tight.objective_, rel=1e-2)
    assert clf.score(X, y) > 0.65


def test_project_of_a_sure_model_is_still_a_distribution():
    X = np.array([[-1.0, 0], [-2, 0], [1, 0], [2, 0]])
    rule = expect("b", given=feature("r").above(0.5)).exactly(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InactiveConstraintWarning)
        clf = TiltClassifier([rule], feature_names=["x", "r"], alpha=1e-4).fit(X, ["b", "b", "a", "a"])
    q = clf.project(np.array([[5000.0, 1.0]]))
    np.testing.assert_allclose(q, [[0.0, 1.0]])
    assert np.all(np.isfinite(clf.predict_log_proba(np.array([[5000.0, 0.0]]))))


def test_hard_constraints_that_just_miss_are_not_said_to_hold():
    X = np.column_stack([np.ones(1000), np.arange(1000) < 500]).astype(float)
    tight = [expect(1).at_most(0.001), expect(1, given=feature("half")).at_least(0.005)]
    with pytest.warns(UnmetConstraintWarning):
        clf = TiltClassifier(tight, classes=[0, 1], feature_names=["one", "half"]).fit(X)
    assert any(e.status == "violated" for e in clf.constraint_report_)


def test_a_false_proportion_is_not_said_to_hold_by_itself():
    X, _ = documents(2000)
    clf = TiltClassifier([*CONSTRAINTS, expect(1).at_least(0.9)], feature_names=NAMES).fit(X)
    assert clf.constraint_report_[2].verdict == "holds"
    assert "+0.00," not in str(clf.constraint_report_).split("at least 90%")[1]


def test_shares_that_rules_or_labels_leave_no_room_for():
    X = np.ones((20, 1))
    rule = expect("z").at_most(0, name="never z")
    with pytest.raises(ConflictError, match="'mix' cannot hold"):
        TiltClassifier([rule, expect().distributed_as({"x": 0.4, "y": 0.3, "z": 0.3}, name="mix")]).fit(X)
    y = ["x"] * 15 + [None] * 5
    with pytest.raises(ConflictError, match="'few' cannot hold.*75%"):
        TiltClassifier([expect("x", on="all").at_most(0.5, name="few")], classes=["x", "y"]).fit(X, y)


def test_groups_that_are_fully_labelled_are_left_alone():
    frame = pd.DataFrame({"text": ["p q", "p r", "q r", "r p"] * 3, "county": ["n", "s"] * 6})
    y = [["x", "y"][i % 4 // 2] if c == "n" else None for i, c in enumerate(frame["county"])]
    constraint = expect("x", per=column("county"), on="all").at_most(0.5)
    clf = TiltClassifier([constraint], classes=["x", "y"]).fit(frame, y)
    assert clf.constraint_report_[0].groups == 1


def test_a_group_column_of_mixed_kinds():
    frame = pd.DataFrame({"text": ["p q", "p r"], "county": np.array(["n", 3], dtype=object)})
    with pytest.raises(ConstraintError, match="mixes kinds"):
        TiltClassifier([expect("x", per=column("county")).at_most(0.5)], classes=["x", "y"]).fit(frame)


def test_fitted_values_not_parameters_decide_predictions():
    X, _ = documents(200)
    clf = TiltClassifier(CONSTRAINTS, feature_names=NAMES).fit(X)
    before, projected = clf.predict_proba(X), clf.project(X)
    clf.set_params(alpha=-1, beta=5.0, scale="support", base=clf)
    assert np.array_equal(clf.predict_proba(X), before)
    assert np.array_equal(clf.project(X), projected)


def test_a_refit_that_fails_leaves_the_old_model():
    X, y = documents(100)
    clf = TiltClassifier().fit(X, y)
    before = clf.predict_proba(X)
    with pytest.raises(DataError):
        clf.fit(X[:, :5], y, sample_weight=-np.ones(100))
    assert np.array_equal(clf.predict_proba(X), before)


def test_numpy_parameters_can_be_saved(tmp_path):
    X, y = documents(100)
    TiltClassifier(alpha=np.float32(0.5), max_iter=np.int64(50)).fit(X, y).save(tmp_path / "m.tilt")
    assert load(tmp_path / "m.tilt").alpha == 0.5


def test_a_loaded_model_says_what_a_refit_goes_without(tmp_path):
    texts = ["the puck", "a puck", "a bat", "the bat"] * 3
    said = [expect("h", given=word("puck")).about(0.9), expect("b", given=word("bat")).about(0.9)]
    odd = expect("h", given=when(lambda text: "the" in text, name="the")).about(0.5)
    clf = TiltClassifier([*said, odd]).fit(texts)
    with pytest.warns(NotSavedWarning):
        clf.save(tmp_path / "m.tilt")
    again = load(tmp_path / "m.tilt")
    with pytest.warns(NotSavedWarning, match="went without"):
        again.fit(texts)
    again.project(texts)


@pytest.mark.parametrize("options", [{"max_iter": 0.5}, {"n_init": 1.9}, {"callback": 3}])
def test_parameters_of_the_wrong_kind(options):
    X, y = documents(20)
    with pytest.raises(DataError, match=next(iter(options))):
        TiltClassifier(**options).fit(X, y)


def test_iterators_are_refused_by_name():
    X, _ = documents(20)
    with pytest.raises(DataError, match="feature_names"):
        TiltClassifier(CONSTRAINTS, feature_names=iter(NAMES)).fit(X)


def test_score_with_lengths_that_disagree():
    X, y = documents(20)
    clf = TiltClassifier().fit(X, y)
    with pytest.raises(DataError, match="20 rows"):
        clf.score(X, y[:5])
    with pytest.raises(DataError, match="sample_weight"):
        clf.score(X, y, sample_weight=[1.0])


def test_names_reach_pipelines_and_scorers_can_be_pickled():
    X, y = documents(50)
    pipe = make_pipeline(StandardScaler(with_mean=False), TiltClassifier(feature_names=NAMES)).fit(X, y)
    assert pipe[-1].get_feature_names_out().tolist() == NAMES
    assert pickle.loads(pickle.dumps(labelled_scorer("f1_macro")))(pipe[-1], X, y) > 0


def test_labels_of_mixed_kinds():
    with pytest.raises(DataError, match="different types"):
        TiltClassifier().fit(np.eye(4), [1, "a", 1, "a"])
    clf = TiltClassifier().fit(np.eye(6), ["a", "b", -1, "a", "b", -1])
    assert clf.classes_.tolist() == ["a", "b"]


def test_rows_of_weight_zero_are_still_projected():
    rule = expect(1, given=feature("a")).exactly(0)
    X, y = documents(200)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InactiveConstraintWarning)
        clf = TiltClassifier([rule], feature_names=NAMES).fit(X, y)
    weight = np.ones(200)
    weight[:100] = 0.0
    q = clf.project(X, sample_weight=weight)
    assert np.all(q[X.toarray()[:, 0] > 0, 1] == 0.0)


def test_misspelt_labels_and_words_are_questioned():
    texts = ["the parcel", "a driver", "an invoice", "the bill"] * 3
    said = [
        expect("shipping", given=word("parcel")).about(0.9),
        expect("shiping", given=word("driver")).about(0.9),
        expect("billing", given=word("invoice") | word("bil")).about(0.9),
    ]
    with pytest.warns(TiltfitWarning) as caught:
        TiltClassifier(said).fit(texts)
    said_so = " ".join(str(w.message) for w in caught)
    assert "'shipping' and 'shiping'" in said_so
    assert 'did you mean "bill"' in said_so


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (pd.DataFrame([[1, 2.0]], columns=["a", "a"]), "same name"),
        (pd.DataFrame({"t": pd.to_datetime(["2020-01-01"] * 4), "x": ["a b"] * 4}), "'t'.*dates"),
        ([], "no rows"),
    ],
)
def test_tables_that_cannot_be_used(X, message):
    with pytest.raises(DataError, match=message):
        TiltClassifier([expect("x").about(0.4), expect("y").about(0.6)]).fit(X)


def test_feature_names_against_a_frame():
    with pytest.raises(DataError, match="feature_names"):
        TiltClassifier(feature_names=["a", "b"]).fit(pd.DataFrame({"c": [1.0, 2], "d": [1.0, 0]}), [0, 1])
