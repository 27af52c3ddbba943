"""Votes in CSV or TSV: a column for each source, a row for each document, in the order of the documents."""

from __future__ import annotations

import csv
import os
import re
from typing import Any

from tiltfit.data.readers.record import problem
from tiltfit.data.readers.source import lines, opened, place_of, suffix_of
from tiltfit.errors import DataFileError

_WHOLE = re.compile(r"[+-]?[0-9]{1,9}(\.0*)?")


def read_votes(source: str | os.PathLike[str]) -> dict[str, list[Any]]:
    """Read what each source says: names of classes, or their numbers. An empty cell, -1 and "abstain" are silence.

    The header names the sources. Every problem is a DataFileError with file and line.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "votes.csv")
    ...     _ = path.write_text("gpt,rule\\nspam,\\nham,1\\n")
    ...     read_votes(path)
    {'gpt': ['spam', 'ham'], 'rule': [None, 1]}
    """
    name = os.fspath(source)
    place, delimiter = place_of(name), "\t" if suffix_of(name) == ".tsv" else ","
    with opened(name) as raw:
        reader = csv.reader((text for _, text in lines(place, raw)), delimiter=delimiter, strict=True)
        try:
            rows = [(reader.line_num, [cell.strip() for cell in cells]) for cells in reader if cells]
        except csv.Error as error:
            raise problem(place, reader.line_num, f"not CSV: {error}.") from None
    if len(rows) < 2:
        raise DataFileError(f"{place}: no votes. The first line names the sources, and every other is of a document.")
    (first, names), *votes = rows
    for k, source_name in enumerate(names):
        if not source_name or source_name in names[:k]:
            why = f"two sources are called {source_name!r}" if source_name else f"column {k + 1} has no name"
            raise problem(place, first, f"{why}. Each source needs a name of its own.")
    for line, cells in votes:
        if len(cells) != len(names):
            raise problem(place, line, f"the row has {len(cells)} cells, but there are {len(names)} sources.")
    return {name: [_vote(cells[k]) for _, cells in votes] for k, name in enumerate(names)}


def _vote(cell: str) -> str | int | None:
    if _WHOLE.fullmatch(cell):
        return int(float(cell))
    return cell or None
