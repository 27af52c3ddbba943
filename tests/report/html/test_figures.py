"""Numbers behind the charts: ticks, reliability, strips, runs of labels."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tiltfit.comparison.figures import Truth, figures, gather
from tiltfit.report.constraints import Entry
from tiltfit.report.html.charts import Axes, strip, ticks
from tiltfit.report.html.sequences import Palette, tagged
from tiltfit.report.reliability import reliability
from tiltfit.report.targets import Target

numbers = st.floats(-1e9, 1e9, allow_nan=False)


@settings(max_examples=40)
@given(numbers, numbers)
def test_ticks_are_few_and_inside(a: float, b: float) -> None:
    low, high = min(a, b), max(a, b)
    found = [value for value, _ in ticks(low, high)]
    room = 1e-6 * (high - low) + 1e-12
    assert len(found) <= 6
    assert all(low - room <= value <= high + room for value in found)
    assert found == sorted(found)


def test_axes_map_ends_to_ends() -> None:
    axes = Axes((2.0, 4.0), (0.0, 10.0))
    assert axes.at_x(2.0) < axes.at_x(4.0)
    assert axes.at_y(0.0) > axes.at_y(10.0)  # pictures count downwards
    assert axes.at_x(3.0) == pytest.approx((axes.at_x(2.0) + axes.at_x(4.0)) / 2)


def test_a_long_line_keeps_its_ends_and_few_points() -> None:
    axes = Axes((0.0, 9999.0), (0.0, 1.0))
    points = ET.fromstring(str(axes.path([float(k) for k in range(10_000)], [0.5] * 10_000, "curve"))).get("points")
    assert points is not None
    assert len(points.split()) < 500
    assert float(points.split()[-1].split(",")[0]) == pytest.approx(axes.at_x(9999.0), abs=0.01)


@settings(max_examples=30)
@given(st.lists(st.tuples(st.floats(0.5, 1.0), st.booleans()), min_size=1, max_size=60))
def test_the_calibration_error_is_that_of_compare(rows: list[tuple[float, bool]]) -> None:
    sure, right = np.array([s for s, _ in rows]), np.array([r for _, r in rows])
    found = reliability(sure, right)
    label = np.where(right, 0, 1)
    evidence = gather(Truth(np.arange(len(rows)), label, len(rows), 2), np.zeros(len(rows), dtype=np.intp),
                      np.column_stack([sure, 1 - sure]))  # fmt: skip
    assert found.error == pytest.approx(float(figures(evidence, np.ones((1, len(rows))))["calibration_error"][0]))
    assert found.count.sum() == len(rows)


@pytest.mark.parametrize(
    ("sure", "right", "said"),
    [([0.9] * 10, [True] * 5 + [False] * 5, "too sure"), ([0.6] * 10, [True] * 10, "too modest"),
     ([0.9] * 10, [True] * 9 + [False], "be trusted"), ([0.6] * 9 + [0.9] * 9, [True] * 9 + [False] * 3 + [True] * 6,
      "too sure in some places")],
)  # fmt: skip
def test_reliability_in_words(sure: list[float], right: list[bool], said: str) -> None:
    assert said in reliability(np.array(sure), np.array(right)).verdict


def entry(**fields: object) -> Entry:
    usual = {"name": "n", "sentence": "s", "component": None, "support": 3.0, "groups": 1, "model": 0.2,
             "projected": 0.5, "price": 0.7, "violation": 0.1, "status": "missed"}  # fmt: skip
    return Entry(**{**usual, **fields})  # type: ignore[arg-type]


def test_a_strip_places_target_model_and_projection() -> None:
    root = ET.fromstring(str(strip(entry(), Target("about 80%", 0.8, 0.8))))
    ring, dot = (float(c.get("cx", 0)) for c in root.iter("circle"))
    (target,) = (float(c.get("x1", 0)) for c in root.iter("line") if c.get("class") == "target")
    assert ring < dot < target
    assert root.get("aria-label") == "asked about 80%, model 20.0%, projected 50.0%"
    assert (target - ring) / (dot - ring) == pytest.approx(2.0, abs=0.01)  # .2, .5, .8


def test_an_open_side_reaches_the_end_and_has_no_bar() -> None:
    root = ET.fromstring(str(strip(entry(), Target("at least 60%", 0.6, float("inf")))))
    assert len([c for c in root.iter("line") if c.get("class") == "target"]) == 1


def test_counts_are_scaled_and_what_rests_has_no_strip() -> None:
    told = strip(entry(counts=True, model=2.0, projected=3.0), Target("about 4", 4.0, 4.0))
    assert "model 2.00, projected 3.00" in str(told)
    assert strip(entry(projected=None, model=None, price=None, status="rests"), None) is None


def test_runs_of_labels() -> None:
    palette = Palette(["author", "title", "O"])
    html = str(tagged(["A", "B", "x", "T"], ["author", "author", "O", "title"], palette))
    assert html.count("run t0") == 1
    assert html.count("run t1") == 1
    assert '<span class="label">author</span>\u00a0A B</span> x <span' in html


def test_entities_of_bio_tags() -> None:
    palette = Palette(["B-a", "I-a", "O", "B-b"])
    assert palette.fields == ["a", "b"]
    html = str(tagged(["1", "2", "3"], ["B-a", "B-a", "I-a"], palette))
    assert html.count('<span class="label">a</span>') == 2


def test_mistakes_and_the_token_pointed_at() -> None:
    html = str(tagged(["A", "<T>"], ["a", "a"], Palette(["a", "b"]), truth=["a", "b"], at=0))
    assert '<mark class="asked">A</mark>' in html
    assert '<span class="wrong" title="labelled b in the data">&lt;T&gt;</span>' in html
    assert html.count("wrong") == 1


def test_a_long_sequence_is_cut_around_its_token() -> None:
    tokens = [f"w{k}" for k in range(500)]
    html = str(tagged(tokens, ["a"] * 500, Palette(["a"]), at=300))
    assert ">w300<" in html
    assert "w10 " not in html
    assert "more tokens" in html


def test_many_labels_differ_in_more_than_colour() -> None:
    palette = Palette([f"l{k}" for k in range(25)])
    assert len({palette.style(f"l{k}") for k in range(25)}) == 25
