"""Every event, condition, scope and penalty on sequences, against enumeration of all labellings."""

from __future__ import annotations

import string
from contextlib import nullcontext
from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy import sparse
from tests.oracles import sequences as oracle
from tests.oracles.sequence_primal import primal
from tests.oracles.sequences import Said, World, begins, changes, same_label

from tiltfit import column, expect, first, last, position, punctuation, regex, word
from tiltfit.errors import ConflictError, ConstraintError, InactiveConstraintWarning
from tiltfit.language.event import Event, Term, disjoint
from tiltfit.projections.kinds import distinct

TOKENS = [["a", ",", "b"], ["b", "a"], [","], ["a", "b", ".", "a"]]
PLAIN = ["x", "y", "z"]
BIO = ["B-N", "B-V", "I-N", "I-V", "O"]
IOBES = ["B-N", "E-N", "I-N", "O", "S-N"]


def is_sign(x, t):
    return not any(c in string.ascii_letters for c in x[t])


def label(*names):
    return lambda y, t: y[t] in names


def stay(y, t):
    return not changes(y, t)


def pair(a, b):
    return lambda y, t: (y[t - 1], y[t]) == (a, b)


def segment(name):
    return lambda y, t: begins(y, t, name)


def among(constraint, place, happens, fires=lambda x, t: True):
    return Said(constraint, place, happens, fires)


# Name: (the expectation, place, what happens, where it fires). All can be said `about` something.
EVENTS = {
    "label": (expect("x"), "token", label("x"), None),
    "set of labels": (expect("x", "z"), "token", label("x", "z"), None),
    "given a word": (expect("y", given=word("a")), "token", label("y"), lambda x, t: x[t] == "a"),
    "given punctuation": (expect("y", given=punctuation), "token", label("y"), is_sign),
    "given the word before": (
        expect("z", given=word("b").before), "token", label("z"), lambda x, t: t > 0 and x[t - 1] == "b"),
    "given the word after": (
        expect("z", given=word("b").after), "token", label("z"), lambda x, t: t + 1 < len(x) and x[t + 1] == "b"),
    "given not after a sign": (
        expect("x", given=~punctuation.before), "token", label("x"), lambda x, t: not (t > 0 and is_sign(x, t - 1))),
    "given first": (expect("x", given=first), "token", label("x"), lambda x, t: t == 0),
    "given last": (expect("x", given=last), "token", label("x"), lambda x, t: t == len(x) - 1),
    "given a position": (expect("x", given=position(1)), "token", label("x"), lambda x, t: t == 1),
    "given a position from the end": (
        expect("x", given=position(-2)), "token", label("x"), lambda x, t: t == len(x) - 2),
    "given a mixture": (
        expect("x", given=(word("a") | regex(r"\W")) & ~last), "token", label("x"),
        lambda x, t: (x[t] == "a" or is_sign(x, t)) and t < len(x) - 1),
    "stay": (expect.stay(), "edge", same_label, None),
    "stay given its second token": (expect.stay(given=word("a")), "edge", same_label, lambda x, t: x[t] == "a"),
    "change": (expect.change(), "edge", changes, None),
    "change after punctuation": (
        expect.change(given=punctuation.before), "edge", changes, lambda x, t: is_sign(x, t - 1)),
    "change before punctuation": (
        expect.change(given=punctuation.after), "edge", changes, lambda x, t: t + 1 < len(x) and is_sign(x, t + 1)),
    "transition": (expect.transition("x", "y"), "edge", pair("x", "y"), None),
    "transition to itself": (expect.transition("z", "z"), "edge", pair("z", "z"), None),
    "transition given": (
        expect.transition("x", "y", given=word("b")), "edge", pair("x", "y"), lambda x, t: x[t] == "b"),
    "transition into the last token": (
        expect.transition("x", "y", given=last), "edge", pair("x", "y"), lambda x, t: t == len(x) - 1),
    "start": (expect.start("x"), "first", label("x"), None),
    "start with one of": (expect.start("x", "y"), "first", label("x", "y"), None),
    "start given": (expect.start("x", given=word("a")), "first", label("x"), lambda x, t: x[t] == "a"),
    "start given the next": (
        expect.start("x", given=punctuation.after), "first", label("x"),
        lambda x, t: len(x) > 1 and is_sign(x, 1)),
    "end": (expect.end("x"), "last", label("x"), None),
    "end given": (expect.end("y", "z", given=word("a")), "last", label("y", "z"), lambda x, t: x[t] == "a"),
    "segments": (expect.segments("x"), "segment", segment("x"), None),
    "segments that start given": (
        expect.segments("x", given=word("a")), "segment", segment("x"), lambda x, t: x[t] == "a"),
    "segments that start after a sign": (
        expect.segments("x", given=punctuation.before), "segment", segment("x"),
        lambda x, t: t > 0 and is_sign(x, t - 1)),
}  # fmt: skip

TAGGED = {
    "tag": (expect("B-N"), "token", label("B-N"), None),
    "stay": (expect.stay(), "edge", stay, None),
    "change": (expect.change(), "edge", changes, None),
    "change given": (expect.change(given=punctuation.before), "edge", changes, lambda x, t: is_sign(x, t - 1)),
    "segments": (expect.segments("N"), "segment", segment("N"), None),
    "segments given": (expect.segments("N", given=word("a")), "segment", segment("N"), lambda x, t: x[t] == "a"),
    "segments of O": (expect.segments("O"), "segment", segment("O"), None),
    "transition": (expect.transition("B-N", "I-N"), "edge", pair("B-N", "I-N"), None),
}

LABELLED = {
    "unlabelled": None,
    "labelled": [[None, None, None], ["x", "y"], [None], ["z", "x", "x", "y"]],
    "partly": [[None, "y", None], ["x", None], ["z"], ["x", None, "x", "y"]],
}


def always(x, t):
    return True


def said(case, relation, **changed):
    """The case as a constraint: ``relation(expectation)`` finishes it; ``changed``: per, on, given, …"""
    expectation, place, happens, fires = case
    constraint = relation(replace(expectation, **changed))
    return Said(constraint, place, happens, fires or always)


def about(u, **options):
    return lambda expectation: expectation.about(u, **options)


def compare_expectations(world, statements, scale="unit"):
    """Rows, supports and expectations under the model are those of the definition."""
    rows = oracle.all_rows(world, statements, scale)
    idle = {k for k in range(len(statements)) if all(row.key[0] != k for row in rows)}
    with pytest.warns(InactiveConstraintWarning) if idle else nullcontext():
        grounded = world.ground([s.constraint for s in statements], scale)
    assert set(grounded.inactive) == idle
    if grounded.tilt is None or not rows:
        return grounded, rows
    assert grounded.keys == [row.key for row in rows]
    np.testing.assert_allclose(grounded.support, [row.support for row in rows], rtol=1e-12)
    p = oracle.settled(world, world.p)
    got = world.model_expectation(grounded)
    np.testing.assert_allclose(got, [row.m(world, p) for row in rows], atol=1e-12)
    return grounded, rows


@pytest.mark.parametrize("labels", sorted(LABELLED))
@pytest.mark.parametrize("on", ["unlabelled", "all"])
@pytest.mark.parametrize("name", sorted(EVENTS))
def test_events_are_what_they_say(name, on, labels):
    world = World(TOKENS, PLAIN, LABELLED[labels], weight=[1.0, 2.0, 0.5, 1.5], seed=3)
    compare_expectations(world, [said(EVENTS[name], about(0.4), on=on)])


@pytest.mark.parametrize("classes", [BIO, IOBES], ids=["bio", "iobes"])
@pytest.mark.parametrize("name", sorted(TAGGED))
def test_events_of_tags_are_of_the_entity(name, classes):
    world = World([["a", ",", "b"], ["b", "a"], [","]], classes, weight=[1.0, 2.0, 0.5], seed=4)
    compare_expectations(world, [said(TAGGED[name], about(0.4))])


def test_distribution_of_labels():
    world = World(TOKENS, PLAIN, LABELLED["partly"], weight=[1.0, 2.0, 0.5, 1.5])
    shares = {"x": 0.5, "z": 0.5}
    for on in ("unlabelled", "all"):
        plain = Said(expect(on=on).distributed_as(shares))
        given = Said(expect(given=word("a"), on=on).distributed_as(shares), fires=lambda x, t: x[t] == "a")
        compare_expectations(world, [plain, given])


COLUMNS = {"style": ["p", "q", "p", "q"], "year": [2001, 1999, 1999, 2001]}


@pytest.mark.parametrize("labels", sorted(LABELLED))
@pytest.mark.parametrize("on", ["unlabelled", "all"])
@pytest.mark.parametrize("per", ["sequence", "style", "year"])
@pytest.mark.parametrize(
    "name", ["label", "given a word", "stay", "change after punctuation", "start", "end given", "segments",
             "segments that start given"],
)  # fmt: skip
def test_one_row_a_sequence_or_group(name, per, on, labels):
    world = World(TOKENS, PLAIN, LABELLED[labels], [1.0, 2.0, 0.5, 1.5], COLUMNS, seed=5)
    case = EVENTS[name]
    scope = per if per == "sequence" else column(per)
    statement = said(case, about(0.4), per=scope, on=on)
    statement = replace(statement, group=COLUMNS.get(per))
    compare_expectations(world, [statement])


def test_several_scopes_at_once_keep_their_order():
    world = World(TOKENS, PLAIN, LABELLED["partly"], [1.0, 2.0, 0.5, 1.5], COLUMNS, seed=6)
    statements = [
        said(EVENTS["segments"], about(0.4), per="sequence"),
        said(EVENTS["stay"], about(0.4)),
        replace(said(EVENTS["label"], about(0.4), per=column("style")), group=COLUMNS["style"]),
        said(EVENTS["stay"], about(0.4), per="sequence"),
        Said(expect().distributed_as({"x": 0.5, "y": 0.5})),
    ]
    compare_expectations(world, statements)


def test_sequences_of_weight_zero_say_nothing():
    heavy = World(TOKENS[:2], PLAIN, seed=7)
    light = World(TOKENS, PLAIN, weight=[1.0, 1.0, 0.0, 0.0], seed=7)
    for name in ("stay", "segments", "label"):
        statements = [said(EVENTS[name], about(0.4)), said(EVENTS[name], about(0.4), per="sequence")]
        compare_expectations(light, statements)
        one, two = (w.ground([s.constraint for s in statements]) for w in (heavy, light))
        assert one.keys == two.keys
        np.testing.assert_allclose(one.support, two.support)


def shares(name, u, on="unlabelled", classes=PLAIN, finish=lambda e, u: e.about(u), per="dataset"):
    """Constraints with of=, said twice."""
    sign_before = lambda x, t: is_sign(x, t - 1)  # noqa: E731
    is_a = lambda x, t: x[t] == "a"  # noqa: E731
    entity = "x" if classes is PLAIN else "N"
    cases = {
        "label of labels": (expect("x", of=expect("x", "y"), on=on), "token", label("x"), always,
                            "token", label("x", "y"), always),
        "label of labels given": (expect("x", of=expect("x", "y", given=word("a")), on=on), "token", label("x"), is_a,
                                  "token", label("x", "y"), is_a),
        "label given of it": (expect("x", given=word("a"), of=expect("x"), on=on), "token", label("x"), is_a,
                              "token", label("x"), always),
        "change after signs of change": (expect.change(given=punctuation.before, of=expect.change(), on=on),
                                         "edge", changes, sign_before, "edge", changes, always),
        "transition of change": (expect.transition("x", "y", of=expect.change(), on=on), "edge", pair("x", "y"), always,
                                 "edge", changes, always),
        "transition of change given": (
            expect.transition("x", "y", given=punctuation.before, of=expect.change(), on=on),
            "edge", pair("x", "y"), sign_before, "edge", changes, always),
        "segments given of segments": (
            expect.segments(entity, given=word("a"), of=expect.segments(entity), on=on),
            "segment", segment(entity), is_a, "segment", segment(entity), always),
        "label of change": (expect("x", of=expect.change(), on=on),
                            "edge", lambda y, t: y[t] == "x" and changes(y, t), always, "edge", changes, always),
        "change of label": (expect.change(of=expect("x"), on=on),
                            "edge", lambda y, t: y[t] == "x" and changes(y, t), always, "token", label("x"), always),
        "segments of label": (expect.segments("x", of=expect("x"), on=on), "segment", segment("x"), always,
                              "token", label("x"), always),
        "segments of change": (expect.segments("x", of=expect.change(), on=on), "edge", segment("x"), always,
                               "edge", changes, always),
        "start of segments": (expect.start("x", of=expect.segments("x"), on=on), "first", label("x"), always,
                              "segment", segment("x"), always),
        "start of start": (expect.start("x", of=expect.start("x", "y"), on=on), "first", label("x"), always,
                           "first", label("x", "y"), always),
    }  # fmt: skip
    expectation, place, happens, fires, other_place, other, other_fires = cases[name]
    constraint = finish(replace(expectation, per=per), u)
    return Said(constraint, place, happens, fires, of=Said(constraint, other_place, other, other_fires))


SHARES = [
    "label of labels", "label of labels given", "label given of it", "change after signs of change",
    "transition of change", "transition of change given", "segments given of segments", "start of start",
    "label of change", "change of label", "segments of label", "segments of change", "start of segments",
]  # fmt: skip


@pytest.mark.parametrize("labels", sorted(LABELLED))
@pytest.mark.parametrize("on", ["unlabelled", "all"])
@pytest.mark.parametrize("name", SHARES)
def test_shares_of_another_event(name, on, labels):
    world = World(TOKENS, PLAIN, LABELLED[labels], weight=[1.0, 2.0, 0.5, 1.5], seed=8)
    statement = shares(name, 0.3, on)
    grounded, rows = compare_expectations(world, [statement])
    p = oracle.settled(world, world.p)
    told, support, _ = world.told(grounded)
    of = [row.total(world, p, row.other) for row in rows]
    event = [row.total(world, p, row.f) + 0.3 * o for row, o in zip(rows, of, strict=True)]
    np.testing.assert_allclose(support, of, rtol=1e-10)
    np.testing.assert_allclose(told, np.divide(event, of), rtol=1e-9)


@pytest.mark.parametrize("per", ["sequence", "style"])
@pytest.mark.parametrize("name", ["change after signs of change", "label of labels given", "segments of label"])
def test_shares_by_sequence_and_group_where_they_can_happen(name, per):
    world = World(TOKENS, PLAIN, None, [1.0, 2.0, 0.5, 1.5], {"style": ["p", "q", "r", "q"]}, seed=8)
    statement = shares(name, 0.3, per=per if per == "sequence" else column(per))
    statement = replace(statement, group=world.columns.get(per))
    grounded, _ = compare_expectations(world, [statement])
    compare_projections(world, [statement])
    if name == "change after signs of change" and per == "sequence":
        assert [key[2] for key in grounded.keys] == [0, 3]  # the others have no token after a sign


SOFT = {
    "l2": lambda e, u: e.about(u),
    "l2 of its own": lambda e, u: e.about(u, beta=0.2),
    "l1": lambda e, u: e.about(u, penalty="l1", beta=2.0),
    "slack": lambda e, u: e.at_least(u, slack=0.3),
    "two sides with slack": lambda e, u: e.between(u, u + 0.1, slack=0.3),
}


@pytest.mark.parametrize("labels", sorted(LABELLED))
@pytest.mark.parametrize("scale", ["unit", "support"])
@pytest.mark.parametrize("relation", sorted(SOFT))
def test_soft_shares_are_penalised_as_shares(relation, scale, labels):
    world = World(TOKENS, PLAIN, LABELLED[labels], weight=[1.0, 2.0, 0.5, 1.5], seed=8)
    for name in ("change after signs of change", "segments of label"):
        compare_projections(world, [shares(name, 0.7, finish=SOFT[relation])], scale)


@pytest.mark.parametrize("scale", ["unit", "support"])
@pytest.mark.parametrize("penalty", ["l2", "l1"])
def test_a_soft_share_of_a_rare_event_pulls_like_a_statement_about_as_many_tokens(penalty, scale):
    # A tenth of 400 tokens are x or y. "Of these, 90% are x" is to move as much as "90% are x" on 40 tokens x or y.
    rare = World([["a"]] * 400, PLAIN, spread=0.0)
    rare.potentials.node[:] = np.log([0.05, 0.05, 0.9])
    often = World([["a"]] * 40, ["x", "y"], spread=0.0)
    beta = 0.01 if penalty == "l2" else 0.05
    relation = about(0.9, penalty=penalty, beta=beta if scale == "unit" else 40 * beta)
    found = []
    for world, expectation in ((rare, expect("x", of=expect("x", "y"))), (often, expect("x"))):
        grounded = world.ground([relation(expectation)], scale)
        got = world.project(grounded)
        found.append(grounded.told(got.expectation, got.marginals)[0][0])
    assert 0.6 < found[1] < 0.85  # neither too weak nor too strong to tell
    assert found[0] == pytest.approx(found[1], abs=0.02)


@pytest.mark.parametrize("labels", sorted(LABELLED))
def test_how_often_the_other_event_happens_is_learned_from_labels(labels):
    world = World(TOKENS, PLAIN, LABELLED[labels], weight=[1.0, 2.0, 0.5, 1.5])
    listed = [shares(name, 0.3) for name in ("label of labels given", "change of label", "segments of change")]
    grounded = world.ground([said.constraint for said in listed])
    assert dict(grounded.rates) == pytest.approx({k: oracle.happens_at_rate(world, s.of) for k, s in enumerate(listed)})
    if labels == "unlabelled":
        assert set(grounded.rates.values()) == {0.1}


def test_no_share_of_what_it_never_is():
    world = World(TOKENS, PLAIN)
    for expectation in (
        expect.stay(of=expect.change()),
        expect.transition("x", "x", of=expect.change()),
        expect.start("x", of=expect.start("y")),
        expect("x", of=expect.segments("y")),
    ):
        with pytest.raises(ConstraintError, match="not a share"):
            world.ground([expectation.about(0.5)])


@pytest.mark.parametrize("name", ["change after signs of change", "segments given of segments"])
@pytest.mark.parametrize("classes", [BIO, IOBES], ids=["bio", "iobes"])
def test_shares_of_tags(name, classes):
    world = World([["a", ",", "b"], ["b", "a"], [","]], classes, seed=9)
    compare_expectations(world, [shares(name, 0.3, classes=classes)])


# Events of several tables, which may meet at one position


X_TO_Y = [[0, 1, 0], [0, 0, 0], [0, 0, 0]]
# Name: (tables over x, y and z, place, what happens). The token of a sequence of one is its first and its last.
SEVERAL = {
    "borders": ([("first", [1, 0, 0]), ("last", [0, 1, 0])], "border",
                lambda y, t: (t == 0 and y[t] == "x") or (t == len(y) - 1 and y[t] == "y")),
    "mixed": ([("all", [0, 0, 1]), ("edge", X_TO_Y)], "segment",
              lambda y, t: y[t] == "z" or (t > 0 and pair("x", "y")(y, t))),
    "parted": ([("all", [1, 0, 0]), ("all", [0, 1, 0]), ("last", [0, 0, 1])], "token",
               lambda y, t: y[t] != "z" or t == len(y) - 1),
}  # fmt: skip


@dataclass(frozen=True)
class Several(Event):
    name: str
    plural = "things"

    def tables(self, classes):
        return [(place, np.array(table, dtype=float)) for place, table in SEVERAL[self.name][0]]


def several(name, finish, **options):
    _, place, happens = SEVERAL[name]
    return Said(finish(expect.event(Several(name), **options)), place, happens)


@pytest.mark.parametrize("labels", sorted(LABELLED))
@pytest.mark.parametrize("on", ["unlabelled", "all"])
@pytest.mark.parametrize("per", ["dataset", "sequence"])
@pytest.mark.parametrize("name", sorted(SEVERAL))
def test_every_table_of_an_event_counts(name, per, on, labels):
    world = World(TOKENS, PLAIN, LABELLED[labels], weight=[1.0, 2.0, 0.5, 1.5], seed=3)
    compare_expectations(world, [several(name, about(0.4), on=on, per=per)])


@pytest.mark.parametrize("labels", sorted(LABELLED))
@pytest.mark.parametrize("on", ["unlabelled", "all"])
@pytest.mark.parametrize(
    ("name", "other"),
    [(a, b) for a in sorted(SEVERAL) for b in ("labels", "change", *sorted(SEVERAL)) if a != b],
)
def test_every_table_of_an_event_counts_in_a_share_of_another(name, other, on, labels):
    world = World(TOKENS, PLAIN, LABELLED[labels], weight=[1.0, 2.0, 0.5, 1.5], seed=8)
    plain = {"labels": (expect("x", "y"), "token", label("x", "y")), "change": (expect.change(), "edge", changes)}
    if other in plain:
        of, place, happens = plain[other]
    else:
        of, (_, place, happens) = expect.event(Several(other)), SEVERAL[other]
    mine = several(name, about(0.3), of=of, on=on)
    statement = Said(mine.constraint, mine.place, lambda y, t: mine.happens(y, t) and happens(y, t), always,
                     of=Said(mine.constraint, place, happens))  # fmt: skip
    grounded, rows = compare_expectations(world, [statement])
    p = oracle.settled(world, world.p)
    told, support, _ = world.told(grounded)
    totals = [row.total(world, p, row.other) for row in rows]
    np.testing.assert_allclose(support, totals, rtol=1e-10)
    event = [row.total(world, p, row.f) + 0.3 * o for row, o in zip(rows, totals, strict=True)]
    np.testing.assert_allclose(told, np.divide(event, totals), rtol=1e-9)
    assert dict(grounded.rates) == pytest.approx({0: oracle.happens_at_rate(world, statement.of)})


@pytest.mark.parametrize("of", [None, expect("x", "y")], ids=["alone", "of labels"])
@pytest.mark.parametrize("name", sorted(SEVERAL))
def test_projections_on_events_of_several_tables(name, of):
    world = World([["a", ",", "b"], ["b", "a"], [","]], PLAIN, weight=[1.0, 2.0, 0.5], seed=30)
    mine = several(name, about(0.7), of=of)
    other = None if of is None else Said(mine.constraint, "token", label("x", "y"))
    happens = (lambda y, t: mine.happens(y, t) and y[t] in ("x", "y")) if of else mine.happens
    statement = Said(mine.constraint, mine.place, happens, always, of=other)
    _, got, rows, allowed = compare_projections(world, [statement])
    best, _ = primal(world, rows, allowed)
    assert got.value == pytest.approx(best, abs=1e-6)


@pytest.mark.parametrize(("name", "share"), [("borders", 0), ("borders", 1), ("mixed", 0), ("mixed", 1), ("parted", 1)])
def test_a_hard_zero_or_one_of_several_tables(name, share):
    world = World(SMALL, PLAIN, weight=[1.0, 2.0, 0.5], seed=17)
    soft = [said(EVENTS["segments"], about(0.9)), said(EVENTS["stay"], about(0.3), per="sequence")]
    _, place, happens = SEVERAL[name]

    def banned(s, y):
        return any(happens(y, t) != share for t in range(len(y)) if oracle.PLACES[place](t, len(y)))

    grounded, *_ = compare_projections(world, [*soft, several(name, lambda e: e.exactly(share))], banned=banned)
    assert grounded.ruled == (2,)


@pytest.mark.parametrize(
    ("expectation", "happens"),
    [
        (expect.change(of=expect("x")), lambda y, t: t > 0 and changes(y, t)),
        (expect.segments("x", of=expect("x")), segment("x")),
    ],
    ids=["changes", "segments"],
)
def test_every_token_of_a_label_is_on_an_edge(expectation, happens):
    world = World(SMALL, PLAIN, weight=[1.0, 2.0, 0.5], seed=17)

    def banned(s, y):
        return any(y[t] == "x" and not happens(y, t) for t in range(len(y)))

    statements = [said(EVENTS["label"], about(0.4)), Said(expectation.exactly(1))]
    grounded, *_ = compare_projections(world, statements, banned=banned)
    assert grounded.ruled == (1,)


def test_terms_that_never_meet_stay_as_they_are():
    at = np.array([True, False, False]), np.array([False, True, False])
    apart = [Term(at[0], np.ones(2)), Term(at[1], np.ones((2, 2)))]
    assert disjoint(apart) is apart
    assert disjoint(apart[:1]) == apart[:1]
    node, edge = np.array([1.0, 2.0]), np.array([[3.0, 4.0], [5.0, 6.0]])
    found = disjoint([Term(at[0] | at[1], node), Term(at[1], edge)])
    assert sorted((np.flatnonzero(t.at).tolist(), t.table.tolist()) for t in found) == [
        ([0], [1.0, 2.0]),
        ([1], [[4.0, 6.0], [6.0, 8.0]]),
    ]


@pytest.mark.parametrize("n", [60, 400])
def test_kinds_of_edges_are_told_apart_however_many_there_are(n):
    patterns = sparse.csr_array(sparse.hstack([np.ones((n, 1)), sparse.eye_array(n)], format="csr"))
    example, number = distinct(patterns)
    assert len(example) == n
    assert sorted(number.tolist()) == list(range(n))
    assert len(distinct(sparse.csr_array(np.ones((5, 3))))[0]) == 1
    assert len(distinct(sparse.csr_array(np.arange(1.0, 21.0).reshape(-1, 1)))[0]) == 20


def test_a_row_for_each_of_many_sequences_speaks_of_its_own_edges():
    rng = np.random.default_rng(0)
    world = World([list(rng.choice(["a", "b", ","], size=3)) for _ in range(150)], ["x", "y"], seed=10)
    compare_expectations(world, [said(EVENTS["stay"], about(0.4), per="sequence")])


# Information projections

SMALL = [["a", ",", "b"], ["b", "a"], [","]]
RELATIONS = {
    "l2": lambda e: e.about(0.7),
    "own beta": lambda e: e.about(0.1, beta=0.5),
    "l1": lambda e: e.about(0.45, penalty="l1", beta=2.0),
    "l1 that reaches its target": lambda e: e.about(0.6, penalty="l1", beta=0.3),
    "equality": lambda e: e.exactly(0.35),
    "at least": lambda e: e.at_least(0.7),
    "at most": lambda e: e.at_most(0.15),
    "holds already": lambda e: e.at_most(0.99),
    "box": lambda e: e.between(0.6, 0.65),
    "slack": lambda e: e.at_least(0.8, slack=0.1),
    "slack box": lambda e: e.between(0.05, 0.1, slack=0.2),
    "slack equality": lambda e: e.exactly(0.9, slack=0.3),
}


def compare_projections(world, statements, scale="unit", banned=None):
    """The projection is the least of all distributions over labellings: by weak duality its prices prove it. Returns
    what is needed to see the same without them."""
    grounded = world.ground([s.constraint for s in statements], scale)
    rows = oracle.all_rows(world, [s for k, s in enumerate(statements) if k not in grounded.ruled], scale)
    assert [key[1:] for key in grounded.keys] == [row.key[1:] for row in rows]
    got = world.project(grounded)
    allowed = oracle.allowed_by(world, banned)
    q = oracle.tilted(world, rows, got.prices, allowed)
    nodes = oracle.node_marginals(world, q)
    found = np.concatenate([nodes[s] for s in grounded.touched])
    np.testing.assert_allclose(got.marginals.node, found, atol=1e-9)
    np.testing.assert_allclose(got.expectation, [r.m(world, oracle.settled(world, q)) for r in rows], atol=1e-9)
    assert got.converged
    assert got.value == pytest.approx(oracle.dual_value(world, rows, got.prices, allowed), abs=1e-8)
    assert got.value == pytest.approx(oracle.value(world, rows, q), abs=1e-6)
    assert got.divergence == pytest.approx(oracle.value(world, [], q), abs=1e-8)
    return grounded, got, rows, allowed


@pytest.mark.parametrize("relation", sorted(RELATIONS))
@pytest.mark.parametrize("name", ["label", "stay", "segments"])
def test_projection_is_the_least_over_all_distributions(name, relation):
    world = World([["a", ",", "b"], ["b", "a"]], ["x", "y"], weight=[1.0, 2.0], seed=30)
    _, got, rows, allowed = compare_projections(world, [said(EVENTS[name], RELATIONS[relation])])
    best, best_q = primal(world, rows, allowed)
    assert got.value == pytest.approx(best, abs=1e-6)
    np.testing.assert_allclose(got.marginals.node, np.concatenate(oracle.node_marginals(world, best_q)), atol=1e-3)


@pytest.mark.parametrize("relation", sorted(RELATIONS))
@pytest.mark.parametrize("name", ["given a word", "change after punctuation", "segments", "end"])
def test_projection_onto_every_kind_of_row(name, relation):
    world = World(SMALL, PLAIN, weight=[1.0, 2.0, 0.5], seed=11)
    compare_projections(world, [said(EVENTS[name], RELATIONS[relation])])


@pytest.mark.parametrize("relation", sorted(RELATIONS))
def test_projection_with_known_labels(relation):
    labels = [[None, "y", None], ["x", "z"], [None]]
    world = World(SMALL, PLAIN, labels, weight=[1.0, 2.0, 0.5], seed=12)
    soft = relation in ("l2", "own beta", "l1", "slack", "slack box", "slack equality", "holds already")
    on = "all" if soft else "unlabelled"
    compare_projections(world, [said(EVENTS["stay"], RELATIONS[relation], on=on)])


@pytest.mark.parametrize("per", ["sequence", "style"])
@pytest.mark.parametrize("relation", sorted(RELATIONS))
def test_projection_by_sequence_and_by_group(relation, per):
    columns = {"style": ["p", "q", "q"]}
    world = World(SMALL, PLAIN, weight=[1.0, 2.0, 0.5], columns=columns, seed=13)
    scope = per if per == "sequence" else column(per)
    statements = [
        replace(said(EVENTS[name], RELATIONS[relation], per=scope), group=columns.get(per))
        for name in ("label", "segments")
    ]
    if relation in ("equality", "box"):  # both at once would be too much to ask of a single token
        statements = statements[1:]
    compare_projections(world, statements)


@pytest.mark.parametrize("per", ["dataset", "sequence", "style"])
@pytest.mark.parametrize("on", ["unlabelled", "all"])
def test_projection_onto_distributions(per, on):
    columns = {"style": ["p", "q", "q"]}
    labels = [[None, "y", None], ["x", None], [None]]
    world = World(SMALL, PLAIN, labels, [1.0, 2.0, 0.5], columns, seed=31)
    scope = column("style") if per == "style" else per
    for shares_, beta in (({"x": 0.5, "y": 0.3, "z": 0.2}, 0.1), ({"x": 0.4, "y": 0.6}, 0.5)):
        whole = Said(expect(per=scope, on=on).distributed_as(shares_, beta=beta), group=columns.get(per))
        given = Said(
            expect(given=~punctuation, per=scope, on=on).distributed_as(shares_, beta=beta),
            fires=lambda x, t: not is_sign(x, t),
            group=columns.get(per),
        )
        compare_projections(world, [whole, said(EVENTS["stay"], about(0.3))])
        compare_projections(world, [given])


@pytest.mark.parametrize("seed", range(3))
def test_projection_onto_rows_of_every_kind_together(seed):
    columns = {"style": ["p", "q", "q"]}
    world = World(SMALL, PLAIN, weight=[1.0, 2.0, 0.5], columns=columns, seed=20 + seed)
    compare_projections(
        world,
        [
            said(EVENTS["given punctuation"], lambda e: e.about(0.8)),
            said(EVENTS["stay"], lambda e: e.at_most(0.3)),
            said(EVENTS["segments"], lambda e: e.at_most(0.5), per="sequence"),
            replace(
                said(EVENTS["end"], lambda e: e.about(0.5, penalty="l1"), per=column("style")), group=["p", "q", "q"]
            ),
            said(EVENTS["transition"], lambda e: e.between(0.2, 0.4, slack=0.1)),
            Said(expect().distributed_as({"x": 0.3, "y": 0.7}, beta=0.5)),
            shares("change after signs of change", 0.3, finish=lambda e, u: e.at_least(u)),
        ],
    )


def test_projection_with_strength_by_support():
    world = World(SMALL, PLAIN, weight=[1.0, 2.0, 0.5], seed=14)
    statements = [said(EVENTS[n], about(0.6)) for n in ("label", "stay", "segments")]
    compare_projections(world, statements, scale="support")


@pytest.mark.parametrize("name", ["label of labels", "change after signs of change", "transition of change",
                                  "segments given of segments"])  # fmt: skip
@pytest.mark.parametrize(
    "finish",
    [
        lambda e, u: e.about(u),
        lambda e, u: e.at_least(u),
        lambda e, u: e.at_most(u),
        lambda e, u: e.exactly(u),
        lambda e, u: e.between(u, u + 0.1),
        lambda e, u: e.between(u, u + 0.1, slack=0.05),
        lambda e, u: e.about(u, penalty="l1"),
    ],
    ids=["about", "at least", "at most", "exactly", "between", "between with slack", "l1"],
)
def test_projection_onto_shares_of_another_event(name, finish):
    world = World(SMALL, PLAIN, seed=15)
    for u in (0.2, 0.7):
        statement = shares(name, u, finish=finish)
        compare_projections(world, [statement])


@pytest.mark.parametrize("classes", [BIO, IOBES], ids=["bio", "iobes"])
def test_projection_of_tags(classes):
    world = World([["a", ","], ["b", "a"]], classes, seed=16)
    compare_projections(
        world,
        [
            said(TAGGED["segments"], lambda e: e.at_most(0.3), per="sequence"),
            said(TAGGED["change"], lambda e: e.about(0.5)),
        ],
    )


# Hard 0 and 1


def test_a_hard_zero_or_one_forbids_labels_and_pairs():
    world = World(SMALL, PLAIN, weight=[1.0, 2.0, 0.5], seed=17)
    soft = [said(EVENTS["segments"], about(0.9)), said(EVENTS["stay"], about(0.3), per="sequence")]
    cases = [
        (expect("x", given=word("a")).at_most(0), lambda s, y: any(
            y[t] == "x" for t, token in enumerate(SMALL[s]) if token == "a")),
        (expect("x", "y", given=word("a")).exactly(1), lambda s, y: any(
            y[t] == "z" for t, token in enumerate(SMALL[s]) if token == "a")),
        (expect.stay().at_most(0), lambda s, y: any(y[t] == y[t - 1] for t in range(1, len(y)))),
        (expect.change(given=punctuation).exactly(0), lambda s, y: any(
            y[t] != y[t - 1] for t in range(1, len(y)) if is_sign(SMALL[s], t))),
        (expect.change(given=word("b")).at_least(1), lambda s, y: any(
            y[t] == y[t - 1] for t in range(1, len(y)) if SMALL[s][t] == "b")),
        (expect.transition("x", "y").at_most(0), lambda s, y: any(
            pair("x", "y")(y, t) for t in range(1, len(y)))),
        (expect.start("y", "z").at_least(1), lambda s, y: y[0] == "x"),
        (expect.end("y").at_most(0), lambda s, y: y[-1] == "y"),
        (expect.segments("z").at_most(0), lambda s, y: "z" in y),
        (expect("x", of=expect("x", "y")).at_least(1), lambda s, y: "y" in y),
        (expect("x", of=expect("x", "y")).at_most(0), lambda s, y: "x" in y),
        (expect.change(given=punctuation.before, of=expect.change()).exactly(1), lambda s, y: any(
            y[t] != y[t - 1] and not is_sign(SMALL[s], t - 1) for t in range(1, len(y)))),
        (expect.transition("x", "y", of=expect.change()).at_most(0), lambda s, y: any(
            pair("x", "y")(y, t) for t in range(1, len(y)))),
    ]  # fmt: skip
    for constraint, banned in cases:
        grounded, *_ = compare_projections(world, [*soft, Said(constraint)], banned=banned)
        assert grounded.ruled == (2,), constraint


def test_rules_of_nodes_and_edges_go_together_with_known_labels():
    labels = [[None, None, "x"], [None, "y"], [None]]
    world = World(SMALL, PLAIN, labels, seed=18)
    rules = [expect.stay().at_most(0), expect.start("y", "z").at_least(1)]
    statements = [said(EVENTS["label"], about(0.5)), *map(Said, rules)]
    compare_projections(
        world, statements, banned=lambda s, y: y[0] == "x" or any(y[t] == y[t - 1] for t in range(1, len(y)))
    )


def test_a_count_of_one_is_no_rule():
    world = World(SMALL, PLAIN, seed=19)
    grounded, got, *_ = compare_projections(world, [said(EVENTS["segments"], lambda e: e.at_least(1))])
    assert grounded.ruled == ()
    assert got.expectation[0] == pytest.approx(1, abs=1e-6)


# What cannot be


def test_rules_that_leave_nothing_name_the_sequence_and_themselves():
    world = World(SMALL, ["x", "y"], seed=1)
    with pytest.raises(ConflictError, match=r"sequence 1.*'never b'.*'no start'|sequence 1.*'no start'.*'never b'"):
        world.ground([
            expect("x", given=word("b")).at_most(0, name="never b"),
            expect.start("y", given=word("b")).at_most(0, name="no start"),
        ])  # fmt: skip


def test_a_row_that_cannot_hold_in_a_sequence_names_it():
    world = World([["a", "b", "a"], ["a", "b"]], ["x", "y"])
    with pytest.raises(ConflictError, match=r"sequence 1\b.*mean number between 0 and 1"):
        world.ground([expect.segments("x", per="sequence").at_least(1.5)])
    known = replace(world, labels=[[None, None, None], ["x", None]])
    with pytest.raises(ConflictError, match=r"sequence 1\b.*share between 50% and 100%"):
        known.ground([expect("x", per="sequence", on="all").at_most(0.4)])
    with pytest.raises(ConflictError, match=r"sequence 1\b.*share between 0% and 50%"):
        world.ground([expect("x", given=first).at_most(0), expect("x", per="sequence").at_least(0.6)])


def test_a_group_that_cannot_hold_is_named_by_its_value():
    world = World(SMALL, PLAIN, columns={"year": [2001, 1999, 1999]}, seed=1)
    with pytest.raises(ConflictError, match="in 1999"):
        world.ground([expect.segments("x", per=column("year")).at_least(1.2)])


def test_a_condition_that_never_fires_rests_with_a_warning():
    world = World([["room", "call"], ["call"]], PLAIN)
    with pytest.warns(InactiveConstraintWarning, match=r'tokens reading "cal" .*did you mean "call"'):
        grounded = world.ground([expect("x", given=word("cal")).about(0.9)])
    assert grounded.tilt is None
    assert grounded.inactive == (0,)
    for constraint in (
        expect.change(given=word("zzz")).about(0.5),
        expect.segments("x", given=word("zzz")).at_most(1),
        expect.change(given=word("zzz"), of=expect.change()).at_least(0.9),
        expect("x", given=word("zzz"), of=expect("x")).about(0.9),
    ):
        with pytest.warns(InactiveConstraintWarning):
            assert world.ground([constraint]).inactive == (0,)


def test_edges_where_there_are_none_rest():
    world = World([["a"], ["b"]], PLAIN)
    with pytest.warns(InactiveConstraintWarning):
        assert world.ground([expect.stay().about(0.9)]).inactive == (0,)


def test_constraints_on_sequences_all_of_whose_labels_are_known_rest():
    world = World(SMALL, PLAIN, [["x", "x", "y"], ["x", "z"], ["z"]])
    with pytest.warns(InactiveConstraintWarning, match="every sequence has a label"):
        assert world.ground([expect.stay().about(0.9)]).tilt is None
