"""Values that constraint files hold: under which keys, in which shape, and how they are written and read.

A class that does not say otherwise is written as ``key = true`` (no field), ``key = value`` (one field) or
``key = { field = value, … }``. Fields that have their default are left out of the table.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any, ClassVar

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

# How a field of this type is read from a table, and what JSON Schema calls it.
_TYPES: dict[str, tuple[str, Schema]] = {
    "int": ("whole", {"type": "integer"}),
    "float": ("number", NUMBER),
    "str": ("text", {"type": "string"}),
    "bool": ("flag", {"type": "boolean"}),
    "Label": ("label", LABEL),
}
_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


class Written(Exact):
    """Mixin for frozen dataclasses. ``keys``: each announces the class in a table, with the schema of its value.
    ``modifiers``: further keys that the table may hold. An extension writes ``key`` instead, and may write
    ``schema``; ``key`` and ``keys`` must not be annotated, since dataclasses take annotated names for fields."""

    keys: ClassVar[Mapping[str, Schema]] = {}
    modifiers: ClassVar[Mapping[str, Schema]] = {}
    key: ClassVar[str] = ""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if cls.keys and "key" not in cls.__dict__:
            cls.key = next(iter(cls.keys))

    def to_document(self) -> Document:
        """The value as a table."""
        if not self.keys:
            raise UnsupportedError(
                f"{self!r} cannot be written to a file: {type(self).__name__} is not registered. Register the class "
                "(register_condition, register_event)."
            )
        listed = fields(self)  # type: ignore[arg-type]
        values = {f.name: getattr(self, f.name) for f in listed}
        if len(listed) <= 1:
            return {self.key: next((_plain(self, v) for v in values.values()), True)}
        kept = {f.name: _plain(self, values[f.name]) for f in listed if f.default != values[f.name]}
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
            wanted = [f for f in listed if f.name in inner or f.default is MISSING]
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
    registry.register(key, cls)
    cls.keys = {key: getattr(cls, "schema", None) or _schema(cls)}
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
    method, _ = _TYPES.get(_type_name(field), ("raw", {}))
    value = getattr(table, method)(key)
    return tuple(value) if isinstance(value, list) else value


def _plain(owner: object, value: object) -> object:
    found = list(value) if isinstance(value, tuple) else value
    if not all(isinstance(v, str | int | float) for v in (found if isinstance(found, list) else [found])):
        raise UnsupportedError(
            f"{owner!r} cannot be written to a file: {value!r} is not a text, number, bool or tuple of them."
        )
    return found


def _schema(cls: type[Any]) -> Schema:
    shapes = {f.name: _TYPES.get(_type_name(f), ("", {}))[1] for f in fields(cls)}
    if len(shapes) <= 1:
        return next(iter(shapes.values()), TRUE)
    required = [f.name for f in fields(cls) if f.default is MISSING]
    return {"type": "object", "properties": shapes, "required": required, "additionalProperties": False}


def _type_name(field: Field[Any]) -> str:
    return field.type if isinstance(field.type, str) else getattr(field.type, "__name__", "")
