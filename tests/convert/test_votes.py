"""Snorkel's votes as columns and constraints."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiltfit.convert.votes import constraints_of, read_votes, rows_of
from tiltfit.data.readers import read
from tiltfit.errors import DataError, DataFileError, TiltfitError

CSV = "short, long\n0,-1\n-1,-1\n\n0,1\n1,-1\n"
VOTES = [[0, -1], [-1, -1], [0, 1], [1, -1]]


def write(tmp_path: Path, content: str | bytes, name: str = "v.csv") -> Path:
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def saved(array: Any, **named: Any) -> bytes:
    file = io.BytesIO()
    np.savez(file, **named) if named else np.save(file, array)
    return file.getvalue()


def test_csv_with_and_without_names(tmp_path: Path) -> None:
    found = read_votes(write(tmp_path, CSV))
    assert (found.names, found.votes.tolist(), found.classes) == (("short", "long"), VOTES, (0, 1))
    plain = read_votes(write(tmp_path, CSV.split("\n", 1)[1].replace(",", "\t"), "v.tsv"), classes=["ham", "spam"])
    assert (plain.names, plain.votes.tolist()) == (("rule_0", "rule_1"), VOTES)
    assert plain.classes == ("ham", "spam")


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.float64])
def test_arrays(tmp_path: Path, dtype: type) -> None:
    array = np.array(VOTES, dtype=dtype)
    for name, content in {"v.npy": saved(array), "v.npz": saved(None, L=array)}.items():
        assert read_votes(write(tmp_path, content, name)).votes.tolist() == VOTES


def test_constraints_say_what_each_rule_votes_for(tmp_path: Path) -> None:
    said = constraints_of(read_votes(write(tmp_path, CSV), classes=["ham", "spam"]))
    assert [c.title for c in said] == ["short: ham", "short: spam", "long: spam"]
    assert said.classes == ("ham", "spam")
    assert repr(said[0].given) == "column('short').equals('ham')"
    assert said[0].rationale is not None
    assert said[0].rationale.startswith("It votes so on 2 of 4.")


def test_classes_without_names_are_words_in_the_columns(tmp_path: Path) -> None:
    for names, labels in ((None, (0, 1)), (["0", "1"], ("0", "1"))):
        votes = read_votes(write(tmp_path, CSV), classes=names)
        assert next(rows_of(votes)) == {"id": "0", "short": "class_0", "long": None}
        said = constraints_of(votes)
        assert repr(said[0].given) == "column('short').equals('class_0')"
        assert said.classes == labels
        assert constraints_of(votes, text_labels=True).classes == ("0", "1")


def test_rows_with_documents(tmp_path: Path) -> None:
    votes = read_votes(write(tmp_path, CSV), classes=["ham", "spam"])
    lines = [{"text": f"text {i}", "label": "ham"} if i else {"text": "first", "id": "x"} for i in range(4)]
    documents = read(write(tmp_path, "".join(json.dumps(line) + "\n" for line in lines), "d.jsonl"))
    rows = list(rows_of(votes, documents))
    assert rows[0] == {"id": "x", "text": "first", "label": None, "short": "ham", "long": None}
    assert rows[2] == {"id": "3", "text": "text 2", "label": "ham", "short": "ham", "long": "spam"}
    assert next(rows_of(votes)) == {"id": "0", "short": "ham", "long": None}


@given(st.lists(st.lists(st.integers(-1, 3), min_size=3, max_size=3), min_size=1), st.booleans())
def test_csv_and_arrays_agree(tmp_path_factory: pytest.TempPathFactory, votes: list[list[int]], named: bool) -> None:
    folder = tmp_path_factory.mktemp("v")
    text = "a,b,c\n" * named + "".join(",".join(map(str, row)) + "\n" for row in votes)
    names = ["w", "x", "y", "z"]
    one = read_votes(write(folder, text), classes=names, header=named)
    two = read_votes(write(folder, saved(np.array(votes)), "v.npy"), classes=names)
    assert one.votes.tolist() == two.votes.tolist() == votes
    counts = sum(len(set(row) - {-1}) for row in zip(*votes, strict=True))
    assert len(constraints_of(one)) == counts


BAD: dict[str, tuple[str, str | bytes, dict[str, Any], str]] = {
    "ragged": ("v.csv", "a,b\n0,1\n0\n", {}, r"v\.csv, line 3: the row has 1 cells, but the first has 2"),
    "no number": ("v.csv", "a,b\n0,1\n0,spam\n", {}, r"line 3: 'spam' of the rule 'b' is not a vote.*-1 for none"),
    "fraction": ("v.csv", "1,1\n0.5,1\n", {}, r"v\.csv, line 2: '0\.5' of column 1 is not a vote"),
    "below -1": ("v.csv", "1,1\n-2,1\n", {}, r"line 2: '-2' of column 1 is not a vote"),
    "empty cell": ("v.csv", "a,b\n0,\n", {}, r"line 2: '' of the rule 'b' is not a vote"),
    "index column": ("v.csv", ",a,b\n0,1,0\n", {}, r"line 1: column 1 has no name. If it numbers the rows"),
    "same name": ("v.csv", "a,a\n0,1\n", {}, r"line 1: two rules are called 'a'"),
    "reserved": ("v.csv", "a,text\n0,1\n", {}, r"line 1: a rule cannot be called 'text'"),
    "ambiguous": ("v.csv", "0,1,2\n0,1,-1\n", {}, r"line 1: 0, 1, 2, … may be names of rules or votes.*--header"),
    "empty": ("v.csv", "", {}, r"v\.csv: no votes"),
    "names only": ("v.csv", "a,b\n", {}, r"v\.csv: no votes below"),
    "open quote": ("v.csv", '"a,b\n0,1\n', {}, r"v\.csv, line 2: not CSV"),
    "too few names": ("v.csv", "0,2\n", {"classes": ["a", "b"]}, r"class 2, but the names end at class 1"),
    "one class": ("v.csv", "0,-1\n", {}, r"v\.csv: no vote is for a class beyond 0"),
    "far class": ("v.csv", "0,123456\n", {}, r"a vote is for class 123456"),
    "same classes": ("v.csv", "1,1\n", {"classes": ["a", "a"]}, r"two or more different names"),
    "no array": ("v.npy", b"junk", {}, r"v\.npy: this is not an array of numbers, or it is damaged"),
    "empty array file": ("v.npy", b"", {}, r"v\.npy: this is not an array"),
    "cut array": ("v.npy", saved(np.array(VOTES))[:-9], {}, r"v\.npy: this is not an array"),
    "cut zip": ("v.npz", saved(None, L=np.array(VOTES))[:-9], {}, r"v\.npz: this is not an array"),
    "two arrays": ("v.npz", saved(None, a=np.eye(2), b=np.eye(2)), {}, r"v\.npz: it must hold one array, .*'a', 'b'"),
    "vector": ("v.npy", saved(np.array([0, 1])), {}, r"v\.npy: .*the array has 1 dimensions"),
    "no rows": ("v.npy", saved(np.zeros((0, 3))), {}, r"v\.npy: no votes"),
    "objects": ("v.npy", saved(np.array([["a", "b"]])), {}, r"v\.npy: the array holds <U1, not integers"),
    "fractions": ("v.npy", saved(np.array([[0, 1], [0.5, 1]])), {}, r"v\.npy, row 1, column 0 \(from 0\): 0\.5 is no"),
    "not finite": ("v.npy", saved(np.array([[0, np.nan]])), {}, r"row 0, column 1 \(from 0\): nan is not a vote"),
    "negative": ("v.npy", saved(np.array([[0, -2]])), {}, r"row 0, column 1 \(from 0\): -2 is not a vote"),
}


@pytest.mark.parametrize("name", BAD)
def test_refusals(tmp_path: Path, name: str) -> None:
    file, content, options, message = BAD[name]
    with pytest.raises(TiltfitError, match=message):
        read_votes(write(tmp_path, content, file), **options)


def test_pickles_are_not_opened(tmp_path: Path) -> None:
    file = io.BytesIO()
    np.save(file, np.array([[{}]], dtype=object), allow_pickle=True)
    with pytest.raises(DataFileError, match="holds object, not integers"):
        read_votes(write(tmp_path, file.getvalue(), "v.npy"))


def test_documents_that_are_too_few(tmp_path: Path) -> None:
    votes, documents = read_votes(write(tmp_path, CSV)), read(write(tmp_path, "text\nx\n", "d.csv"))
    with pytest.raises(DataError, match=r"d\.csv: 1 documents, but .*v\.csv has votes on 4"):
        list(rows_of(votes, documents))
