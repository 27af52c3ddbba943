"""Causes against the models themselves: parts sum to log-odds, statements to what the projection changes."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import HashingVectorizer

from tiltfit import TiltClassifier, TiltTagger, expect, load, when, why, word
from tiltfit.errors import DataError, NotSavedWarning, UnsupportedError
from tiltfit.explain.causes import Part, _largest
from tiltfit.language.conditions import column

TEXTS = ["puck goal ice", "puck ice", "goal puck", "bat ball base", "bat base", "ball bat puck", "ice rink", "gym run"]
WORDS = [
    expect("hockey", given=word("puck")).about(0.8, name="puck"),
    expect("baseball", given=word("bat")).about(0.8, name="bat"),
    expect(given=word("ice")).distributed_as({"hockey": 0.7, "baseball": 0.2, "gym": 0.1}, name="ice"),
    expect("gym", given=word("gym")).at_least(1, name="rule"),
]


@pytest.fixture(scope="module")
def classifier() -> TiltClassifier:
    return TiltClassifier(WORDS, classes=["hockey", "baseball", "gym"]).fit(TEXTS * 2)


def odds(shares, classes, cause):
    names = list(classes)
    return math.log(shares[names.index(cause.label)] / shares[names.index(cause.rival)])


@pytest.mark.parametrize("top", [None, 1])
def test_parts_sum_to_the_log_odds_of_the_model(classifier, top):
    p, found = classifier.predict_proba(TEXTS), why(classifier, TEXTS, top=top)
    assert [cause.label for cause in found] == classifier.predict(TEXTS).tolist()
    for i, cause in enumerate(found):
        assert cause.index == i
        assert cause.position is None
        assert cause.log_odds == pytest.approx(odds(p[i], classifier.classes_, cause), abs=1e-9)
        assert math.fsum(part.amount for part in cause.parts) == pytest.approx(cause.log_odds, abs=1e-9)
        assert p[i, list(classifier.classes_).index(cause.rival)] == pytest.approx(np.sort(p[i])[-2])
        assert len(cause.parts) <= (top or 99) + 1
    assert {part.name for part in why(classifier, ["puck bat"], top=None)[0].parts} == {"puck", "bat", "intercept"}


@pytest.mark.parametrize("project", [False, True])
def test_statements_sum_to_what_the_projection_adds(classifier, project):
    q, found = (
        classifier.project(TEXTS),
        why(classifier, TEXTS, project=project),
    )
    for shares, cause in zip(q[:-1], found[:-1], strict=True):  # the last has a rule
        assert cause.tilted == pytest.approx(odds(shares, classifier.classes_, cause), abs=1e-6)
        assert {part.name for part in cause.tilts} == {name for name in ("puck", "bat", "ice") if name in cause.text}
    if project:
        assert [cause.label for cause in found] == classifier.classes_[q.argmax(axis=1)].tolist()


def test_a_rule_leaves_no_odds_to_others(classifier):
    cause = why(classifier, ["gym run"], project=True)[0]
    assert [(part.kind, part.name, part.amount) for part in cause.tilts] == [("rule", "rule", math.inf)]
    assert cause.tilted == math.inf
    assert "rule rules the other out" in cause.sentence
    assert cause.to_dict()["tilts"] == [{"kind": "rule", "name": "rule", "amount": None}]
    json.dumps(why(classifier, TEXTS).to_dicts(), allow_nan=False)
    assert "rules it out" in why(classifier, ["gym puck goal ice bat goal"])[0].sentence


def test_rows_of_numbers_groups_instances_and_a_base():
    rng = np.random.default_rng(0)
    X = {"a": rng.normal(size=12), "b": rng.normal(size=12), "town": np.array(["x", "y"] * 6), "text": ["u", "v w"] * 6}
    said = [
        expect("yes", per=column("town")).about(0.8),
        expect("yes", given=column("a").above(0), per="instance").about(0.7),
    ]
    fitted = TiltClassifier(said, classes=["no", "yes"]).fit(X)
    found = why(fitted, X, project=True)
    for shares, cause in zip(fitted.project(X), found, strict=True):
        assert cause.tilted == pytest.approx(odds(shares, fitted.classes_, cause), abs=1e-6)
    assert {len(cause.tilts) for cause in found} == {1, 2}
    assert {len(cause.tilts) for cause in why(fitted, X)} == {1}  # single instances have no fitted price
    numbers, y = rng.normal(size=(12, 2)), ["no", "yes"] * 6
    first = TiltClassifier().fit(numbers, y)
    second = TiltClassifier(base=first).fit(numbers, y[::-1])
    cause = why(second, numbers, top=None)[0]
    assert cause.text == "row 0"
    assert [part.name for part in cause.parts if part.kind == "feature"] != []
    assert {"x0", "x1", "intercept", "base"} == {part.name for part in cause.parts}
    assert cause.log_odds == pytest.approx(odds(second.predict_proba(numbers)[0], second.classes_, cause), abs=1e-9)
    assert math.fsum(part.amount for part in cause.parts) == pytest.approx(cause.log_odds, abs=1e-9)


# Sequences -------------------------------------------------------------------------------------------------------

SEQUENCES = [["big", "room", ",", "call", "Ann"], ["call", "Bob"], ["big", "call", "room"], ["room", ",", "call"]]
SAID = [
    expect("contact", given=word("call")).about(0.9, name="call"),
    expect("size", given=word("room")).about(0.9, name="room"),
    expect.change().about(0.3, name="change"),
    expect.repeats().about(0.05, name="repeats"),
]


@pytest.fixture(scope="module")
def tagger() -> TiltTagger:
    return TiltTagger(SAID, inference="exact").fit(SEQUENCES)


def values(tokens, labels):
    """f′ of the four statements, by their words."""
    changes = sum(a != b for a, b in itertools.pairwise(labels))
    return np.array([
        sum(t == "call" and y == "contact" for t, y in zip(tokens, labels, strict=True)),
        sum(t == "room" and y == "size" for t, y in zip(tokens, labels, strict=True)),
        changes,
        max(0, changes - 1),  # of two labels, every segment after the second repeats one
    ])  # fmt: skip


@pytest.mark.parametrize("project", [False, True])
def test_tokens_against_all_label_sequences(tagger, project):
    prices = np.array([tagger.prices_[(k, -1, None)] for k in range(4)])
    found = why(tagger, SEQUENCES, project=project, top=None)  # what it was fitted on, so that prices are the same
    assert [(c.index, c.position) for c in found] == [(i, t) for i, s in enumerate(SEQUENCES) for t in range(len(s))]
    for i, tokens in enumerate(SEQUENCES):
        p = {tuple(labels): share for labels, share in tagger.predict_k_best([tokens], 64)[0]}
        q = {labels: share * math.exp(prices @ values(tokens, labels)) for labels, share in p.items()}
        best = max(q if project else p, key=(q if project else p).__getitem__)
        for cause in (c for c in found if c.index == i):
            assert cause.label == best[cause.position]
            other = (*best[: cause.position], cause.rival, *best[cause.position + 1 :])
            assert cause.log_odds == pytest.approx(math.log(p[best] / p[other]), abs=1e-8)
            assert math.fsum(part.amount for part in cause.parts) == pytest.approx(cause.log_odds, abs=1e-8)
            assert cause.tilted == pytest.approx(math.log(q[best] / q[other]), abs=2e-3)  # the solver's tolerance
            if not project:
                assert cause.log_odds >= -1e-12  # nothing beats the best
                assert cause.tilted == pytest.approx(math.log(q[best] / q[other]), abs=1e-8)


def test_tokens_say_their_transitions_and_neighbours(tagger):
    cause = why(tagger, [[], SEQUENCES[0]], top=None)[3]
    assert (cause.index, cause.position, cause.text) == (1, 3, "room , [call] Ann")
    names = {part.name for part in cause.parts if part.kind == "transition"}
    assert any(name.startswith("after") and "before: comma" in name for name in names)
    assert "before contact" in names
    assert str(cause).startswith("1.3: room , [call] Ann\n    contact rather than size")


# Refusals --------------------------------------------------------------------------------------------------------


def test_bad_input(classifier, tagger, tmp_path):
    with pytest.raises(NotFittedError):
        why(TiltClassifier(WORDS), TEXTS)
    with pytest.raises(DataError, match="cannot be explained"):
        why(object(), TEXTS)
    with pytest.raises(DataError, match="top=0"):
        why(classifier, TEXTS, top=0)
    with pytest.raises(DataError):
        why(classifier, np.zeros((2, 3)))
    with pytest.raises(DataError):
        why(tagger, TEXTS)
    with pytest.raises(DataError, match="train="):
        why(classifier, TEXTS, train=(TEXTS, None, None, None))
    assert len(why(tagger, [])) == 0


def test_a_model_whose_conditions_could_not_be_saved_is_refused_by_name(tmp_path):
    said = expect("hockey", given=when(lambda text: "puck" in text)).about(0.9, name="by hand")
    fitted = TiltClassifier([said], classes=["hockey", "baseball"]).fit(TEXTS)
    with pytest.warns(NotSavedWarning):
        fitted.save(tmp_path / "m.tilt")
    with pytest.raises(UnsupportedError, match="by hand"):
        why(load(tmp_path / "m.tilt"), TEXTS)


def test_columns_that_a_vectorizer_does_not_name_are_numbered():
    fitted = TiltClassifier([expect("a", given=word("puck")).about(0.9), expect("b", given=word("bat")).about(0.9)],
                            vectorizer=HashingVectorizer(n_features=16)).fit(["puck ice", "bat", "ice"])  # fmt: skip
    assert fitted.get_feature_names_out().tolist() == [f"x{j}" for j in range(16)]
    for cause in why(fitted, ["puck ice"]):
        assert {part.name for part in cause.parts} <= {"intercept", *fitted.get_feature_names_out()}
        assert math.fsum(part.amount for part in cause.parts) == pytest.approx(cause.log_odds, abs=1e-12)


def test_rules_against_each_other_are_not_added_up():
    parts = [Part("rule", "a", math.inf), Part("rule", "b", -math.inf), Part("statement", "c", 1.0)]
    assert _largest(parts, 1) == (*parts[:2], Part("rest", "1 others", 1.0))
    assert _largest(parts[:2], 1) == tuple(parts[:2])
