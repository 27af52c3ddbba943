"""``.tilt`` files: one JSON document and named arrays of numbers in a zip, as ``docs/tilt-format.md`` describes.

This module knows nothing of what the document and the arrays mean. The members are ``.npy`` files and not one nested
``.npz``: a zip in a zip would have to be checked twice, and like this the file itself opens with ``numpy.load``.
"""

from __future__ import annotations

import hashlib
import os
import stat
import zipfile
import zlib
from collections.abc import Mapping
from typing import Any, BinaryIO, Final

from tiltfit.errors import ModelFileError, UnsupportedError
from tiltfit.storage import archive, manifest, npy, strict_json
from tiltfit.storage.archive import Archive
from tiltfit.storage.atomic import replacing
from tiltfit.storage.manifest import DOCUMENT, MANIFEST, ArrayEntry, Digest, Manifest
from tiltfit.storage.npy import Array, Layout
from tiltfit.storage.strict_json import JSON

MAX_BYTES: Final = 4 << 30

# Level 1 packs sparse weights nearly as well as level 6, at 130 to 400 MB/s. What does not shrink to a quarter (dense
# weights do not shrink at all) is stored as it is: packing it would take a second for 20 MB.
_LEVEL = 1
_WORTH_ARRAY = 4
_WORTH_JSON = 1
_CHUNK = 1 << 18
_MAX_RATIO = 250  # the reader allows archive.RATIO, a little more: zlib's output may vary by how the input is cut


def write(
    path: str | os.PathLike[str],
    document: Mapping[str, JSON],
    arrays: Mapping[str, Array],
    *,
    max_bytes: int = MAX_BYTES,
) -> None:
    """Write ``document`` and ``arrays`` to ``path``, whole or not at all.

    Equal content gives equal bytes: arrays are written in C order and sorted by name, times are fixed.
    Raises UnsupportedError for what the format does not hold, or what ``read`` would refuse as too large,
    and OSError if the file cannot be written; whatever was at ``path`` is then still there.
    """
    text = strict_json.encode(document, name="document")
    contents = _canonical(arrays)
    entries = tuple(_entry(name, array) for name, array in contents.items())
    table = Manifest(_digest(text), entries)
    head = strict_json.encode(manifest.to_json(table), name="manifest")
    if (needed := _memory(len(head), table)) > max_bytes:
        raise UnsupportedError(
            f"The model is too large for a file: reading it could take {needed} bytes of memory, and at most "
            f"{max_bytes} are allowed. Use fewer features, float32 weights, or move long lists from the document "
            "into arrays."
        )
    with replacing(path) as file:
        _write_zip(file, head, text, contents)


def read(path: str | os.PathLike[str], *, max_bytes: int = MAX_BYTES) -> tuple[dict[str, Any], dict[str, Array]]:
    """The document and the arrays in ``path``. Takes at most about ``max_bytes`` of memory, whatever the file says.

    Never unpickles, never extracts to disk. Raises ModelFileError for a file that is damaged, hostile, too large,
    of another format or of an unknown version, and OSError (FileNotFoundError, PermissionError) if it cannot be opened.
    """
    try:
        mode = os.stat(path).st_mode
        if not stat.S_ISREG(mode):  # a pipe would block, a device might never end
            raise ModelFileError("it is a folder" if stat.S_ISDIR(mode) else "it is not a regular file")
        with open(path, "rb") as file:
            return read_from(file, max_bytes=max_bytes)
    except ModelFileError as error:
        raise ModelFileError(
            f"{os.fspath(path)} is not a model file that can be read: {str(error).rstrip('.')}."
        ) from error


def read_from(file: BinaryIO, *, max_bytes: int = MAX_BYTES) -> tuple[dict[str, Any], dict[str, Array]]:
    """As ``read``, from an open file that can seek. Messages of errors do not name it."""
    with archive.opened(file) as members:
        table = _read_manifest(members, max_bytes)
        _check_members(members, table, max_bytes)
        document = strict_json.decode(_read_all(members, DOCUMENT, table.document), name=DOCUMENT)
        return document, {entry.name: _read_array(members, entry) for entry in table.arrays}


def _canonical(arrays: Mapping[str, Array]) -> dict[str, Array]:
    if len(arrays) > manifest.MAX_ARRAYS:
        raise UnsupportedError(f"A model file holds at most {manifest.MAX_ARRAYS} arrays, and these are {len(arrays)}.")
    for name in arrays:
        if not manifest.is_array_name(name):
            raise UnsupportedError(
                f"{name!a} cannot be the name of an array in a model file. Use at most {manifest.MAX_NAME} letters, "
                'digits and underscores, with single dots or dashes between: "model.weights".'
            )
    return {name: npy.canonical(name, arrays[name]) for name in sorted(arrays)}


def _memory(manifest_size: int, table: Manifest) -> int:
    """The cost of reading: JSON is charged for the objects it becomes, arrays for their bytes."""
    text = manifest_size + table.document.size
    return strict_json.MEMORY_PER_BYTE * text + sum(entry.digest.size for entry in table.arrays)


def _layout(array: Array) -> Layout:
    return Layout(array.dtype.str, array.shape)


def _entry(name: str, array: Array) -> ArrayEntry:
    return ArrayEntry(name, array.dtype.str, array.shape, _digest(npy.header(_layout(array)), npy.as_bytes(array)))


def _digest(*parts: bytes | memoryview) -> Digest:
    sha256 = hashlib.sha256()
    for part in parts:
        sha256.update(part)
    return Digest(sum(memoryview(part).nbytes for part in parts), sha256.hexdigest())


def _write_zip(file: BinaryIO, head: bytes, text: bytes, contents: Mapping[str, Array]) -> None:
    with zipfile.ZipFile(file, "w") as target:
        _write_member(target, MANIFEST, head, _WORTH_JSON)
        _write_member(target, DOCUMENT, text, _WORTH_JSON)
        for name, array in contents.items():
            data = b"".join((npy.header(_layout(array)), npy.as_bytes(array)))
            _write_member(target, f"arrays/{name}.npy", data, _WORTH_ARRAY)


def _write_member(target: zipfile.ZipFile, name: str, data: bytes, worth: int) -> None:
    info = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
    info.create_system = 3  # the same on every system, or the bytes would differ
    info.external_attr = (stat.S_IFREG | 0o644) << 16
    method = zipfile.ZIP_DEFLATED if _worth_packing(data, worth) else zipfile.ZIP_STORED
    target.writestr(info, data, compress_type=method, compresslevel=_LEVEL)


def _worth_packing(data: bytes, worth: int) -> bool:
    """Return whether ``data`` shrinks by the factor ``worth``, but not so much that the reader takes it for a bomb.

    Gives up at the first chunk that says no, so dense weights cost a few milliseconds.
    """
    packer = zlib.compressobj(_LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
    packed = 0
    for start in range(0, len(data), _CHUNK):
        chunk = memoryview(data)[start : start + _CHUNK]
        packed += len(packer.compress(chunk))
        if packed * worth > start + len(chunk):
            return False
    packed += len(packer.flush())
    return packed * worth <= len(data) <= _MAX_RATIO * packed


def _read_manifest(members: Archive, max_bytes: int) -> Manifest:
    """Read first, and alone: the other members of a file of a later version may follow other rules."""
    if MANIFEST not in members.members:
        raise ModelFileError(f"it has no {MANIFEST}, so something else wrote it")
    members.check(MANIFEST)
    if members.size(MANIFEST) * strict_json.MEMORY_PER_BYTE > max_bytes:
        raise ModelFileError(f"its {MANIFEST} is too large ({members.size(MANIFEST)} bytes)")
    return manifest.from_json(strict_json.decode(_read_all(members, MANIFEST, None), name=MANIFEST))


def _check_members(members: Archive, table: Manifest, max_bytes: int) -> None:
    """The zip contains what the manifest lists, no more, no less, in the sizes it lists."""
    expected = table.members
    if unknown := sorted(members.members.keys() - expected.keys() - {MANIFEST}):
        raise ModelFileError(f"it contains {unknown[0][:200]!a}, which its manifest does not list")
    if missing := sorted(expected.keys() - members.members.keys()):
        raise ModelFileError(f"{missing[0]} is missing")
    for name, digest in expected.items():
        members.check(name)
        if members.size(name) != digest.size:
            raise ModelFileError(f"{name} has {members.size(name)} bytes, but {digest.size} in the manifest")
    members.check_disjoint()
    if (needed := _memory(members.size(MANIFEST), table)) > max_bytes:
        raise ModelFileError(
            f"reading it could take {needed} bytes of memory, and at most {max_bytes} are allowed (max_bytes)"
        )


def _read_all(members: Archive, name: str, digest: Digest | None) -> bytes:
    with members.reading(name, digest) as reader:
        return reader.read(members.size(name))


def _read_array(members: Archive, entry: ArrayEntry) -> Array:
    with members.reading(entry.member, entry.digest) as reader:
        try:
            preamble = reader.read(npy.PREAMBLE)
            length = npy.header_length(preamble)
            layout = npy.parse_header(reader.read(length))
            if (layout.dtype, layout.shape) != (entry.dtype, entry.shape):
                raise ModelFileError("its .npy header contradicts the manifest")
            if npy.PREAMBLE + length + layout.nbytes != entry.digest.size:
                raise ModelFileError("its shape does not fit its size")
            flat, view = npy.allocate(layout)
            reader.read_into(view)
            return npy.finish(flat, layout)
        except ModelFileError as error:
            raise ModelFileError(f"array {entry.name!r} cannot be right: {error}") from None
