"""A zip from a stranger, read without trusting it.

Nothing is extracted to disk. Before a member is read, its declared size is held against the bytes it occupies in the
file; while it is read, never more than the declared size is produced.
"""

from __future__ import annotations

import hashlib
import os
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, BinaryIO, Final

from tiltfit.errors import ModelFileError

# A member may be RATIO times as large as what it occupies in the file, and this much besides. Zlib's fastest level,
# which the writer uses, packs zeros 229 : 1; other levels reach 1030 : 1.
RATIO: Final = 300
FREE: Final = 1 << 16
MAX_ARRAYS: Final = 4096

_CHUNK = 1 << 20
_MAX_DIRECTORY = (MAX_ARRAYS + 2) * 256  # a record has 46 bytes, a name of at most 111 and perhaps 28 for large sizes
_ENCRYPTED = 0x1 | 0x40 | 0x2000
_LOCAL_HEADER = 30

_END = struct.Struct("<4s4H2LH")
_END64_LOCATOR = struct.Struct("<4sLQL")
_END64 = struct.Struct("<4sQ2H2L4Q")
_TAIL = _END64.size + _END64_LOCATOR.size + _END.size


@dataclass(frozen=True)
class Digest:
    """Size in bytes and SHA-256 of a member, uncompressed."""

    size: int
    sha256: str

    def to_json(self) -> dict[str, int | str]:
        return {"bytes": self.size, "sha256": self.sha256}


@dataclass(frozen=True)
class Archive:
    """An open zip, its members by name, and where its directory starts."""

    zip: zipfile.ZipFile
    members: dict[str, zipfile.ZipInfo]
    directory: int

    def check(self, name: str) -> None:
        """Refuse a member that is not a plain file, or larger than its bytes in the file can justify."""
        info = self.members[name]
        if info.flag_bits & _ENCRYPTED:
            raise ModelFileError(f"{name} is encrypted")
        if stat.S_IFMT(info.external_attr >> 16) not in (0, stat.S_IFREG):
            raise ModelFileError(f"{name} is a link or a special file")
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ModelFileError(f"{name} is compressed by method {info.compress_type}; only 0 and 8 are allowed")
        if info.compress_type == zipfile.ZIP_STORED and info.file_size != info.compress_size:
            raise ModelFileError(f"{name} has two different sizes")
        if info.header_offset + _LOCAL_HEADER + len(name) + info.compress_size > self.directory:
            raise ModelFileError(f"{name} reaches beyond the end of the file")
        if info.file_size > RATIO * info.compress_size + FREE:
            raise ModelFileError(
                f"{name} claims {info.file_size} bytes from {info.compress_size}, which is more than {RATIO} : 1"
            )

    def check_disjoint(self) -> None:
        """Refuse members that share bytes: the same few bytes could be unpacked many times."""
        end = 0
        for info in sorted(self.members.values(), key=lambda info: info.header_offset):
            if info.header_offset < end:
                raise ModelFileError(f"{info.filename} overlaps another member")
            end = info.header_offset + _LOCAL_HEADER + len(info.filename) + info.compress_size

    def size(self, name: str) -> int:
        """Declared size."""
        return self.members[name].file_size

    @contextmanager
    def reading(self, name: str, digest: Digest | None) -> Iterator[Reader]:
        """A reader of one member; at the end of the block all of it must have been read, and be what it should be."""
        with _damage_in(name), self.zip.open(self.members[name]) as stream:
            reader = Reader(name, stream)
            yield reader
            reader.finish(digest)


class Reader:
    """Reads exactly what it is asked for, or raises; keeps the digest of what has passed."""

    def __init__(self, name: str, stream: IO[bytes]) -> None:
        self._name = name
        self._stream = stream
        self._sha256 = hashlib.sha256()

    def read(self, size: int) -> bytes:
        """The next ``size`` bytes."""
        data = bytearray(size)
        self.read_into(memoryview(data))
        return bytes(data)

    def read_into(self, view: memoryview) -> None:
        """Fill ``view``."""
        done = 0
        while done < len(view):
            part = self._stream.read(min(_CHUNK, len(view) - done))
            if not part:
                raise ModelFileError(f"{self._name} is shorter than it should be")
            view[done : done + len(part)] = part
            self._sha256.update(part)
            done += len(part)

    def finish(self, digest: Digest | None) -> None:
        """Refuse bytes left over, and a wrong digest."""
        if self._stream.read(1):
            raise ModelFileError(f"{self._name} is longer than it should be")
        if digest is not None and self._sha256.hexdigest() != digest.sha256:
            raise ModelFileError(f"{self._name} is damaged: its SHA-256 is not the one in the manifest")


@contextmanager
def opened(file: BinaryIO) -> Iterator[Archive]:
    """The zip in ``file``, which must be seekable, or ModelFileError."""
    start = _directory_start(file, file.seek(0, os.SEEK_END))
    with _damage_in("its directory"):
        archive = zipfile.ZipFile(file)
    with archive:
        yield Archive(archive, _by_name(archive), start)


def _by_name(archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    members: dict[str, zipfile.ZipInfo] = {}
    for info in archive.infolist():
        # The original name: the other one has been cut at a zero byte.
        if info.orig_filename in members:
            raise ModelFileError(f"it contains {info.orig_filename[:200]!a} twice")
        members[info.orig_filename] = info
    return members


def _directory_start(file: BinaryIO, size: int) -> int:
    """The offset of the directory; refuses files of which it is not the very end, and directories that are too large.

    The end record is looked at here because ``zipfile`` reads the whole directory into memory, and accepts
    anything before, between and after.
    """
    file.seek(max(size - _TAIL, 0))
    tail = file.read(_TAIL)
    if len(tail) < _END.size or not tail[-_END.size :].startswith(b"PK\x05\x06"):
        raise ModelFileError("it is empty" if size == 0 else "it is not a complete zip file")
    *_, length, start, _comment = _END.unpack(tail[-_END.size :])
    end = size - _END.size
    locator = tail[-_END.size - _END64_LOCATOR.size : -_END.size]
    if locator.startswith(b"PK\x06\x07"):  # the form for files of 2 GiB and more
        end -= _END64_LOCATOR.size + _END64.size
        _, _, where, _ = _END64_LOCATOR.unpack(locator)
        if len(tail) < _TAIL or where != end or not tail.startswith(b"PK\x06\x06"):
            raise ModelFileError("its end record is damaged")
        *_, length, start = _END64.unpack(tail[: _END64.size])
    if start + length != end:
        raise ModelFileError("its directory is not where its end record says")
    if length > _MAX_DIRECTORY:
        raise ModelFileError(f"its directory has {length} bytes; at most {_MAX_DIRECTORY} are allowed")
    return int(start)


@contextmanager
def _damage_in(what: str) -> Iterator[None]:
    """Turn the errors of ``zipfile`` for damaged files, which differ by version, into one kind of error."""
    try:
        yield
    except ModelFileError:
        raise
    except (
        zipfile.BadZipFile,
        zlib.error,
        struct.error,
        EOFError,
        NotImplementedError,
        RuntimeError,
        ValueError,
        OverflowError,
    ) as error:
        raise ModelFileError(f"{what} is damaged ({error})") from error
