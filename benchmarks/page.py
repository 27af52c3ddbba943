"""``docs/benchmarks.md``: each command writes its own section and leaves the others alone."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[1] / "docs" / "benchmarks.md"
FIGURES = PAGE.parent / "figures"

_HEAD = """# Benchmarks

Every section was written by the command that it names. Times are minima over turns that the contestants took in one
process; ratios carry over to other machines better than seconds.
"""


def write_section(name: str, text: str, page: Path = PAGE) -> None:
    """Replace the section ``name`` of the page, or append it."""
    start, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    section = f"{start}\n{text.strip()}\n{end}\n"
    before = page.read_text(encoding="utf-8") if page.is_file() else _HEAD
    pattern = re.compile(re.escape(start) + ".*?" + re.escape(end) + "\n", re.DOTALL)
    after = pattern.sub(lambda _: section, before) if pattern.search(before) else f"{before.rstrip()}\n\n{section}"
    page.write_text(after, encoding="utf-8")


def table(head: list[str], rows: list[list[str]]) -> str:
    """A Markdown table; the first column is text, the others are numbers."""
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def mib(size: float) -> str:
    return f"{size / 2**20:,.0f} MiB"
