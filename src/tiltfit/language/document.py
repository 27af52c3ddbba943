"""Constraints as plain data: dicts, lists, strings, numbers and bools, the same in TOML and JSON.

>>> from tiltfit.language.expect import expect
>>> from tiltfit.language.conditions import word
>>> to_document(expect("hockey", given=word("puck")).about(0.9))
{'label': 'hockey', 'given': {'word': 'puck'}, 'about': 0.9}
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

from tiltfit.errors import ConstraintError, ConstraintFileError, UnsupportedError
from tiltfit.language.conditions import Column, Condition
from tiltfit.language.constraint import Among, Constraint
from tiltfit.language.events import Event, Labels  # all events
from tiltfit.language.relations import Relation
from tiltfit.language.values import plain
from tiltfit.language.written import INSTALL, Document, Table
from tiltfit.registry import load_extensions

T = TypeVar("T")

_TEXTS = ("name", "rationale")
_NUMBERS = ("beta", "slack")


def to_document(constraint: Constraint) -> Document:
    """The constraint as a dict that ``from_document`` reads back; refuses ``when``, which no file can hold."""
    document: Document = {} if constraint.name is None else {"name": constraint.name}
    try:
        document |= _event_document(constraint.event, constraint.given)
        if constraint.of is not None:
            document["of"] = _event_document(constraint.of.event, constraint.of.given)
    except UnsupportedError as error:
        raise error.with_message(f"The constraint {constraint.title!r} cannot be saved: {error}") from None
    document |= constraint.relation.to_document()
    if constraint.per != "dataset":
        document["per"] = constraint.per if constraint.per_column is None else {"column": constraint.per_column}
    if constraint.on != "unlabelled":
        document["on"] = constraint.on
    strengths = {"beta": constraint.beta, "slack": constraint.slack}
    document |= {key: plain(value) for key, value in strengths.items() if value is not None}
    return document if constraint.rationale is None else {**document, "rationale": constraint.rationale}


def from_document(document: object, where: str = "", folder: Path | None = None) -> Constraint:
    """Read a constraint; ``where`` begins every error message. ``folder``: of the constraint file, to
    which paths in it are relative."""
    table = Table(document, where, folder=folder)
    relations = [name for key, cls in Relation.registry.loaded.items() for name in (key, *cls.modifiers)]
    others = ["given", "of", *relations, "per", "on", *_NUMBERS, *_TEXTS]
    table.only([*_events(table, others), *others], "event")
    try:
        return _constraint(table)
    except ConstraintError as error:
        text = f"{error} {INSTALL}." if error.missing else str(error)
        raise ConstraintFileError(f"{where}: {text}" if where else text, missing=error.missing) from error


def _constraint(table: Table) -> Constraint:
    relation = _relation(table)
    return Constraint(
        event=_event(table, optional=relation.names_labels),
        relation=relation,
        given=_given(table),
        of=_among(table.child("of")) if "of" in table else None,
        per=_per(table),
        on=table.text("on") if "on" in table else "unlabelled",
        **{key: table.number(key) for key in _NUMBERS if key in table},  # type: ignore[arg-type]
        **{key: table.text(key) for key in _TEXTS if key in table},  # type: ignore[arg-type]
    )


def _event_document(event: Event, given: Condition | None) -> Document:
    return event.to_document() if given is None else {**event.to_document(), "given": given.to_document()}


def _among(table: Table) -> Among:
    table.only([*_events(table, ["given"]), "given"], "event")
    return Among(_event(table, optional=False), _given(table))


def _event(table: Table, *, optional: bool) -> Event:
    known = Event.registry.loaded
    if optional and not any(key in table for key in known):
        return Labels()
    key = _one_of(table, known, "event")
    found: Event = known[key].from_table(table, key)
    return found


def _events(table: Table, others: list[str]) -> Mapping[str, type[Event]]:
    """The keys of events; extensions are loaded where a key of the table is unknown."""
    if not {*table.keys} <= {*Event.registry.loaded, *others}:
        load_extensions()
    return Event.registry.loaded


def _relation(table: Table) -> Relation:
    known = Relation.registry.loaded
    key = _one_of(table, known, "relation")
    cls = known[key]
    for other in known.values():
        for modifier in other.modifiers:
            if modifier in table and modifier not in cls.modifiers:
                raise table.error(f"goes with `{other.key}`, not with `{key}`", modifier)
    found: Relation = cls.from_table(table, key)
    return found


def _one_of(table: Table, registry: Mapping[str, T], what: str) -> str:
    present = [key for key in table.keys if key in registry]
    if not present:
        raise table.error(f"says no {what}; one of these keys is needed: {', '.join(registry)}")
    if len(present) > 1:
        raise table.error(f"says two {what}s, `{present[0]}` and `{present[1]}`; make it two constraints")
    return present[0]


def _given(table: Table) -> Condition | None:
    return Condition.under(table, "given") if "given" in table else None


def _per(table: Table) -> str | Column:
    if "per" not in table:
        return "dataset"
    if table.holds("per", str):
        return table.text("per")
    inner = table.child("per")
    inner.only(["column"])
    return Column(inner.text("column"))
