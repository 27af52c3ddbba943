"""Custom objectives of boosters: the libraries themselves where they are installed, and their calls where not."""

from __future__ import annotations

import numpy as np
import pytest

from tiltfit import expect, objective, word
from tiltfit.boosting import booster_objective
from tiltfit.errors import DataError, UnsupportedError

RNG = np.random.default_rng(0)
TRUTH = RNG.integers(0, 3, 240)
VECTORS = np.eye(3)[TRUTH] + 0.3 * RNG.normal(size=(240, 3))
TEXTS = [f"{'abc'[k]} x" if RNG.random() < 0.5 else "x" for k in TRUTH]
SAID = [expect(label, given=word(name)).about(0.9) for label, name in zip("uvw", "abc", strict=True)]


def loss():
    return objective(SAID, TEXTS, classes=list("uvw"))


def test_what_boosters_get():
    o = loss()
    scores = RNG.normal(size=(240, 3))
    gradient, hessian = booster_objective(o)(scores, None)
    np.testing.assert_allclose(gradient, o.value_and_grad(scores)[1], atol=1e-8)
    np.testing.assert_allclose(hessian, o.hess(scores), atol=1e-15)
    assert hessian.min() > 0


def test_one_score_of_two_classes():
    o = objective([expect("h", given=word("puck")).about(0.9)], ["puck", "bat"], classes=["b", "h"])
    one, _ = booster_objective(o)(np.array([0.3, -0.2]), None)
    both, _ = booster_objective(o)(np.array([[0.0, 0.3], [0.0, -0.2]]), None)
    np.testing.assert_allclose(one, both[:, 1])


def test_lightgbm():
    lightgbm = pytest.importorskip("lightgbm")
    o = loss()
    options = {"objective": booster_objective(o), "num_class": 3, "verbose": -1, "num_threads": 1, "seed": 0}
    booster = lightgbm.train(options, lightgbm.Dataset(VECTORS), num_boost_round=80)
    scores = booster.predict(VECTORS, raw_score=True)
    assert np.mean(scores.argmax(axis=1) == TRUTH) > 0.9
    assert o.value_and_grad(scores)[0] < 0.1 * o.value_and_grad(np.zeros_like(scores))[0]


def test_xgboost():
    xgboost = pytest.importorskip("xgboost")
    o = loss()
    data = xgboost.DMatrix(VECTORS, label=np.zeros(240))
    options = {"num_class": 3, "disable_default_eval_metric": True, "nthread": 1, "base_score": 0.0}
    booster = xgboost.train(options, data, num_boost_round=20, obj=booster_objective(o))
    scores = booster.predict(data, output_margin=True).reshape(240, 3)
    assert np.mean(scores.argmax(axis=1) == TRUTH) > 0.9


def test_what_is_refused():
    with pytest.raises(DataError, match=r"takes what tiltfit\.objective\(\.\.\.\) returns, not list"):
        booster_objective(SAID)
    chains = objective([expect("a", given=word("x")).about(0.9)], [["x", "y"]], classes=["a", "b"])
    with pytest.raises(UnsupportedError, match="about sequences"):
        booster_objective(chains)
    with pytest.raises(DataError, match="scores has the shape"):
        booster_objective(loss())(np.zeros((7, 3)), None)
