"""What README and pages show is what was measured: they are written anew from the cells and compared."""

from __future__ import annotations

import json
import re
from importlib import import_module
from pathlib import Path

import pytest
from experiments.__main__ import EXPERIMENTS
from experiments.command import Experiment
from experiments.readme import README, SECTION, section

ROOT = Path(__file__).resolve().parents[2]


def test_the_readme_says_what_the_pages_say() -> None:
    text = README.read_text(encoding="utf-8")
    found = re.search(f"<!-- {SECTION} -->\n(.*?)\n<!-- end of {SECTION} -->", text, re.DOTALL)
    assert found is not None
    assert found[1] == section(), "run python -m experiments.readme"


def test_all_experiments_are_run_together() -> None:
    assert {path.parent.name for path in (ROOT / "experiments").glob("*/__main__.py")} == set(EXPERIMENTS)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_page_is_what_its_command_makes_of_its_cells(name: str) -> None:
    experiment: Experiment = import_module(f"experiments.{name}.__main__").FULL
    stem = ROOT / "docs" / experiment.files
    kept = json.loads(stem.with_suffix(".json").read_text(encoding="utf-8"))
    assert kept["command"] == experiment.command
    assert kept["summary"] == json.loads(json.dumps(experiment.summary(kept["cells"])))
    assert experiment.text(kept["cells"]) == stem.with_suffix(".md").read_text(encoding="utf-8"), experiment.command
    drawn = (ROOT / "docs" / "figures" / f"{experiment.files}.png").exists()
    assert drawn == (experiment.plot is not None)
