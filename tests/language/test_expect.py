from __future__ import annotations

import pytest

import tiltfit
from tiltfit.language.conditions import Column, column, punctuation, word
from tiltfit.language.constraint import Among, Constraint
from tiltfit.language.events import Change, End, Labels, Repeats, Segments, Start, Statistic, Stay, Transition
from tiltfit.language.expect import expect
from tiltfit.language.relations import About, AtLeast, AtMost, Between, DistributedAs, Exactly


def test_relations() -> None:
    e = expect("a")
    assert e.about(0.5, penalty="l1", beta=0.1) == Constraint(Labels(("a",)), About(0.5, "l1"), beta=0.1)
    assert e.between(0.1, 0.2, slack=1).relation == Between(0.1, 0.2)
    assert e.at_least(0.1, name="n", rationale="r") == Constraint(Labels(("a",)), AtLeast(0.1), name="n", rationale="r")
    assert e.at_most(0.1).relation == AtMost(0.1)
    assert e.exactly(0.1).relation == Exactly(0.1)
    assert expect().distributed_as({"a": 0.5, "b": 0.5}).relation == DistributedAs((("a", 0.5), ("b", 0.5)))


@pytest.mark.parametrize(
    ("expectation", "event", "code"),
    [
        (expect("a", 1), Labels(("a", 1)), "expect('a', 1)"),
        (expect.stay(), Stay(), "expect.stay()"),
        (expect.change(), Change(), "expect.change()"),
        (expect.transition("a", "b"), Transition("a", "b"), "expect.transition('a', 'b')"),
        (expect.start("a"), Start(("a",)), "expect.start('a')"),
        (expect.end("a", "b"), End(("a", "b")), "expect.end('a', 'b')"),
        (expect.segments("a"), Segments("a"), "expect.segments('a')"),
        (expect.repeats(), Repeats(), "expect.repeats()"),
        (expect.repeats("a"), Repeats(("a",)), "expect.repeats('a')"),
        (expect.statistic("n"), Statistic("n"), "expect.statistic('n')"),
        (
            expect.before("a", "b"),
            Statistic("before", (("first", "a"), ("then", "b"))),
            "expect.statistic('before', options={'first': 'a', 'then': 'b'})",
        ),
        (
            expect.appears("a", "b"),
            Statistic("appears", (("labels", ("a", "b")),)),
            "expect.statistic('appears', options={'labels': ('a', 'b')})",
        ),
        (expect.distinct(), Statistic("distinct"), "expect.statistic('distinct')"),
        (
            expect.short("a", below=3),
            Statistic("short", (("below", 3), ("labels", ("a",)))),
            "expect.statistic('short', options={'below': 3, 'labels': ('a',)})",
        ),
    ],
)
def test_events(expectation, event, code) -> None:
    assert expectation.event == event
    assert repr(expectation) == code
    assert repr(expectation.about(0.5)) == f"{code}.about(0.5)"


def test_scope() -> None:
    found = expect.change(given=punctuation.before, of=expect.change(), per=column("c"), on="all").at_least(0.9)
    assert found.given == punctuation.before
    assert found.of == Among(Change())
    assert found.per == Column("c")
    assert found.on == "all"
    assert repr(found) == (
        "expect.change(given=punctuation.before, of=expect.change(), per=column('c'), on='all').at_least(0.9)"
    )


def test_repr_of_a_constraint() -> None:
    code = "expect('hockey', given=word('puck')).about(0.9)"
    assert repr(expect("hockey", given=word("puck")).about(0.9)) == code
    assert repr(expect.segments("j").at_most(1.0)) == "expect.segments('j').at_most(1)"
    assert repr(expect) == "expect"


def test_a_misspelt_argument_is_refused() -> None:
    with pytest.raises(TypeError):
        expect("a", givn=word("x"))  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        expect.stay(givn=word("x"))  # type: ignore[call-arg]


def test_public_names() -> None:
    for name in ("expect", "word", "phrase", "regex", "column", "feature", "when", "punctuation", "first", "last"):
        assert getattr(tiltfit, name) is not None
    assert tiltfit.Constraint is Constraint
