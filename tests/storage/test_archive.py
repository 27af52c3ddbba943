"""Hand-made hostile zips: one trick a test, refused with a message that names it, in bounded memory."""

from __future__ import annotations

import io
import os
import pickle
import struct
import sys
import tracemalloc
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from tests.storage import forge

from tiltfit.errors import ModelFileError
from tiltfit.storage import archive, container, npy

MB = 1 << 20
CENTRAL = struct.Struct("<4s6H3L5H2L")  # signature, 6 small fields, crc, packed size, size, ...


@contextmanager
def at_most(limit: int) -> Iterator[None]:
    """Fail if the block allocates more than ``limit`` bytes at once."""
    tracemalloc.start()
    try:
        yield
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < limit, f"{peak / MB:.1f} MB"


def refuse(path: Path, message: str, *, limit: int = 4 * MB, max_bytes: int = container.MAX_BYTES) -> None:
    with at_most(limit), pytest.raises(ModelFileError, match=message) as caught:
        container.read(path, max_bytes=max_bytes)
    assert str(path) in str(caught.value)


@pytest.fixture
def members(tmp_path: Path) -> forge.Members:
    return forge.honest(tmp_path / "honest.tilt")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "hostile.tilt"


def test_an_honest_file_put_together_again_is_read(path: Path, members: forge.Members) -> None:
    assert container.read(forge.assemble(path, members))[0] == forge.DOCUMENT


# --- not our kind of file ---


def test_an_empty_file(path: Path) -> None:
    path.touch()
    refuse(path, "it is empty")


@pytest.mark.parametrize("data", [b"x", b"PK\x03\x04", b"\x80\x04K\x01.", b"\x1f\x8b" + bytes(100), bytes(5000)])
def test_a_file_that_is_no_zip(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    refuse(path, "not a complete zip")


def test_a_folder(tmp_path: Path) -> None:
    refuse(tmp_path, "it is a folder")


@pytest.mark.skipif(sys.platform == "win32", reason="needs pipes with names")
def test_a_pipe(path: Path) -> None:
    os.mkfifo(path)
    refuse(path, "not a regular file")


def test_a_zip_of_something_else(path: Path) -> None:
    refuse(forge.assemble(path, {"word/document.xml": b"<w/>"}), "no manifest.json, so something else wrote it")


def test_an_npz_that_is_no_model(path: Path) -> None:
    with path.open("wb") as file:
        np.savez(file, weights=np.zeros(3))
    refuse(path, "no manifest.json")


def test_an_empty_zip(path: Path) -> None:
    refuse(forge.assemble(path, {}), "no manifest.json")


# --- names ---


@pytest.mark.parametrize(
    "name",
    [
        "../evil.npy",
        "arrays/../../evil.npy",
        "/etc/evil",
        "C:\\evil",
        "arrays\\x.npy",
        "arrays/",
        "évil",
        "a\nb",
        "x" * 300,
    ],
)
def test_names_that_lead_elsewhere(path: Path, members: forge.Members, name: str) -> None:
    refuse(forge.assemble(path, members | {name: b""}), "which its manifest does not list")


def test_a_name_with_a_zero_byte(path: Path, members: forge.Members) -> None:
    forge.assemble(path, members | {"document.jsonX": b"{}"})
    forge.patch(path, b"document.jsonX", b"document.json\0")
    refuse(path, "which its manifest does not list")


def test_a_member_that_the_manifest_does_not_list(path: Path, members: forge.Members) -> None:
    refuse(forge.assemble(path, members | {"arrays/more.npy": members["arrays/weights.npy"]}), "'arrays/more.npy'")


@pytest.mark.parametrize("name", ["manifest.json", "document.json", "arrays/weights.npy"])
def test_a_missing_member(path: Path, members: forge.Members, name: str) -> None:
    del members[name]
    refuse(forge.assemble(path, members), f"no {name}|{name} is missing")


@pytest.mark.parametrize("name", ["manifest.json", "document.json", "arrays/weights.npy"])
def test_a_member_that_is_there_twice(path: Path, members: forge.Members, name: str) -> None:
    forge.assemble(path, members)
    with warnings.catch_warnings(), zipfile.ZipFile(path, "a") as target:
        warnings.simplefilter("ignore")
        target.writestr(name, members[name])
    refuse(path, f"contains '{name}' twice")


# --- kinds of members ---


@pytest.mark.parametrize("mode", [0o120777, 0o040755, 0o010644, 0o020644])
def test_links_folders_and_devices(path: Path, members: forge.Members, mode: int) -> None:
    def tweak(info: zipfile.ZipInfo) -> None:
        if info.filename == "arrays/weights.npy":
            info.create_system = 3
            info.external_attr = mode << 16

    refuse(forge.assemble(path, members, tweak=tweak), "is a link or a special file")


@pytest.mark.parametrize("flag", [0x1, 0x41, 0x2000])
def test_encrypted_members(path: Path, members: forge.Members, flag: int) -> None:
    forge.assemble(path, members)
    data = bytearray(path.read_bytes())
    at = data.rindex(b"PK\x01\x02")  # the last record of the directory: arrays/weights.npy
    data[at + 8 : at + 10] = flag.to_bytes(2, "little")
    path.write_bytes(data)
    refuse(path, "arrays/weights.npy is encrypted")


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_compression(path: Path, members: forge.Members, method: int) -> None:
    refuse(forge.assemble(path, members, method=method), f"compressed by method {method}; only 0 and 8")


def test_unknown_compression(path: Path, members: forge.Members) -> None:
    forge.assemble(path, members)
    data = bytearray(path.read_bytes())
    at = data.rindex(b"PK\x01\x02")
    data[at + 10 : at + 12] = (99).to_bytes(2, "little")
    path.write_bytes(data)
    refuse(path, "method 99")


# --- bombs ---


def rewrite_sizes(path: Path, *, size: int | None = None, packed: int | None = None, offset: int | None = None) -> None:
    """Lie in the last record of the directory."""
    data = bytearray(path.read_bytes())
    at = data.rindex(b"PK\x01\x02")
    fields = list(CENTRAL.unpack_from(data, at))
    fields[8] = fields[8] if packed is None else packed
    fields[9] = fields[9] if size is None else size
    fields[16] = fields[16] if offset is None else offset
    CENTRAL.pack_into(data, at, *fields)
    path.write_bytes(data)


def zeros(n: int) -> bytes:
    return npy.header(npy.Layout("|u1", (n,))) + bytes(n)


def test_an_array_packed_a_thousand_to_one(path: Path, members: forge.Members) -> None:
    data = zeros(16 * MB)
    bomb = forge.with_payload(members, "weights", data, dtype="|u1", shape=[16 * MB])
    forge.assemble(path, bomb)
    assert path.stat().st_size < 20_000
    refuse(path, r"which is more than 300 : 1")


def test_a_document_packed_a_thousand_to_one(path: Path, members: forge.Members) -> None:
    data = b'{"a":"' + b" " * (16 * MB) + b'"}'
    refuse(forge.assemble(path, forge.with_document(members, data)), r"document.json claims .* more than 300 : 1")


def test_a_manifest_packed_a_thousand_to_one(path: Path, members: forge.Members) -> None:
    bomb = members | {"manifest.json": members["manifest.json"] + b" " * (16 * MB)}
    refuse(forge.assemble(path, bomb), r"manifest.json claims .* more than 300 : 1")


def test_more_than_the_caller_allows(path: Path, members: forge.Members) -> None:
    bomb = forge.with_payload(members, "weights", zeros(8 * MB), dtype="|u1", shape=[8 * MB])
    forge.assemble(path, bomb, method=zipfile.ZIP_STORED)
    refuse(path, r"at most 8388608 are allowed \(max_bytes\)", max_bytes=8 * MB)


def test_a_document_of_countless_empty_lists(path: Path, members: forge.Members) -> None:
    data = b'{"a":[' + b"[]," * 300_000 + b"[]]}"
    forge.assemble(path, forge.with_document(members, data), method=zipfile.ZIP_STORED)
    refuse(path, "max_bytes", max_bytes=8 * MB)


def test_a_manifest_of_countless_empty_lists(path: Path, members: forge.Members) -> None:
    bomb = members | {"manifest.json": b'{"a":[' + b"[]," * 300_000 + b"[]]}"}
    forge.assemble(path, bomb, method=zipfile.ZIP_STORED)
    refuse(path, "manifest.json is too large", max_bytes=8 * MB)


def test_a_stream_that_goes_on_after_the_declared_size(path: Path, members: forge.Members) -> None:
    honest = members["arrays/weights.npy"]
    forge.assemble(path, members | {"arrays/weights.npy": honest + bytes(16 * MB)})
    rewrite_sizes(path, size=len(honest))
    refuse(path, "weights.npy is damaged")


def test_a_stream_that_ends_before_the_declared_size(path: Path, members: forge.Members) -> None:
    bomb = forge.with_payload(members, "weights", zeros(60_000), dtype="|u1", shape=[60_000])
    forge.assemble(path, bomb | {"arrays/weights.npy": zeros(100)})
    rewrite_sizes(path, size=len(zeros(60_000)))
    refuse(path, "weights")


def test_a_reader_that_is_given_more_than_was_declared() -> None:
    reader = archive.Reader("a", io.BytesIO(b"xy"))
    assert reader.read(1) == b"x"
    with pytest.raises(ModelFileError, match="a is longer than it should be"):
        reader.finish(None)


def test_many_names_for_the_same_bytes(path: Path, members: forge.Members) -> None:
    forge.assemble(path, members, method=zipfile.ZIP_STORED)
    with zipfile.ZipFile(path) as source:
        where = source.getinfo("arrays/support.npy").header_offset
    rewrite_sizes(path, offset=where)
    refuse(path, "overlaps another member")


def test_a_member_that_reaches_into_the_directory(path: Path, members: forge.Members) -> None:
    forge.assemble(path, members, method=zipfile.ZIP_STORED)
    size = len(members["arrays/weights.npy"]) + 1
    rewrite_sizes(path, size=size, packed=size)
    refuse(path, "reaches beyond the end")


def test_two_sizes_for_one_stored_member(path: Path, members: forge.Members) -> None:
    forge.assemble(path, members, method=zipfile.ZIP_STORED)
    rewrite_sizes(path, size=10_000)
    refuse(path, "two different sizes")


def test_a_directory_of_countless_names(path: Path, members: forge.Members) -> None:
    forge.assemble(path, members | {f"{i:x}": b"" for i in range(25_000)}, method=zipfile.ZIP_STORED)
    refuse(path, "its directory has .* bytes")


# --- around the zip ---


def test_bytes_before_the_zip(path: Path, members: forge.Members) -> None:
    forge.assemble(path, members)
    path.write_bytes(b"#!/bin/sh\n" + path.read_bytes())
    refuse(path, "not where its end record says")


def test_bytes_after_the_zip(path: Path, members: forge.Members) -> None:
    forge.assemble(path, members)
    path.write_bytes(path.read_bytes() + b"x")
    refuse(path, "not a complete zip")


def test_a_comment_in_which_another_zip_hides(path: Path, members: forge.Members) -> None:
    forge.assemble(path, members)
    with zipfile.ZipFile(path, "a") as target:
        target.comment = b"PK\x05\x06 and so on"
    refuse(path, "not a complete zip")


def test_an_end_record_for_large_files_that_points_elsewhere(
    path: Path, members: forge.Members, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(zipfile, "ZIP64_LIMIT", 100)
    forge.assemble(path, members)
    monkeypatch.undo()
    data = bytearray(path.read_bytes())
    at = data.rindex(b"PK\x06\x07")
    data[at + 8 : at + 16] = (0).to_bytes(8, "little")
    path.write_bytes(data)
    refuse(path, "its end record is damaged")


# --- arrays ---


def test_a_short_array_that_claims_a_trillion_rows(path: Path, members: forge.Members) -> None:
    data = npy.header(npy.Layout("<f8", (10**12,))) + bytes(100)
    refuse(forge.assemble(path, forge.with_payload(members, "weights", data, shape=[10**12])), "does not fit its size")


def test_a_long_array_that_claims_few_rows(path: Path, members: forge.Members) -> None:
    data = npy.header(npy.Layout("<f8", (2,))) + bytes(100)
    refuse(forge.assemble(path, forge.with_payload(members, "weights", data, shape=[2])), "does not fit its size")


def test_a_header_that_contradicts_the_manifest(path: Path, members: forge.Members) -> None:
    hostile = forge.with_array(members, "weights", shape=[3, 2])
    refuse(forge.assemble(path, hostile), "'weights' cannot be right: its .npy header contradicts the manifest")


class Boom:
    def __reduce__(self) -> tuple[object, ...]:
        return (pytest.fail, ("unpickled",))


@pytest.mark.parametrize("dtype", ["|O", "<f8"])
def test_an_array_of_pickled_objects(path: Path, members: forge.Members, dtype: str) -> None:
    buffer = io.BytesIO()
    np.save(buffer, np.array([Boom()]), allow_pickle=True)
    assert b"unpickled" in buffer.getvalue()
    hostile = forge.with_payload(members, "weights", buffer.getvalue(), dtype=dtype, shape=[1])
    refuse(forge.assemble(path, hostile), "'weights' cannot be right: its dtype")


def test_an_array_that_is_a_bare_pickle(path: Path, members: forge.Members) -> None:
    hostile = forge.with_payload(members, "weights", pickle.dumps([1.0]))
    refuse(forge.assemble(path, hostile), "does not start as an .npy array")


def test_a_header_that_is_code(path: Path, members: forge.Members) -> None:
    data = forge.npy("{'descr': exit(), 'fortran_order': False, 'shape': (2, 3), }", bytes(48))
    refuse(forge.assemble(path, forge.with_payload(members, "weights", data)), "not of the form that NumPy writes")


def test_a_header_of_a_gigabyte(path: Path, members: forge.Members) -> None:
    data = b"\x93NUMPY\x02\x00" + (1 << 30).to_bytes(4, "little") + b"{" * 100
    refuse(forge.assemble(path, forge.with_payload(members, "weights", data)), "does not start as an .npy array")


def test_a_header_longer_than_its_member(path: Path, members: forge.Members) -> None:
    data = b"\x93NUMPY\x01\x00" + (4096).to_bytes(2, "little") + b" " * 100
    refuse(forge.assemble(path, forge.with_payload(members, "weights", data)), "shorter than it should be")


def test_an_empty_array_member(path: Path, members: forge.Members) -> None:
    refuse(forge.assemble(path, forge.with_payload(members, "weights", b"")), "shorter than it should be")


def test_booleans_that_are_neither(path: Path, members: forge.Members) -> None:
    data = npy.header(npy.Layout("|b1", (3,))) + b"\x00\x01\x02"
    hostile = forge.with_payload(members, "weights", data, dtype="|b1", shape=[3])
    refuse(forge.assemble(path, hostile), "bytes other than 0 and 1")


# --- integrity ---


def test_a_wrong_checksum(path: Path, members: forge.Members) -> None:
    forge.assemble(path, members, method=zipfile.ZIP_STORED)
    forge.patch(path, struct.pack("<d", 4.0), struct.pack("<d", 4.5))
    refuse(path, "arrays/weights.npy is damaged .*CRC")


def test_a_wrong_digest(path: Path, members: forge.Members) -> None:
    changed = members["arrays/weights.npy"].replace(struct.pack("<d", 4.0), struct.pack("<d", 4.5))
    refuse(
        forge.assemble(path, members | {"arrays/weights.npy": changed}), "its SHA-256 is not the one in the manifest"
    )


def test_a_document_from_another_model(path: Path, members: forge.Members) -> None:
    changed = members["document.json"].replace(b"hockey", b"cricke")
    refuse(forge.assemble(path, members | {"document.json": changed}), "document.json is damaged: its SHA-256")


def test_a_size_that_contradicts_the_manifest(path: Path, members: forge.Members) -> None:
    hostile = forge.with_array(members, "weights", bytes=1000)
    refuse(forge.assemble(path, hostile), "bytes, but 1000 in the manifest")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"[]", "must be a JSON object"),
        (b'{"a":NaN}', "NaN"),
        (b'{"a":1,"a":2}', "repeats the key"),
        (b"", "not valid JSON"),
    ],
)
def test_a_document_that_is_not_strict_json(path: Path, members: forge.Members, data: bytes, message: str) -> None:
    refuse(forge.assemble(path, forge.with_document(members, data)), f"document.json .*{message}")
