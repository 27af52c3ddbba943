from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.language.strategies import constraints

from tiltfit.errors import ConflictError, ConstraintError, TiltfitWarning, UnknownLabelError
from tiltfit.language.conditions import column, punctuation, word
from tiltfit.language.constraint import Constraint, ConstraintSet
from tiltfit.language.events import Labels
from tiltfit.language.expect import expect
from tiltfit.language.relations import About, AtLeast, AtMost, Between, Exactly

puck, bat = word("puck"), word("bat")


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(constraints())
def test_constraints_can_be_copied_and_pickled(constraint: Constraint) -> None:
    assert copy.deepcopy(constraint) == constraint
    assert pickle.loads(pickle.dumps(constraint)) == constraint


def test_title_is_the_name_or_the_sentence() -> None:
    assert expect("a").about(0.5, name="half").title == "half"
    assert expect("a").about(0.5).title == "about 50% of documents are a"


def test_equality_is_exact() -> None:
    assert expect(1).about(0.5) != expect(True).about(0.5)
    assert expect("a").about(1) == expect("a").about(1.0)
    assert expect("a").about(0.5, beta=1) == expect("a").about(0.5, beta=1.0)
    assert expect("a").about(0.5) != expect("a").about(0.5, name="x")
    assert expect("a", per="instance").about(0.5) != expect("a", per="sequence").about(0.5)
    assert len({expect("a", "b").about(0.5), expect("b", "a").about(0.5)}) == 1


BAD = {
    "share above one": (lambda: expect("a").about(1.7), r"expect\('a'\)\.about\(1\.7\): 1\.7 is not a share"),
    "percent for a share": (lambda: expect("a").at_least(90), r"Write 0\.9 for 90%"),
    "negative share": (lambda: expect("a").about(-0.1), "cannot be negative"),
    "share of transitions": (lambda: expect.stay().at_most(2), "not a share"),
    "upper bound above one": (lambda: expect.start("a").between(0.5, 1.5), "not a share"),
    "share of segments": (
        lambda: expect.segments("a", given=punctuation, of=expect.segments("a")).at_most(2),
        "not a share",
    ),
    "negative count": (lambda: expect.segments("a").at_least(-1), "a count cannot be negative"),
    "lo > hi": (lambda: expect("a").between(0.9, 0.1), "the lower bound comes first"),
    "NaN": (lambda: expect("a").about(float("nan")), "must be finite"),
    "no label": (lambda: expect(given=puck).about(0.5), "names no label"),
    "labels and a distribution": (lambda: expect("a").distributed_as({"a": 1}), r"write expect\(given="),
    "a sequence event and a distribution": (lambda: expect.stay().distributed_as({"a": 1}), "names the labels itself"),
    "of with a distribution": (lambda: expect(of=expect("a")).distributed_as({"a": 1}), "takes no of="),
    "sum": (lambda: expect().distributed_as({"a": 0.5}), "must sum to 1"),
    "zero beta": (lambda: expect("a").about(0.5, beta=0), "beta must be positive"),
    "infinite beta": (lambda: expect("a").about(0.5, beta=float("inf")), "beta must be finite"),
    "zero within": (lambda: expect("a").about(0.5, within=0), r"within must be positive, but is 0.*exactly"),
    "negative within": (lambda: expect("a").about(0.5, within=-0.1), "within must be positive"),
    "NaN within": (lambda: expect("a").about(0.5, within=float("nan")), "within must be finite"),
    "infinite within": (lambda: expect.segments("a").about(2, within=float("inf")), "within must be finite"),
    "bool within": (lambda: expect("a").about(0.5, within=True), "within must be a number, but is True"),
    "text within": (lambda: expect("a").about(0.5, within="5%"), "within must be a number, but is '5%'"),
    "tiny within": (lambda: expect("a").about(0.5, within=1e-200), "within=1e-200 is too small"),
    "huge within": (lambda: expect.segments("a").about(2, within=1e200), "too large"),
    "within of all": (lambda: expect("a").about(0.5, within=1), r"within=1 does not limit a share.*write 0\.01 for 1"),
    "points for a share": (lambda: expect("a").about(0.5, within=5), r"write 0\.05 for 5 points"),
    "within of a share of segments": (
        lambda: expect.segments("a", given=punctuation, of=expect.segments("a")).about(0.5, within=2),
        "does not limit a share",
    ),
    "within and beta": (lambda: expect("a").about(0.5, within=0.1, beta=0.01), "within= and beta= both say how soft"),
    "within of a distribution": (
        lambda: expect().distributed_as({"a": 1}, within=0.1),
        r"distributed_as\(...\) takes no within=.*Use beta=",
    ),
    "negative slack": (lambda: expect("a").exactly(0.5, slack=-1), "slack must not be negative"),
    "slack on a soft relation": (
        lambda: Constraint(Labels(("a",)), About(0.5), slack=1.0),
        "slack softens between, at_least",
    ),
    "scope": (lambda: expect("a", per="document").about(0.5), "per='document' is unknown"),
    "scope of no kind": (lambda: expect("a", per=3).about(0.5), "per=3 is unknown"),
    "part": (lambda: expect("a", on="labelled").about(0.5), "on='labelled' is unknown"),
    "text for a condition": (lambda: expect("a", given="puck"), r"write word\('puck'\)"),
    "column for a condition": (lambda: expect("a", given=column("x")), "not a condition yet"),
    "number for a condition": (lambda: expect("a", given=3), "given must be a condition"),
    "of of no kind": (lambda: expect.stay(of="change"), "of must be an event"),
    "constraint for of": (lambda: expect.stay(of=expect.change().about(0.5)), "of must be an event"),
    "of with a scope": (lambda: expect.stay(of=expect.change(per="sequence")), "can only say an event and given="),
    "of without a label": (lambda: expect("a", of=expect()).about(0.5), "of= names no label"),
    "share of itself": (lambda: expect("a", of=expect("a")).about(0.5), "always 1"),
    "share of itself, given": (lambda: expect("a", of=expect("a", given=puck)).about(0.5), "always 1"),
    "other labels": (lambda: expect("a", of=expect("b")).about(0.5), "must include those of the event"),
    "statistic of": (lambda: expect.stay(of=expect.statistic("n")).about(0.5), "no instances"),
    "empty name": (lambda: expect("a").about(0.5, name=""), "must not be empty"),
    "number for a name": (lambda: expect("a").about(0.5, name=3), "must be a string"),
    "number for a rationale": (lambda: expect("a").about(0.5, rationale=3), "must be a string"),
    "list of labels": (lambda: expect(["a", "b"]), "one by one"),
    "start of nothing": (expect.start, "names no label"),
    "nothing": (lambda: Constraint("a", 0.5), "needs an event and a relation"),
}


@pytest.mark.parametrize(("make", "message"), BAD.values(), ids=BAD.keys())
def test_bad_constraints(make, message) -> None:
    with pytest.raises(ConstraintError, match=message):
        make()


def test_counts_may_exceed_one() -> None:
    expect.segments("a").at_most(3)
    expect.repeats().between(1, 2)
    expect.statistic("n").about(1e6)
    expect.segments("a").about(3, within=1.5)


def test_beta_on_a_hard_relation_is_not_silent() -> None:
    with pytest.warns(TiltfitWarning, match="slack= softens it") as caught:
        expect("a").at_most(0.5, beta=1)
    assert caught[0].filename == __file__


def test_where_combines_both_conditions() -> None:
    bat = word("bat")
    assert expect("a").about(0.5).where is None
    assert expect("a", given=puck).about(0.5).where == puck
    assert expect("a", given=puck, of=expect("a", given=bat)).about(0.5).where == bat & puck


def test_what_makes_a_constraint_one_of_sequences() -> None:
    assert not expect("a", given=puck, per="instance").about(0.5).is_sequence
    for constraint in (
        expect.stay().about(0.5),
        expect("a", given=punctuation).about(0.5),
        expect("a", per="sequence").about(0.5),
        expect("a", of=expect("a", "b", given=punctuation)).about(0.5),
    ):
        assert constraint.is_sequence


def test_sets_are_sequences() -> None:
    items = [expect("a").about(0.5), expect("b").at_least(0.1)]
    found = ConstraintSet.of(items)
    assert list(found) == items
    assert len(found) == 2
    assert found[1] == items[1]
    assert found[:1] == ConstraintSet.of(items[0])
    assert items[1] in found
    assert ConstraintSet.of(found) is found
    assert ConstraintSet.of(iter(items)) == found
    assert ConstraintSet.of(()) == ConstraintSet()
    assert found != ConstraintSet.of(items[::-1])
    assert copy.deepcopy(found) == found
    assert str(found) == "about 50% of documents are a\nat least 10% of documents are b"
    assert eval(repr(found), {"ConstraintSet": ConstraintSet, "expect": expect}) == found


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ([expect("hockey")], r"expect\('hockey'\) is unfinished: .* Add about"),
        (expect("hockey"), "is unfinished"),
        (["puck"], "'puck' is not a constraint"),
        (3, "3 is not a constraint"),
        (None, "None is not a constraint"),
    ],
)
def test_what_is_no_constraint(source, message) -> None:
    with pytest.raises(ConstraintError, match=message):
        ConstraintSet.of(source)


def test_duplicate_names() -> None:
    with pytest.raises(ConstraintError, match="2 constraints have the name 'x'"):
        ConstraintSet((expect("a").about(0.5, name="x"), expect("b").about(0.5, name="x")))


def test_unknown_labels() -> None:
    constraints = ConstraintSet((expect("hokcey", given=puck).about(0.9, name="p"),))
    with pytest.raises(UnknownLabelError, match=r"'p' names the label 'hokcey'.*Did you mean \"hockey\""):
        constraints.check_labels(["hockey", "baseball"])
    with pytest.raises(UnknownLabelError):
        constraints.with_classes(["hockey", "baseball"])
    for constraint in (
        expect().distributed_as({"x": 1}),
        expect.transition("a", "x").about(0.5),
        expect.repeats("x").about(0.5),
        expect.stay(of=expect.start("x")).about(0.5),
        expect(1).about(0.5),
    ):
        with pytest.raises(UnknownLabelError):
            ConstraintSet((constraint,)).check_labels(["a", "b", True])


@pytest.mark.parametrize(("classes", "message"), [((), "is empty"), (("a", "a"), "twice")])
def test_bad_classes(classes, message) -> None:
    with pytest.raises(ConstraintError, match=message):
        ConstraintSet((), classes)


# Hard constraints that cannot hold together are named before any data are seen.


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
