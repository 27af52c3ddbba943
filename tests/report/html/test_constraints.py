"""The constraint report in notebooks, and the targets of its entries."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET

import pytest

from tiltfit import TiltClassifier, expect, word
from tiltfit.report.html.constraints import constraint_table
from tiltfit.report.targets import Target, key_of, targets_of

CONSTRAINTS = [
    expect("a", given=word("x")).about(0.9, name="<x>"),
    expect("a", given=word("y")).between(0.2, 0.4),
    expect("b").at_least(0.1),
    expect("b").at_most(0.95),
    expect(given=word("z")).distributed_as({"a": 0.7, "b": 0.3}),
]


@pytest.fixture(scope="module")
def model() -> TiltClassifier:
    return TiltClassifier(CONSTRAINTS, classes=["a", "b"]).fit(["x y", "x z", "y z", "z"])


def test_each_entry_finds_its_target(model: TiltClassifier) -> None:
    targets = targets_of(model.constraints_, ["a", "b"], "documents")
    found = [targets[key_of(entry)] for entry in model.constraint_report_]
    assert [(t.words, t.low, t.high) for t in found] == [
        ("about 90%", 0.9, 0.9),
        ("between 20% and 40%", 0.2, 0.4),
        ("at least 10%", 0.1, math.inf),
        ("at most 95%", -math.inf, 0.95),
        ("70%", 0.7, 0.7),
        ("30%", 0.3, 0.3),
    ]
    assert [t.bounds for t in found[2:4]] == [(0.1,), (0.95,)]
    assert found[0].given == word("x")
    assert Target("x", 0.5, 0.5).bounds == (0.5,)


def test_numbers_of_events_per_sequence_are_no_shares() -> None:
    ((key, target),) = targets_of([expect.segments("a").about(1.5)], ["a", "b"], "tokens").items()
    assert target.words == "about 1.5"
    assert key[2] is None


def test_the_table_says_what_the_entries_say(model: TiltClassifier) -> None:
    report = model.constraint_report_
    root = ET.fromstring(str(constraint_table(report)))
    rows = list(root.iter("tr"))[1:]
    assert len(rows) == len(report) == 6
    for row, entry in zip(rows, report, strict=True):
        cells = {td.get("data-label"): "".join(td.itertext()) for td in row.iter("td")}
        assert cells["Projected"] == f"{entry.projected:.1%}"
        assert entry.verdict in cells["Verdict"]
        assert cells["Support"] == f"{entry.support:,.0f}"
        if entry.price:
            word = "share" if entry.component is not None else "odds"
            sign = "×" if entry.price > 0 else "÷"
            factor = math.exp(abs(entry.price))
            told = f"{word} {sign} {factor:.3g}" if factor >= 1.005 else "hardly moves"
            assert told in cells["Price"]
    # The sentence of a distribution is said once.
    assert "".join(root.itertext()).count(report[4].sentence) == 1


def test_a_notebook_shows_the_report(model: TiltClassifier) -> None:
    html = model.constraint_report_._repr_html_()
    assert "&lt;x&gt;" in html
    assert "<x>" not in html
    assert html.startswith('<div class="tiltfit">')
