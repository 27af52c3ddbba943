"""Checks that all labels, and all values of a column, are of one kind: text, numbers, or true and false.

A stream is read only once, so the first values decide which kind it is.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any

import numpy as np
import numpy.typing as npt

from tiltfit.data.readers.delimited import is_number
from tiltfit.data.readers.record import Label, Record, Value
from tiltfit.errors import DataFileError

NUMBER = "a number"
_SHOWN = 40  # characters of a cell in a message
_TEXT = "text"
_BOOLEAN = "true or false"
LABEL_KINDS: Mapping[type, str] = {bool: _BOOLEAN, int: "an integer", str: _TEXT}
_LISTS = "a list with a value for each token"
_COLUMN_KINDS: Mapping[type, str] = {bool: _BOOLEAN, int: NUMBER, float: NUMBER, str: _TEXT, list: _LISTS}


class LabelKind:
    """The type of the first label, which all others must have: 1, true and "1" may or may not compare equal.

    ``mixed(label, other, origin)`` returns the reason for refusing a label whose type differs from that of ``other``,
    which was read at ``origin``.
    """

    def __init__(self, mixed: Callable[[Label, Label, str], str]) -> None:
        self._mixed = mixed
        self._first: Label | None = None
        self._origin = ""
        self._types: set[type] = {type(None)}

    def misfit(self, labels: Collection[Label | None], record: Record[Any, Any]) -> str | None:
        """The reason why labels of a record do not have the type of those before; None if they all do."""
        if self._types.issuperset(map(type, labels)):
            return None
        known = [label for label in labels if label is not None]
        first, origin = (known[0], record.origin) if self._first is None else (self._first, self._origin)
        other = next((label for label in known if type(label) is not type(first)), None)
        return None if other is None else self._mixed(other, first, origin)

    def take(self, labels: Collection[Label | None], record: Record[Any, Any]) -> None:
        """Note the type of the labels of a record that fits, if it is the first with labels."""
        if self._first is None:
            self._first = next((label for label in labels if label is not None), None)
            self._origin = record.origin
            self._types.add(type(self._first))


@dataclass(frozen=True)
class _State:
    """The kind of one column (None: no value yet), and the origin of the first value of that kind.

    ``open``: so far all its cells of CSV could be numbers; it becomes text at the first cell that could not.
    """

    kind: str | None = None
    origin: str = ""
    open: bool = False


class ColumnKinds:
    """The kind of each column of a stream. In JSON the first value decides; cells of CSV are numbers if all cells of
    the first chunk that has any can be read as numbers. ``numeric``: those that are numbers, if that is known before;
    then all other cells are text.
    """

    def __init__(self, names: Sequence[str], numeric: Collection[str] | None = None) -> None:
        self._names = tuple(names)
        self._numeric = numeric
        self._states = [_State()] * len(self._names)

    @property
    def numeric(self) -> list[bool]:
        """For each column, whether it holds numbers, as far as is known."""
        return [state.kind == NUMBER for state in self._states]

    @property
    def numeric_names(self) -> frozenset[str]:
        """The names of the columns that hold numbers."""
        return frozenset(compress(self._names, self.numeric))

    def take(self, record: Record[Any, Any], *, cells: bool) -> str | None:
        """Take a record into account. Returns the reason why it does not fit, or None if it does.

        ``cells``: its values are cells of CSV, whose text may stand for a number.
        """
        after: list[_State] = []
        for name, state, value in zip(self._names, self._states, record.columns, strict=True):
            if cells and self._numeric is not None:
                if value is not None and name in self._numeric and not is_number(str(value)):
                    return (
                        f"the column {name!r} holds {str(value)[:_SHOWN]!r}, but the model has learned it as numbers."
                    )
                after.append(_State(NUMBER if name in self._numeric else _TEXT))
                continue
            kind = _kind(value, cells)
            new = _next(state, kind, record, cells=cells)
            if new is None:
                why = _mixed_column(name, str(kind), str(state.kind), state.origin)
                return f"{why} In a stream the first rows decide." if cells else why
            after.append(new)
        self._states = after
        return None

    def settle(self) -> None:
        """A chunk is complete: what could be numbers until now is numbers."""
        self._states = [_State(s.kind, s.origin) for s in self._states]


def _kind(value: Value, cells: bool) -> str | None:
    if value is None:
        return None
    return NUMBER if cells and is_number(str(value)) else _COLUMN_KINDS[type(value)]


def _next(state: _State, kind: str | None, record: Record[Any, Any], *, cells: bool) -> _State | None:
    """The state after one more value; None if the value does not fit."""
    if kind is None or (cells and state.kind == _TEXT):
        return state
    if state.kind is None:
        return _State(kind, record.origin, open=cells and kind == NUMBER)
    if state.kind == kind:
        return state if cells or not state.open else _State(kind, state.origin)
    if state.open and kind == _TEXT:
        return _State(_TEXT, record.origin)
    return None


def _mixed_column(name: str, kind: str, other: str, origin: str) -> str:
    return f"the column {name!r} is {kind} here, but {other} in {origin}. Use one kind."


def column_values(name: str, j: int, records: Sequence[Record[Any, Any]], *, numeric: bool) -> npt.NDArray[Any]:
    """Column j of the records: numbers (missing: NaN), booleans or objects (missing: None); refuses a mixture.

    ``numeric``: the column is numbers even if all are missing.
    """
    values: list[Value] = [record.columns[j] for record in records]
    kinds: dict[str, Record[Any, Any]] = {}
    for record, value in zip(records, values, strict=True):
        if value is not None:
            kinds.setdefault(_COLUMN_KINDS[type(value)], record)
    if len(kinds) > 1:
        (one, first), (other, second) = list(kinds.items())[:2]
        raise DataFileError(f"{second.origin}: {_mixed_column(name, other, one, first.origin)}")
    if NUMBER not in kinds and not numeric:
        whole = _BOOLEAN in kinds and None not in values
        return np.array(values, dtype=np.bool_) if whole else objects(values)
    if all(type(v) is int and abs(v) < 2**63 for v in values):
        return np.array(values, dtype=np.int64)
    return np.array([np.nan if v is None else v for v in values], dtype=np.float64)


def objects(values: Sequence[Any]) -> npt.NDArray[np.object_]:
    """The values as an array. ``np.array(values, dtype=object)`` would look inside them."""
    return np.fromiter(values, dtype=np.object_, count=len(values))
