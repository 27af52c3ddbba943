"""Wrong constraints, on a generated collection."""

from __future__ import annotations

from pathlib import Path

import pytest
from experiments.command import complete
from experiments.kept import Kept
from experiments.stated_words import scene
from experiments.wrong import __main__ as wrong
from experiments.wrong.cells import ABOUT, AT_LEAST, BETWEEN, RELATIONS, SOFT_AT_LEAST, Mislabelled, Off, Plan, mislabel
from experiments.wrong.page import costs


@pytest.mark.parametrize(
    ("relation", "target", "numbers"),
    [
        (ABOUT, 0.7, (0.7,)),
        (ABOUT, 1.3, (0.99,)),
        (AT_LEAST, -0.2, (0.01,)),
        (BETWEEN, 0.7, (0.6, 0.8)),
        (BETWEEN, 0.95, (0.85, 0.99)),
    ],
)
def test_targets_are_cut(relation: str, target: float, numbers: tuple[float, ...], elements: Path) -> None:
    word = scene("youtube", 0).usual[0]
    assert RELATIONS[relation](word, target).relation.numbers == pytest.approx(numbers)


def test_some_words_in_ten_get_another_label(elements: Path) -> None:
    found = scene("youtube", 0)
    right, one, three = found.usual, mislabel(found, 1, 0), mislabel(found, 3, 0)
    changed = [k for k, (a, b) in enumerate(zip(right, one, strict=True)) if a.label != b.label]
    more = [k for k, (a, b) in enumerate(zip(right, three, strict=True)) if a.label != b.label]
    assert len(changed) == round(len(right) / 10)
    assert len(more) == round(len(right) * 3 / 10)
    assert set(changed) < set(more)
    assert mislabel(found, 0, 0) == right
    assert [word.word for word in one] == [word.word for word in right]


def test_targets_that_are_too_low_cost_most(elements: Path) -> None:
    low, true = (Off("youtube", 0, ABOUT, offset).measure()["accuracy"] for offset in (-0.9, 0.0))
    assert low < 0.4 < 0.8 < true  # noqa: PLR0133


def test_every_method_takes_mislabelled_words(elements: Path) -> None:
    for how in (ABOUT, SOFT_AT_LEAST, "vote"):
        few, many = (Mislabelled("youtube", 0, tenths, how).measure()["accuracy"] for tenths in (0, 10))
        assert many < few


def test_the_page_and_the_figure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(
        Off, "measure", lambda cell: {"macro_f1": 0.8 - abs(cell.offset), "converged": cell.offset < 0.2}
    )
    monkeypatch.setattr(Mislabelled, "measure", lambda cell: {"macro_f1": 0.8 - cell.tenths / 10, "converged": True})
    plan = Plan({"webkb": 2, "movie": 1}, (-0.2, 0.0, 0.2), (0, 1))
    experiment = wrong.experiment(plan)
    found = complete(experiment, Kept(tmp_path / "cells.json"))
    text = experiment.page(found)
    assert "| about | 0.600 ± 0.000 | 0.800 ± 0.000 | 0.600 ± 0.000\\* |" in text
    assert "| majority vote → LR | 0.800 | 0.700 |" in text
    assert costs(plan)(found)["webkb"]["about, -0.2"] == pytest.approx(-0.2)
    assert costs(plan)(found)["webkb"]["vote, 1 in ten mislabelled"] == pytest.approx(-0.1)
    assert experiment.plot is not None
    experiment.plot(found, tmp_path / "figure.png")
    assert (tmp_path / "figure.png").stat().st_size > 10_000
