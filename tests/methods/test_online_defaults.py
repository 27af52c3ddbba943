"""Online learning as it comes, from constraints alone: p ends near where the batch solver puts it."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from tiltfit import TiltClassifier, TiltTagger, column, expect, word
from tiltfit.methods.online import Learner

RNG = np.random.default_rng(0)
TEXTS = [" ".join(RNG.choice([f"w{i}" for i in range(30)], 6)) for _ in range(3000)]
SAID = {
    "at_most": [expect("a").at_most(0.3)],
    "at_least": [expect("b").at_least(0.7)],
    "between": [expect("a").between(0.2, 0.3)],
    "exactly": [expect("a").exactly(0.3)],
    "about": [expect("a").about(0.3)],
    "l1": [expect("a").about(0.3, penalty="l1")],
    "groups": [expect("a", per=column("county")).about(0.3)],
}
BETA = 0.05


def mean(model, X):
    return float(model.predict_proba(X)[:, 0].mean())


@pytest.mark.parametrize("name", SAID)
def test_a_constraint_on_all_documents(name):
    """One pass with at_most ends at 0.26; without a limit to steps at 0.0001, with prices that lag behind weights at
    0.08, and with a limit that takes no notice of prices that fall at 0.14. In a stream ``about`` is a square by
    default: one pass is too short for a bounded pull."""
    stated = {"beta": BETA} if name == "l1" else {}
    X = {"text": TEXTS, "county": np.arange(3000) % 3} if name == "groups" else TEXTS
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        stream = TiltClassifier(SAID[name], classes=["a", "b"], **stated).partial_fit(X)
        online = TiltClassifier(SAID[name], classes=["a", "b"], solver="online", random_state=0).fit(X)
    assert mean(stream, X) == pytest.approx(0.3, abs=0.05)
    assert mean(online, X) == pytest.approx(0.3, abs=0.03)


@pytest.mark.parametrize(("scale", "beta"), [("unit", BETA), ("unit", "auto"), ("support", BETA), ("support", "auto")])
def test_a_constant_feature(scale, beta):
    X = np.ones((3000, 1))
    stream = TiltClassifier(SAID["about"], classes=["a", "b"], scale=scale, beta=beta).partial_fit(X)
    assert mean(stream, X) == pytest.approx(0.3, abs=0.05)


@pytest.mark.parametrize(
    "said",
    [
        [expect("a", given=word("w1"), per="instance").at_least(0.9)],
        [expect("a", given=word("w1")).exactly(1.0)],
    ],
    ids=["each instance", "a rule"],
)
def test_constraints_without_a_price_are_learned_from(said):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        stream = TiltClassifier(said, classes=["a", "b"]).partial_fit(TEXTS)
    assert mean(stream, ["w1"]) > 0.8


def test_a_tagger_learns_from_single_labels_within_sequences():
    X = [["x", "y", "x"], ["y", "x", "y"]] * 100
    y = [[None, "b", None], [None, "a", None]] * 100
    tagger = TiltTagger(classes=["a", "b"]).partial_fit(X, y)
    assert tagger.predict([["x", "y"]]) == [["a", "b"]]


@pytest.mark.parametrize(("make", "X", "step"), [(TiltClassifier, ["x", "y"] * 40, 64), (TiltTagger, [["x"]] * 40, 16)])
def test_instances_a_step(make, X, step, monkeypatch):
    """The defaults, one as printed, and as said: a call ends its last step."""
    sizes = []
    plain = Learner.tick
    monkeypatch.setattr(Learner, "tick", lambda self, count: sizes.append(count) or plain(self, count))
    for online, size in ((None, step), ({"steps": "printed"}, 1), ({"batch_size": 7}, 7)):
        sizes.clear()
        model = make([expect("a", given=word("x")).about(0.9)], classes=["a", "b"], online=online).partial_fit(X)
        assert sizes == [size] * (len(X) // size) + [len(X) % size] * (len(X) % size > 0)
        assert model.stream_.learner.step_size == size
