"""Excel workbooks are read as CSV is, and what is wrong with them is named."""

from __future__ import annotations

import csv
import datetime
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pytest

from tiltfit.data.readers import excel, guess_contents, read, stream
from tiltfit.errors import DataFileError

ROWS: list[list[Any]] = [
    ["id", "text", "label", "n", "day"],
    ["a", "the puck", "hockey", 3, datetime.date(2026, 1, 2)],
    [17, 'a\nbat, "well"', None, 2.5, None],
    [None, "=1+1", "baseball", None, None],
]


def workbook(path: Path, rows: list[list[Any]], *, more: str | None = None) -> Path:
    book = openpyxl.Workbook()
    sheet = book.active
    for row in rows:
        sheet.append(row)
        for cell in sheet[sheet.max_row]:
            if cell.data_type == "f":
                cell.data_type = "s"
    if more is not None:
        book.create_sheet(more).append(["text"])
    book.save(path)
    return path


def test_the_same_as_csv(tmp_path: Path) -> None:
    path = workbook(tmp_path / "a.xlsx", ROWS)
    with (tmp_path / "a.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["" if v is None else v for v in row] for row in ROWS])
    found, wanted = (read(tmp_path / name, columns=["n"], rows=True) for name in ("a.xlsx", "a.csv"))
    assert found.ids == wanted.ids == ["a", "17", "3"]
    assert found.y is not None
    assert wanted.y is not None
    assert found.y.tolist() == wanted.y.tolist() == ["hockey", None, "baseball"]
    assert found.rows == wanted.rows
    for name in ("text", "n"):
        np.testing.assert_array_equal(found.X[name], wanted.X[name])  # type: ignore[call-overload]
    assert found.origins == [f"{path}, row {n}" for n in (2, 3, 4)]
    assert [chunk.ids for chunk in stream(path, size=2)] == [["a", "17"], ["3"]]
    assert guess_contents(str(path)) is not None


def test_empty_rows_and_columns_are_passed_over(tmp_path: Path) -> None:
    path = workbook(tmp_path / "a.xlsx", [["text", None], [], ["x", None], [None], ["y"]])
    found = read(path)
    assert (found.X, found.ids, found.origins[1]) == (["x", "y"], ["1", "2"], f"{path}, row 5")


def test_other_sheets_are_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    read(workbook(tmp_path / "a.xlsx", ROWS, more="Other"))
    assert "of 2 sheets the first, 'Sheet', is read" in caplog.text


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        ([["text", "text"], ["a", "b"]], "row 1: the header has two columns named 'text'"),
        ([["text", None, "label"], ["a"]], "row 1: the header has no name for the column before 'label'"),
        ([["text"], ["a"], ["a", "b"]], "row 3: the row has 2 cells, but the header has 1"),
        ([["txet"], ["a"]], "row 1: there is no text field 'text'"),
        ([["text"]], "no rows"),
        ([], "no rows"),
    ],
)
def test_refusals(tmp_path: Path, rows: list[list[Any]], why: str) -> None:
    with pytest.raises(DataFileError, match=why):
        read(workbook(tmp_path / "a.xlsx", rows))


@pytest.mark.parametrize("content", [b"", b"text\na\n", b"PK\x03\x04 damaged"])
def test_what_is_no_workbook(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.xlsx").write_bytes(content)
    with pytest.raises(DataFileError, match=r"a\.xlsx: .*(damaged|no rows)"):
        read(tmp_path / "a.xlsx")


def test_texts_that_would_fill_the_memory_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = workbook(tmp_path / "a.xlsx", ROWS)
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/sharedStrings.xml", "<x>" + " " * 300_000 + "</x>")
    assert path.stat().st_size < 20_000
    monkeypatch.setattr(excel, "MAX_HELD", 200_000)
    with pytest.raises(DataFileError, match=r"a\.xlsx: its texts take .* bytes, at most 200,000"):
        read(path)


def test_without_openpyxl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = workbook(tmp_path / "a.xlsx", ROWS)
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(DataFileError, match=r"pip install 'tiltfit\[excel\]'"):
        read(path)
