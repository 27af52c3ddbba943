"""Disputes against brute force: all places where a constraint fires, by the formula."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from tiltfit import TiltClassifier, TiltTagger, disputes, expect, load, punctuation, when, word
from tiltfit.errors import DataError, NotSavedWarning, UnsupportedError
from tiltfit.explain.disputes import _share_distance
from tiltfit.explain.statements import Statement
from tiltfit.language.conditions import column
from tiltfit.language.relations import Target
from tiltfit.projections.components import Component

TEXTS = ["puck goal ice", "puck ice", "goal puck", "bat ball base", "bat base", "ball bat puck", "ice rink", "bat ice"]
SAID = [
    expect("hockey", given=word("puck")).about(0.95, name="up"),
    expect("hockey", given=word("bat")).at_most(0.1, slack=0.01, name="down"),
    expect("hockey").between(0.05, 0.95, name="idle"),
    expect(given=word("ice")).distributed_as({"hockey": 0.95, "baseball": 0.05}, name="ice"),
    expect("hockey", given=word("rink")).at_least(1, name="rule"),
    expect("hockey", given=word("goalies")).about(0.9, name="rests"),
]


@pytest.fixture(scope="module")
def classifier() -> TiltClassifier:
    with pytest.warns(match="rests"):
        return TiltClassifier(SAID, classes=["hockey", "baseball"]).fit(TEXTS)


def test_documents_by_the_formula(classifier):
    found = disputes(classifier, TEXTS, top=3)
    titles = [entry.title for entry in classifier.constraint_report_]
    assert [entry.title for entry in found] == titles
    p, q = (shares[:, list(classifier.classes_).index("hockey")] for shares in
            (classifier.predict_proba(TEXTS), quiet_projection(classifier)))  # fmt: skip
    by = {entry.title: entry for entry in found}
    for title, said, amount in (
        ("up", "puck", 1 - p),
        ("down", "bat", p),
        ("idle", "", np.maximum(0.05 - p, p - 0.95)),
    ):
        here = [i for i, text in enumerate(TEXTS) if said in text and amount[i] > 1e-6]
        worst = sorted(here, key=lambda i: -amount[i])[:3]
        fights = by[title].fights
        assert [f.index for f in fights] == worst, title
        assert [f.amount for f in fights] == pytest.approx(amount[worst])
        assert [f.model for f in fights] == pytest.approx(p[worst])
        assert [f.projected for f in fights] == pytest.approx(q[worst], abs=1e-6)
    assert by["up"].direction == 1
    assert by["up"].price == pytest.approx(classifier.constraint_report_[0].price, rel=1e-3)
    assert by["down"].direction == -1
    assert (by["idle"].direction, by["idle"].price) == (0, 0.0)
    assert "moves nothing" in by["idle"].verdict
    assert (by["rule"].price, by["rule"].direction, by["rule"].fights[0].index) == (None, 1, 6)
    assert by["rule"].fights[0].projected == pytest.approx(1.0)
    assert (by["rests"].fights, by["rests"].verdict) == ((), "nothing fights it")
    assert by["ice [hockey]"].direction == -by["ice [baseball]"].direction != 0
    json.dumps(found.to_dicts(), allow_nan=False)
    assert "5: ball bat puck" in str(found)


def quiet_projection(classifier):
    with pytest.warns(match="rests"):
        return classifier.project(TEXTS, prices="solve")


def test_known_labels_are_left_out_and_groups_have_their_own_prices(classifier):
    y = ["hockey", *[None] * 7]
    assert all(fight.index > 0 for entry in disputes(classifier, TEXTS, y) for fight in entry.fights)
    X = {"town": np.array(["x", "y"] * 6), "v": np.arange(12.0)}
    said = expect("yes", per=column("town")).about(0.8, name="towns")
    fitted = TiltClassifier([said], classes=["no", "yes"], vectorizer="tfidf", **PLAIN).fit(
        X | {"text": ["a", "b c"] * 6}
    )
    found = disputes(fitted, X | {"text": ["a", "b c"] * 6}, top=12)[0]
    prices = {(f.index % 2, round(f.price, 9)) for f in found.fights}
    assert len(prices) == 2


PLAIN = {"beta": 0.05, "penalize_intercept": True}
SEQUENCES = [["big", "room", ",", "call", "Ann"], ["call", "Bob"], ["big", "call", "room"], ["room", ",", "call"]]
ABOUT = [
    expect("contact", given=word("call")).about(0.95, name="call"),
    expect("size", given=word("room")).about(0.95, name="room"),
    expect.change().about(0.25, name="change"),
    expect.change(given=punctuation.before, of=expect.change()).about(0.9, name="commas"),
    expect.segments("size").at_most(0.7, slack=0.01, name="segments"),
    expect.repeats().about(0.0, name="repeats"),
]


def test_tokens_edges_and_whole_sequences_by_all_label_sequences():
    tagger = TiltTagger(ABOUT, beta=0.05, inference="exact").fit(SEQUENCES)
    found = {entry.title: entry for entry in disputes(tagger, SEQUENCES, top=99)}
    assert list(found) == [entry.title for entry in tagger.constraint_report_]
    ways = [[(dict(enumerate(y)), list(y), p) for y, p in tagger.predict_k_best([s], 64)[0]] for s in SEQUENCES]

    def places(name, value, at):
        entry = found[name]
        sign = np.sign(entry.price)
        expected = {}
        for i, t in at:
            means = sum(p * value(i, t, y) for _, y, p in ways[i])
            top, bottom = (f(value(i, t, y) for _, y, _ in ways[i]) for f in (max, min))
            expected[(i, t)] = top - means if sign > 0 else means - bottom
        told = {(f.index, f.position): f.amount for f in entry.fights}
        assert told == pytest.approx({k: v for k, v in expected.items() if v > 1e-6}, abs=1e-8)
        assert list(told.values()) == sorted(told.values(), reverse=True)

    tokens = [(i, t) for i, s in enumerate(SEQUENCES) for t in range(len(s))]
    edges = [(i, t) for i, t in tokens if t]
    changes = lambda i, t, y: float(y[t] != y[t - 1])  # noqa: E731
    after = lambda i, t: SEQUENCES[i][t - 1] == ","  # noqa: E731
    places("call", lambda i, t, y: float(y[t] == "contact"), [(i, t) for i, t in tokens if SEQUENCES[i][t] == "call"])
    places("change", changes, edges)
    places("commas", lambda i, t, y: changes(i, t, y) * (after(i, t) - 0.9), edges)
    event = {(f.index, f.position): f.model for f in found["commas"].fights}
    for i, t in edges:
        share = sum(p * changes(i, t, y) for _, y, p in ways[i]) if after(i, t) else 0.0
        assert event[(i, t)] == pytest.approx(share, abs=1e-8)
    for name, count, target in (
        ("segments", lambda y: sum(k == "size" for k, _ in itertools.groupby(y)), 0.7),
        ("repeats", lambda y: max(0, len(list(itertools.groupby(y))) - 2), 0.0),
    ):
        means = [sum(p * count(y) for _, y, p in ways[i]) for i in range(4)]
        assert found[name].counts
        assert found[name].direction == -1
        told = {f.index: (f.position, f.model, f.amount) for f in found[name].fights}
        for i, (position, model, amount) in told.items():
            assert position is None
            assert (model, amount) == pytest.approx((means[i], means[i] - target), abs=1e-7)
        assert set(told) == {i for i in range(4) if means[i] - target > 1e-6}


def test_bad_input(classifier, tmp_path):
    with pytest.raises(NotFittedError):
        disputes(TiltClassifier(SAID), TEXTS)
    with pytest.raises(DataError, match="cannot be explained"):
        disputes("model", TEXTS)
    with pytest.raises(DataError, match="top=True"):
        disputes(classifier, TEXTS, top=True)
    with pytest.raises(DataError):
        disputes(classifier, [[1.0]])
    with pytest.raises(DataError, match="no constraint"):
        disputes(TiltClassifier().fit(TEXTS, ["a", "b"] * 4), TEXTS)
    said = expect("hockey", given=when(lambda text: "puck" in text)).about(0.9, name="by hand")
    with pytest.warns(NotSavedWarning):
        TiltClassifier([said], classes=["hockey", "baseball"]).fit(TEXTS).save(tmp_path / "m.tilt")
    with pytest.raises(UnsupportedError, match="by hand"):
        disputes(load(tmp_path / "m.tilt"), TEXTS)


@pytest.mark.parametrize(
    ("relation", "sides"),
    [("at_least", (1, 0)), ("at_most", (0, 1)), ("about", (1, 1)), ("exactly", (1, 1))],
)
def test_a_share_of_another_event_that_moves_nothing_is_off_where_its_difference_is(relation, sides):
    """E[event − u·other] is 0 where the share is u: not the distance of p(event) from u."""
    said = getattr(expect.change(given=punctuation.before, of=expect.change()), relation)(0.3)
    statement = Statement(0, said, "x", Component(0, said, Target(-1, 0, 0, share=0.3), []), np.zeros(1))
    value = np.array([-0.2, 0.0, 0.1])
    wanted = sides[0] * np.maximum(-value, 0) + sides[1] * np.maximum(value, 0)
    assert _share_distance(statement, value) == pytest.approx(wanted)
