"""Compressed bytes to plain ones: gzip, bzip2, xz and Zstandard, recognised by how they begin and not by their names.

Whatever a file claims, little memory is asked for at a time: xz and Zstandard are unpacked in small pieces.
"""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import re
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple, Protocol, cast

from tiltfit.errors import DataFileError

PACKED_SUFFIXES = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz", ".zst": "zstd"}

_GZIP = b"\x1f\x8b"
# Longer than "BZh", which could be a token: the first block, or the end if there is none.
_BZIP2 = re.compile(rb"BZh[1-9](1AY&SY|\x17rE8P\x90)")
_XZ = b"\xfd7zXZ\0"
_ZSTD = b"\x28\xb5\x2f\xfd"  # no text: in UTF-8 no character begins with b5

MOST_TIMES = 100
"""The most times that a file may be as long as its packed form: text is 3 to 10 times, logs and tables up to 50."""
_FREE = 1 << 24  # bytes that are never too many

_PIECE = 1 << 10  # bytes in at a time; Zstandard makes at most 32 MiB of them
_GULP = 1 << 16
_XZ_MEMORY = 1 << 29  # xz -9 needs an eighth of it


class _Decompressor(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, /) -> bytes: ...


class _Packing(NamedTuple):
    """A decompressor of one frame, what it raises, and bytes that may stand after a frame and mean nothing."""

    start: Callable[[], _Decompressor]
    error: type[Exception]
    padding: bytes = b""


def is_bomb(packed: int, plain: int) -> bool:
    """Whether ``packed`` bytes are too few to have become ``plain`` ones."""
    return plain > MOST_TIMES * packed + _FREE


def read_at_most(raw: io.BufferedReader, limit: int) -> bytes:
    """Everything, or the first ``limit`` bytes; ``raw.read(limit)`` would ask for memory for all of them at once."""
    pieces, left = [], limit
    while left and (piece := raw.read(min(left, _GULP))):
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)


@contextmanager
def unpacked(place: str, raw: io.BufferedReader) -> Iterator[io.BufferedReader]:
    """The plain bytes of ``raw``; ``place`` begins every complaint, and its suffix says what was meant to be there."""
    kind = _kind(raw.peek(10))
    if kind is None:
        _refuse_other(place, raw)
        yield raw
        return
    counted = _Counted(raw)
    try:
        with _opened(place, kind, cast("io.BufferedReader", counted)) as packed:
            yield io.BufferedReader(_Bounded(place, kind, counted, cast("io.RawIOBase", packed)))
    except (EOFError, zlib.error, OSError) as error:  # OSError: what bz2 and gzip say of damage
        raise DataFileError(f"{place}: the {kind} data are damaged or cut off ({error}).") from error


def without_packing(name: str) -> str:
    """A name without the suffix of a compression.

    >>> without_packing("a.csv.XZ"), without_packing("a.csv")
    ('a.csv', 'a.csv')
    """
    suffix = Path(name).suffix
    return name[: -len(suffix)] if suffix.lower() in PACKED_SUFFIXES else name


def _kind(head: bytes) -> str | None:
    if head.startswith(_GZIP):
        return "gzip"
    if _BZIP2.match(head):
        return "bzip2"
    return "xz" if head.startswith(_XZ) else "zstd" if head.startswith(_ZSTD) else None


def _refuse_other(place: str, raw: io.BufferedReader) -> None:
    """Refuse bytes that are neither what the suffix says nor text. Plain text under such a name is read."""
    meant = PACKED_SUFFIXES.get(Path(place).suffix.lower())
    head = raw.peek(64)[:64] if meant is not None else b""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
        text = b"\0" not in head
    except UnicodeDecodeError:
        text = False
    if not text:
        raise DataFileError(
            f"{place}: by its name it is {meant}, but it does not begin like {meant}, nor like text. "
            "Is it damaged, or packed otherwise?"
        )


def _opened(place: str, kind: str, raw: io.BufferedReader) -> gzip.GzipFile | bz2.BZ2File | _Unpacking:
    if kind == "gzip":
        return gzip.GzipFile(fileobj=raw, mode="rb")
    if kind == "bzip2":
        return bz2.BZ2File(raw, mode="rb")
    if kind == "xz":
        start = cast(Callable[[], _Decompressor], lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, _XZ_MEMORY))
        return _Unpacking(raw, _Packing(start, lzma.LZMAError, b"\0"))
    packing = _zstd()
    if packing is None:
        raise DataFileError(
            f"{place}: it is packed by Zstandard, which before Python 3.14 needs the extra zstd (pip install "
            "'tiltfit[zstd]'). Install it, or unpack the file."
        )
    return _Unpacking(raw, packing)


def _zstd() -> _Packing | None:
    with suppress(ImportError):
        from compression import zstd

        return _Packing(zstd.ZstdDecompressor, zstd.ZstdError)
    with suppress(ImportError):
        import zstandard

        def start() -> _Decompressor:
            return cast(_Decompressor, zstandard.ZstdDecompressor().decompressobj())

        return _Packing(start, zstandard.ZstdError)
    return None


class _Counted:
    """Packed bytes, and how many of them have been read."""

    def __init__(self, raw: io.BufferedReader) -> None:
        self._raw, self.done = raw, 0

    def read(self, size: int = -1, /) -> bytes:
        return self._note(self._raw.read(size))

    def read1(self, size: int = -1, /) -> bytes:
        return self._note(self._raw.read1(size))

    def _note(self, data: bytes) -> bytes:
        self.done += len(data)
        return data

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return False


class _Bounded(io.RawIOBase):
    """Plain bytes, as long as there are not too many for what they were packed into."""

    def __init__(self, place: str, kind: str, packed: _Counted, plain: io.RawIOBase) -> None:
        self._place, self._kind, self._packed, self._plain, self._done = place, kind, packed, plain, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        n = self._plain.readinto(buffer) or 0
        self._done += n
        if is_bomb(self._packed.done, self._done):
            raise DataFileError(
                f"{self._place}: {self._packed.done:,} bytes of {self._kind} data are {self._done:,} bytes and more, "
                f"more than {MOST_TIMES} times as many, which hardly any text is. If you trust the file, unpack "
                "it first."
            )
        return n


class _Unpacking(io.RawIOBase):
    """The frames of a file, one after the other, each to its end: a file that is cut off is an error."""

    def __init__(self, raw: io.BufferedReader, packing: _Packing) -> None:
        self._raw, self._packing = raw, packing
        self._frame = packing.start()
        self._begun = False  # whether the current frame has been given any bytes
        self._plain = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        while not self._plain:
            data = self._raw.read1(_PIECE)
            if not data:
                if self._begun:
                    raise EOFError("it ends in the middle of a frame")
                return 0
            self._plain = memoryview(self._take(data))
        n = min(len(buffer), len(self._plain))
        buffer[:n], self._plain = self._plain[:n], self._plain[n:]
        return n

    def _take(self, data: bytes) -> bytes:
        """The plain bytes for some packed ones; they may hold the end of a frame and further frames."""
        found = []
        while data:
            if not self._begun:
                data = data.lstrip(self._packing.padding) if self._packing.padding else data
                if not data:
                    break
            try:
                found.append(self._frame.decompress(data))
            except self._packing.error as error:
                raise OSError(str(error)) from error
            self._begun, data = True, b""
            if self._frame.eof:
                self._begun, data, self._frame = False, self._frame.unused_data, self._packing.start()
        return b"".join(found)
