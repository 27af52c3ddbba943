"""Every way to state one constraint: scopes × relations, each said twice, to the library and to the oracle.

A scope is an event and where it is looked at; a relation is what is expected of it, and becomes a penalty.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from tests.oracles.sequences import Said, begins, changes, rows, same_label
from tests.oracles.tiny import DOCUMENTS, SEQUENCES, Tiny
from tests.oracles.whole_projection import Counted, repeats

from tiltfit import column, expect, word
from tiltfit.language.constraint import Constraint
from tiltfit.language.relations import DistributedAs

NAME = "the one"


@dataclass(frozen=True)
class Numbers:
    """Targets that can hold: a middle one, bounds that pull, and the ends of an interval."""

    target: float = 0.8
    least: float = 0.8
    most: float = 0.2
    low: float = 0.6
    high: float = 0.7


RELATIONS: dict[str, Callable[[Any, Numbers, Sequence[str]], Constraint]] = {
    "about": lambda e, n, _: e.about(n.target, name=NAME),
    "about-l1": lambda e, n, _: e.about(n.target, penalty="l1", name=NAME),
    "about-support": lambda e, n, _: e.about(n.target, name=NAME),
    "at_least": lambda e, n, _: e.at_least(n.least, name=NAME),
    "at_most": lambda e, n, _: e.at_most(n.most, name=NAME),
    "between": lambda e, n, _: e.between(n.low, n.high, name=NAME),
    "exactly": lambda e, n, _: e.exactly(n.target, name=NAME),
    "at_least-slack": lambda e, n, _: e.at_least(n.least, slack=0.05, name=NAME),
    "at_most-slack": lambda e, n, _: e.at_most(n.most, slack=0.05, name=NAME),
    "between-slack": lambda e, n, _: e.between(n.low, n.high, slack=0.05, name=NAME),
    "exactly-slack": lambda e, n, _: e.exactly(n.target, slack=0.05, name=NAME),
    "never": lambda e, n, _: e.at_most(0, name=NAME),
    "always": lambda e, n, _: e.at_least(1, name=NAME),
    "distributed_as": lambda e, n, classes: e.distributed_as(
        {"a": 0.7, "b": 0.2, "c": 0.1} if len(classes) > 2 else {"a": 0.7, "b": 0.3}, name=NAME
    ),
}


def scale_of(relation: str) -> str:
    return "support" if relation.endswith("-support") else "unit"


def _label(y: Sequence[str], t: int) -> bool:
    return y[t] == "a"


_KEY = {**dict.fromkeys(DOCUMENTS, "puck"), **dict.fromkeys(SEQUENCES, "x")}


def _given(world: Tiny):
    return column("puck").above(0) if world.model in DOCUMENTS else word("x")


def _fires(world: Tiny):
    key = _KEY[world.model]
    return lambda x, t: key in x[t].split()


@dataclass(frozen=True)
class Scope:
    """``expectation`` and ``said``: the two ways to say it. ``documents``: whether it makes sense without sequences."""

    expectation: Callable[[Tiny, tuple[str, ...]], Any]
    said: Callable[[Tiny, Constraint], Said]
    numbers: Numbers = Numbers()
    documents: bool = True
    whole: bool = False


def _labels(**scope: Any):
    def expectation(world: Tiny, names: tuple[str, ...]):
        more = {key: value for key, value in scope.items() if key != "given"}
        return expect(*names, given=_given(world) if scope.get("given") else None, **more)

    return expectation


def _of_labels(given: bool, group: bool = False):
    def said(world: Tiny, constraint: Constraint) -> Said:
        fires = {"fires": _fires(world)} if given else {}
        return Said(constraint, happens=_label, group=world.columns["county"] if group else None, **fires)

    return said


_SHARES = expect.change  # a share of this event
_COUNTS = Numbers(1.1, 1.2, 0.6, 0.7, 0.9)
_RARE = Numbers(0.25, 0.3, 0.05, 0.1, 0.2)

SCOPES: dict[str, Scope] = {
    "given": Scope(_labels(given=True), _of_labels(True)),
    "share": Scope(_labels(), _of_labels(False)),
    "instance": Scope(_labels(given=True, per="instance"), _of_labels(True)),
    "column": Scope(_labels(given=True, per=column("county")), _of_labels(True, group=True)),
    "all": Scope(_labels(given=True, on="all"), _of_labels(True)),
    "stay": Scope(
        lambda w, _: expect.stay(),
        lambda w, c: Said(c, "edge", same_label),
        documents=False,
    ),
    "start": Scope(lambda w, _: expect.start("a"), lambda w, c: Said(c, "first", _label), documents=False),
    "of": Scope(
        lambda w, _: expect.change(given=word("x"), of=expect.change()),
        lambda w, c: Said(c, "edge", changes, lambda x, t: x[t] == "x", of=Said(c, "edge", changes)),
        documents=False,
    ),
    "segments": Scope(
        lambda w, _: expect.segments("a"),
        lambda w, c: Said(c, "segment", lambda y, t: begins(y, t, "a")),
        _COUNTS,
        documents=False,
    ),
    "segments-each": Scope(
        lambda w, _: expect.segments("a", per="sequence"),
        lambda w, c: Said(c, "segment", lambda y, t: begins(y, t, "a")),
        Numbers(0.8, 0.9, 0.6, 0.7, 0.8),
        documents=False,
    ),
    "repeats": Scope(
        lambda w, _: expect.repeats("a"), lambda w, c: Counted(c, number=repeats("a")), _RARE, False, True
    ),
    "repeats-column": Scope(
        lambda w, _: expect.repeats("a", per=column("county")),
        lambda w, c: Counted(c, number=repeats("a"), group=w.columns["county"]),
        Numbers(0.1, 0.12, 0.02, 0.04, 0.08),
        False,
        True,
    ),
}


@dataclass(frozen=True, eq=False)
class Statement:
    """One constraint on one world, as the library and as the oracle have it."""

    world: Tiny
    scope: str
    relation: str

    @property
    def constraint(self) -> Constraint:
        """Raises where the language itself refuses."""
        scope = SCOPES[self.scope]
        names = () if self.relation == "distributed_as" and self.scope in DOCUMENT_SCOPES else ("a",)
        return RELATIONS[self.relation](scope.expectation(self.world, names), scope.numbers, self.world.classes)

    @property
    def said(self) -> Said:
        return SCOPES[self.scope].said(self.world, self.constraint)

    @property
    def is_rule(self) -> bool:
        """Whether it rules labels out: a hard share of 0 or 1, or a count of none."""
        constraint = self.constraint
        if isinstance(constraint.relation, DistributedAs) or not constraint.is_hard:
            return False
        low, high = constraint.relation.interval
        counts = constraint.event.counts and constraint.of is None
        return high <= 0 or (low >= 1 and not counts)

    def banned(self, s: int, y: Sequence[str]) -> bool:
        said, (_, high) = self.said, self.constraint.relation.interval
        happened = said.count(self.world, s, y)
        if high <= 0:
            return happened > 0 if said.of is None else self._both(s, y) > 0
        possible = len(said.looked_at(self.world, s)) if said.of is None else said.of.count(self.world, s, y)
        return happened < possible

    def _both(self, s: int, y: Sequence[str]) -> int:
        said = self.said
        return sum(said.happens(y, t) and said.of.happens(y, t) for t in said.looked_at(self.world, s))

    def allowed(self, world: Tiny) -> list[np.ndarray]:
        """Labellings that agree with y and with the rule, if it is one."""
        if not self.is_rule:
            return [world.agrees(s) for s in range(world.n)]
        return [
            world.agrees(s) & ~np.array([self.banned(s, y) for y in world.labellings(s)])
            if world.undecided(s) else world.agrees(s)
            for s in range(world.n)
        ]  # fmt: skip

    def rows(self, world: Tiny):
        return [] if self.is_rule else rows(world, 0, self.said, scale_of(self.relation))


DOCUMENT_SCOPES = tuple(name for name, scope in SCOPES.items() if scope.documents)
