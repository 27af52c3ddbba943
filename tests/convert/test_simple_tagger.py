"""MALLET's SimpleTagger files."""

from __future__ import annotations

import gzip
import io
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiltfit.convert.simple_tagger import as_conll, as_objects, read_simple_tagger
from tiltfit.data.readers import read_sequences
from tiltfit.errors import DataFileError

FILE = "\n\nBill CAPITALIZED noun\nslept  non-noun\r\n \nhere\tSHORT LAST non-noun\n"


def write(tmp_path: Path, content: str | bytes, name: str = "a.txt") -> Path:
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_features_and_labels(tmp_path: Path) -> None:
    one, two = read_simple_tagger(write(tmp_path, FILE))
    assert (one.line, one.tokens, one.tags) == (3, ("Bill", "slept"), ("noun", "non-noun"))
    assert one.features == (("CAPITALIZED",), ())
    assert (two.tokens, two.tags, two.features) == (("here",), ("non-noun",), (("SHORT", "LAST"),))


def test_without_labels_and_another_token(tmp_path: Path) -> None:
    (one,) = read_simple_tagger(write(tmp_path, "UP Bill\nslept\n"), token=-1, labels=False)
    assert (one.tokens, one.tags, one.features) == (("Bill", "slept"), None, (("UP",), ()))
    assert list(as_objects((one,))) == [{"tokens": ["Bill", "slept"], "features": [["UP"], []]}]
    assert "".join(as_conll("a", (one,))) == "Bill\nslept\n\n"


def test_packed_and_from_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packed = gzip.compress(FILE.encode())
    assert len(read_simple_tagger(write(tmp_path, packed))) == 2
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(packed)))
    assert len(read_simple_tagger("-")) == 2


words = st.text(st.characters(categories=["L", "N", "P"]), min_size=1, max_size=5)
tagged = st.lists(st.lists(st.tuples(words, st.lists(words, max_size=2), words), min_size=1, max_size=4), min_size=1)


@given(tagged)
def test_columns_and_objects_are_read_back(tmp_path_factory: pytest.TempPathFactory, rows: list[list[object]]) -> None:
    folder = tmp_path_factory.mktemp("a")
    lines = ["\n".join(" ".join([token, *more, tag]) for token, more, tag in row) for row in rows]  # type: ignore[misc]
    found = read_simple_tagger(write(folder, "\n\n".join(lines)))
    again = read_sequences(write(folder, "".join(as_conll("a", found)), "a.conll"))
    assert [[token for token, *_ in row] for row in rows] == again.X  # type: ignore[misc]
    assert [list(tags or ()) for tags in again.y or ()] == [[row[-1] for row in sequence] for sequence in rows]  # type: ignore[index]


BAD = {
    "one field": ("a X\nb\n", {}, r"a\.txt, line 2: the line has one field, 'b'.*--no-labels"),
    "no such feature": ("a b X\n\nc X\n", {"token": 1}, r"a\.txt, line 3: there is no feature 1 .*there are 1"),
    "empty": ("", {}, r"a\.txt: no sequences"),
    "blank": ("\n  \n", {}, r"a\.txt: no sequences"),
    "not text": (b"a X\n\xff X\n", {}, r"a\.txt, line 2: byte 1"),
    "no token": ("\x07 X\n", {}, r"a\.txt, line 1: feature 0"),
    "cut gzip": (gzip.compress(FILE.encode())[:-9], {}, r"a\.txt: the gzip data are damaged"),
}


@pytest.mark.parametrize("name", BAD)
def test_refusals(tmp_path: Path, name: str) -> None:
    content, options, message = BAD[name]
    with pytest.raises(DataFileError, match=message):
        read_simple_tagger(write(tmp_path, content), **options)  # type: ignore[arg-type]


def test_a_token_that_columns_would_lose(tmp_path: Path) -> None:
    found = read_simple_tagger(write(tmp_path, "a X\n-DOCSTART- X\n"))
    with pytest.raises(DataFileError, match="a.txt, line 2: .*would be skipped. Write JSONL"):
        list(as_conll("a.txt", found))
