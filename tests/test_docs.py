"""The examples in docs/ run as they stand."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
WITH_EXAMPLES = [path for path in sorted(DOCS.glob("*.md")) if ">>> " in path.read_text(encoding="utf-8")]


@pytest.mark.parametrize("path", WITH_EXAMPLES, ids=lambda path: path.name)
def test_examples_of_the_page(path: Path) -> None:
    flags = doctest.NORMALIZE_WHITESPACE | doctest.REPORT_NDIFF
    found = doctest.testfile(str(path), module_relative=False, optionflags=flags, encoding="utf-8")
    assert found.attempted > 0
    assert found.failed == 0


def test_there_are_such_pages() -> None:
    assert "semi-supervised.md" in {path.name for path in WITH_EXAMPLES}
