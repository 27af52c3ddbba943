"""Compressed data and constraint files: every kind is read wherever a plain one is, and damage is told by file."""

from __future__ import annotations

import io
import itertools
import lzma
import os
import sys
import types
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles.packs import PACK

from tiltfit import ConstraintSet, expect
from tiltfit.data.readers import guess_contents, packed, read, read_sequences, read_words, stream
from tiltfit.errors import ConstraintFileError, DataFileError
from tiltfit.language.mallet import read_mallet

each = pytest.mark.parametrize("suffix", PACK)
NAMES = packed.PACKED_SUFFIXES
CSV = b"text,label\n" + b"".join(b"row %d of many,a\n" % i for i in range(500))


def write(path: Path, content: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


@each
def test_documents_sequences_folders_words_and_constraints(tmp_path: Path, suffix: str) -> None:
    pack = PACK[suffix]
    assert read(write(tmp_path / f"a.CSV{suffix.upper()}", pack(CSV))).X[3] == "row 3 of many"  # type: ignore[index]
    assert read(write(tmp_path / "a.csv", pack(CSV))).X[3] == "row 3 of many"  # type: ignore[index]
    path = write(tmp_path / f"a.jsonl{suffix}", pack(b'{"tokens": ["a"], "tags": ["X"]}\n'))
    assert read_sequences(path).X == [["a"]]
    contents = guess_contents(str(path))
    assert contents is not None
    assert contents.kind == "sequences"
    assert read_sequences(write(tmp_path / f"a.conll{suffix}", pack(b"a X\nb Y\n"))).X == [["a", "b"]]
    write(tmp_path / "f" / "x" / f"1.txt{suffix}", pack(b"hello"))
    assert read(tmp_path / "f").X == ["hello"]
    assert read_words(write(tmp_path / f"w.txt{suffix}", pack(b"one\ntwo\n"))) == ["one", "two"]
    toml = write(tmp_path / f"c.toml{suffix}", pack(b"[[constraint]]\nlabel = 'a'\nabout = 0.5\n"))
    for source in (toml, str(toml)):
        assert ConstraintSet.from_toml(source) == ConstraintSet((expect("a").about(0.5),))
    mallet = write(tmp_path / f"c.txt{suffix}", pack(b"puck hockey:0.9 baseball:0.1\n"))
    assert len(read_mallet(mallet)) == 1


@each
def test_standard_input(monkeypatch: pytest.MonkeyPatch, suffix: str) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(PACK[suffix](CSV))))
    assert sum(len(chunk) for chunk in stream("-", size=64, format="csv")) == 500


@each
def test_several_frames_are_one_file(tmp_path: Path, suffix: str) -> None:
    pack = PACK[suffix]
    joined = pack(b"text\n") + pack(b"") + pack(b"a\n") + pack(b"b\n")
    assert read(write(tmp_path / f"a.csv{suffix}", joined)).X == ["a", "b"]


def test_padding_between_frames_of_xz(tmp_path: Path) -> None:
    padded = lzma.compress(b"text\n") + b"\0" * 8 + lzma.compress(b"a\n") + b"\0" * 4
    assert read(write(tmp_path / "a.csv.xz", padded)).X == ["a"]


@each
@pytest.mark.parametrize("cut", [1, 9, 200])
def test_a_file_that_is_cut_off(tmp_path: Path, suffix: str, cut: int) -> None:
    path = write(tmp_path / f"a.csv{suffix}", PACK[suffix](CSV)[:-cut])
    with pytest.raises(DataFileError, match=rf"a\.csv\{suffix}: the {NAMES[suffix]} data are damaged or cut off"):
        read(path)
    with pytest.raises(DataFileError, match="damaged or cut off"):
        list(stream(path, size=100, on_error="skip"))


@each
def test_damage_and_junk(tmp_path: Path, suffix: str) -> None:
    good = PACK[suffix](b"text\n" + os.urandom(2000).hex().encode())
    bad = good[:500] + bytes(b ^ 0xFF for b in good[500:600]) + good[600:]
    # bzip2 says nothing of what follows it
    for content in (bad, good[:10] + b"junk" * 9, *([good + b"junk"] if suffix != ".bz2" else [])):
        with pytest.raises(DataFileError, match=f"the {NAMES[suffix]} data are damaged or cut off"):
            read(write(tmp_path / f"a.csv{suffix}", content))
        with pytest.raises(ConstraintFileError, match=f"c.toml{suffix}: the {NAMES[suffix]} data are damaged"):
            ConstraintSet.from_toml(write(tmp_path / f"c.toml{suffix}", content))


@each
def test_a_name_that_promises_what_is_not_there(tmp_path: Path, suffix: str) -> None:
    assert read(write(tmp_path / f"a.csv{suffix}", "text\né\n".encode())).X == ["é"]  # unpacked on the way
    for other in (b"\x89PNG\r\n", b"PK\0\0", b"\xfd7zX\0"):
        message = rf"b\.csv\{suffix}: by its name it is {NAMES[suffix]}, but it does not begin like"
        with pytest.raises(DataFileError, match=message):
            read(write(tmp_path / f"b.csv{suffix}", other))
    with pytest.raises(DataFileError, match="no rows"):
        read(write(tmp_path / f"c.csv{suffix}", b""))
    with pytest.raises(DataFileError, match="no rows"):
        read(write(tmp_path / f"d.csv{suffix}", PACK[suffix](b"")))


def test_zstandard_without_its_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "zstandard", None)
    monkeypatch.setitem(sys.modules, "compression", None)
    path = write(tmp_path / "a.csv.zst", b"\x28\xb5\x2f\xfd\x24\0\1\0\0\x99\xe9\xd8\x51")
    with pytest.raises(DataFileError, match=r"a\.csv\.zst: .*needs the extra zstd \(pip install 'tiltfit\[zstd\]'\)"):
        read(path)


def test_zstandard_of_python_itself_is_preferred(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = []

    class Upper:
        """A decompressor as that of compression.zstd, of one frame."""

        eof, unused_data = True, b""

        def __init__(self) -> None:
            made.append(self)

        def decompress(self, data: bytes) -> bytes:
            return data[4:].upper()

    package, module = types.ModuleType("compression"), types.ModuleType("compression.zstd")
    module.ZstdDecompressor, module.ZstdError, package.zstd = Upper, ValueError, module  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "compression", package)
    monkeypatch.setitem(sys.modules, "compression.zstd", module)
    monkeypatch.setitem(sys.modules, "zstandard", None)
    assert read(write(tmp_path / "a.csv.zst", b"\x28\xb5\x2f\xfdtext\nx\n"), text="TEXT").X == ["X"]
    assert made


def test_a_bomb_is_refused_before_it_fills_the_memory(tmp_path: Path) -> None:
    for suffix in (".xz", ".zst"):
        path = write(tmp_path / f"c.toml{suffix}", PACK[suffix](bytes(1 << 27)))
        assert path.stat().st_size < 1 << 15
        with pytest.raises(ConstraintFileError, match="more than 100 times as many"):
            ConstraintSet.from_toml(path)


@given(parts=st.lists(st.binary(max_size=3000), min_size=1, max_size=4), suffix=st.sampled_from(list(PACK)))
def test_plain_bytes_come_back(parts: list[bytes], suffix: str) -> None:
    data = b"".join(PACK[suffix](part) for part in parts)
    with packed.unpacked("x", io.BufferedReader(io.BytesIO(data))) as plain:  # type: ignore[arg-type]
        pieces = iter(lambda: plain.read(700), b"")
        assert b"".join(itertools.islice(pieces, 99)) == b"".join(parts)
