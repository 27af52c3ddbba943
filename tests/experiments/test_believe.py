"""What the defaults give: which cells there are, what is read from other pages, and what the page says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from experiments.believe.__main__ import experiment
from experiments.believe.cells import DEV, TEST, Demo, GlobalWords, Marked, Page, Text, global_words, worded
from experiments.believe.page import measured, missed, page, summary, verdict
from experiments.believe.plan import FIGURES, FULL, QUICK
from experiments.command import DOCS, Finished
from experiments.development import development_part, development_split

TITLES = {figure.title: figure for figure in FIGURES}


def made_up(**scores: float) -> Finished:
    """Every figure as it was before, but for these."""
    found: dict[str, Any] = {cell.key: {"score": 0.8, "calibration": 0.14, "seconds": 1.0} for cell in FULL.cells()}
    found[Page("table1").key] = {"score": 0.779}
    by_n = {"5": 0.803, "20": 0.9, "300": 0.975}
    found[Page("table3").key] = {"AP-T": by_n, "AP-T, all of Table 2": {"5": 0.577, "20": 0.772, "300": 0.971}}
    for cell, name in (
        (Marked("laptop"), "laptop"),
        (Marked("ncbi"), "ncbi"),
        (GlobalWords(), "words"),
        (Demo(), "demo"),
    ):
        found[cell.key]["score"] = scores.get(name, 0.5)
    return found


def test_the_table_has_the_figures_of_the_issue() -> None:
    assert len(FIGURES) == 14
    for figure in FIGURES:
        better = np.sign(figure.goal - figure.now)
        assert better == (-1 if figure.lower else 1)
        assert better * figure.now <= better * figure.must <= better * figure.goal


def test_seven_text_sets_are_averaged() -> None:
    found = dict(made_up())
    for k, cell in enumerate(FULL.texts):
        found[cell.key] = {"score": 0.1 * k, "calibration": 0.01 * k, "seconds": 1.0}
    shown = summary(FULL, found)
    assert len(FULL.texts) == 7
    assert shown["calibration error, mean of the seven text sets"] == pytest.approx(0.03)
    assert shown["rules at 0.9: mean of youtube, sms (F1), trec"] == pytest.approx(0.1)


@pytest.mark.parametrize(("value", "reached"), [(0.0601, True), (0.0606, False), (0.04, True)])
def test_less_may_be_better_and_counts_as_shown(value: float, reached: bool) -> None:
    figure = TITLES["calibration error, mean of the seven text sets"]
    assert figure.reached(value, figure.must) is reached
    assert figure.progress(0.09) == pytest.approx(0.5)


def test_the_page_says_what_is_missed() -> None:
    found = made_up(laptop=0.6, ncbi=0.75, words=0.5, demo=0.92)
    assert "entities: laptop, F1: 0.600" not in "; ".join(missed(FULL, found))
    assert "20 newsgroups, 294 words of all labels together: 0.500, must be 0.660" in missed(FULL, found)
    assert "Worse than before: " in verdict(FULL, found)
    text = page(FULL, found)
    assert "| entities: ncbi, F1 | 0.140 | 0.680 | 0.740 | **0.750** | goal |" in text
    assert "| demo tagger without options | 0.893 | 0.920 | 0.930 | **0.920** | must |" in text


def test_other_pages_are_read_as_they_are() -> None:
    rows = json.loads((DOCS / "table1.json").read_text(encoding="utf-8"))["summary"]["rows"]
    assert Page("table1").measure()["score"] == pytest.approx(np.mean([row["ours"]["AP, defaults"] for row in rows]))
    found = Page("table3").measure()
    shown = json.loads((DOCS / "table3.json").read_text(encoding="utf-8"))["summary"]["rows"]
    assert found["AP-T"] == {str(row["n"]): row["ours"] for row in shown if row["column"] == "AP-T"}
    assert found["AP-T, all of Table 2"].keys() == {"5", "20", "300"}


def test_a_quick_run_sees_development_parts_alone() -> None:
    assert all(cell.part == DEV for cell in QUICK.cells() if isinstance(cell, Text | Marked))
    assert all(cell.part == TEST for cell in FULL.cells() if isinstance(cell, Text | Marked | GlobalWords))
    assert QUICK.demo.seed != Demo().seed
    assert not any(isinstance(cell, Page) for cell in QUICK.cells())


def test_development_cells_never_open_the_test_part(elements: Path) -> None:
    for cached in (development_part, development_split):
        cached.cache_clear()
    given = worded("youtube", DEV)
    assert len(given.texts) + len(given.judged) == 180  # of 240, every fourth is a test text
    assert set(given.texts + given.judged).isdisjoint(worded("youtube", TEST).judged)
    for cached in (development_part, development_split):
        cached.cache_clear()


def test_global_words_have_few_labels_and_the_best_come_first() -> None:
    rng = np.random.default_rng(3)
    labels = np.array([f"class {k % 8}" for k in range(400)])
    # "own k" tells the class, "pair k" one of two classes, "half k" one of four, "any" nothing.
    texts = [
        " ".join(["any", f"own{k % 8}", f"pair{k % 8 // 2}", f"half{k % 8 // 4}", f"noise{rng.integers(50)}"])
        for k in range(400)
    ]
    found = global_words(texts, labels, 12)
    assert {len(one.labels) for one in found} == {1, 2}
    assert {one.word for one in found} == {*(f"own{k}" for k in range(8)), *(f"pair{k}" for k in range(4))}
    assert all(one.target == 0.9 for one in found)


def test_the_figure_is_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    made = experiment(FULL)
    assert made.plot is not None
    made.plot(made_up(), tmp_path / "figure.png")
    assert (tmp_path / "figure.png").stat().st_size > 10_000
    assert len(measured(FULL, made_up())) == len(FIGURES)
