"""Streams of sequences: the same as reading everything, in chunks, whatever the lines between are like."""

from __future__ import annotations

import gzip
import io
import itertools
import json
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tiltfit.data.readers import SequenceDataset, read_sequences, source, stream_sequences
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


def rows(chunks: list[SequenceDataset]) -> list[Any]:
    """Everything about each sequence, one entry a sequence."""
    found: list[Any] = []
    for chunk in chunks:
        tags = chunk.y if chunk.y is not None else [None] * len(chunk)
        listed = [None if row is None else list(row) for row in tags]
        found += zip(chunk.tokens, listed, chunk.ids, chunk.origins, strict=True)
    return found


def cut(items: list[Any], size: int, skip: int = 0) -> list[list[Any]]:
    """The chunks as they must be: by the number of the sequence."""
    ends = sorted({skip, *range(skip + size - skip % size, len(items), size), len(items)})
    return [items[a:b] for a, b in itertools.pairwise(ends)]


# The same as read_sequences -------------------------------------------------------------------------------------

SEQUENCE = st.lists(
    st.tuples(st.sampled_from(["a", "b", "é", ","]), st.sampled_from(["X", "Y", "?"])), min_size=1, max_size=4
)


def as_columns(items: list[list[tuple[str, str]]]) -> str:
    return "\n\n\n".join("\n".join(f"{token} {tag}" for token, tag in item) for item in items)


def as_jsonl(items: list[list[tuple[str, str]]]) -> str:
    lines = [{"tokens": [t for t, _ in item], "tags": [None if g == "?" else g for _, g in item]} for item in items]
    return "\n".join(map(json.dumps, lines))


@ANY
@given(data=st.data())
def test_chunks_together_are_what_is_read(tmp_path: Path, data: st.DataObject) -> None:
    paths = []
    for k in range(data.draw(st.integers(1, 3))):
        kind, packing = data.draw(st.sampled_from(["conll", "jsonl"])), data.draw(st.sampled_from(["", ".gz"]))
        items = data.draw(st.lists(SEQUENCE, min_size=k == 0, max_size=7))
        content = (as_columns if kind == "conll" else as_jsonl)(items).encode()
        paths.append(write(tmp_path, f"{k}/x.{kind}{packing}", gzip.compress(content, mtime=0) if packing else content))
    size = data.draw(st.integers(1, 8))
    whole = read_sequences(paths, unlabelled="?")
    wanted = rows([whole])
    skip = data.draw(st.just(0) | st.integers(0, len(wanted)))
    sequences = stream_sequences(paths, size=size, skip=skip, unlabelled="?")
    chunks = list(sequences)
    assert [rows([chunk]) for chunk in chunks] == cut(wanted, size, skip)
    assert sequences.taken == len(wanted)
    assert sequences.bytes_read == sequences.bytes_total == sum(path.stat().st_size for path in paths)
    assert all((chunk.sources, chunk.formats) == (whole.sources, whole.formats) for chunk in chunks)


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a X\n\nb Y\nc Z\n\nd X\n")))
    sequences = stream_sequences("-", size=2)
    assert sequences.bytes_total is None
    assert [chunk.tokens for chunk in sequences] == [[["a"], ["b", "c"]], [["d"]]]
    assert sequences.origin(0) == "standard input, line 6"


def test_the_options_of_read_sequences(tmp_path: Path) -> None:
    columns = write(tmp_path, "a.txt", "X|a\n?|b\n\nY| \nY|c\n")
    options: dict[str, Any] = {"token": 1, "label": 0, "delimiter": "|", "unlabelled": "?", "blank": "skip"}
    assert rows(list(stream_sequences(columns, size=1, **options))) == rows([read_sequences(columns, **options)])
    lines = write(tmp_path, "a.jsonl", '{"words": ["a"], "ner": ["X"], "key": "k", "year": 1}')
    options = {"tokens": "words", "tags": "ner", "identifier": "key", "columns": "year"}
    (chunk,) = stream_sequences(lines, size=1, **options)
    assert rows([chunk]) == rows([read_sequences(lines, **options)])
    assert chunk.X["year"].tolist() == [1]  # type: ignore[call-overload]


def test_y_is_there_whether_or_not_a_chunk_has_tags(tmp_path: Path) -> None:
    bare, tagged = write(tmp_path, "a.txt", "a\n\nb\n"), write(tmp_path, "b.jsonl", '{"tokens": ["c"], "tags": ["X"]}')
    assert [chunk.y for chunk in stream_sequences([bare, tagged], size=2)] == [[None, None], [["X"]]]
    assert [chunk.y for chunk in stream_sequences([bare, tagged], size=2, label=None)] == [None, None]


def test_the_first_tag_says_the_type(tmp_path: Path) -> None:
    lines = [{"tokens": ["a", "b"], "tags": tags} for tags in ([None, None], [1, None], ["1", None], [2, 1], [3, "a"])]
    path = write(tmp_path, "a.jsonl", "\n".join(map(json.dumps, lines)))
    sequences = stream_sequences(path, size=2, on_error="skip")
    assert [row[1] for row in rows(list(sequences))] == [None, [1, None], [2, 1]]
    assert f"{path}, line 3: the tag '1' and the tag 1 of {path}, line 2 are of different" in sequences.problems[0]
    assert f"{path}, line 5: the tag 'a' and the tag 1 of {path}, line 2 are of different" in sequences.problems[1]
    assert refused(lambda: list(stream_sequences(path, size=1))) == refused(lambda: read_sequences(path))
    first = write(tmp_path, "b.jsonl", '{"tokens": ["a", "b"], "tags": ["X", true]}')
    assert f"the tag True and the tag 'X' of {first}" in refused(lambda: list(stream_sequences(first, size=1)))


def test_columns_have_one_kind(tmp_path: Path) -> None:
    lines = [{"tokens": ["a"], "n": n} for n in (1, None, "x", 2.5)]
    path = write(tmp_path, "a.jsonl", "\n".join(map(json.dumps, lines)))
    sequences = stream_sequences(path, size=1, columns=["n"], on_error="skip")
    found = [chunk.X["n"] for chunk in sequences]  # type: ignore[call-overload]
    np.testing.assert_array_equal(np.concatenate(found), [1, np.nan, 2.5])
    assert "line 3: the column 'n' is text here, but a number in" in sequences.problems[0]
    assert "no column field 'm'" in refused(lambda: list(stream_sequences(path, size=9, columns=["m"])))


# Malformed sequences --------------------------------------------------------------------------------------------

BAD_LINES: dict[str, tuple[bytes, str]] = {
    "ragged": (b"b", "1 columns here, but 2 in line 1"),
    "too wide": (b"b c X", "3 columns here"),
    "blank token": (b" Y", "is blank"),
    "control character": (b"b\x07 X", "control character"),
    "not UTF-8": (b"\xff X", "not UTF-8"),
    "NUL": (b"\0 X", "NUL byte"),
    "too long": (b"b " + b"X" * 200, "longer than 100 bytes"),
}
BAD_OBJECTS: dict[str, tuple[bytes, str]] = {
    "not json": (b'{"tokens": ', "not JSON"),
    "no tokens": (b'{"token": ["a"]}', "'tokens'"),
    "text": (b'{"tokens": "a b"}', "a string"),
    "empty list": (b'{"tokens": []}', "empty list"),
    "number": (b'{"tokens": ["a", 3]}', "token 1"),
    "blank": (b'{"tokens": [" "]}', "empty token"),
    "tags are text": (b'{"tokens": ["a"], "tags": "X"}', "'tags' is a string"),
    "lengths": (b'{"tokens": ["a"], "tags": ["X", "Y"]}', "1 tokens, but 2 tags"),
    "nested tag": (b'{"tokens": ["a"], "tags": [["X"]]}', "label is a list"),
    "not UTF-8": (b'{"tokens": ["\xff"]}', "not UTF-8"),
    "too long": (b'{"tokens": ["' + b"x" * 200, "longer than 100 bytes"),
}


@pytest.mark.parametrize("name", BAD_LINES)
@pytest.mark.parametrize("end", [b"\n", b"-DOCSTART- -X-\n"])
def test_a_bad_line_of_columns_takes_its_sequence_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, end: bytes
) -> None:
    monkeypatch.setattr(source, "MAX_LINE", 100)
    bad, why = BAD_LINES[name]
    # The sequence has a second mistake, which is not counted: it is left out already.
    path = write(tmp_path, "a.txt", b"a X\n\nb Y\n" + bad + b"\nc Y\nd\n" + end + b"e X\n\n" + bad)
    sequences = stream_sequences(path, size=9, on_error="skip")
    (chunk,) = sequences
    assert (chunk.tokens, chunk.origins) == ([["a"], ["e"]], [f"{path}, line 1", f"{path}, line 8"])
    assert (sequences.taken, sequences.rejected) == (2, 2)
    for said, line, begin in zip(sequences.problems, (4, 10), (3, 10), strict=True):
        assert said.startswith(f"{path}, line {line}: ")
        assert why in said
        assert said.endswith(f" The sequence from line {begin} up to the next blank line is left out.")
    said = refused(lambda: list(stream_sequences(path, size=9)))
    assert sequences.problems[0].startswith(said)
    assert said == refused(lambda: read_sequences(path))


@pytest.mark.parametrize("name", BAD_OBJECTS)
def test_a_bad_line_of_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(source, "MAX_LINE", 100)
    bad, why = BAD_OBJECTS[name]
    good = b'{"tokens": ["a"], "tags": ["X"]}\n'
    path = write(tmp_path, "a.jsonl", good + b"\n" + bad + b"\n" + good)
    sequences = stream_sequences(path, size=9, on_error="skip")
    (chunk,) = sequences
    assert chunk.origins == [f"{path}, line 1", f"{path}, line 4"]
    assert sequences.rejected == 1
    assert sequences.problems[0].startswith(f"{path}, line 3: ")
    assert why in sequences.problems[0]
    said = refused(lambda: list(stream_sequences(path, size=9)))
    assert said == refused(lambda: read_sequences(path)) == sequences.problems[0]


@ANY
@given(data=st.data())
def test_bad_sequences_anywhere_change_nothing_but_the_counts(tmp_path: Path, data: st.DataObject) -> None:
    names = [name for name in BAD_LINES if name != "too long"]
    plan = data.draw(st.lists(st.booleans() | st.sampled_from(names), max_size=20))
    parts = [
        b"first X",
        *(b"%d X\nb Y" % n if p is True else BAD_LINES[str(p)][0] if p else b"" for n, p in enumerate(plan)),
    ]
    path = write(tmp_path, "a.txt", b"\n\n".join(parts))
    good = [["first"], *([str(n), "b"] for n, p in enumerate(plan) if p is True)]
    size, skip = data.draw(st.integers(1, 6)), data.draw(st.integers(0, len(good)))
    sequences = stream_sequences(path, size=size, skip=skip, on_error="skip")
    assert [chunk.tokens for chunk in sequences] == cut(good, size, skip)
    assert (sequences.taken, sequences.rejected) == (len(good), sum(isinstance(p, str) for p in plan))


def test_a_bad_first_line_does_not_say_what_the_columns_are(tmp_path: Path) -> None:
    path = write(tmp_path, "a.txt", b"\xff a b c\n\nx X\n")
    sequences = stream_sequences(path, size=1, on_error="skip")
    assert rows(list(sequences))[0][:2] == (["x"], ["X"])
    assert sequences.rejected == 1


@pytest.mark.parametrize(
    ("file", "content", "options", "message"),
    [
        ("a.txt", b"a X\n", {"label": 2}, "no column 2 for the label"),
        ("a.txt", b"a X\n", {"label": 0}, "both"),
        ("a.txt", b"a X\n", {"columns": ["year"]}, "CoNLL columns have no names"),
        ("a.txt", b"a X\n", {"format": "conl"}, 'mean "conll"'),
        ("a.txt", "a X\n".encode("utf-16"), {}, "the file is UTF-16"),
        ("a.txt.gz", gzip.compress(b"a X\n" * 99, mtime=0)[:-9], {}, "gzip data are damaged"),
        ("a.txt", b"\n\n", {}, "no sequences. There is nothing"),
        ("a.jsonl", b"[]\n[]\n", {}, "no sequences. All 2 that are here are malformed; the first: "),
    ],
)
def test_what_is_wrong_with_a_whole_source_is_never_skipped(
    tmp_path: Path, file: str, content: bytes, options: dict[str, Any], message: str
) -> None:
    path = write(tmp_path, file, content)
    assert message in refused(lambda: list(stream_sequences(path, size=2, on_error="skip", **options)))


def test_missing_sources_and_wrong_arguments(tmp_path: Path) -> None:
    path = write(tmp_path, "train.txt", "a X\n")
    assert 'mean "train.txt"' in refused(lambda: stream_sequences([path, tmp_path / "trian.txt"], size=1))
    assert "were to be passed over" in refused(lambda: list(stream_sequences(path, size=1, skip=2)))
    for options in (
        {"size": 0},
        {"size": 1, "on_error": "warn"},
        {"size": 1, "blank": "drop"},
        {"size": 1, "skip": -1},
    ):
        with pytest.raises(DataError):
            stream_sequences(path, **options)
    with pytest.raises(DataError, match="once"):
        stream_sequences(["-", "-"], size=1)


# Memory ---------------------------------------------------------------------------------------------------------


class Generated(io.RawIOBase):
    """A file that is nowhere as a whole."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces, self._rest = pieces, b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._rest = self._rest or next(self._pieces, b"")
        n = min(len(buffer), len(self._rest))
        buffer[:n], self._rest = self._rest[:n], self._rest[n:]
        return n


def most_memory(monkeypatch: pytest.MonkeyPatch, pieces: Iterator[bytes], **options: Any) -> tuple[int, int]:
    """Sequences, and the most bytes held at once."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(Generated(pieces))))
    tracemalloc.start()
    try:
        n = sum(len(chunk) for chunk in stream_sequences("-", size=20, **options))
        return n, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("kind", ["conll", "jsonl"])
def test_memory_does_not_grow_with_the_stream(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    # 20 MB of tokens that are all different: what is known of the vocabulary must be bounded, too.
    def piece(i: int) -> bytes:
        tokens = [f"{i}-{t}-" + "x" * (80 if t else 4000) for t in range(10)]
        if kind == "conll":
            return ("\n".join(f"{token} X" for token in tokens) + "\n\n").encode()
        return (json.dumps({"tokens": tokens}) + "\n").encode()

    n, most = most_memory(monkeypatch, map(piece, range(4200)), format=kind)
    assert n == 4200
    assert most < 5e6


def test_a_sequence_without_an_end_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "MAX_LINE", 1 << 16)
    pieces = [b"a X\n\n", *([b"b Y\n" * 1000] * 60), b"\na X\n"]
    n, most = most_memory(monkeypatch, iter(pieces), format="conll", on_error="skip")
    assert n == 2
    assert most < 2e6
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"".join(pieces))))
    said = refused(lambda: list(stream_sequences("-", size=1, format="conll")))
    assert (
        said == "standard input, line 3: the sequence is longer than 65,536 characters. A blank line ends a sequence."
    )
