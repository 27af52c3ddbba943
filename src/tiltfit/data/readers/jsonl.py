"""JSON Lines: one object per line, a document or a sequence. Empty lines are skipped.

A sequence is ``{"tokens": ["New", "York"], "tags": ["place", null]}``. Tags that are missing or null mean that nothing
is known; a null inside, that one token is unlabelled.
"""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Never, TypeVar, cast

from tiltfit.data.readers.record import (
    Document,
    Fields,
    Record,
    Refusal,
    Scalar,
    Survey,
    Tagged,
    Tags,
    Value,
    Vocabulary,
    attempt,
    check_label,
    check_text,
    joined,
    missing_field,
    problem,
)
from tiltfit.data.readers.source import scan
from tiltfit.errors import DataFileError

T = TypeVar("T")


def jsonl_records(
    survey: Survey, raw: io.BufferedReader, fields: Fields, make: Callable[[str, int, dict[str, Any], Fields], T]
) -> Iterator[T | Refusal]:
    """``make(place, number, object, fields)`` of every line that is not empty: a document or a sequence."""
    asked = fields.asked

    def one(number: int, text: str) -> T:
        item = _parse_object(survey.place, number, text)
        survey.note(item.keys(), asked)
        survey.labelled |= fields.label in item
        return make(survey.place, number, item, fields)

    for number, text, flaw in scan(survey.place, raw):
        if flaw is not None:
            yield flaw
        elif text.strip():
            yield attempt(partial(one, number, text))


def _parse_object(place: str, number: int, line: str) -> dict[str, Any]:
    """The object of one line."""
    try:
        item = json.loads(line, object_pairs_hook=_unique, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        why = f"not JSON: {error.msg} (column {error.colno})."
        if line.lstrip().startswith("["):
            why += " A list over several lines is not JSONL: write one object per line."
        raise problem(place, number, why) from None
    except RecursionError:
        raise problem(place, number, "the JSON is nested too deeply.") from None
    except ValueError as error:  # a number with thousands of digits, or one of the two hooks below
        raise problem(place, number, f"not JSON: {error}") from None
    if type(item) is not dict:
        raise _wrong_kind(place, number, "the line", item, 'an object such as {"text": "..."}.')
    return item


_KINDS = {
    list: "a list",
    str: "a string",
    int: "a number",
    float: "a number",
    bool: "true or false",
    type(None): "null",
    dict: "an object",
}


def _wrong_kind(place: str, number: int, what: str, value: Any, wanted: str) -> DataFileError:
    """The error for a value that is not what is wanted; ``wanted`` ends the sentence."""
    return problem(place, number, f"{what} is {_KINDS[type(value)]}, not {wanted}")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    item = dict(pairs)
    if len(item) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the field {twice!r} stands twice in one object.")
    return item


def _no_constant(name: str) -> Never:
    raise ValueError(f"{name} is not a JSON value. Write null for a missing value.")


def document_of(place: str, number: int, item: dict[str, Any], fields: Fields) -> Document:
    """The document that an object stands for."""
    return Record(
        place,
        number,
        _identifier(place, number, item.get(fields.identifier)),
        joined([_text(place, number, item, name, optional=bool(fields.more)) for name in fields.texts]),
        check_label(place, number, item.get(fields.label)) if fields.label is not None else None,
        _columns(place, number, item, fields),
        item if fields.rows else None,
    )


def _text(place: str, number: int, item: dict[str, Any], name: str, *, optional: bool) -> str:
    """The text of a field. ``optional``: null is an empty text, since there are others."""
    if name not in item:
        raise missing_field(place, number, "text", name, list(item))
    text = item[name]
    if text is None and optional:
        return ""
    if type(text) is not str:
        raise _wrong_kind(place, number, f"the text field {name!r}", text, "a string.")
    return check_text(place, number, f"the field {name!r}", text)


def _identifier(place: str, number: int, value: Any) -> str | None:
    """An id as text; None if there is none."""
    match value:
        case None | "":
            return None
        case list() | dict() | bool():
            raise _wrong_kind(place, number, "the id", value, "a string or a number.")
    return check_text(place, number, "the id", str(value))


def _columns(place: str, number: int, item: dict[str, Any], fields: Fields) -> tuple[Value, ...]:
    return tuple(_value(place, number, name, item.get(name)) for name in fields.columns)


def _value(place: str, number: int, name: str, value: Any) -> Value:
    """The value of a column as it is, unless nothing can be computed with it."""
    match value:
        case list() | dict():
            raise _wrong_kind(place, number, f"the column {name!r}", value, "a number, a string or null.")
        case int() | float() if not abs(value) <= sys.float_info.max:
            raise problem(place, number, f"the column {name!r} is a number too large to compute with.")
        case str():
            return check_text(place, number, f"the column {name!r}", value)
    return cast(Value, value)


def sequence_of(vocabulary: Vocabulary, place: str, number: int, item: dict[str, Any], fields: Fields) -> Tagged:
    """The sequence that an object stands for. ``fields.text`` names the tokens, ``fields.label`` the tags."""
    tokens = _tokens(place, number, item, fields.text, vocabulary)
    tags = None if fields.label is None else _tags(place, number, item.get(fields.label), fields.label, len(tokens))
    columns = tuple(_by_token(place, number, name, item.get(name), len(tokens)) for name in fields.columns)
    return Record(place, number, _identifier(place, number, item.get(fields.identifier)), tokens, tags, columns)


def _by_token(place: str, number: int, name: str, value: Any, n: int) -> Value:
    """The value of a column of sequences: one, or a list with one for each token."""
    if type(value) is not list:
        return _value(place, number, name, value)
    if len(value) != n:
        raise problem(place, number, f"{n} tokens, but {len(value)} values of {name!r}. Give one value per token.")
    return [cast(Scalar, _value(place, number, name, part)) for part in value]


def _tokens(place: str, number: int, item: dict[str, Any], name: str, vocabulary: Vocabulary) -> list[str]:
    if name not in item:
        raise missing_field(place, number, "tokens", name, list(item))
    values, what = item[name], f"the field {name!r}"
    if type(values) is not list:
        hint = " Split the text into tokens first." if type(values) is str else ""
        raise _wrong_kind(place, number, what, values, f"a list of tokens.{hint}")
    if not values:
        raise problem(place, number, f"{what} is an empty list. Leave empty sequences out.")
    for t, value in enumerate(values):
        if type(value) is not str:
            raise _wrong_kind(place, number, f"token {t} of {what}", value, "a string. Write it in quotes.")
    return [vocabulary.take(value, number, f"token {t} of {what}") for t, value in enumerate(values)]


def _tags(place: str, number: int, values: Any, name: str, n: int) -> Tags:
    if values is None:
        return None
    if type(values) is not list:
        raise _wrong_kind(place, number, f"the field {name!r}", values, "a list with a tag for each token.")
    if len(values) != n:
        raise problem(
            place, number, f"{n} tokens, but {len(values)} tags. Give one tag per token (null where it is unknown)."
        )
    tags = [check_label(place, number, value) for value in values]
    return tags if any(tag is not None for tag in tags) else None
