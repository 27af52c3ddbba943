"""Known labels enter O and its gradient as moments; scores and marginals at their positions must say the same."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from tiltfit.execution.workers import Workers
from tiltfit.features.attributes import AttributeFeatures
from tiltfit.features.chains import ChainFeatures
from tiltfit.inference.chain import Chains
from tiltfit.inference.independent import Independent
from tiltfit.inference.potentials import Potentials
from tiltfit.methods.problem import Problem
from tiltfit.models.log_linear import LogLinear
from tiltfit.projections.moment import Scattered, add_ridge


def problem(structure, with_base, labelled):
    """Twelve instances with three labels, unequal weights; under a base one label is forbidden at every position."""
    rng = np.random.default_rng(0)
    n, labels = 60 if structure == "chain" else 12, 3
    nodes = AttributeFeatures(sparse.csr_array((rng.random((n, 7)) < 0.4).astype(float)), labels, intercept=False)
    known = rng.integers(2, size=n)
    base = None
    if structure == "chain":
        chains = Chains(np.arange(0, 61, 5), rng.integers(2, size=n).astype(np.int32), 2)
        features, edge = ChainFeatures(nodes, np.array([[1.0, 0.0, 1.0], [1.0, 1.0, 0.0]])), rng.normal(size=(2, 3, 3))
        edge[1, 2, 2] = -np.inf
        model = LogLinear(features, chains)
        known[5 * labelled :] = -1
    else:
        edge, model = None, LogLinear(nodes, Independent(n))
        known[labelled:] = -1
    if with_base:
        node = rng.normal(size=(n, labels))
        node[:, 2] = -np.inf
        base = Potentials(node, edge)
    alpha = np.broadcast_to(np.float64(0.3), model.n_weights)
    model = LogLinear(model.features, model.structure, base)
    return Problem(model, known, rng.uniform(0.5, 2, size=12), alpha, 0.7, None, np.empty(0, np.intp))


@pytest.mark.parametrize("labelled", [12, 7])
@pytest.mark.parametrize("with_base", [False, True])
@pytest.mark.parametrize("structure", ["independent", "chain"])
def test_moments_of_known_labels_say_what_their_scores_say(structure, with_base, labelled):
    whole = problem(structure, with_base, labelled).active
    weights = np.random.default_rng(1).normal(size=whole.model.n_weights)
    before = weights.copy()
    got = whole.evaluate(weights, None, 1e-6)
    np.testing.assert_array_equal(weights, before)
    value, node, edge = whole.residual(weights, lambda here, log_z: pytest.fail("there are no constraints"))
    gradient = whole.model.features.expect(node, edge)
    value += add_ridge(whole.alpha, weights, gradient)
    assert got.value == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(got.gradient, gradient, atol=1e-12)


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("density", [0.0, 0.01, 1.0])
def test_a_scattered_target_is_that_target(workers, density):
    rng = np.random.default_rng(2)
    n = 3 * 2**14 + 77  # several blocks, and the last one short
    weights, before, target = rng.normal(size=(3, n))
    target[rng.random(n) >= density] = 0.0
    alpha = np.broadcast_to(np.float64(0.3), n)
    found = []
    for given in ({"target": target}, {"scattered": Scattered.of(target)}):
        gradient = before.copy()
        found.append((add_ridge(alpha, weights, gradient, Workers(workers), **given), gradient))
    (dense, expected), (few, gradient) = found
    assert few == pytest.approx(dense, rel=1e-12)
    assert dense == pytest.approx(0.15 * weights @ weights - weights @ target, rel=1e-9)
    np.testing.assert_allclose(gradient, expected, rtol=1e-14, atol=1e-14)
    np.testing.assert_allclose(expected, before + 0.3 * weights - target, atol=1e-12)
