"""What a price means, in words."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from tiltfit.language.conditions import punctuation, word
from tiltfit.language.expect import expect
from tiltfit.language.sentences import event_subject
from tiltfit.report.constraints import ConstraintReport
from tiltfit.report.entry import Entry

ENTRY = Entry(
    None, "about 90% of documents", None, 10, 1, 0.8, 0.9, math.log(3.7), 0.0, "met",
    subject='a document with the word "puck" is hockey',
)  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "meaning"),
    [
        ({}, 'the odds that a document with the word "puck" is hockey are multiplied by 3.7'),
        ({"price": -math.log(2)}, 'the odds that a document with the word "puck" is hockey are divided by 2'),
        ({"price": 0.0}, "it costs nothing: the model agrees by itself"),
        ({"price": 0.01, "subject": None}, "among what it is a share of, the odds of its event are multiplied by 1.01; "
         "the model agrees almost by itself"),
        ({"price": 0.01, "status": "missed", "counts": True},
         "the odds of one more in a sequence are multiplied by 1.01; it is hardly heard"),
        ({"component": "hockey"}, "the share of hockey in each is multiplied by 3.7, before the shares are made to sum "
         "to one"),
        ({"groups": 3, "counts": True}, "the odds of one more in a sequence are multiplied by 3.7, where it is "
         "strongest of 3"),
        ({"price": 60.0, "counts": True}, "the odds of one more in a sequence are multiplied by more than 1.1e+03"),
        ({"price": None, "status": "rules"}, "it forbids: no odds are left to what it rules out"),
        ({"price": None, "status": "rests"}, "it says nothing here"),
        ({"price": None, "status": "each"}, "its price is found anew for each"),
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
