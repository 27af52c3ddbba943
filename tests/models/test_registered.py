"""A model from outside: one hidden layer, in plain NumPy. Its gradients are right, and the joint solver trains it."""

from __future__ import annotations

import itertools
import pickle
from dataclasses import dataclass, replace

import numpy as np
import pytest
from tests.oracles.tilts import label_features, label_tilt

from tiltfit import TiltClassifier, TiltTagger, expect, register_model, why, word
from tiltfit.errors import DataError, UnsupportedError
from tiltfit.execution.workers import Workers
from tiltfit.inference.independent import Independent
from tiltfit.inference.potentials import Potentials
from tiltfit.methods.alternating_projections import alternate
from tiltfit.methods.joint import solve_jointly
from tiltfit.methods.method import Run
from tiltfit.methods.problem import Problem
from tiltfit.models.model import Model
from tiltfit.models.registry import MODELS
from tiltfit.penalties import interval
from tiltfit.penalties.stacked import stack


@dataclass(frozen=True, eq=False)
class Hidden(Model):
    """scores = tanh(X·A + a)·B + b on positions; for sequences, one more table of transitions."""

    X: np.ndarray
    labels: int
    structure: object
    base: object = None
    width: int = 4

    @property
    def n_labels(self):
        return self.labels

    @property
    def _shapes(self):
        first = [(self.X.shape[1], self.width), (self.width,), (self.width, self.labels), (self.labels,)]
        return [*first, (self.labels, self.labels)] if self.structure.has_edges else first

    @property
    def n_weights(self):
        return sum(int(np.prod(shape)) for shape in self._shapes)

    def _parts(self, weights):
        cuts = np.cumsum([int(np.prod(shape)) for shape in self._shapes])[:-1]
        return [part.reshape(shape) for part, shape in zip(np.split(weights, cuts), self._shapes, strict=True)]

    def potentials(self, weights):
        A, a, B, b, *T = self._parts(weights)
        edge = np.tile(T[0], (self.structure.n_kinds, 1, 1)) if T else None
        scores = Potentials(np.tanh(self.X @ A + a) @ B + b, edge)
        return scores if self.base is None else scores + self.base

    def pull(self, weights, node, edge=None):
        A, a, B, _, *T = self._parts(weights)
        hidden = np.tanh(self.X @ A + a)
        back = (node @ B.T) * (1 - hidden**2)
        parts = [self.X.T @ back, back.sum(axis=0), hidden.T @ node, node.sum(axis=0)]
        return np.concatenate([part.ravel() for part in (*parts, *([edge.sum(axis=0)] if T else []))])

    def take(self, instances):
        positions = self.structure.positions(instances)
        base = None if self.base is None else Potentials(self.base.node[positions], self.base.edge)
        return replace(self, X=self.X[positions], structure=self.structure.take(instances), base=base)


def make(plain, classes):
    return Hidden(plain.features.nodes.X.toarray(), len(classes), plain.structure, plain.base)


@pytest.fixture(autouse=True)
def registered():
    register_model("hidden", make)
    register_model("hidden_chain", make, sequences=True)
    yield
    for name in ("hidden", "hidden_chain"):
        MODELS.remove(name)


def problem(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 3))
    fires = (rng.random((24, 2)) < 0.5).astype(float)
    penalty = stack([interval.l2([0.9], [0.05]), interval.box([0.3], [0.6])])
    features = label_features(fires, np.eye(2))
    tilt = label_tilt(features, penalty, np.ones(24), fires.sum(axis=0), np.zeros(2), Workers())
    labels = np.full(30, -1, dtype=np.intp)
    labels[:6] = rng.integers(2, size=6)
    model = Hidden(X, 2, Independent(30))
    return Problem(model, labels, np.ones(30), np.full(model.n_weights, 0.1), 1.0, tilt, np.arange(6, 30))


def test_gradients_agree_with_finite_differences():
    case, rng = problem(), np.random.default_rng(1)
    weights = 0.5 * rng.normal(size=case.model.n_weights)
    gradient = case.evaluate(weights, None, 1e-12).gradient
    for _ in range(5):
        along = rng.normal(size=len(weights))
        ahead, behind = (case.evaluate(weights + s * 1e-5 * along, None, 1e-12).value for s in (1, -1))
        assert (ahead - behind) / 2e-5 == pytest.approx(gradient @ along, rel=1e-4, abs=1e-6)


def test_the_joint_solver_trains_it():
    case = problem()
    start = 0.1 * np.random.default_rng(2).normal(size=case.model.n_weights)
    fit = solve_jointly(case, start, Run(max_iter=500, tol=1e-4))
    assert fit.converged
    values = [one.objective for one in fit.history]
    assert all(b <= a + 1e-9 for a, b in itertools.pairwise(values))
    there = case.evaluate(fit.weights, None, 1e-8)
    assert there.steepest <= 0.01 * case.evaluate(start, None, 1e-8).steepest


def test_what_needs_a_linear_model_says_so():
    with pytest.raises(UnsupportedError, match="linear in its weights, but Hidden is not"):
        alternate(problem(), np.zeros(problem().model.n_weights), Run(max_iter=2))


TEXTS = ["puck", "puck goalie", "goalie", "bat", "bat ball", "ball", "goalie ice", "pitcher ball"]
SAID = [expect("hockey", given=word("puck")).about(0.9), expect("baseball", given=word("bat")).about(0.9)]


@pytest.mark.parametrize("method", ["ap", "ge", "supervised", "entropy", "self_training", "vote"])
def test_a_classifier_takes_its_word(method):
    y = None if method in ("ap", "ge", "vote") else ["hockey", None, None, "baseball", None, None, None, None]
    found = TiltClassifier(SAID, model="hidden", method=method, vectorizer="binary", alpha=0.01, random_state=0)
    found.fit(TEXTS, y)
    assert found.predict(["puck", "bat"]).tolist() == ["hockey", "baseball"]
    assert found.project(TEXTS).shape == (8, 2)
    assert not hasattr(found, "coef_")
    assert found.weights_.shape == (found.n_features_in_ * 4 + 4 + 8 + 2,)


def test_a_tagger_takes_its_word():
    X = [["the", "puck"], ["a", "bat"], ["puck"], ["the", "bat"]]
    found = TiltTagger(SAID, model="hidden_chain", random_state=0, alpha=0.01).fit(X)
    assert found.predict([["puck"], ["bat"]]) == [["hockey"], ["baseball"]]


def test_refusals_name_what_would_work(tmp_path):
    for options in ({"solver": "alternating"}, {"solver": "online"}):
        with pytest.raises(UnsupportedError, match="linear in the weights.*Use solver='joint'"):
            TiltClassifier(SAID, model="hidden", **options).fit(TEXTS)
    with pytest.raises(UnsupportedError, match="method='codl' cannot train model='hidden'.*Use method='ap'"):
        TiltClassifier(SAID, model="hidden", method="codl").fit(TEXTS)
    with pytest.raises(UnsupportedError, match="method='em' cannot train model='hidden'"):
        TiltClassifier(model="hidden", method="em", classes=["a", "b"]).fit(TEXTS)
    with pytest.raises(UnsupportedError, match="'hidden_chain' is not supported"):
        TiltClassifier(SAID, model="hidden_chain").fit(TEXTS)
    with pytest.raises(DataError, match="There is a model 'maxent' already, tiltfit.models.log_linear.LogLinear"):
        register_model("maxent", make)
    with pytest.raises(DataError, match=r"There is a model 'hidden' already, .*\.make: register"):
        register_model("hidden", Hidden)
    with pytest.raises(DataError, match=r"model='other' needs a function make\(plain, classes\), but got None"):
        register_model("other", None)
    with pytest.raises(DataError, match="The name of a model must be a non-empty string, but is 3"):
        register_model(3, make)
    found = TiltClassifier(SAID, model="hidden").fit(TEXTS)
    with pytest.raises(UnsupportedError, match="a model file cannot hold it"):
        found.save(tmp_path / "m.tilt")
    with pytest.raises(UnsupportedError, match="cannot be explained"):
        why(found, TEXTS[0])


def test_a_fitted_model_that_this_process_does_not_know_is_named():
    found = pickle.loads(pickle.dumps(TiltClassifier(SAID, model="hidden").fit(TEXTS)))
    MODELS.remove("hidden")
    for use in (found.predict, found.project):
        with pytest.raises(UnsupportedError, match=r"model='hidden' is not registered: call tiltfit.register_model"):
            use(TEXTS)
    register_model("hidden", make)
    assert len(found.predict(TEXTS)) == len(TEXTS)
