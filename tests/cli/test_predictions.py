"""Predictions on their way out: beside the rows they are about, and whole files or none."""

from __future__ import annotations

import csv
import gzip
import json
import os
from pathlib import Path

import numpy as np
import openpyxl
import pytest

from tiltfit.cli.options import check_output
from tiltfit.cli.predictions import Layout, Predictions, beside, layout_of, write_predictions
from tiltfit.errors import DataError, FileError

PREDICTIONS = Predictions(["a", "b,c"], ["x", "é"], ["é", "x"], np.array([[0.25, 0.75], [1 - 1e-12, 1e-12]]))


def told(row: dict[str, object], *more: dict[str, object]) -> Predictions:
    """Rows that are all predicted to be x."""
    rows = [row, *more]
    return Predictions(
        [str(i) for i in range(len(rows))], ["x"], ["x"] * len(rows), inputs=rows, confidence=[1.0] * len(rows)
    )


def table(path: Path) -> list[list[str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.reader(file, delimiter="\t" if path.suffix == ".tsv" else ","))


def test_jsonl(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    write_predictions([PREDICTIONS], path)
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert rows == [
        {"id": "a", "label": "é", "proba": {"x": 0.25, "é": 0.75}},
        {"id": "b,c", "label": "x", "proba": {"x": 1.0, "é": 1e-12}},
    ]


def test_csv_gzipped_the_same_each_time(tmp_path: Path) -> None:
    for name in ["a.csv.gz", "b.csv.gz"]:
        write_predictions([PREDICTIONS], tmp_path / name, "csv")
    data = (tmp_path / "a.csv.gz").read_bytes()
    assert data == (tmp_path / "b.csv.gz").read_bytes()
    rows = list(csv.reader(gzip.decompress(data).decode().splitlines()))
    assert rows == [["id", "label", "p_x", "p_é"], ["a", "é", "0.25", "0.75"], ["b,c", "x", "1.0", "1e-12"]]


def test_labels_keep_their_kind_in_json(tmp_path: Path) -> None:
    classes = [np.bool_(False), np.bool_(True)]
    write_predictions([Predictions(["1"], classes, [classes[1]], np.array([[0.5, 0.5]]))], tmp_path / "o.jsonl")
    assert (tmp_path / "o.jsonl").read_text() == '{"id": "1", "label": true, "proba": {"false": 0.5, "true": 0.5}}\n'


@pytest.mark.parametrize(("layout", "name"), [("csv", "o.csv"), ("tsv", "o.tsv")])
def test_tables_keep_every_column_in_its_place(tmp_path: Path, layout: Layout, name: str) -> None:
    rows = [{"Subject": "a\tb", "n": 3, "gone": None, "list": [1, "é"]}, {"Subject": 'say "no",\nplease', "late": True}]
    write_predictions([told(*rows), told(rows[0])], tmp_path / name, layout)
    assert table(tmp_path / name) == [
        ["id", "Subject", "n", "gone", "list", "late", "label", "confidence"],
        ["0", "a\tb", "3", "", '[1, "é"]', "", "x", "1.0"],
        ["1", 'say "no",\nplease', "", "", "", "true", "x", "1.0"],
        ["0", "a\tb", "3", "", '[1, "é"]', "", "x", "1.0"],
    ]


def test_an_input_with_the_name_of_a_prediction_is_kept_under_another() -> None:
    given = {"id": 7, "label": "old", "input_label": "older", "confidence": "sure"}
    found = beside({"label": "new", "confidence": 0.5}, "unused", given)
    assert found == {
        "id": 7, "input_input_label": "old", "input_label": "older", "input_confidence": "sure",
        "label": "new", "confidence": 0.5,
    }  # fmt: skip
    again = beside({"label": "newer"}, "unused", found)
    assert sorted(map(str, again.values())) == sorted(["7", "old", "older", "sure", "new", "0.5", "newer"])


def test_a_field_that_the_table_has_no_column_for_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"'late'.*no column"):
        write_predictions([told({"a": 1}), told({"late": 1})], tmp_path / "o.csv", "csv")
    assert not list(tmp_path.iterdir())


CELLS = ["=1+1", "+A1", "-A1", "@SUM(A1)", "\t=1", "\r=1", "-5", "+3.5", "-1e-3", "a=b", "", "é"]


def test_cells_that_a_spreadsheet_would_run_are_text(tmp_path: Path) -> None:
    rows = [{"=head": cell} for cell in CELLS]
    write_predictions([told(*rows)], tmp_path / "o.csv", "csv")
    header, *found = table(tmp_path / "o.csv")
    assert header[1] == "'=head"
    assert [row[1] for row in found] == [f"'{cell}" for cell in CELLS[:6]] + CELLS[6:]
    write_predictions([told(*rows)], tmp_path / "o.csv", "csv", escape=False)
    assert [row[1] for row in table(tmp_path / "o.csv")] == ["=head", *CELLS]


def test_excel(tmp_path: Path) -> None:
    cells = [cell for cell in CELLS if "\r" not in cell]
    write_predictions([told(*({"text": cell} for cell in cells))], tmp_path / "o.xlsx", "xlsx")
    sheet = openpyxl.load_workbook(tmp_path / "o.xlsx").worksheets[0]
    assert [cell.value for cell in sheet[1]] == ["id", "text", "label", "confidence"]
    column = [row[1] for row in sheet.iter_rows(min_row=2)]
    assert not any(cell.data_type == "f" for cell in column)  # openpyxl's word for formulas
    assert [cell.value for cell in column] == [
        "=1+1",
        "+A1",
        "-A1",
        "@SUM(A1)",
        "\t=1",
        -5,
        3.5,
        -0.001,
        "a=b",
        None,
        "é",
    ]
    assert sheet["D2"].value == 1.0


@pytest.mark.parametrize(("cell", "why"), [("x" * 32_768, "at most 32,767"), ("a\x01", "control characters")])
def test_what_excel_cannot_hold_is_refused(tmp_path: Path, cell: str, why: str) -> None:
    with pytest.raises(FileError, match=rf"o\.xlsx, row 2: .*{why}"):
        write_predictions([told({"text": cell})], tmp_path / "o.xlsx", "xlsx")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["out.xls", "out.txt", "out", "out.conll", "out.xlsx.gz", "out.gz"])
def test_other_endings_are_refused(name: str) -> None:
    with pytest.raises(FileError, match=rf"{name}: its ending .* JSONL, CSV, TSV or Excel"):
        layout_of(Path(name), sequences=False)


def test_endings() -> None:
    names = {"a.CSV": "csv", "a.tsv.gz": "tsv", "a.xlsx": "xlsx", "a.ndjson": "jsonl", "a.json.gz": "jsonl"}
    assert {name: layout_of(Path(name), sequences=False) for name in names} == names
    assert layout_of(Path(os.devnull), sequences=False) is None


@pytest.mark.parametrize(("layout", "name"), [("jsonl", "out.jsonl"), ("csv", "out.csv"), ("csv", "out.csv.gz")])
def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path: Path, layout: Layout, name: str) -> None:
    (tmp_path / name).write_text("old")
    broken = Predictions(["a", "b"], ["x"], ["x", "x"], np.array([[1.0]]))  # a row of probabilities is missing
    with pytest.raises(IndexError):
        write_predictions([broken], tmp_path / name, layout)
    assert [p.name for p in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text() == "old"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_device_is_written_to_not_replaced() -> None:
    write_predictions([PREDICTIONS], Path(os.devnull))
    assert not Path(os.devnull).is_file()


def test_outputs_are_refused_before_work(tmp_path: Path) -> None:
    data = tmp_path / "d.csv"
    data.write_text("text\n")
    check_output(tmp_path / "new.jsonl", [data, "-", None])
    with pytest.raises(FileError, match="does not exist"):
        check_output(tmp_path / "no" / "out.jsonl", [])
    with pytest.raises(FileError, match="is a folder"):
        check_output(tmp_path, [])
    with pytest.raises(FileError, match="also an input"):
        check_output(tmp_path / "." / "d.csv", [str(data)])
