"""Reading sequences from CoNLL columns and JSONL: what is read, and what is refused with file, line and why."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tiltfit.data.readers.tagged import SequenceDataset, read_sequences
from tiltfit.data.sequences import as_sequences
from tiltfit.errors import DataError, DataFileError
from tiltfit.samples.labels import tag_targets


def write(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def tags_of(data: SequenceDataset) -> list[list[object] | None]:
    assert data.y is not None
    return [None if row is None else list(row) for row in data.y]


SPACES = "-DOCSTART- -X- O\n\nNew NNP B-LOC\nYork NNP I-LOC\n\n\n-DOCSTART- -X- O\n, , O\n"


# What is read -----------------------------------------------------------------------------------------------------


def test_columns_blank_lines_and_docstart(tmp_path: Path) -> None:
    path = write(tmp_path, "a.conll", SPACES)
    data = read_sequences(path)
    assert data.X == [["New", "York"], [","]]
    assert tags_of(data) == [["B-LOC", "I-LOC"], ["O"]]
    assert data.ids == ["1", "2"]
    assert data.origins == [f"{path}, line 3", f"{path}, line 8"]
    assert data.sources == (str(path),)
    assert len(data) == 2
    assert data.labelled.tolist() == [True, True]


@pytest.mark.parametrize(
    ("content", "options", "tokens", "tags"),
    [
        ("a\tX\tmore\nb\tY\tmore", {"label": 1}, ["a", "b"], ["X", "Y"]),
        ("X a\nY b", {"token": -1, "label": 0}, ["a", "b"], ["X", "Y"]),
        ("1 a - X\n2 b - Y\r\n", {"token": 1}, ["a", "b"], ["X", "Y"]),
        ("a|X\nb|Y", {"delimiter": "|"}, ["a", "b"], ["X", "Y"]),
        ("New York\tX\nb\tY", {}, ["New York", "b"], ["X", "Y"]),
        ("a\u00a0b   X \n\u2009c Y", {}, ["a\u00a0b", "\u2009c"], ["X", "Y"]),
        ("a ?\nb Y", {"unlabelled": "?"}, ["a", "b"], [None, "Y"]),
        ("a _\nb -", {"unlabelled": ["_", "-"]}, ["a", "b"], None),
        ("a ?\nb Y", {}, ["a", "b"], ["?", "Y"]),
        ("a\tX\nb\t", {}, ["a", "b"], ["X", None]),
    ],
)
def test_any_layout(tmp_path: Path, content: str, options: dict[str, Any], tokens: Any, tags: Any) -> None:
    data = read_sequences(write(tmp_path, "a.txt", content), **options)
    assert data.tokens == [tokens]
    assert tags_of(data) == [tags]


def test_files_without_labels(tmp_path: Path) -> None:
    assert read_sequences(write(tmp_path, "a.txt", "a\nb\n\nc\n")).y is None
    data = read_sequences(write(tmp_path, "b.txt", "a X\nb Y\n"), label=None)
    assert (data.X, data.y, data.labelled.tolist()) == ([["a", "b"]], None, [False])


def test_compressed_files_and_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = SPACES.encode()
    wanted = [["New", "York"], [","]]
    assert read_sequences(write(tmp_path, "a.txt.gz", gzip.compress(plain))).tokens == wanted
    assert read_sequences(write(tmp_path, "a.txt.bz2", bz2.compress(plain))).tokens == wanted
    line = b'{"tokens": ["a"], "tags": ["X"]}'
    assert read_sequences(write(tmp_path, "a.jsonl.bz2", bz2.compress(line))).X == [["a"]]
    assert read_sequences(write(tmp_path, "noname", line)).X == [["a"]]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(plain)))
    assert read_sequences("-").ids == ["1", "2"]


def test_blank_tokens_can_be_skipped_or_replaced(tmp_path: Path) -> None:
    for content in ("a X\n  Y\nb X\n", "a\tX\n\tY\nb\tX\n", "a\tX\n \tY\nb\tX\n"):
        path = write(tmp_path, "a.txt", content)
        assert read_sequences(path, blank="skip").X == [["a", "b"]]
        data = read_sequences(path, blank="replace", replacement="<blank>")
        assert data.X == [["a", "<blank>", "b"]]
        assert tags_of(data) == [["X", "Y", "X"]]


def test_jsonl(tmp_path: Path) -> None:
    rows = [
        {"id": 7, "tokens": ["a", "b"], "tags": ["X", None], "year": 1999},
        {"tokens": ["c"], "tags": None, "year": 2001},
        {"tokens": ["d"], "year": None},
        {"tokens": ["e"], "tags": [None], "year": 3},
    ]
    path = write(tmp_path, "a.jsonl", "\n\n".join(map(json.dumps, rows)))
    data = read_sequences(path)
    assert data.X == data.tokens == [["a", "b"], ["c"], ["d"], ["e"]]
    assert tags_of(data) == [["X", None], None, None, None]
    assert data.ids == ["7", "2", "3", "4"]
    table = read_sequences(path, columns=["year"])
    inputs = as_sequences(table.X)
    assert inputs.column("year")[:3].tolist() == [1999, 1999, 2001]
    assert table.tokens == data.X
    assert read_sequences(path, label=None).y is None


def test_jsonl_with_other_names(tmp_path: Path) -> None:
    path = write(tmp_path, "a.jsonl", '{"words": ["a"], "ner": ["X"], "key": "k"}')
    data = read_sequences(path, tokens="words", tags="ner", identifier="key")
    assert (data.X, tags_of(data), data.ids) == ([["a"]], [["X"]], ["k"])


def test_several_files(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    paths = [write(tmp_path, "a.txt", "a X\n"), write(tmp_path / "b", "a.txt", "0\tb\tY\n")]
    data = read_sequences(paths, token=-2)
    assert data.X == [["a"], ["b"]]
    assert data.ids == [f"{path}:1" for path in paths]


TOKEN = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=4).filter(
    lambda t: not t.startswith(("-DOCSTART-", "{"))
)


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_what_is_written_is_read(tmp_path: Path, data: st.DataObject) -> None:
    rows = data.draw(st.lists(st.lists(st.tuples(TOKEN, TOKEN), min_size=1, max_size=4), min_size=1, max_size=4))
    delimiter = data.draw(st.sampled_from([" ", "\t", "  "]))
    text = "\n\n".join("\n".join(f"{token}{delimiter}{tag}" for token, tag in row) for row in rows)
    found = read_sequences(write(tmp_path, "a.txt", text), delimiter="\t" if delimiter == "\t" else None)
    assert found.tokens == [[token for token, _ in row] for row in rows]
    assert tags_of(found) == [[tag for _, tag in row] for row in rows]
    assert as_sequences(found.X).n == sum(map(len, rows))


def test_what_is_read_can_be_encoded(tmp_path: Path) -> None:
    data = read_sequences(write(tmp_path, "a.txt", "a X\nb ?\n\nc Y\n\nd ?\n"), unlabelled="?")
    classes, codes, _ = tag_targets(data.y, as_sequences(data.X))
    assert (classes.tolist(), codes.tolist()) == (["X", "Y"], [0, -1, 1, -1])


# What is refused --------------------------------------------------------------------------------------------------

BAD: dict[str, tuple[str, str | bytes, dict[str, Any], list[str]]] = {
    "ragged": ("a.txt", "a X\n\nb\n", {}, ["a.txt, line 3:", "1 columns here, but 2 in line 1", "spaces", "'b'"]),
    "too wide": ("a.txt", "a X\nb c X\n", {}, ["line 2:", "3 columns here"]),
    "ragged tabs": ("a.txt", "a\tX\nb\n", {}, ["line 2:", "tabs"]),
    "tabs later": ("a.txt", "a b X\nb\tX\n", {}, ["line 2:", "Is this line separated by tabs?"]),
    "blank token": ("a.txt", "a X\n  Y\n", {}, ["a.txt, line 2:", "blank", "blank='skip'", "'replace'"]),
    "blank cell": ("a.txt", "a\tX\n \tY\n", {}, ["line 2:", "blank: ' '"]),
    "control character": ("a.txt", "a X\nb\x07 X\n", {}, ["line 2:", "control character '\\x07'"]),
    "no such column": ("a.txt", "\na X\n", {"label": 2}, ["line 2:", "no column 2 for the label", "has 2"]),
    "no such token": ("a.txt", "a X\n", {"token": -3}, ["no column -3 for the token"]),
    "one column twice": ("a.txt", "a X\n", {"label": 0}, ["both"]),
    "empty": ("a.txt", "\n\n", {}, ["no sequences"]),
    "only docstart": ("a.txt", "-DOCSTART- O\n", {}, ["no sequences"]),
    "columns": ("a.txt", "a X\n", {"columns": ["year"]}, ["no names", "numbers="]),
    "not utf-8": ("a.txt", b"a X\n\xff X\n", {}, ["line 2:", "UTF-8"]),
    "cut bzip2": ("a.txt.bz2", bz2.compress(b"a X\n" * 9999)[:-9], {}, ["bzip2 data are damaged"]),
    "bad bzip2": ("a.txt.bz2", b"BZh91AY&SYjunk" * 9, {}, ["bzip2 data are damaged"]),
    "format": ("a.txt", "a X\n", {"format": "conl"}, ["'conl'", 'Did you mean "conll"']),
    "no tokens": ("a.jsonl", '{"token": ["a"]}', {}, ["line 1:", "'tokens'", 'Did you mean "token"']),
    "text": ("a.jsonl", '{"tokens": "a b"}', {}, ["line 1:", "a string", "Split"]),
    "empty list": ("a.jsonl", '{"tokens": []}', {}, ["line 1:", "empty list"]),
    "number": ("a.jsonl", '{"tokens": ["a", 3]}', {}, ["line 1:", "token 1", "a number"]),
    "blank": ("a.jsonl", '{"tokens": ["a", " "]}', {}, ["line 1:", "token 1", "empty token"]),
    "tags are text": ("a.jsonl", '{"tokens": ["a"], "tags": "X"}', {}, ["line 1:", "'tags' is a string"]),
    "lengths": ("a.jsonl", '{"tokens": ["a"], "tags": ["X", "Y"]}', {}, ["line 1:", "1 tokens, but 2 tags"]),
    "nested tag": ("a.jsonl", '{"tokens": ["a"], "tags": [["X"]]}', {}, ["line 1:", "label is a list"]),
    "mixed": ("a.jsonl", '{"tokens": ["a"], "tags": ["1"]}\n{"tokens": ["a"], "tags": [1]}', {}, ["line 2", "types"]),
    "column": ("a.jsonl", '{"tokens": ["a"], "yaer": 1}', {"columns": ["year"]}, ["'year'", 'Did you mean "yaer"']),
    "not json": ("a.jsonl", "a X", {}, ["line 1:", "not JSON"]),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_files_are_refused(tmp_path: Path, name: str) -> None:
    file, content, options, words = BAD[name]
    with pytest.raises(DataFileError) as caught:
        read_sequences(write(tmp_path, file, content), **options)
    for part in words:
        assert part in str(caught.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"token": None}, "token=None"),
        ({"label": "x"}, "label='x'"),
        ({"blank": "drop"}, "blank='drop'"),
        ({"delimiter": ""}, "delimiter"),
        ({"tokens": "tags"}, "different"),
        ({"columns": ["tags"]}, "different"),
    ],
)
def test_bad_options_are_refused(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_sequences(write(tmp_path, "a.txt", "a X\n"), **options)


def test_missing_and_doubled_sources_are_refused(tmp_path: Path) -> None:
    write(tmp_path, "train.txt", "a X\n")
    with pytest.raises(DataFileError, match=r"no such file.*train\.txt"):
        read_sequences(tmp_path / "trian.txt")
    with pytest.raises(DataError, match="once"):
        read_sequences(["-", "-"])
    with pytest.raises(DataError, match="no source"):
        read_sequences([])


# Real files -------------------------------------------------------------------------------------------------------


@pytest.mark.data
@pytest.mark.slow
def test_the_apartments_collection(shared_data: Path) -> None:
    path = shared_data / "apartments" / "ads_unlabeled.txt.bz2"
    if not path.is_file():
        pytest.skip(f"{path.name} is not here")
    with pytest.raises(DataFileError, match="line 110789: the token .* is blank"):
        read_sequences(path)
    data = read_sequences(path, unlabelled="?", blank="skip")
    assert (len(data), sum(map(len, data.tokens))) == (8464, 971_747)
    assert not data.labelled.any()
