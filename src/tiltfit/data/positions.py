"""From nested lists to the flat positions of sequences, checked: what is refused is named by sequence and position."""

from __future__ import annotations

import itertools
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tiltfit.arrays import IntArray
from tiltfit.data.attributes import AttributeRows
from tiltfit.data.foreign import is_document, tokens_of
from tiltfit.data.inputs import is_missing
from tiltfit.errors import DataError

_ATTRIBUTES = (Mapping, list, tuple, set, frozenset)
_UNFIT = {"Cc": "the control character", "Cs": "half of a surrogate pair,"}


@dataclass(frozen=True)
class Origin:
    """The name that messages have for the sequences."""

    name: str = "X"

    def of(self, offsets: IntArray, i: int) -> str:
        """Return the place of position i, by its sequence."""
        k = _sequence(offsets, i)
        t = i - int(offsets[k])
        return f"Position {t} of sequence {k} ({self.name}[{k}][{t}])"

    def refused(self, offsets: IntArray, i: int, why: str, others: Iterable[int] = ()) -> DataError:
        """Return an error about position i; ``others`` are further positions with the same fault."""
        instances = dict.fromkeys(_sequence(offsets, j) for j in (i, *others))
        return DataError(f"{self.of(offsets, i)} {why}", instances=instances)


def _sequence(offsets: IntArray, i: int) -> int:
    return int(np.searchsorted(offsets, i, side="right")) - 1


def flatten(X: Any, origin: Origin) -> tuple[Sequence[Any], IntArray]:
    """Tokens (a list) or ``AttributeRows``, and where each sequence starts."""
    rows = [_row(row, k, origin) for k, row in enumerate(_rows(X, origin))]
    offsets = np.zeros(len(rows) + 1, dtype=np.intp)
    np.cumsum([len(row) for row in rows], out=offsets[1:])
    flat = list(itertools.chain.from_iterable(rows))
    kinds = set(map(type, flat))
    if kinds <= {str}:
        _check_tokens(flat, offsets, origin)
        return flat, offsets
    _refuse_strangers(flat, offsets, origin)
    if isinstance(flat[0], str):
        flat = [str(token) for token in flat]  # NumPy's strings become plain ones
        _check_tokens(flat, offsets, origin)
        return flat, offsets
    return AttributeRows.of(flat, lambda i, why: origin.refused(offsets, i, why)), offsets


def _rows(X: Any, origin: Origin) -> list[Any]:
    if isinstance(X, str | bytes):
        raise DataError(f"{origin.name} is a single text. Pass a list of token lists, even for one: [text.split()].")
    if isinstance(X, Sequence | np.ndarray) or hasattr(X, "to_numpy"):
        return list(X)
    raise DataError(f"{origin.name} must be a list of token lists, but is of type {type(X).__name__}.")


def _row(row: Any, k: int, origin: Origin) -> Sequence[Any]:
    if isinstance(row, list | tuple):
        return row
    if is_document(row):
        return tokens_of(row)
    if isinstance(row, str | bytes):
        raise DataError(
            f"Sequence {k} ({origin.name}[{k}]) is a text, {row!r:.60}, where a list of tokens is expected. "
            "Did you mean text.split()?",
            instance=k,
        )
    if isinstance(row, np.ndarray) and row.ndim == 1:
        return list(row.tolist())
    if hasattr(row, "to_list") or (isinstance(row, Sequence) and not isinstance(row, Mapping)):
        return list(row)
    if not hasattr(row, "__len__") and is_missing(row):
        raise DataError(f"Sequence {k} ({origin.name}[{k}]) is missing ({row!r}). Leave it out of X.", instance=k)
    hint = " Is this one position? Then a list around it is missing." if isinstance(row, Mapping | set) else ""
    raise DataError(
        f"Sequence {k} ({origin.name}[{k}]) must be a list of tokens or of attributes, "
        f"but is of type {type(row).__name__}.{hint}",
        instance=k,
    )


def _refuse_strangers(flat: Sequence[Any], offsets: IntArray, origin: Origin) -> None:
    """Every position is a token, or every one has attributes."""
    tokens = isinstance(flat[0], str)
    for i, item in enumerate(flat):
        if isinstance(item, str) if tokens else isinstance(item, _ATTRIBUTES):
            continue
        everywhere = "Pass tokens everywhere, or attributes everywhere."
        if isinstance(item, _ATTRIBUTES):
            why = f"holds attributes, but {_start(origin, offsets)} is the token {flat[0]!r:.60}. {everywhere}"
            raise origin.refused(offsets, i, why)
        if isinstance(item, str) and isinstance(flat[0], _ATTRIBUTES):
            why = f"is the token {item!r:.60}, but {_start(origin, offsets)} holds attributes. {everywhere}"
            raise origin.refused(offsets, i, why)
        hint = " Decode it: token.decode()." if isinstance(item, bytes) else " Turn it into text: str(token)."
        missing = not hasattr(item, "__len__") and is_missing(item)
        advice = " Leave it out, or write what stands there." if missing else hint
        why = f"is {item!r:.60} ({type(item).__name__}), but a token is a string.{advice}"
        raise origin.refused(offsets, i, why)


def _start(origin: Origin, offsets: IntArray) -> str:
    where = origin.of(offsets, 0)
    return where[0].lower() + where[1:]


def _check_tokens(flat: list[str], offsets: IntArray, origin: Origin) -> None:
    """Look at every distinct token once."""
    bad = {token: why for token in dict.fromkeys(flat) if (why := unfit(token)) is not None}
    if bad:
        first, *others = (i for i, token in enumerate(flat) if token in bad)
        raise origin.refused(offsets, first, bad[flat[first]], others)


def unfit(token: str) -> str | None:
    """The reason why a string cannot be a token, as the end of a sentence; None if it can.

    >>> unfit("a"), unfit(" ")
    (None, "is the empty token ' '. Leave it out, or write what stands there.")
    """
    if not token or token.isspace():
        return f"is the empty token {token!r}. Leave it out, or write what stands there."
    if token.isprintable():
        return None
    for c in token:
        if unicodedata.category(c) in _UNFIT:
            return f"is the token {token!r:.60}, which holds {_UNFIT[unicodedata.category(c)]} {c!r}. Clean the text."
    return None
