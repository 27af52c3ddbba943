"""Where the weights come from: parts sum to them, and are what a plain integral says."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tiltfit import TiltClassifier, TiltTagger, expect, punctuation, why, word
from tiltfit.errors import TiltfitWarning, UnsupportedError
from tiltfit.explain.origins import origins

TEXTS = ["puck goal ice", "puck ice", "goal puck", "bat ball base", "bat base", "ball bat puck", "ice rink", "gym run"]
SAID = [
    expect("hockey", given=word("puck")).about(0.8, name="puck"),
    expect("baseball", given=word("bat")).about(0.8, name="bat"),
    expect(given=word("ice")).distributed_as({"hockey": 0.7, "baseball": 0.3}, name="ice"),
    expect("baseball", given=word("rink")).at_most(0, name="rule"),
]
Y = [None, None, None, None, None, None, None, "baseball"]


@pytest.fixture(scope="module")
def classifier() -> TiltClassifier:
    settings = {"alpha": 2.0, "beta": 0.05, "gamma": 0.7, "penalize_intercept": True, "revise": None}
    return TiltClassifier(SAID, vectorizer="binary", tol=1e-9, **settings).fit(TEXTS, Y)


def test_parts_sum_to_the_weights_and_little_is_left(classifier):
    found = {origin.name: origin for origin in origins(classifier, TEXTS, Y)}
    assert list(found) == ["labels", "labels that are ruled out", "puck", "bat", "ice", "what the fit left undone"]
    whole = classifier.infer(TEXTS).weights()
    assert sum(origin.weights for origin in found.values()) == pytest.approx(whole, abs=1e-12)
    assert np.abs(found["what the fit left undone"].weights).max() < 1e-6 * np.abs(whole).max()


def test_each_part_is_the_integral_of_its_covariances(classifier):
    """A plain sum over many steps, with tables written by hand."""
    names, L = list(classifier.classes_), 2
    hockey = np.eye(L)[names.index("hockey")]
    tables = {"puck": [(hockey, -1)], "bat": [(1 - hockey, -1)], "ice": [(np.eye(L)[k], k) for k in range(L)]}
    X = np.asarray(classifier.infer(TEXTS).model.features.X.todense())
    p = classifier.predict_proba(TEXTS)
    p[6, names.index("baseball")] = 0.0  # the rule
    tilt = {name: np.zeros((8, L)) for name in tables}
    for k, (name, listed) in enumerate(tables.items()):
        for table, component in listed:
            fires = np.array([name in text.split() for text in TEXTS])
            tilt[name] += classifier.prices_[(k, component, None)] * np.outer(fires, table)
    whole, steps = sum(tilt.values()), 2000
    found = {origin.name: origin.weights for origin in origins(classifier, TEXTS, Y)}
    for name in tables:
        share = np.zeros((8, L))
        for s in (np.arange(steps) + 0.5) / steps:
            q = p * np.exp(s * whole)
            q /= q.sum(axis=1, keepdims=True)
            share += q * (tilt[name] - np.sum(q * tilt[name], axis=1, keepdims=True)) / steps
        table = np.concatenate([X.T @ share, share.sum(axis=0)[None]]) * 0.7 / 2.0
        assert found[name] == pytest.approx(table.ravel(), abs=1e-5)


def test_predictions_are_shared_out_completely(classifier):
    for cause in why(classifier, ["puck bat", "ice", "gym"], train=(TEXTS, Y), top=None):
        assert math.fsum(part.amount for part in cause.origins) == pytest.approx(cause.log_odds, abs=1e-9)
        assert "learned from" in cause.sentence
    taught = {part.name: part.amount for part in why(classifier, ["gym"], train=(TEXTS, Y))[0].origins}
    assert max(taught, key=taught.get) == "labels"  # nothing else speaks of it


SEQUENCES = [["big", "room", ",", "call", "Ann"], ["call", "Bob"], ["big", "call", "room"], ["room", ",", "call"]]


def test_sequences_with_edges_groups_of_labels_and_prices_of_their_own():
    said = [
        expect("contact", given=word("call")).about(0.9, name="call"),
        expect.change(given=punctuation.before, of=expect.change()).about(0.8, name="commas"),
        expect.stay().about(0.7, name="stay"),
        expect.segments("size", per="sequence").at_most(1, slack=0.1, name="once"),
        expect.end("size", per="sequence").about(0.3, name="end"),
    ]
    y = [None, ["contact", None], None, ["size", "size", "contact"]]
    fitted = TiltTagger(said, classes=["contact", "size"], beta=0.05, tol=1e-8).fit(SEQUENCES, y)
    found = list(origins(fitted, SEQUENCES, y))
    assert [origin.kind for origin in found[:2]] == ["labels", "rule"]
    assert {origin.name for origin in found[2:-1]} <= {"call", "commas", "stay", "once", "end"}
    assert len(found) > 5
    whole = fitted.infer(SEQUENCES).weights()
    assert sum(origin.weights for origin in found) == pytest.approx(whole, abs=1e-12)
    assert np.abs(found[-1].weights).max() < 1e-5 * np.abs(whole).max()
    for cause in why(fitted, SEQUENCES[:1], train=(SEQUENCES, y)):
        assert math.fsum(part.amount for part in cause.origins) == pytest.approx(cause.log_odds, abs=1e-9)


def test_what_has_no_such_parts_is_refused_by_name(classifier):
    def refused(said, match, **options):
        fitted = TiltClassifier(said, classes=["hockey", "baseball"], **options).fit(TEXTS)
        with pytest.raises(UnsupportedError, match=match):
            why(fitted, TEXTS, train=TEXTS)

    refused(SAID[:2], "method='vote'", method="vote")
    refused(SAID[:2], "model='naive_bayes'.*or fit with model='maxent'", model="naive_bayes")
    refused(SAID[:2], "solver='online'", solver="online")
    tagger = TiltTagger([*(expect(c, given=word(w)).about(0.9) for c, w in (("a", "call"), ("b", "room"))),
                         expect.repeats().about(0.1, name="twice")], inference="exact").fit(SEQUENCES)  # fmt: skip
    with pytest.raises(UnsupportedError, match="'twice' looks at whole sequences"):
        why(tagger, SEQUENCES, train=SEQUENCES)


def test_data_that_it_was_not_fitted_on_are_told(classifier):
    with pytest.warns(TiltfitWarning, match=r"explains \d+% of the weights: it is not what the model was fitted on"):
        why(classifier, ["gym"], train=TEXTS[:4])
