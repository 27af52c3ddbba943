"""Stochastic gradient descent: the gradients of single instances add up, and rounds lead where the others lead."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from tiltfit import TiltClassifier, TiltTagger, column, expect, word
from tiltfit.methods import alternating_projections, descent

ADS = [
    ["big", "room", "call", "Ann"],
    ["sunny", "room", "call", "Bob"],
    ["big", "garden", "phone", "Ann"],
    ["call", "Eve"],
]
TAGS = [["size", "size", "contact", "contact"], None, ["size", None, None, None], None]
WORDS = [expect("contact", given=word("call") | word("phone")).about(0.9), expect.stay().about(0.7)]
PUCK = [expect("h", given=word("puck")).about(0.9), expect("b", given=word("ball")).about(0.8)]
TEXTS = ["puck ice", "puck goal", "bat ball", "ball base", "ice", "base"]


def caught(estimator, X, y=None):
    """The problem that an estimator makes of its data."""
    seen = []

    def stop(problem, start, run):
        seen.append(problem)
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        for name in ("joint", "sgd"):
            patch.setitem(alternating_projections.SOLVERS, name, stop)
        warnings.simplefilter("ignore")
        with pytest.raises(KeyboardInterrupt):
            estimator.fit(X, y)
    return seen[0].active


@pytest.mark.parametrize(
    ("estimator", "X", "y"),
    [
        (TiltTagger(WORDS, gamma=0.5), ADS, TAGS),
        (TiltTagger([*WORDS, expect.segments("size", per="sequence").at_most(1)]), ADS, TAGS),
        (TiltTagger([*WORDS, expect.repeats().at_most(0.1)], inference="exact"), ADS, TAGS),
        (TiltClassifier(PUCK), TEXTS, ["h", None, None, "b", None, None]),
        (TiltClassifier([expect("h", per="instance").at_most(0.7)], classes=["h", "b"]), TEXTS, None),
    ],
)  # fmt: skip
def test_gradients_of_instances_add_up_to_that_of_the_objective(estimator, X, y):
    problem = caught(estimator, X, y)
    weights = 0.3 * np.random.default_rng(0).normal(size=problem.model.n_weights)
    now = problem.evaluate(weights, None, 1e-10)
    tilted = descent._Tilted.of_round(problem, weights, now)
    total = problem.alpha * weights
    for i in range(len(problem.weight)):
        found = descent._Instance.of(problem, i).gradient(weights, tilted, np.random.default_rng(0))
        total = total if found is None else total + found
    np.testing.assert_allclose(total, now.gradient, atol=1e-6)


def test_rounds_lead_to_the_minimum():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exact = TiltTagger(WORDS).fit(ADS, TAGS)
        few, many = (TiltTagger(WORDS, solver="sgd", max_iter=n, tol=1e-6).fit(ADS, TAGS) for n in (3, 60))
    assert exact.objective_ < many.objective_ < few.objective_
    assert many.objective_ - exact.objective_ < 0.05 * (few.history_[0].objective - exact.objective_)
    assert many.predict(ADS) == exact.predict(ADS)


def test_sampled_q_descends_too():
    said = [*WORDS, expect.repeats().at_most(0.2)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tagger = TiltTagger(said, solver="sgd", max_iter=5, inference="sampled", random_state=0).fit(ADS, TAGS)
    assert tagger.predict(ADS)[0] == TAGS[0]
    assert len(tagger.history_) == 5


def test_groups_are_no_obstacle():
    X = {"tokens": ADS, "town": ["a", "a", "b", "b"]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tagger = TiltTagger(
            [expect("contact", per=column("town")).about(0.7)], solver="sgd", max_iter=5, classes=["contact", "size"]
        )
        assert len(tagger.fit(X).history_) == 5


def test_the_order_follows_random_state():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [TiltTagger(WORDS, solver="sgd", max_iter=2, random_state=s).fit(ADS, TAGS).coef_ for s in (0, 0, 1)]
    np.testing.assert_array_equal(found[0], found[1])
    assert not np.array_equal(found[0], found[2])
