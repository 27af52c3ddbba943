"""CSV and TSV with a header row, quoted as spreadsheets do. All labels are strings."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from tiltfit.data.readers import record as limits
from tiltfit.data.readers.record import Fields, Part, Record, Value, check_label, check_text, missing_field, problem
from tiltfit.data.readers.source import lines
from tiltfit.errors import DataFileError

# Numbers as people write them. Not "007" or "01234": leading zeros are how codes look, and codes are text.
_NUMBER = re.compile(r"[+-]?(0|[1-9][0-9]{0,15})(\.[0-9]*)?([eE][+-]?[0-9]{1,2})?")
_WHOLE = re.compile(r"[+-]?[0-9]+")


def read_delimited(place: str, raw: io.BufferedReader, fields: Fields, delimiter: str) -> Part:
    """Every row of a CSV file as a record."""
    rows = _rows(place, raw, delimiter)
    number, header = next(rows, (0, []))
    if not header:
        return Part(place, [], frozenset())
    places = _places(place, number, header, fields, delimiter)
    records = [_record(place, number, row, places, fields) for number, row in _even(place, rows, len(header))]
    return Part(place, _with_numbers(records, fields), frozenset(header))


def _rows(place: str, raw: io.BufferedReader, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """(line where it starts, cells) of every row that is not empty."""
    reader = csv.reader((line for _, line in lines(place, raw)), delimiter=delimiter, strict=True)
    while True:
        start = reader.line_num + 1
        try:
            with _field_limit(limits.MAX_TEXT):
                row = next(reader, None)
        except csv.Error as error:
            raise problem(place, start, _explain(str(error), start, reader.line_num)) from None
        if row is None:
            return
        if row:
            yield start, row


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


def _even(place: str, rows: Iterator[tuple[int, list[str]]], width: int) -> Iterator[tuple[int, list[str]]]:
    for number, row in rows:
        if len(row) != width:
            raise problem(
                place,
                number,
                f"the row has {len(row)} cells, but the header has {width}. Quote cells that contain the delimiter.",
            )
        yield number, row


def _places(place: str, number: int, header: Sequence[str], fields: Fields, delimiter: str) -> dict[str, int]:
    """Position of each column; refuses a header that does not say where the text is."""
    for name in header:
        check_text(place, number, "the header", name)
        if header.count(name) > 1:
            raise problem(place, number, f"the header has two columns named {name!r}.")
    if fields.text not in header:
        raise _no_text(place, number, header, fields.text, delimiter)
    return {name: i for i, name in enumerate(header)}


def _no_text(place: str, number: int, header: Sequence[str], text: str, delimiter: str) -> DataFileError:
    if len(header) == 1:
        for other in ";\t|,":
            if other != delimiter and text in header[0].split(other):
                hint = f"the header {header[0]!r} has no {delimiter!r}. Is the delimiter {other!r}? Pass delimiter=."
                return problem(place, number, hint)
    return missing_field(place, number, "text", text, header)


def _record(place: str, number: int, row: Sequence[str], places: dict[str, int], fields: Fields) -> Record:
    def cell(name: str | None) -> str | None:
        return row[places[name]] if name in places else None

    return Record(
        place,
        number,
        cell(fields.identifier) or None,
        check_text(place, number, f"the column {fields.text!r}", row[places[fields.text]]),
        check_label(place, number, cell(fields.label)),
        tuple(cell(name) or None for name in fields.columns),
    )


def _with_numbers(records: list[Record], fields: Fields) -> list[Record]:
    """A column becomes numbers when every cell of it that is not empty is one."""
    columns: list[Sequence[Value]] = []
    for j in range(len(fields.columns)):
        cells = [str(r.columns[j]) if r.columns[j] is not None else None for r in records]
        numeric = all(c is None or _NUMBER.fullmatch(c) for c in cells)
        columns.append([_number(c) for c in cells] if numeric else cells)
    if not columns:
        return records
    return [
        Record(r.place, r.line, r.identifier, r.text, r.label, values)
        for r, values in zip(records, zip(*columns, strict=True), strict=True)
    ]


def _number(cell: str | None) -> int | float | None:
    if cell is None:
        return None
    return int(cell) if _WHOLE.fullmatch(cell) else float(cell)
