"""``Problem.narrow``: a few instances with the weights and rows that matter there are the same problem, restricted.

At given weights and prices p and q of an instance do not depend on the others, and gradients are sums over instances:
what any parts of a problem say must be what the whole says.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from tiltfit import TiltClassifier, TiltTagger, column, expect, first, punctuation, word
from tiltfit.estimators import stream
from tiltfit.estimators.options import Options
from tiltfit.features.chains import ChainFeatures

CLASSES = ["a", "b", "c"]
N = 12


def chunk(model, X, y, weight):
    """The problem that ``partial_fit`` makes of the first rows of a stream."""
    stream._begin(model, Options.of(model), X, y, None)
    return stream._chunk(model, X, y, None, weight)


def documents(constraints, *, dense=False):
    rng = np.random.default_rng(3)
    X = np.where(rng.random((N, 6)) < 0.5, rng.normal(size=(N, 6)), 0.0)
    X[:, 0], X[:, 1] = rng.random(N) < 0.5, rng.integers(3, size=N)
    y = [None if i % 4 else CLASSES[i % 3] for i in range(N)]
    model = TiltClassifier(constraints, classes=CLASSES, gamma=0.7, feature_names=["on", "county", *"wxyz"])
    X = X if dense else sparse.csr_array(X)
    return chunk(model, X, y, rng.random(N) + 0.5)


def sequences(constraints, *, inference="auto", single=False):
    rng = np.random.default_rng(4)
    tokens = [["x", "y", ",", "z"][k] for k in rng.integers(4, size=60)]
    lengths = [1, 4, 1, 3, 5, 2, 1, 4, 3, 5, 2, 4] if not single else [1] * N
    ends = np.cumsum(lengths)
    X = [tokens[e - n : e] for n, e in zip(lengths, ends, strict=True)]
    y = [None] * N
    y[3], y[7] = ["a", "b", "b"], ["c", "c", "a", "a"]
    y[8], y[9] = ["a", None, None], [None, None, "b", None, "c"]  # partly labelled
    if single:
        y = [None] * N
    model = TiltTagger(constraints, classes=CLASSES, gamma=0.7, inference=inference)
    data = {"tokens": X, "style": [["p", "q", "r"][k] for k in rng.integers(3, size=N)]}
    return chunk(model, data, y, rng.random(N) + 0.5)


ON = column("on").above(0.5)
SHARED = [expect("a", given=ON).about(0.9), expect("b").between(0.2, 0.5), expect("c", given=~ON).at_least(0.3)]
LOCAL = expect("a", "b", given=ON, per="instance").at_least(0.6)
STAY = expect.stay().about(0.7)
SEQUENCE = expect.segments("b", per="sequence").at_most(1.2)

CASES = {
    "documents, labels": lambda: documents([]),
    "documents, shared": lambda: documents(SHARED),
    "documents, dense": lambda: documents(SHARED, dense=True),
    "documents, distribution": lambda: documents([expect(given=ON).distributed_as({"a": 0.6, "b": 0.3, "c": 0.1})]),
    "documents, groups": lambda: documents([expect("a", per=column("county")).about(0.5), SHARED[1]]),
    "documents, rules": lambda: documents([*SHARED, expect("b", given=ON).at_most(0)]),
    "documents, each": lambda: documents([*SHARED, LOCAL, expect(per="instance").distributed_as({"a": 0.6, "b": 0.4})]),
    "documents, each alone": lambda: documents([LOCAL]),
    "chains, labels": lambda: sequences([]),
    "chains, shared": lambda: sequences(
        [expect("a", given=word("x")).about(0.9), STAY, expect.start("a").about(0.5), expect.end("c").at_most(0.4)]
    ),
    "chains, tokens alone": lambda: sequences([expect("a", given=word("x")).about(0.9), STAY], single=True),
    "chains, counts": lambda: sequences(
        [expect("a", given=word("x")).about(0.9), expect.segments("b", given=word("z")).about(0.3)]
    ),
    "chains, groups": lambda: sequences([STAY, expect("b", per=column("style")).about(0.4)]),
    "chains, rules": lambda: sequences(
        [
            STAY,
            expect.transition("a", "b", given=punctuation).at_most(0),
            expect("c", given=first & word("x")).at_most(0),
        ]
    ),
    "chains, shares": lambda: sequences(
        [STAY, expect.change(given=punctuation.before, of=expect.change()).between(0.6, 0.8)]
    ),
    "chains, each": lambda: sequences([STAY, SEQUENCE]),
    "chains, whole": lambda: sequences([STAY, expect.repeats("a").at_most(0.2)], inference="exact"),
    "chains, whole, each": lambda: sequences(
        [STAY, SEQUENCE, expect.repeats("a", per="sequence").about(0.1)], inference="exact"
    ),
}
CASES = {name: cache(make) for name, make in CASES.items()}


def prices_of(problem, seed=0):
    n = 0 if problem.tilt is None else problem.tilt.features.n_rows
    return np.random.default_rng(seed).normal(size=n)


def tables_of(problem, seed=1):
    """Weights as tables: of positions, and of edges (none for documents)."""
    features, n_labels = problem.model.features, problem.model.features.n_labels
    edges = features.kinds.shape[1] if isinstance(features, ChainFeatures) else 0
    rng = np.random.default_rng(seed)
    n_nodes = (problem.model.n_weights - edges * n_labels**2) // n_labels
    return rng.normal(size=(n_nodes, n_labels)), rng.normal(size=(edges, n_labels, n_labels))


def residual(problem, weights, prices):
    """(p − q)·ω on nodes, its moments, and q with log Z, at prices of the shared rows; each instance's own are
    solved."""
    found = []

    def projected(here, log_z):
        tilt = problem.tilt
        potentials = tilt.features.tilted(tilt.base(here, log_z), prices)
        if tilt.instances is None:
            q = tilt.infer(potentials)
        else:
            start = np.zeros(len(tilt.instances))
            q = tilt.instances.solve(potentials, start, 200.0, tilt.workers, 1e-13)[0]
        found.append((q.node.copy(), q.log_z.copy(), None if q.whole is None else q.whole.copy()))
        return q

    loss, node, edge = problem.residual(weights, projected)
    return loss, node.copy(), problem.model.features.expect(node, edge).copy(), found[0] if found else None


def narrowed(problem, tables, prices, instances):
    """The same of a few instances, the gradient scattered back to all weights."""
    few, which, rows = problem.narrow(instances)
    weights = np.concatenate([tables[0][which].ravel(), tables[1].ravel()])
    loss, node, gradient, q = residual(few, weights, prices[rows])
    on_nodes, split = np.zeros_like(tables[0]), len(which) * tables[0].shape[1]
    on_nodes[which] = gradient[:split].reshape(len(which), -1)
    return few, loss, node, np.concatenate([on_nodes.ravel(), gradient[split:]]), q


@pytest.mark.parametrize("case", sorted(CASES))
@given(data=st.data())
@settings(max_examples=8)
def test_parts_say_what_the_whole_says(case, data):
    problem, _ = CASES[case]()
    order = np.array(data.draw(st.permutations(range(N))))
    cuts = sorted(data.draw(st.sets(st.integers(1, N - 1), max_size=N - 1)))
    parts = np.split(order, cuts)
    tables, prices = tables_of(problem), prices_of(problem)
    weights = np.concatenate([t.ravel() for t in tables])
    loss, node, gradient, q = residual(problem, weights, prices)
    if problem.tilt is not None:
        assert q is not None
        q_at = problem.tilt.structure.positions
    total_loss, total_gradient = 0.0, np.zeros_like(gradient)
    for part in parts:
        few, its_loss, its_node, its_gradient, its_q = narrowed(problem, tables, prices, part)
        np.testing.assert_allclose(its_node, node[problem.model.structure.positions(part)], atol=1e-10)
        total_loss, total_gradient = total_loss + its_loss, total_gradient + its_gradient
        place = problem.place_in_tilt[part]
        place = place[place >= 0]
        assert (its_q is None) == (len(place) == 0)
        if its_q is not None:
            np.testing.assert_allclose(its_q[0], q[0][q_at(place)], atol=1e-10)
            np.testing.assert_allclose(its_q[1], q[1][place], atol=1e-10)
            if q[2] is not None:
                np.testing.assert_allclose(its_q[2], q[2][place], atol=1e-10)
        assert np.array_equal(few.weight, problem.weight[part])
        assert np.array_equal(few.labels, problem.labels[problem.model.structure.positions(part)])
    np.testing.assert_allclose(total_gradient, gradient, atol=1e-9)
    assert total_loss == pytest.approx(loss, abs=1e-9)


@pytest.mark.parametrize("case", sorted(CASES))
@given(instances=st.lists(st.integers(0, N - 1), min_size=1, max_size=5, unique=True))
@settings(max_examples=15)
def test_only_what_matters_there_is_left(case, instances):
    problem, grounded = CASES[case]()
    instances = np.array(instances)
    few, which, rows = problem.narrow(instances)
    features, positions = problem.model.features, problem.model.structure.positions(instances)
    nodes = features.nodes if isinstance(features, ChainFeatures) else features
    if sparse.issparse(nodes.X):
        occurring = np.unique(sparse.csr_array(nodes.X)[positions].indices)
        expected = np.append(occurring, nodes.n_attributes) if nodes.intercept else occurring
        assert np.array_equal(which, expected)
    if few.tilt is not None:
        # A row fires where it has support; and so does the mean number of something where there is none of it.
        met = np.unique(sparse.csr_array(grounded.by_instance[instances]).indices)
        counts = [constraint.event.counts for constraint in grounded.constraints]
        idle = np.setdiff1d(met, rows)
        assert np.all(np.isin(rows, met))
        assert all(counts[grounded.owner[r]] for r in idle)
        assert np.array_equal(few.tilt.support, problem.tilt.support[rows])
        assert np.array_equal(few.tilt.weight, problem.tilt.weight[problem.place_in_tilt[instances][few.touched]])
    assert len(few.touched) == np.sum(problem.is_touched[instances])


@pytest.mark.parametrize("case", sorted(CASES))
def test_supports_by_instance_add_up(case):
    _, grounded = CASES[case]()
    if grounded.by_instance is not None:
        n = grounded.by_instance.shape[1]
        np.testing.assert_allclose(np.asarray(grounded.by_instance.sum(axis=0)).ravel(), grounded.support[:n])


@pytest.mark.parametrize("case", ["documents, distribution", "chains, shared", "chains, shares", "chains, whole, each"])
@given(keep=st.lists(st.booleans(), min_size=12, max_size=12))
@settings(max_examples=15)
def test_split_features_together_are_the_whole(case, keep):
    problem, _ = CASES[case]()
    tilt = problem.tilt
    n = tilt.features.n_rows
    inside = np.resize(np.array(keep), n)
    prices = prices_of(problem)
    one, two = tilt.features.split(np.flatnonzero(inside))
    whole, a, b = tilt.features.score(prices), one.score(prices[inside]), two.score(prices[~inside])
    for name in ("node", "edge", "whole"):
        if getattr(whole, name) is not None:
            np.testing.assert_allclose(getattr(a, name) + getattr(b, name), getattr(whole, name), atol=1e-12)
    base = tilt.structure.infer(whole, weight=tilt.weight)
    sums = tilt.features.weighted(base, tilt.structure, tilt.weight)
    np.testing.assert_allclose(one.weighted(base, tilt.structure, tilt.weight), sums[inside], atol=1e-12)
    np.testing.assert_allclose(two.weighted(base, tilt.structure, tilt.weight), sums[~inside], atol=1e-12)
