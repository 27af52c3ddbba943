"""Values that constraint files hold: under which keys, in which shape, and how they are written and read.

A class that does not say otherwise is written as ``key = true`` (no field), ``key = value`` (one field) or
``key = { field = value, … }``. Fields that have their default are left out of the table.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any, ClassVar, get_origin

from tiltfit.errors import ConstraintError, TiltfitError, UnsupportedError
from tiltfit.language.table import Table
from tiltfit.language.values import Exact
from tiltfit.registry import Registry

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

    registry: ClassVar[Mapping[str, type[Any]]] = {}
    keys: ClassVar[Mapping[str, Schema]] = {}
    modifiers: ClassVar[Mapping[str, Schema]] = {}
    key: ClassVar[str] = ""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if cls.keys and "key" not in cls.__dict__:
            cls.key = next(iter(cls.keys))

    def to_document(self) -> Document:
        """The value as a table."""
        if self.registry.get(self.key) is not type(self):
            raise UnsupportedError(
                f"{self!r} cannot be written to a file: {type(self).__name__} is not registered. Register the class "
                "(register_condition, register_event)."
            )
        listed = fields(self)  # type: ignore[arg-type]
        values = {f.name: getattr(self, f.name) for f in listed}
        if len(listed) <= 1:
            return {self.key: next((_plain(self, v) for v in values.values()), True)}
        kept = {f.name: _plain(self, values[f.name]) for f in listed if not _is_default(f, values[f.name])}
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


def enrol(cls: type[Written], base: type[Written], registry: Registry[Any], reserved: set[str]) -> None:
    """Enter the class of an extension under its ``key``."""
    kind = base.__name__.lower()
    door = f"register_{kind}"
    if not isinstance(cls, type) or not issubclass(cls, base):
        raise ConstraintError(f"{door} takes a subclass of tiltfit.{base.__name__}, but got {cls!r}.")
    name = cls.__name__
    if not is_dataclass(cls) or not cls.__dataclass_params__.frozen:
        raise ConstraintError(f"{name} must be a frozen dataclass: put {door} above @dataclass(frozen=True).")
    key = cls.key
    if not isinstance(key, str) or not _KEY.fullmatch(key):
        raise ConstraintError(f'{name} needs the key that files use for it, like key = "longer_than", but has {key!r}.')
    hidden = [f.name for f in fields(cls) if hasattr(base, f.name)]
    if hidden:
        raise ConstraintError(f"The field {hidden[0]!r} of {name} hides {base.__name__}.{hidden[0]}: rename it.")
    if key in reserved:
        raise ConstraintError(f"The key {key!r} of {name} has another meaning in constraint files: choose another.")
    keys = {key: getattr(cls, "schema", None) or _schema(cls)}
    registry.register(key, cls)
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
    if any(value != value for value in _entries(found)):
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
        if not array and not isinstance(table.raw(key), list | tuple):
            return read(table, key)
        entries = table.entries(key)
        return tuple(read(entries, entry) for entry in entries.keys)

    return read_all, several if array else {"anyOf": [schema, several]}


def _entries(value: object) -> Sequence[object]:
    return value if isinstance(value, tuple) else (value,)


def _is_default(field: Field[Any], value: object) -> bool:
    default = field.default if field.default_factory is MISSING else field.default_factory()
    return type(default) is type(value) and bool(default == value)


def _is_required(field: Field[Any]) -> bool:
    return field.default is MISSING and field.default_factory is MISSING


def _plain(owner: object, value: object) -> object:
    if not all(isinstance(v, str | int | float) and v == v for v in _entries(value)):
        raise UnsupportedError(
            f"{owner!r} cannot be written to a file: {value!r} is not a text, number, bool or tuple of them."
        )
    return list(value) if isinstance(value, tuple) else value


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
    return str(written if isinstance(written, str) or get_origin(written) else getattr(written, "__name__", ""))
