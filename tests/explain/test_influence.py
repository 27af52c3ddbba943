"""What each constraint does, by the fit without it; and moved targets: predictions follow them, and what cannot be
moved is said."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from tiltfit import TiltClassifier, TiltTagger, expect, leave_one_out, load, sensitivity, when, word
from tiltfit.errors import ConstraintError, DataError, NotSavedWarning, UnsupportedError
from tiltfit.language.relations import About, AtLeast, Between, DistributedAs

DOCUMENTS = [
    "puck goal ice",
    "puck ice",
    "goal puck",
    "bat ball base",
    "bat base",
    "ball bat",
    "ice rink",
    "base run",
] * 3
GOOD = [
    expect("hockey", given=word("puck")).about(0.9),
    expect("hockey", given=word("ice")).about(0.9),
    expect("baseball", given=word("bat")).about(0.9),
]
DEV = (["ice puck", "goal", "bat run", "base"], ["hockey", "hockey", "baseball", "baseball"])


def test_a_constraint_that_fights_the_others_comes_first_and_says_so():
    wrong = expect("baseball", given=word("puck")).at_least(0.7, name="wrong")
    found = leave_one_out(TiltClassifier([*GOOD[1:], wrong]), DOCUMENTS, dev=DEV)
    assert len(found) == 3
    assert found[0].title == "wrong"
    assert found[0].relief > 0.02
    assert "fights the others" in found[0].verdict
    assert "fights the others" in str(found)


def test_a_constraint_that_agrees_with_the_others_does_not_fight():
    found = leave_one_out(TiltClassifier(GOOD), DOCUMENTS, dev=DEV)
    assert all(entry.relief < 0.02 for entry in found)
    assert all(entry.gain is not None and entry.gain >= 0 for entry in found)


def test_without_labels_nothing_is_said_of_accuracy_and_the_estimator_stays_as_it_is():
    tagger = TiltTagger([expect("h", given=word("puck")).about(0.9), expect("b", given=word("bat")).about(0.9)])
    found = leave_one_out(tagger, [text.split() for text in DOCUMENTS])
    assert all(entry.gain is None for entry in found)
    assert not hasattr(tagger, "coef_")
    assert found[0].changed >= 0


def test_distributions_count_once():
    shares = expect(given=word("ice")).distributed_as({"hockey": 0.9, "baseball": 0.1})
    assert len(leave_one_out(TiltClassifier([*GOOD, shares]), DOCUMENTS)) == 4


def test_there_must_be_something_to_leave_out():
    with pytest.raises(DataError, match="no constraint"):
        leave_one_out(TiltClassifier(), DOCUMENTS, ["a", "b"] * 12)


def test_the_only_source_of_knowledge():
    found = leave_one_out(TiltClassifier([GOOD[0]], classes=["hockey", "baseball"]), DOCUMENTS)
    assert found[0].verdict == "without it there is nothing to learn from"


def test_a_development_set_is_checked_first():
    with pytest.raises(DataError, match="pair"):
        leave_one_out(TiltClassifier(GOOD), DOCUMENTS, dev=DOCUMENTS)


TEXTS = ["puck goal ice", "puck ice", "goal puck", "bat ball base", "bat base", "ball bat puck", "ice rink", "base run"]
SAID = [
    expect("hockey", given=word("puck")).about(0.6, name="puck", beta=0.001),
    expect("baseball", given=word("bat")).about(1.0, name="bat"),
    expect("hockey", given=word("ice")).between(0.0, 1.0, name="idle"),
]


def test_predictions_follow_a_target():
    estimator = TiltClassifier(SAID)
    found = sensitivity(estimator, TEXTS, change=0.2)
    by = {entry.title: entry for entry in found}
    assert set(by) == {"puck", "bat", "idle"}
    down, up = by["puck"].down, by["puck"].up
    assert (by["puck"].said, down.to, up.to) == ("about 60%", "about 40%", "about 80%")
    assert down.gains[0][0] == "baseball"
    assert up.gains[0][0] == "hockey"
    assert sum(gain for _, gain in up.gains) == pytest.approx(0, abs=1e-9)
    assert by["puck"].changed > 0
    assert min(down.shift, up.shift) > 0.01
    assert by["bat"].up is None  # there is nothing above all of them
    assert by["idle"].down.shift < 0.02  # an interval that was wide enough, and still is
    assert [e.changed for e in found] == sorted((e.changed for e in found), reverse=True)
    assert not hasattr(estimator, "coef_")
    assert "depend on it" in str(found)
    json.dumps(found.to_dicts(), allow_nan=False)


def test_a_fitted_estimator_lends_its_weights_and_stays_as_it_is():
    estimator = TiltClassifier(SAID[:2]).fit(TEXTS)
    before = estimator.coef_.copy()
    assert len(sensitivity(estimator, TEXTS)) == 2
    assert (estimator.coef_ == before).all()
    assert estimator.init is None


def test_labels_of_a_distribution_and_counts():
    said = expect(given=word("puck")).distributed_as({"a": 0.5, "b": 0.3, "c": 0.2}, name="three")
    found = sensitivity(TiltClassifier([said]), TEXTS)
    assert {entry.title for entry in found} == {"three [a]", "three [b]", "three [c]"}
    three = next(entry for entry in found if entry.title == "three [a]")
    assert three.up.to == "55% a, 27% b and 18% c"
    assert dict(three.up.gains)["a"] > 0
    two = expect(given=word("bat")).distributed_as({"a": 0.9, "b": 0.1}, name="two")
    assert [e.title for e in sensitivity(TiltClassifier([two]), TEXTS)] == ["two [a]"]  # the other share follows
    tagger = TiltTagger([expect("x", given=word("puck")).about(0.9), expect("y", given=word("bat")).about(0.9),
                         expect.segments("x").about(2.0, name="count")])  # fmt: skip
    told = {e.title: e for e in sensitivity(tagger, [text.split() for text in TEXTS], change=0.1)}["count"]
    assert (told.down.to, told.up.to) == ("about 1.8", "about 2.2")
    assert dict(told.up.gains).keys() == {"x", "y"}


def test_targets_that_cannot_be_moved_are_none():
    said = [expect("a", given=word("puck")).at_least(0.6, name="a"), expect("b", given=word("puck")).at_least(0.38)]
    found = {e.title: e for e in sensitivity(TiltClassifier(said, classes=["a", "b"]), TEXTS)}
    assert found["a"].up is None  # more than all together
    assert found["a"].down is not None


def test_moved_relations():
    assert About(0.9, "l1").moved(0.05, 1.0) == About(0.95, "l1")
    assert AtLeast(0.98).moved(0.05, 1.0) == AtLeast(1.0)
    assert AtLeast(3.0).moved(0.5, float("inf")) == AtLeast(3.5)
    assert Between(0.02, 0.5).moved(-0.05, 1.0) == Between(0.0, 0.45)
    shares = DistributedAs((("a", 0.5), ("b", 0.3), ("c", 0.2)))
    assert shares.moved(-0.1, 1.0, "a") == DistributedAs((("a", 0.4), ("b", 0.36), ("c", 0.24)))
    with pytest.raises(ConstraintError, match="no single target"):
        shares.moved(0.1, 1.0)
    with pytest.raises(ConstraintError, match="none can take over"):
        DistributedAs((("a", 1.0),)).moved(-0.1, 1.0, "a")


def test_bad_input(tmp_path):
    with pytest.raises(DataError, match="no constraint to move"):
        sensitivity(TiltClassifier(), TEXTS)
    for change in (0, 1.0, "much", True):
        with pytest.raises(DataError, match="change="):
            sensitivity(TiltClassifier(SAID), TEXTS, change=change)
    with pytest.raises(DataError, match="neither a TiltClassifier"):
        sensitivity(3, TEXTS)
    said = expect("hockey", given=when(lambda text: "puck" in text)).about(0.9, name="by hand")
    with pytest.warns(NotSavedWarning):
        TiltClassifier([said], classes=["hockey", "baseball"]).fit(TEXTS).save(tmp_path / "m.tilt")
    for function in (sensitivity, leave_one_out):
        with pytest.raises(UnsupportedError, match="by hand"):
            function(load(tmp_path / "m.tilt"), TEXTS)


def test_a_model_of_a_stream_and_titles_of_rows():
    """A stream hashes words, and so must what begins with its weights; rows of a table are no documents."""
    said = [expect("a", given=word("puck")).about(0.9), expect("b", given=word("bat")).about(0.9)]
    texts = ["puck ice", "bat ball", "ice", "ball"]
    streamed = TiltClassifier(said, solver="online").partial_fit(texts)
    assert len(sensitivity(streamed, texts)) == len(leave_one_out(streamed, texts)) == 2
    table = {"text": np.array(texts, dtype=object), "n": np.arange(4.0)}
    titles = {entry.title for entry in TiltClassifier(said).fit(table).constraint_report_}
    assert all("rows" in title for title in titles)
    assert {e.title for e in sensitivity(TiltClassifier(said), table)} == titles
    assert {e.title for e in leave_one_out(TiltClassifier(said), table)} == titles


def test_an_object_as_model_begins_anew():
    fitted = TiltClassifier(GOOD, model=LogisticRegression()).fit(DOCUMENTS)
    found = leave_one_out(fitted, DOCUMENTS)
    alone = TiltClassifier(GOOD[1:], classes=["baseball", "hockey"], model=LogisticRegression()).fit(DOCUMENTS)
    changed = next(entry.changed for entry in found if entry.title == str(GOOD[0]))
    assert changed == np.mean(alone.predict(DOCUMENTS) != fitted.predict(DOCUMENTS))
    assert len(sensitivity(fitted, DOCUMENTS)) == 3
