"""Scores of tags: against definitions, against counting by hand, and against seqeval where it is installed."""

from __future__ import annotations

import json
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tiltfit.errors import DataError
from tiltfit.report.segments import Score, find_segments, score_tags, segments_by_sequence

BIO = ["O", "B-a", "I-a", "B-b", "I-b"]
IOBES = [*BIO, "E-a", "S-a", "E-b", "S-b"]
IO = ["O", "I-a", "I-b"]
PLAIN = ["author", "title", "date"]


@st.composite
def pairs(draw: st.DrawFn, tags: list[str]) -> tuple[list[list[str]], list[list[str]]]:
    lengths = draw(st.lists(st.integers(0, 6), min_size=1, max_size=4).filter(any))
    row = [st.lists(st.sampled_from(tags), min_size=n, max_size=n) for n in lengths]
    return draw(st.tuples(*row).map(list)), draw(st.tuples(*row).map(list))


@pytest.mark.parametrize(
    ("tags", "segments"),
    [
        (["author", "author", "title", "author"], [("author", 0, 2), ("title", 2, 3), ("author", 3, 4)]),
        (["O", "B-a", "I-a", "B-a", "O", "I-a"], [("a", 1, 3), ("a", 3, 4), ("a", 5, 6)]),
        (["B-a", "I-b", "I-b"], [("a", 0, 1), ("b", 1, 3)]),
        (["B-a", "I-a", "E-a", "S-a", "S-a", "E-a"], [("a", 0, 3), ("a", 3, 4), ("a", 4, 5), ("a", 5, 6)]),
        (["I-a", "I-a", "O", "I-b"], [("a", 0, 2), ("b", 3, 4)]),
        (["I-a", "E-a", "I-a"], [("a", 0, 2), ("a", 2, 3)]),
        (["PER", "PER", "O", "PER"], [("PER", 0, 2), ("PER", 3, 4)]),
        (["O", "O"], []),
        ([], []),
        ([1, 1, 2], [("1", 0, 2), ("2", 2, 3)]),
    ],
)
def test_segments(tags: list[object], segments: list[tuple[str, int, int]]) -> None:
    assert find_segments(tags) == segments


def test_classes_tell_the_scheme_when_the_tags_do_not() -> None:
    assert find_segments(["O", "O"], classes=["O", "author"]) == []
    assert find_segments(["B-a", "B-a"], classes=["B-a", "author"]) == [("B-a", 0, 2)]


def test_a_label_that_is_no_tag_does_not_change_what_the_others_mean() -> None:
    classes = ["B-a", "I-a", "O"]
    truth, predicted = [["B-a", "I-a", "O", "odd", "odd"]], [["B-a", "I-a", "O", "O", "B-a"]]
    scores = score_tags(truth, predicted, iter(classes))
    assert {name: (s.hits, s.predicted, s.support) for name, s in scores.segments.items()} == {
        "a": (1, 2, 1), "odd": (0, 0, 1),
    }  # fmt: skip
    assert segments_by_sequence(truth, predicted, iter(classes)).tolist() == [[1, 2, 2]]
    assert find_segments(truth[0], iter(classes)) == [("a", 0, 2), ("odd", 3, 5)]


@settings(max_examples=60)
@given(st.sampled_from([BIO, IOBES, IO, PLAIN]).flatmap(pairs))
def test_scores_are_counts_of_equal_segments_and_tokens(rows: tuple[list[list[str]], list[list[str]]]) -> None:
    truth, predicted = rows
    classes = sorted({tag for row in [*truth, *predicted] for tag in row})
    scores = score_tags(truth, predicted)
    flat = [pair for a, b in zip(truth, predicted, strict=True) for pair in zip(a, b, strict=True)]
    assert scores.accuracy == sum(a == b for a, b in flat) / len(flat)
    for name, score in scores.labels.items():
        assert score.hits == sum(a == b == name for a, b in flat)
        assert score.predicted == sum(b == name for _, b in flat)
        assert score.support == sum(a == name for a, _ in flat)
    assert set(scores.labels) == set(classes)
    real, made = (
        {(k, *s) for k, row in enumerate(side) for s in find_segments(row, classes)} for side in (truth, predicted)
    )
    assert scores.segment == Score(len(real & made), len(made), len(real))
    for name, score in scores.segments.items():
        assert score.support == sum(s[1] == name for s in real)
        assert score.hits == sum(s[1] == name for s in real & made)


@settings(max_examples=150)
@given(st.sampled_from([BIO, IOBES, IO]).flatmap(pairs))
def test_segment_scores_are_those_of_seqeval(rows: tuple[list[list[str]], list[list[str]]]) -> None:
    metrics: Any = pytest.importorskip("seqeval.metrics")
    truth, predicted = rows
    ours = score_tags(truth, predicted)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert ours.accuracy == pytest.approx(metrics.accuracy_score(truth, predicted))
        if not ours.segments:
            return
        report = metrics.classification_report(truth, predicted, output_dict=True)
    assert ours.segment.precision == pytest.approx(report["micro avg"]["precision"])
    assert ours.segment.recall == pytest.approx(report["micro avg"]["recall"])
    assert ours.segment.f1 == pytest.approx(report["micro avg"]["f1-score"])
    assert ours.segment_macro_f1 == pytest.approx(report["macro avg"]["f1-score"])
    assert set(ours.segments) == {name for name in report if not name.endswith("avg")}
    for name, score in ours.segments.items():
        assert score.f1 == pytest.approx(report[name]["f1-score"])
        assert score.support == report[name]["support"]


def test_unlabelled_tokens_and_partly_labelled_sequences_are_left_out() -> None:
    truth = [["a", "a", "b"], None, ["a", None], [float("nan"), np.str_("b")]]
    predicted = [["a", "a", "a"], ["b"], ["a", "b"], ["b", "b"]]
    scores = score_tags(truth, predicted)
    assert (scores.tokens, scores.correct, scores.unlabelled, scores.partial) == (5, 4, 3, 2)
    assert scores.segment == Score(0, 1, 2)


def test_an_empty_ratio_is_zero() -> None:
    scores = score_tags([["O", "O"]], [["B-a", "O"]])
    assert scores.segments["a"] == Score(0, 1, 0)
    assert (scores.segment.precision, scores.segment.recall, scores.segment.f1) == (0, 0, 0)
    assert score_tags([["O"]], [["O"]]).segment_macro_f1 == 0


def test_scores_can_be_written_as_json() -> None:
    found = json.loads(json.dumps(score_tags([["B-a", "O"]], [["B-a", "B-a"]]).to_dict()))
    assert found["accuracy"] == 0.5
    assert found["segment"] == {
        "hits": 1,
        "predicted": 2,
        "support": 1,
        "precision": 0.5,
        "recall": 1.0,
        "f1": pytest.approx(2 / 3),
    }


@pytest.mark.parametrize(
    ("truth", "predicted", "message"),
    [
        ([["a"]], [], "1 sequences.*0 are predicted"),
        ([["a"], ["a"]], [["a"], ["a", "b"]], "Sequence 1 has 1 true tags, but 2"),
        ([["a"], ["a", "b"]], [["a"], ["a", None]], "Position 1 of sequence 1"),
        ([None, [None]], [["a"], ["a"]], "No token has a true tag"),
        ([], [], "No token has a true tag"),
    ],
)
def test_bad_input_is_refused(truth: Any, predicted: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        score_tags(truth, predicted)


@given(st.integers(0, 10**6))
def test_segments_by_sequence_are_those_of_each_sequence_alone(seed: int) -> None:
    rng = np.random.default_rng(seed)
    names = ["B-a", "I-a", "B-b", "I-b", "O"]
    lengths = rng.integers(0, 6, size=5)
    truth: list[list[object] | None] = [list(rng.choice(names, size=n)) for n in lengths]
    guess = [list(rng.choice(names, size=n)) for n in lengths]
    if lengths[0]:
        truth[0] = [None, *(truth[0] or [])[1:]]
    truth[1] = None
    found = segments_by_sequence(truth, guess, names)
    for k in range(5):
        whole = truth[k] is not None and None not in (truth[k] or [])
        alone = score_tags([truth[k]], [guess[k]], names).segment if whole and lengths[k] else None
        assert found[k].tolist() == ([alone.hits, alone.predicted, alone.support] if alone else [0, 0, 0])
