"""What each constraint does, by the fit without it."""

from __future__ import annotations

import pytest

from tiltfit import TiltClassifier, TiltTagger, expect, leave_one_out, word
from tiltfit.errors import DataError

TEXTS = ["puck goal ice", "puck ice", "goal puck", "bat ball base", "bat base", "ball bat", "ice rink", "base run"] * 3
GOOD = [
    expect("hockey", given=word("puck")).about(0.9),
    expect("hockey", given=word("ice")).about(0.9),
    expect("baseball", given=word("bat")).about(0.9),
]
DEV = (["ice puck", "goal", "bat run", "base"], ["hockey", "hockey", "baseball", "baseball"])


def test_a_constraint_that_fights_the_others_comes_first_and_says_so():
    wrong = expect("baseball", given=word("puck")).at_least(0.7, name="wrong")
    found = leave_one_out(TiltClassifier([*GOOD[1:], wrong]), TEXTS, dev=DEV)
    assert len(found) == 3
    assert found[0].title == "wrong"
    assert found[0].relief > 0.02
    assert "fights the others" in found[0].verdict
    assert "fights the others" in str(found)


def test_a_constraint_that_agrees_with_the_others_does_not_fight():
    found = leave_one_out(TiltClassifier(GOOD), TEXTS, dev=DEV)
    assert all(entry.relief < 0.02 for entry in found)
    assert all(entry.gain is not None and entry.gain >= 0 for entry in found)


def test_without_labels_nothing_is_said_of_accuracy_and_the_estimator_stays_as_it_is():
    tagger = TiltTagger([expect("h", given=word("puck")).about(0.9), expect("b", given=word("bat")).about(0.9)])
    found = leave_one_out(tagger, [text.split() for text in TEXTS])
    assert all(entry.gain is None for entry in found)
    assert not hasattr(tagger, "coef_")
    assert found[0].changed >= 0


def test_distributions_count_once():
    shares = expect(given=word("ice")).distributed_as({"hockey": 0.9, "baseball": 0.1})
    assert len(leave_one_out(TiltClassifier([*GOOD, shares]), TEXTS)) == 4


def test_there_must_be_something_to_leave_out():
    with pytest.raises(DataError, match="no constraint"):
        leave_one_out(TiltClassifier(), TEXTS, ["a", "b"] * 12)


def test_the_only_source_of_knowledge():
    found = leave_one_out(TiltClassifier([GOOD[0]], classes=["hockey", "baseball"]), TEXTS)
    assert found[0].verdict == "without it there is nothing to learn from"


def test_a_development_set_is_checked_first():
    with pytest.raises(DataError, match="pair"):
        leave_one_out(TiltClassifier(GOOD), TEXTS, dev=TEXTS)
