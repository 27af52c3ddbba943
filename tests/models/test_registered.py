"""A model from outside: one hidden layer, in plain NumPy. Its gradients are right, and the joint solver trains it."""

from __future__ import annotations

import itertools
import pickle
from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy.sparse import issparse
from tests.oracles.tilts import label_features, label_tilt

from tiltfit import TiltClassifier, TiltTagger, expect, load, register_model, why, word
from tiltfit.errors import DataError, ModelFileError, UnsupportedError
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
from tiltfit.storage import container


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
    X = plain.features.nodes.X
    return Hidden(X.toarray() if issparse(X) else X, len(classes), plain.structure, plain.base)


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


def test_refusals_name_what_would_work():
    for options in ({"solver": "alternating"}, {"solver": "online"}):
        with pytest.raises(UnsupportedError, match="linear in the weights.*Use solver='joint'"):
            TiltClassifier(SAID, model="hidden", **options).fit(TEXTS)
    with pytest.raises(UnsupportedError, match="method='codl' cannot train model='hidden'.*Use method='ap'"):
        TiltClassifier(SAID, model="hidden", method="codl").fit(TEXTS)
    with pytest.raises(UnsupportedError, match="method='em' cannot train model='hidden'"):
        TiltClassifier(model="hidden", method="em", classes=["a", "b"]).fit(TEXTS)
    with pytest.raises(
        UnsupportedError, match="'hidden_chain' is a model of TiltTagger, for sequences.*sequences=False"
    ):
        TiltClassifier(SAID, model="hidden_chain").fit(TEXTS)
    with pytest.raises(UnsupportedError, match="'hidden' is a model of TiltClassifier, for doc.*sequences=True"):
        TiltTagger(SAID, model="hidden").fit([["puck"], ["bat"]])
    with pytest.raises(DataError, match="There is a model 'maxent' already, tiltfit.models.log_linear.LogLinear"):
        register_model("maxent", make)
    with pytest.raises(DataError, match=r"There is a model 'hidden' already, .*\.make: register"):
        register_model("hidden", lambda plain, classes: None)
    with pytest.raises(DataError, match=r"model='other' needs a function make\(plain, classes\), but got None"):
        register_model("other", None)
    with pytest.raises(DataError, match="The name of a model must be a non-empty string, but is 3"):
        register_model(3, make)
    found = TiltClassifier(SAID, model="hidden").fit(TEXTS)
    with pytest.raises(UnsupportedError, match="cannot be explained"):
        why(found, TEXTS[0])


MATRIX = np.random.default_rng(0).normal(size=(6, 3))
TOKENS = [["the", "puck"], ["a", "bat"], ["puck"], ["the", "bat"]]


@pytest.mark.parametrize(
    ("estimator", "X", "y"),
    [
        (TiltClassifier(SAID, model="hidden", random_state=0), TEXTS, None),
        (TiltClassifier(model="hidden", random_state=0), MATRIX, [0, 1] * 3),
        (TiltTagger(SAID, model="hidden_chain", random_state=0), TOKENS, None),
    ],
    ids=["texts", "matrix", "sequences"],
)
def test_a_file_holds_its_name_and_its_weights(tmp_path, estimator, X, y):
    found = estimator.fit(X, y)
    found.save(tmp_path / "m.tilt")
    again = load(tmp_path / "m.tilt")
    np.testing.assert_array_equal(again.weights_, found.weights_)
    assert list(again.predict(X)) == list(found.predict(X))
    shares = "predict_marginals" if isinstance(found, TiltTagger) else "predict_proba"
    for use in (shares, "project"):
        for one, other in zip(getattr(again, use)(X), getattr(found, use)(X), strict=True):
            np.testing.assert_array_equal(one, other)
    again.save(tmp_path / "again.tilt")
    np.testing.assert_array_equal(load(tmp_path / "again.tilt").weights_, found.weights_)


def test_a_file_whose_model_is_not_registered_says_so(tmp_path):
    TiltClassifier(SAID, model="hidden").fit(TEXTS).save(tmp_path / "m.tilt")
    MODELS.remove("hidden")
    with pytest.raises(ModelFileError, match=r"m\.tilt needs the model 'hidden', which no installed package") as caught:
        load(tmp_path / "m.tilt")
    assert caught.value.missing == ("model", "hidden")


@pytest.mark.parametrize("weights", [np.array([[1.0]]), np.array([np.nan]), None])
def test_a_file_with_wrong_weights_is_damaged(tmp_path, weights):
    TiltClassifier(SAID, model="hidden").fit(TEXTS).save(tmp_path / "m.tilt")
    document, arrays = container.read(tmp_path / "m.tilt")
    kept = {name: array for name, array in arrays.items() if name != "weights"}
    container.write(tmp_path / "m.tilt", document, kept | ({} if weights is None else {"weights": weights}))
    with pytest.raises(ModelFileError, match=r"m\.tilt is damaged"):
        load(tmp_path / "m.tilt")


def test_weights_of_another_version_of_the_model_are_refused():
    found = TiltClassifier(SAID, model="hidden").fit(TEXTS)
    found.weights_ = found.weights_[:-1]
    with pytest.raises(
        DataError, match=r"model='hidden' of a package is wrong: it has \d+ weights here, but \d+ were fi"
    ):
        found.predict(TEXTS)


class Wrong(Hidden):
    """A model with one mistake."""


def wrong(**parts):
    kind = type("Wrong", (Wrong,), parts)
    return lambda plain, classes: kind(plain.features.nodes.X.toarray(), len(classes), plain.structure, plain.base)


def fail(self, weights):
    raise KeyError("no such layer")


MISTAKES = {
    "nothing": (lambda plain, classes: None, r"make\(plain, classes\) must return a tiltfit.Model, but returned None"),
    "no model": (lambda plain, classes: plain.structure, "Independent has no structure. Inherit from tiltfit.Model"),
    "array": (
        wrong(potentials=lambda self, w: np.zeros((1, 2))),
        r"a tiltfit.Potentials, but returned an array of .*1, 2",
    ),
    "none": (wrong(potentials=lambda self, w: None), "must return a tiltfit.Potentials, but returned None"),
    "transposed": (
        wrong(potentials=lambda self, w: Potentials(np.zeros((2, 1)))),
        r"\.node must be \(1, 2\), but is \(2, 1\)",
    ),
    "edges": (
        wrong(potentials=lambda self, w: Potentials(np.zeros((1, 2)), np.zeros((1, 2, 2)))),
        r"\.edge must be \(\), but is \(1, 2, 2\)",
    ),
    "pull": (
        wrong(pull=lambda self, w, node, edge=None: node),
        r"pull\(weights, node, edge\) must be \(\d+,\), but is \(1, 2\)",
    ),
    "take": (wrong(take=lambda self, instances: self.X[instances]), "take must return a Wrong, but returned array"),
    "labels": (wrong(n_labels=3), "n_labels must be 2, but is 3"),
    "weights": (wrong(n_weights=0.5), "n_weights must be a whole number of at least 1, but is 0.5"),
    "rows": (
        lambda plain, classes: Hidden(np.zeros((1, 2)), 2, Independent(1)),
        "the number of instances of structure must be 8, but is 1",
    ),
    "no factory": (
        lambda plain, classes: plain.nothing,
        r"make\(plain, classes\) failed with AttributeError: .*nothing",
    ),
    "failure": (wrong(potentials=fail), "failed on the first instance with KeyError: 'no such layer'"),
}


@pytest.mark.parametrize("mistake", list(MISTAKES))
def test_a_wrong_model_is_named_before_the_work(mistake):
    factory, why = MISTAKES[mistake]
    register_model("w", factory)
    try:
        with pytest.raises(DataError, match=f"model='w' of a package is wrong: .*{why}"):
            TiltClassifier(SAID, model="w", vectorizer="binary").fit(TEXTS)
    finally:
        MODELS.remove("w")


def test_a_factory_takes_two_arguments():
    with pytest.raises(
        DataError, match=r"make of model='w' must take the arguments \(plain, classes\), but takes \(plain\)"
    ):
        register_model("w", lambda plain: plain)


def test_a_second_fit_with_other_features_does_not_meet_the_weights_of_the_first():
    found = TiltClassifier(model="hidden", random_state=0)
    for width in (2, 3):
        found.fit(MATRIX[:, :width], [0, 1] * 3, dev=(MATRIX[:, :width], [0, 1] * 3))
        assert len(found.predict(MATRIX[:, :width])) == 6


def test_a_fitted_model_that_this_process_does_not_know_is_named():
    found = pickle.loads(pickle.dumps(TiltClassifier(SAID, model="hidden").fit(TEXTS)))
    MODELS.remove("hidden")
    for use in (found.predict, found.project):
        with pytest.raises(UnsupportedError, match=r"model='hidden' is not registered: call tiltfit.register_model"):
            use(TEXTS)
    register_model("hidden", make)
    assert len(found.predict(TEXTS)) == len(TEXTS)
