"""From a path or standard input to lines of text, with the number of each line.

Gzip is told by its magic bytes, text must be UTF-8 (a byte-order mark is dropped), and a line has a
largest length, so that neither a binary file nor a compressed bomb can fill the memory in one gulp.
"""

from __future__ import annotations

import gzip
import io
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from tiltfit.data.readers.record import problem
from tiltfit.errors import DataFileError, did_you_mean

STDIN = "-"
MAX_LINE = 1 << 26
"""Longest line (and longest file of a text folder), in bytes."""

_GZIP = b"\x1f\x8b"
_BOM = b"\xef\xbb\xbf"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


def place_of(source: str) -> str:
    """What messages call a source."""
    return "standard input" if source == STDIN else source


@contextmanager
def opened(source: str) -> Iterator[io.BufferedReader]:
    """The bytes of a source, decompressed; every failure to read them is a DataFileError."""
    place = place_of(source)
    try:
        with _raw(source) as raw:
            if raw.peek(2)[:2] != _GZIP:
                yield raw
                return
            with gzip.GzipFile(fileobj=raw, mode="rb") as unzipped:
                yield io.BufferedReader(cast("io.RawIOBase", unzipped))
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataFileError(f"{place}: the gzip data are damaged or cut off ({error}).") from error
    except FileNotFoundError:
        raise DataFileError(f"{place}: there is no such file.{_neighbour(source)}") from None
    except OSError as error:
        raise DataFileError(f"{place}: cannot be read ({error.strerror or error}).") from error


@contextmanager
def _raw(source: str) -> Iterator[io.BufferedReader]:
    if source != STDIN:
        with open(source, "rb") as file:
            yield file
        return
    # Not closed at the end: standard input belongs to the process.
    stream: Any = sys.stdin.buffer
    if isinstance(stream, io.BufferedReader):
        yield stream
        return
    buffered = io.BufferedReader(stream)
    try:
        yield buffered
    finally:
        buffered.detach()


def _neighbour(source: str) -> str:
    try:
        return did_you_mean(Path(source).name, (p.name for p in Path(source).parent.iterdir()))
    except OSError:
        return ""


def lines(place: str, raw: io.BufferedReader) -> Iterator[tuple[int, str]]:
    """(number, text with its line end) of each line; splits at line feeds only, as JSONL and csv expect."""
    number = 0
    while line := raw.readline(MAX_LINE + 1):
        number += 1
        if len(line) > MAX_LINE:
            raise problem(place, number, f"the line is longer than {MAX_LINE:,} bytes. Is this a text file?")
        yield number, decode(place, number, line, first=number == 1)


def decode(place: str, number: int, data: bytes, *, first: bool) -> str:
    """UTF-8 bytes to text. ``first`` says that a byte-order mark may stand at the start."""
    if first and data.startswith(_UTF16):
        raise problem(place, number, "the file is UTF-16. Convert it to UTF-8.")
    if first and data.startswith(_BOM):
        data = data[len(_BOM) :]
    if b"\0" in data:
        raise problem(place, number, "the line contains a NUL byte. Is this a binary or UTF-16 file?")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        bad = data[error.start]
        raise problem(
            place, number, f"byte {error.start + 1} of the line (0x{bad:02x}) is not UTF-8. Convert the file to UTF-8."
        ) from None
