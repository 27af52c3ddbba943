"""What the README shows is what happens."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tiltfit import ConstraintSet

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    """The fenced blocks of one language: every second piece between fences is a block."""
    fenced = re.split(r"^```", README, flags=re.MULTILINE)[1::2]
    return [block.split("\n", 1)[1] for block in fenced if block.split("\n", 1)[0] == language]


def test_the_example_runs_and_scores_what_it_says(capsys):
    (example,) = blocks("python")
    exec(compile(example, "README.md", "exec"), {})
    score, report = capsys.readouterr().out.split("\n", 1)
    claimed = re.search(r"score\(.*# (0\.\d+);", example)
    assert claimed is not None
    assert float(score) == pytest.approx(float(claimed.group(1)), abs=0.01)
    for line in blocks("")[0].splitlines():
        assert line in report


def test_the_toml_is_valid():
    (text,) = blocks("toml")
    constraints = ConstraintSet.from_toml(text)
    assert [c.name for c in constraints] == ["on the road", None]
