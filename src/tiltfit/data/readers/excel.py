"""Excel workbooks (.xlsx), through openpyxl (the extra ``excel``): the first sheet, with a header row.

Cells are read as CSV has them: as text, so the rules for CSV hold here. Messages count rows as the spreadsheet does.
"""

from __future__ import annotations

import datetime
import io
import logging
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from typing import Any
from xml.etree.ElementTree import ParseError

from tiltfit.data.readers.delimited import places_in, record_of
from tiltfit.data.readers.record import Document, Fields, Refusal, Row, Survey, attempt, problem
from tiltfit.data.readers.source import in_place
from tiltfit.errors import DataFileError

EXCEL_SUFFIXES = (".xlsx", ".xlsm")

MAX_HELD = 1 << 30
"""Most bytes of a workbook besides its sheets, unpacked: they are held in memory."""

_log = logging.getLogger(__name__)


def excel_records(survey: Survey, raw: io.BufferedReader, fields: Fields) -> Iterator[Document | Refusal]:
    """Every row below the header that is not empty."""
    place = survey.place
    with _sheet(place, raw) as rows:
        number, header = next(rows, (0, []))
        if not header:
            return
        for left, right in pairwise(header):
            if not left and right:
                raise problem(place, Row(number), f"the header has no name for the column before {right!r}.")
        places = places_in(place, Row(number), header, fields)
        survey.fields.update(header)
        survey.labelled, survey.final = fields.label in places, True
        for number, cells in rows:
            yield attempt(partial(_record, place, Row(number), cells, places, fields))


def _record(place: str, number: Row, row: list[str], places: dict[str, int], fields: Fields) -> Document:
    if len(row) > len(places):
        raise problem(place, number, f"the row has {len(row)} cells, but the header has {len(places)}.")
    return record_of(place, number, row + [""] * (len(places) - len(row)), places, fields)


@contextmanager
def _sheet(place: str, raw: io.BufferedReader) -> Iterator[Iterator[tuple[int, list[str]]]]:
    """(number, cells without the empty ones at the end) of every row of the first sheet that is not empty."""
    try:
        import openpyxl
        from openpyxl.utils.exceptions import InvalidFileException
    except ImportError:
        raise DataFileError(
            f"{place}: it is an Excel workbook, which needs the extra excel (pip install 'tiltfit[excel]'). Install "
            "it, or save the sheet as CSV."
        ) from None
    file = in_place(place, raw)
    try:
        _check_size(place, file)
        book = openpyxl.load_workbook(file, read_only=True, data_only=True)  # data_only: values, not formulas
        try:
            if not book.worksheets:
                raise DataFileError(f"{place}: the workbook has no sheet with cells.")
            sheet = book.worksheets[0]
            if len(book.worksheets) > 1:
                _log.warning("%s: of %d sheets the first, %r, is read", place, len(book.worksheets), sheet.title)
            sheet.reset_dimensions()  # what the file claims about its size may be wrong
            yield ((n, cells) for n, row in enumerate(sheet.iter_rows(values_only=True), 1) if (cells := _cells(row)))
        finally:
            book.close()
    except (zipfile.BadZipFile, InvalidFileException, ParseError, KeyError, ValueError, TypeError, OSError) as error:
        raise DataFileError(
            f"{place}: the Excel data are damaged, or it is not an .xlsx file ({error}). Old .xls files must be saved "
            "as .xlsx."
        ) from error


def _check_size(place: str, file: Any) -> None:
    """Refuse a workbook whose table of texts would fill the memory. Sheets are read row by row."""
    with zipfile.ZipFile(file) as archive:
        held = sum(entry.file_size for entry in archive.infolist() if "worksheets/" not in entry.filename)
    if held > MAX_HELD:
        raise DataFileError(f"{place}: its texts take {held:,} bytes, at most {MAX_HELD:,} are read. Save it as CSV.")
    file.seek(0)


def _cells(row: tuple[Any, ...]) -> list[str]:
    found = [_text(value) for value in row]
    while found and not found[-1]:
        found.pop()
    return found


def _text(value: Any) -> str:
    """A cell as CSV would have it.

    >>> [_text(v) for v in (None, 3.0, 0.1, True, "a", datetime.datetime(2026, 1, 2), datetime.date(2026, 1, 2))]
    ['', '3', '0.1', 'true', 'a', '2026-01-02', '2026-01-02']
    """
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case float() if value.is_integer() and abs(value) < 1e16:
            return str(int(value))
        case datetime.datetime() if value.time() == datetime.time():
            return value.date().isoformat()
        case datetime.date() | datetime.time():
            return value.isoformat()
    return str(value)
