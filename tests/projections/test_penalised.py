"""The best labellings under penalties against enumeration: every labelling of tiny sequences, scored one by one."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles.sequences import World

from tiltfit import expect, word
from tiltfit.errors import ConflictError
from tiltfit.execution.workers import Workers
from tiltfit.inference.chain import Chains
from tiltfit.inference.potentials import Potentials
from tiltfit.inference.statistic import Statistic
from tiltfit.inference.statistics import REGISTRY, register_statistic
from tiltfit.projections import penalised
from tiltfit.projections.penalised import best_labellings

CLASSES = ["a", "b", "c"]


@pytest.fixture(scope="module", autouse=True)
def _a_statistic_that_only_python_knows():
    @register_statistic("begins and ends alike")
    class Ends(Statistic):
        name = "begins and ends alike"
        least, most = 0.0, 1.0

        def __init__(self, fields):
            self.fields = fields

        def count(self, labels):
            return float(labels[0] == labels[-1])

    yield
    REGISTRY.remove("begins and ends alike")


def places(world, s, token):
    """Unknown tokens of that form."""
    return [t for t, x in enumerate(world.tokens[s]) if world.is_open(s, t) and x == token]


def edges(world, s):
    return [t for t in range(1, len(world.tokens[s])) if world.is_open(s, t - 1) or world.is_open(s, t)]


def segments(y, label):
    return sum(v == label and (t == 0 or y[t - 1] != label) for t, v in enumerate(y))


def repeats(y):
    return sum(max(0, segments(y, label) - 1) for label in CLASSES)


def changed(world, s, y):
    return [t for t in edges(world, s) if y[t] != y[t - 1]]


def at_least_share(world, s, y):
    asked = [t for t in range(len(y)) if world.is_open(s, t)]
    return max(0, math.ceil(0.4 * len(asked) - 0.5) - sum(y[t] == "a" for t in asked))


# Every constraint, and d in plain words.
SAID = [
    (expect("a", given=word("x")).about(0.9), lambda w, s, y: sum(y[t] != "a" for t in places(w, s, "x"))),
    (expect("b", "c", given=word("y")).at_most(0.2), lambda w, s, y: sum(y[t] != "a" for t in places(w, s, "y"))),
    (expect(given=word("z")).distributed_as({"a": 0.2, "b": 0.7, "c": 0.1}),
     lambda w, s, y: sum(y[t] != "b" for t in places(w, s, "z"))),
    (expect.stay().about(0.8), lambda w, s, y: len(changed(w, s, y))),
    (expect.change(given=word("y")).at_most(0.2), lambda w, s, y: sum(w.tokens[s][t] == "y" for t in changed(w, s, y))),
    (expect.transition("a", "b").between(0.0, 0.3),
     lambda w, s, y: sum(y[t - 1] == "a" and y[t] == "b" for t in edges(w, s))),
    (expect.start("a", "b").at_least(0.9), lambda w, s, y: int(w.is_open(s, 0) and y[0] == "c")),
    (expect.end("c").at_least(0.8), lambda w, s, y: int(w.is_open(s, len(y) - 1) and y[-1] != "c")),
    (expect.change(given=word("x"), of=expect.change()).at_least(0.9),
     lambda w, s, y: sum(w.tokens[s][t] != "x" for t in changed(w, s, y))),
    (expect.segments("c").at_most(0.3), lambda w, s, y: segments(y, "c")),
    (expect.segments("a", per="sequence").at_most(1), lambda w, s, y: max(0, segments(y, "a") - 1)),
    (expect.segments("b").at_least(1.2), lambda w, s, y: max(0, 1 - segments(y, "b"))),
    (expect("a", per="sequence").at_least(0.4), at_least_share),
    (expect.repeats().at_most(0.3), lambda w, s, y: repeats(y)),
    (expect.appears("b").at_least(0.9), lambda w, s, y: int("b" not in y)),
    (expect.statistic("begins and ends alike").at_most(0.2), lambda w, s, y: int(y[0] == y[-1])),
]  # fmt: skip
RULES = [
    (expect("c", given=word("x")).at_most(0), lambda w, s, y: any(y[t] == "c" for t in places(w, s, "x"))),
    (expect.transition("b", "a").at_most(0), lambda w, s, y: any(y[t - 1 : t + 1] == ("b", "a") for t in edges(w, s))),
    (expect.repeats("a", "b", "c").at_most(0), lambda w, s, y: repeats(y) > 0),
]


@st.composite
def worlds(draw):
    lengths = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    tokens = [draw(st.lists(st.sampled_from("xyz"), min_size=n, max_size=n)) for n in lengths]
    labels = [[draw(st.sampled_from([None, None, None, *CLASSES])) for _ in row] for row in tokens]
    return World([*tokens, ["x"]], CLASSES, [*labels, [None]], seed=draw(st.integers(0, 10_000)))


def solve(world, stated, rho, top_k, beam):
    grounded = world.ground(stated, violations=True)
    found = grounded.violations
    here = Potentials(world.potentials.node[world.structure.positions(found.instances)], world.potentials.edge)
    return found, best_labellings(found, here, rho, top_k, beam, Workers())


def enumerated(world, s, chosen, rules, rho):
    """The full score of every labelling, relative to log Z."""
    ys = world.labellings(s)
    costs = [sum(r * d(world, s, y) for r, (_, d) in zip(rho, chosen, strict=True)) for y in ys]
    scores = np.where(world.agrees(s), world.log_p[s] - np.array(costs), -np.inf)
    banned = [any(rule(world, s, y) for _, rule in rules) for y in ys]
    return ys, np.where(banned, -np.inf, scores)


@settings(max_examples=150)
@given(
    world=worlds(),
    chosen=st.lists(st.sampled_from(range(len(SAID))), max_size=5, unique=True),
    banned=st.lists(st.sampled_from(range(len(RULES))), max_size=1),
    top_k=st.integers(1, 4),
    beam=st.sampled_from([1, 3, 100]),
    seed=st.integers(0, 1000),
)
@pytest.mark.filterwarnings("ignore::tiltfit.errors.TiltfitWarning")
def test_the_best_are_those_of_enumeration(world, chosen, banned, top_k, beam, seed):
    chosen, rules = [SAID[k] for k in chosen], [RULES[k] for k in banned]
    rho = np.random.default_rng(seed).choice([0.0, 0.5, 2.0, 6.0], size=len(chosen))
    try:
        violations, found = solve(
            world, [c for c, _ in chosen + rules], np.append(rho, np.zeros(len(rules))), top_k, beam
        )  # fmt: skip
    except ConflictError:  # known labels and rules together
        return
    structure = violations.structure
    for i, s in enumerate(violations.instances):
        ys, scores = enumerated(world, s, chosen, rules, rho)
        wanted = np.sort(scores)[::-1][:top_k]
        wanted = wanted[wanted > -np.inf]
        part = slice(*structure.offsets[i : i + 2]) if isinstance(structure, Chains) else slice(i, i + 1)
        rows = [tuple(CLASSES[k] for k in row) for row in found.labels[: np.sum(found.scores[i] > -np.inf), part]]
        got = np.array([scores[ys.index(row)] for row in rows])
        assert len(set(rows)) == len(rows)
        assert np.all(np.diff(got) <= 1e-9)
        np.testing.assert_allclose(np.diff(got), np.diff(found.scores[i, : len(got)]), atol=1e-9)
        if found.proven[i]:
            np.testing.assert_allclose(got, wanted, atol=1e-9)
        if beam == 100:  # all labellings there are
            assert found.proven[i]


def test_one_best_is_exact_with_whole_statistics_however_short_the_beam():
    world = World([list("xyzxyz")] * 3, CLASSES, seed=5, spread=2.0)
    chosen = [SAID[13], SAID[14]]
    rho = np.array([3.0, 4.0])
    _, found = solve(world, [c for c, _ in chosen], rho, 1, 1)
    assert found.proven.all()
    for s in range(3):
        ys, scores = enumerated(world, s, chosen, [], rho)
        got = tuple(CLASSES[k] for k in found.labels[0, world.structure.offsets[s] : world.structure.offsets[s + 1]])
        assert scores[ys.index(got)] == pytest.approx(scores.max())


def test_blocks_of_sequences_do_not_matter(monkeypatch):
    world = World([list("xyzxy"), list("zz"), list("yxyx")] * 3, CLASSES, seed=8)
    said, rho = [SAID[0][0], SAID[13][0], SAID[10][0], RULES[2][0]], np.array([1.0, 2.0, 3.0, 0.0])
    _, once = solve(world, said, rho, 3, 20)
    monkeypatch.setattr(penalised, "_ROOM", 50)
    _, often = solve(world, said, rho, 3, 20)
    np.testing.assert_array_equal(once.labels, often.labels)
    np.testing.assert_allclose(once.scores, often.scores)


def counted(world, constraint):
    tally = world.ground([constraint], violations=True).violations.tallies[0]
    return tally.kept, tally.violated, pytest.approx(tally.stated)


LABELLED = World(
    [list("xxy"), list("xyz"), list("zz"), list("xyx")],
    CLASSES,
    [["a", "a", "b"], ["b", "a", "b"], ["a", None], [None] * 3],
    weight=[1.0, 2.0, 1.0, 1.0],
)


@pytest.mark.parametrize(
    ("constraint", "kept", "violated", "stated"),
    [
        (expect("a", given=word("x")).about(0.8), 2.0, 2.0, 0.8),
        (expect("b", given=word("x")).at_most(0.1), 2.0, 2.0, 0.9),
        (expect("a", given=word("z")).about(1.0), 0.0, 2.0, 0.99),
        (expect.stay().at_least(0.7), 1.0, 5.0, 0.7),
        (expect.start("a").about(0.9), 1.0, 2.0, 0.9),
        (expect.change(given=word("y"), of=expect.change()).at_least(0.6), 3.0, 2.0, 0.6),
        (expect.segments("b", per="sequence").at_most(1), 1.0, 2.0, 0.5),
        (expect.repeats().at_most(0.3), 1.0, 2.0, 0.7),
        (expect("a", per="sequence").at_least(0.6), 1.0, 2.0, 0.5),
        (expect(given=word("y")).distributed_as({"a": 0.1, "b": 0.7, "c": 0.2}), 1.0, 2.0, 0.7),
    ],
)
def test_labelled_units_are_counted_by_hand(constraint, kept, violated, stated):
    assert counted(LABELLED, constraint) == (kept, violated, stated)
    tally = LABELLED.ground([constraint], violations=True).violations.tallies[0]
    odds = (kept + 2 * stated) / (violated + 2 * (1 - stated))
    assert tally.penalty == pytest.approx(max(0.0, math.log(odds)))


def test_rules_have_no_penalty():
    assert LABELLED.ground([expect.transition("c", "a").at_most(0)], violations=True).violations.tallies == (None,)
