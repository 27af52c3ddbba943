"""Adaptive online learning reaches what the batch solver reaches: Eq. 6 is the same, whoever minimises it."""

from __future__ import annotations

import numpy as np
import pytest

from tiltfit import TiltClassifier, TiltTagger, column, expect, punctuation, word

CLASSES = ["a", "b", "c"]
N = 160
NAMES = ["on", "county", "x", "y", "z"]
ON = column("on").above(0.5)


def documents():
    """Classes that overlap, so that the optimum is far from 0 and shares of it say something."""
    rng = np.random.default_rng(0)
    truth = rng.integers(3, size=N)
    X = 0.7 * rng.normal(size=(N, 5)) + np.eye(3)[truth] @ rng.normal(size=(3, 5))
    X[:, 0], X[:, 1] = rng.random(N) < 0.45, rng.integers(3, size=N)
    return X, [CLASSES[truth[i]] if i % 6 == 0 else None for i in range(N)]


SOFT = {
    "about": [expect("a", given=ON).about(0.6)],
    "l1": [expect("a", given=ON).about(0.6, penalty="l1")],
    "slack": [expect("a", given=ON).at_least(0.6, slack=0.1)],
    "distributed_as": [expect(given=ON).distributed_as({"a": 0.6, "b": 0.3, "c": 0.1})],
}
HARD = {
    "between": [expect("a", given=ON).between(0.6, 0.7)],
    "at_least": [expect("a", given=ON).at_least(0.6)],
    "at_most": [expect("a", given=ON).at_most(0.15)],
    "exactly": [expect("a", given=ON).exactly(0.6)],
    "rule": [expect("b", given=ON).at_most(0), expect("a", given=ON).about(0.6)],
    "each": [expect("a", given=ON, per="instance").at_least(0.6)],
    "groups": [expect("a", given=ON, per=column("county")).about(0.6)],
    "many": [
        *SOFT["about"],
        expect("b").between(0.2, 0.3),
        expect("c", given=~ON).at_least(0.4),
        expect(given=column("x").above(0)).distributed_as({"a": 0.3, "b": 0.3, "c": 0.4}),
    ],
}
BETA = {"unit": 0.05, "support": 1.0}


def classifier(constraints, scale, **options):
    # Batch fits revise targets by labels and choose a sharpness; online ones do neither.
    fixed = {"classes": CLASSES, "feature_names": NAMES, "random_state": 0, "revise": None, "sharpen": None}
    return TiltClassifier(constraints, scale=scale, beta=BETA[scale], **fixed, **options)


def alike(online, batch, objective, expectation):
    """The objective within that share, expectations under q and p within so much."""
    assert online.objective_ == pytest.approx(batch.objective_, rel=objective)
    assert online.objective_ >= batch.objective_ * (1 - 1e-5)  # nothing is below the least
    for found, wanted in zip(online.constraint_report_, batch.constraint_report_, strict=True):
        if wanted.projected is not None:
            assert found.projected == pytest.approx(wanted.projected, abs=expectation)
            assert found.model == pytest.approx(wanted.model, abs=expectation)


def within_dual_bounds(estimator):
    """−c·θ of every part of U is where U* is finite."""
    learner = estimator.stream_.learner
    ledger, rows = learner.ledger, np.arange(len(learner.ledger))
    total = ledger.total(rows, learner.growth)
    part, origin, duals = ledger._parts(rows, total)
    low, high = part.dual_bounds()
    eta = -total[origin] * duals
    assert np.all(np.isfinite(duals))
    assert np.all((low - 1e-9 <= eta) & (eta <= high + 1e-9))


def own_prices(estimator):
    """Prices as the learner has them."""
    learner = estimator.stream_.learner
    return dict(zip(learner.ledger.keys, learner.prices(), strict=True))


@pytest.mark.parametrize(
    ("name", "scale"),
    [
        *((name, "unit") for name in SOFT | HARD),
        *(
            pytest.param(name, "support", marks=[] if name in ("about", "distributed_as") else pytest.mark.exhaustive)
            for name in SOFT
        ),
    ],
)
def test_documents_converge_to_the_batch_solution(name, scale):
    """All rows in one step: gradients are exact, and so is where the steps come to rest."""
    X, y = documents()
    constraints = (SOFT | HARD)[name]
    batch = classifier(constraints, scale, tol=1e-6).fit(X, y)
    online = classifier(constraints, scale, solver="online", online={"passes": 250, "batch_size": N}).fit(X, y)
    alike(online, batch, objective=0.02, expectation=0.03)
    within_dual_bounds(online)
    for key, price in own_prices(online).items():
        assert price == pytest.approx(batch.prices_[key], abs=0.03)


@pytest.mark.parametrize("name", ["about", "l1", "exactly", "many"])
def test_small_steps_come_near(name):
    """A step sees a quarter of the rows."""
    X, y = documents()
    constraints = (SOFT | HARD)[name]
    batch = classifier(constraints, "unit", tol=1e-6).fit(X, y)
    online = classifier(constraints, "unit", solver="online", online={"passes": 60, "batch_size": 40}).fit(X, y)
    alike(online, batch, objective=0.05, expectation=0.05)


@pytest.mark.parametrize("name", ["about", "l1", "between", "at_least", "exactly", "distributed_as", "many"])
@pytest.mark.parametrize("scale", ["unit", "support"])
def test_prices_never_leave_the_bounds_of_the_dual(name, scale):
    X, y = documents()
    online = classifier((SOFT | HARD)[name], scale, online={"batch_size": 5})
    for start in range(0, N, 20):
        within_dual_bounds(online.partial_fit(X[start : start + 20], y[start : start + 20]))


def test_a_stream_that_repeats_comes_to_the_batch_solution_too():
    """With the number of rows declared, passes by partial_fit are passes of fit, but for the order."""
    X, y = documents()
    batch = classifier(HARD["many"], "unit", tol=1e-6).fit(X, y)
    online = classifier(HARD["many"], "unit", online={"batch_size": N, "horizon": N})
    for _ in range(150):
        online.partial_fit(X, y)
    assert np.abs(online.predict_proba(X) - batch.predict_proba(X)).mean() < 0.03


def sequences():
    rng = np.random.default_rng(2)
    X, y = [], []
    for s in range(70):
        labels = [int(rng.integers(3))]
        while len(labels) < rng.integers(2, 6):
            labels.append(labels[-1] if rng.random() < 0.6 else int(rng.integers(3)))
        words, others = ["red", "blue", "tall"], ["x", ",", "w"]
        tokens = [words[k] if rng.random() < 0.6 else str(rng.choice(others)) for k in labels]
        X.append(tokens)
        y.append([CLASSES[k] for k in labels] if s % 6 == 0 else None)
    return {"tokens": X, "style": [["p", "q"][s % 2] for s in range(70)]}, y


SAID = {
    "about": [expect("a", given=word("red")).about(0.9), expect.stay().about(0.8)],
    "l1": [expect.stay().about(0.75, penalty="l1")],
    "between": [expect("b", given=word("x")).between(0.5, 0.6)],
    "at_least": [expect.start("a", "b").at_least(0.8)],
    "at_most": [expect.change(given=punctuation.before).at_most(0.2)],
    "exactly": [expect.segments("c").exactly(0.5)],
    "distributed_as": [expect(given=word("w")).distributed_as({"a": 0.5, "b": 0.3, "c": 0.2})],
    "a count with a condition": [expect.segments("a", given=word("x")).about(0.15)],
    "each": [expect.segments("a", per="sequence").at_most(0.8)],
    "groups": [expect("a", per=column("style")).about(0.4)],
    "rule": [expect.transition("a", "c").at_most(0), expect.stay().about(0.8)],
    "share": [expect.change(given=punctuation.before, of=expect.change()).at_least(0.5)],
    "whole": [expect.repeats("a").at_most(0.05), expect.stay().about(0.8)],
}


AS_OF_DOCUMENTS = ("l1", "between", "at_most", "a count with a condition")  # or as what else is counted


@pytest.mark.parametrize(
    ("name", "scale"),
    [
        *(pytest.param(n, "unit", marks=pytest.mark.exhaustive if n in AS_OF_DOCUMENTS else []) for n in SAID),
        pytest.param("about", "support", marks=pytest.mark.exhaustive),
        ("distributed_as", "support"),
    ],
)
def test_sequences_converge_to_the_batch_solution(name, scale):
    X, y = sequences()
    fixed = {"classes": CLASSES, "scale": scale, "beta": BETA[scale], "random_state": 0, "inference": "exact"}
    fixed |= {"revise": None}
    batch = TiltTagger(SAID[name], solver="joint", tol=1e-5, **fixed).fit(X, y)
    passes = 160 if name == "each" else 100  # each q is so near to its p there that p is slow to follow
    online = TiltTagger(SAID[name], solver="online", online={"passes": passes, "batch_size": 70}, **fixed).fit(X, y)
    alike(online, batch, objective=0.05, expectation=0.05)
    within_dual_bounds(online)


def test_sampled_sequences_come_near_exact_ones():
    """Ten draws a sequence and a step, from the same weights on: what is sampled is what is computed, with noise."""
    X, y = sequences()
    options = {"solver": "online", "online": {"passes": 10, "batch_size": 35}, "random_state": 0, "classes": CLASSES}
    options |= {"beta": BETA["unit"]}  # what pulls harder takes small differences of weights apart
    exact, sampled = (TiltTagger(SAID["whole"], inference=how, **options).fit(X, y) for how in ("exact", "sampled"))
    assert np.isnan(sampled.objective_)
    found, wanted = (np.concatenate(model.predict_marginals(X)) for model in (sampled, exact))
    assert 1e-6 < np.abs(found - wanted).mean() < 0.05
