"""The moment projection against scikit-learn and against its own moment-matching condition."""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy import sparse
from scipy.optimize import check_grad
from sklearn.linear_model import LogisticRegression

from tiltfit.features.attributes import AttributeFeatures
from tiltfit.inference.independent import Independent
from tiltfit.models.log_linear import LogLinear
from tiltfit.projections.moment import moment_objective, moment_projection


def random_problem(seed, n=60, d=5, n_labels=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.5)
    model = LogLinear(AttributeFeatures(sparse.csr_array(X), n_labels), Independent(len(X)))
    return rng, X, model


def test_same_weights_as_scikit_learn_on_hard_labels():
    rng, X, model = random_problem(0)
    y = rng.integers(3, size=len(X))
    weight = rng.uniform(0.5, 2, size=len(X))
    onehot = np.eye(3)[y] * weight[:, None]
    alpha = np.full(model.n_weights, 0.7)
    model.features.unpack(alpha)[1][:] = 0.0  # scikit-learn does not penalise the intercept
    found = moment_projection(
        partial(model.moments, weight=weight),
        model.features.expect(onehot),
        alpha,
        np.zeros(model.n_weights),
        gradient_tol=1e-8,
        max_iter=500,
    )
    theirs = LogisticRegression(C=1 / 0.7, tol=1e-10, max_iter=5000).fit(X, y, sample_weight=weight)
    W, b = model.features.unpack(found.x)
    np.testing.assert_allclose(W.T, theirs.coef_, atol=1e-5)
    np.testing.assert_allclose(b - b.mean(), theirs.intercept_ - theirs.intercept_.mean(), atol=1e-5)


def test_model_moments_match_target_moments_at_the_optimum():
    rng, _, model = random_problem(1)
    q = rng.dirichlet(np.ones(3), size=60)
    target = model.features.expect(q)
    alpha = np.full(model.n_weights, 0.1)
    found = moment_projection(
        partial(model.moments, weight=np.ones(60)), target, alpha, np.zeros(model.n_weights),
        gradient_tol=1e-9, max_iter=500,
    )  # fmt: skip
    expected = model.moments(found.x, np.ones(60)).expectation
    np.testing.assert_allclose(expected + alpha * found.x, target, atol=1e-7)


def test_gradient_by_finite_differences():
    rng, _, model = random_problem(2)
    target = model.features.expect(rng.dirichlet(np.ones(3), size=60))
    alpha = rng.uniform(0.1, 1, model.n_weights)

    def at(weights):
        return moment_objective(model.moments(weights, np.ones(60)), weights, target, alpha)

    point = rng.normal(size=model.n_weights)
    assert check_grad(lambda w: at(w)[0], lambda w: at(w)[1], point) < 1e-4
