"""Statements as rows of a table (CSV or TSV): a label, a word and a share, one statement per row.

label,word,share
hockey,puck,90%
hockey,stanley cup,0.95       several words: a phrase
baseball,,0.4                 no word: the share of all
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Mapping
from pathlib import Path

from tiltfit.data.readers.packed import without_packing
from tiltfit.data.words import normal, tokenise
from tiltfit.errors import ConstraintError, ConstraintFileError, did_you_mean
from tiltfit.language.conditions import phrase, word
from tiltfit.language.constraint import Constraint, ConstraintSet
from tiltfit.language.expect import expect
from tiltfit.language.toml import read_text

SUFFIXES = {".csv": ",", ".tsv": "\t"}
_NEEDED, _TEXTS = ("label", "word", "share"), ("name", "rationale")


def is_listed(path: str | os.PathLike[str]) -> bool:
    """Return whether a file of constraints is a table, by its ending."""
    return _suffix(path) in SUFFIXES


def read_listed(path: str | os.PathLike[str]) -> ConstraintSet:
    """Read a table of statements, plain or compressed; the line begins every complaint."""
    return parse_listed(read_text(path), os.fspath(path), SUFFIXES.get(_suffix(path), ","))


def parse_listed(text: str, name: str = "statements", delimiter: str = ",") -> ConstraintSet:
    """Statements from the text of a table.

    >>> print(parse_listed("label,word,share\\nhockey,puck,90%\\nhockey,stanley cup,0.95\\nbaseball,,0.4\\n"))
    about 90% of documents with the word "puck" are hockey
    about 95% of documents with the phrase "stanley cup" are hockey
    about 40% of documents are baseball
    """
    first = text.partition("\n")[0]
    if delimiter == "," and ";" in first and "," not in first:
        delimiter = ";"  # where a comma is the decimal point
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    found: dict[tuple[str, str], tuple[int, Constraint]] = {}
    header: list[str] = []
    line = 1
    try:
        for row in reader:
            cells = [cell.strip() for cell in row]
            if not header:
                header = _header(cells)
            elif any(cells):
                statement = _cells(header, cells)
                key = statement["label"], statement["word"]
                if key in found:
                    raise ConstraintError(f"the same label and word stand in line {found[key][0]}.")
                found[key] = line, _constraint(statement, decimal_comma=delimiter != ",")
            line = reader.line_num + 1
    except (ConstraintError, csv.Error) as error:
        why = str(error) if isinstance(error, ConstraintError) else f"not CSV: {error}."
        raise ConstraintFileError(f"{name}, line {line}: {why}") from error
    if not found:
        raise ConstraintFileError(f"{name}: no statements. A row holds a label, a word and a share.")
    return ConstraintSet(tuple(constraint for _, constraint in found.values()))


def _suffix(path: str | os.PathLike[str]) -> str:
    return Path(without_packing(os.fspath(path))).suffix.lower()


def _header(cells: list[str]) -> list[str]:
    names = [cell.lower() for cell in cells]
    known = (*_NEEDED, *_TEXTS)
    for name in names:
        if name not in known:
            raise ConstraintError(
                f"there is no column {name!r} of statements.{did_you_mean(name, known)} The columns are: "
                f"{', '.join(known)}."
            )
        if names.count(name) > 1:
            raise ConstraintError(f"there are two columns {name!r}.")
    missing = [name for name in _NEEDED if name not in names]
    if missing:
        raise ConstraintError(f"the header has no column {missing[0]!r}. It must name {', '.join(_NEEDED)}.")
    return names


def _cells(header: list[str], cells: list[str]) -> dict[str, str]:
    if len(cells) != len(header):
        raise ConstraintError(
            f"the row has {len(cells)} cells, but the header has {len(header)}. Quote cells that contain the delimiter."
        )
    return dict(zip(header, cells, strict=True))


def _constraint(row: Mapping[str, str], *, decimal_comma: bool) -> Constraint:
    if not row["label"]:
        raise ConstraintError("there is no label.")
    given = None
    if row["word"]:
        given = word(row["word"]) if tokenise(row["word"]) == [normal(row["word"])] else phrase(row["word"])
    more = {key: row[key] for key in _TEXTS if row.get(key)}
    return expect(row["label"], given=given).about(_share(row["share"], decimal_comma), **more)  # type: ignore[arg-type]


def _share(cell: str, decimal_comma: bool) -> float:
    text = cell.replace(",", ".") if decimal_comma else cell
    percent = text.endswith("%")
    try:
        value = float(text.removesuffix("%"))
    except ValueError:
        value = -1.0
    value = value / 100 if percent else value
    if not 0 <= value <= 1:
        raise ConstraintError(f"the share {cell!r} must be a number from 0 to 1, or a percentage such as 90%.")
    return value
