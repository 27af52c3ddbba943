"""The examples run, and say what they promise."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_tickets_are_sorted_without_labels(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(EXAMPLES / "tickets_python.py"))
    printed = capsys.readouterr().out
    score = re.search(r"accuracy (0\.\d+)", printed)
    assert score is not None
    assert 0.78 < float(score[1]) < 0.97
    assert 'at least 60% of documents with the word "refund" are billing or returns' in printed


def test_every_example_is_listed() -> None:
    listed = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    assert all(f"`{path.name}`" in listed for path in EXAMPLES.glob("*.py"))
