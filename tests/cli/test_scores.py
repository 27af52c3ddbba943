"""The numbers of ``tiltfit evaluate`` against scikit-learn's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics

from tiltfit.cli.evaluate import _true_classes, document_scores
from tiltfit.data.readers import Dataset
from tiltfit.errors import DataError, UnknownLabelError


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1), n=st.integers(1, 30), k=st.integers(2, 5), sure=st.sampled_from([1.0, 30.0, 2000.0])
)
def test_scores_agree_with_scikit_learn(seed: int, n: int, k: int, sure: float) -> None:
    rng = np.random.default_rng(seed)
    logits = sure * rng.normal(size=(n, k))
    proba = np.exp(logits - logits.max(axis=1, keepdims=True))
    proba /= proba.sum(axis=1, keepdims=True)
    truth = rng.integers(-1, k, size=n)
    truth[0] = max(truth[0], 0)
    kept = truth >= 0
    scores = document_scores(proba, truth, [f"c{i}" for i in range(k)])
    true, guess = truth[kept], proba[kept].argmax(axis=1)
    assert scores.accuracy == pytest.approx(metrics.accuracy_score(true, guess))
    assert scores.macro_f1 == pytest.approx(metrics.f1_score(true, guess, average="macro", zero_division=0))
    assert scores.log_loss == pytest.approx(metrics.log_loss(true, proba[kept], labels=range(k)), rel=1e-9)
    each = metrics.precision_recall_fscore_support(true, guess, labels=range(k), zero_division=0)
    for name, theirs in zip(("precision", "recall", "f1", "support"), each, strict=True):
        np.testing.assert_allclose([getattr(score, name) for score in scores.each.values()], theirs)
    np.testing.assert_array_equal(scores.confusion, metrics.confusion_matrix(true, guess, labels=range(k)))
    assert scores.left_out == n - kept.sum()


def dataset(*labels: object) -> Dataset:
    y = np.empty(len(labels), dtype=object)
    y[:] = labels
    where = [f"d.csv, line {i}" for i in range(len(labels))]
    return Dataset(["x"] * len(labels), y, where, where, ("d.csv",))


def test_labels_find_their_classes() -> None:
    assert _true_classes(dataset("b", None, "a"), ["a", "b"], "label").tolist() == [1, -1, 0]
    assert _true_classes(dataset("1", "2"), [np.int64(1), np.int64(2)], "label").tolist() == [0, 1]
    assert _true_classes(dataset("true", "false"), [False, True], "label").tolist() == [1, 0]
    assert _true_classes(dataset(-1, 1), [0, 1], "label").tolist() == [-1, 1]
    assert _true_classes(dataset(-1, 1), [-1, 1], "label").tolist() == [0, 1]


def test_unknown_label_is_refused_with_its_line_and_the_nearest() -> None:
    with pytest.raises(UnknownLabelError, match=r"line 1: the model .* 'hokey'\. Did you mean .hockey."):
        _true_classes(dataset("hockey", "hokey"), ["hockey", "baseball"], "label")


def test_nothing_to_compare_with() -> None:
    with pytest.raises(DataError, match="No row has a label in the field 'label'"):
        _true_classes(dataset(None, None), ["a"], "label")
