"""Hard statements that labels decide alone: against what the labels say, and whatever the kind of statement."""

from __future__ import annotations

import numpy as np
import pytest

from tiltfit import TiltClassifier, TiltTagger, column, expect, word
from tiltfit.errors import ConflictError, UnmetConstraintWarning

X = [["a", "b"], ["c", "d", "e"], ["c", "b"]]
Y = [None, ["y", "x", "y"], ["x", None]]

# What sequence 1, whose labels are known, has of each, in words and as a number.
STATEMENTS = {
    "segments": (expect.segments("y", per="sequence", on="all"), 2.0, "2"),
    "label": (expect("x", per="sequence", on="all"), 1 / 3, "33%"),
    "given": (expect("x", given=word("d") | word("b"), per="sequence", on="all"), 1.0, "100%"),
    "start": (expect.start("x", per="sequence", on="all"), 0.0, "0%"),
    "end": (expect.end("y", per="sequence", on="all"), 1.0, "100%"),
    "change": (expect.change(per="sequence", on="all"), 1.0, "100%"),
    "transition": (expect.transition("y", "x", per="sequence", on="all"), 0.5, "50%"),
    "repeats": (expect.repeats("y", per="sequence", on="all"), 1.0, "1"),
}


def fit(constraint, y=Y, X=X):
    return TiltTagger([constraint], classes=["x", "y"], inference="exact").fit(X, y)


@pytest.mark.parametrize("name", sorted(STATEMENTS))
def test_known_labels_that_break_a_statement_are_named(name):
    event, has, told = STATEMENTS[name]
    broken = [event.at_least(has + 0.1)] if has + 0.1 <= 1 or told.isdigit() else []
    broken += [event.at_most(has - 0.1)] if has >= 0.1 else []
    assert broken
    for constraint in broken:
        with pytest.raises(ConflictError, match=f"cannot hold in sequence 1: .* known there and make it {told}"):
            fit(constraint)


@pytest.mark.parametrize("name", sorted(STATEMENTS))
def test_known_labels_that_keep_a_statement_do_not_stop_it(name):
    event, has, told = STATEMENTS[name]
    counts = told.isdigit()  # sequence 0 is too short for two segments
    fit(event.at_most(has + 0.3 if counts else min(has + 0.3, 1.0)), Y[:2], X[:2])
    if has and not counts:
        fit(event.at_least(has - 0.3), Y[:2], X[:2])


def test_softened_or_of_unlabelled_sequences_alone():
    with pytest.warns(UnmetConstraintWarning, match="are missed by more than"):
        fit(expect.segments("y", per="sequence", on="all").at_most(0.3, slack=1.0), Y[:2], X[:2])
    report = fit(expect.segments("y", per="sequence").at_most(0.3), Y[:2], X[:2]).constraint_report_
    assert report[0].support == 1


def test_a_known_token_decides_in_a_sequence_with_unknown_ones():
    said = expect.start("x", per="sequence", on="all").at_least(0.9)
    with pytest.raises(ConflictError, match="cannot hold in sequence 1: .* make it 0%"):
        fit(said, [None, ["y", None]], [["a", "b"], ["c", "d"]])


def test_a_share_of_another_event():
    said = expect("y", of=expect.change(), per="sequence", on="all").at_most(0.2)
    with pytest.raises(ConflictError, match="cannot hold in sequence 1: .* make it another share"):
        fit(said)


def test_groups_of_documents():
    X = {"text": ["u", "u", "u", "u"], "county": ["A", "A", "B", "B"]}
    said = expect("x", per=column("county"), on="all").at_least(0.8)
    with pytest.raises(ConflictError, match="cannot hold in 'B': .* make it 50%"):
        TiltClassifier([said], classes=["x", "y"]).fit(X, np.array([None, None, "x", "y"], dtype=object))


TAGS = ["B-P", "I-P", "O"]


@pytest.mark.parametrize(
    ("said", "where"),
    [
        (expect("I-P", per="sequence").at_least(0.3), " in sequence 1"),
        (expect.start("I-P", per="sequence").at_least(0.5), " in sequence 0"),
        (expect.start("I-P").at_least(0.5), ""),
        (expect("I-P").at_least(0.4), ""),
        (expect.transition("O", "I-P").at_least(0.4), ""),
    ],
)
def test_what_the_model_forbids_cannot_be_asked_for(said, where):
    X = [["a", "b"], ["c"]]
    message = rf"cannot hold{where}: known labels and rules, and what the model forbids .* leave its share between 0%"
    with pytest.raises(ConflictError, match=message):
        TiltTagger([said], classes=TAGS, valid_only=True).fit(X)
    TiltTagger([said], classes=TAGS).fit(X)


def test_what_the_model_allows_can_be_asked_for():
    said = expect("I-P").at_least(1 / 3)
    tagger = TiltTagger([said], classes=TAGS, valid_only=True).fit([["a", "b"], ["c"]])
    assert tagger.constraint_report_[0].projected == pytest.approx(1 / 3, abs=1e-3)
