"""Constraint files: TOML, version 1, never evaluated as code.

>>> print(dumps(loads('''
... classes = ["baseball", "hockey"]
... [[constraint]]
... name  = "puck means hockey"
... label = "hockey"
... given = { word = "puck" }
... about = 0.9
... ''')))
version = 1
classes = ["baseball", "hockey"]
<BLANKLINE>
[[constraint]]
name = "puck means hockey"
label = "hockey"
given = { word = "puck" }
about = 0.9
<BLANKLINE>
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tiltfit.data.readers.packed import read_at_most, unpacked
from tiltfit.errors import ConstraintError, ConstraintFileError, DataFileError
from tiltfit.language.constraint import ConstraintSet
from tiltfit.language.document import from_document, to_document
from tiltfit.language.prose import quote
from tiltfit.language.syntax import not_toml
from tiltfit.language.values import Label
from tiltfit.language.written import Table

VERSION = 1
_KEYS = ("version", "classes", "constraint")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_DEPTH = 32
_PART = r"""(?:[A-Za-z0-9_-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+"""
_DEEP = re.compile(rf"(?:^|[\[{{,])[ \t]*+{_PART}(?:\.[ \t]*+{_PART}){{{_DEPTH}}}", re.MULTILINE)
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}


def loads(text: str) -> ConstraintSet:
    """Read constraints from the text of a TOML file."""
    return _read(text, "")


def read(path: str | os.PathLike[str]) -> ConstraintSet:
    """Read a constraint file, plain or compressed."""
    return _read(read_text(path), os.fspath(path))


def dumps(constraints: ConstraintSet) -> str:
    """Constraints as TOML text that ``loads`` reads back exactly."""
    lines = [f"version = {VERSION}"]
    if constraints.classes is not None:
        lines.append(f"classes = {_value(list(constraints.classes))}")
    for constraint in constraints:
        lines += ["", "[[constraint]]", *entry_lines(to_document(constraint))]
    return "\n".join(lines) + "\n"


def entry_lines(document: Mapping[str, object]) -> list[str]:
    """``key = value``, a line each.

    >>> entry_lines({"given": {"word": "puck"}, "about": 0.9})
    ['given = { word = "puck" }', 'about = 0.9']
    """
    return [f"{_key(key)} = {_value(value)}" for key, value in document.items()]


def _read(text: str, path: str) -> ConstraintSet:
    _refuse_deep(text, path)
    try:
        document = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # ValueError: TOMLDecodeError, and integers too long to parse
        raise not_toml(text, path, error) from None
    table = Table(document, path or "the constraint file")
    _check_version(table)
    table.only(_KEYS)
    classes = tuple(_classes(table)) if "classes" in table else None
    if "constraint" in table and table.holds("constraint", Mapping):
        raise table.error("must be an array, but is a table. Write [[constraint]], with two brackets", "constraint")
    entries = table.array("constraint") if "constraint" in table else []
    folder = Path(path).parent if path else None
    constraints = [from_document(entry, _prefix(path) + _name(i, entry), folder) for i, entry in enumerate(entries, 1)]
    try:
        return ConstraintSet(tuple(constraints), classes)
    except ConstraintError as error:
        raise error.with_message(f"{_prefix(path)}{error}") from None


def _refuse_deep(text: str, path: str) -> None:
    """A key of n parts takes n² of memory and time to parse. One pass."""
    found = _DEEP.search(text)
    if found is not None:
        line = text.count("\n", 0, found.end()) + 1
        raise ConstraintFileError(
            f"{_prefix(path)}the key in line {line} has more than {_DEPTH} parts between dots. Keys of "
            "constraint files have one or two."
        )


def _check_version(table: Table) -> None:
    if "version" in table and table.whole("version") != VERSION:
        raise table.error(
            f"{table.whole('version')} is unknown; this release reads version {VERSION}. Is it of a newer tiltfit? "
            "Then upgrade (pip install -U tiltfit), or write it for this one",
            "version",
        )


def _classes(table: Table) -> list[Label]:
    table.array("classes")
    return table.labels("classes")


def _name(number: int, entry: object) -> str:
    name = entry.get("name") if isinstance(entry, Mapping) else None
    return f"constraint {number}" + (f" ({quote(name)})" if isinstance(name, str) else "")


def _prefix(path: str) -> str:
    return f"{path}: " if path else ""


def _value(value: Any) -> str:
    return _WRITERS[type(value)](value)


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _string(key)


def _string(text: str) -> str:
    return '"' + "".join(_ESCAPES.get(c) or (c if _is_plain(c) else f"\\u{ord(c):04X}") for c in text) + '"'


def _is_plain(c: str) -> bool:
    return c >= " " and c != "\x7f"


_WRITERS: dict[type, Callable[[Any], str]] = {
    bool: lambda value: "true" if value else "false",
    int: repr,
    float: repr,
    str: _string,
    dict: lambda value: f"{{ {', '.join(f'{_key(key)} = {_value(item)}' for key, item in value.items())} }}",
    list: lambda value: f"[{', '.join(map(_value, value))}]",
}
"""The types that documents hold; there are no others."""


MAX_FILE = 1 << 26
"""Longest constraint file, in bytes: longer ones are a sign of a wrong file, or of one made to fill the memory."""


def read_text(path: str | os.PathLike[str]) -> str:
    """The text of a file, unpacked, without a byte-order mark; every failure to read it is a ConstraintFileError."""
    name = os.fspath(path)
    try:
        with open(path, "rb") as raw, unpacked(name, raw) as plain:
            data = read_at_most(plain, MAX_FILE + 1)
        if len(data) > MAX_FILE:
            raise ConstraintFileError(f"{name}: the file is longer than {MAX_FILE:,} bytes. Is it a constraint file?")
        return data.decode("utf-8-sig")
    except ConstraintFileError:
        raise
    except DataFileError as error:
        raise ConstraintFileError(str(error)) from error
    except UnicodeDecodeError:
        raise ConstraintFileError(f"{name}: the file is not UTF-8 text.") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ConstraintFileError(f"{name}: the file cannot be read: {reason}.") from error
