"""Damaged files of every format that is read: they are read, or refused by an exception of ours, soon and in little
memory, and nothing is written."""

from __future__ import annotations

import signal
import time
import tracemalloc
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles.packs import PACK
from tests.safety import seeds
from tests.safety.mutations import damaged, fuzz

from tiltfit import ConstraintSet
from tiltfit.convert.simple_tagger import read_simple_tagger
from tiltfit.convert.votes import read_votes
from tiltfit.data.inputs import TextInputs
from tiltfit.data.readers import (
    guess_contents,
    packed,
    read,
    read_sequences,
    read_words,
    source,
    stream,
    stream_sequences,
)
from tiltfit.data.readers.source import opened
from tiltfit.errors import DataFileError, TiltfitError
from tiltfit.language.conditions import Regex
from tiltfit.language.mallet import read_mallet
from tiltfit.language.sentences import describe

SECONDS = 20.0
"""Of processor time for a file of a few kilobytes; hundredths are usual, but the machine may be busy."""
EACH_BYTE, BASE = 2000, 20_000_000
"""Bytes of memory for a byte of the file, and for any file."""


def said(path: Path) -> None:
    """Read, put into words, written and read again."""
    found = ConstraintSet.from_toml(path)
    for constraint in found:
        describe(constraint)
        hash(constraint)
    assert ConstraintSet.from_toml(found.to_toml()) == found


def documents(path: Path) -> None:
    read(path, columns=["n"])
    for _ in stream(path, size=2, columns=["n"], on_error="skip"):
        pass


def guessed(path: Path) -> None:
    guess_contents(str(path))
    read(path)


def sequences(path: Path) -> None:
    read_sequences(path)
    for _ in stream_sequences(path, size=1, on_error="skip"):
        pass


def votes(path: Path) -> None:
    read_votes(path)


READERS: dict[str, tuple[str, Callable[[Path], Any], list[bytes]]] = {
    "toml": ("c.toml", said, seeds.TOML),
    "jsonl": ("d.jsonl", documents, seeds.JSONL),
    "csv": ("d.csv", documents, seeds.CSV),
    "tsv": ("d.tsv", documents, [s.replace(b",", b"\t") for s in seeds.CSV]),
    "no suffix": ("d", guessed, [*seeds.JSONL, *seeds.CONLL]),
    "conll": ("d.conll", sequences, seeds.CONLL),
    "sequences": ("s.jsonl", sequences, seeds.SEQUENCES),
    "mallet": ("m.txt", read_mallet, seeds.MALLET),
    "simple tagger": ("t.txt", read_simple_tagger, seeds.SIMPLE_TAGGER),
    "words": ("w.txt", read_words, seeds.WORDS),
    "votes": ("v.csv", votes, seeds.VOTES),
    "npy": ("v.npy", votes, seeds.ARRAYS[:3]),
    "npz": ("v.npz", votes, seeds.ARRAYS),
}
each = pytest.mark.parametrize("kind", READERS)


def attempt(folder: Path, name: str, reader: Callable[[Path], Any], data: bytes) -> bool:
    """Whether it is read. Nothing else may happen than being refused, and the folder stays as it is."""
    path = folder / name
    path.write_bytes(data)
    began = time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            reader(path)
        return True
    except TiltfitError:
        return False
    finally:
        assert time.process_time() - began < SECONDS
        assert path.read_bytes() == data
        assert [p.name for p in folder.iterdir()] == [name]
        path.unlink()


@each
def test_seeds_are_valid(tmp_path: Path, kind: str) -> None:
    name, reader, files = READERS[kind]
    assert any(attempt(tmp_path, name, reader, data) for data in files)


@each
@given(data=st.data())
@fuzz
def test_damaged_files_are_read_or_refused(tmp_path: Path, kind: str, data: st.DataObject) -> None:
    name, reader, files = READERS[kind]
    attempt(tmp_path, name, reader, data.draw(damaged(files)))


@pytest.mark.parametrize("suffix", PACK)
@pytest.mark.parametrize("kind", ["toml", "jsonl", "conll", "npy"])
@given(data=st.data())
@fuzz
def test_damaged_packed_files(tmp_path: Path, kind: str, suffix: str, data: st.DataObject) -> None:
    name, reader, files = READERS[kind]
    whole = PACK[suffix](data.draw(st.sampled_from(files)))
    attempt(tmp_path, name + suffix, reader, data.draw(damaged([whole])))


@each
def test_every_beginning_of_a_packed_file(tmp_path: Path, kind: str) -> None:
    name, reader, files = READERS[kind]
    for suffix, pack in PACK.items():
        whole = pack(files[0])
        for length in range(11, len(whole), 11):
            assert not attempt(tmp_path, name + suffix, reader, whole[:length])


@each
@given(data=st.data())
@fuzz
def test_memory_is_bounded(tmp_path: Path, kind: str, data: st.DataObject) -> None:
    name, reader, files = READERS[kind]
    content = data.draw(damaged(files))
    tracemalloc.start()
    try:
        attempt(tmp_path, name, reader, content)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak <= EACH_BYTE * len(content) + BASE


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz", ".zst"])
def test_a_bomb_is_refused_when_it_has_grown_too_large(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    monkeypatch.setattr(packed, "_FREE", 1 << 18)
    bomb = PACK[suffix](b"text\n" + b"x\n" * (1 << 20))  # 2 MB of short lines, in a few kilobytes
    (tmp_path / f"b.csv{suffix}").write_bytes(bomb)
    tracemalloc.start()
    try:
        with pytest.raises(DataFileError, match="100 times as many, .*If you trust the file, unpack it first"):
            pieces(tmp_path / f"b.csv{suffix}")
        assert tracemalloc.get_traced_memory()[1] < 2 * BASE
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("kind", ["dictionary", "plain", "lists"])
def test_a_parquet_file_with_far_more_text_than_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr(packed, "_FREE", 1 << 18)
    many = pa.array(["x" * 100_000] * 1000)  # 100 MB in a few kilobytes
    many = many if kind == "plain" else many.dictionary_encode()
    if kind == "lists":
        many = pa.ListArray.from_arrays(pa.array(range(0, 1001, 10), pa.int32()), many)
    pq.write_table(pa.table({"text": many, "tokens": many}), tmp_path / "b.parquet", compression="zstd")
    reader = read_sequences if kind == "lists" else read
    tracemalloc.start()
    try:
        with pytest.raises(DataFileError, match=r"b\.parquet: .* bytes of Parquet hold .*write its rows as JSONL"):
            reader(tmp_path / "b.parquet")
        assert tracemalloc.get_traced_memory()[1] < 2 * BASE
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.conll"])
def test_blank_lines_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, end: bytes) -> None:
    monkeypatch.setattr(source, "MOST_BLANK", 1000)
    reader = read_sequences if name.endswith("conll") else read
    first = {"a.csv": b"text", "a.jsonl": b'{"text": "x"}', "a.conll": b"x Y"}[name]
    for content in (end * 1001, first + end * 2000):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(DataFileError, match=f"{name}, line .*: more than 1,000 blank lines in a row"):
            reader(tmp_path / name)


def pieces(path: Path) -> None:
    with opened(str(path)) as raw:
        while raw.read(1 << 16):
            pass


def npy(header: str, data: bytes = b"") -> bytes:
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + data


@pytest.mark.parametrize(
    ("name", "content"),
    {
        "more than there is": npy("{'descr': '<i8', 'fortran_order': False, 'shape': (1000000, 1000000), }\n"),
        "less than nothing": npy("{'descr': '<i8', 'fortran_order': False, 'shape': (-1, -1), }\n", bytes(8)),
        "a header that is cut": npy("{'descr': '<i8', \"\"\"\n"),
        "a header of brackets": npy("[" * 5000),
        "structures": npy("{'descr': [('a', '<i8')], 'fortran_order': False, 'shape': (1, 1), }\n", bytes(8)),
        "objects": npy("{'descr': '|O', 'fortran_order': False, 'shape': (1, 1), }\n", bytes(8)),
    }.items(),
)
def test_arrays_that_are_not_what_they_say(tmp_path: Path, name: str, content: bytes) -> None:
    tracemalloc.start()
    try:
        assert not attempt(tmp_path, "v.npy", votes, content), name
        assert tracemalloc.get_traced_memory()[1] < BASE
    finally:
        tracemalloc.stop()


def test_an_archive_that_holds_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tiltfit.convert.votes.MAX_ARRAY", 10_000)
    np.savez_compressed(tmp_path / "v.npz", L=np.zeros((1000, 100), dtype=np.int8))
    with pytest.raises(DataFileError, match="longer than 10,000 bytes"):
        read_votes(tmp_path / "v.npz")


def test_many_names_of_rules_take_no_time(tmp_path: Path) -> None:
    names = ",".join(f"r{j}" for j in range(50_000))
    assert attempt(tmp_path, "v.csv", votes, f"{names}\n{'1,' * 49_999}0\n".encode())


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs POSIX signals")
def test_a_pattern_that_takes_for_ever_can_be_interrupted() -> None:
    """Python's ``re`` has no limit of time; what it has is an ear for signals, so that Ctrl-C ends it."""

    class Rang(Exception):
        pass

    def ring(*_: object) -> None:
        raise Rang

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    try:
        with pytest.raises(Rang):
            Regex("^(a+)+$").fires(TextInputs(["a" * 40 + "b"]))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
