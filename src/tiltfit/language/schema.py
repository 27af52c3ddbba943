"""The JSON Schema of constraint files (draft 2020-12), for editors and other programs.

Events, conditions and relations own the shapes of their values; installed extensions are included. Every file that the
reader accepts fulfils the schema. The reader knows more: patterns that do not compile, labels that stand twice,
statements that contradict each other.

>>> sorted(constraint_schema()["properties"])
['classes', 'constraint', 'version']
"""

from __future__ import annotations

from collections.abc import Iterable

from tiltfit.language.conditions import Condition
from tiltfit.language.constraint import PARTS, SCOPES
from tiltfit.language.events import Event
from tiltfit.language.relations import Relation
from tiltfit.language.toml import VERSION
from tiltfit.language.written import AMOUNT, CONDITION, SOME_LABELS, TEXT, Schema, Written
from tiltfit.penalties.penalty import PENALTIES

_REST: dict[str, Schema] = {
    "given": CONDITION,
    "of": {"$ref": "#/$defs/of"},
    "per": {
        "anyOf": [
            {"enum": list(SCOPES)},
            {"type": "object", "properties": {"column": TEXT}, "required": ["column"], "additionalProperties": False},
        ]
    },
    "on": {"enum": list(PARTS)},
    "beta": {"type": "number", "exclusiveMinimum": 0},
    "slack": AMOUNT,
    "name": TEXT,
    "rationale": TEXT,
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
            "classes": {**SOME_LABELS, "description": "All labels that there are."},
            "constraint": {"type": "array", "items": {"$ref": "#/$defs/constraint"}},
        },
        "additionalProperties": False,
        "$defs": {
            "label": {"type": ["string", "number", "boolean"]},
            "condition": {"oneOf": [_condition(key) for key in Condition.registry]},
            "of": {
                "type": "object",
                "properties": {**_shapes(Event.registry.values()), "given": CONDITION},
                "oneOf": _required(Event.registry),
                "additionalProperties": False,
            },
            "constraint": _constraint(),
        },
    }


def _shapes(classes: Iterable[type[Written]]) -> dict[str, Schema]:
    return {key: shape for cls in classes for key, shape in cls.keys.items()}


def _condition(key: str) -> Schema:
    cls = Condition.registry[key]
    found: Schema = {
        "type": "object",
        "properties": {key: cls.keys[key], **cls.modifiers},
        "required": [key],
        "additionalProperties": False,
    }
    return {**found, "oneOf": _required(cls.needs)} if cls.needs else found


def _constraint() -> Schema:
    relations = Relation.registry.loaded
    modifiers = {name: cls for cls in relations.values() for name in cls.modifiers}
    hard = [key for key, cls in relations.items() if cls.hard]
    return {
        "type": "object",
        "properties": {
            **_shapes(Event.registry.values()),
            **_shapes(relations.values()),
            **{name: cls.modifiers[name] for name, cls in modifiers.items()},
            "penalty": {"enum": list(PENALTIES)},
            **_REST,
        },
        "additionalProperties": False,
        "allOf": [
            {"oneOf": _required(relations)},
            _one_event(),
            _shares(),
            {"not": {"required": ["beta", "within"]}},
        ],
        "dependentSchemas": {
            "slack": {"anyOf": _required(hard)},
            **{name: {"anyOf": _required(cls.keys)} for name, cls in modifiers.items()},
        },
    }


def _one_event() -> Schema:
    """One event; none where the relation names the labels itself."""
    return {
        "if": {"anyOf": _required(key for key, cls in Relation.registry.loaded.items() if cls.names_labels)},
        "then": {"not": {"anyOf": _required([*Event.registry, "of"])}},
        "else": {"oneOf": _required(Event.registry)},
    }


def _shares() -> Schema:
    """Targets are at most 1, deviations less, unless they are of an event that counts, and of no share of another."""
    counting = [key for key, cls in Event.registry.items() if cls.counts]
    most: dict[str, Schema] = {"number": {"maximum": 1}, "array": {"items": {"maximum": 1}}}
    shapes = _shapes(Relation.registry.loaded.values())
    targets = {key: most[shape["type"]] for key, shape in shapes.items() if "type" in shape}
    return {
        "if": {"anyOf": _required(counting), "not": {"required": ["of"]}},
        "else": {"properties": {**targets, "within": {"exclusiveMaximum": 1}}},
    }


def _required(keys: Iterable[str]) -> list[Schema]:
    return [{"required": [key]} for key in keys]
