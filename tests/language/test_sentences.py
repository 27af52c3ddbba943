"""Sentences: each of these was read aloud."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from tests.language.strategies import constraints

from tiltfit.language.conditions import (
    column,
    feature,
    first,
    last,
    phrase,
    position,
    punctuation,
    regex,
    when,
    word,
)
from tiltfit.language.constraint import Constraint
from tiltfit.language.expect import expect
from tiltfit.language.sentences import describe

puck, stick = word("puck"), word("stick")

RELATIONS = [
    (expect("hockey", given=puck).about(0.9), 'about 90% of documents with the word "puck" are hockey'),
    (expect("hockey").about(1 / 3), "about 33.3% of documents are hockey"),
    (expect("hockey").about(0.005, penalty="l1"), "about 0.5% of documents are hockey"),
    (
        expect("hockey", given=puck).about(0.8, within=0.05),
        'about 80% (give or take 5 points) of documents with the word "puck" are hockey',
    ),
    (
        expect("hockey", per="instance").about(0.8, within=0.01),
        "each document is hockey with a probability of about 80% (give or take 1 point)",
    ),
    (
        expect.segments("journal").about(2, within=0.5),
        "a sequence has about 2 (give or take 0.5) segments of journal on average",
    ),
    (
        expect.change(given=punctuation.before, of=expect.change()).about(0.9, within=0.025, penalty="l1"),
        "of all field changes, about 90% (give or take 2.5 points) come after punctuation",
    ),
    (expect("baseball").between(0.7, 0.95), "between 70% and 95% of documents are baseball"),
    (expect("hockey").at_least(0.4), "at least 40% of documents are hockey"),
    (expect("hockey").at_most(0.999), "at most 99.9% of documents are hockey"),
    (expect("hockey").exactly(1), "exactly 100% of documents are hockey"),
    (
        expect(given=word("season")).distributed_as({"hockey": 0.5, "baseball": 0.5}),
        'documents with the word "season" are 50% hockey and 50% baseball',
    ),
    (expect().distributed_as({"a": 0.25, "b": 0.5, "c": 0.25}), "documents are 25% a, 50% b and 25% c"),
]

EVENTS = [
    (expect("author", "editor").about(0.1), "about 10% of documents are author or editor"),
    (expect("a", "b", "c").about(0.1), "about 10% of documents are a, b or c"),
    (expect(1).about(0.1), "about 10% of documents are 1"),
    (expect("").about(0.1), 'about 10% of documents are ""'),
    (expect("two\nlines").about(0.1), 'about 10% of documents are "two\\nlines"'),
    (expect.stay().about(0.9), "about 90% of transitions keep the label"),
    (
        expect.change(given=~punctuation.before).at_most(0.01),
        "at most 1% of transitions into tokens not after punctuation change the label",
    ),
    (expect.transition("a", "b").about(0.2), "about 20% of transitions go from a to b"),
    (expect.start("author", "editor").at_least(0.99), "at least 99% of sequences start with author or editor"),
    (
        expect.end("date", given=punctuation).at_least(0.5),
        "at least 50% of sequences whose last token is punctuation end with date",
    ),
    (
        expect.start("date", given=regex(r"\d")).at_least(0.5),
        'at least 50% of sequences whose first token is one matching "\\d" start with date',
    ),
    (expect.segments("journal").at_most(1), "a sequence has at most 1 segment of journal on average"),
    (expect.segments("journal").about(1.5), "a sequence has about 1.5 segments of journal on average"),
    (expect.segments("journal").between(0, 1), "a sequence has between 0 and 1 segments of journal on average"),
    (
        expect.segments("journal", given=punctuation.before).at_most(2),
        "a sequence has at most 2 segments of journal on average, counting only segments that start after punctuation",
    ),
    (expect.repeats().at_most(0.05), "a sequence has at most 0.05 repeats of any field on average"),
    (expect.repeats("a", "b").at_most(1), "a sequence has at most 1 repeat of a or b on average"),
    (expect.statistic("length").about(12), 'the statistic "length" of a sequence is about 12 on average'),
]

CONDITIONS = [
    (~puck, 'without the word "puck"'),
    (word("it", case=True), 'with the word "it" in exactly this case'),
    (word("It", case=False), 'with the word "It" in any case'),
    (word("It", case=True), 'with the word "It"'),
    (word('say "x"\n'), 'with the word "say \\"x\\"\\n"'),
    (phrase("new york"), 'with the phrase "new york"'),
    (regex(r"\d+"), 'matching "\\d+"'),
    (~regex(r"\d+"), 'not matching "\\d+"'),
    (column("title").word("x"), 'with the word "x" in title'),
    (column("title").regex("x"), 'whose title matches "x"'),
    (~column("title").regex("x"), 'whose title does not match "x"'),
    (column("age").above(30), "whose age is above 30"),
    (~column("age").below(30.5), "whose age is not below 30.5"),
    (column("age").between(18, 30), "whose age is between 18 and 30"),
    (column("county").equals("kent"), "whose county is kent"),
    (column("county").isin("kent", "essex"), "whose county is kent or essex"),
    (~column("county").equals("kent"), "whose county is not kent"),
    (~column("county").isin("kent", "essex"), "whose county is neither kent nor essex"),
    (~column("county").isin("a", "b", "c"), "whose county is none of a, b and c"),
    (feature("links"), "with the feature links"),
    (~feature("links"), "without the feature links"),
    (feature("links").above(3), "whose links is above 3"),
    (when(str.isupper, "shouting"), "for which shouting holds"),
    (~when(str.isupper, "shouting"), "for which shouting does not hold"),
    (puck & stick, 'with the word "puck" and "stick"'),
    (puck | stick, 'with the word "puck" or "stick"'),
    (~(puck | stick), 'without the word "puck" and without the word "stick"'),
    (~(puck & stick), 'without the word "puck" or without the word "stick"'),
    (puck & ~stick, 'with the word "puck" and without the word "stick"'),
    (puck & (stick | regex("x")), 'with the word "puck" and (with the word "stick" or matching "x")'),
    (puck & ~(stick | regex("x")), 'with the word "puck" and without the word "stick" and not matching "x"'),
]

TOKENS = [
    (punctuation, "consisting of punctuation"),
    (~punctuation, "not consisting of punctuation"),
    (punctuation.before, "after punctuation"),
    (punctuation.after, "before punctuation"),
    (~punctuation.before, "not after punctuation"),
    (puck.before, 'after "puck"'),
    ((~puck).before, 'after a token not reading "puck"'),
    (first & puck, 'at the start of a sequence and reading "puck"'),
    (~last, "not at the end of a sequence"),
    (position(2), "in 3rd place of a sequence"),
    (position(-2), "in 2nd place from the end of a sequence"),
]

SCOPES = [
    (
        expect("a", given=puck, per="instance").about(0.3),
        'each document with the word "puck" is a with a probability of about 30%',
    ),
    (expect("a", given=puck, per="sequence").about(0.3), 'in each sequence, about 30% of tokens reading "puck" are a'),
    (expect("a", per=column("county")).about(0.3), "in each county, about 30% of documents are a"),
    (expect("a", on="all").about(0.3), "about 30% of documents are a (labelled documents included)"),
    (expect.stay(on="all").about(0.3), "about 30% of transitions keep the label (labelled sequences included)"),
    (expect(per="instance").distributed_as({"a": 0.5, "b": 0.5}), "each document is 50% a and 50% b"),
    (expect.start("a", per="sequence").about(0.3), "each sequence starts with a with a probability of about 30%"),
    (expect.stay(per="sequence").about(0.3), "in each sequence, about 30% of transitions keep the label"),
    (expect.segments("j", per="sequence").at_most(1), "each sequence has at most 1 segment of j on average"),
    (expect.segments("j", per=column("c")).at_most(1), "in each c, a sequence has at most 1 segment of j on average"),
    (
        expect.statistic("n", per="instance").at_most(1),
        'the statistic "n" of each sequence is at most 1 on average',
    ),
]

AMONG = [
    (
        expect.change(given=punctuation.before, of=expect.change()).at_least(0.9),
        "of all field changes, at least 90% come after punctuation",
    ),
    (
        expect.change(given=word("in"), of=expect.change()).at_least(0.9),
        'of all field changes, at least 90% come at "in"',
    ),
    (
        expect.transition("a", "b", of=expect.change(given=punctuation.before)).about(0.3),
        "of all field changes after punctuation, about 30% are transitions from a to b",
    ),
    (
        expect("hockey", given=puck, of=expect("hockey")).about(0.3),
        'of all documents that are hockey, about 30% are ones with the word "puck"',
    ),
    (expect("a", of=expect("a", "b")).about(0.3), "of all documents that are a or b, about 30% are a"),
    (
        expect("a", of=expect("a", "b", given=puck)).about(0.3),
        'of all documents with the word "puck" that are a or b, about 30% are a',
    ),
    (
        expect.start("a", given=punctuation, of=expect("a")).about(0.3),
        "of all tokens that are a, about 30% start a sequence with a and come at punctuation",
    ),
    (
        expect.segments("j", given=punctuation.before, of=expect.segments("j"), per="sequence").at_least(0.9),
        "in each sequence, of all segments of j, at least 90% start after punctuation",
    ),
]


@pytest.mark.parametrize(("constraint", "sentence"), RELATIONS + EVENTS + SCOPES + AMONG, ids=lambda x: str(x)[:60])
def test_sentence(constraint: Constraint, sentence: str) -> None:
    assert str(constraint) == sentence


@pytest.mark.parametrize(("condition", "clause"), CONDITIONS, ids=lambda x: repr(x)[:60])
def test_conditions_on_documents(condition, clause) -> None:
    assert str(expect("a", given=condition).about(0.5)) == f"about 50% of documents {clause} are a"


@pytest.mark.parametrize(("condition", "clause"), TOKENS, ids=lambda x: repr(x)[:60])
def test_conditions_on_tokens_switch_to_tokens(condition, clause) -> None:
    assert str(expect("a", given=condition).about(0.5)) == f"about 50% of tokens {clause} are a"


def test_units() -> None:
    constraint = expect("a", given=puck, on="all").about(0.5)
    assert describe(constraint, "rows") == 'about 50% of rows with the word "puck" are a (labelled rows included)'
    assert describe(constraint, "tokens") == 'about 50% of tokens reading "puck" are a (labelled sequences included)'
    assert describe(expect("a", per="instance").about(0.5), "tokens") == "in each sequence, about 50% of tokens are a"


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(constraints())
def test_every_constraint_has_a_sentence_on_one_line(constraint: Constraint) -> None:
    for unit in ("documents", "rows", "tokens"):
        sentence = describe(constraint, unit)
        assert sentence.isprintable()
        assert sentence == sentence.strip()
        assert "%" in sentence or "on average" in sentence
