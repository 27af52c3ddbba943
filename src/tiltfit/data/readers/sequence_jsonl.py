"""JSON Lines of sequences: ``{"tokens": ["New", "York"], "tags": ["place", null]}``, one object a line.

Tags that are missing or null mean that nothing is known; a null inside, that one token is unlabelled.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

from tiltfit.data.readers.jsonl import KINDS, check_identifier, check_value, objects
from tiltfit.data.readers.record import Fields, Record, Refusal, Survey, check_label, missing_field, problem
from tiltfit.data.readers.tagged import Tagged, Tags, Vocabulary
from tiltfit.errors import DataFileError


def jsonl_sequences(survey: Survey, raw: io.BufferedReader, fields: Fields) -> Iterator[Tagged | Refusal]:
    """Every line of a file as a sequence. ``fields.text`` names the tokens, ``fields.label`` the tags."""
    asked = fields.asked
    vocabulary = Vocabulary(survey.place)
    for number, item in objects(survey.place, raw):
        if isinstance(item, Refusal):
            yield item
            continue
        survey.note(item.keys(), asked)
        survey.labelled |= fields.label in item
        try:
            found: Tagged | Refusal = tagged_of(survey.place, number, item, fields, vocabulary)
        except DataFileError as error:
            found = Refusal(error)
        yield found


def tagged_of(place: str, number: int, item: dict[str, Any], fields: Fields, vocabulary: Vocabulary) -> Tagged:
    """The sequence that an object stands for."""
    tokens = _tokens(place, number, item, fields.text, vocabulary)
    tags = None if fields.label is None else _tags(place, number, item.get(fields.label), fields.label, len(tokens))
    values = tuple(check_value(place, number, name, item.get(name)) for name in fields.columns)
    identifier = check_identifier(place, number, item.get(fields.identifier))
    return Tagged(Record(place, number, identifier, "", None, values), tokens, tags)


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
            what = f"token {t} of the field {name!r} is {KINDS[type(value)]}, not a string. Write it in quotes."
            raise problem(place, number, what)
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
