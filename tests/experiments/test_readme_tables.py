"""The README's tables are those of the pages."""

from __future__ import annotations

import re
from pathlib import Path

from experiments.__main__ import EXPERIMENTS
from experiments.readme import README, SECTION, section

ROOT = Path(__file__).resolve().parents[2]


def test_the_readme_says_what_the_pages_say() -> None:
    text = README.read_text(encoding="utf-8")
    found = re.search(f"<!-- {SECTION} -->\n(.*?)\n<!-- end of {SECTION} -->", text, re.DOTALL)
    assert found is not None
    assert found[1] == section(), "run python -m experiments.readme"


def test_every_experiment_is_run_and_names_its_command() -> None:
    packages = {path.parent.name for path in (ROOT / "experiments").glob("*/__main__.py")}
    assert packages == set(EXPERIMENTS)
    pages = [path.read_text(encoding="utf-8") for path in (ROOT / "docs").glob("*.md")]
    for name in packages:
        assert any(f"Written by `python -m experiments.{name}" in page for page in pages), name
