"""Values that constraint files hold: under which keys, in which shape, and how they are written and read.

A ``Table`` reads values of known types out of a parsed document; every complaint says where the value stands.
A class that does not say otherwise is written as ``key = true`` (no field), ``key = value`` (one field) or
``key = { field = value, … }``. Fields that have their default are left out of the table.
"""

from __future__ import annotations

import datetime
import functools
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from pathlib import Path
from typing import Any, ClassVar, get_origin

from tiltfit.errors import ConstraintError, ConstraintFileError, TiltfitError, UnsupportedError, did_you_mean
from tiltfit.language.values import Exact, Label
from tiltfit.registry import Registry

_KINDS: tuple[tuple[Any, str], ...] = (
    (bool, "a bool"),
    (int | float, "the number {}"),
    (str, "a string"),
    (list | tuple, "an array"),
    (Mapping, "a table"),
    (datetime.date | datetime.time, "a date or time"),
)
INSTALL = "If it is from an extension, install the package that registers it"
"""The end of a message about a name that is not known."""

MAX_DEPTH = 50  # of nested conditions: deeper than anyone writes, shallower than Python's stack


class Table:
    """One table of a document, with the path that leads to it. ``folder``: of the file that it is from, if it is from
    one."""

    def __init__(
        self, data: object, where: str = "", path: str = "", depth: int = 0, folder: Path | None = None
    ) -> None:
        self._where, self._path, self._depth, self.folder = where, path, depth, folder
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

    def error(
        self, message: str, key: str | None = None, missing: tuple[str, str] | None = None
    ) -> ConstraintFileError:
        """An exception that names this table, or one of its keys. ``missing``: as the exception has it."""
        path = ".".join(part for part in (self._path, key) if part)
        subject = f"`{path}` {message}" if path else f"it {message}"
        return ConstraintFileError(f"{self._where}: {subject}." if self._where else f"{subject}.", missing=missing)

    def only(self, legal: Iterable[str], what: str | None = None) -> None:
        """Refuse a key that is not among ``legal``, with the nearest that is. ``what``: what an extension may have
        added there, "condition" or "event"."""
        known = list(dict.fromkeys(legal))
        for key in self._data:
            if key not in known:
                guess = did_you_mean(key, known)
                extension = f". {INSTALL}" if what else ""
                raise self.error(
                    f"is not a key that is known here.{guess} Known keys: {', '.join(known)}{extension}",
                    key,
                    None if what is None else (what, key),
                )

    def raw(self, key: str) -> object:
        """The value as it was parsed."""
        if key not in self._data:
            raise self.error("is missing", key)
        return self._data[key]

    def holds(self, key: str, *types: type) -> bool:
        """True if the value is of one of these types."""
        return isinstance(self.raw(key), types)

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
        listed = self.array(key) if self.holds(key, list, tuple) else [self.raw(key)]
        if not listed:
            raise self.error("must name at least one label", key)
        return [self._label(v, key) for v in listed]

    def shares(self, key: str) -> list[tuple[Label, float]]:
        """A table of label = share, or pairs [label, share] for labels that are not strings."""
        if self.holds(key, Mapping):
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

    def array(self, key: str) -> Sequence[object]:
        found: Sequence[object] = self._typed(self.raw(key), key, "an array", list, tuple)
        return found

    def entries(self, key: str) -> Table:
        """The entries of an array, as a table with the keys ``key[0]``, ``key[1]``, …"""
        if self.holds(key, str):
            raise self.error(f"must be an array, but is a string. Write [{as_string(self.text(key))}]", key)
        named = {f"{key}[{i}]": value for i, value in enumerate(self.array(key))}
        return Table(named, self._where, self._path, self._depth, self.folder)

    def _table(self, value: object, key: str) -> Table:
        path = f"{self._path}.{key}" if self._path else key
        return Table(value, self._where, path, self._depth + 1, self.folder)

    def _number(self, value: object, key: str) -> int | float:
        found: int | float = self._typed(value, key, "a number", int, float)
        return found

    def _label(self, value: object, key: str) -> Label:
        found: Label = self._typed(value, key, "a label (a string, a number or a bool)", str, int, float, bool)
        return found

    def _typed(self, value: Any, key: str, what: str, *types: type) -> Any:
        """The value, if it is of one of these types. (To Python a bool is an integer; to files it is not.)"""
        if not isinstance(value, types) or (value.__class__ is bool and bool not in types):
            raise self.error(f"must be {what}, but is {kind(value)}{_instead(value, *types)}", key)
        return value


def kind(value: object) -> str:
    """The kind of a parsed value, in TOML's words.

    >>> kind(True), kind(3), kind([1]), kind({})
    ('a bool', 'the number 3', 'an array', 'a table')
    """
    if type(value) is int and value.bit_length() > 64:
        return "a huge number"
    words = (words for types, words in _KINDS if isinstance(value, types))
    return next(words, f"a {type(value).__name__}").format(repr(value))


def as_string(text: str) -> str:
    """The text as a string of TOML, cut where it is long.

    >>> print(as_string("stanley cup"))
    "stanley cup"
    """
    return json.dumps(text if len(text) <= _LONG else f"{text[:_LONG]}…", ensure_ascii=False)


_LONG = 60
_SHARE = re.compile(r"\s*(\d+(?:[.,]\d+)?)\s*(%?)\s*")


def _instead(value: object, *types: type) -> str:
    """What to write instead of a number in quotes.

    >>> _instead("90 %", int, float), _instead("0,9", int, float), _instead("puck", int, float)
    ('. Write 0.9', '. Write 0.9, without quotes', '')
    """
    share = _SHARE.fullmatch(value) if isinstance(value, str) and float in types else None
    if share is None:
        return ""
    number = float(share[1].replace(",", "."))
    return f". Write {number / 100:g}" if share[2] else f". Write {number:g}, without quotes"


Document = dict[str, object]
Schema = dict[str, Any]

LABEL: Schema = {"$ref": "#/$defs/label"}
SOME_LABELS: Schema = {"type": "array", "items": LABEL, "minItems": 1}
LABELS: Schema = {"anyOf": [LABEL, SOME_LABELS]}
TEXT: Schema = {"type": "string", "minLength": 1}
NUMBER: Schema = {"type": "number"}
AMOUNT: Schema = {"type": "number", "minimum": 0}
TRUE: Schema = {"const": True}
CONDITION: Schema = {"$ref": "#/$defs/condition"}

SCALAR: Schema = {"type": ["string", "number", "boolean"]}

Reader = Callable[[Table, str], object]

# How a field of this type is read from a table, and what JSON Schema calls it.
_TYPES: dict[str, tuple[Reader, Schema]] = {
    "int": (Table.whole, {"type": "integer"}),
    "float": (Table.number, NUMBER),
    "str": (Table.text, {"type": "string"}),
    "bool": (Table.flag, {"type": "boolean"}),
    "Label": (Table.label, LABEL),
}
_TUPLE = re.compile(r"(?:typing\.)?[Tt]uple(?:\[ *(\w+) *, *\.\.\. *\])?")
_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


class Written(Exact):
    """Mixin for frozen dataclasses. ``keys``: each announces the class in a table, with the schema of its value.
    ``modifiers``: further keys that the table may hold. An extension writes ``key`` instead, and may write
    ``schema``; ``key`` and ``keys`` must not be annotated, since dataclasses take annotated names for fields."""

    registry: ClassVar[Registry[Any]]
    keys: ClassVar[Mapping[str, Schema]] = {}
    modifiers: ClassVar[Mapping[str, Schema]] = {}
    key: ClassVar[str] = ""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if cls.keys and "key" not in cls.__dict__:
            cls.key = next(iter(cls.keys))
        for key in cls.__dict__.get("keys", ()):
            cls.registry.register(key, cls)

    def to_document(self) -> Document:
        """The value as a table."""
        if self.registry.get(self.key) is not type(self):
            raise UnsupportedError(
                f"{self!r} cannot be written to a file: {type(self).__name__} is not registered. Register the class "
                "(register_condition, register_event).",
                missing=(self.registry.kind.removesuffix(" key"), type(self).__name__),
            )
        listed = fields(self)  # type: ignore[arg-type]
        values = {f.name: getattr(self, f.name) for f in listed}
        if len(listed) <= 1:
            return {self.key: next((plain_field(self, v) for v in values.values()), True)}
        kept = {f.name: plain_field(self, values[f.name]) for f in listed if not _is_default(f, values[f.name])}
        return {self.key: kept}

    @classmethod
    def from_table(cls, table: Table, key: str) -> Any:
        """Read the value that ``key`` announces."""
        listed = fields(cls)  # type: ignore[arg-type]
        if not listed:
            table.true(key)
        if len(listed) <= 1:
            values = {f.name: _read(table, key, f) for f in listed}
        else:
            inner = table.child(key)
            inner.only([f.name for f in listed])
            wanted = [f for f in listed if f.name in inner or _is_required(f)]
            values = {f.name: _read(inner, f.name, f) for f in wanted}
        try:
            return cls(**values)
        except TiltfitError:
            raise
        except Exception as error:
            raise table.error(f"cannot be read: {type(error).__name__}: {error}", key) from error

    def __repr__(self) -> str:
        shown = ", ".join(f"{f.name}={getattr(self, f.name)!r}" for f in fields(self))  # type: ignore[arg-type]
        return f"{type(self).__name__}({shown})"


def require_subclass(cls: object, base: type[Written]) -> None:
    """Refuse what is not the class of an extension."""
    if not isinstance(cls, type) or not issubclass(cls, base):
        raise ConstraintError(f"{_door(base)} takes a subclass of tiltfit.{base.__name__}, but got {cls!r}.")


def _door(base: type[Written]) -> str:
    return f"register_{base.__name__.lower()}"


def enrol(cls: type[Written], base: type[Written], reserved: set[str]) -> None:
    """Enter the class of an extension under its ``key``."""
    name, key = cls.__name__, cls.key
    if not is_dataclass(cls) or not cls.__dataclass_params__.frozen:
        raise ConstraintError(f"{name} must be a frozen dataclass: put {_door(base)} above @dataclass(frozen=True).")
    if not isinstance(key, str) or not _KEY.fullmatch(key):
        raise ConstraintError(f'{name} needs the key that files use for it, like key = "longer_than", but has {key!r}.')
    hidden = [f.name for f in fields(cls) if hasattr(base, f.name)]
    if hidden:
        raise ConstraintError(f"The field {hidden[0]!r} of {name} hides {base.__name__}.{hidden[0]}: rename it.")
    if key in reserved:
        raise ConstraintError(f"The key {key!r} of {name} has another meaning in constraint files: choose another.")
    keys = {key: getattr(cls, "schema", None) or _schema(cls)}
    base.registry.register(key, cls)
    cls.keys = keys
    # Equality to the type of every label, whatever the dataclass decorator has put there.
    cls.__eq__ = Exact.__eq__
    cls.__hash__ = Exact.__hash__


def guard(cls: type[Any], method: str, check: Callable[..., Any]) -> None:
    """Let ``check(self, found, *arguments)`` see what a method of an extension returns, and name what fails in it."""
    written = getattr(cls, method)

    @functools.wraps(written)
    def guarded(self: Any, *arguments: Any) -> Any:
        try:
            found = written(self, *arguments)
        except TiltfitError:
            raise
        except Exception as error:
            raise ConstraintError(f"{method} of {self!r} failed: {type(error).__name__}: {error}.") from error
        return check(self, found, *arguments)

    setattr(cls, method, guarded)


def _read(table: Table, key: str, field: Field[Any]) -> object:
    found = _shape(field)[0](table, key)
    if any(value != value for value in entries(found)):
        raise table.error("must not be nan, which does not equal itself", key)
    return found


def _shape(field: Field[Any]) -> tuple[Reader, Schema]:
    """How the field is read and its schema. Where the type does not say more, it is a scalar or an array of scalars."""
    name = _type_name(field)
    if name in _TYPES:
        return _TYPES[name]
    array = _TUPLE.fullmatch(name)
    read, schema = _TYPES.get(array[1] or "", (Table.scalar, SCALAR)) if array else (Table.scalar, SCALAR)
    several: Schema = {"type": "array", "items": schema}

    def read_all(table: Table, key: str) -> object:
        if not array and not table.holds(key, list, tuple):
            return read(table, key)
        inner = table.entries(key)
        return tuple(read(inner, entry) for entry in inner.keys)

    return read_all, several if array else {"anyOf": [schema, several]}


def entries(value: Any) -> tuple[Any, ...]:
    """The entries of a tuple; anything else is its only entry."""
    return value if isinstance(value, tuple) else (value,)


def _is_default(field: Field[Any], value: object) -> bool:
    default = field.default if field.default_factory is MISSING else field.default_factory()
    return type(default) is type(value) and bool(default == value)


def _is_required(field: Field[Any]) -> bool:
    return field.default is MISSING and field.default_factory is MISSING


def plain_field(owner: object, value: object) -> object:
    """The value of a field as documents hold it: a tuple becomes a list."""
    several = entries(value)
    if not all(isinstance(v, str | int | float) and v == v for v in several):
        raise UnsupportedError(
            f"{owner!r} cannot be written to a file: {value!r} is not a text, number, bool or tuple of them."
        )
    return list(several) if several is value else value


def _schema(cls: type[Any]) -> Schema:
    if cls.from_table.__func__ is not Written.from_table.__func__:  # type: ignore[attr-defined]
        return {}  # it reads its table itself
    shapes = {f.name: _shape(f)[1] for f in fields(cls)}
    if len(shapes) <= 1:
        return next(iter(shapes.values()), TRUE)
    required = [f.name for f in fields(cls) if _is_required(f)]
    return {"type": "object", "properties": shapes, "required": required, "additionalProperties": False}


def _type_name(field: Field[Any]) -> str:
    """The annotation as it is written in the source: ``int``, ``tuple[str, ...]``."""
    written: Any = field.type
    return str(written if get_origin(written) else getattr(written, "__name__", written))
