"""Table 3 on made-up cells: what decides what is run, what the page says of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from experiments.command import Finished
from experiments.table3.cells import CHOICES, SIZES, WORDS, Cell
from experiments.table3.page import missed, page, plot, significance, summary
from experiments.table3.plan import COLUMNS, FULL

BEST = {"ap": "words, must appear", "codl": WORDS}
TOKENS = 40


def made_up(cell: Cell) -> dict[str, Any]:
    """AP is best with what must appear, CODL with the words alone; both help, AP more."""
    rng = np.random.default_rng([cell.n, cell.subset])
    base = {5: 0.7, 20: 0.85, 300: 0.95}[cell.n] + 0.01 * rng.normal()
    gain = {"ap": 0.05, "codl": 0.02, "supervised": 0.0}[cell.method]
    if cell.more:
        gain -= 0.01 * (cell.more != BEST[cell.method])
    gain += 1e-4 * rng.normal() * (gain > 0)
    right = rng.binomial(TOKENS, base, 100) * (1 + gain)
    prices = {"about 99% of tokens matching a|b are date": 0.5, "rests": None}
    found = {"accuracy": base + gain, "right": right.tolist(), "seconds": 1.0, "rounds": 3}
    return {**found, "projected": base + gain, "prices": prices} if cell.more else found


@pytest.fixture
def found() -> Finished:
    cells: dict[str, Any] = {}
    for stage in FULL.stages:
        cells |= {cell.key: made_up(cell) for cell in stage(cells)}  # type: ignore[arg-type]
    return cells


def test_the_choice_sees_the_development_part_alone(found: Finished) -> None:
    development = FULL.development({})
    assert {cell.part for cell in development} == {"dev"}  # type: ignore[attr-defined]
    tried = {cell.key: made_up(cell) for cell in development}
    assert {method: FULL.chosen(tried, method) for method in BEST} == BEST


def test_only_what_was_chosen_is_run_on_the_test_part(found: Finished) -> None:
    final = FULL.final(found)
    assert {cell.part for cell in final} == {"test"}
    told = {cell.key for name in FULL.others for n in SIZES for cell in FULL.other(name, n)}
    assert {(cell.method, cell.more) for cell in final if cell.key not in told} == {("supervised", ""), *BEST.items()}
    assert len({cell.key for cell in final}) == len(final) == (5 + 5 + 1) + (4 + 4) * (5 + 5 + 5)


def test_the_page_has_every_figure(found: Finished) -> None:
    text = page(FULL, found)
    rows = summary(FULL, found)["rows"]
    assert len(rows) == len(SIZES) * len(COLUMNS)
    assert all(f"{row['ours']:.3f}" in text for row in rows)
    assert all(f"| {more} |" in text or f"| **{more}** |" in text for more in CHOICES)
    assert r"matching a\|b are date" in text
    assert "| rests | – |" in text


def test_differences_are_paired(found: Finished) -> None:
    runs, citations = significance(FULL, found, "AP-T", 5)
    assert runs is not None
    assert citations is not None
    assert max(runs, citations) < 1e-5  # all runs and all citations gain alike, however much they differ
    assert significance(FULL, found, "AP-T", 300)[0] is None  # labels alone give one run


def test_what_is_missed_is_told(found: Finished) -> None:
    told = missed(FULL, found)
    assert any(text.startswith("AP-T, N = 5") and "goal 0.800" in text for text in told)
    assert not any("paper" in text and "N = 20:" in text for text in told)


def test_the_figure_is_drawn(found: Finished, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    plot(FULL, found, tmp_path / "table3.png")
    assert (tmp_path / "table3.png").stat().st_size > 10_000
