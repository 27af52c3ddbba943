"""What a price means, in words."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from tiltfit.language.conditions import punctuation, word
from tiltfit.language.expect import expect
from tiltfit.language.sentences import event_subject
from tiltfit.report.constraints import ConstraintReport, Entry

ENTRY = Entry(
    None, "about 90% of documents", None, 10, 1, 0.8, 0.9, math.log(3.7), 0.0, "met",
    subject='a document with the word "puck" is hockey', model_violation=0.1,
)  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "meaning"),
    [
        ({}, 'the odds that a document with the word "puck" is hockey are multiplied by 3.7'),
        ({"price": -math.log(2)}, 'the odds that a document with the word "puck" is hockey are divided by 2'),
        ({"price": 0.0, "model_violation": 0.0}, "it costs nothing: the model agrees by itself"),
        ({"price": 0.0}, "it costs nothing: others make it hold, but the model alone is off by 10.0%"),
        ({"price": 0.0, "model_violation": None}, "it costs nothing"),
        ({"price": 0.01, "subject": None, "model_violation": 0.001},
         "within its reference set, the odds of its event are multiplied by 1.01; the model agrees almost by itself"),
        ({"price": 0.01, "status": "missed", "counts": True},
         "the odds of one more in a sequence are multiplied by 1.01; it acts in 10 sequences"),
        ({"price": -0.01, "support": 1234.0},
         'the odds that a document with the word "puck" is hockey are divided by 1.01; it acts at 1,234 places'),
        ({"component": "hockey"}, "the share of hockey in each is multiplied by 3.7, before the shares are "
         "normalised to sum to one"),
        ({"groups": 3, "counts": True}, "the odds of one more in a sequence are multiplied by 3.7 in the "
         "strongest of 3 groups"),
        ({"price": 60.0, "counts": True}, "the odds of one more in a sequence are multiplied by more than 1.1e+03"),
        ({"price": None, "status": "rules"}, "it forbids: labels that it rules out have probability 0"),
        ({"price": None, "status": "rests"}, "it has no effect here"),
        ({"price": None, "status": "each"}, "its price is solved for each instance"),
    ],
)  # fmt: skip
def test_in_words(changes, meaning):
    assert replace(ENTRY, **changes).meaning == meaning


def test_it_is_told_with_the_rest_and_read_back():
    report = ConstraintReport((ENTRY,))
    assert report.to_dicts()[0]["meaning"] == ENTRY.meaning
    assert ConstraintReport.from_dicts(report.to_dicts()) == report


def test_events_as_clauses():
    assert event_subject(expect.start("a").at_least(0.5)) == "a sequence starts with a"
    assert event_subject(expect("a", given=word("x")).about(0.5), "tokens") == 'a token reading "x" is a'
    assert event_subject(expect.segments("a").at_most(1)) is None
    assert event_subject(expect.change(given=punctuation.before, of=expect.change()).about(0.5)) is None


@pytest.mark.parametrize("status", ["met", "missed"])
def test_an_entry_without_the_price_that_its_status_needs_cannot_be_printed(status):
    """Loading relies on it: a model file with such a report is refused."""
    entry = Entry("a", "a sentence", None, 1.0, 1, None, None, None, 0.0, status)
    with pytest.raises(ValueError, match="has no price"):
        str(ConstraintReport((entry,)))
