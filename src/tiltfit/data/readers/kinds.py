"""The kinds of the labels and columns of a stream. A stream is seen once, so its first values decide for all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tiltfit.data.readers.dataset import mixed_column, mixed_labels, mixed_tags
from tiltfit.data.readers.delimited import is_number
from tiltfit.data.readers.record import COLUMN_KINDS, NUMBER, Label, Record, Tags, Value

_TEXT = "text"


class LabelKind:
    """The kind of all labels: that of the first."""

    def __init__(self) -> None:
        self._first: Label | None = None
        self._origin = ""

    def misfit(self, label: Label | None) -> str | None:
        """Why a label is not of the kind of those before, None if it is."""
        if label is None or self._first is None or type(label) is type(self._first):
            return None
        return mixed_labels(label, self._first, self._origin)

    def misfit_tags(self, tags: Tags, origin: str) -> str | None:
        """The same for all tags of a sequence, which may differ among themselves."""
        known = [tag for tag in tags or () if tag is not None]
        first, place = (self._first, self._origin) if self._first is not None else (next(iter(known), None), origin)
        other = next((tag for tag in known if type(tag) is not type(first)), None)
        return None if other is None else mixed_tags(other, first, place)

    def take(self, label: Label | None, record: Record) -> None:
        """A label that fits, and the record that has it."""
        if self._first is None and label is not None:
            self._first, self._origin = label, record.origin


@dataclass(frozen=True)
class _State:
    """Kind of one column (None: nothing seen), and where that was seen first.

    ``open``: cells of CSV that could all be numbers; it turns into text at the first that could not.
    """

    kind: str | None = None
    origin: str = ""
    open: bool = False


class ColumnKinds:
    """The kind of each column. In JSON the first value says it; cells of CSV are numbers if all those of the first
    chunk that has any are.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._names = tuple(names)
        self._states = [_State()] * len(self._names)

    @property
    def numeric(self) -> list[bool]:
        """True for columns that are numbers, as far as is known."""
        return [state.kind == NUMBER for state in self._states]

    @property
    def numeric_names(self) -> frozenset[str]:
        """Their names."""
        return frozenset(name for name, yes in zip(self._names, self.numeric, strict=True) if yes)

    def take(self, record: Record, *, cells: bool) -> str | None:
        """Why a record does not fit; None if it does, and it has then been taken into account.

        ``cells``: its values are cells of CSV, whose text may stand for a number.
        """
        after: list[_State] = []
        for name, state, value in zip(self._names, self._states, record.columns, strict=True):
            kind = _kind(value, cells)
            new = _next(state, kind, record, cells=cells)
            if new is None:
                why = mixed_column(name, str(kind), str(state.kind), state.origin)
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
    return NUMBER if cells and is_number(str(value)) else COLUMN_KINDS[type(value)]


def _next(state: _State, kind: str | None, record: Record, *, cells: bool) -> _State | None:
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
