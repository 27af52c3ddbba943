"""Reading data files: what is read, and what is refused with file, line and why."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tiltfit.data.inputs import TableInputs
from tiltfit.data.readers import Dataset, read, record, source
from tiltfit.errors import DataError, DataFileError


def write(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def refused(path: object, **options: object) -> str:
    with pytest.raises(DataFileError) as caught:
        read(path, **options)  # type: ignore[arg-type]
    return str(caught.value)


# What is read ---------------------------------------------------------------------------------------------------


def test_jsonl_keeps_the_types_of_labels_and_marks_unlabelled_rows(tmp_path: Path) -> None:
    path = write(tmp_path, "a.jsonl", '{"text": "x", "label": 3}\n\n{"text": "y", "label": null}\n{"text": "z"}\n')
    data = read(path)
    assert data.X == ["x", "y", "z"]
    assert data.y is not None
    assert data.y.tolist() == [3, None, None]
    assert type(data.y[0]) is int
    assert data.labelled.tolist() == [True, False, False]
    assert data.ids == ["1", "2", "3"]
    assert data.origins[1] == f"{path}, line 3"


@pytest.mark.parametrize(("written", "label"), [('"a"', "a"), ("true", True), ("7", 7), ("7.0", 7), ('" "', None)])
def test_json_labels(tmp_path: Path, written: str, label: object) -> None:
    y = read(write(tmp_path, "a.jsonl", f'{{"text": "x", "label": {written}}}')).y
    assert y is not None
    assert y[0] == label
    assert type(y[0]) is type(label)


def test_no_label_field_anywhere_gives_no_y(tmp_path: Path) -> None:
    assert read(write(tmp_path, "a.jsonl", '{"text": "x"}')).y is None
    assert read(write(tmp_path, "a.csv", "text\nx\n")).y is None


def test_label_none_reads_no_labels(tmp_path: Path) -> None:
    assert read(write(tmp_path, "a.csv", "text,label\nx,a\n"), label=None).y is None


def test_own_ids_are_used(tmp_path: Path) -> None:
    path = write(tmp_path, "a.jsonl", '{"id": 17, "text": "x"}\n{"id": "k", "text": "x"}\n{"id": "", "text": "x"}')
    assert read(path).ids == ["17", "k", "3"]


def test_csv_with_quotes_line_ends_and_blank_lines(tmp_path: Path) -> None:
    content = 'id,text,label\r\n1,"two\r\nlines, one ""quote""",a\r\n\r\n2,é,\r\n'
    data = read(write(tmp_path, "a.csv", content))
    assert data.X == ['two\r\nlines, one "quote"', "é"]
    assert data.y is not None
    assert data.y.tolist() == ["a", None]
    assert data.origins == [f"{tmp_path / 'a.csv'}, line {n}" for n in (2, 5)]


def test_csv_labels_stay_strings(tmp_path: Path) -> None:
    y = read(write(tmp_path, "a.csv", "text,label\nx,1\ny,true\n")).y
    assert y is not None
    assert y.tolist() == ["1", "true"]


def test_tsv_and_delimiter(tmp_path: Path) -> None:
    assert read(write(tmp_path, "a.tsv", "text\tlabel\na, b\tc\n")).X == ["a, b"]
    assert read(write(tmp_path, "a.csv", "text;label\na, b;c\n"), delimiter=";").X == ["a, b"]
    assert read(write(tmp_path, "noname", "text|label\na, b|c\n"), delimiter="|").X == ["a, b"]


def test_other_field_names(tmp_path: Path) -> None:
    data = read(write(tmp_path, "a.csv", "body,topic,key\nx,a,k\n"), text="body", label="topic", identifier="key")
    assert (data.X, data.ids) == (["x"], ["k"])
    assert data.y is not None
    assert data.y.tolist() == ["a"]


def test_text_folder(tmp_path: Path) -> None:
    for name in ["hockey/2.txt", "hockey/1.txt", "baseball/1.txt", "unlabelled/1.txt", "unlabeled/1.txt", "top.txt"]:
        write(tmp_path, name, f"text of {name}")
    write(tmp_path, "hockey/.hidden.txt", "no")
    data = read(tmp_path)
    assert data.ids[:4] == ["top.txt", "baseball/1.txt", "hockey/1.txt", "hockey/2.txt"]
    assert data.ids[4:] == ["unlabeled/1.txt", "unlabelled/1.txt"]
    assert data.y is not None
    assert data.y.tolist() == [None, "baseball", "hockey", "hockey", None, None]
    assert data.X[2] == "text of hockey/1.txt"  # type: ignore[index]
    assert data.origins[0] == str(tmp_path / "top.txt")


def test_folder_without_labels_gives_no_y(tmp_path: Path) -> None:
    write(tmp_path, "unlabelled/1.txt", "x")
    assert read(tmp_path).y is None


def test_folder_says_what_it_passed_over(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    write(tmp_path, "a/1.txt", "x")
    write(tmp_path, "a/2.md", "x")
    read(tmp_path)
    assert "passed over 1 files" in caplog.text


@pytest.mark.parametrize("name", ["a.jsonl.gz", "a.jsonl"])
def test_gzip_is_told_by_its_magic_bytes(tmp_path: Path, name: str) -> None:
    content = '{"text": "x"}\n'
    assert read(write(tmp_path, name, gzip.compress(content.encode()))).X == ["x"]
    assert read(write(tmp_path, name, content)).X == ["x"]


def test_bzip2_is_read_and_a_text_that_begins_like_it_is_text(tmp_path: Path) -> None:
    assert read(write(tmp_path, "a.csv.bz2", bz2.compress(b"text\nx\n"))).X == ["x"]
    write(tmp_path, "f/a/1.txt.bz2", bz2.compress(b"x"))
    assert read(tmp_path / "f").X == ["x"]
    assert read(write(tmp_path, "b.csv", "BZh9,text\n1,x\n")).X == ["x"]
    cut = write(tmp_path, "c.csv.bz2", bz2.compress(b"text\n" + b"x\n" * 999)[:-9])
    assert "bzip2 data are damaged or cut off" in refused(cut)


def test_gzipped_folder_and_csv(tmp_path: Path) -> None:
    assert read(write(tmp_path, "a.csv.gz", gzip.compress(b"text\nx\n"))).X == ["x"]
    write(tmp_path, "f/a/1.txt.gz", gzip.compress(b"x"))
    assert read(tmp_path / "f").X == ["x"]


def test_byte_order_mark_is_dropped(tmp_path: Path) -> None:
    assert read(write(tmp_path, "a.csv", b"\xef\xbb\xbftext\nx\n")).X == ["x"]
    assert read(write(tmp_path, "noname", b'\xef\xbb\xbf{"text": "x"}')).X == ["x"]
    write(tmp_path, "f/1.txt", b"\xef\xbb\xbfx")
    assert read(tmp_path / "f").X == ["x"]


@pytest.mark.parametrize("pack", [lambda b: b, gzip.compress])
def test_standard_input(monkeypatch: pytest.MonkeyPatch, pack: object) -> None:
    def feed(content: bytes) -> io.BytesIO:
        stream = io.BytesIO(pack(content))  # type: ignore[operator]
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(stream))
        return stream

    stream = feed(b'{"text": "x"}')
    data = read("-")
    assert (data.X, data.ids) == (["x"], ["1"])
    assert not stream.closed
    feed(b"text\nx\n")
    assert read("-", format="csv").X == ["x"]


def test_several_sources_in_their_order(tmp_path: Path) -> None:
    labelled = write(tmp_path, "a/x.csv", "text,label\nx,a\n")
    unlabelled = write(tmp_path, "b/x.jsonl", '{"text": "y"}')
    same = write(tmp_path, "b/x.csv", "text,label\nz,b\n")
    data = read([labelled, unlabelled, str(same)])
    assert data.X == ["x", "y", "z"]
    assert data.y is not None
    assert data.y.tolist() == ["a", None, "b"]
    assert data.ids == [f"{labelled}:1", "x.jsonl:1", f"{same}:1"]
    assert data.sources == (str(labelled), str(unlabelled), str(same))


def test_columns_make_a_table(tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv", "text,age,zip,rate,label\nx,3,01234,1.5,a\ny,4,99999,,b\n")
    data = read(path, columns=["age", "zip", "rate"])
    assert isinstance(data.X, dict)
    assert list(data.X) == ["text", "age", "zip", "rate"]
    assert data.X["text"].tolist() == ["x", "y"]
    assert data.X["age"].dtype == np.int64
    assert data.X["zip"].tolist() == ["01234", "99999"]
    np.testing.assert_array_equal(data.X["rate"], [1.5, np.nan])
    assert TableInputs(data.X).n == 2


def test_json_columns(tmp_path: Path) -> None:
    rows = [{"text": "x", "n": 1, "ok": True, "s": "a"}, {"text": "y", "n": 2.5, "ok": False}]
    X = read(write(tmp_path, "a.jsonl", "\n".join(map(json.dumps, rows))), columns=["n", "ok", "s", "text"]).X
    assert isinstance(X, dict)
    assert {name: X[name].tolist() for name in X} == {
        "text": ["x", "y"],
        "n": [1.0, 2.5],
        "ok": [True, False],
        "s": ["a", None],
    }
    assert X["ok"].dtype == np.bool_


def test_long_cells_are_read_and_the_csv_module_is_left_as_it_was(tmp_path: Path) -> None:
    before = csv.field_size_limit()
    long = "word " * 100_000
    data = read(write(tmp_path, "a.csv", f"text\n{long}\n"))
    assert list(data.X) == [long]
    assert csv.field_size_limit() == before


# What is refused ------------------------------------------------------------------------------------------------

TEXT = '{"text": "x"}\n'
BAD: dict[str, tuple[str, str | bytes, dict[str, object], str]] = {
    "bad json": ("a.jsonl", TEXT + '{"text": }', {}, "line 2: not JSON: Expecting value"),
    "a list over lines": ("a.json", "[\n{}\n]", {}, "line 1: not JSON: .*write one object per line"),
    "not an object": ("a.jsonl", TEXT + "[1]", {}, "line 2: the line is a list, not an object"),
    "null line": ("a.jsonl", "null", {}, "line 1: the line is null"),
    "field twice": ("a.jsonl", '{"text": "x", "text": "y"}', {}, "line 1: .*'text' stands twice"),
    "not a number": ("a.jsonl", '{"text": "x", "label": NaN}', {}, "line 1: .*NaN is not a JSON value.*null"),
    "deep nesting": ("a.jsonl", "[" * 200_000, {}, "line 1: the JSON is nested too deeply"),
    "many digits": ("a.jsonl", '{"text": "x", "label": ' + "1" * 10_000 + "}", {}, "line 1: not JSON"),
    "missing text": ("a.jsonl", TEXT + '{"txt": "x"}', {}, "line 2: there is no text field 'text'.*mean \"txt\""),
    "text is a number": ("a.jsonl", '{"text": 3}', {}, "line 1: the text field 'text' is a number"),
    "text is null": ("a.jsonl", '{"text": null}', {}, "line 1: the text field 'text' is null"),
    "surrogate": ("a.jsonl", '{"text": "\\ud800"}', {}, "line 1: .*half of a surrogate pair"),
    "escaped NUL": ("a.jsonl", '{"text": "x", "label": "a\\u0000"}', {}, "line 1: the label contains a NUL"),
    "several labels": ("a.jsonl", '{"text": "x", "label": ["a", "b"]}', {}, "line 1: .*one label at most"),
    "fractional label": ("a.jsonl", '{"text": "x", "label": 0.5}', {}, "line 1: the label 0.5 is not text"),
    "bad id": ("a.jsonl", '{"text": "x", "id": []}', {}, "line 1: the id is a list"),
    "mixed labels": (
        "a.jsonl",
        '{"text": "x", "label": 1}\n{"text": "x", "label": true}',
        {},
        "line 2: the label True is true or false, but 1 in .*line 1 is an integer",
    ),
    "nested column": ("a.jsonl", '{"text": "x", "n": {}}', {"columns": ["n"]}, "line 1: the column 'n' is an object"),
    "infinite column": ("a.jsonl", '{"text": "x", "n": 1e999}', {"columns": ["n"]}, "line 1: .*'n' is a number too"),
    "huge column": (
        "a.jsonl",
        f'{{"text": "x", "n": 1{"0" * 400}}}',
        {"columns": ["n"]},
        "line 1: .*'n' is a number too",
    ),
    "mixed column": (
        "a.jsonl",
        '{"text": "x", "n": 1}\n{"text": "x", "n": "one"}',
        {"columns": ["n"]},
        "line 2: the column 'n' is text here, but a number in .*line 1",
    ),
    "column nowhere": ("a.csv", "text,age\nx,1\n", {"columns": ["aeg"]}, "no column field 'aeg'.*mean \"age\""),
    "label nowhere": ("a.csv", "text,topic\nx,1\n", {"label": "topics"}, "no label field 'topics'.*mean \"topic\""),
    "no text column": ("a.csv", "Text,label\nx,a\n", {}, "line 1: there is no text field 'text'.*mean \"Text\""),
    "other delimiter": ("a.csv", "text;label\nx;a\n", {}, "line 1: .*Is the delimiter ';'"),
    "two columns": ("a.csv", "text,label,label\nx,a,b\n", {}, "line 1: .*two columns named 'label'"),
    "short row": ("a.csv", 'text,label\n"a\nb",c\nx\n', {}, "line 4: the row has 1 cells, but the header has 2"),
    "long row": ("a.csv", "text,label\nx,a,b\n", {}, "line 2: the row has 3 cells"),
    "open quote": ("a.csv", 'text\nx\n"y\nz\n', {}, "line 3: a quote .* never closed"),
    "text after quote": ("a.csv", 'text\n"x"y\n', {}, "line 2: text follows a closing quote"),
    "bare returns": ("a.csv", "text\rx\ry\r", {}, "line 1: a bare carriage return"),
    "NUL byte": ("a.csv", b"text\nx\0y\n", {}, "line 2: .*NUL byte"),
    "UTF-16": ("a.csv", "text\nx\n".encode("utf-16"), {}, "line 1: the file is UTF-16"),
    "Latin-1": ("a.csv", "text\nécole\n".encode("latin-1"), {}, r"line 2: byte 1 of the line \(0xe9\) is not UTF-8"),
    "no rows": ("a.csv", "text,label\n", {}, "no rows"),
    "empty file": ("a.jsonl", "", {}, "no rows"),
    "empty csv": ("a.csv", "", {}, "no rows"),
    "unknown format": ("a.csv", "text\nx\n", {"format": "cvs"}, "no data format 'cvs'.*mean \"csv\""),
    "untold format": ("a.data", "text\nx\n", {}, "cannot tell its format"),
    "folder format": ("a.csv", "text\nx\n", {"format": "folder"}, "not a folder"),
    "cut gzip": ("a.csv.gz", gzip.compress(b"text\n" + b"x\n" * 999)[:-9], {}, "gzip data are damaged or cut off"),
    "bad gzip": ("a.csv.gz", gzip.compress(b"text\nx\n") + b"junk", {}, "gzip data are damaged or cut off"),
}


@pytest.mark.parametrize("name", BAD)
def test_refusals_name_file_line_and_why(tmp_path: Path, name: str) -> None:
    file, content, options, message = BAD[name]
    said = refused(write(tmp_path, file, content), **options)
    assert re.search(message, said), said
    assert file in said or name == "unknown format"


def test_missing_file_names_its_neighbour(tmp_path: Path) -> None:
    write(tmp_path, "train.csv", "text\nx\n")
    assert 'there is no such file. Did you mean "train.csv"?' in refused(tmp_path / "trian.csv")


def test_folder_refusals(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert "no .txt files here" in refused(tmp_path / "empty")
    write(tmp_path, "deep/a/b/1.txt", "x")
    assert "folders inside the folder of a label" in refused(tmp_path / "deep")
    write(tmp_path, "bad/a/1.txt", b"fine\n\xff\n")
    assert "1.txt, line 2: byte 1" in refused(tmp_path / "bad")
    write(tmp_path, "good/a/1.txt", "x")
    assert "has no columns" in refused(tmp_path / "good", columns=["age"])
    assert "is a folder" in refused(tmp_path / "good", format="csv")


def test_oversized_fields(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record, "MAX_TEXT", 10)
    assert "line 2: a cell is longer than 10" in refused(write(tmp_path, "a.csv", "text\n" + "x" * 11))
    assert "line 1: the field 'text' has 11 char" in refused(write(tmp_path, "a.jsonl", '{"text": "xxxxxxxxxxx"}'))
    monkeypatch.setattr(source, "MAX_LINE", 20)
    assert "line 1: the line is longer than 20" in refused(write(tmp_path, "a.jsonl", TEXT[:-2] + " " * 20))
    write(tmp_path, "f/1.txt", "x" * 21)
    assert "the file is longer than 20" in refused(tmp_path / "f")


def test_wrong_arguments(tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv", "text\nx\n")
    with pytest.raises(DataError, match="one character"):
        read(path, delimiter="ab")
    with pytest.raises(DataError, match="once only"):
        read(["-", "-"])
    with pytest.raises(DataError, match="no source"):
        read([])
    with pytest.raises(DataError, match="label and an input"):
        read(path, label="text")


# Anything else --------------------------------------------------------------------------------------------------

FRAGMENTS = st.sampled_from(
    [
        b'{"text": "x"}',
        b"text,label",
        b'"',
        b"\n",
        b"\r\n",
        b",",
        b"\t",
        b"\x1f\x8b",
        b"\0",
        b"\xef\xbb\xbf",
        b"{",
        b"[1",
    ]
)
BYTES = st.one_of(
    st.binary(max_size=200),
    st.lists(st.one_of(FRAGMENTS, st.binary(max_size=5)), max_size=12).map(b"".join),
    st.binary(max_size=50).map(gzip.compress),
    st.binary(max_size=50).map(lambda b: gzip.compress(b)[:-3]),
)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=BYTES, format=st.sampled_from(["auto", "jsonl", "csv", "tsv"]), header=st.booleans())
def test_any_bytes_are_read_or_refused(tmp_path: Path, content: bytes, format: str, header: bool) -> None:
    path = write(tmp_path, "a.bin", b"text,label,n\n" * header + content)
    data = read_or_refusal(path, format=format, columns=["n"])
    if isinstance(data, Dataset):
        assert len(data) == len(data.origins) == len(data.X["text"]) > 0  # type: ignore[call-overload]
    else:
        assert "a.bin" in data


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=BYTES)
def test_any_bytes_in_a_folder(tmp_path: Path, content: bytes) -> None:
    write(tmp_path, "f/a/1.txt", content)
    data = read_or_refusal(tmp_path / "f")
    assert len(data) == 1 if isinstance(data, Dataset) else "1.txt" in data


def read_or_refusal(path: Path, **options: object) -> Dataset | str:
    try:
        return read(path, **options)  # type: ignore[arg-type]
    except DataFileError as error:  # nothing else may come out
        return str(error)


TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(st.tuples(TEXTS, st.one_of(st.none(), TEXTS.filter(str.strip))), min_size=1, max_size=6))
def test_what_is_written_is_read_back(tmp_path: Path, rows: list[tuple[str, str | None]]) -> None:
    texts, labels = [text for text, _ in rows], [label for _, label in rows]
    with (tmp_path / "a.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_ALL)
        writer.writerows([["text", "label"], *([text, label or ""] for text, label in rows)])
    lines = (json.dumps({"text": text, "label": label}, ensure_ascii=False) for text, label in rows)
    write(tmp_path, "a.jsonl", "\n".join(lines))
    for name in ["a.csv", "a.jsonl"]:
        data = read(tmp_path / name)
        assert list(data.X) == texts
        assert data.y is not None
        assert data.y.tolist() == labels
