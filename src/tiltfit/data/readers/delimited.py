"""CSV and TSV with a header row, quoted as spreadsheets do. All labels are strings."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar, cast

from tiltfit.data.readers import record as limits
from tiltfit.data.readers import source
from tiltfit.data.readers.record import (
    Document,
    Fields,
    Record,
    Refusal,
    Survey,
    Value,
    check_label,
    check_text,
    joined,
    missing_field,
    problem,
    strict,
)
from tiltfit.data.readers.source import scan
from tiltfit.errors import DataFileError

DELIMITERS = {"csv": ",", "tsv": "\t"}
CELLS = frozenset({*DELIMITERS, "xlsx"})
"""The formats whose cells are text that may stand for numbers."""

R = TypeVar("R", bound=Record[Any, Any])

# Numbers as people write them. Not "007" or "01234": leading zeros are how codes look, and codes are text.
_NUMBER = re.compile(r"[+-]?(0|[1-9][0-9]{0,15})(\.[0-9]*)?([eE][+-]?[0-9]{1,2})?")
_WHOLE = re.compile(r"[+-]?[0-9]+")


def delimited_records(
    survey: Survey, raw: io.BufferedReader, fields: Fields, delimiter: str
) -> Iterator[Document | Refusal]:
    """Every row of a CSV file as a record. The cells of its columns are text: ``with_numbers`` makes them numbers."""
    place = survey.place
    feed = _Feed(place, raw)
    rows = _rows(feed, delimiter)
    header = next(strict(rows), None)
    if header is None:
        return
    names = header.cells
    places = places_in(place, header.line, names, fields, delimiter)
    survey.fields.update(names)
    survey.labelled, survey.final = fields.label in places, True
    for row in rows:
        if isinstance(row, Refusal):
            yield row
            continue
        try:
            _check_width(place, row, len(names))
            found: Document | Refusal = record_of(place, row.line, row.cells, places, fields)
        except DataFileError as error:
            found = feed.refusal(error)
        yield found


class _Row(NamedTuple):
    """``line`` is where it starts."""

    line: int
    cells: list[str]


class _TooLong(Exception):
    """A line or a row that is not to be kept: csv forgets the row so far, and goes on at the next line."""


class _Feed:
    """Lines for the csv module, with what is wrong with those of the current row."""

    def __init__(self, place: str, raw: io.BufferedReader) -> None:
        self.place = place
        self.start = self.end = 0
        self.flaw: Refusal | None = None
        self._size = 0
        self._lines = scan(place, raw)

    def __iter__(self) -> _Feed:
        return self

    def __next__(self) -> str:
        self.end, text, flaw = next(self._lines)
        self.flaw = self.flaw or flaw
        self._size += len(text)
        if self._size > source.MAX_LINE and self.flaw is None:
            why = f"the row is longer than {source.MAX_LINE:,} characters. Is a quote missing somewhere?"
            self.flaw = Refusal(problem(self.place, self.start, why))
        if not text or self._size > source.MAX_LINE:
            raise _TooLong
        return text

    def begin(self) -> None:
        """A new row begins at the next line."""
        self.start, self.flaw, self._size = self.end + 1, None, 0

    def refusal(self, error: DataFileError) -> Refusal:
        """The current row is refused."""
        several = f"Lines {self.start} to {self.end} are left out." if self.end > self.start else ""
        return Refusal(error, several)


def _rows(feed: _Feed, delimiter: str) -> Iterator[_Row | Refusal]:
    """Every row that is not empty. After one that is broken, it goes on at the line after those already read."""
    reader = csv.reader(feed, delimiter=delimiter, strict=True)
    while True:
        feed.begin()
        row: list[str] | None = []
        error: DataFileError | None = None
        try:
            with _field_limit(limits.MAX_TEXT):
                row = next(reader, None)
        except csv.Error as said:
            error = problem(feed.place, feed.start, _explain(str(said), feed.start, feed.end))
        except _TooLong:
            pass
        if feed.flaw is not None:  # first: the line was read before the row could go wrong
            yield feed.refusal(feed.flaw.error)
        elif error is not None:
            yield feed.refusal(error)
        if row is None:
            return
        if row and feed.flaw is None:
            yield _Row(feed.start, row)


@contextmanager
def _field_limit(limit: int) -> Iterator[None]:
    # The csv module keeps this limit for the whole process: it is put back after every row.
    before = csv.field_size_limit(limit)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _explain(message: str, start: int, end: int) -> str:
    if "field limit" in message:
        return f"a cell is longer than {limits.MAX_TEXT:,} characters. Is a quote missing somewhere?"
    if "end of data" in message:
        return f'a quote (") opens in this row and is never closed (read up to line {end}).'
    if "expected after" in message:
        upto = f" (which ends in line {end})" if end > start else ""
        return f'text follows a closing quote in this row{upto}. Write a quote inside a quoted cell twice ("").'
    if "new-line character" in message:
        return "a bare carriage return stands outside quotes. Save the file with normal line ends."
    return f"not CSV: {message}."


def _check_width(place: str, row: _Row, width: int) -> None:
    if len(row.cells) != width:
        raise problem(
            place,
            row.line,
            f"the row has {len(row.cells)} cells, but the header has {width}. Quote cells that contain the delimiter.",
        )


def places_in(
    place: str, number: int, header: Sequence[str], fields: Fields, delimiter: str | None = None
) -> dict[str, int]:
    """Position of each column; refuses a header that does not say where the text is."""
    for name in header:
        check_text(place, number, "the header", name)
        if header.count(name) > 1:
            raise problem(place, number, f"the header has two columns named {name!r}.")
    for name in fields.texts:
        if name not in header:
            raise _no_text(place, number, header, name, delimiter)
    return {name: i for i, name in enumerate(header)}


def _no_text(place: str, number: int, header: Sequence[str], text: str, delimiter: str | None) -> DataFileError:
    if len(header) == 1 and delimiter is not None:
        for other in ";\t|,":
            if other != delimiter and text in header[0].split(other):
                hint = f"the header {header[0]!r} has no {delimiter!r}. Is the delimiter {other!r}? Pass delimiter=."
                return problem(place, number, hint)
    return missing_field(place, number, "text", text, header)


def record_of(place: str, number: int, row: Sequence[str], places: dict[str, int], fields: Fields) -> Document:
    """A row as a record; ``places``: the position of each column."""

    def cell(name: str | None) -> str | None:
        return row[places[name]] if name in places else None

    texts = [check_text(place, number, f"the column {name!r}", row[places[name]]) for name in fields.texts]
    return Record(
        place,
        number,
        cell(fields.identifier) or None,
        joined(texts),
        check_label(place, number, cell(fields.label)),
        tuple(cell(name) or None for name in fields.columns),
        dict(zip(places, row, strict=True)) if fields.rows else None,
    )


def is_number(cell: str) -> bool:
    """Return whether a cell is a number.

    >>> [is_number(cell) for cell in ["3", "-1.5e3", "007", "1,5", ""]]
    [True, True, False, False, False]
    """
    return _NUMBER.fullmatch(cell) is not None


def with_numbers(records: Sequence[R], numeric: Sequence[bool]) -> Sequence[R]:
    """The records with the cells of some columns, ``numeric`` says which, as numbers."""
    if not any(numeric):
        return records
    made = [
        Record(r.place, r.line, r.identifier, r.content, r.label, tuple(map(_number, r.columns, numeric)), r.row)
        for r in records  # dataclasses.replace takes several times as long
    ]
    return cast("Sequence[R]", made)


def _number(cell: Value, numeric: bool) -> Value:
    if cell is None or not numeric:
        return cell
    text = cast(str, cell)
    return int(text) if _WHOLE.fullmatch(text) else float(text)


def numeric_columns(records: Sequence[Record[Any, Any]], n: int) -> list[bool]:
    """True for those of n columns of which every cell that is not empty is a number."""
    return [all(r.columns[j] is None or is_number(str(r.columns[j])) for r in records) for j in range(n)]
