"""JSON Lines of sequences: ``{"tokens": ["New", "York"], "tags": ["place", null]}``, one object a line.

Tags that are missing or null mean that nothing is known; a null inside, that one token is unlabelled.
"""

from __future__ import annotations

import io
from typing import Any

from tiltfit.data.readers.jsonl import KINDS, check_identifier, check_value, parse_object
from tiltfit.data.readers.record import Fields, Record, check_label, missing_field, problem
from tiltfit.data.readers.source import lines
from tiltfit.data.readers.tagged import Tagged, TaggedPart, Tags, Vocabulary


def read_sequence_jsonl(place: str, raw: io.BufferedReader, fields: Fields) -> TaggedPart:
    """Every line of a file as a sequence. ``fields.text`` names the tokens, ``fields.label`` the tags."""
    found: list[Tagged] = []
    seen: set[str] = set()
    vocabulary = Vocabulary(place)
    for number, line in lines(place, raw):
        if not line.strip():
            continue
        item = parse_object(place, number, line)
        seen.update(item)
        tokens = _tokens(place, number, item, fields.text, vocabulary)
        tags = None if fields.label is None else _tags(place, number, item.get(fields.label), fields.label, len(tokens))
        values = tuple(check_value(place, number, name, item.get(name)) for name in fields.columns)
        identifier = check_identifier(place, number, item.get(fields.identifier))
        found.append(Tagged(Record(place, number, identifier, "", None, values), tokens, tags))
    return TaggedPart(place, found, frozenset(seen), fields.label in seen, "jsonl")


def _tokens(place: str, number: int, item: dict[str, Any], name: str, vocabulary: Vocabulary) -> list[str]:
    if name not in item:
        raise missing_field(place, number, "tokens", name, list(item))
    values = item[name]
    if not isinstance(values, list):
        hint = " Split the text into tokens first." if isinstance(values, str) else ""
        raise problem(place, number, f"the field {name!r} is {KINDS[type(values)]}, not a list of tokens.{hint}")
    if not values:
        raise problem(place, number, f"the field {name!r} is an empty list. Leave empty sequences out.")
    for t, value in enumerate(values):
        if not isinstance(value, str):
            raise problem(place, number, f"token {t} of the field {name!r} is {KINDS[type(value)]}, not a string.")
    return [vocabulary.take(value, number, f"token {t} of the field {name!r}") for t, value in enumerate(values)]


def _tags(place: str, number: int, values: Any, name: str, n: int) -> Tags:
    if values is None:
        return None
    if not isinstance(values, list):
        raise problem(
            place, number, f"the field {name!r} is {KINDS[type(values)]}, not a list with a tag for each token."
        )
    if len(values) != n:
        raise problem(
            place, number, f"{n} tokens, but {len(values)} tags. Give one tag a token (null where it is unknown)."
        )
    tags = [check_label(place, number, value) for value in values]
    return tags if any(tag is not None for tag in tags) else None
