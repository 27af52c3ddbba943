"""One document or sequence as a reader found it, or why it was refused, and the checks that hold for every format."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from tiltfit.data.sequences import unfit
from tiltfit.errors import DataFileError, did_you_mean

MAX_TEXT = 1 << 24
"""Longest text of one document, in characters: longer ones are a sign of a broken file, not of a document."""

_SHOWN = 8  # field names in a message
_FIELDS, _FIELD = 4096, 200  # names of fields that are remembered, and their length: a stream may never end
_KNOWN, _TOKEN = 1 << 14, 100  # the same of tokens

Label = str | int | bool
Scalar = str | int | float | bool | None
Value = Scalar | list[Scalar]  # lists: one value per token
Tags = Sequence[Label | None] | None

T = TypeVar("T")
X = TypeVar("X")
Y = TypeVar("Y")


@dataclass(frozen=True)
class Fields:
    """Names of the fields to read. ``label=None`` reads no labels. ``more``: further fields of texts, which are joined
    to the first. ``rows``: each record also keeps its whole row. ``optional``: no source need have the label.
    ``evidence``: those of ``columns`` that conditions look at and the model does not."""

    text: str = "text"
    label: str | None = "label"
    identifier: str = "id"
    columns: tuple[str, ...] = ()
    more: tuple[str, ...] = ()
    rows: bool = False
    optional: bool = False
    evidence: tuple[str, ...] = ()

    @property
    def texts(self) -> tuple[str, ...]:
        """The fields whose texts are joined."""
        return (self.text, *self.more)

    @property
    def asked(self) -> frozenset[str]:
        """All of them."""
        names = (*self.texts, self.label, self.identifier, *self.columns)
        return frozenset(name for name in names if name is not None)


@dataclass(frozen=True, slots=True)
class Record(Generic[X, Y]):
    """One document or sequence: a text and its label, or tokens and their tags (None: unlabelled).

    ``line`` is where it starts (0: the whole file ``place``). ``row``: the row as it stands in the file, if it is kept.
    """

    place: str
    line: int
    identifier: str | None
    content: X
    label: Y
    columns: tuple[Value, ...] = ()
    row: Mapping[str, Any] | None = None

    @property
    def origin(self) -> str:
        return where(self.place, self.line)


Document = Record[str, Label | None]
Tagged = Record[list[str], Tags]


@dataclass(frozen=True, slots=True)
class Refusal:
    """A record that cannot be used. Readers yield refusals and go on; what they raise is wrong with the whole source.

    ``left_out`` says how much is missing if it is passed over, where that is more than a line.
    """

    error: DataFileError
    left_out: str = ""

    def __str__(self) -> str:
        return f"{self.error} {self.left_out}".rstrip()


def strict(items: Iterable[T | Refusal]) -> Iterator[T]:
    """The items up to the first refusal, which is raised."""
    for item in items:
        if isinstance(item, Refusal):
            error = item.error
            del item  # or the error would hold itself, by its traceback
            raise error
        yield item


@dataclass
class Survey:
    """The properties of a source seen so far: its format, the names of its fields, whether it has labels.

    ``final``: no further field can appear.
    """

    place: str
    format: str = "auto"
    fields: set[str] = field(default_factory=set)
    final: bool = False
    labelled: bool = False

    def note(self, names: Collection[str], asked: frozenset[str]) -> None:
        """Remember names of fields: those asked for, and others while there are not too many."""
        if not self.fields.issuperset(names):
            room = len(self.fields) < _FIELDS
            self.fields.update(name for name in names if name in asked or (room and len(name) <= _FIELD))


def attempt(make: Callable[[], T]) -> T | Refusal:
    """The result of ``make``, or a refusal with the error that it raised."""
    try:
        return make()
    except DataFileError as error:
        return Refusal(error)


class Row(int):
    """The number of a row, from 1, in a file that has no lines."""


def where(place: str, line: int = 0) -> str:
    """``'a.csv, line 3'``, or only the file if the problem is not about one line."""
    return f"{place}, {'row' if isinstance(line, Row) else 'line'} {line}" if line else place


def problem(place: str, line: int, why: str) -> DataFileError:
    """The error for something wrong at a line of a file."""
    return DataFileError(f"{where(place, line)}: {why}")


def missing_field(place: str, line: int, role: str, name: str, known: Sequence[str]) -> DataFileError:
    """The error for a field that is not there: names the nearest one and how to choose another."""
    have = ", ".join(repr(k) for k in known[:_SHOWN]) + (", ..." if len(known) > _SHOWN else "")
    return problem(
        place,
        line,
        f"there is no {role} field {name!r} (the fields are: {have or 'none'})."
        f"{did_you_mean(name, known)} Say which field to use with {role}=, or mend this record if others have it.",
    )


def check_text(place: str, line: int, what: str, value: str) -> str:
    """``value``, unless it holds what no text should: NUL, half of a surrogate pair, millions of characters.

    NumPy drops trailing NULs and lone surrogates cannot be written as UTF-8, so both would go wrong later.
    """
    if len(value) > MAX_TEXT:
        raise problem(place, line, f"{what} has {len(value):,} characters; at most {MAX_TEXT:,} are read.")
    if "\0" in value:
        raise problem(place, line, f"{what} contains a NUL character. Is this a binary or UTF-16 file?")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise problem(place, line, f"{what} contains half of a surrogate pair, which is not text.") from None
    return value


def joined(texts: Sequence[str]) -> str:
    """The texts of several fields as one, a line each; empty ones are left out."""
    return texts[0] if len(texts) == 1 else "\n".join(text for text in texts if text.strip())


def check_label(place: str, line: int, value: Any) -> Label | None:
    """A label as it is, or None for "unlabelled": null, an empty or a blank string."""
    match value:
        case None:
            return None
        case str():
            return check_text(place, line, "the label", value) if value.strip() else None
        case bool() | int():
            return value
        case float() if value.is_integer():
            return int(value)  # writers without missing integers turn 1 into 1.0
        case list() | dict():
            raise problem(place, line, "the label is a list or an object, but a document has one label at most.")
    raise problem(place, line, f"the label {value!r} is not text, an integer, true or false.")


class Vocabulary:
    """Checks a token when it is new, and keeps one string for all its occurrences."""

    def __init__(self, place: str) -> None:
        self._place = place
        self._known: dict[str, str] = {}

    def take(self, token: str, line: int, where: str) -> str:
        found = self._known.get(token)
        if found is not None:
            return found
        why = unfit(token)
        if why is not None:
            raise problem(self._place, line, f"{where} {why}")
        if len(self._known) == _KNOWN:
            self._known.clear()  # common tokens are soon back
        if len(token) <= _TOKEN:
            self._known[token] = token
        return token
