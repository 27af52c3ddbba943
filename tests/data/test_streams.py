"""Streams of documents: the same as reading everything, in chunks, whatever the lines between are like."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import itertools
import json
import os
import re
import sys
import threading
import tracemalloc
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tiltfit.data.readers import Dataset, DocumentStream, read, record, source, stream
from tiltfit.errors import DataError, DataFileError

ANY = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])


def write(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def refused(make: Callable[[], object]) -> str:
    with pytest.raises(DataFileError) as caught:
        make()
    return str(caught.value)


def rows(chunks: list[Dataset]) -> list[tuple[Any, ...]]:
    """Everything about each document, one tuple a document."""
    found: list[tuple[Any, ...]] = []
    for chunk in chunks:
        columns = [list(chunk.X[name]) for name in chunk.X] if isinstance(chunk.X, dict) else [list(chunk.X)]
        labels = [None] * len(chunk) if chunk.y is None else chunk.y.tolist()
        found += zip(*columns, labels, chunk.ids, chunk.origins, strict=True)
    return found


def texts(documents: DocumentStream) -> list[list[str]]:
    return [list(chunk.X) for chunk in documents]


def test_digests_tell_streams_apart(tmp_path: Path) -> None:
    """What is learned from matters: texts, labels, columns and their order; not names, lines and malformed records."""

    def digests(content: str, **how: Any) -> tuple[str, str, str]:
        documents = stream(write(tmp_path, "a.jsonl", content), size=2, columns=["age"], on_error="skip", **how)
        list(documents)
        return documents.digest, documents.passed, documents.head

    content = [{"text": t, "label": "ab"[i % 2], "age": i, "id": f"d{i}"} for i, t in enumerate("pqrst")]

    def written(items: list[dict[str, Any]]) -> str:
        return "".join(json.dumps(item) + "\n" for item in items)

    whole, _, head = digests(written(content))
    assert digests(written(content[:2]))[0] == head == digests(written(content[:2]))[2]
    assert digests("{no\n\n" + written([item | {"id": "x"} for item in content])) == (whole, "", head)
    assert digests(written(content), skip=2) == (whole, head, head)
    assert digests(written(content), skip=5) == (whole, whole, head)
    changes: list[dict[str, Any]] = [{"text": "z"}, {"label": "c"}, {"age": 7}, {"label": None}]
    others = [digests(written([*content[:4], content[4] | change]))[0] for change in changes]
    swapped = digests(written([content[1], content[0], *content[2:]]))
    assert len({whole, *others, swapped[0]}) == len(changes) + 2
    assert swapped[2] != head


def test_a_chunk_that_is_late_ends_with_a_whole_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of standard input; seconds are counted while the next chunk is read, not while the last one is worked on."""
    now = [0.0]
    monkeypatch.setattr("tiltfit.data.readers.chunks.time.monotonic", lambda: now[0])

    class Slow(io.BytesIO):
        def readinto(self, buffer: Any) -> int:
            now[0] += 0.3
            line = self.readline()
            buffer[: len(line)] = line
            return len(line)

    content = b"".join(b'{"text": "%d"}\n' % i for i in range(21))
    for step, sizes in ((2, [4, 4, 2, 4, 4, 2, 1]), (5, [5, 5, 5, 5, 1]), (None, [10, 10, 1])):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(Slow(content)))
        found = []
        for chunk in stream("-", size=10, step=step, format="jsonl"):
            now[0] += 100.0
            found.append(len(chunk))
        assert found == sizes


@pytest.mark.parametrize("step", [0, -1, True, 2.0])
def test_a_step_that_is_no_number_of_documents(step: Any) -> None:
    with pytest.raises(DataError, match="step="):
        stream("-", size=10, step=step)


def cut(items: list[Any], size: int, skip: int = 0) -> list[list[Any]]:
    """The chunks as they must be: by the number of the instance."""
    whole = [items[i : i + size] for i in range(0, len(items), size)]
    numbered = [[(k * size + i, item) for i, item in enumerate(part)] for k, part in enumerate(whole)]
    kept = [[item for n, item in part if n >= skip] for part in numbered]
    return [part for part in kept if part]


# The same as read -----------------------------------------------------------------------------------------------

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)
ROW = st.tuples(TEXT, st.none() | st.sampled_from(["a", "b"]), st.none() | st.integers(-9, 9) | st.sampled_from([0.5]))
PACK: dict[str, Callable[[bytes], bytes]] = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress}


def as_jsonl(items: list[tuple[str, str | None, float | None]]) -> str:
    lines = [{"text": text, "label": label, "n": n} for text, label, n in items]
    return "\n\n".join(json.dumps({k: v for k, v in line.items() if v is not None}) for line in lines)


def as_csv(items: list[tuple[str, str | None, float | None]]) -> str:
    out = io.StringIO(newline="")
    writer = csv.writer(out, quoting=csv.QUOTE_ALL)
    writer.writerows([("text", "label", "n"), *(("" if cell is None else cell for cell in row) for row in items)])
    return out.getvalue()


@ANY
@given(data=st.data())
def test_chunks_together_are_what_is_read(tmp_path: Path, data: st.DataObject) -> None:
    paths = []
    for k in range(data.draw(st.integers(1, 3))):
        kind, packing = data.draw(st.sampled_from(["jsonl", "csv"])), data.draw(st.sampled_from(list(PACK)))
        items = data.draw(st.lists(ROW, min_size=k == 0, max_size=8))
        content = (as_jsonl if kind == "jsonl" else as_csv)(items).encode()
        paths.append(write(tmp_path, f"{k}/x.{kind}{packing}", PACK[packing](content)))
    size = data.draw(st.integers(1, 9))
    columns = data.draw(st.sampled_from([(), ("n",)]))
    try:
        wanted = rows([read(paths, columns=columns)])
    except DataFileError:  # no file has a column n
        assert "column" in refused(lambda: list(stream(paths, size=size, columns=columns)))
        return
    documents = stream(paths, size=size, columns=columns)
    chunks = list(documents)
    same(rows(chunks), wanted)
    assert [len(chunk) for chunk in chunks] == [len(part) for part in cut(wanted, size)]
    assert documents.taken == len(wanted)
    assert documents.bytes_read == documents.bytes_total == sum(path.stat().st_size for path in paths)
    assert all(chunk.sources == tuple(map(str, paths)) for chunk in chunks)

    skip = data.draw(st.integers(0, len(wanted)))
    resumed = stream(paths, size=size, skip=skip, columns=columns)
    found = [rows([chunk]) for chunk in resumed]
    for ours, theirs in zip(found, cut(wanted, size, skip), strict=True):
        same(ours, theirs)
    assert resumed.taken == len(wanted)


def same(ours: list[tuple[Any, ...]], theirs: list[tuple[Any, ...]]) -> None:
    """Equal, where None and NaN are the same gap: a column that is empty so far has no kind yet."""
    assert [clean(row) for row in ours] == [clean(row) for row in theirs]


def clean(row: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(None if isinstance(cell, float) and np.isnan(cell) else cell for cell in row)


def test_a_text_folder_is_read_file_by_file(tmp_path: Path) -> None:
    for name in ["a/1.txt", "a/2.txt", "b/1.txt", "top.txt", "unlabelled/1.txt"]:
        write(tmp_path, name, name)
    whole = read(tmp_path)
    documents = stream(tmp_path, size=2)
    first = next(documents)
    (tmp_path / "b/1.txt").write_text("changed")  # not read yet
    chunks = [first, *documents]
    assert [len(chunk) for chunk in chunks] == [2, 2, 1]
    assert [row[1:] for row in rows(chunks)] == [row[1:] for row in rows([whole])]
    assert chunks[1].X == ["a/2.txt", "changed"]
    assert documents.bytes_total is None
    assert documents.bytes_read == sum(len(text) for chunk in chunks for text in chunk.X)


@pytest.mark.parametrize("pack", PACK.values())
def test_standard_input(monkeypatch: pytest.MonkeyPatch, pack: Callable[[bytes], bytes]) -> None:
    content = pack(b"".join(b'{"text": "%d"}\n' % i for i in range(5)))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    documents = stream("-", size=2)
    assert documents.bytes_total is None
    assert texts(documents) == [["0", "1"], ["2", "3"], ["4"]]


def test_a_chunk_is_there_as_soon_as_its_lines_are(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()
    with open(reading, "rb") as end, open(writing, "wb", buffering=0) as begin:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(end))
        documents = stream("-", size=2)
        begin.write(b'{"text": "a"}\n{"text": "b"}\n{"text": ')
        assert next(documents).X == ["a", "b"]
        begin.write(b'"c"}\n')
        begin.close()
        assert texts(documents) == [["c"]]


def test_where_an_instance_comes_from(tmp_path: Path) -> None:
    a, b = write(tmp_path, "a.csv", "text\nx\n\ny\n"), write(tmp_path, "b.jsonl", '{"text": "z"}')
    documents = stream([a, str(b)], size=3)
    chunk = next(documents)
    assert [documents.origin(i) for i in range(3)] == chunk.origins == [f"{a}, line 2", f"{a}, line 4", f"{b}, line 1"]
    assert chunk.ids == ["a.csv:1", "a.csv:2", "b.jsonl:1"]


def test_ids_do_not_depend_on_the_chunk(tmp_path: Path) -> None:
    paths = [write(tmp_path, f"{k}/x.csv", "text\nx\ny\n") for k in "ab"]
    assert [i for chunk in stream(paths, size=1) for i in chunk.ids] == read(paths).ids


def test_progress(tmp_path: Path) -> None:
    line = json.dumps({"text": "x" * 1000}) + "\n"
    plain, packed = write(tmp_path, "a.jsonl", line * 200), write(tmp_path, "b.jsonl.gz", gzip.compress(line.encode()))
    documents = stream([plain, packed], size=50)
    seen = [(documents.taken, documents.bytes_read)] + [(documents.taken, documents.bytes_read) for _ in documents]
    assert [n for n, _ in seen] == [0, 50, 100, 150, 200, 201]
    assert [b for _, b in seen[:4]] == [0, *(50 * k * len(line) for k in (1, 2, 3))]
    assert documents.bytes_read == documents.bytes_total == plain.stat().st_size + packed.stat().st_size


def test_a_stream_can_be_left(tmp_path: Path) -> None:
    with stream(write(tmp_path, "a.jsonl", '{"text": "x"}\n' * 5), size=1) as documents:
        next(documents)
    assert list(documents) == []
    assert documents.taken == 1


# Labels and columns ---------------------------------------------------------------------------------------------


def test_y_is_there_whether_or_not_a_chunk_has_labels(tmp_path: Path) -> None:
    path = write(tmp_path, "a.jsonl", '{"text": "x"}\n{"text": "y", "label": 3}\n{"text": "z", "label": null}\n')
    labels = [chunk.y for chunk in stream(path, size=1)]
    assert [None if y is None else (str(y.dtype), y.tolist()) for y in labels] == [
        ("object", [v]) for v in (None, 3, None)
    ]
    assert [chunk.y for chunk in stream(path, size=2, label=None)] == [None, None]
    bare = write(tmp_path, "b.csv", "text\nx\n")
    y = next(stream(bare, size=1)).y
    assert y is not None
    assert y.tolist() == [None]


def test_the_first_label_says_the_kind(tmp_path: Path) -> None:
    lines = ['{"text": "x"}', *(f'{{"text": "x", "label": {v}}}' for v in ("1", '"1"', "2", "true"))]
    path = write(tmp_path, "a.jsonl", "\n".join(lines))
    documents = stream(path, size=2, on_error="skip")
    assert [row[1] for row in rows(list(documents))] == [None, 1, 2]
    assert "a.jsonl, line 3: the label '1' is text, but 1 in " in documents.problems[0]
    assert "line 5: the label True is true or false" in documents.problems[1]
    assert refused(lambda: list(stream(path, size=1))) == refused(lambda: read(path)) == documents.problems[0]
    resumed = stream(path, size=2, on_error="skip", skip=2)
    assert ([row[1] for row in rows(list(resumed))], resumed.rejected) == ([2], 2)


def column(documents: DocumentStream, name: str = "n") -> list[Any]:
    return [value for chunk in documents for value in chunk.X[name].tolist()]  # type: ignore[call-overload]


def test_the_first_chunk_says_whether_a_column_is_numbers(tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv", "text,n\nx,1\ny,2\nz,three\nw,\nv,5\n")
    documents = stream(path, size=2, columns=["n"], on_error="skip")
    chunks = list(documents)
    assert [chunk.X["n"].tolist() for chunk in chunks[:1]] == [[1, 2]]  # type: ignore[call-overload]
    np.testing.assert_array_equal(chunks[1].X["n"], [np.nan, 5.0])  # type: ignore[call-overload]
    said = documents.problems[0]
    assert re.search(r"a\.csv, line 4: the column 'n' is text here, but a number in .*a\.csv, line 2\..*stream", said)
    assert refused(lambda: list(stream(path, size=2, columns=["n"]))) == said
    assert column(stream(path, size=3, columns=["n"])) == ["1", "2", "three", None, "5"]
    assert read(path, columns=["n"]).X["n"].tolist() == ["1", "2", "three", None, "5"]  # type: ignore[call-overload]


@pytest.mark.parametrize("skip", range(6))
def test_what_the_first_chunk_said_holds_for_who_takes_the_stream_up_again(tmp_path: Path, skip: int) -> None:
    # The second chunk alone would make text of it, the third numbers.
    path = write(tmp_path, "a.csv", "text,n,m\n,1,x\n,2,3\n,a,4\n,3,5\n,,6\n,4,7\n,5,8\n")
    resumed = stream(path, size=2, columns=["n", "m"], on_error="skip", skip=skip)
    found = [chunk.X for chunk in resumed]
    n = [value for X in found for value in X["n"]]  # type: ignore[call-overload]
    np.testing.assert_array_equal(n, [1, 2, 3, np.nan, 4, 5][skip:])
    m = [value for X in found for value in X["m"]]  # type: ignore[call-overload]
    assert m == ["x", "3", "5", "6", "7", "8"][skip:]
    assert resumed.rejected == 1


def test_a_column_that_begins_empty_is_decided_when_it_is_not(tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv", "text,n\nx,\ny,\nz,1\nw,a\nv,b\n")
    assert column(stream(path, size=2, columns=["n"])) == [None, None, "1", "a", "b"]
    path = write(tmp_path, "b.csv", "text,n\nx,\ny,\nz,1\nw,2\nv,b\n")
    documents = stream(path, size=2, columns=["n"], on_error="skip")
    assert column(documents) == [None, None, 1, 2]
    assert "line 6: the column 'n' is text" in documents.problems[0]


def test_missing_numbers_are_nan_even_if_all_are_missing(tmp_path: Path) -> None:
    lines = ['{"text": "x", "n": 1}', '{"text": "x"}', '{"text": "x", "n": 2.5}']
    found = [chunk.X["n"] for chunk in stream(write(tmp_path, "a.jsonl", "\n".join(lines)), size=1, columns="n")]  # type: ignore[call-overload]
    assert [x.dtype.kind for x in found] == ["i", "f", "f"]
    np.testing.assert_array_equal(np.concatenate(found), [1, np.nan, 2.5])


@pytest.mark.parametrize(
    ("first", "second", "wanted", "line"),
    [
        ('"n": 1', "2", [1, 2], None),
        ('"n": 1', "a", [1], "b.csv, line 2: the column 'n' is text here, but a number in"),
        ('"n": "a"', "2", ["a", "2"], None),
        ('"n": true', "2", [True], "b.csv, line 2: the column 'n' is a number here, but true or false in"),
        ('"n": true', "a", [True], "b.csv, line 2: the column 'n' is text here, but true or false in"),
    ],
)
@pytest.mark.parametrize("size", [1, 5])
def test_cells_beside_values_of_json(
    tmp_path: Path, first: str, second: str, wanted: list[Any], line: str | None, size: int
) -> None:
    paths = [write(tmp_path, "a.jsonl", f'{{"text": "x", {first}}}'), write(tmp_path, "b.csv", f"text,n\nx,{second}\n")]
    documents = stream(paths, size=size, columns=["n"], on_error="skip")
    assert column(documents) == wanted
    assert [line in said for said in documents.problems if line] == [True] * (line is not None)


def test_values_of_json_beside_cells(tmp_path: Path) -> None:
    cells, number = write(tmp_path, "a.csv", "text,n\nx,1\n"), write(tmp_path, "b.jsonl", '{"text": "x", "n": 2}')
    word, truth = (write(tmp_path, f"{v}.jsonl", f'{{"text": "x", "n": {v}}}') for v in ('"a"', "true"))
    assert column(stream([cells, number], size=2, columns=["n"])) == [1, 2]
    assert column(stream([cells, word], size=2, columns=["n"])) == ["1", "a"]
    assert "is text here, but a number" in refused(lambda: list(stream([cells, word], size=1, columns=["n"])))
    assert "is true or false here" in refused(lambda: list(stream([cells, truth], size=2, columns=["n"])))


def test_a_refused_record_decides_nothing(tmp_path: Path) -> None:
    lines = ['{"text": "x", "a": 1}', '{"text": "x", "b": "t", "a": "t"}', '{"text": "x", "a": 2, "b": 3}']
    documents = stream(write(tmp_path, "a.jsonl", "\n".join(lines)), size=3, columns=["b", "a"], on_error="skip")
    assert column(documents, "a") == [1, 2]
    assert documents.rejected == 1


def test_fields_that_are_nowhere(tmp_path: Path) -> None:
    table = write(tmp_path, "a.csv", "text,age\n" + "x,1\n" * 9)
    lines = write(tmp_path, "a.jsonl", '{"text": "x", "age": 1}\n' * 9)
    for options in ({"columns": ["aeg"]}, {"label": "aeg"}):
        said = refused(lambda options=options: stream(table, size=2, **options))  # type: ignore[misc]
        assert "no" in said
        assert 'mean "age"' in said
        documents = stream(lines, size=2, **options)
        assert len(next(documents)) == 2  # it may still come
        assert 'mean "age"' in refused(lambda documents=documents: list(documents))  # type: ignore[misc]


def test_a_header_from_standard_input_is_checked_before_the_first_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"text,age\n" + b"x,1\n" * 9)))
    assert 'mean "age"' in refused(lambda: next(stream("-", size=2, columns=["aeg"], format="csv")))


# Malformed records ----------------------------------------------------------------------------------------------

GOOD = '{"text": "good"}\n'
BAD: dict[str, tuple[bytes, str]] = {
    "not json": (b'{"text": }\n', "not JSON"),
    "not an object": (b"[1]\n", "the line is a list"),
    "no text": (b'{"txt": "x"}\n', "there is no text field"),
    "text is no string": (b'{"text": 3}\n', "is a number, not a string"),
    "label is a list": (b'{"text": "x", "label": ["a"]}\n', "one label at most"),
    "label is a fraction": (b'{"text": "x", "label": 0.5}\n', "the label 0.5 is not text"),
    "id is a list": (b'{"text": "x", "id": []}\n', "the id is a list"),
    "not UTF-8": (b'{"text": "\xe9"}\n', "byte 11 of the line (0xe9) is not UTF-8"),
    "NUL": (b'{"text": "\0"}\n', "NUL byte"),
    "surrogate": (b'{"text": "\\ud800"}\n', "surrogate"),
    "nested": (b"[" * 200_000 + b"\n", "nested too deeply"),
}
BAD_CSV: dict[str, tuple[bytes, str, int]] = {
    "short row": (b"x\n", "the row has 1 cells, but the header has 2", 1),
    "long row": (b"x,a,b\n", "the row has 3 cells", 1),
    "long row of two lines": (b'"x\ny",a,b\n', "the row has 3 cells", 2),
    "not UTF-8": (b"\xe9,a\n", "byte 1 of the line (0xe9) is not UTF-8", 1),
    "NUL": (b"x\0,a\n", "NUL byte", 1),
    "not UTF-8 and unquoted": (b'\xe9,"a"b\n', "not UTF-8", 1),
    "text after a quote": (b'"x"y,a\n', "text follows a closing quote", 1),
    "carriage return": (b"x\ry,a\n", "bare carriage return", 1),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_line_of_json(tmp_path: Path, name: str) -> None:
    content, why = BAD[name]
    path = write(tmp_path, "a.jsonl", GOOD.encode() + b"\n" + content + GOOD.encode() + content)
    documents = stream(path, size=5, on_error="skip")
    (chunk,) = documents
    assert chunk.origins == [f"{path}, line {n}" for n in (1, 4)]
    assert (documents.taken, documents.rejected, len(documents.problems)) == (2, 2, 2)
    for said, number in zip(documents.problems, (3, 5), strict=True):
        assert said.startswith(f"{path}, line {number}: ")
        assert why in said
    assert refused(lambda: list(stream(path, size=5))) == documents.problems[0]
    assert refused(lambda: read(path)) == documents.problems[0]


@pytest.mark.parametrize("name", BAD_CSV)
def test_a_bad_row_of_csv(tmp_path: Path, name: str) -> None:
    content, why, n_lines = BAD_CSV[name]
    path = write(tmp_path, "a.csv", b'text,label\n"good\n1",a\n' + content + b"good 2,a\n" + content)
    documents = stream(path, size=5, on_error="skip")
    (chunk,) = documents
    assert chunk.X == ["good\n1", "good 2"]
    assert chunk.origins == [f"{path}, line {n}" for n in (2, 4 + n_lines)]
    assert documents.rejected == 2
    for said, number in zip(documents.problems, (4, 5 + n_lines), strict=True):
        assert said.startswith(f"{path}, line {number}: ")
        assert why in said
        assert (f"Lines {number} to {number + 1} are left out." in said) == (n_lines == 2)
    assert documents.problems[0].startswith(refused(lambda: list(stream(path, size=5))))
    assert documents.problems[0].startswith(refused(lambda: read(path)))


def test_a_bad_line_inside_a_quoted_cell_makes_the_row_bad(tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv", b'text,label\n"x\n\xff,\n""y",a\nz,b\n')
    documents = stream(path, size=5, on_error="skip")
    assert texts(documents) == [["z"]]
    assert documents.problems == [
        f"{path}, line 3: byte 1 of the line (0xff) is not UTF-8. Convert the file to UTF-8. Lines 2 to 4 are left out."
    ]


def test_after_an_open_quote_it_goes_on_where_the_mistake_shows(tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv", 'text,label\n"x,a\ny,b\n"z",c\nw,d\n"v,e\n')
    documents = stream(path, size=5, on_error="skip")
    assert texts(documents) == [["w"]]
    assert documents.rejected == 2
    assert "line 2: text follows a closing quote" in documents.problems[0]
    assert documents.problems[0].endswith("Lines 2 to 4 are left out.")
    assert 'line 6: a quote (") opens in this row and is never closed' in documents.problems[1]


def test_a_bad_file_of_a_folder(tmp_path: Path) -> None:
    for name, content in {"a/1.txt": b"x", "a/2.txt": b"x\n\xff", "b/3.txt": b"\xff\xfex", "b/4.txt": b"y"}.items():
        write(tmp_path, name, content)
    documents = stream(tmp_path, size=1, on_error="skip")
    assert texts(documents) == [["x"], ["y"]]
    assert "2.txt, line 2: byte 1" in documents.problems[0]
    assert "3.txt, line 1: the file is UTF-16" in documents.problems[1]
    assert "2.txt, line 2" in refused(lambda: list(stream(tmp_path, size=1)))


@ANY
@given(data=st.data())
def test_bad_lines_anywhere_change_nothing_but_the_counts(tmp_path: Path, data: st.DataObject) -> None:
    plan = data.draw(st.lists(st.booleans() | st.sampled_from([n for n in BAD if n != "nested"]), max_size=25))
    plan.append(True)
    lines = [
        b'{"text": "%d", "label": "a"}\n' % n if item is True else b"\n" if item is False else BAD[item][0]
        for n, item in enumerate(plan)
    ]
    split = data.draw(st.integers(0, len(plan)))
    paths = [write(tmp_path, f"{k}.jsonl", b"".join(part)) for k, part in enumerate((lines[:split], lines[split:]))]
    good = [str(n) for n, item in enumerate(plan) if item is True]
    bad = [n for n, item in enumerate(plan) if isinstance(item, str)]
    size, skip = data.draw(st.integers(1, 9)), data.draw(st.integers(0, len(good)))
    documents = stream(paths, size=size, skip=skip, on_error="skip")
    assert texts(documents) == cut(good, size, skip)
    assert (documents.taken, documents.rejected) == (len(good), len(bad))
    places = [f"{paths[n >= split]}, line {n + 1 - split * (n >= split)}: " for n in bad]
    for place, said in zip(places[:20], documents.problems, strict=True):
        assert said.startswith(place)


@ANY
@given(
    content=st.lists(
        st.sampled_from([b'"', b"\n", b"\r", b",", b"x", b"\xff", b"\0", b"x,a\n", b'"x\n",a\n', b"\xef\xbb\xbf"])
    ).map(b"".join),
    kind=st.sampled_from(["csv", "jsonl"]),
    size=st.integers(1, 4),
)
def test_any_bytes_are_read_or_refused(tmp_path: Path, content: bytes, kind: str, size: int) -> None:
    path = write(tmp_path, f"a.{kind}", (b"text,label\n" if kind == "csv" else GOOD.encode()) + content)
    documents = stream(path, size=size, on_error="skip")
    try:
        found = rows(list(documents))
    except DataFileError:
        assert kind == "csv"
        assert documents.taken == 0
        return
    assert len(found) == documents.taken > 0
    if not documents.rejected:
        same(found, rows([read(path)]))


def test_only_the_first_problems_are_kept(tmp_path: Path) -> None:
    path = write(tmp_path, "a.jsonl", GOOD + "[]\n" * 50 + '{"%s": 1}\n' % ("x" * 5000))
    documents = stream(path, size=1, on_error="skip")
    list(documents)
    assert (documents.rejected, len(documents.problems)) == (51, 20)
    long = stream(write(tmp_path, "b.jsonl", GOOD + '{"%s": 1}\n' % ("x" * 5000)), size=1, on_error="skip")
    list(long)
    assert len(long.problems[0]) < 1100


FATAL: dict[str, tuple[str, bytes, dict[str, Any], str]] = {
    "header": ("a.csv", b"Text,label\nx,a\n", {}, "line 1: there is no text field"),
    "header is not UTF-8": ("a.csv", b"text,\xff\nx,a\n", {}, "line 1: byte 6"),
    "header is broken": ("a.csv", b'text,"label"x\nx,a\n', {}, "line 1: text follows"),
    "UTF-16": ("a.jsonl", GOOD.encode("utf-16"), {}, "line 1: the file is UTF-16"),
    "untold format": ("a.data", b"text\nx\n", {}, "cannot tell its format"),
    "unknown format": ("a.csv", b"text\nx\n", {"format": "cvs"}, 'mean "csv"'),
    "folder": ("a.csv", b"text\nx\n", {"format": "folder"}, "not a folder"),
    "cut gzip": ("a.jsonl.gz", gzip.compress(GOOD.encode() * 9)[:-9], {}, "gzip data are damaged"),
    "bad gzip": ("a.jsonl.gz", gzip.compress(GOOD.encode()) + b"junk", {}, "gzip data are damaged"),
    "cut bzip2": ("a.jsonl.bz2", bz2.compress(GOOD.encode() * 9)[:-9], {}, "bzip2 data are damaged"),
    "columns of a folder": ("f/a.txt", b"x", {"columns": ["n"]}, "has no columns"),
}


@pytest.mark.parametrize("name", FATAL)
def test_what_is_wrong_with_a_whole_source_is_never_skipped(tmp_path: Path, name: str) -> None:
    file, content, options, message = FATAL[name]
    path = write(tmp_path, file, content)
    path = path.parent if file.startswith("f/") else path
    said = refused(lambda: list(stream(path, size=2, on_error="skip", **options)))
    assert message in said


def test_missing_and_unreadable_files_are_named_before_anything_is_read(tmp_path: Path) -> None:
    first = write(tmp_path, "train.csv", "text\nx\n")
    said = refused(lambda: stream([first, tmp_path / "trian.csv"], size=2, on_error="skip"))
    assert 'trian.csv: there is no such file. Did you mean "train.csv"?' in said
    assert "no text field" in refused(lambda: stream([first, write(tmp_path, "b.csv", "x\ny\n")], size=2))
    assert "not the name of a file" in refused(lambda: stream([first, "a\0b"], size=2))


@pytest.mark.parametrize("content", ["", "\n\n"])
def test_an_empty_stream(tmp_path: Path, content: str) -> None:
    paths = [write(tmp_path, "a.jsonl", content), write(tmp_path, "b.csv", "text\n")]
    said = refused(lambda: list(stream(paths, size=2)))
    assert said == f"{paths[0]}, {paths[1]}: no rows. There is nothing to read here."
    assert said == refused(lambda: read(paths))


def test_a_stream_of_which_nothing_is_left(tmp_path: Path) -> None:
    path = write(tmp_path, "a.jsonl", "[]\n" * 7)
    said = refused(lambda: list(stream(path, size=2, on_error="skip")))
    assert f"{path}: no rows. All 7 that are here are malformed; the first: {path}, line 1: the line is a list" in said


def test_skipping_to_the_end_and_beyond(tmp_path: Path) -> None:
    path = write(tmp_path, "a.jsonl", GOOD * 3)
    documents = stream(path, size=2, skip=3)
    assert (list(documents), documents.taken) == ([], 3)
    assert "there are 3 rows here, but 4 were to be passed over" in refused(lambda: list(stream(path, size=2, skip=4)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"size": 0}, "size=0"),
        ({"size": True}, "size=True"),
        ({"size": 2.0}, "size=2.0"),
        ({"size": 2, "skip": -1}, "skip=-1"),
        ({"size": 2, "skip": "1"}, "skip='1'"),
        ({"size": 2, "on_error": "skpi"}, "on_error='skpi' must be one of fail, skip. Did you mean \"skip\""),
        ({"size": 2, "delimiter": "ab"}, "one character"),
        ({"size": 2, "label": "text"}, "label and an input"),
    ],
)
def test_wrong_arguments(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=re.escape(message)):
        stream(write(tmp_path, "a.csv", "text\nx\n"), **options)


def test_wrong_sources() -> None:
    with pytest.raises(DataError, match="no source"):
        stream([], size=1)
    with pytest.raises(DataError, match="once only"):
        stream(["-", "-"], size=1)


# Memory ---------------------------------------------------------------------------------------------------------


@contextmanager
def piped(monkeypatch: pytest.MonkeyPatch, pieces: Iterator[bytes]) -> Iterator[None]:
    """Standard input from a generator; what is generated is nowhere as a whole."""
    reading, writing = os.pipe()

    def feed() -> None:
        with open(writing, "wb") as end, suppress(BrokenPipeError):
            for piece in pieces:
                end.write(piece)

    thread = threading.Thread(target=feed)
    thread.start()
    with open(reading, "rb") as end:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(end))
        yield
    thread.join()


def most_memory(chunks: DocumentStream) -> tuple[int, int]:
    """Instances, and the most bytes held at once."""
    tracemalloc.start()
    try:
        n = sum(len(chunk) for chunk in chunks)
        return n, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_does_not_grow_with_the_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    # 20 MB, every line with fields of its own and every tenth malformed.
    def line(i: int) -> bytes:
        fields = {f"{i}-{k}-" + "x" * 150: 1 for k in range(5)}
        return (json.dumps({"text": "x" * 3000, "label": "a", **fields}) + "\n").encode()

    pieces = (line(i) if i % 10 else b"[]\n" for i in range(5500))
    with piped(monkeypatch, pieces):
        documents = stream("-", size=100, on_error="skip", format="jsonl")
        n, most = most_memory(documents)
    assert (n, documents.rejected) == (4950, 550)
    assert most < 3e6


def test_no_chunk_is_kept_while_the_next_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    line = json.dumps({"text": "x" * 100_000}).encode() + b"\n"
    given_out: list[weakref.ref[Dataset]] = []
    alive: list[bool] = []

    class Watched(io.BytesIO):
        def readinto1(self, buffer: Any) -> int:
            alive.append(any(ref() is not None for ref in given_out))
            return super().readinto1(buffer)

        readinto = readinto1

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(Watched(line * 9)))
    documents = stream("-", size=2)
    while (chunk := next(documents, None)) is not None:
        given_out.append(weakref.ref(chunk))
        chunk = None
    assert len(given_out) == 5
    assert len(alive) > 5
    assert not any(alive)


def test_memory_does_not_grow_with_csv(monkeypatch: pytest.MonkeyPatch) -> None:
    pieces = (b'"%s\n%s",%d\n' % (b"x" * 2000, b"y" * 2000, i) if i else b"text,n\n" for i in range(5001))
    with piped(monkeypatch, pieces):
        n, most = most_memory(stream("-", size=100, format="csv", columns=["n"], skip=1000))
    assert n == 4000
    assert most < 3e6


@pytest.mark.parametrize("kind", ["jsonl", "csv"])
def test_a_line_without_an_end_is_passed_over(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    monkeypatch.setattr(source, "MAX_LINE", 1 << 16)
    good = b"good\n" if kind == "csv" else GOOD.encode()
    head = b"text\n" if kind == "csv" else b"\n"
    with piped(monkeypatch, iter([head, good, *([b"x" * 65536] * 320), b"\n", good])):
        documents = stream("-", size=100, format=kind, on_error="skip")
        n, most = most_memory(documents)
    assert (n, documents.rejected, most < 1e6) == (2, 1, True)
    assert documents.problems == ["standard input, line 3: the line is longer than 65,536 bytes. Is this a text file?"]
    assert documents.origin(1) == "standard input, line 4"


def test_a_line_that_never_ends_is_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "MAX_LINE", 1 << 16)
    with piped(monkeypatch, itertools.repeat(b"x" * 65536)):
        assert "line 1: the line is longer" in refused(lambda: next(stream("-", size=1, format="jsonl")))


def test_a_line_that_is_just_too_long_and_a_row_that_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "MAX_LINE", 30)
    path = write(tmp_path, "a.jsonl", GOOD + "x" * 30 + "\n" + GOOD + "y" * 29 + "\n" + GOOD)
    documents = stream(path, size=9, on_error="skip")
    assert (len(next(documents)), documents.rejected) == (3, 2)
    assert ["longer than 30" in said for said in documents.problems] == [True, False]
    rows_ = write(tmp_path, "a.csv", 'text,n\nx,1\n"aaaaaaaa\n' + "bbbbbbbbb\n" * 2 + "cccc\ny,2\n")
    documents = stream(rows_, size=9, on_error="skip")
    assert texts(documents) == [["x", "y"]]
    assert documents.problems == [
        f"{rows_}, line 3: the row is longer than 30 characters. Is a quote missing somewhere? "
        "Lines 3 to 6 are left out."
    ]
    monkeypatch.setattr(record, "MAX_TEXT", 10)
    long = write(tmp_path, "b.csv", "text\n" + "x" * 11)
    assert "a cell is longer than 10" in refused(lambda: list(stream(long, size=1)))
