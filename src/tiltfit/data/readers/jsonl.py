"""JSON Lines: one object a line. Empty lines are skipped."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterator
from typing import Any, Never

from tiltfit.data.readers.record import (
    Fields,
    Record,
    Refusal,
    Survey,
    Value,
    check_label,
    check_text,
    missing_field,
    problem,
)
from tiltfit.data.readers.source import scan
from tiltfit.errors import DataFileError


def jsonl_records(survey: Survey, raw: io.BufferedReader, fields: Fields) -> Iterator[Record | Refusal]:
    """Every line of a JSONL file as a record."""
    asked = fields.asked
    for number, item in objects(survey.place, raw):
        if isinstance(item, Refusal):
            yield item
            continue
        survey.note(item.keys(), asked)
        try:
            found: Record | Refusal = record_of(survey.place, number, item, fields)
        except DataFileError as error:
            found = Refusal(error)
        yield found


def objects(place: str, raw: io.BufferedReader) -> Iterator[tuple[int, dict[str, Any] | Refusal]]:
    """(number, object) of every line that is not empty."""
    for number, text, flaw in scan(place, raw):
        if flaw is not None:
            yield number, flaw
        elif text.strip():
            try:
                item: dict[str, Any] | Refusal = parse_object(place, number, text)
            except DataFileError as error:
                item = Refusal(error)
            yield number, item


def parse_object(place: str, number: int, line: str) -> dict[str, Any]:
    """The object of one line."""
    try:
        item = json.loads(line, object_pairs_hook=_unique, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        why = f"not JSON: {error.msg} (column {error.colno})."
        if line.lstrip().startswith("["):
            why += " A list over several lines is not JSONL: write one object a line."
        raise problem(place, number, why) from None
    except RecursionError:
        raise problem(place, number, "the JSON is nested too deeply.") from None
    except ValueError as error:  # a number with thousands of digits, or one of the two hooks below
        raise problem(place, number, f"not JSON: {error}") from None
    if not isinstance(item, dict):
        raise problem(place, number, f'the line is {KINDS[type(item)]}, not an object such as {{"text": "..."}}.')
    return item


KINDS = {
    list: "a list",
    str: "a string",
    int: "a number",
    float: "a number",
    bool: "true or false",
    type(None): "null",
    dict: "an object",
}


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    item = dict(pairs)
    if len(item) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the field {twice!r} stands twice in one object.")
    return item


def _no_constant(name: str) -> Never:
    raise ValueError(f"{name} is not a JSON value. Write null for a missing value.")


def record_of(place: str, number: int, item: dict[str, Any], fields: Fields) -> Record:
    """The document that an object stands for."""
    if fields.text not in item:
        raise missing_field(place, number, "text", fields.text, list(item))
    text = item[fields.text]
    if not isinstance(text, str):
        raise problem(place, number, f"the text field {fields.text!r} is {KINDS[type(text)]}, not a string.")
    return Record(
        place,
        number,
        check_identifier(place, number, item.get(fields.identifier)),
        check_text(place, number, f"the field {fields.text!r}", text),
        check_label(place, number, item.get(fields.label)) if fields.label is not None else None,
        tuple(check_value(place, number, name, item.get(name)) for name in fields.columns),
    )


def check_identifier(place: str, number: int, value: Any) -> str | None:
    """An id as text; None if there is none."""
    if value is None or value == "":
        return None
    if isinstance(value, list | dict | bool):
        raise problem(place, number, f"the id is {KINDS[type(value)]}, not a string or a number.")
    return check_text(place, number, "the id", str(value))


def check_value(place: str, number: int, name: str, value: Any) -> Value:
    """The value of a column as it is, unless nothing can be computed with it."""
    if isinstance(value, list | dict):
        raise problem(place, number, f"the column {name!r} is {KINDS[type(value)]}, not a number, a string or null.")
    if isinstance(value, int | float) and not abs(value) <= sys.float_info.max:
        raise problem(place, number, f"the column {name!r} is a number too large to compute with.")
    return check_text(place, number, f"the column {name!r}", value) if isinstance(value, str) else value
