"""Where a fit starts and what it is based on: init, restarts, warm start, base distribution."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from tiltfit import TiltClassifier, expect, feature, word
from tiltfit.errors import DataError, TiltfitError, UnsupportedError
from tiltfit.optimize.plateau import PERIOD

TEXTS = 3 * ["the puck hit the goalie", "goalie saves the puck", "a bat and a pitcher", "the pitcher has a bat"]
CONSTRAINTS = [
    expect("hockey", given=word("puck")).about(0.95),
    expect("baseball", given=word("bat")).about(0.95),
]
LABELS = ["hockey", None, "baseball", None] * 3
TWO_PERIODS = 2 * PERIOD + 1
"""Rounds in which the stopping rule sees that there is nothing left to gain."""


@pytest.mark.parametrize("init", ["zeros", "supervised", "constraints", "random", None])
def test_every_start_leads_somewhere_good(init):
    clf = TiltClassifier(CONSTRAINTS, init=init, random_state=0).fit(TEXTS, LABELS)
    assert clf.predict(["goalie", "pitcher"]).tolist() == ["hockey", "baseball"]


def test_starts_lead_to_one_basin_here():
    objectives = [
        TiltClassifier(CONSTRAINTS, init=init, random_state=0, tol=1e-7).fit(TEXTS, LABELS).objective_
        for init in ("zeros", "supervised", "constraints", "random")
    ]
    assert max(objectives) - min(objectives) < 1e-4 * abs(objectives[0])


def test_restarts_keep_the_lowest_objective():
    one = TiltClassifier(CONSTRAINTS).fit(TEXTS)
    many = TiltClassifier(CONSTRAINTS, n_init=3, random_state=1).fit(TEXTS)
    assert many.objective_ <= one.objective_ + 1e-9
    again = TiltClassifier(CONSTRAINTS, n_init=3, random_state=1).fit(TEXTS)
    assert np.array_equal(many.coef_, again.coef_)


def test_supervised_start_needs_labels():
    with pytest.raises(DataError, match="labelled"):
        TiltClassifier(CONSTRAINTS, init="supervised").fit(TEXTS)


def test_starting_at_the_solution_takes_no_rounds_to_speak_of():
    clf = TiltClassifier(CONSTRAINTS).fit(TEXTS)
    again = TiltClassifier(CONSTRAINTS, init=clf).fit(TEXTS)
    assert again.n_iter_ <= TWO_PERIODS < clf.n_iter_
    assert again.objective_ == pytest.approx(clf.objective_, rel=1e-4)
    pair = TiltClassifier(CONSTRAINTS, init=(clf.coef_, clf.intercept_)).fit(TEXTS)
    assert pair.n_iter_ <= TWO_PERIODS


def test_warm_start_matches_features_by_name():
    clf = TiltClassifier(CONSTRAINTS, warm_start=True).fit(TEXTS)
    rounds = clf.n_iter_
    assert clf.fit(TEXTS).n_iter_ <= TWO_PERIODS < rounds
    more = [*TEXTS, "aardvarks have a bat"]  # a new word shifts every column
    cold = TiltClassifier(CONSTRAINTS, init="zeros").fit(more)
    clf.fit(more)
    assert clf.predict(["goalie", "pitcher"]).tolist() == ["hockey", "baseball"]
    begun, ended = ([clf_.history_[k].objective for clf_ in (clf, cold)] for k in (0, -1))
    assert begun[0] - ended[0] < 0.1 * (begun[1] - ended[1])  # the same columns by number: above that of a cold start
    assert ended[0] == pytest.approx(ended[1], rel=1e-4)


def test_scikit_learn_models_can_be_starts():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = (X[:, 0] > 0).astype(int)
    theirs = LogisticRegression().fit(X, y)
    # Two opposite vectors share what scikit-learn puts into one, so the same ridge is twice its alpha.
    ours = TiltClassifier(init=theirs, alpha=2.0, penalize_intercept=False, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-3)


@pytest.mark.filterwarnings("ignore::tiltfit.errors.UnmetConstraintWarning")
def test_base_model_is_kept_where_nothing_else_is_known():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    y = (X[:, 0] > 0).astype(int)
    base = LogisticRegression().fit(X, y)
    constraint = expect(1, given=feature("b").above(1.0)).about(0.9)
    options = {"classes": [0, 1], "base": base, "feature_names": ["a", "b"], "penalize_intercept": True}
    clf = TiltClassifier([constraint], **options, alpha=1e6).fit(X)
    np.testing.assert_allclose(clf.predict_proba(X), base.predict_proba(X), atol=1e-3)
    free = TiltClassifier([constraint], **options, alpha=0.1).fit(X)
    high = X[:, 1] > 1.0
    assert free.predict_proba(X)[high, 1].mean() > base.predict_proba(X)[high, 1].mean()


def test_supervised_fit_on_a_base_by_hand():
    # With q₀ = (¼, ¾) and an intercept alone, the fitted share is that of the data: λ makes up the difference.
    X, y = np.zeros((40, 1)), np.array([0] * 20 + [1] * 20)
    clf = TiltClassifier(base=np.tile([0.25, 0.75], (40, 1)), alpha=1e-9, tol=1e-9).fit(X, y)
    assert clf.intercept_[0] - clf.intercept_[1] == pytest.approx(np.log(3), abs=1e-5)


def test_base_probabilities_are_of_the_training_rows():
    clf = TiltClassifier(CONSTRAINTS, base=np.full((12, 2), 0.5)).fit(TEXTS)
    with pytest.raises(UnsupportedError, match="training rows"):
        clf.predict(TEXTS)


@pytest.mark.parametrize(
    ("base", "message"),
    [
        (np.full((12, 3), 1 / 3), "shape"),
        (np.full((5, 2), 0.5), "shape"),
        (np.full((12, 2), -1.0), "row 0"),
        (np.zeros((12, 2)), "row 0"),
        (np.full((12, 2), np.nan), "row 0"),
        (np.tile([1.0, 0.0], (12, 1)), "probability 0 to the label 'hockey' of row 0"),
    ],
)
def test_a_base_that_cannot_be_one(base, message):
    with pytest.raises(DataError, match=message):
        TiltClassifier(CONSTRAINTS, base=base).fit(TEXTS, LABELS)


def test_a_base_without_a_class():
    base = LogisticRegression().fit([[0.0], [1.0]], ["hockey", "curling"])
    with pytest.raises(DataError, match="baseball"):
        TiltClassifier([expect("hockey").about(0.5)], classes=["hockey", "baseball"], base=base).fit([[0.0], [1.0]])


@pytest.mark.parametrize("init", ["zreos", 3, (np.zeros((2, 1)), np.zeros(2))])
def test_bad_starts_are_named(init):
    with pytest.raises(TiltfitError, match="init|start"):
        TiltClassifier(CONSTRAINTS, init=init).fit(TEXTS)


def test_warm_start_with_other_classes():
    clf = TiltClassifier(CONSTRAINTS, warm_start=True).fit(TEXTS)
    clf.set_params(constraints=[expect("a", given=word("puck")).about(0.9), expect("b", given=word("bat")).about(0.9)])
    with pytest.raises(DataError, match="classes"):
        clf.fit(TEXTS)
