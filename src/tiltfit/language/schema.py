"""The JSON Schema of constraint files (draft 2020-12), for editors and other programs.

Which keys there are, which go together and what counts is asked of the classes that read them; only the shape of each
value is written down here. Every file that the reader accepts fulfils the schema. The reader knows more: patterns that
do not compile, labels that stand twice, statements that contradict each other.

>>> sorted(constraint_schema()["properties"])
['classes', 'constraint', 'version']
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tiltfit.language.conditions import Condition
from tiltfit.language.constraint import PARTS, SCOPES
from tiltfit.language.events import Event
from tiltfit.language.relations import DistributedAs, Relation
from tiltfit.language.toml import VERSION
from tiltfit.penalties.penalty import PENALTIES

Schema = dict[str, Any]

_LABEL: Schema = {"$ref": "#/$defs/label"}
_LABELS: Schema = {"anyOf": [_LABEL, {"type": "array", "items": _LABEL, "minItems": 1}]}
_TEXT: Schema = {"type": "string", "minLength": 1}
_NUMBER: Schema = {"type": "number"}
_PAIR: Schema = {"type": "array", "items": _NUMBER, "minItems": 2, "maxItems": 2}
_AMOUNT: Schema = {"type": "number", "minimum": 0}
_TRUE: Schema = {"const": True}
_CONDITION: Schema = {"$ref": "#/$defs/condition"}
_CONDITIONS: Schema = {"type": "array", "items": _CONDITION, "minItems": 1}

_EVENTS: dict[str, Schema] = {
    "label": _LABEL,
    "labels": _LABELS,
    "stay": _TRUE,
    "change": _TRUE,
    "transition": {"type": "array", "items": _LABEL, "minItems": 2, "maxItems": 2},
    "start": _LABELS,
    "end": _LABELS,
    "segments": _LABEL,
    "repeats": {
        "anyOf": [_TRUE, {"type": ["string", "number"]}, {"type": "array", "items": _LABEL, "minItems": 1}],
    },
    "statistic": {
        "anyOf": [
            _TEXT,
            {
                "type": "object",
                "properties": {"name": _TEXT},
                "required": ["name"],
                "additionalProperties": _LABELS,
            },
        ]
    },
}
_CONDITIONS_BY_KEY: dict[str, Schema] = {
    "word": _TEXT,
    "phrase": _TEXT,
    "regex": {**_TEXT, "description": "A pattern of Python's re."},
    "feature": _TEXT,
    "above": _NUMBER,
    "below": _NUMBER,
    "between": _PAIR,
    "equals": _LABEL,
    "isin": _LABELS,
    "punctuation": _TRUE,
    "first": _TRUE,
    "last": _TRUE,
    "position": {"type": "integer"},
    "before": _CONDITION,
    "after": _CONDITION,
    "not": _CONDITION,
    "all": _CONDITIONS,
    "any": _CONDITIONS,
}
_RELATIONS: dict[str, Schema] = {
    "about": _AMOUNT,
    "at_least": _AMOUNT,
    "at_most": _AMOUNT,
    "exactly": _AMOUNT,
    "between": {"type": "array", "items": _AMOUNT, "minItems": 2, "maxItems": 2},
    "distribution": {
        "anyOf": [
            {"type": "object", "additionalProperties": _AMOUNT, "minProperties": 1},
            {
                "type": "array",
                "minItems": 1,
                "items": {"type": "array", "prefixItems": [_LABEL, _AMOUNT], "minItems": 2, "maxItems": 2},
            },
        ]
    },
}
_MODIFIERS: dict[str, Schema] = {
    "case": {"type": "boolean", "description": "Whether capitals count; without it, if there is one."},
    "column": _TEXT,
    "feature": _TEXT,
    "penalty": {"enum": list(PENALTIES)},
}
_REST: dict[str, Schema] = {
    "given": _CONDITION,
    "of": {"$ref": "#/$defs/of"},
    "per": {
        "anyOf": [
            {"enum": list(SCOPES)},
            {"type": "object", "properties": {"column": _TEXT}, "required": ["column"], "additionalProperties": False},
        ]
    },
    "on": {"enum": list(PARTS)},
    "beta": {"type": "number", "exclusiveMinimum": 0},
    "slack": {"type": "number", "minimum": 0},
    "name": _TEXT,
    "rationale": _TEXT,
}


def constraint_schema() -> Schema:
    """The schema, as plain data."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"tiltfit constraint file, version {VERSION}",
        "description": "What is expected of labels. TOML; the schema is of its data.",
        "type": "object",
        "properties": {
            "version": {"type": "integer", "const": VERSION},
            "classes": {"type": "array", "items": _LABEL, "minItems": 1, "description": "All labels that there are."},
            "constraint": {"type": "array", "items": {"$ref": "#/$defs/constraint"}},
        },
        "additionalProperties": False,
        "$defs": {
            "label": {"type": ["string", "number", "boolean"]},
            "condition": {"oneOf": [_condition(key) for key in Condition.registry]},
            "of": {
                "type": "object",
                "properties": {**_events(), "given": _CONDITION},
                "oneOf": _required(Event.registry),
                "additionalProperties": False,
            },
            "constraint": _constraint(),
        },
    }


def _events() -> dict[str, Schema]:
    return {key: _EVENTS[key] for key in Event.registry}


def _condition(key: str) -> Schema:
    cls = Condition.registry[key]
    found: Schema = {
        "type": "object",
        "properties": {key: _CONDITIONS_BY_KEY[key], **{name: _MODIFIERS[name] for name in cls.modifiers}},
        "required": [key],
        "additionalProperties": False,
    }
    return {**found, "oneOf": _required(cls.needs)} if cls.needs else found


def _constraint() -> Schema:
    modifiers = {name: cls for cls in Relation.registry.values() for name in cls.modifiers}
    hard = [key for key, cls in Relation.registry.items() if cls.hard]
    return {
        "type": "object",
        "properties": {
            **_events(),
            **{key: _RELATIONS[key] for key in Relation.registry},
            **{name: _MODIFIERS[name] for name in modifiers},
            **_REST,
        },
        "additionalProperties": False,
        "allOf": [{"oneOf": _required(Relation.registry)}, _one_event(), _shares()],
        "dependentSchemas": {
            "slack": {"anyOf": _required(hard)},
            **{name: {"anyOf": _required(cls.keys)} for name, cls in modifiers.items()},
        },
    }


def _one_event() -> Schema:
    """One event; none where the relation names the labels itself."""
    return {
        "if": {"anyOf": _required(DistributedAs.keys)},
        "then": {"not": {"anyOf": _required([*Event.registry, "of"])}},
        "else": {"oneOf": _required(Event.registry)},
    }


def _shares() -> Schema:
    """Targets are at most 1, unless they are of an event that counts, and of no share of another."""
    counting = [key for key, cls in Event.registry.items() if cls.counts]
    most: dict[str, Schema] = {"number": {"maximum": 1}, "array": {"items": {"maximum": 1}}}
    return {
        "if": {"anyOf": _required(counting), "not": {"required": ["of"]}},
        "else": {"properties": {key: most[shape["type"]] for key, shape in _RELATIONS.items() if "type" in shape}},
    }


def _required(keys: Iterable[str]) -> list[Schema]:
    return [{"required": [key]} for key in keys]
