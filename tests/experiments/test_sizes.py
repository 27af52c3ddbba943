"""The page on sizes and labels: what it reads from cells, and what is missed."""

from __future__ import annotations

from typing import Any

import pytest
from experiments.defaults.tasks import TENTH, WHOLE
from experiments.sizes.cells import Counted, Labelled
from experiments.sizes.page import QUICK, gains, missed, page, summary


def found(changed: float = 0.002, both: float = 0.9) -> dict[str, Any]:
    counted = {"score": 0.8, "calibration": 0.05, "met": 1.0, "n": 1600, "changed": changed, "counted": 0.8}
    cells: dict[str, Any] = {cell.key: counted for cell in QUICK.counted()}
    for data, ns, _ in QUICK.labels:
        for n in ns:
            for cell in QUICK.labelled(data, n):
                cells[cell.key] = {"both": both, "labels": 0.88 if n else None}
    return cells


def test_gains_are_of_the_cells_with_labels() -> None:
    by_place = gains(QUICK, found())
    assert set(by_place) == {("tickets", 20), ("references", 5)}
    assert list(by_place.values()) == pytest.approx([0.02, 0.02])
    assert summary(QUICK, found())["gain"] == pytest.approx(0.02)


def test_what_does_not_hold_is_named() -> None:
    assert missed(QUICK, found()) == []
    assert missed(QUICK, found(changed=0.01))[0] == "predictions change: tickets"
    assert missed(QUICK, found(both=0.87)) == [
        "statements cost: tickets, 20 labels",
        "statements cost: references, 5 labels",
    ]


def test_the_page_has_a_row_for_each_task_and_number_of_labels() -> None:
    text = page(QUICK, found())
    assert "| tickets | 20 | 0.880 | 0.900 | +2.0 |" in text
    assert "| tickets | 0 |  | 0.900 |  |" in text
    assert text.count("0.20%") == 2 * len(QUICK.tasks) + 1


def test_keys_tell_cells_apart() -> None:
    task = QUICK.tasks[0]
    counted = [Counted(task, size).key for size in (TENTH, WHOLE)]
    assert len({*counted, *(Labelled("tickets", 5, seed).key for seed in (0, 1))}) == 4
