"""Apartments on made-up cells and made-up ads: what decides what is tested, what the page says of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from experiments.apartments import data
from experiments.apartments.__main__ import experiment
from experiments.apartments.cells import Cell
from experiments.apartments.data import OTHERS, OWN, STAY, WORDS, Look
from experiments.apartments.page import GOALS, PAPER, error, missed, page, plot, summary
from experiments.apartments.plan import FULL, QUICK, SAID
from experiments.command import Finished, run

BEST = {OWN: Look(alike=OWN, nearby=(10,), dimensions=25), OTHERS: Look(alike=OTHERS, nearby=(20,))}


def made_up(cell: Cell) -> dict[str, Any]:
    """Lists from the other ads are best, with their look above; a stronger ridge helps; the test part is easier."""
    accuracy = 0.5 + 0.15 * (cell.look == BEST[OWN]) + 0.2 * (cell.look == BEST[OTHERS]) + 0.05 * (cell.said == STAY)
    accuracy += 0.01 * (cell.alpha == 3.0) + 0.05 * (cell.part == "test") + 0.1 * (cell.method == "supervised")
    right = [round(100 * accuracy) + (k % 5 - 2) for k in range(100)]
    shown = {"accuracy": accuracy, "stay": 0.9, "seconds": 1.0, "rounds": 3, "shares": {}}
    return {**shown, "right": right, "tokens": [100] * 100}


@pytest.fixture
def found() -> Finished:
    cells: dict[str, Any] = {}
    for stage in FULL.stages:
        cells |= {cell.key: made_up(cell) for cell in stage(cells)}  # type: ignore[arg-type]
    return cells


def test_the_choice_sees_the_development_part_alone() -> None:
    first = FULL.first({})
    tried = {cell.key: made_up(cell) for cell in first}
    second = FULL.second(tried)
    tried |= {cell.key: made_up(cell) for cell in second}
    assert {cell.part for cell in (*first, *second)} == {"dev"}
    for said in SAID:
        for source, look in BEST.items():
            assert FULL.chosen(tried, said, source) == Cell(said, look, alpha=3.0)


def test_cells_have_keys_of_their_own(found: Finished) -> None:
    listed = [cell for stage in FULL.stages for cell in stage(found)]
    assert len({cell.key for cell in listed}) == len(set(listed))


def test_the_test_part_is_fixed_by_the_choice(found: Finished) -> None:
    tested = [cell for cell in FULL.last(found) if cell.part == "test"]
    ours = [replace(FULL.chosen(found, said, source), part="test") for said in SAID for source in BEST]
    assert set(ours) <= set(tested)
    assert {cell.method for cell in tested} == {"ap", "ge", "vote", "supervised"}


def test_what_is_left_out_is_one_thing(found: Finished) -> None:
    left = FULL.ablation(found, OTHERS)
    ours = left.pop("as chosen")
    assert ours == FULL.chosen(found, STAY, OTHERS)
    assert left["without tokens nearby"].look == replace(ours.look, nearby=())
    assert left["without lists of words alike"].look == replace(ours.look, alike="")
    assert left["without the statement on transitions"] == replace(ours, said=WORDS)
    assert len(set(left.values()) - {ours}) == len(left)


def test_the_page_has_every_figure(found: Finished) -> None:
    text = page(FULL, found)
    rows = summary(FULL, found)["rows"]
    assert [row["said"] for row in rows] == list(SAID)
    assert all(f"{row[source]['ours']:.3f}" in text for row in rows for source in BEST)
    assert all(f"| {look} |" in text for look in FULL.looks)


def test_what_is_missed_is_told(found: Finished) -> None:
    assert missed(FULL, found) == []
    worse = {key: {**cell, "accuracy": cell["accuracy"] - 0.15} for key, cell in found.items()}
    assert missed(FULL, worse) == [
        f"{said}: {ours}, {kind} {wanted:.3f}"
        for said, ours in ((WORDS, "0.610"), (STAY, "0.660"))
        for kind, wanted in (("paper", PAPER[said]), ("goal", GOALS[said]))
    ]


def test_the_standard_error_is_that_of_ads(found: Finished) -> None:
    cell = Cell(WORDS, BEST[OWN])
    expected = np.std([k % 5 - 2 for k in range(100)], ddof=1) / 100 / np.sqrt(100)
    assert error(found, cell) == pytest.approx(expected, rel=0.1)


def test_the_figure_is_drawn(found: Finished, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    plot(FULL, found, tmp_path / "apartments.png")
    assert (tmp_path / "apartments.png").stat().st_size > 10_000


def test_data_that_are_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TILTFIT_DATA", str(tmp_path))
    assert run(experiment(FULL), experiment(QUICK), ["--quick"]) == 0
    assert run(experiment(FULL), experiment(QUICK), ["--kept", str(tmp_path)]) == 1
    assert "Not on this machine: apartments" in capsys.readouterr().err


@pytest.fixture
def ads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    folder = tmp_path / "apartments"
    folder.mkdir()
    ad = "call CONTACT\nAnn CONTACT\n. CONTACT\nbig FEATURES\nkitchen FEATURES\n\n"
    for part in ("train", "dev", "test"):
        (folder / f"ads_{part}.txt").write_text(ad * 3, encoding="utf-8")
    (folder / "prototypes.tsv").write_text("# words\nCONTACT\tcall\nFEATURES\tkitchen\nBOUNDARY\t.\n", encoding="utf-8")
    monkeypatch.setenv("TILTFIT_DATA", str(tmp_path))
    cached = (data.ads, data.prototypes)
    for function in cached:
        function.cache_clear()
    yield
    for function in cached:
        function.cache_clear()


@pytest.mark.usefixtures("ads")
@pytest.mark.parametrize("method", ["ap", "vote", "supervised"])
def test_a_cell_is_measured(method: str) -> None:
    found = Cell(STAY, Look(nearby=(1,)), method=method).measure()
    assert found["tokens"] == [5, 5, 5]
    assert found["accuracy"] == sum(found["right"]) / 15 >= 0.8
    assert set(found["shares"]) == {"CONTACT", "FEATURES"}
