"""Hard constraints that contradict each other: the model that is left is still one of the data."""

from __future__ import annotations

import numpy as np
import pytest

from tiltfit import TiltClassifier, expect, word
from tiltfit.errors import NotConvergedWarning, UnmetConstraintWarning
from tiltfit.penalties.interval import at_least, l2
from tiltfit.penalties.stacked import stack

CLASSES = ("fire", "water")


def texts(n: int, seed: int) -> tuple[list[str], np.ndarray]:
    """Eight words: five of the label's own twenty, three of the other's."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, n)
    drawn = [
        [f"{CLASSES[y]}{j}" for j in rng.integers(0, 20, 5)] + [f"{CLASSES[1 - y]}{j}" for j in rng.integers(0, 20, 3)]
        for y in labels
    ]
    return [" ".join(row) for row in drawn], np.array(CLASSES)[labels]


@pytest.mark.parametrize("solver", ["joint", "alternating"])
def test_what_cannot_hold_is_missed_by_little_and_the_rest_is_learned(solver: str) -> None:
    train, _ = texts(400, 0)
    judged, labels = texts(400, 1)
    said = [expect(label, given=word(f"{label}{j}")).at_least(0.95) for label in CLASSES for j in range(20)]
    classifier = TiltClassifier(said, solver=solver)
    with pytest.warns(UnmetConstraintWarning, match="contradict each other"):
        classifier.fit(train)
    assert classifier.score(judged, labels) > 0.7  # of Bayes's 0.77; one label for all would be 0.5
    assert classifier.constraint_report_.violated
    assert "given slack" in classifier.message_
    assert not classifier.converged_
    balance = np.mean(classifier.predict(judged) == "fire")
    assert 0.35 < balance < 0.65


def test_what_can_hold_is_met_to_the_letter() -> None:
    train, _ = texts(400, 0)
    said = [expect("fire", given=word("fire0")).at_least(0.8), expect("water", given=word("water0")).at_least(0.8)]
    report = TiltClassifier(said).fit(train).constraint_report_
    assert not report.violated
    assert max(entry.violation for entry in report) < 1e-3


def test_soft_constraints_are_solved_once() -> None:
    train, _ = texts(100, 0)
    rounds: list[int] = []
    said = [expect(given=word("fire0")).distributed_as({"fire": 0.9, "water": 0.1}), expect("fire").about(0.99)]
    classifier = TiltClassifier(said, max_iter=2, tol=1e-12, callback=lambda told: rounds.append(told.round))
    with pytest.warns(NotConvergedWarning):
        classifier.fit(train)
    assert rounds == [1, 2]


@pytest.mark.parametrize("model", ["maxent", "naive_bayes"])
@pytest.mark.parametrize("per", ["dataset", "instance"])
def test_a_contradiction_is_never_converged(model: str, per: str) -> None:
    short = ["a b", "a c", "b d", "c d"] * 5
    said = [
        expect("x", given=word("a"), per=per).at_least(0.9),
        expect("x", given=word("b"), per=per).at_most(0.1),
    ]
    classifier = TiltClassifier(said, classes=["x", "y"], model=model)
    with pytest.warns(UnmetConstraintWarning, match="contradict each other"):
        classifier.fit(short)
    assert not classifier.converged_
    assert "given slack" in classifier.message_
    # Nothing changes if a and b, c and d, x and y change places.
    assert classifier.predict_proba(["a b", "c d"])[:, 0] == pytest.approx(0.5, abs=0.01)


def test_only_hard_rows_are_softened() -> None:
    penalty = stack([l2([0.5, 0.6], 0.1), at_least([0.9, 0.8], [0.0, 0.2])])
    assert penalty.hard.tolist() == [False, False, True, False]
    soft = penalty.softened(np.full(4, 0.05))
    m = np.array([0.1, 0.2, 0.4, 0.3])
    np.testing.assert_allclose(soft.value(m)[[0, 1, 3]], penalty.value(m)[[0, 1, 3]])
    assert penalty.value(m)[2] == np.inf
    assert soft.value(m)[2] == pytest.approx(0.5**2 / 0.1)
