"""Documents or sequences, by name and first line; word lists."""

from __future__ import annotations

import bz2
import gzip
import os
import threading
from pathlib import Path

import pytest

from tiltfit.data.readers import guess_contents, read_words
from tiltfit.errors import DataFileError

CASES = {
    "conll by name": ("a.conll", b"a X\n", "sequences"),
    "packed conll": ("a.IOB2.gz", gzip.compress(b"a X\n"), "sequences"),
    "tokens": ("a.jsonl", b'\n{"tokens": ["a"], "x": 1}\n', "sequences"),
    "packed tokens": ("a.jsonl.bz2", bz2.compress(b'{"tokens": ["a"]}\n'), "sequences"),
    "texts": ("a.jsonl", b'{"text": "a"}\n', "documents"),
    "texts without a name": ("a", b'\xef\xbb\xbf{"text": "a"}\n', "documents"),
    "both": ("a.jsonl", b'{"text": "a", "tokens": ["a"]}\n', None),
    "neither": ("a.jsonl", b'{"tokens": "a"}\n', None),
    "header": ("a.csv", b'"text",label\n', "documents"),
    "no header": ("a.tsv", b"big\tsize\n", None),
    "broken header": ("a.csv", b'"text\n', None),
    "columns": ("a.txt", b"big size\n", None),
    "not JSON": ("a.jsonl", b"{\n", None),
    "deep": ("a.jsonl", b"[" * 100_000, None),
    "a list": ("a.jsonl", b"[1]\n", None),
    "not text": ("a.jsonl", b"\xff\xfe{", None),
    "empty": ("a.jsonl", b"", None),
}


@pytest.mark.parametrize("name", CASES)
def test_what_a_file_holds(tmp_path: Path, name: str) -> None:
    file, content, kind = CASES[name]
    (tmp_path / file).write_bytes(content)
    found = guess_contents(str(tmp_path / file))
    assert (None if found is None else found.kind) == kind
    if found is not None:
        assert found.why.startswith(str(tmp_path / file))


def test_other_names_of_fields_folders_and_missing_files(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"body": "x", "words": ["x"]}\n')
    path = str(tmp_path / "a.jsonl")
    for options, kind in (({"text": "body"}, "documents"), ({"tokens": "words"}, "sequences")):
        found = guess_contents(path, **options)
        assert found is not None
        assert found.kind == kind
    folder = guess_contents(str(tmp_path))
    assert folder is not None
    assert folder.kind == "documents"
    assert guess_contents("-") is None
    with pytest.raises(DataFileError, match="no such file"):
        guess_contents(str(tmp_path / "b.jsonl"))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_left_alone(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(b'{"text": "x"}\n'))
    writer.start()
    assert guess_contents(str(pipe)) is None
    assert pipe.read_bytes() == b'{"text": "x"}\n'
    writer.join()


def test_word_lists(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(gzip.compress("\ufeffNew  York\r\n\nÅre\nNew  York\n".encode()))
    assert read_words(tmp_path / "a.txt") == ["New  York", "Åre"]
    (tmp_path / "b.txt").write_bytes(b"fine\n\xff\n")
    with pytest.raises(DataFileError, match=r"b\.txt, line 2: byte 1"):
        read_words(tmp_path / "b.txt")
    (tmp_path / "c.txt").write_text("\n")
    with pytest.raises(DataFileError, match="word list is empty"):
        read_words(tmp_path / "c.txt")
