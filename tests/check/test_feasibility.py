"""Conflicts, relaxations and implications against enumeration of every labelling."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from tiltfit import Constraint, ConstraintSet, TiltTagger, column, expect, word
from tiltfit.check import feasibility
from tiltfit.check.check import Check
from tiltfit.check.feasibility import Change
from tiltfit.check.programme import Programme, Statement, statements_of
from tiltfit.check.support import Data
from tiltfit.errors import ConflictError

CLASSES = ("a", "b", "c")
WORDS = ("u", "v", "w")


def relaxed_by(statements: Sequence[Statement], changes: Sequence[Change]) -> list[Statement]:
    """The hard statements with the relations that would do."""
    ends = {change.number: change.interval for change in changes}
    hard = [s for s in statements if s.hard]
    return [replace(s, low=ends[s.number][0], high=ends[s.number][1]) if s.number in ends else s for s in hard]


def check(constraints: Sequence[Constraint], texts: list[str], y: object = None) -> Check:
    return ConstraintSet(tuple(constraints), CLASSES).check(texts, y)


def share(constraint: Constraint, texts: list[str], labels: Sequence[str]) -> float:
    """Of the texts with the constraint's word, those that have one of its labels."""
    words = [] if constraint.given is None else constraint.given.words
    return float(
        np.mean([y in constraint.event.names for t, y in zip(texts, labels, strict=True) if {*words} <= {*t.split()}])
    )


def least_total(constraints: Sequence[Constraint], texts: list[str]) -> float:
    """The smallest sum of slacks over mixtures of all labellings of all texts. It knows nothing of patterns: every
    labelling is a point, and some point of their convex hull must come as near to the box as can be."""
    every = itertools.product(CLASSES, repeat=len(texts))
    points = np.array([[share(c, texts, labels) for c in constraints] for labels in every])
    n, k = points.shape
    rows, ends = [], []
    for j, c in enumerate(constraints):
        for sign, end in zip((-1.0, 1.0), c.relation.interval, strict=True):
            if math.isfinite(end):
                slack = np.zeros(2 * k)
                slack[2 * j + (sign > 0)] = -1
                rows.append(np.concatenate([sign * points[:, j], slack]))
                ends.append(sign * end)
    cost, mixture = np.arange(n + 2 * k) >= n, np.arange(n + 2 * k) < n
    total = linprog(cost.astype(float), np.array(rows), ends, mixture[None].astype(float), [1.0]).fun
    assert total is not None
    return float(total)


def possible(constraints: Sequence[Constraint], texts: list[str]) -> bool:
    return least_total(constraints, texts) <= 1e-6


@st.composite
def problems(draw: st.DrawFn) -> tuple[list[str], list[Constraint]]:
    words = draw(st.lists(st.sets(st.sampled_from(WORDS)), min_size=1, max_size=5))
    texts = [" ".join(sorted(some)) for some in words]
    there = [w for w in WORDS if any(w in t.split() for t in texts)]
    constraints = []
    for k in range(draw(st.integers(1, 5))):
        labels = draw(st.sets(st.sampled_from(CLASSES), min_size=1, max_size=2))
        condition = word(draw(st.sampled_from(there))) if bool(there) and draw(st.booleans()) else None
        event = expect(*sorted(labels), given=condition)
        share = draw(st.integers(0, 20)) / 20
        low, high = sorted([share, draw(st.integers(0, 20)) / 20])
        stated = [
            event.at_least(share, name=str(k)),
            event.at_most(share, name=str(k)),
            event.between(low, high, name=str(k)),
        ]
        constraints.append(stated[draw(st.integers(0, 2))])
    return texts, constraints


def consistent(constraints: Sequence[Constraint]) -> bool:
    """Whether the language itself takes them: two that contradict each other whatever the data are refused earlier."""
    try:
        ConstraintSet(tuple(constraints), CLASSES)
    except ValueError:
        return False
    return True


@settings(max_examples=60, deadline=None)
@given(problems())
def test_conflicts_are_those_of_enumeration(problem: tuple[list[str], list[Constraint]]) -> None:
    texts, constraints = problem
    if not consistent(constraints):
        return
    found = check(constraints, texts)
    assert found.is_valid == possible(constraints, texts)
    for core in found.feasibility.conflicts:
        inside = [constraints[k] for k in core]
        assert not possible(inside, texts)
        for left_out in inside:
            rest = [c for c in inside if c is not left_out]
            assert not rest or possible(rest, texts)


@settings(max_examples=60, deadline=None)
@given(problems())
def test_relaxation_is_enough_and_no_smaller_one_is(problem: tuple[list[str], list[Constraint]]) -> None:
    texts, constraints = problem
    if not consistent(constraints):
        return
    found = check(constraints, texts).feasibility
    said = ConstraintSet(tuple(constraints), CLASSES)
    data = Data.of(said, texts)
    statements = statements_of(said, data, tuple(range(len(said))))
    softer = relaxed_by(statements, found.relaxation)
    assert Programme.of(softer, None).is_feasible(range(len(softer)))
    if found.relaxation:
        total = sum(change.by for change in found.relaxation)
        assert total == pytest.approx(least_total(constraints, texts), abs=1e-6)


@settings(max_examples=60, deadline=None)
@given(problems())
def test_what_is_implied_changes_nothing(problem: tuple[list[str], list[Constraint]]) -> None:
    texts, constraints = problem
    if not consistent(constraints) or not possible(constraints, texts):
        return
    found = check(constraints, texts)
    gone = {implied.number for implied in found.implied}
    kept = [c for k, c in enumerate(constraints) if k not in gone]
    for k, c in enumerate(constraints):
        low, high = c.relation.interval
        event = expect(*c.event.names, given=c.given)
        beyond = [event.at_most(low - 0.001)] if low > 0.001 else []
        beyond += [event.at_least(high + 0.001)] if high < 0.999 else []
        others = kept if k in gone else [other for other in kept if other is not c]
        assert (k not in gone) == any(possible([*others, b], texts) for b in beyond)


def test_only_those_that_conflict_are_named() -> None:
    texts = ["u", "v", "u v", "w"]
    said = [
        expect("a", given=word("u")).at_least(0.9, name="first"),
        expect("b", given=word("v")).at_least(0.9, name="second"),
        expect("c", given=word("w")).at_least(0.9, name="apart"),
    ]
    found = check(said, texts)
    assert found.feasibility.conflicts == ((0, 1),)
    assert found.problems == ("'first' and 'second' cannot both hold on these data.",)
    # Of u 0.9·2 − 1 = 0.8 of the shared text is a at least, of v as much b. Which of them gives way is open.
    assert sum(change.by for change in found.feasibility.relaxation) == pytest.approx(0.3)
    assert {change.number for change in found.feasibility.relaxation} <= {0, 1}


def test_three_that_hold_in_pairs_but_not_together() -> None:
    said = [expect(label, given=word("u")).at_least(0.4, name=label) for label in CLASSES]
    found = check(said, ["u", "u", "v"])
    assert found.problems == ("'a', 'b' and 'c' cannot all hold on these data.",)
    assert sum(change.by for change in found.feasibility.relaxation) == pytest.approx(0.2)


def test_several_conflicts_are_told_one_by_one() -> None:
    texts = ["u", "v", "w"]
    said = [
        expect("a", given=word("u")).at_least(0.9),
        expect("a").at_most(0.2),
        expect("b", given=word("v")).at_least(0.9),
        expect("b").at_most(0.1),
    ]
    assert sorted(check(said, texts).feasibility.conflicts) == [(0, 1), (2, 3)]


def test_each_document_and_groups() -> None:
    texts = {"text": np.array(["u", "u v", "v"]), "county": np.array(["x", "x", "y"])}
    said = ConstraintSet(
        (
            expect("a", given=word("u"), per="instance").at_least(0.6, name="each"),
            expect("b", given=word("v")).at_least(0.8, name="b"),
        ),
        CLASSES,
    )
    (change,) = said.check(texts).feasibility.relaxation
    assert change.by == pytest.approx(0.1)  # the shared document is b with 0.4 at most: (0.4 + 1)/2 = 0.7
    grouped = ConstraintSet(
        (expect("a", per=column("county")).at_least(0.6), expect("a").at_most(0.5, name="most")), CLASSES
    )
    found = grouped.check(texts)
    assert found.feasibility.conflicts == ((0, 1),)
    one_group = ConstraintSet(
        (expect("a", per=column("county")).at_least(0.6), expect("a", given=word("u")).at_most(0.6)), CLASSES
    )
    assert one_group.check(texts).is_valid


def test_known_labels_count_where_they_are_asked_for() -> None:
    texts, y = ["u", "u", "u", "u"], ["a", "a", "a", None]
    most = expect("a", given=word("u")).at_most(0.5, name="most")
    every = expect("a", given=word("u"), on="all").at_most(0.5, name="every")
    assert check([most], texts, y).is_valid
    found = check([every], texts, y)
    assert found.problems == ("'every' cannot hold on these data.",)
    assert [c.to for c in found.feasibility.relaxation] == ["at most 75%"]
    assert check([most], texts, ["a"] * 4).is_valid  # all is known: checked as if nothing were


def test_sets_in_y_leave_less_room() -> None:
    said = [expect("a", given=word("u")).at_least(0.9)]
    assert check(said, ["u", "u"], [{"a", "b"}, None]).is_valid
    assert not check(said, ["u", "u"], [{"b", "c"}, None]).is_valid


def test_soft_targets_that_cannot_all_be_met() -> None:
    texts = ["u v", "u v", "w"]
    said = [expect("a", given=word("u")).about(0.9, name="a"), expect("b", given=word("v")).about(0.9, name="b")]
    tension = check(said, texts).feasibility.tension
    assert sum(change.by for change in tension) == pytest.approx(0.8)
    assert check([said[0], expect("b", given=word("v")).about(0.1)], texts).feasibility.tension == ()
    spread = expect(given=word("u")).distributed_as([("a", 0.5), ("b", 0.5)])
    (first, *_) = check([spread, expect("c", given=word("u")).at_least(0.8)], texts).feasibility.tension
    assert first.said == "50% a and 50% b"


def test_soft_constraints_said_twice() -> None:
    said = [
        expect("a", given=word("u")).about(0.9),
        expect("b", "c", given=word("u")).about(0.1),
        expect("a").about(0.9),
    ]
    (repeated,) = check(said, ["u", "v"]).implied
    assert (repeated.number, repeated.by, repeated.soft) == (1, (0,), True)


def test_too_large_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feasibility, "MOST", 3)
    found = check([expect("a", given=word("u")).at_least(0.9), expect("a").at_most(0.1)], ["u", "v"])
    assert found.feasibility.skipped is not None
    assert "Conflicts were not looked for: 2 different combinations" in str(found)


def test_tokens_and_what_is_not_covered() -> None:
    said = ConstraintSet(
        (
            expect.start("a").at_most(0.1, name="start"),
            expect("a", given=word("u"), per="sequence").at_least(0.8, name="u"),
            expect.stay().at_least(0.9, name="stay"),
        ),
        CLASSES,
    )
    found = said.check([["u", "v"], ["u"], ["w", "u", "u"]])
    assert found.feasibility.conflicts == ((0, 1),)
    assert found.not_covered == (2,)
    assert "Looked at one by one, not for conflicts with others" in str(found)


@pytest.mark.parametrize(
    ("said", "labels"),
    [
        (expect.segments("a", per="sequence").at_least(2, name="two"), None),
        (expect.segments("a", per="sequence").at_least(2, name="two"), [["a", "b"], None, None]),
        (expect.segments("a").at_least(1.5, name="many"), None),
        (expect.appears("a", per="sequence", on="all").at_least(0.5, name="appears"), [None, ["b"], None]),
    ],
)
def test_what_cannot_hold_by_itself_is_found_whatever_it_speaks_of(said: Constraint, labels: object) -> None:
    tokens = [["u", "v"], ["u"], ["w", "u", "u"]]
    with pytest.raises(ConflictError) as refused:
        TiltTagger([said], classes=["a", "b"]).fit(tokens, labels)
    found = ConstraintSet((said,), CLASSES[:2]).check(tokens, labels)
    assert found.errors == (str(refused.value),)
    assert not found.is_valid
