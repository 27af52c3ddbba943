"""Generative models: weights from counts in closed form, against scikit-learn and against numerical optimisation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import log_softmax
from sklearn.naive_bayes import BernoulliNB, MultinomialNB

from tiltfit.errors import DataError
from tiltfit.models.generative import BernoulliNaiveBayes, HiddenMarkov, MultinomialNaiveBayes, refuse_counts

CLASSES = ("a", "b", "c")
N, A = len(CLASSES), 4
RNG = np.random.default_rng(0)
X = RNG.poisson(0.8, size=(30, A)).astype(float)
Y = RNG.integers(N, size=30)
WEIGHT = RNG.uniform(0.5, 2.0, size=30)


def counts_of(X):
    onehot = np.eye(N)[Y] * WEIGHT[:, None]
    return np.concatenate([X.T @ onehot, onehot.sum(axis=0)[None]]).ravel()


def pseudo(alpha, of_classes):
    return np.concatenate([np.full(A * N, alpha), np.full(N, of_classes)])


@pytest.mark.parametrize("alpha", [1.0, 0.1])
@pytest.mark.parametrize(
    ("family", "theirs", "X"),
    [(MultinomialNaiveBayes, MultinomialNB, X), (BernoulliNaiveBayes, BernoulliNB, 1.0 * (X > 0))],
)
def test_naive_bayes_is_that_of_scikit_learn(family, theirs, X, alpha):
    weights = family(CLASSES).weights(counts_of(X), pseudo(alpha, 0.0)).reshape(-1, N)
    known = theirs(alpha=alpha).fit(X, Y, sample_weight=WEIGHT)
    np.testing.assert_allclose(X @ weights[:-1] + weights[-1], known.predict_joint_log_proba(X), rtol=1e-12)


def multinomial(free):
    """Any numbers → weights of a distribution."""
    table = free.reshape(-1, N)
    return np.concatenate([log_softmax(table[:-1], axis=0), log_softmax(table[-1])[None]]).ravel(), None


def bernoulli(free):
    logits, classes = free.reshape(-1, N)[:-1], log_softmax(free[-N:])
    absent = -np.logaddexp(0, logits)
    # Beta(1 + α, 1 + α) on every θ, Dirichlet(1 + α) on π
    prior = float(np.sum(0.7 * (-np.logaddexp(0, -logits) + absent)) + 0.3 * np.sum(classes))
    return np.concatenate([logits, (classes + absent.sum(axis=0))[None]]).ravel(), prior


def hidden(free):
    table = free.reshape(-1, N)  # attributes, start, end, transitions
    emitted, start = log_softmax(table[:A], axis=0), log_softmax(table[A])
    leaving = log_softmax(np.column_stack([table[A + 2 :], table[A + 1]]), axis=1)
    return np.concatenate([emitted.ravel(), start, leaving[:, -1], leaving[:, :-1].ravel()]), None


CASES = {
    "multinomial": (MultinomialNaiveBayes(CLASSES), multinomial, counts_of(X), pseudo(0.7, 0.3)),
    "bernoulli": (BernoulliNaiveBayes(CLASSES), bernoulli, counts_of(1.0 * (X > 0)), pseudo(0.7, 0.3)),
    "hmm": (
        HiddenMarkov(CLASSES), hidden, RNG.uniform(0, 5, size=(A + 2 + N) * N), np.full((A + 2 + N) * N, 0.7)
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", sorted(CASES))
def test_no_other_parameters_are_better(case):
    family, parameters, counts, alpha = CASES[case]
    found = family.weights(counts, alpha)

    def cost(free):
        weights, prior = parameters(free)
        mine = family.log_prior(weights, alpha)
        if prior is not None:
            assert mine == pytest.approx(prior, rel=1e-9)  # the prior is what its docstring says
        return -float(weights @ counts) - mine

    best = minimize(cost, np.zeros(len(counts)), method="BFGS", options={"gtol": 1e-6})
    assert -float(found @ counts) - family.log_prior(found, alpha) == pytest.approx(best.fun, abs=1e-6)
    np.testing.assert_allclose(found, parameters(best.x)[0], atol=1e-4)


def test_an_hmm_has_shares_of_emissions_starts_and_of_what_leaves_a_label():
    family, _, counts, alpha = CASES["hmm"]
    table = np.exp(family.weights(counts, alpha)).reshape(-1, N)
    np.testing.assert_allclose(table[:A].sum(axis=0), 1)
    np.testing.assert_allclose(table[A].sum(), 1)
    np.testing.assert_allclose(table[A + 2 :].sum(axis=1) + table[A + 1], 1)


@pytest.mark.parametrize("family", [MultinomialNaiveBayes, BernoulliNaiveBayes])
def test_a_class_without_prior_is_named(family):
    counts = counts_of(1.0 * (X > 0)).reshape(-1, N)
    counts[:, 1] = 0.0
    assert np.all(np.isfinite(family(CLASSES).weights(counts.ravel(), pseudo(1.0, 1.0))))
    with pytest.raises(DataError, match="class 'b' has no row.*penalize_intercept=True"):
        family(CLASSES).weights(counts.ravel(), pseudo(1.0, 0.0))


@pytest.mark.parametrize("as_kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("name", ["naive_bayes", "hmm"])
def test_negative_counts_are_named(as_kind, name):
    bad = np.array([[0.0, 1.0], [0.5, -2.0], [-1.0, 0.0]])
    refuse_counts(name, as_kind(np.abs(bad)), None)
    refuse_counts("maxent", as_kind(bad), None)
    with pytest.raises(DataError, match=rf"model='{name}'.*column 1 of X is -2 in row 1"):
        refuse_counts(name, as_kind(bad), None)
    with pytest.raises(DataError, match="column 'y' of X is -2 in row 1"):
        refuse_counts(name, as_kind(bad), ["x", "y"])


@pytest.mark.parametrize("as_kind", [np.asarray, sparse.csr_array])
def test_bernoulli_takes_zeros_and_ones(as_kind):
    refuse_counts("bernoulli_naive_bayes", as_kind(np.eye(3)), None)
    with pytest.raises(DataError, match="zeros and ones, but column 2 of X is 2 in row 2.*vectorizer='binary'"):
        refuse_counts("bernoulli_naive_bayes", as_kind(np.diag([1.0, 0.0, 2.0])), None)
