"""Conformance checks of conditions and events."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any

import numpy as np

from tiltfit.errors import TiltfitError
from tiltfit.inference.chain import Chains
from tiltfit.inference.independent import Independent
from tiltfit.inference.statistic import check_statistic
from tiltfit.language.condition import After, Before, Condition, all_of, any_of
from tiltfit.language.constraint import Constraint, ConstraintSet
from tiltfit.language.event import PLACES, Event
from tiltfit.language.expect import expect
from tiltfit.language.schema import constraint_schema
from tiltfit.language.sentences import describe
from tiltfit.samples.task import task_of


def check_condition(condition: Condition, X: Any) -> None:
    """Raise ``AssertionError`` at the first law that a condition breaks on X (texts, a table or sequences).

    - ``fires`` gives one bool per document, row or token, and the same ones when it is asked again;
    - ``~`` never fires where the condition does; ``&`` and ``|`` with another condition are "and" and "or";
    - on sequences ``.before`` and ``.after`` look at the neighbouring token;
    - its sentence and that of its negation differ, and both are one line;
    - it equals itself after a round trip through TOML and through pickle, and the JSON schema knows its key.

    Write ``check_condition(MyCondition(...), examples)`` in the tests of a new condition.
    """
    _require(isinstance(condition, Condition), "it is a tiltfit.Condition", condition)
    inputs = task_of(X, None).read(X)
    yes, no = condition.decide(inputs)
    for found in (condition.fires(inputs), yes, no):
        _require(found.dtype == np.bool_ and found.shape == (inputs.n,), "one bool per position", found)
    _require(bool(np.array_equal(condition.fires(inputs), yes)), "fires gives the same answer twice")
    _require(not np.any(yes & no), "a condition and its negation never both hold")
    _require(bool(np.array_equal((~condition).fires(inputs), no)), "~ fires where the negation holds")
    other = ~condition
    _require(not np.any(all_of([condition, other]).fires(inputs)), "c & ~c never fires")
    _require(
        bool(np.array_equal(any_of([condition, other]).fires(inputs), yes | no)), "c | ~c fires where c is decided"
    )
    if inputs.unit == "tokens":
        offsets = np.asarray(inputs.offsets)  # type: ignore[attr-defined]
        inner = np.setdiff1d(np.arange(inputs.n), offsets[:-1])
        _require(bool(np.array_equal(Before(condition).fires(inputs)[inner], yes[inner - 1])), ".before looks one back")
        _require(bool(np.array_equal(After(condition).fires(inputs)[inner - 1], yes[inner])), ".after looks one ahead")
    clauses = {condition.clause(inputs.unit), condition.clause(inputs.unit, True)}
    _require(len(clauses) == 2, "the clause says whether it is negated", clauses)
    for given in (condition, ~condition):
        _check_constraint(expect("a", given=given).about(0.5), "condition", condition.to_document())


def check_event(event: Event, classes: Sequence[Any], n_sequences: int = 20, seed: int = 0) -> None:
    """Raise ``AssertionError`` at the first law that an event breaks with these classes.

    - it has tables or a statistic, of the right shape, finite and not negative;
    - the tables of a share hold only 0 and 1, and together at most 1 at any token of a longer sequence (or document);
    - a statistic counts a finite number in every sequence, between its ``least`` and ``most``, and ``change`` agrees;
    - the labels that it names are among the classes;
    - its sentence is one line, it equals itself after a round trip through TOML and through pickle, and the JSON schema
      knows its key.

    Write ``check_event(MyEvent(...), ["a", "b", "c"])`` in the tests of a new event.
    """
    _require(isinstance(event, Event), "it is a tiltfit.Event", event)
    try:
        ConstraintSet((expect.event(event).at_most(1),)).check_labels(classes)
        statistic = event.statistic(classes)
        tables = event.tables(classes) if statistic is None else []
        if statistic is not None:
            check_statistic(statistic, len(classes), n_sequences=n_sequences, seed=seed)
        else:
            event.terms(classes, Chains(np.array([0, 3]), np.zeros(3, dtype=np.int32), n_kinds=1))
            if not event.is_sequence:
                event.terms(classes, Independent(1))
    except TiltfitError as error:
        raise AssertionError(f"{event!r}: {error}") from error
    _require((statistic is not None) == event.whole, "whole says whether there is a statistic", event.whole)
    _require(event.counts or not event.whole, "a statistic is counted", event.counts)
    for place, table in tables:
        shape = (len(classes),) * (2 if place == "edge" else 1)
        _require(place in PLACES and table.shape == shape, f"the table has the shape {shape}", place, table.shape)
        inside = np.all(np.isfinite(table) & (table >= 0) & (event.counts | (table == 0) | (table == 1)))
        _require(bool(inside), "the table is finite and not negative, of a share only 0 and 1", table)
    _check_constraint(expect.event(event).at_most(0.5), "constraint", event.to_document())


def _check_constraint(constraint: Constraint, where: str, document: dict[str, object]) -> None:
    said = ConstraintSet((constraint,))
    _require(ConstraintSet.from_toml(said.to_toml()) == said, "it equals itself after TOML", said.to_toml())
    _require(pickle.loads(pickle.dumps(said)) == said, "it equals itself after pickle")
    for unit in ("documents", "tokens"):
        sentence = describe(constraint, unit)
        _require(bool(sentence.strip()) and "\n" not in sentence, "its sentence is one line", sentence)
    defined = constraint_schema()["$defs"][where]
    known = {key for one in defined.get("oneOf", [defined]) for key in one["properties"]}
    _require(document.keys() <= known, "the JSON schema knows its keys", document)


def _require(law: bool, what: str, *seen: object) -> None:
    if not law:
        raise AssertionError(f"{what}: does not hold{f' (seen {seen})' if seen else ''}.")
