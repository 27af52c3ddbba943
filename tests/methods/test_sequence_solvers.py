"""Learning on sequences: the objective by enumeration, its gradient, and both solvers.

The data are small enough to list every labelling, so that O(λ) can be computed from its definition.
"""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax
from tests.oracles import sequences as oracle
from tests.oracles.sequences import Said, World, begins, same_label

from tiltfit import column, expect, punctuation, word
from tiltfit.estimators.sequence_encoder import valid_only
from tiltfit.execution.workers import Workers
from tiltfit.features.attributes import AttributeFeatures
from tiltfit.features.chains import ChainFeatures
from tiltfit.features.observed import ObservedFeatures
from tiltfit.inference.chain import Chains
from tiltfit.language.scheme import invalid
from tiltfit.methods.alternating_projections import alternate
from tiltfit.methods.joint import solve_jointly
from tiltfit.methods.method import Run
from tiltfit.methods.problem import Problem
from tiltfit.methods.start import starting_point
from tiltfit.models.log_linear import LogLinear

PLAIN = ["x", "y", "z"]
BIO = ["B-N", "I-N", "O"]
TOKENS = [["a", ",", "b"], ["b", "a"], ["a", "b", ".", "a"], [","], ["b", ",", "a"]]
WEIGHT = [1.0, 2.0, 0.5, 1.5, 0.7]
COLUMNS = {"style": ["p", "q", "p", "q", "p"]}

LABELS = {
    "labelled": [["x", "y", "y"], ["z", "x"], ["x", "x", "z", "y"], ["y"], ["x", "x", "z"]],
    "unlabelled": None,
    "partly": [["x", None, "y"], [None, "x"], [None] * 4, ["y"], ["x", None, None]],
    "mixed": [["x", "y", "y"], [None, None], [None, "z", None, None], ["y"], [None] * 3],
}

SOFT = [
    Said(expect("x", given=word("a")).about(0.8), "token", lambda y, t: y[t] == "x", lambda x, t: x[t] == "a"),
    Said(expect.stay().about(0.7), "edge", same_label),
    Said(expect.segments("y", per="sequence").about(0.6), "segment", lambda y, t: begins(y, t, "y")),
    Said(expect.end("z", per=column("style")).about(0.5), "last", lambda y, t: y[t] == "z", group=COLUMNS["style"]),
    Said(expect().distributed_as({"x": 0.5, "y": 0.3, "z": 0.2}, beta=0.5)),
]
HARD = [
    Said(expect.segments("x", per="sequence").at_most(1.1), "segment", lambda y, t: begins(y, t, "x")),
    Said(expect.stay().at_most(0.5), "edge", same_label),
    Said(expect("z").between(0.2, 0.4), "token", lambda y, t: y[t] == "z"),
]
RULE = expect.transition("x", "y", given=punctuation).at_most(0)


def features_of(n_labels, *, observed=None, seed=0):
    """Random attributes of positions, two kinds of edges with two attributes."""
    rng = np.random.default_rng(seed)
    offsets = np.cumsum([0, *map(len, TOKENS)])
    structure = Chains(offsets, rng.integers(2, size=offsets[-1]).astype(np.int32), 2)
    X = sparse.csr_array(np.where(rng.random((offsets[-1], 4)) < 0.6, rng.normal(size=(offsets[-1], 4)), 0.0))
    nodes = AttributeFeatures(X, n_labels, intercept=False)
    if observed is not None:
        nodes = ObservedFeatures.of(X, observed, n_labels, Workers())
    return ChainFeatures(nodes, np.array([[1.0, 0.0], [1.0, 1.0]])), structure


def codes(labels, classes):
    number = {c: k for k, c in enumerate(classes)}
    rows = labels if labels is not None else [[None] * len(x) for x in TOKENS]
    return np.array([number.get(v, -1) for row in rows for v in row], dtype=np.intp)


def make(labels="mixed", statements=(), *, gamma=1.0, classes=PLAIN, valid=False, observed=False, alpha=0.3, extra=()):
    """A problem, and the world in which the same can be said by enumeration."""
    given = LABELS[labels] if isinstance(labels, str) else labels
    numbers = codes(given, classes)
    features, structure = features_of(len(classes), observed=numbers if observed else None)
    model = LogLinear(features, structure, valid_only(classes, structure) if valid else None)
    world = replace(World(TOKENS, classes, given, WEIGHT, COLUMNS), n_kinds=2)
    world.__dict__["structure"] = structure  # the chains of the model
    constraints = [s.constraint for s in statements] + list(extra)
    grounded = world.ground(constraints)
    weight = np.array(WEIGHT)
    alphas = np.linspace(0.5, 1.5, model.n_weights) * alpha
    problem = Problem(model, numbers, weight, alphas, gamma, grounded.tilt, grounded.touched)
    return problem, world


def at(world, problem, weights):
    """The world with the model's potentials at these weights."""
    there = replace(world)
    there.__dict__["structure"] = problem.model.structure
    there.__dict__["potentials"] = problem.model.potentials(weights)
    return there


def loss(world, problem, weights):
    """Σ −w log p(known) over labelled sequences, γ times that over partly labelled ones, and the ridge."""
    there, total = at(world, problem, weights), 0.5 * float(problem.alpha @ weights**2)
    for s in range(world.n):
        omega = 1.0 if not world.undecided(s) else problem.gamma
        total -= omega * world.weights[s] * float(logsumexp(there.log_p[s][world.agrees(s)]))
    return total


def random_weights(problem, seed=0, spread=0.5):
    return spread * np.random.default_rng(seed).normal(size=problem.model.n_weights)


@pytest.mark.parametrize("labels", ["labelled", "partly"])
@pytest.mark.parametrize("gamma", [0.3, 2.0])
def test_without_constraints_it_is_the_marginal_likelihood_of_what_is_known(labels, gamma):
    problem, world = make(labels, gamma=gamma)
    for seed in range(3):
        weights = random_weights(problem, seed)
        assert problem.evaluate(weights, None, 1e-9).value == pytest.approx(loss(world, problem, weights), rel=1e-9)


@pytest.mark.parametrize("labels", ["unlabelled", "mixed", "partly"])
@pytest.mark.parametrize("statements", [SOFT, HARD], ids=["soft", "hard"])
def test_with_constraints_it_is_the_least_over_q(labels, statements):
    if labels == "partly":
        statements = [s for s in statements if not s.constraint.is_hard or s.constraint.per == "sequence"]
    problem, world = make(labels, statements, gamma=0.6)
    weights = random_weights(problem)
    got = problem.evaluate(weights, None, 1e-9)
    there = at(world, problem, weights)
    rows = oracle.all_rows(world, statements)
    dual = oracle.dual_value(there, rows, got.projection.prices, oracle.allowed_by(world))
    known = sum(
        -world.weights[s] * float(there.log_p[s][world.agrees(s)][0]) for s in range(world.n) if not world.undecided(s)
    )
    ridge = 0.5 * float(problem.alpha @ weights**2)
    assert got.value == pytest.approx(known + ridge + 0.6 * dual, rel=1e-9)
    assert got.gap < 1e-6


CASES = {
    "labelled": {"labels": "labelled"},
    "partly": {"labels": "partly", "gamma": 0.4},
    "soft": {"labels": "unlabelled", "statements": SOFT},
    "soft, mixed": {"labels": "mixed", "statements": SOFT, "gamma": 0.4},
    "hard, mixed": {"labels": "mixed", "statements": HARD, "gamma": 2.0},
    "rules": {"labels": "mixed", "statements": SOFT[:2], "extra": [RULE], "gamma": 0.7},
    "shares": {
        "labels": "mixed",
        "extra": [expect.change(given=punctuation.before, of=expect.change()).between(0.6, 0.8)],
    },
    "observed": {"labels": "mixed", "statements": SOFT, "observed": True},
    "valid": {
        "labels": [["O", "B-N", "I-N"], [None, "I-N"], [None] * 4, ["B-N"], [None, None, "O"]],
        "classes": BIO,
        "valid": True,
        "extra": [expect.segments("N", per="sequence").about(0.9), expect.stay().about(0.6)],
    },
}


@pytest.mark.parametrize("case", sorted(CASES))
def test_gradient_by_finite_differences(case):
    problem, _ = make(**CASES[case])
    weights = random_weights(problem, 1)
    now = problem.evaluate(weights, None, 1e-9)
    duals = None if now.projection is None else now.projection.start
    rng, h = np.random.default_rng(2), 1e-4
    n = problem.model.features.nodes.n_weights
    # Directions among the weights of positions, of transitions, and of both.
    for part in (slice(0, n), slice(n, None), slice(None)):
        direction = np.zeros(len(weights))
        direction[part] = rng.normal(size=len(direction[part]))
        up, down = (problem.evaluate(weights + sign * h * direction, duals, 1e-9).value for sign in (1, -1))
        assert (up - down) / (2 * h) == pytest.approx(float(now.gradient @ direction), rel=1e-6, abs=2e-6)


def test_forbidden_sequences_have_no_share_in_a_valid_model():
    problem, world = make(**CASES["valid"])
    weights = random_weights(problem, 2)
    there = at(world, problem, weights)
    start, _, pair = invalid(BIO)
    for s in range(world.n):
        for y, log_p in zip(there.labellings(s), there.log_p[s], strict=True):
            numbers = [BIO.index(label) for label in y]
            bad = start[numbers[0]] or any(pair[a, b] for a, b in itertools.pairwise(numbers))
            assert (log_p == -np.inf) == bad
    p = problem.model.infer(weights)
    for s, (a, b) in enumerate(itertools.pairwise(world.structure.offsets)):
        np.testing.assert_allclose(p.node[a:b], oracle.node_marginals(there, there.p)[s], atol=1e-12)


@pytest.mark.parametrize("case", ["partly", "soft, mixed", "hard, mixed", "rules", "shares", "valid"])
def test_objective_falls_at_every_half_step(case):
    problem, _ = make(**CASES[case])
    fit = alternate(problem, random_weights(problem, 3), Run(max_iter=8, tol=1e-9), inner_tol=1e-8)
    values = [v for r in fit.history for v in (r.information, r.moment)]
    assert len(values) > 4
    assert values[-1] < values[0] - 1e-4
    assert all(later <= earlier + 1e-8 * (1 + abs(earlier)) for earlier, later in itertools.pairwise(values))


@pytest.mark.parametrize("case", ["soft, mixed", "hard, mixed", "rules", "shares", "valid"])
def test_both_solvers_reach_the_same_point(case):
    problem, _ = make(**CASES[case])
    start = np.zeros(problem.model.n_weights)
    slow = alternate(problem, start, Run(max_iter=3000, tol=1e-9), inner_tol=1e-7)
    fast = solve_jointly(problem, start, Run(max_iter=500, tol=1e-9))
    assert slow.converged
    assert fast.converged
    assert fast.objective == pytest.approx(slow.objective, abs=1e-6)
    np.testing.assert_allclose(fast.weights, slow.weights, atol=2e-3)
    assert problem.evaluate(fast.weights, None, 1e-8).steepest < 1e-4


def counted(world, problem, s):
    """f(x_s, y) of every labelling: how often each weight is used, counted from the definition."""
    model, n_labels = problem.model, len(world.classes)
    X, kinds = model.features.nodes.X.toarray(), model.features.kinds
    start = model.structure.offsets[s]
    found = []
    for y in itertools.product(range(n_labels), repeat=len(world.tokens[s])):
        node, edge = np.zeros((X.shape[1], n_labels)), np.zeros((kinds.shape[1], n_labels, n_labels))
        for t, label in enumerate(y):
            node[:, label] += X[start + t]
            if t > 0:
                edge[:, y[t - 1], label] += kinds[model.structure.kind[start + t]]
        found.append(np.concatenate([node.ravel(), edge.ravel()]))
    return np.array(found)


@pytest.mark.parametrize("labels", ["labelled", "partly"])
def test_fit_to_labels_is_the_direct_minimum(labels):
    problem, world = make(labels, gamma=0.5)
    features = [counted(world, problem, s) for s in range(world.n)]

    def direct(w):
        value, gradient = 0.5 * float(problem.alpha @ w**2), problem.alpha * w
        for s, F in enumerate(features):
            omega = world.weights[s] * (problem.gamma if world.undecided(s) else 1.0)
            scores, known = F @ w, np.where(world.agrees(s), 0.0, -np.inf)
            value += omega * float(logsumexp(scores) - logsumexp(scores + known))
            gradient = gradient + omega * (softmax(scores) - softmax(scores + known)) @ F
        return value, gradient

    best = minimize(direct, np.zeros(problem.model.n_weights), jac=True, method="BFGS", options={"gtol": 1e-7})
    for solver in (solve_jointly, alternate):
        fit = solver(problem, np.zeros(problem.model.n_weights), Run(max_iter=2000, tol=1e-6))
        assert fit.objective == pytest.approx(best.fun, rel=1e-7)
        np.testing.assert_allclose(fit.weights, best.x, atol=2e-3)


def test_untouched_sequences_add_nothing():
    labels = [["x", "y", "y"], [None, None], [None] * 4, [None], [None] * 3]
    touching = expect("x", given=word(".")).about(0.9)  # sequence 2 alone
    problem, world = make(labels, extra=[touching])
    assert problem.touched.tolist() == [2]
    assert len(problem.active.weight) == 2
    weights = random_weights(problem, 4)
    now, there = problem.evaluate(weights, None, 1e-9), at(world, problem, weights)
    fires = Said(touching, "token", lambda y, t: y[t] == "x", lambda x, t: x[t] == ".")
    projection = oracle.dual_value(
        there, oracle.all_rows(world, [fires]), now.projection.prices, oracle.allowed_by(world)
    )
    known = -float(there.log_p[0][world.agrees(0)][0]) + 0.5 * float(problem.alpha @ weights**2)
    assert now.value == pytest.approx(known + projection, rel=1e-9)
    # Where an untouched sequence is left in, the moments of p cancel those of q.
    whole = Problem(
        problem.model, problem.labels, problem.weight, problem.alpha, problem.gamma, problem.tilt, problem.touched
    )
    whole.__dict__["active"] = whole
    left_in = whole.evaluate(weights, None, 1e-9)
    assert left_in.value == pytest.approx(now.value, rel=1e-12)


def test_observed_weights_are_all_weights_with_the_others_at_zero():
    some, _ = make("mixed", SOFT, observed=True, alpha=1.0)
    every, _ = make("mixed", SOFT, alpha=1.0)
    table = some.model.features.nodes.table(np.arange(1.0, some.model.features.nodes.n_weights + 1))
    free = np.concatenate([table.ravel() > 0, np.ones(2 * 9, dtype=bool)])
    assert 0 < free.sum() == some.model.n_weights < every.model.n_weights
    weights = random_weights(some, 5)
    spread = np.zeros(every.model.n_weights)
    spread[free] = weights
    some = replace(some, alpha=np.full(some.model.n_weights, 0.4))
    every = replace(every, alpha=np.full(every.model.n_weights, 0.4))
    a, b = some.evaluate(weights, None, 1e-9), every.evaluate(spread, None, 1e-9)
    assert a.value == pytest.approx(b.value, rel=1e-9)
    np.testing.assert_allclose(a.gradient, b.gradient[free], atol=1e-7)
    # The same minimum, when the others may not move.
    one = solve_jointly(some, np.zeros(some.model.n_weights), Run(max_iter=500, tol=1e-6))
    two = minimize(
        lambda w: _restricted(every, w, free), np.zeros(free.sum()), jac=True, method="BFGS", options={"gtol": 1e-5}
    )
    assert one.objective == pytest.approx(two.fun, abs=1e-6)


def _restricted(problem, weights, free):
    spread = np.zeros(problem.model.n_weights)
    spread[free] = weights
    now = problem.evaluate(spread, None, 1e-9)
    return now.value, now.gradient[free]


def test_supervised_start_is_the_fit_to_labelled_sequences_alone():
    problem, _ = make("mixed", SOFT)
    labelled = problem.take(problem.labelled)
    assert labelled.tilt is None
    start = starting_point("supervised", problem, np.random.default_rng(0), 1e-6)
    fit = solve_jointly(labelled, np.zeros(problem.model.n_weights), Run(max_iter=500, tol=1e-6))
    np.testing.assert_allclose(start, fit.weights, atol=1e-3)


def test_constraints_start_is_one_moment_projection_onto_q():
    problem, _ = make("unlabelled", SOFT[:2])
    start = starting_point("constraints", problem, np.random.default_rng(0), 1e-8)
    zeros = np.zeros(problem.model.n_weights)
    active = problem.active
    now = active.evaluate(zeros, None, 1e-9)
    # argmin_λ Σ ω log Z_λ − λ·T + ½‖λ‖²_α has the gradient Σ ω E_p[f] − T + α∘λ = 0.
    target = active.model.moments(zeros, active.omega).expectation - now.gradient
    gradient = active.model.moments(start, active.omega).expectation - target + active.alpha * start
    assert np.abs(gradient).max() < 1e-5 * np.abs(now.gradient).max()


def test_weight_two_is_the_sequence_twice():
    labels = [["x", "y", "y"], [None, None], [None] * 4, ["y"], [None] * 3]
    problem, _ = make(labels, SOFT[:2] + SOFT[4:])
    twice = np.repeat(np.arange(5), [1, 2, 1, 2, 1])
    structure, positions = problem.model.structure, problem.model.structure.positions(twice)
    model = LogLinear(problem.model.features.take(positions), structure.take(twice))
    world = World(
        [TOKENS[s] for s in twice], PLAIN, [labels[s] for s in twice], [WEIGHT[s] for s in twice],
        {"style": [COLUMNS["style"][s] for s in twice]},
    )  # fmt: skip
    world.__dict__["structure"] = model.structure
    grounded = world.ground([s.constraint for s in SOFT[:2] + SOFT[4:]])
    weight = np.array(WEIGHT)[twice]
    copied = Problem(model, problem.labels[positions], weight, problem.alpha, 1.0, grounded.tilt, grounded.touched)
    heavy, _ = make(labels, ())
    heavier = World(TOKENS, PLAIN, labels, [w * n for w, n in zip(WEIGHT, [1, 2, 1, 2, 1], strict=True)], COLUMNS)
    heavier.__dict__["structure"] = structure
    grounded = heavier.ground([s.constraint for s in SOFT[:2] + SOFT[4:]])
    heavy = replace(heavy, weight=heavier.weights, tilt=grounded.tilt, touched=grounded.touched)
    weights = random_weights(heavy, 6)
    one, two = (p.evaluate(weights, None, 1e-9) for p in (copied, heavy))
    assert one.value == pytest.approx(two.value, rel=1e-9)
    np.testing.assert_allclose(one.gradient, two.gradient, atol=1e-7)
