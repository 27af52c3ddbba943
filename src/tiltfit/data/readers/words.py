"""Word lists: one entry a line, which may be several words; blank lines are skipped."""

from __future__ import annotations

import os

from tiltfit.data.readers.source import lines, opened, place_of
from tiltfit.errors import DataFileError


def read_words(source: str | os.PathLike[str]) -> list[str]:
    """The entries of a list, plain or compressed, each once, in their order."""
    name = os.fspath(source)
    with opened(name) as raw:
        entries = (line.strip() for _, line in lines(place_of(name), raw))
        found = list(dict.fromkeys(entry for entry in entries if entry))
    if not found:
        raise DataFileError(f"{place_of(name)}: the word list is empty. Write one word a line.")
    return found
