"""Hard constraints that cannot hold together are named before any data are seen."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tiltfit.errors import ConflictError
from tiltfit.language.conditions import punctuation, word
from tiltfit.language.constraint import Constraint, ConstraintSet
from tiltfit.language.expect import expect
from tiltfit.language.relations import AtLeast, AtMost, Between, Exactly

puck, bat = word("puck"), word("bat")


def test_both_are_named_with_their_ranges() -> None:
    with pytest.raises(ConflictError) as caught:
        ConstraintSet((expect("a", given=puck).at_least(0.7, name="high"), expect("a", given=puck).at_most(0.6)))
    message = str(caught.value)
    assert "'high' (at least 70%)" in message
    assert "'at most 60% of documents with the word \"puck\" are a' (at most 60%)" in message
    assert "slack=" in message


CONFLICTS = [
    ([expect("a").between(0.1, 0.2), expect("a").between(0.3, 0.4)], None, "the same thing"),
    ([expect("a", "b").exactly(0.2), expect("b", "a").exactly(0.3)], None, "the same thing"),
    ([expect("a", given=puck & bat).at_least(0.3), expect("a", given=bat & puck).at_most(0.2)], None, "same thing"),
    ([expect("a").at_least(0.7), expect("b").at_least(0.4)], None, "more than 100%"),
    ([expect("a").at_least(0.7), expect("b").exactly(0.4)], "ab", "more than 100%"),
    ([expect("a").at_most(0.3), expect("b").at_most(0.6)], "ab", "always 100%"),
    ([expect("a").at_most(0.3), expect("b", "c").at_most(0.6)], "abc", "always 100%"),
    ([expect("a").at_least(0.7), expect("a", "b").at_most(0.6)], None, "the first is a part of the second"),
    ([expect("a", "b").at_most(0.6), expect("a").at_least(0.7)], None, "the second is a part of the first"),
    ([expect("a", "b").at_most(0.9)], "ab", "all classes"),
    ([expect.stay().at_least(0.7), expect.change().at_least(0.4)], None, "more than 100%"),
    ([expect.stay().at_most(0.3), expect.change().at_most(0.4)], None, "always 100%"),
    ([expect.transition("a", "b").at_least(0.7), expect.transition("b", "a").at_least(0.4)], None, "more than"),
    ([expect.start("a").at_most(0.3), expect.start("b").at_most(0.3)], "ab", "always 100%"),
    ([expect.segments("a").at_least(3), expect.segments("a").at_most(2)], None, "at least 3"),
    (
        [
            expect.change(given=punctuation, of=expect.change()).at_least(0.9),
            expect.change(given=punctuation, of=expect.change()).at_most(0.8),
        ],
        None,
        "same thing",
    ),
]


@pytest.mark.parametrize(("constraints", "classes", "message"), CONFLICTS)
def test_conflicts(constraints: list[Constraint], classes: str | None, message: str) -> None:
    with pytest.raises(ConflictError, match=message):
        ConstraintSet(tuple(constraints), None if classes is None else tuple(classes))


FINE = [
    ([expect("a").at_least(0.7), expect("a", given=puck).at_most(0.6)], "ab"),
    ([expect("a").at_least(0.7), expect("a", on="all").at_most(0.6)], "ab"),
    ([expect("a").at_least(0.7), expect("a", per="instance").at_most(0.6)], "ab"),
    ([expect("a").at_least(0.7), expect("a").about(0.6)], "ab"),
    ([expect("a").at_least(0.7), expect("a").at_most(0.6, slack=0.1)], "ab"),
    ([expect("a").at_least(0.7), expect("a").at_most(0.7)], "ab"),
    ([expect("a").at_least(0.7), expect("b").at_least(0.3)], "ab"),
    ([expect("a").at_most(0.3), expect("b").at_most(0.6)], None),
    ([expect("a").at_most(0.3), expect("b").at_most(0.6)], "abc"),
    ([expect("a", "b").exactly(1)], "ab"),
    ([expect(1).at_least(0.7), expect(True).at_most(0.2)], None),
    ([expect.segments("a").at_least(3), expect.segments("b").at_least(2)], None),
    ([expect.start("a").at_least(0.9), expect.end("a").at_most(0.1)], None),
    (
        [
            expect("a", given=puck, of=expect("a", "b")).at_most(0.1),
            expect("b", given=puck, of=expect("a", "b")).at_most(0.1),
        ],
        "ab",
    ),
]


@pytest.mark.parametrize(("constraints", "classes"), FINE)
def test_what_can_hold_together(constraints: list[Constraint], classes: str | None) -> None:
    ConstraintSet(tuple(constraints), None if classes is None else tuple(classes))


tenths = st.integers(0, 10).map(lambda k: k / 10)
hard = st.one_of(
    tenths.map(AtLeast),
    tenths.map(AtMost),
    tenths.map(Exactly),
    st.tuples(tenths, tenths).map(lambda p: Between(*sorted(p))),
)
events = st.sets(st.sampled_from("abc"), min_size=1).map(lambda s: expect(*sorted(s)).event)


# Every distribution over three classes in steps of a twentieth: as fine as a corner of two such constraints gets.
SIMPLEX = np.array([(i, j, 20 - i - j) for i in range(21) for j in range(21 - i)]) / 20


@settings(max_examples=200, deadline=None)
@given(st.tuples(st.builds(Constraint, events, hard), st.builds(Constraint, events, hard)))
def test_two_shares_conflict_exactly_when_no_distribution_has_them(pair: tuple[Constraint, Constraint]) -> None:
    held = np.ones(len(SIMPLEX), dtype=np.bool_)
    for constraint in pair:
        share = SIMPLEX @ [float(name in constraint.event.names) for name in "abc"]
        low, high = constraint.relation.interval
        held &= (share >= low - 1e-9) & (share <= high + 1e-9)
    if held.any():
        ConstraintSet(pair, ("a", "b", "c"))
    else:
        with pytest.raises(ConflictError):
            ConstraintSet(pair, ("a", "b", "c"))
