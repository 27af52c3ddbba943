"""Reading values of known types out of a parsed document; every complaint says where it stands."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tiltfit.errors import ConstraintFileError, did_you_mean
from tiltfit.language.values import Label

_KINDS: tuple[tuple[Any, str], ...] = (
    (bool, "a bool"),
    (int | float, "the number {}"),
    (str, "a string"),
    (list | tuple, "an array"),
    (Mapping, "a table"),
    (datetime.date | datetime.time, "a date or time"),
)
MAX_DEPTH = 50  # of nested conditions: deeper than anyone writes, shallower than Python's stack


class Table:
    """One table of a document, with the path that leads to it."""

    def __init__(self, data: object, where: str = "", path: str = "", depth: int = 0) -> None:
        self._where, self._path, self._depth = where, path, depth
        if not isinstance(data, Mapping):
            raise self.error(f"must be a table, but is {kind(data)}")
        if depth > MAX_DEPTH + 2:  # a constraint's own table and that of its `of` come on top
            raise self.error(f"is nested more than {MAX_DEPTH} deep")
        for key in data:
            if not isinstance(key, str):
                raise self.error(f"has the key {key!r}, which is not a string")
        self._data: Mapping[str, object] = data

    def __contains__(self, key: str) -> bool:
        return key in self._data

    @property
    def keys(self) -> list[str]:
        """The keys, in the order written."""
        return list(self._data)

    def error(self, message: str, key: str | None = None) -> ConstraintFileError:
        """An exception that names this table, or one of its keys."""
        path = ".".join(part for part in (self._path, key) if part)
        subject = f"`{path}` {message}" if path else f"it {message}"
        return ConstraintFileError(f"{self._where}: {subject}." if self._where else f"{subject}.")

    def only(self, legal: Iterable[str]) -> None:
        """Refuse a key that is not among ``legal``, with the nearest that is."""
        known = list(legal)
        for key in self._data:
            if key not in known:
                raise self.error(
                    f"is not a key that is known here.{did_you_mean(key, known)} Known keys: {', '.join(known)}", key
                )

    def raw(self, key: str) -> object:
        """The value as it was parsed."""
        if key not in self._data:
            raise self.error("is missing", key)
        return self._data[key]

    def text(self, key: str) -> str:
        return str(self._typed(self.raw(key), key, "a string", str))

    def flag(self, key: str) -> bool:
        return bool(self._typed(self.raw(key), key, "true or false", bool))

    def true(self, key: str) -> None:
        """A key that only says that something is meant."""
        if not self.flag(key):
            raise self.error("can only be true: leave the key out to say nothing", key)

    def number(self, key: str) -> int | float:
        return self._number(self.raw(key), key)

    def whole(self, key: str) -> int:
        found: int = self._typed(self.raw(key), key, "a whole number", int)
        return found

    def pair(self, key: str) -> tuple[int | float, int | float]:
        values = self.array(key)
        if len(values) != 2:
            raise self.error(f"must be two numbers [low, high], but has {len(values)}", key)
        return self._number(values[0], key), self._number(values[1], key)

    def label(self, key: str) -> Label:
        return self._label(self.raw(key), key)

    def scalar(self, key: str) -> object:
        """A string, a number or a bool."""
        return self._typed(self.raw(key), key, "a string, a number or a bool", str, int, float, bool)

    def labels(self, key: str) -> list[Label]:
        """A label or an array of labels."""
        value = self.raw(key)
        listed = list(value) if isinstance(value, list | tuple) else [value]
        if not listed:
            raise self.error("must name at least one label", key)
        return [self._label(v, key) for v in listed]

    def shares(self, key: str) -> list[tuple[Label, float]]:
        """A table of label = share, or pairs [label, share] for labels that are not strings."""
        value = self.raw(key)
        if isinstance(value, Mapping):
            inner = self.child(key)
            return [(name, inner.number(name)) for name in inner.keys]
        pairs = []
        for entry in self.array(key):
            pair = self._typed(entry, key, "a table or pairs [label, share]", list, tuple)
            if len(pair) != 2:
                raise self.error(f"must be a table or pairs [label, share], but holds an array of {len(pair)}", key)
            pairs.append((self._label(pair[0], key), self._number(pair[1], key)))
        return pairs

    def child(self, key: str) -> Table:
        return self._table(self.raw(key), key)

    def children(self, key: str) -> list[Table]:
        values = self.array(key)
        if not values:
            raise self.error("must hold at least one table", key)
        return [self._table(value, f"{key}[{i}]") for i, value in enumerate(values)]

    def array(self, key: str) -> Sequence[object]:
        found: Sequence[object] = self._typed(self.raw(key), key, "an array", list, tuple)
        return found

    def entries(self, key: str) -> Table:
        """The entries of an array, as a table with the keys ``key[0]``, ``key[1]``, …"""
        named = {f"{key}[{i}]": value for i, value in enumerate(self.array(key))}
        return Table(named, self._where, self._path, self._depth)

    def _table(self, value: object, key: str) -> Table:
        path = f"{self._path}.{key}" if self._path else key
        return Table(value, self._where, path, self._depth + 1)

    def _number(self, value: object, key: str) -> int | float:
        found: int | float = self._typed(value, key, "a number", int, float)
        return found

    def _label(self, value: object, key: str) -> Label:
        found: Label = self._typed(value, key, "a label (a string, a number or a bool)", str, int, float, bool)
        return found

    def _typed(self, value: Any, key: str, what: str, *types: type) -> Any:
        """The value, if it is of one of these types. (To Python a bool is an integer; to files it is not.)"""
        if not isinstance(value, types) or (value.__class__ is bool and bool not in types):
            raise self.error(f"must be {what}, but is {kind(value)}", key)
        return value


def kind(value: object) -> str:
    """The kind of a parsed value, in TOML's words.

    >>> kind(True), kind(3), kind([1]), kind({})
    ('a bool', 'the number 3', 'an array', 'a table')
    """
    if isinstance(value, int) and value.bit_length() > 64:
        return "a huge number"
    words = (words for types, words in _KINDS if isinstance(value, types))
    return next(words, f"a {type(value).__name__}").format(repr(value))
