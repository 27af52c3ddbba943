"""``.tilt`` files: one JSON document and named arrays of numbers in a zip, as ``docs/tilt-format.md`` describes.

This module knows nothing of what the document and the arrays mean. The members are ``.npy`` files and not one nested
``.npz``: a zip in a zip would have to be checked twice, and like this the file itself opens with ``numpy.load``.

The manifest is the table of contents: format, version, and size and digest of every other member. ``format`` and
``version`` keep their place and meaning in all versions: any reader can tell what it cannot read.
"""

from __future__ import annotations

import hashlib
import math
import os
import re
import stat
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO, Final

import numpy as np

from tiltfit.errors import ModelFileError, UnsupportedError
from tiltfit.storage import archive, npy, strict_json
from tiltfit.storage.archive import MAX_ARRAYS, Archive, Digest
from tiltfit.storage.atomic import replacing
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

FORMAT: Final = "tiltfit"
VERSION: Final = 1
READABLE: Final = (1,)

MANIFEST: Final = "manifest.json"
DOCUMENT: Final = "document.json"

_NAME = re.compile(r"[A-Za-z0-9_]+(?:[.-][A-Za-z0-9_]+)*")
MAX_NAME: Final = 100
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class ArrayEntry:
    """One array: its name, what it is, and the digest of its ``.npy`` member."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    digest: Digest

    @property
    def member(self) -> str:
        """Its path in the zip."""
        return f"arrays/{self.name}.npy"


@dataclass(frozen=True)
class Manifest:
    """Everything a file contains besides the manifest itself."""

    document: Digest
    arrays: tuple[ArrayEntry, ...]

    @property
    def members(self) -> dict[str, Digest]:
        """Every member but the manifest, by name."""
        return {DOCUMENT: self.document} | {entry.member: entry.digest for entry in self.arrays}

    def to_json(self) -> dict[str, JSON]:
        """The manifest as it stands in the file."""
        arrays = [{"name": a.name, "dtype": a.dtype, "shape": a.shape, **a.digest.to_json()} for a in self.arrays]
        return {"format": FORMAT, "version": VERSION, "document": self.document.to_json(), "arrays": arrays}

    @staticmethod
    def from_json(value: dict[str, Any]) -> Manifest:
        """Check everything that can be checked without looking at another member. Raises ModelFileError."""
        _check_version(value)
        _require_keys(value, {"format", "version", "document", "arrays"}, "the manifest")
        _require_keys(value["document"], {"bytes", "sha256"}, "the manifest's document")
        if not isinstance(value["arrays"], list) or len(value["arrays"]) > MAX_ARRAYS:
            raise ModelFileError(f"the manifest's arrays must be a list of at most {MAX_ARRAYS}")
        arrays = tuple(_entry(item) for item in value["arrays"])
        if len({a.name for a in arrays}) < len(arrays):
            raise ModelFileError("the manifest lists an array twice")
        return Manifest(_stated_digest(value["document"], "the document"), arrays)


def is_array_name(name: object) -> bool:
    """Return whether an array may have this name: letters, digits and underscores, with single dots or dashes between.

    >>> is_array_name("model.weights"), is_array_name("../weights")
    (True, False)
    """
    return isinstance(name, str) and len(name) <= MAX_NAME and _NAME.fullmatch(name) is not None


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
    entries = tuple(ArrayEntry(name, a.dtype.str, a.shape, _digest(*_parts(a))) for name, a in contents.items())
    table = Manifest(_digest(text), entries)
    head = strict_json.encode(table.to_json(), name="manifest")
    if (needed := _memory(len(head), table)) > max_bytes:
        raise UnsupportedError(
            f"The model is too large for a file: reading it could take {needed} bytes of memory, and at most "
            f"{max_bytes} are allowed. Use fewer features, float32 weights, or move long lists from the document "
            "into arrays."
        )
    with replacing(path) as file, zipfile.ZipFile(file, "w") as target:
        _write_member(target, MANIFEST, head, _WORTH_JSON)
        _write_member(target, DOCUMENT, text, _WORTH_JSON)
        for entry in entries:
            _write_member(target, entry.member, b"".join(_parts(contents[entry.name])), _WORTH_ARRAY)


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
    if len(arrays) > MAX_ARRAYS:
        raise UnsupportedError(f"A model file holds at most {MAX_ARRAYS} arrays, and these are {len(arrays)}.")
    for name in arrays:
        if not is_array_name(name):
            raise UnsupportedError(
                f"{name!a} cannot be the name of an array in a model file. Use at most {MAX_NAME} letters, "
                'digits and underscores, with single dots or dashes between: "model.weights".'
            )
    return {name: npy.canonical(name, arrays[name]) for name in sorted(arrays)}


def _memory(manifest_size: int, table: Manifest) -> int:
    """The cost of reading: JSON is charged for the objects it becomes, arrays for their bytes."""
    text = manifest_size + table.document.size
    return strict_json.MEMORY_PER_BYTE * text + sum(entry.digest.size for entry in table.arrays)


def _parts(array: Array) -> tuple[bytes, memoryview]:
    """The header and the numbers of its member."""
    return npy.header(Layout(array.dtype.str, array.shape)), npy.as_bytes(array)


def _digest(*parts: bytes | memoryview) -> Digest:
    sha256 = hashlib.sha256()
    for part in parts:
        sha256.update(part)
    return Digest(sum(memoryview(part).nbytes for part in parts), sha256.hexdigest())


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
    return Manifest.from_json(strict_json.decode(_read_all(members, MANIFEST, None), name=MANIFEST))


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
            flat = np.empty(math.prod(layout.shape), dtype=layout.dtype)
            reader.read_into(npy.as_bytes(flat))
            return npy.finish(flat, layout)
        except ModelFileError as error:
            raise ModelFileError(f"array {entry.name!r} cannot be right: {error}") from None


# The manifest of a file that is read


def _check_version(value: dict[str, Any]) -> None:
    if value.get("format") != FORMAT:
        raise ModelFileError(f"its manifest does not say format {FORMAT!r}, so something else wrote it")
    version = value.get("version")
    if not _is_int(version):
        raise ModelFileError("its manifest has no version number")
    if version not in READABLE:
        known = ", ".join(str(v) for v in READABLE)
        raise ModelFileError(
            f"it is a file of version {str(version)[:20]}, and this tiltfit reads version {known}. "
            "Update tiltfit, or save the model with the version you have"
        )


def _entry(item: Any) -> ArrayEntry:
    _require_keys(item, {"name", "dtype", "shape", "bytes", "sha256"}, "an array of the manifest")
    if not is_array_name(item["name"]):
        raise ModelFileError(f"the manifest lists an array with the forbidden name {str(item['name'])[:MAX_NAME]!a}")
    what = f"array {item['name']!r}"
    if not isinstance(item["shape"], list) or not all(_is_int(d) for d in item["shape"]):
        raise ModelFileError(f"{what} cannot be right: its shape is not a list of integers")
    if not isinstance(item["dtype"], str):
        raise ModelFileError(f"{what} cannot be right: its dtype is not a string")
    entry = ArrayEntry(item["name"], item["dtype"], tuple(item["shape"]), _stated_digest(item, what))
    try:
        npy.check_layout(Layout(entry.dtype, entry.shape))
    except ModelFileError as error:
        raise ModelFileError(f"{what} cannot be right: {error}") from None
    return entry


def _stated_digest(item: dict[str, Any], what: str) -> Digest:
    if not _is_int(item["bytes"]) or item["bytes"] < 0:
        raise ModelFileError(f"the manifest gives {what} no size")
    if not isinstance(item["sha256"], str) or not _SHA256.fullmatch(item["sha256"]):
        raise ModelFileError(f"the manifest gives {what} no SHA-256")
    return Digest(item["bytes"], item["sha256"])


def _require_keys(value: Any, keys: set[str], what: str) -> None:
    if not isinstance(value, dict) or value.keys() != keys:
        raise ModelFileError(f"{what} must have exactly the keys {', '.join(sorted(keys))}")


def _is_int(value: object) -> bool:
    return type(value) is int
