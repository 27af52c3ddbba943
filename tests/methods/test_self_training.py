"""method="self_training" against the loop of its docstring, written out with the supervised fit."""

from __future__ import annotations

import numpy as np
import pytest

from tiltfit import TiltClassifier, TiltTagger, expect, word
from tiltfit.errors import DataError, NotConvergedWarning

RNG = np.random.default_rng(0)
CENTRES = np.array([[2.0, 0.0], [-2.0, 0.0], [0.0, 2.5]])
TRUTH = RNG.integers(3, size=90)
X = CENTRES[TRUTH] + RNG.normal(size=(90, 2))
Y = np.where(np.arange(90) < 9, TRUTH, -1)
OPTIONS = {"classes": [0, 1, 2], "alpha": 0.1, "tol": 1e-9}


def classifier(**options) -> TiltClassifier:
    return TiltClassifier(**{**OPTIONS, "method": "self_training", **options})


@pytest.mark.parametrize(("threshold", "gamma"), [(0.9, 1.0), (0.7, 0.3)])
def test_a_classifier_does_what_the_loop_does(threshold, gamma):
    found = classifier(method_options={"threshold": threshold}, gamma=gamma).fit(X, Y)
    labels, last = Y.copy(), None
    for _ in range(21):
        weight = np.where(Y < 0, gamma, 1.0)
        plain = TiltClassifier(**OPTIONS, method="supervised").fit(X, labels, sample_weight=weight)
        p = plain.predict_proba(X)
        last, labels = labels, np.where(Y >= 0, Y, np.where(p.max(axis=1) >= threshold, p.argmax(axis=1), -1))
        if np.array_equal(last, labels):
            break
    assert found.converged_
    assert np.sum(labels >= 0) > 9
    np.testing.assert_allclose(found.coef_, plain.coef_, atol=1e-6)
    assert [told.round for told in found.history_] == list(range(1, len(found.history_) + 1))


def test_where_it_is_never_sure_it_is_supervised():
    found = classifier(method_options={"threshold": 1.0}).fit(X, Y)
    plain = TiltClassifier(**OPTIONS, method="supervised").fit(X, Y)
    np.testing.assert_allclose(found.coef_, plain.coef_, atol=1e-9)
    assert found.converged_


ADS = [["big", "room"], ["call", "Ann"], ["big", "garden"], ["call", "Bob", "Ann"], ["big", "room", "call", "Ann"]]
TAGS = [["s", "s"], ["c", "n"], ["s", None], None, None]


@pytest.mark.parametrize("threshold", [0.7, 0.8, 0.85])
def test_a_tagger_labels_sequences_by_the_mean_of_its_tokens(threshold):
    options = {"classes": ["c", "n", "s"], "alpha": 0.05, "tol": 1e-9}
    found = TiltTagger(**options, method="self_training", method_options={"threshold": threshold}).fit(ADS, TAGS)
    tags = TAGS
    for _ in range(21):
        plain = TiltTagger(**options).fit(ADS, tags)
        last, tags = tags, [_surest(plain, ad, known, threshold) for ad, known in zip(ADS, TAGS, strict=True)]
        if last == tags:
            break
    assert tags != TAGS
    np.testing.assert_allclose(found.coef_, plain.coef_, atol=1e-6)


def _surest(tagger: TiltTagger, ad: list[str], known: list[str | None] | None, threshold: float):
    """The best labelling that agrees with what is known, if its probability among these reaches the threshold."""
    paths = tagger.predict_k_best([ad], k=3**4)[0]
    fitting = [
        (path, p) for path, p in paths if known is None or all(k in (None, a) for a, k in zip(path, known, strict=True))
    ]
    path, p = fitting[0]
    return path if (p / sum(q for _, q in fitting)) ** (1 / len(ad)) >= threshold else known


def test_what_y_says_in_part_holds_throughout():
    y = [0, 1, 2, *[{0, 1}] * 5, *[None] * 82]
    found = classifier(method_options={"threshold": 0.6}).fit(X, y)
    assert found.converged_
    # With free intercepts both sets are met by these alone, and all weights are 0.
    sets, penalised = [{0, 1}, {1, 2}, *[None] * 88], {"classes": [0, 1, 2], "penalize_intercept": True}
    sets_alone = TiltClassifier(**penalised, method="self_training", method_options={"threshold": 1.0}).fit(X, sets)
    plain = TiltClassifier(**penalised).fit(X, sets)
    np.testing.assert_allclose(sets_alone.coef_, plain.coef_, atol=1e-9)
    assert np.abs(plain.coef_).max() > 0.1


def test_constraints_are_told_of_but_not_used():
    said = [expect("h", given=word("ice")).about(0.05)]
    texts, y = ["puck ice", "bat ball", "ice", "ball"], ["h", "b", None, None]
    found = TiltClassifier(said, vectorizer="counts", method="self_training").fit(texts, y)
    plain = TiltClassifier(classes=["b", "h"], vectorizer="counts", method="self_training").fit(texts, y)
    np.testing.assert_allclose(found.coef_, plain.coef_, atol=1e-12)
    assert found.constraint_report_.to_dicts()[0]["model"] > 0.5


def test_too_few_rounds_are_told():
    with pytest.warns(
        NotConvergedWarning, match=r"still change after 1 rounds\. Raise method_options={'max_rounds': 1}\."
    ):
        classifier(method_options={"threshold": 0.8, "max_rounds": 1}).fit(X, Y)


def test_a_callback_stops_it():
    found = classifier(callback=lambda told: told.round == 2).fit(X, Y)
    assert len(found.history_) == 2


def test_without_labels_it_says_so():
    said = [expect("h", given=word("puck")).about(0.9), expect("b").about(0.5)]
    with pytest.raises(DataError, match="method='self_training' starts from labels"):
        TiltClassifier(said, method="self_training").fit(["puck", "bat"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"threshold": 0}, r"^method_options={'threshold': 0} must be a probability above 0, at most 1\.$"),
        ({"threshold": 1.5}, "'threshold': 1.5"),
        ({"threshold": "high"}, "'threshold': 'high'"),
        ({"threshold": True}, "'threshold': True"),
        ({"max_rounds": 0}, "'max_rounds': 0.*at least 1"),
        ({"max_rounds": 2.5}, "'max_rounds': 2.5"),
        ({"treshold": 0.9}, "'treshold'.*Did you mean"),
    ],
)
def test_bad_options_are_refused_by_name(options, message):
    with pytest.raises(DataError, match=message):
        classifier(method_options=options).fit(X, Y)
