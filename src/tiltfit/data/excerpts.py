"""A position as people would recognise it: its text around a word, or a token among its neighbours."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from tiltfit.data.inputs import Inputs, MatrixInputs
from tiltfit.data.sequences import TokenInputs

_LENGTH = 60  # characters
_BEFORE = 20  # characters before the first word
_NEAR = 2  # tokens on either side


def excerpt(inputs: Inputs, i: int, words: Sequence[str] = ()) -> str:
    """Position i in one short line: a document around the first of ``words``, a token with its neighbours."""
    if isinstance(inputs, TokenInputs):
        s = int(np.searchsorted(inputs.offsets, i, side="right")) - 1
        near = range(max(inputs.offsets[s], i - _NEAR), min(inputs.offsets[s + 1], i + _NEAR + 1))
        return cut(" ".join(f"[{_token(inputs, j)}]" if j == i else _token(inputs, j) for j in near))
    if isinstance(inputs, MatrixInputs):
        return f"row {i}"
    row = inputs.row(i)
    return cut(
        " | ".join(f"{name}: {value}" for name, value in row.items()) if isinstance(row, dict) else str(row), words
    )


def sequence_excerpt(inputs: TokenInputs, s: int) -> str:
    """The beginning of sequence s in one short line."""
    near = range(inputs.offsets[s], min(inputs.offsets[s + 1], inputs.offsets[s] + _LENGTH // 2))
    return cut(" ".join(_token(inputs, j) for j in near))


def _token(inputs: TokenInputs, i: int) -> str:
    return str(inputs.row(i))


def cut(text: str, words: Sequence[str] = ()) -> str:
    """One line, not too long, that begins shortly before the first of the words.

    >>> cut("We are sorry to write again, but the parcel that was sent to us last week has lost its puck.", ["parcel"])
    '… again, but the parcel that was sent to us last week has…'
    """
    line = " ".join(text.split())
    if len(line) <= _LENGTH:
        return line
    found = [m.start() for w in words if (m := re.search(rf"\b{re.escape(w)}\b", line, re.IGNORECASE))]
    start = max(0, min([*found, len(line)]) - _BEFORE) if found else 0
    start = line.find(" ", start) if start else 0
    rest = line[start:]
    shown = rest if len(rest) <= _LENGTH else f"{rest[: _LENGTH - 2].rsplit(' ', 1)[0]}…"
    return f"…{shown}" if start else shown
