"""Pieces of output that several commands share: counts, tables, a progress bar, text files."""

from __future__ import annotations

import gzip
import io
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TextIO

from tiltfit.cli.terminal import Terminal, dumps, one_line
from tiltfit.language.prose import rough_percent

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from tiltfit.methods.history import Round

_BAR = 30  # widest bar, in characters


def count(n: int, what: str) -> str:
    """Return a number with its noun.

    >>> count(1, "document"), count(1200, "document"), count(2, "class")
    ('1 document', '1,200 documents', '2 classes')
    """
    plural = "" if n == 1 else "es" if what.endswith("s") else "s"
    return f"{n:,} {what}{plural}"


def size(path: Path) -> str:
    """Return the size of a file for people."""
    n = path.stat().st_size
    return f"{n:,} bytes" if n < 1000 else f"{n / 1000:,.0f} kB" if n < 1_000_000 else f"{n / 1e6:,.1f} MB"


def cell(text: object, style: str = "") -> Text:
    """Return a cell of plain text: neither markup nor control characters of a class name reach the terminal."""
    from rich.text import Text

    return Text(one_line(text), style=style)


def table(*headings: str) -> Table:
    """Return an empty table without lines: the first column is aligned left, the others right."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    empty = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")
    for i, heading in enumerate(headings):
        empty.add_column(heading, justify="left" if i == 0 else "right", overflow="fold", no_wrap=i > 0)
    return empty


def proportions(names: Sequence[str], predicted: Mapping[str, int], unit: str = "documents") -> Table:
    """Return the number of documents (or tokens) that each class was given, with bars."""
    total = max(1, sum(predicted.values()))
    largest = max([1, *predicted.values()])
    shown = table("class", unit, "share", "")
    shown.columns[3].justify = "left"
    for name in names:
        n = predicted.get(name, 0)
        bar = cell("━" * round(_BAR * n / largest), "cyan")
        shown.add_row(cell(name), f"{n:,}", rough_percent(n / total), bar)
    return shown


@contextmanager
def progress_bar(terminal: Terminal) -> Iterator[Callable[[Round], None]]:
    """Yield a callback for an estimator that shows round, objective and worst violation on stderr.

    It draws nothing where stderr is not a terminal, or under ``--quiet``.
    """
    if terminal.quiet or not terminal.err.is_terminal:
        yield lambda now: None  # not a disabled bar: in older versions of rich even that prints an empty line
        return
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TextColumn("{task.fields[state]}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=terminal.err, transient=True) as progress:
        task = progress.add_task("starting", total=None, state="")

        def update(now: Round) -> None:
            value = "sampled   " if math.isnan(now.objective) else f"{now.objective:<10,.5g}"
            state = f"objective {value} worst violation {now.worst_violation:<8.3f}"
            name = f"round {now.round:<4}"
            progress.update(task, description=name, completed=now.round, total=now.max_iter, state=state)

        yield update


@contextmanager
def writing(path: Path | None, *, utf8: bool = True) -> Iterator[TextIO]:
    """Open a text file that takes the place of ``path`` if the block ends well, and is discarded if it does not.
    Without a path it is stdout, in UTF-8 on request."""
    if path is None:
        if utf8 and hasattr(sys.stdout, "reconfigure"):
            sys.stdout.reconfigure(encoding="utf-8")
        yield sys.stdout
        return
    with writing_bytes(path) as raw:
        # No name and no time inside: the same text gives the same bytes.
        packed = gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0) if path.suffix == ".gz" else None
        file = io.TextIOWrapper(packed or raw, encoding="utf-8", newline="")
        try:
            yield file
        finally:
            file.detach()  # flushes; whoever opened the file below closes it
            if packed is not None:
                packed.close()


@contextmanager
def writing_bytes(path: Path) -> Iterator[BinaryIO]:
    """Open a file that takes the place of ``path`` if the block ends well, and is discarded if it does not."""
    from tiltfit.storage.atomic import replacing

    # A pipe or a device is written to: putting a file in its place would destroy it.
    special = path.exists() and not path.is_file()
    with path.open("wb") if special else replacing(path) as raw:
        yield raw


def write_jsonl(rows: Iterable[dict[str, Any]], file: TextIO) -> None:
    """Write one object per line."""
    file.writelines(dumps(row, encoding=file.encoding) + "\n" for row in rows)
