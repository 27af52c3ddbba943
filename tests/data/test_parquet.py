"""Parquet: what JSONL gives, from columns with types."""

from __future__ import annotations

import datetime
import gzip
import io
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cli.ads import document, run

from tiltfit.data.readers import guess_contents, read, read_sequences, stream, stream_sequences
from tiltfit.errors import DataFileError

pa: Any = pytest.importorskip("pyarrow", reason="needs the extra parquet")
pq: Any = pytest.importorskip("pyarrow.parquet", reason="needs the extra parquet")


def packed(table: dict[str, Any], **options: Any) -> bytes:
    file = io.BytesIO()
    pq.write_table(pa.table(table), file, **options)
    return file.getvalue()


def write(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


TABLE = {"text": ["a puck", "a bat"], "label": ["hockey", None], "age": [3, None], "id": ["x", None]}


@pytest.mark.parametrize("name", ["a.parquet", "a.PQ", "plain", "a.parquet.gz"])
def test_documents(tmp_path: Path, name: str) -> None:
    data = packed(TABLE)
    path = write(tmp_path / name, gzip.compress(data) if name.endswith("gz") else data)
    found = read(path, columns=["age"])
    assert found.X["text"].tolist() == ["a puck", "a bat"]  # type: ignore[call-overload]
    assert np.array_equal(found.X["age"], [3, np.nan], equal_nan=True)  # type: ignore[call-overload]
    assert found.y is not None
    assert found.y.tolist() == ["hockey", None]
    assert found.ids == ["x", "2"]
    assert found.origins[1] == f"{path}, row 2"


def test_sequences_and_what_is_told_of_a_file(tmp_path: Path) -> None:
    rows = {"tokens": [["New", "York"], ["a"]], "tags": [["place", None], None], "age": [1.5, 2.0]}
    path = write(tmp_path / "s.parquet", packed(rows))
    found = read_sequences(path, columns=["age"])
    assert found.tokens == [["New", "York"], ["a"]]
    assert found.y == [["place", None], None]
    assert found.X["age"].tolist() == [1.5, 2.0]  # type: ignore[call-overload]
    assert found.formats == ("parquet",)
    kinds = [guess_contents(str(p)) for p in (path, write(tmp_path / "d.parquet", packed(TABLE)))]
    assert [kind.kind for kind in kinds if kind is not None] == ["sequences", "documents"]
    assert [chunk.tokens for chunk in stream_sequences(path, size=1)] == [[["New", "York"]], [["a"]]]


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(packed(TABLE))))
    assert read("-").X == ["a puck", "a bat"]


def test_streams_in_chunks_across_row_groups(tmp_path: Path) -> None:
    texts = [f"text {i}" for i in range(2500)]
    path = write(tmp_path / "a.parquet", packed({"text": texts, "label": [0, 1] * 1250}, row_group_size=700))
    chunks = list(stream(path, size=900, skip=900))
    assert [len(chunk) for chunk in chunks] == [900, 700]
    assert [text for chunk in chunks for text in chunk.X] == texts[900:]


def test_kinds_of_columns(tmp_path: Path) -> None:
    table = {
        "text": pa.array(["a", "b"]).dictionary_encode(),
        "label": pa.array([True, None]),
        "small": pa.array([1, 2], pa.uint8()),
        "gap": pa.array([float("nan"), 1.0], pa.float32()),
        "none": pa.nulls(2),
        "large": pa.array(["x", None], pa.large_string()),
    }
    found = read(write(tmp_path / "a.parquet", packed(table)), columns=["small", "gap", "none", "large"])
    assert isinstance(found.X, dict)
    assert found.X["small"].tolist() == [1, 2]
    assert np.isnan(found.X["gap"][0])
    assert found.X["large"].tolist() == ["x", None]
    assert found.X["none"].tolist() == [None, None]
    assert found.y is not None
    assert found.y.tolist() == [True, None]


rows_strategy = st.lists(
    st.fixed_dictionaries(
        {
            "text": st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=9),
            "label": st.none() | st.sampled_from(["a", "b"]),
            "n": st.none() | st.integers(-(2**40), 2**40),
        }
    ),
    min_size=1,
    max_size=5,
)


@given(rows_strategy)
def test_it_is_read_as_jsonl_is(tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, Any]]) -> None:
    folder = tmp_path_factory.mktemp("p")
    types = {"text": pa.string(), "label": pa.string(), "n": pa.int64()}
    table = {name: pa.array([row[name] for row in rows], kind) for name, kind in types.items()}
    one = read(write(folder / "a.parquet", packed(table)), columns=["n"])
    two = read(write(folder / "a.jsonl", "".join(json.dumps(r) + "\n" for r in rows).encode()), columns=["n"])
    assert repr(one.X) == repr(two.X)
    assert one.y is not None
    assert two.y is not None
    assert one.y.tolist() == two.y.tolist()


GOOD = packed({"text": ["some text"] * 3000})
DAY = datetime.date(2020, 1, 1)
BAD: dict[str, tuple[str, bytes, dict[str, Any], str]] = {
    "empty": ("a.parquet", b"", {}, r"a\.parquet: it does not begin like Parquet .*Is it empty"),
    "other bytes": ("a.parquet", b"text\nx\n", {}, r"a\.parquet: it does not begin like Parquet"),
    "said to be": ("a.csv", b"text\nx\n", {"format": "parquet"}, r"a\.csv: it does not begin like Parquet"),
    "cut off": ("a.parquet", GOOD[:-20], {}, r"a\.parquet: the Parquet data are damaged or cut off"),
    "only the beginning": ("a.parquet", b"PAR1", {}, r"a\.parquet: the Parquet data are damaged or cut off"),
    "damaged": ("a.parquet", GOOD[:10] + bytes(30) + GOOD[40:], {}, r"a\.parquet: the Parquet data are damaged"),
    "no text": ("a.parquet", packed({"body": ["x"]}), {}, r"a\.parquet: there is no text field 'text'.*'body'"),
    "text of numbers": (
        "a.parquet",
        packed({"text": [1]}),
        {},
        r"a\.parquet, row 1: the text field 'text' is a number",
    ),
    "null text": ("a.parquet", packed({"text": ["x", None]}), {}, r"a\.parquet, row 2: the text field 'text' is null"),
    "list of labels": ("a.parquet", packed({"text": ["x"], "label": [["a"]]}), {}, r"row 1: the label is a list"),
    "column nowhere": ("a.parquet", packed(TABLE), {"columns": ["aeg"]}, r"no column field 'aeg'.*mean \"age\""),
    "dates": ("a.parquet", packed({"text": ["x"], "day": [DAY]}), {"columns": ["day"]}, r"'day' holds date32.*cast it"),
    "bytes": ("a.parquet", packed({"text": [b"x"]}), {}, r"the column 'text' holds binary.*cast it"),
    "too large": ("a.parquet", packed({"text": ["x"], "n": [float("inf")]}), {"columns": ["n"]}, "row 1: .*too large"),
    "no rows": ("a.parquet", packed({"text": pa.array([], pa.string())}), {}, "no rows"),
    "damaged gzip": ("a.parquet.gz", gzip.compress(GOOD)[:-9], {}, "gzip data are damaged"),
}


@pytest.mark.parametrize("name", BAD)
def test_refusals(tmp_path: Path, name: str) -> None:
    file, content, options, message = BAD[name]
    with pytest.raises(DataFileError, match=message):
        read(write(tmp_path / file, content), **options)


def test_refusals_of_sequences(tmp_path: Path) -> None:
    for table, message in (
        ({"text": ["x"]}, "there is no tokens field 'tokens'"),
        ({"tokens": ["x"]}, "row 1: the field 'tokens' is a string, not a list of tokens"),
        ({"tokens": [["x"]], "tags": [["a", "b"]]}, "row 1: 1 tokens, but 2 tags"),
        ({"tokens": [[1]]}, "row 1: token 0 of the field 'tokens' is a number"),
    ):
        with pytest.raises(DataFileError, match=message):
            read_sequences(write(tmp_path / "s.parquet", packed(table)))


def test_malformed_rows_of_a_stream(tmp_path: Path) -> None:
    documents = stream(write(tmp_path / "a.parquet", packed({"text": ["x", None, "y"]})), size=9, on_error="skip")
    assert [chunk.X for chunk in documents] == [["x", "y"]]
    assert documents.rejected == 1


def test_without_its_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "a.parquet", packed(TABLE))
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(
        DataFileError, match=r"a\.parquet: .* needs the extra parquet \(pip install 'tiltfit\[parquet\]'"
    ):
        read(path)
    assert guess_contents(str(path)) is None


def test_on_the_command_line(tmp_path: Path) -> None:
    path, rules = write(tmp_path / "a.parquet", packed(TABLE)), tmp_path / "c.toml"
    rules.write_text('[[constraint]]\nlabel = "hockey"\ngiven = { word = "puck" }\nabout = 0.9\n')
    assert document("check", rules, "--data", path)["constraints"][0]["support"] == 1
    code, out, _ = run("check", rules, "--data", "-", stdin=path.read_bytes())
    assert (code, "fires on 1 of 2" in out) == (0, True)
