"""How sure and how right, on a generated collection."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from experiments.calibration import __main__ as calibration
from experiments.calibration.cells import AP, MODEL, SUPERVISED, TILTED, VOTE, Believed, Plan, reliability
from experiments.calibration.page import too_sure
from experiments.command import complete
from experiments.kept import Kept
from experiments.rivals.cells import split_of

from tiltfit.comparison.figures import BINS


def test_a_model_that_is_always_half_sure(elements: Path) -> None:
    split = split_of("youtube", 0)
    proba = np.full((len(split.judged_labels), 3), 0.25)
    proba[:, 0] = 0.5
    right = float(np.mean(split.judged_labels == split.classes[0]))
    found = reliability(split, proba)
    assert found["accuracy"] == pytest.approx(right)
    assert found["calibration_error"] == pytest.approx(abs(right - 0.5))
    assert found["sure"] == pytest.approx(0.5)
    assert found["bin_count"] == [len(proba)] + [0] * (BINS - 1)
    assert found["bin_right"][0] == pytest.approx(right * len(proba))


def test_bins_add_up_to_the_calibration_error(elements: Path) -> None:
    found = Believed("youtube", 0, AP).measure()
    assert found.keys() == {MODEL, TILTED}
    for figures in found.values():
        gaps = np.abs(np.subtract(figures["bin_right"], figures["bin_sure"])).sum() / np.sum(figures["bin_count"])
        assert figures["calibration_error"] == pytest.approx(gaps)
        assert figures["accuracy"] == pytest.approx(np.sum(figures["bin_right"]) / np.sum(figures["bin_count"]))


def test_what_has_no_constraints_has_no_q(elements: Path) -> None:
    supervised, vote = (Believed("youtube", 0, way).measure() for way in (SUPERVISED, VOTE))
    assert supervised.keys() == vote.keys() == {MODEL}
    assert supervised[MODEL]["accuracy"] > 0.8


def test_the_page_and_the_figure(elements: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    plan = Plan({"youtube": 1}, (AP, SUPERVISED))
    experiment = calibration.experiment(plan)
    found = complete(experiment, Kept(tmp_path / "cells.json"))
    error = found[Believed("youtube", 0, AP).key][MODEL]["calibration_error"]
    sure = too_sure(plan, found, "youtube", AP, MODEL)
    assert f"| AP, words at 0.9 | {error:.3f} ({sure:+.3f}) |" in experiment.page(found)
    assert experiment.summary(found)["youtube"][AP] == error
    assert experiment.plot is not None
    experiment.plot(found, tmp_path / "figure.png")
    assert (tmp_path / "figure.png").stat().st_size > 10_000
