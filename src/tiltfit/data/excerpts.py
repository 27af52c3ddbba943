"""A text in one short line, cut around a word."""

from __future__ import annotations

import re
from collections.abc import Sequence

LENGTH = 60  # characters
_BEFORE = 20  # characters before the first word


def cut(text: str, words: Sequence[str] = ()) -> str:
    """Return one short line that begins shortly before the first of the words.

    >>> cut("We are sorry to write again, but the parcel that was sent to us last week has lost its puck.", ["parcel"])
    '… again, but the parcel that was sent to us last week has…'
    """
    line = " ".join(text.split())
    if len(line) <= LENGTH:
        return line
    found = [m.start() for w in words if (m := re.search(rf"\b{re.escape(w)}\b", line, re.IGNORECASE))]
    start = max(0, min([*found, len(line)]) - _BEFORE) if found else 0
    start = line.find(" ", start) if start else 0
    rest = line[start:]
    shown = rest if len(rest) <= LENGTH else f"{rest[: LENGTH - 2].rsplit(' ', 1)[0]}…"
    return f"…{shown}" if start else shown
