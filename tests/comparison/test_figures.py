"""Figures against scikit-learn and by hand; the bootstrap against a slow loop."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, f1_score, log_loss

from tiltfit.arrays import FloatArray, IntArray
from tiltfit.comparison.figures import BINS, Evidence, Truth, bins, figures, gather, judged, replicates


def drawn(n: int, n_labels: int, seed: int, per: int = 1) -> tuple[Truth, IntArray, FloatArray, IntArray]:
    """n instances of up to ``per`` positions, with labels, predictions, probabilities and segments."""
    rng = np.random.default_rng(seed)
    instance = np.repeat(np.arange(n), rng.integers(1, per + 1, size=n))
    proba = rng.dirichlet(np.ones(n_labels), size=len(instance))
    label = rng.integers(n_labels, size=len(instance))
    predicted = np.where(rng.random(len(instance)) < 0.6, label, rng.integers(n_labels, size=len(instance)))
    guessed, true = rng.integers(1, 5, size=n), rng.integers(1, 5, size=n)
    segments = np.stack([np.minimum(guessed, true) // 2, guessed, true], axis=1)
    return Truth(instance, label, n, n_labels), predicted, proba, segments


def whole(evidence: Evidence) -> dict[str, float]:
    return {key: float(value[0]) for key, value in figures(evidence, np.ones((1, len(evidence)))).items()}


@given(st.integers(1, 60), st.integers(2, 5), st.integers(0, 10**6), st.integers(1, 4))
def test_figures_are_those_of_scikit_learn(n: int, n_labels: int, seed: int, per: int) -> None:
    truth, predicted, proba, _ = drawn(n, n_labels, seed, per)
    found = whole(gather(truth, predicted, proba))
    assert found["accuracy"] == pytest.approx(accuracy_score(truth.label, predicted))
    expected = f1_score(truth.label, predicted, average="macro", zero_division=0)
    assert found["macro_f1"] == pytest.approx(expected)
    assert found["log_loss"] == pytest.approx(log_loss(truth.label, proba, labels=range(n_labels)))


@given(st.integers(1, 80), st.integers(0, 10**6), st.integers(1, 3), st.booleans())
def test_calibration_error_by_hand(n: int, seed: int, per: int, coarse: bool) -> None:
    truth, predicted, proba, _ = drawn(n, 3, seed, per)
    if coarse:  # many are equally sure
        proba = np.round(proba, 1)
    sure = [proba[i, k] for i, k in enumerate(predicted)]
    gap: dict[int, float] = {}
    for i, p in enumerate(sure):
        which = BINS * sum(other < p for other in sure) // len(sure)
        gap[which] = gap.get(which, 0.0) + (predicted[i] == truth.label[i]) - p
    expected = sum(abs(g) for g in gap.values()) / len(sure)
    assert whole(gather(truth, predicted, proba))["calibration_error"] == pytest.approx(expected)


def test_bins_are_of_equal_mass_and_hold_ties_together() -> None:
    assert np.bincount(bins(np.random.default_rng(0).permutation(150) / 150)).tolist() == [10] * BINS
    assert bins(np.full(40, 0.5)).tolist() == [0] * 40


def test_a_calibrated_model_has_no_error_and_a_boastful_one_has() -> None:
    truth = Truth(np.arange(4), np.array([0, 0, 0, 1]), 4, 2)
    predicted = np.zeros(4, dtype=np.intp)
    calibrated = np.tile([0.75, 0.25], (4, 1))
    assert whole(gather(truth, predicted, calibrated))["calibration_error"] == pytest.approx(0.0)
    boastful = np.tile([1.0, 0.0], (4, 1))
    found = whole(gather(truth, predicted, boastful))
    assert found["calibration_error"] == pytest.approx(0.25)
    assert found["log_loss"] == pytest.approx(-np.log(np.finfo(np.float64).eps) / 4)  # bounded, not infinite


def test_a_label_that_no_model_knows_is_a_mistake_of_probability_zero() -> None:
    truth = Truth(np.arange(2), np.array([0, 2]), 2, 3)
    found = whole(gather(truth, np.array([0, 1]), np.array([[1.0, 0.0], [0.0, 1.0]])))
    assert found["accuracy"] == 0.5
    assert found["macro_f1"] == pytest.approx(1 / 3)
    assert found["log_loss"] == pytest.approx(-np.log(np.finfo(np.float64).eps) / 2)


def test_segments_of_which_there_are_none_have_an_f1_of_zero() -> None:
    truth, predicted, proba, _ = drawn(3, 2, 0)
    nothing = np.zeros((3, 3), dtype=np.intp)
    assert whole(gather(truth, predicted, proba, nothing))["segment_f1"] == 0.0


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 12), st.integers(0, 10**6), st.integers(1, 3))
def test_replicates_are_figures_of_the_data_drawn(n: int, seed: int, per: int) -> None:
    """A slow loop draws instances, copies their positions and judges the copies as data of their own."""
    truth, predicted, proba, segments = drawn(n, 3, seed, per)
    evidence = gather(truth, predicted, proba, segments)
    found = replicates([evidence], 5, np.random.default_rng(seed))[0]
    which = bins(proba[np.arange(len(predicted)), predicted])
    rng = np.random.default_rng(seed)
    for r in range(5):
        chosen = rng.integers(n, size=n)
        rows = np.concatenate([np.flatnonzero(truth.instance == j) for j in chosen])
        label, guess = truth.label[rows], predicted[rows]
        assert found["accuracy"][r] == pytest.approx(accuracy_score(label, guess))
        assert found["macro_f1"][r] == pytest.approx(f1_score(label, guess, average="macro", zero_division=0))
        assert found["log_loss"][r] == pytest.approx(log_loss(label, proba[rows], labels=range(3)))
        hits, guessed, true = segments[chosen].sum(axis=0)
        assert found["segment_f1"][r] == pytest.approx(2 * hits / (guessed + true))
        gap = (guess == label) - proba[rows, guess]
        total = sum(abs(gap[which[rows] == b].sum()) for b in range(BINS))
        assert found["calibration_error"][r] == pytest.approx(total / len(rows))


def test_intervals_are_paired(monkeypatch: pytest.MonkeyPatch) -> None:
    truth, predicted, proba, _ = drawn(200, 3, 1)
    one = gather(truth, predicted, proba)
    better = predicted.copy()
    better[:10] = truth.label[:10]
    other = gather(truth, better, proba)
    first, second, same = judged([one, other, one], 400, np.random.default_rng(0))
    assert first["accuracy"].difference is None
    assert first["accuracy"].low is not None
    assert first["accuracy"].high is not None
    assert first["accuracy"].low < first["accuracy"].value < first["accuracy"].high
    values = replicates([one], 400, np.random.default_rng(0))[0]["accuracy"]
    assert (first["accuracy"].low, first["accuracy"].high) == tuple(np.quantile(values, [0.025, 0.975]))
    # What is the same for both cancels: the difference to itself is certain, and a small gain shows.
    assert (same["accuracy"].difference_low, same["accuracy"].difference_high) == (0.0, 0.0)
    assert not same["accuracy"].differs
    assert second["accuracy"].difference == pytest.approx(second["accuracy"].value - first["accuracy"].value)
    width = (second["accuracy"].difference_high or 0) - (second["accuracy"].difference_low or 0)
    assert width < first["accuracy"].high - first["accuracy"].low
    # However the draws are cut into pieces, they are the same.
    monkeypatch.setattr("tiltfit.comparison.figures._ROOM", 1000)
    assert judged([one, other, one], 400, np.random.default_rng(0)) == [first, second, same]


def test_without_draws_there_are_no_intervals() -> None:
    truth, predicted, proba, _ = drawn(20, 3, 1)
    evidence = gather(truth, predicted, proba)
    first, second = judged([evidence, evidence], 0, np.random.default_rng(0))
    assert first["accuracy"].low is None
    assert (second["accuracy"].difference, second["accuracy"].difference_low) == (0.0, None)
    assert judged([], 100, np.random.default_rng(0)) == []


def test_intervals_hold_what_they_promise() -> None:
    """Of a share that is known: about 95 of 100 intervals hold it."""
    rng, held = np.random.default_rng(0), 0
    for _ in range(100):
        label = np.zeros(150, dtype=np.intp)
        predicted = (rng.random(150) < 0.3).astype(np.intp)
        evidence = gather(Truth(np.arange(150), label, 150, 2), predicted, np.full((150, 2), 0.5))
        figure = judged([evidence], 300, rng)[0]["accuracy"]
        assert figure.low is not None
        assert figure.high is not None
        held += figure.low <= 0.7 <= figure.high
    assert 88 <= held <= 100
