"""A table of messages, from its columns to predictions beside them, as somebody with a spreadsheet would do it."""

from __future__ import annotations

import csv
import json
import tracemalloc
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from tests.cli.test_commands import CONSTRAINTS, document, documents, refused, run

from tiltfit import load
from tiltfit.cli import predict

FIELDS = ["--text", "Subject", "--text", "Message", "--label", "Kind"]


def messages(n: int, seed: int) -> list[dict[str, Any]]:
    """Documents in two columns, with line breaks in a cell; a third of them labelled."""
    found = []
    for i, row in enumerate(documents(n, seed)):
        words = row["text"].split()
        text = {"Subject": " ".join(words[:3]), "Message": "\n".join(words[3:])}
        found.append({"Nr": 100 + i, **text, "Kind": row["label"] if i % 3 == 0 else "", "Price": f"{i}.5"})
    return found


def write(path: Path, rows: list[dict[str, Any]], delimiter: str = ",") -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter=delimiter)
        writer.writeheader()
        writer.writerows(rows)
    return path


def table(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter="\t" if path.suffix == ".tsv" else ","))


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shop")
    write(folder / "train.csv", messages(120, 0))
    write(folder / "new.csv", messages(40, 1))
    (folder / "c.toml").write_text(CONSTRAINTS)
    code, _, err = run("train", folder / "train.csv", "-c", folder / "c.toml", *FIELDS, "-o", folder / "m.tilt")
    assert code == 0, err
    return folder


def test_every_column_stays_and_no_field_is_named_again(shop: Path, tmp_path: Path) -> None:
    assert run("predict", shop / "m.tilt", shop / "new.csv", "-o", tmp_path / "out.csv")[0] == 0
    given, found = table(shop / "new.csv"), table(tmp_path / "out.csv")
    own = ["label", "confidence", "p_baseball", "p_hockey"]
    assert list(found[0]) == ["id", *given[0], *own]
    assert [{name: row[name] for name in given[0]} for row in found] == given
    assert [row["id"] for row in found] == [str(n) for n in range(1, 41)]  # not the lines, of which a row may have many
    truth = [row["label"] for row in documents(40, 1)]
    assert sum(row["label"] == t for row, t in zip(found, truth, strict=True)) >= 36
    for row in found:
        assert row["confidence"] == row[f"p_{row['label']}"] == max(row["p_baseball"], row["p_hockey"], key=float)


def test_other_tables_hold_the_same(shop: Path, tmp_path: Path) -> None:
    for name in ("out.csv", "out.tsv", "out.xlsx"):
        assert run("predict", shop / "m.tilt", shop / "new.csv", "-o", tmp_path / name)[0] == 0
    wanted = table(tmp_path / "out.csv")
    assert table(tmp_path / "out.tsv") == wanted
    sheet = openpyxl.load_workbook(tmp_path / "out.xlsx").worksheets[0]
    header, *rows = sheet.iter_rows(values_only=True)
    found = [dict(zip(header, ["" if v is None else str(v) for v in row], strict=True)) for row in rows]
    assert found == wanted


def test_a_workbook_is_read_as_the_table_is(shop: Path, tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    rows = messages(40, 1)
    for cells in [list(rows[0]), *(list(row.values()) for row in rows)]:
        book.active.append(cells)
    book.save(tmp_path / "new.xlsx")
    code, out, err = run("predict", shop / "m.tilt", tmp_path / "new.xlsx")
    assert code == 0, err
    assert out == run("predict", shop / "m.tilt", shop / "new.csv")[1]


def test_fields_are_remembered_by_the_file_and_may_be_named_again(shop: Path, tmp_path: Path) -> None:
    assert load(shop / "m.tilt").fields_ == {"text": ["Subject", "Message"], "label": "Kind"}
    scores = document("evaluate", shop / "m.tilt", shop / "new.csv")
    assert (scores["rows"], scores["unlabelled"]) == (14, 26)
    other = write(tmp_path / "o.csv", [{"Body": "puck goalie", "Message": "x"}])
    assert "'Subject'" in refused("predict", shop / "m.tilt", other)
    code, out, _ = run("predict", shop / "m.tilt", other, "--text", "Body")
    assert (code, json.loads(out)["label"]) == (0, "hockey")


def test_joined_texts_are_those_of_both_fields(shop: Path, tmp_path: Path) -> None:
    rows = [{"a": row["Subject"], "b": row["Message"]} for row in messages(40, 1)]
    both = write(tmp_path / "both.csv", [{"text": f"{row['a']}\n{row['b']}"} for row in rows])
    apart = write(tmp_path / "apart.csv", rows)
    base = ["predict", shop / "m.tilt"]
    found = [document(*base, apart, "--proba", "--text", "a", "--text", "b")["predictions"],
             document(*base, both, "--proba", "--text", "text")["predictions"]]  # fmt: skip
    assert [row["proba"] for row in found[0]] == [row["proba"] for row in found[1]]
    assert "'nothing'" in refused(*base, apart, "--text", "a", "--text", "nothing")
    assert "several different ones" in refused(*base, apart, "--text", "a", "--text", "a")


@pytest.mark.parametrize("name", ["out.xls", "out.txt", "out"])
def test_an_unknown_ending_is_refused_before_work(shop: Path, tmp_path: Path, name: str) -> None:
    assert "Name it .jsonl, .csv, .tsv" in refused("predict", shop / "m.tilt", shop / "new.csv", "-o", tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_formulas_are_text_unless_they_are_wanted(shop: Path, tmp_path: Path) -> None:
    data = write(tmp_path / "d.csv", [{"Subject": "=1+1", "Message": "puck"}])
    for options, shown in (([], "'=1+1"), (["--no-escape"], "=1+1")):
        assert run("predict", shop / "m.tilt", data, "-o", tmp_path / "o.csv", *options)[0] == 0
        assert table(tmp_path / "o.csv")[0]["Subject"] == shown


def test_pieces_are_the_whole(shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outputs = []
    for size in (7, 1000):
        monkeypatch.setattr(predict, "CHUNK", size)
        assert run("predict", shop / "m.tilt", shop / "new.csv", "-o", tmp_path / "o.csv", "--proba", "--why")[0] == 0
        outputs.append((tmp_path / "o.csv").read_text())
    assert outputs[0] == outputs[1]


def test_memory_does_not_grow_with_the_file(shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(predict, "CHUNK", 100)
    peaks = []
    for n in (10, 2, 20):  # hundreds of rows; the first run is for what is imported and kept
        data = write(tmp_path / "d.csv", [{"Subject": "puck", "Message": "ice " * 500, "n": i} for i in range(100 * n)])
        tracemalloc.start()
        assert run("predict", shop / "m.tilt", data, "-o", tmp_path / "o.csv")[0] == 0
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert len(table(tmp_path / "o.csv")) == 100 * n
    few, many = peaks[1:]
    assert many - few < 500_000  # the 1,800 more rows hold 3,600,000 characters


def test_a_column_is_what_the_model_learned(tmp_path: Path) -> None:
    """A column of text stays text where all cells of the new file could be numbers, and the other way round."""
    rows = [{"text": f"{row['text']}", "code": code, "n": i} for i, (row, code) in enumerate(
        zip(documents(40, 0), ["007", "12x"] * 20, strict=True))]  # fmt: skip
    (tmp_path / "c.toml").write_text(CONSTRAINTS.replace('{ word = "', '{ column = "text", word = "'))
    columns = ["--column", "code", "--column", "n"]
    data = write(tmp_path / "d.csv", rows)
    assert run("train", data, "-c", tmp_path / "c.toml", *columns, "-o", tmp_path / "m.tilt")[0] == 0
    one = write(tmp_path / "one.csv", [{"text": "puck", "code": "5", "n": "1"}])
    assert run("predict", tmp_path / "m.tilt", one)[0] == 0
    bad = write(tmp_path / "bad.csv", [{"text": "puck", "code": "5", "n": "1"}, {"text": "a", "code": "5", "n": "few"}])
    message = refused("predict", tmp_path / "m.tilt", bad)
    assert f"{bad}, line 3: the column 'n' holds 'few'" in message
