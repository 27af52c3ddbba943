"""Small pieces of output that several commands print."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tiltfit.cli.terminal import one_line
from tiltfit.language.prose import rough_percent

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

_BAR = 30  # widest bar, in characters


def count(n: int, what: str) -> str:
    """A number with its noun.

    >>> count(1, "document"), count(1200, "document"), count(2, "class")
    ('1 document', '1,200 documents', '2 classes')
    """
    plural = "" if n == 1 else "es" if what.endswith("s") else "s"
    return f"{n:,} {what}{plural}"


def size(path: Path) -> str:
    """Size of a file for people."""
    n = path.stat().st_size
    return f"{n:,} bytes" if n < 1000 else f"{n / 1000:,.0f} kB" if n < 1_000_000 else f"{n / 1e6:,.1f} MB"


def cell(text: object, style: str = "") -> Text:
    """Text as it is: neither markup nor control characters of a class name reach the terminal."""
    from rich.text import Text

    return Text(one_line(text), style=style)


def table(*headings: str) -> Table:
    """An empty table without lines: the first column to the left, the others to the right."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    empty = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")
    for i, heading in enumerate(headings):
        empty.add_column(heading, justify="left" if i == 0 else "right", overflow="fold", no_wrap=i > 0)
    return empty


def proportions(names: Sequence[str], predicted: Mapping[str, int], unit: str = "documents") -> Table:
    """How many documents (or tokens) each class was given, with bars."""
    total = max(1, sum(predicted.values()))
    largest = max([1, *predicted.values()])
    shown = table("class", unit, "share", "")
    shown.columns[3].justify = "left"
    for name in names:
        n = predicted.get(name, 0)
        bar = cell("━" * round(_BAR * n / largest), "cyan")
        shown.add_row(cell(name), f"{n:,}", rough_percent(n / total), bar)
    return shown
