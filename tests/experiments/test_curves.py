"""Learning curves, on a generated collection."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from experiments.command import complete
from experiments.curves import __main__ as curves
from experiments.curves.cells import Curves, Labels, Plan, Words
from experiments.curves.page import crossing
from experiments.kept import Kept


def test_where_a_curve_crosses() -> None:
    assert crossing([1, 10, 100], [0.2, 0.4, 0.8], 0.6) == pytest.approx(10**1.5)
    assert crossing([1, 10], [0.2, 0.4], 0.4) == pytest.approx(10)
    assert crossing([5, 10], [0.5, 0.6], 0.4) == 5
    assert crossing([1, 10], [0.2, 0.4], 0.5) is None


def test_more_words_and_more_labels_help(elements: Path) -> None:
    one, ten = (Words("youtube", 0, n, "ap").measure() for n in (1, 10))
    assert [one["constraints"], ten["constraints"]] == [3, 30]
    assert one["macro_f1"] < ten["macro_f1"]
    few, all_ = (Labels("youtube", 0, n, told=False).measure()["macro_f1"] for n in ("1", "all"))
    assert few < all_


def test_no_labels_are_the_usual_words_alone(elements: Path) -> None:
    nothing = Labels("youtube", 0, "0", told=True).measure()
    assert nothing["macro_f1"] == Words("youtube", 0, 10, "ap").measure()["macro_f1"]
    assert Labels("youtube", 0, "2", told=True).measure()["constraints"] == 30


def test_the_page_and_the_figure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(Words, "measure", lambda cell: {"macro_f1": 0.5 + cell.per_label / 100})
    grown = {"all": 0.9} | {str(n): 0.4 + 0.2 * float(np.log10(max(n, 1))) for n in (0, 1, 10, 100)}
    experiment = curves.experiment(
        Plan({"webkb": Curves(2, (1, 10), (1, 10), (1, 10, 100)), "movie": Curves(1, (1,), (1,), (1, 10))})
    )
    monkeypatch.setattr(Labels, "measure", lambda cell: {"macro_f1": 0.7 if cell.told else grown[cell.n]})
    found = complete(experiment, Kept(tmp_path / "cells.json"))
    text = experiment.page(found)
    assert "| webkb | 10 words per label, no labels: 0.700 ± 0.000 | about 32 | 0.900 ± 0.000 |" in text
    assert "more than 10 " in text
    assert experiment.summary(found)["webkb"]["labels per class that reach it"] == pytest.approx(10**1.5)
    assert experiment.plot is not None
    experiment.plot(found, tmp_path / "figure.png")
    assert (tmp_path / "figure.png").stat().st_size > 10_000
