"""The constraint report says in words and numbers what became of each statement."""

from __future__ import annotations

import io
import json

import pytest
from rich.console import Console

from tiltfit import TiltClassifier, expect, word
from tiltfit.errors import RestingConstraintWarning
from tiltfit.report.constraints import ConstraintReport

TEXTS = 5 * ["the puck hit the goalie", "goalie saves the puck", "a bat and a pitcher", "the pitcher has a bat"]


@pytest.fixture(scope="module")
def report():
    said = [
        expect("hockey", given=word("puck")).about(0.95, name="puck"),
        expect("hockey").at_least(0.1),
        expect("hockey", given=word("goalie")).exactly(1),
        expect(given=word("bat")).distributed_as({"hockey": 0.2, "baseball": 0.8}),
        expect("hockey", given=word("curling")).about(0.5),
    ]
    with pytest.warns(RestingConstraintWarning):
        return TiltClassifier(said).fit(TEXTS).constraint_report_


def test_every_constraint_has_its_entry(report):
    assert [e.status for e in report][1:3] == ["met", "rules"]
    assert report[5].status == "rests"
    assert [e.component for e in report] == [None, None, None, "baseball", "hockey", None]
    assert report[0].support == 10
    assert report[1].price == 0
    assert report[1].verdict == "holds by itself"
    assert report[2].verdict == "holds everywhere: it rules labels out"
    assert "rests" in report[5].verdict
    assert report[3].projected + report[4].projected == pytest.approx(1)


def test_shares_and_prices_are_those_of_the_projection(report):
    # The price of an L2 row is (u − m)/(β·c): here β = 0.05 and c = 10.
    entry = report[0]
    assert entry.price == pytest.approx((0.95 - entry.projected) / (0.05 * 10), abs=2e-3)


def test_it_survives_json_and_renders_within_80_columns(report):
    again = ConstraintReport.from_dicts(json.loads(json.dumps(report.to_dicts())))
    assert again == report
    assert str(again) == str(report)
    page = io.StringIO()
    Console(width=80, file=page).print(report.to_table())
    assert all(len(line) <= 80 for line in page.getvalue().splitlines())


def test_no_constraints():
    assert str(TiltClassifier().fit([[0.0], [1.0]], [0, 1]).constraint_report_) == "no constraints"
