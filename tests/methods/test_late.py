"""Hard bounds on transitions and whole sequences come last (``alternating_projections.late``): against the same two
steps taken by hand, and what each part of a fit says of them."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from tiltfit import TiltTagger, expect, punctuation, word
from tiltfit.methods.alternating_projections import LATE_ROUNDS

X = [
    ["Ann", "Lee", ".", "On", "trees", ".", "1999"],
    ["Bo", "Ray", ".", "On", "lakes", "and", "trees", ".", "2001"],
    ["Ann", "Ray", ".", "Of", "lakes", "1999"],
    ["Cy", "Lee", ",", "Bo", "Ray", ".", "Trees", "2001"],
] * 3
Y = [["a", "a", "a", "t", "t", "t", "d"], *[None] * (len(X) - 1)]
WORDS = [expect("a", given=word("Ann") | word("Lee")).about(0.9), expect("d", given=word("1999")).about(0.9)]
ON_PUNCTUATION = expect.change(given=~punctuation.before).at_most(0.05)
ONCE = expect.repeats().at_most(0.1)
CLASSES = ["a", "t", "d"]


def tagger(constraints, **options):
    return TiltTagger(constraints, classes=CLASSES, random_state=0, **options)


def fitted(constraints, y=Y, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # so few tokens leave some statements unmet
        return tagger(constraints, **options).fit(X, y)


@pytest.mark.parametrize("y", [Y, None], ids=["labels", "no labels"])
@pytest.mark.parametrize("late", [ON_PUNCTUATION, ONCE], ids=["transitions", "whole"])
def test_it_is_the_fit_without_them_and_then_a_few_alternations(late, y):
    found = fitted([*WORDS, late], y)
    by_hand = fitted(WORDS, y, warm_start=True)
    n_first = by_hand.n_iter_
    by_hand.set_params(constraints=[*WORDS, late], solver="alternating", max_iter=LATE_ROUNDS, tol=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        by_hand.fit(X, y)
    np.testing.assert_allclose(found.coef_, by_hand.coef_, atol=1e-10)
    np.testing.assert_allclose(found.transitions_, by_hand.transitions_, atol=1e-10)
    assert found.n_iter_ == n_first + LATE_ROUNDS
    assert [one.round for one in found.history_] == list(range(1, found.n_iter_ + 1))
    assert found.converged_
    assert "which came last" in found.message_


def test_q_meets_them():
    entry = fitted([*WORDS, ON_PUNCTUATION]).constraint_report_[2]
    assert entry.projected <= 0.05 + 1e-3


@pytest.mark.parametrize(
    ("constraints", "options"),
    [
        ([*WORDS, ON_PUNCTUATION], {"solver": "joint"}),
        ([*WORDS, ON_PUNCTUATION], {"init": "zeros"}),
        ([*WORDS, ON_PUNCTUATION], {"n_init": 2}),
        ([*WORDS, expect.change(given=~punctuation.before).about(0.05)], {}),
        ([*WORDS, expect.change(given=~punctuation.before).at_most(0.05, slack=0.1)], {}),
        ([*WORDS, expect.transition("d", "a").at_most(0)], {}),
        ([*WORDS, expect.start("a").at_least(0.9)], {}),
        ([*WORDS, expect.change(given=word("nowhere")).at_most(0.05)], {}),
    ],
    ids=["joint", "init", "n_init", "soft", "slack", "rule", "one label", "inactive"],
)
def test_what_does_not_come_last(constraints, options):
    assert "came last" not in fitted(constraints, **options).message_


def test_alone_they_come_at_once():
    assert "came last" not in fitted([ON_PUNCTUATION], None).message_


def test_the_callback_sees_both_parts_and_stops_either():
    seen = []
    whole = fitted([*WORDS, ON_PUNCTUATION], callback=lambda one: seen.append(one.round))
    assert seen == list(range(1, whole.n_iter_ + 1))
    for stop in (2, whole.n_iter_ - 1):
        stopped = fitted([*WORDS, ON_PUNCTUATION], callback=lambda one, stop=stop: one.round == stop)
        assert stopped.n_iter_ == stop
        assert not stopped.converged_


def test_a_start_from_another_fit_begins_the_first_part():
    """So that a fit without a statement that says nothing is the fit with it, as leave_one_out compares them."""
    full = fitted([*WORDS, ON_PUNCTUATION, expect("d").between(0, 1)])
    again = fitted([*WORDS, ON_PUNCTUATION], init=full)
    assert "came last" in again.message_
    for one, two in zip(again.predict_marginals(X), full.predict_marginals(X), strict=True):
        np.testing.assert_allclose(one, two, atol=0.05)


def test_exact_inference_stays_exact():
    asked = []
    from tiltfit.estimators import estimator

    original = estimator.ground

    def noticed(constraints, sample, strength, how):
        asked.append(how.inference)
        return original(constraints, sample, strength, how)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(estimator, "ground", noticed)
        fitted([*WORDS, expect.repeats("a").about(0.3), ON_PUNCTUATION], inference="exact")
    assert set(asked) == {"exact"}
    assert len(asked) == 2


def test_the_best_round_on_the_development_set_is_numbered_among_all():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = tagger([*WORDS, ON_PUNCTUATION]).fit(X, Y, dev=(X[:4], [["a"] * len(x) for x in X[:4]]), patience=2)
    scores = {one.round: one.dev_score for one in found.history_}
    assert all(score is not None for score in scores.values())
    told = [word for word in found.message_.replace(",", "").split() if word.isdigit()]
    best = int(told[-1])
    assert scores[best] == max(scores.values())


def test_a_first_part_that_runs_out_of_rounds_is_said():
    found = fitted([*WORDS, ON_PUNCTUATION], max_iter=2)
    assert not found.converged_
    assert found.message_ == "stopped after 2 rounds"
    assert found.n_iter_ == 2


def test_contradictions_are_given_slack():
    contradictory = [expect.stay().at_least(0.9), expect.change(given=~word("nowhere")).at_least(0.5)]
    found = fitted([*WORDS, *contradictory])
    assert "were given slack" in found.message_
