"""From a path or standard input to lines of text, with the number of each line.

Compressed files are unpacked (``packed``), text must be UTF-8 (a byte-order mark is dropped), and a line has a
largest length, so that neither a binary file nor a compressed bomb can fill the memory in one gulp.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tiltfit.data.readers.packed import unpacked, without_packing
from tiltfit.data.readers.record import Refusal, problem
from tiltfit.errors import DataFileError, did_you_mean

STDIN = "-"
MAX_LINE = 1 << 26
MOST_BLANK = 1_000_000  # lines in a row: a few bytes can be packed hours of them
_BLANK = (b"\n", b"\r\n")
"""Longest line (and longest file of a text folder), in bytes."""

JSONL_SUFFIXES = (".jsonl", ".ndjson", ".json")

_PIECE = 1 << 16  # bytes at a time of what is passed over
_MEMORY = 1 << 31  # bytes of a file that cannot be read in place
_BOM = b"\xef\xbb\xbf"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


def place_of(source: str) -> str:
    """The name of a source in messages."""
    return "standard input" if source == STDIN else source


@dataclass
class Meter:
    """The number of bytes of regular files that have been read, as they are on the disk."""

    done: int = 0
    current: io.BufferedReader | None = None

    @property
    def bytes(self) -> int:
        # A generator that is dropped half-read may find its file closed before it.
        return self.done + (self.current.tell() if self.current is not None and not self.current.closed else 0)

    @contextmanager
    def watch(self, file: io.BufferedReader) -> Iterator[None]:
        """Count a file while it is read. Pipes do not tell how far they are."""
        self.current = file if file.seekable() else None
        try:
            yield
        finally:
            self.done, self.current = self.bytes, None


@contextmanager
def opened(source: str, meter: Meter | None = None) -> Iterator[io.BufferedReader]:
    """The bytes of a source, decompressed; every failure to read them is a DataFileError."""
    place = place_of(source)
    try:
        with _raw(source, meter or Meter()) as raw, unpacked(place, raw) as plain:
            yield plain
    except FileNotFoundError:
        raise DataFileError(f"{place}: there is no such file.{_neighbour(source)}") from None
    except OSError as error:
        raise DataFileError(f"{place}: cannot be read ({error.strerror or error}).") from error


def suffix_of(name: str) -> str:
    """The suffix in lower case, under that of a compression.

    >>> suffix_of("a/B.JSONL.gz"), suffix_of("-")
    ('.jsonl', '')
    """
    return Path(without_packing(name)).suffix.lower()


def begins(raw: io.BufferedReader, head: bytes) -> bool:
    """Return whether the text begins so, after a byte-order mark and blanks; reads nothing."""
    return raw.peek(64).removeprefix(_BOM).lstrip().startswith(head)


@contextmanager
def _raw(source: str, meter: Meter) -> Iterator[io.BufferedReader]:
    if source != STDIN:
        with open(source, "rb") as file, meter.watch(file):
            yield file
        return
    # Not closed at the end: standard input belongs to the process.
    if sys.stdin is None:
        raise DataFileError("standard input is closed. Pipe something into it, or name a file.")
    stream: Any = sys.stdin.buffer
    if isinstance(stream, io.BufferedReader):
        yield stream
        return
    buffered = io.BufferedReader(stream)
    try:
        yield buffered
    finally:
        buffered.detach()


def in_place(place: str, raw: io.BufferedReader) -> Any:
    """The file itself if one can go back and forth in it, else its bytes."""
    if isinstance(raw.raw, io.FileIO) and raw.seekable():
        return raw
    data = raw.read(_MEMORY + 1)
    if len(data) > _MEMORY:
        raise DataFileError(f"{place}: more than {_MEMORY:,} bytes. Unpack the file, and name it instead of -.")
    return io.BytesIO(data)


def _neighbour(source: str) -> str:
    try:
        return did_you_mean(Path(source).name, (p.name for p in Path(source).parent.iterdir()))
    except OSError:
        return ""


def lines(place: str, raw: io.BufferedReader) -> Iterator[tuple[int, str]]:
    """(number, text with its line end) of each line; the first that is not text is raised."""
    for number, text, flaw in scan(place, raw):
        if flaw is not None:
            raise flaw.error
        yield number, text


Line = tuple[int, str, Refusal | None]
"""Number, text with its end, and why it is not text: then the text is only similar, and empty if it is too long.

A plain tuple: there are millions.
"""


def scan(place: str, raw: io.BufferedReader) -> Iterator[Line]:
    """Each line, whether it is text or not; splits at line feeds only, as JSONL and csv expect."""
    number = blank = 0
    while data := raw.readline(MAX_LINE + 1):
        number += 1
        blank = blank + 1 if len(data) <= 2 and data in _BLANK else 0
        if blank > MOST_BLANK:
            raise problem(place, number, f"more than {MOST_BLANK:,} blank lines in a row. Is this a text file?")
        if len(data) > MAX_LINE:
            why = f"the line is longer than {MAX_LINE:,} bytes. Is this a text file?"
            yield number, "", Refusal(problem(place, number, why))
            while not data.endswith(b"\n") and (data := raw.readline(_PIECE)):
                pass
            continue
        try:
            line: Line = number, decode(place, number, data, first=number == 1), None
        except DataFileError as error:
            if number == 1 and data.startswith(_UTF16):
                raise  # no line of the file can be read
            line = number, data.decode("utf-8", errors="replace"), Refusal(error)
        yield line


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


def read_words(source: str | os.PathLike[str]) -> list[str]:
    """The entries of a word list, plain or compressed, each once, in their order: one per line, which may be several
    words; blank lines are skipped."""
    name = os.fspath(source)
    with opened(name) as raw:
        entries = (line.strip() for _, line in lines(place_of(name), raw))
        found = list(dict.fromkeys(entry for entry in entries if entry))
    if not found:
        raise DataFileError(f"{place_of(name)}: the word list is empty. Write one word per line.")
    return found
