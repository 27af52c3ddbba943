"""TiltClassifier as its users meet it: scikit-learn's own checks, every kind of input, learning, projecting."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from tiltfit import LabelledKFold, TiltClassifier, column, expect, feature, labelled_scorer, phrase, regex, when, word
from tiltfit.errors import UnmetConstraintWarning, UnsupportedError

# No exceptions: every check that scikit-learn has for such an estimator must pass.
EXPECTED_FAILURES: dict[str, str] = {}


@parametrize_with_checks([TiltClassifier(), TiltClassifier(solver="alternating")])
def test_scikit_learn(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(estimator)


HOCKEY = ["the puck hit the goalie", "goalie saves the puck", "the goalie fell on ice", "skates on ice"]
BASEBALL = ["a bat and a pitcher", "the pitcher has a bat", "pitcher throws a curve", "a curve and a homer"]
TEXTS = 3 * (HOCKEY + BASEBALL)
TRUTH = np.array(3 * (["hockey"] * 4 + ["baseball"] * 4))
CONSTRAINTS = [
    expect("hockey", given=word("puck")).about(0.95),
    expect("baseball", given=word("bat")).about(0.95),
]


@pytest.fixture(scope="module")
def fitted():
    return TiltClassifier(CONSTRAINTS).fit(TEXTS)


def test_learns_unseen_words_without_any_label(fitted):
    # No constraint mentions them: they are learned from the documents they share with "puck" and "bat".
    assert fitted.predict(["goalie", "pitcher"]).tolist() == ["hockey", "baseball"]
    assert fitted.score(TEXTS, TRUTH) > 0.8


def test_attributes_have_the_shapes_users_know(fitted):
    assert fitted.classes_.tolist() == ["baseball", "hockey"]
    assert fitted.coef_.shape == (2, len(fitted.feature_names_in_))
    assert fitted.intercept_.shape == (2,)
    assert fitted.n_iter_ == len(fitted.history_) > 0
    assert np.isfinite(fitted.objective_)
    assert fitted.predict_proba(TEXTS).sum(axis=1) == pytest.approx(1)
    np.testing.assert_allclose(np.exp(fitted.predict_log_proba(TEXTS)), fitted.predict_proba(TEXTS))


def test_words_the_model_has_no_feature_for_can_be_constrained():
    clf = TiltClassifier(CONSTRAINTS, vectorizer=CountVectorizer(vocabulary=["goalie", "pitcher"])).fit(TEXTS)
    assert clf.coef_.shape == (2, 2)
    assert clf.predict(["the goalie", "the pitcher"]).tolist() == ["hockey", "baseball"]


def test_supervised_fit_is_that_of_logistic_regression():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 4)), rng.integers(3, size=80)
    ours = TiltClassifier(alpha=0.5, penalize_intercept=False, tol=1e-9, max_iter=1000).fit(X, y)
    theirs = LogisticRegression(C=2.0, tol=1e-10, max_iter=5000).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-5)


@pytest.mark.parametrize("solver", ["alternating", "joint"])
def test_labels_and_constraints_mix(solver):
    y = [None] * len(TEXTS)
    y[0], y[4] = "hockey", "baseball"
    clf = TiltClassifier(CONSTRAINTS[:1], solver=solver).fit(TEXTS, y)
    assert clf.score(TEXTS, TRUTH) > 0.7


@pytest.mark.filterwarnings("ignore::tiltfit.errors.UnmetConstraintWarning")
def test_gamma_weighs_unlabelled_rows():
    y = [None] * len(TEXTS)
    y[0], y[4] = "baseball", "hockey"  # labels that fight the constraints
    strong = TiltClassifier(CONSTRAINTS, gamma=10.0).fit(TEXTS, y).score(TEXTS, TRUTH)
    weak = TiltClassifier(CONSTRAINTS, gamma=1e-3).fit(TEXTS, y).score(TEXTS, TRUTH)
    assert strong > weak


def test_every_kind_of_table_gives_the_same_model():
    rng = np.random.default_rng(1)
    X = np.round(rng.normal(size=(60, 3)), 2)
    constraints = [
        expect(1, given=feature("a").above(0.5)).about(0.9),
        expect(0, given=feature("b").above(0.5)).about(0.8),
    ]
    names = ["a", "b", "c"]
    frames = {
        "dense": (X, {"feature_names": names}),
        "csr": (sparse.csr_matrix(X), {"feature_names": names}),
        "csc": (sparse.csc_array(X), {"feature_names": names}),
        "pandas": (pd.DataFrame(X, columns=names), {}),
        "polars": (pl.DataFrame(X, schema=names), {}),
        "columns": (dict(zip(names, X.T, strict=True)), {}),
    }
    expected = None
    for kind, (data, options) in frames.items():
        got = TiltClassifier(constraints, **options).fit(data).predict_proba(data)
        expected = got if expected is None else expected
        np.testing.assert_allclose(got, expected, atol=1e-6, err_msg=kind)


@pytest.mark.parametrize("kind", [list, np.array, pd.Series, pl.Series, tuple])
def test_texts_come_in_any_sequence(kind, fitted):
    np.testing.assert_allclose(TiltClassifier(CONSTRAINTS).fit(kind(TEXTS)).coef_, fitted.coef_)


def test_a_frame_with_texts_and_numbers():
    frame = pd.DataFrame({"title": TEXTS, "score": np.arange(len(TEXTS)) % 2, "note": ["x"] * len(TEXTS)})
    constraints = [
        expect("hockey", given=column("title").word("puck")).about(0.95),
        expect("baseball", given=column("title").word("bat") & column("score").below(2)).about(0.95),
    ]
    clf = TiltClassifier(constraints).fit(frame)
    assert clf.score(frame, TRUTH) > 0.8
    assert "title:puck" in clf.get_feature_names_out()
    with pytest.raises(ValueError, match="title"):
        clf.predict(frame[["score", "note"]])


def test_other_conditions_reach_the_text():
    constraints = [
        expect("hockey", given=phrase("the puck")).about(0.95),
        expect("baseball", given=regex(r"\bbat\b")).about(0.95),
        expect("hockey", given=when(lambda text: "skates" in text, name="skates")).at_least(0.6),
    ]
    assert TiltClassifier(constraints).fit(TEXTS).score(TEXTS, TRUTH) > 0.9


def test_pipeline_clone_grid_search_and_cross_validation():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(60, 3))
    y = (X[:, 0] > 0).astype(int)
    pipe = make_pipeline(StandardScaler(), TiltClassifier())
    assert cross_val_score(pipe, X, y, cv=3).mean() > 0.85
    search = GridSearchCV(TiltClassifier(), {"alpha": [0.1, 10.0]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.85
    again = clone(TiltClassifier(CONSTRAINTS, alpha=3.0))
    assert again.alpha == 3.0
    assert again.constraints == CONSTRAINTS
    assert pickle.loads(pickle.dumps(again.fit(TEXTS))).predict(TEXTS).tolist() == again.predict(TEXTS).tolist()


def test_cross_validation_with_unlabelled_rows():
    y = np.array([label if i % 2 else None for i, label in enumerate(TRUTH)], dtype=object)
    scores = cross_val_score(TiltClassifier(CONSTRAINTS), np.array(TEXTS), y, cv=LabelledKFold(3))
    assert scores.mean() > 0.9
    search = GridSearchCV(
        TiltClassifier(CONSTRAINTS), {"alpha": [0.5, 2.0]}, cv=LabelledKFold(2), scoring=labelled_scorer("f1_macro")
    )
    assert search.fit(np.array(TEXTS), y).best_score_ > 0.9


def test_weights_are_as_good_as_copies():
    rng = np.random.default_rng(3)
    counts = rng.integers(1, 4, size=len(TEXTS))
    copies = [t for t, k in zip(TEXTS, counts, strict=True) for _ in range(k)]
    vectorizer = CountVectorizer(vocabulary=sorted(set(" ".join(TEXTS).split())))
    constraints = [*CONSTRAINTS, expect("hockey").between(0.45, 0.55)]
    one = TiltClassifier(constraints, vectorizer=vectorizer, tol=1e-8, scale="support").fit(TEXTS, sample_weight=counts)
    two = TiltClassifier(constraints, vectorizer=vectorizer, tol=1e-8, scale="support").fit(copies)
    np.testing.assert_allclose(one.predict_proba(TEXTS), two.predict_proba(TEXTS), atol=1e-5)


def test_same_bits_at_any_number_of_threads():
    one = TiltClassifier(CONSTRAINTS, n_jobs=1).fit(TEXTS)
    three = TiltClassifier(CONSTRAINTS, n_jobs=3).fit(TEXTS)
    assert np.array_equal(one.coef_, three.coef_)


@pytest.mark.filterwarnings("ignore::tiltfit.errors.InactiveConstraintWarning")
def test_project_meets_the_constraints_on_new_data(fitted):
    new = ["puck one", "puck two", "puck three", "puck four", "nothing"]
    model = TiltClassifier([expect("hockey", given=word("puck")).exactly(0.75), *CONSTRAINTS[1:]]).fit(TEXTS)
    q = model.project(new, prices="solve")
    assert q[:4, 1].mean() == pytest.approx(0.75, abs=1e-4)
    np.testing.assert_allclose(fitted.project(["nothing"]), fitted.predict_proba(["nothing"]))


@pytest.mark.filterwarnings("ignore::tiltfit.errors.InactiveConstraintWarning")
def test_project_with_fitted_prices_is_per_row(fitted):
    alone = fitted.project(["the puck"], prices="fitted")
    among = fitted.project(["the puck", "a bat", "ice"], prices="fitted")
    np.testing.assert_allclose(alone[0], among[0])
    assert alone[0, 1] > fitted.predict_proba(["the puck"])[0, 1]
    with pytest.raises(ValueError, match="prices"):
        fitted.project(["the puck"], prices="guess")


def test_constraints_speak_of_unlabelled_rows_unless_told():
    y = [None] * len(TEXTS)
    y[0] = "baseball"  # one of the six documents with "puck"
    constraint = expect("hockey", given=word("puck")).exactly(0.5)
    unlabelled = TiltClassifier([constraint], classes=["baseball", "hockey"]).fit(TEXTS, y).constraint_report_[0]
    both = expect("hockey", given=word("puck"), on="all").exactly(0.5)
    everywhere = TiltClassifier([both], classes=["baseball", "hockey"]).fit(TEXTS, y).constraint_report_[0]
    assert (unlabelled.support, everywhere.support) == (5, 6)
    assert everywhere.projected == pytest.approx(0.5, abs=1e-4)


def test_hard_zero_and_one_become_forbidden_labels():
    constraints = [
        *CONSTRAINTS,
        expect("hockey", given=word("goalie")).exactly(1),
        expect("hockey", given=word("homer")).at_most(0),
    ]
    clf = TiltClassifier(constraints).fit(TEXTS)
    q = clf.project(TEXTS)
    assert np.all(q[[i for i, t in enumerate(TEXTS) if "goalie" in t], 1] == 1.0)
    assert np.all(q[[i for i, t in enumerate(TEXTS) if "homer" in t], 1] == 0.0)
    assert [e.status for e in clf.constraint_report_][2:] == ["rules", "rules"]


def test_prices_per_group_hold_in_every_group():
    frame = pd.DataFrame({"text": TEXTS, "county": ["north", "south", "south"] * (len(TEXTS) // 3)})
    constraint = expect("hockey", per=column("county")).exactly(0.5)
    clf = TiltClassifier(
        [*[expect("hockey", given=column("text").word("puck")).about(0.9)], constraint], classes=["baseball", "hockey"]
    )
    q = clf.fit(frame).project(frame)
    for county in ("north", "south"):
        assert q[frame["county"] == county, 1].mean() == pytest.approx(0.5, abs=1e-4)
    assert clf.constraint_report_[1].groups == 2


def test_prices_per_instance_hold_at_every_row():
    constraints = [
        *CONSTRAINTS,
        expect("hockey", given=word("ice"), per="instance").at_least(0.7),
        expect(given=word("homer"), per="instance").distributed_as({"hockey": 0.2, "baseball": 0.8}),
    ]
    clf = TiltClassifier(constraints).fit(TEXTS)
    q = clf.project(TEXTS)
    assert np.all(q[[i for i, t in enumerate(TEXTS) if "ice" in t], 1] >= 0.7 - 1e-6)
    assert clf.constraint_report_[2].groups == 6
    with pytest.raises(UnsupportedError, match="prices='solve'"):
        clf.project(TEXTS, prices="fitted")


def test_an_instance_that_cannot_hold_is_named():
    constraints = [
        *CONSTRAINTS,
        expect("hockey", given=word("ice"), per="instance").at_least(0.7, name="ice"),
        expect("hockey", given=word("skates"), per="instance").at_most(0.2, name="skates"),
    ]
    with pytest.warns(UnmetConstraintWarning, match="'(ice|skates)' is off by .*row (3|11|19)"):
        TiltClassifier(constraints).fit(TEXTS)


def test_minus_one_is_unlabelled_only_where_it_cannot_be_a_label():
    X = np.array([[0.0], [1.0], [0.1], [0.9]])
    assert TiltClassifier().fit(X, [-1, 1, -1, 1]).classes_.tolist() == [-1, 1]
    assert TiltClassifier().fit(X, [0, 1, -1, -1]).classes_.tolist() == [0, 1]
    assert TiltClassifier(classes=[0, 1]).fit(X, [0, 1, -1, 1]).classes_.tolist() == [0, 1]
    assert TiltClassifier(classes=[-1, 0, 1]).fit(X, [0, 1, -1, 1]).classes_.tolist() == [-1, 0, 1]


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA, float("nan")])
def test_missing_labels_are_unlabelled(missing):
    clf = TiltClassifier(CONSTRAINTS).fit(TEXTS, ["hockey", *[missing] * 3, "baseball", *[missing] * (len(TEXTS) - 5)])
    assert clf.classes_.tolist() == ["baseball", "hockey"]
    assert clf.constraint_report_[0].support == 5


def test_score_ignores_unlabelled_rows(fitted):
    y = np.array([*TRUTH[:8], *[None] * 16], dtype=object)
    assert fitted.score(TEXTS, y) == fitted.score(TEXTS[:8], TRUTH[:8])


def test_callback_sees_rounds_and_stops():
    seen = []
    clf = TiltClassifier(CONSTRAINTS, callback=lambda info: seen.append(info) or len(seen) == 2).fit(TEXTS)
    assert clf.n_iter_ == 2
    assert not clf.converged_
    assert seen[0].round == 1
    assert seen[0].worst_violation > 0


def test_history_tells_how_it_went(fitted):
    objectives = [r.objective for r in fitted.history_]
    assert objectives == sorted(objectives, reverse=True)
    assert fitted.history_[-1].gap < 1e-4
    assert all(r.gap < 0.05 for r in fitted.history_)  # far from the end, a rough projection will do
