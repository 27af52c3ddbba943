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


def _words(line: str) -> str:
    return re.sub(r"[\d.,]+", "#", line)


def _numbers(line: str) -> list[float]:
    return [float(n.replace(",", "")) for n in re.findall(r"\d[\d,]*(?:\.\d+)?", line)]


def test_the_example_runs_and_scores_what_it_says(capsys):
    example, *_ = blocks("python")
    exec(compile(example, "README.md", "exec"), {})
    score, report = capsys.readouterr().out.split("\n", 1)
    claimed = re.search(r"score\(.*# (0\.\d+);", example)
    assert claimed is not None
    assert float(score) == pytest.approx(float(claimed.group(1)), abs=0.01)
    lines = blocks("")[0].splitlines()
    for sentence, *figures in zip(lines[::3], lines[1::3], lines[2::3], strict=True):
        assert sentence in report
        # The last digit depends on where the optimiser stops, and that on the versions of NumPy and SciPy.
        first = report.splitlines().index(sentence) + 1
        for below, claimed_line in zip(report.splitlines()[first : first + 2], figures, strict=True):
            assert _words(below) == _words(claimed_line)
            assert _numbers(below) == pytest.approx(_numbers(claimed_line), abs=0.5)


@pytest.mark.slow
def test_the_tagger_runs_and_scores_what_it_says(capsys):
    _, example, *_ = blocks("python")
    exec(compile(example, "README.md", "exec"), {})
    claimed = re.search(r"# (0\.\d+);", example.split("score(")[1])
    assert claimed is not None
    # The objective is not convex: another version of SciPy may end in another place nearby.
    assert float(capsys.readouterr().out) == pytest.approx(float(claimed.group(1)), abs=0.03)


def test_the_toml_is_valid():
    (text,) = blocks("toml")
    constraints = ConstraintSet.from_toml(text)
    assert [c.name for c in constraints] == ["on the road", None]
