"""method="vote": the supervised fit to what is voted; on sequences, the marginal likelihood of it, by enumeration."""

from __future__ import annotations

import numpy as np
import pytest

from tiltfit import TiltClassifier, TiltTagger, expect, punctuation, word
from tiltfit.data.inputs import TextInputs
from tiltfit.data.sequences import as_sequences
from tiltfit.errors import DataError, InactiveConstraintWarning, TiltfitWarning, UnsupportedError
from tiltfit.methods.votes import majority_vote

TEXTS = ["puck ice", "puck goal", "bat ball", "ball base", "ice", "base", "puck bat"]
SAID = [
    expect("h", given=word("puck")).about(0.9),
    expect("b", given=word("ball")).about(0.6),
    expect("b", given=word("bat")).between(0.7, 0.9),
    expect("b", given=word("ice")).at_most(0.1),
    expect("b").about(0.5),
]
VOTED = ["h", "h", "b", "b", None, None, None]
ADS = [["big", "room", ",", "call", "Ann"], ["sunny", "room", ",", "phone"], ["big", "garden"], ["lake"]]
SPOKEN = [
    expect("c", given=word("call") | word("phone")).about(0.95),
    expect("s", given=word("big") | word("room")).at_least(0.8),
    expect("n", given=word("Ann")).about(0.4),
    expect.change(given=punctuation.before).at_least(0.9),
    expect.stay().about(0.8),
    expect.start("s").at_least(0.9),
    expect.segments("c", per="sequence").at_most(1),
    expect("s", of=expect("s", "c"), given=word("room")).about(0.9),
]


def classifier(**options) -> TiltClassifier:
    return TiltClassifier(classes=["b", "h"], vectorizer="counts", tol=1e-9, **options)


def test_a_classifier_is_fitted_to_the_winners_alone():
    voted = classifier(constraints=SAID, method="vote").fit(TEXTS)
    told = classifier(method="supervised").fit(TEXTS, VOTED)
    np.testing.assert_allclose(voted.coef_, told.coef_, atol=1e-9)
    assert voted.objective_ == pytest.approx(told.objective_)
    assert voted.constraint_report_.to_dicts()[0]["model"] > 0.5


def test_gamma_weighs_voted_against_labelled_rows_and_labels_win():
    y = ["b", *[None] * 5, "h"]  # the first is voted h, the last is tied
    voted = classifier(constraints=SAID, method="vote", gamma=0.25).fit(TEXTS, y)
    told = classifier(method="supervised").fit(
        TEXTS, ["b", *VOTED[1:6], "h"], sample_weight=[1, 0.25, 0.25, 0.25, 1, 1, 1]
    )
    np.testing.assert_allclose(voted.coef_, told.coef_, atol=1e-8)


@pytest.mark.filterwarnings("ignore::tiltfit.errors.UnmetConstraintWarning")
def test_labels_outside_of_a_set_get_no_votes():
    said = [expect("a", given=word("x")).about(0.9), expect("b", given=word("y")).about(0.9)]
    said += [expect("a", given=word("z")).about(0.8)]
    texts, y = ["x y z", "x", "y", "q"], [{"b", "c"}, None, None, {"b", "c"}]
    options = {"classes": ["a", "b", "c"], "vectorizer": "counts", "tol": 1e-9}
    voted = TiltClassifier(said, method="vote", **options).fit(texts, y)
    told = TiltClassifier(**options).fit(texts, ["b", "a", "b", {"b", "c"}])  # what y says counts without votes, too
    np.testing.assert_allclose(voted.coef_, told.coef_, atol=1e-8)


def test_only_labels_of_tokens_are_voted_for():
    votes = majority_vote(SPOKEN, as_sequences(ADS), ["c", "n", "s"])
    assert votes.source.tolist() == [0, 1]
    np.testing.assert_array_equal(votes.stated, [0.95, 0.8])
    names = [None if k < 0 else "cns"[k] for k in votes.winner]
    assert names == ["s", "s", None, "c", None, None, "s", None, "c", "s", None, None]
    assert votes.voted.tolist() == votes.decided.tolist()


def test_a_tagger_maximises_the_probability_of_what_is_voted():
    known = [None, None, None, ["n"]]
    found = TiltTagger(SPOKEN, classes=["c", "n", "s"], method="vote", tol=1e-9, gamma=0.5).fit(ADS, known)
    voted = [["s", "s", None, "c", None], [None, "s", None, "c"], ["s", None], ["n"]]
    shares = [
        sum(p for path, p in found.predict_k_best([ad], k=3**5)[0] if _agrees(path, tags))
        for ad, tags in zip(ADS, voted, strict=True)
    ]
    ridge = 0.5 * (np.sum(found.coef_**2) + np.sum(found.transitions_**2))
    assert found.objective_ == pytest.approx(-np.log(shares) @ [0.5, 0.5, 0.5, 1] + ridge, rel=1e-7)
    told = TiltTagger(classes=["c", "n", "s"], tol=1e-9, gamma=0.5, init="zeros").fit(ADS, voted)  # as a vote starts
    np.testing.assert_allclose(found.coef_, told.coef_, atol=1e-7)


def _agrees(path: list[str], tags: list[str | None]) -> bool:
    return all(tag is None or label == tag for label, tag in zip(path, tags, strict=True))


def test_sequences_whose_votes_are_not_well_formed_are_left_out():
    said = [expect("I-x", given=word("a")).about(0.9), expect("B-x", given=word("b")).about(0.9)]
    with pytest.warns(TiltfitWarning, match="is voted on sequence 0 .in all: 1. cannot be under valid_only=True"):
        found = TiltTagger(said, classes=["B-x", "I-x", "O"], valid_only=True, method="vote").fit(
            [["a", "c"], ["b", "c"]]
        )
    assert found.predict([["b"]]) == [["B-x"]]


@pytest.mark.filterwarnings("ignore::tiltfit.errors.UnmetConstraintWarning")
def test_rows_whose_votes_the_base_forbids_are_left_out():
    base = np.full((7, 2), 0.5)
    base[0] = [1, 0]
    with pytest.warns(TiltfitWarning, match="on row 0 .in all: 1. cannot be under base="):
        found = classifier(constraints=SAID[:3], method="vote", base=base).fit(TEXTS)
    told = classifier(method="supervised", penalize_intercept=True).fit(TEXTS, [None, *VOTED[1:]])  # as with a base
    np.testing.assert_allclose(found.coef_, told.coef_, atol=1e-9)


@pytest.mark.parametrize("method", ["vote", "label_model"])
def test_nothing_voted_is_refused_by_name(method):
    with pytest.raises(DataError, match=f"method={method!r} learns from votes"):
        classifier(constraints=SAID[3:], method=method).fit(TEXTS)
    with pytest.raises(DataError, match="learns from votes"), pytest.warns(InactiveConstraintWarning):
        classifier(constraints=[SAID[0], SAID[4]], method=method).fit(TEXTS[4:], [None, None, "h"])
    with pytest.raises(DataError, match=f"method={method!r} learns from votes"):
        TiltTagger(SPOKEN[3:7], classes=["c", "n", "s"], method=method).fit(ADS)


@pytest.mark.parametrize("method", ["vote", "label_model", "self_training"])
def test_other_solvers_are_refused(method):
    with pytest.raises(UnsupportedError, match=f"method={method!r} cannot learn online"):
        classifier(constraints=SAID, method=method, solver="online").fit(TEXTS)


def test_the_votes_of_each_source_are_kept():
    votes = majority_vote(SAID, TextInputs(TEXTS), ["b", "h"])
    assert votes.source.tolist() == [0, 1, 2]
    np.testing.assert_allclose(votes.stated, [0.9, 0.6, 0.8])
    np.testing.assert_array_equal(
        votes.fires.toarray().T, [[1, 1, 0, 0, 0, 0, 1], [0, 0, 1, 1, 0, 0, 0], [0, 0, 1, 0, 0, 0, 1]]
    )
    np.testing.assert_array_equal(votes.elected, [[False, True], [True, False], [True, False]])
    np.testing.assert_array_equal(votes.counts, votes.fires @ votes.elected.astype(float))


def test_early_stopping_and_callbacks_reach_the_solver():
    seen: list[int] = []
    classifier(constraints=SAID, method="vote", callback=lambda told: seen.append(told.round)).fit(TEXTS)
    assert seen == list(range(1, len(seen) + 1))
    kept = classifier(constraints=SAID, method="vote").fit(TEXTS, dev=(TEXTS[:3], ["h", "h", "b"]))
    assert kept.history_[-1].dev_score == 1.0


def test_votes_that_cannot_be_do_not_take_what_y_says_with_them():
    said = [expect("O", given=word("q")).about(0.9), expect("I-x", given=word("r")).about(0.9)]
    rows, tags = [["p", "q", "r", "s"], ["u", "q"]], [["B-x", None, None, None], None]
    with pytest.warns(TiltfitWarning, match="cannot be under valid_only"):
        found = TiltTagger(said, classes=["B-x", "I-x", "O"], method="vote", valid_only=True).fit(rows, tags)
    assert found.predict_marginals(rows)[0][0, 0] > 0.6
