"""Objects as ``model=``: classifiers of other libraries by soft labels, networks and boosters by the loss itself."""

from __future__ import annotations

import importlib.util
import sys
import warnings
import zipfile
from typing import ClassVar

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, SGDClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from tiltfit import (
    LabelledKFold,
    TiltClassifier,
    TiltTagger,
    compare,
    expect,
    labelled_scorer,
    load,
    objective,
    why,
    word,
)
from tiltfit.boosting import booster_objective
from tiltfit.errors import DataError, ModelFileError, NotConvergedWarning, UnmetConstraintWarning, UnsupportedError
from tiltfit.learners.soft_labels import _sampled, expanded
from tiltfit.projections import components

RNG = np.random.default_rng(0)
N = 150
TRUTH = RNG.integers(0, 3, N)
VECTORS = np.eye(3)[TRUTH] + 0.6 * RNG.normal(size=(N, 3))
TEXTS = [f"{'abc'[k]} x" if RNG.random() < 0.6 else "x" for k in TRUTH]
SAID = [expect(label, given=word(name)).about(0.9) for label, name in zip("uvw", "abc", strict=True)]
LABELS = np.array(list("uvw"))[TRUTH]


@pytest.fixture(autouse=True)
def as_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every row counts once, as it does for ``objective``, which fits are compared with."""
    monkeypatch.setattr(components, "REFERENCE", max(100.0, sum(text != "x" for text in TEXTS)))


needs_torch = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")


def fitted(model, y=None, **parameters):
    """Some models here are meant to stop early, or learn little."""
    given = {"classes": list("uvw"), "random_state": 0, **parameters}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnmetConstraintWarning)
        return TiltClassifier(SAID, model=model, **given).fit(TEXTS, y, features=VECTORS)


def accuracy(found):
    return np.mean(found.predict(None, features=VECTORS) == LABELS)


def native(**parameters):
    given = {"sharpen": None, "tol": 1e-6, "init": "zeros", **parameters}
    return fitted("maxent", **given)


# Soft labels


def test_logistic_regression_ends_where_the_native_model_does():
    found, right = fitted(LogisticRegression(C=1.0, tol=1e-6, max_iter=1000), tol=1e-4), native()
    own = found.objective_ + 0.5 * np.sum(found.estimator_.coef_**2)
    assert own == pytest.approx(right.objective_, rel=2e-3)
    proba, expected = (clf.predict_proba(None, features=VECTORS) for clf in (found, right))
    np.testing.assert_allclose(proba, expected, atol=0.02)


def test_it_does_not_stall():
    """Five rounds are nearer to the end than ten of the plain alternation from the uniform guess."""
    o = objective(SAID, TEXTS, classes=list("uvw"))
    X = VECTORS * native().encoder_.factor
    rows = np.flatnonzero([text != "x" for text in TEXTS])
    model, scores = LogisticRegression(C=1.0, tol=1e-6, max_iter=1000), np.zeros((N, 3))
    for _ in range(10):
        q = o.projected(scores)[rows]
        model.fit(np.repeat(X[rows], 3, axis=0), np.tile(np.arange(3), len(rows)), q.ravel())
        scores = np.log(model.predict_proba(X))
    plain = o.value_and_grad(scores)[0] + 0.5 * np.sum(model.coef_**2)
    with pytest.warns(NotConvergedWarning, match="did not converge: stopped after 5 rounds"):
        ours = fitted(LogisticRegression(C=1.0, tol=1e-6, max_iter=1000), max_iter=5)
    assert ours.objective_ + 0.5 * np.sum(ours.estimator_.coef_**2) < plain


def test_the_first_soft_labels_are_what_statements_say():
    Spy.told.clear()
    fitted(Spy())
    X, labels, weight = Spy.told[0]
    factor = native().encoder_.factor
    at = [i for i, text in enumerate(TEXTS) if text == "a x"]
    here = np.isin(X[:, 0], VECTORS[at, 0] * factor) & (labels == "u")
    assert weight[here].sum() / len(at) == pytest.approx(0.9, abs=0.01)


class Spy(ClassifierMixin, BaseEstimator):
    """Says the shares of classes that it was told, and remembers how it was told."""

    told: ClassVar = []

    def __init__(self, answer="shares"):
        self.answer = answer

    def fit(self, X, y, sample_weight=None):
        self.told.append((X, y, sample_weight))
        self.classes_, places = np.unique(y, return_inverse=True)
        self.shares_ = np.bincount(places, weights=sample_weight) / np.sum(sample_weight)
        return self

    def predict_proba(self, X):
        found = np.tile(self.shares_, (len(X), 1))
        return {"shares": found, "nan": np.full_like(found, np.nan), "narrow": found[:, :2]}[self.answer]


def test_only_rows_that_matter_are_shown_with_weights_that_sum_to_theirs():
    Spy.told.clear()
    y = [None] * N
    free = next(i for i, text in enumerate(TEXTS) if text == "x")
    y[free] = "w"
    found = fitted(Spy(), y, gamma=0.5)
    X, labels, weight = Spy.told[0]
    touched = sum(text != "x" for text in TEXTS)
    assert len(np.unique(X, axis=0)) == touched + 1
    assert weight.sum() == pytest.approx(0.5 * touched + 1)
    here = np.all(VECTORS[free] * found.encoder_.factor == X, axis=1)
    assert labels[here].tolist() == ["w"]


def test_rows_for_a_model_without_weights_are_repeated_by_their_share():
    q, omega = RNG.dirichlet(np.ones(3), size=20), RNG.uniform(0.5, 2, 20)
    rows, labels, weight = expanded(q, omega)
    np.testing.assert_allclose(weight, (q * omega[:, None])[rows, labels])
    times = np.bincount(_sampled(weight, 200), minlength=len(weight))
    assert np.all(np.abs(times - 200 * weight / weight.sum()) < 1)
    assert times.sum() == 200


@pytest.mark.parametrize(
    "model",
    [KNeighborsClassifier(15), make_pipeline(StandardScaler(), LogisticRegression()), GaussianNB()],
    ids=["no weights", "pipeline", "naive Bayes"],
)
def test_others_learn_too(model):
    assert accuracy(fitted(model)) > 0.7


def test_a_model_that_makes_steps_makes_one_pass_a_round():
    with pytest.warns(NotConvergedWarning, match="stopped after 30 rounds"):
        found = fitted(MLPClassifier((8,), learning_rate_init=0.03), max_iter=30, tol=0)
    touched = sum(text != "x" for text in TEXTS)
    assert found.estimator_.t_ >= 30 * 3 * touched  # rows seen: it has not begun anew
    assert accuracy(found) > 0.7


def test_supervised_is_the_fit_to_the_labels():
    y = [label if i < 60 else None for i, label in enumerate(LABELS)]
    found = fitted(LogisticRegression(), y, method="supervised")
    right = LogisticRegression(random_state=found.estimator_.random_state)
    right.fit(VECTORS[:60] * found.encoder_.factor, LABELS[:60])
    np.testing.assert_allclose(found.estimator_.coef_, right.coef_, atol=1e-3)
    assert found.constraint_report_[0].projected is not None


# As scikit-learn's users expect


def test_parameters_of_the_model_are_parameters():
    clf = TiltClassifier(SAID, model=LogisticRegression(C=3.0))
    assert clf.get_params()["model__C"] == 3.0
    other = clone(clf).set_params(model__C=0.1)
    assert (clf.model.C, other.model.C) == (3.0, 0.1)
    with pytest.warns(NotConvergedWarning), pytest.warns(UnmetConstraintWarning, match="let it make more rounds"):
        other.set_params(classes=list("uvw"), max_iter=2, model__C=1e-6).fit(TEXTS, features=VECTORS)
    assert not hasattr(other.model, "coef_")  # it is a copy that was fitted
    assert other.estimator_.coef_.shape == (3, 3)
    assert not hasattr(other, "coef_")


def test_a_search_over_them():
    y = [label if i % 3 == 0 else None for i, label in enumerate(LABELS)]
    clf = TiltClassifier(SAID, classes=list("uvw"), model=GaussianNB(), vectorizer=_Letters())
    search = GridSearchCV(
        clf, {"model__var_smoothing": [1e-9, 1e-2]}, cv=LabelledKFold(2), scoring=labelled_scorer("accuracy")
    )
    search.fit(np.array(TEXTS, dtype=object), np.array(y, dtype=object))
    assert set(search.best_params_) == {"model__var_smoothing"}


class _Letters(BaseEstimator):
    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return np.array([[text.count(c) for c in "abc"] for text in X], dtype=float)

    def fit_transform(self, X, y=None):
        return self.transform(X)


def test_what_a_fit_leaves_is_that_of_any_other():
    found = fitted(GaussianNB())
    assert found.predict_proba(None, features=VECTORS).sum(axis=1) == pytest.approx(np.ones(N))
    assert found.history_[-1].objective == found.objective_
    assert len(found.constraint_report_) == 3
    o = objective(SAID, TEXTS, classes=list("uvw"))
    expected = o.projected(found.predict_log_proba(None, features=VECTORS))
    q = found.project(TEXTS, features=VECTORS, prices="solve")
    np.testing.assert_allclose(q, expected, atol=1e-4)
    with pytest.raises(AttributeError, match="coef_"):
        _ = found.coef_
    with pytest.raises(AttributeError, match="estimator_"):
        _ = native().estimator_


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        ({"model": LinearSVC()}, "LinearSVC has no predict_proba .*CalibratedClassifierCV"),
        ({"model": SGDClassifier()}, "SGDClassifier has no predict_proba"),
        ({"model": LinearRegression()}, "LinearRegression has no predict_proba"),
        ({"model": GaussianNB}, r"is a class: pass an object, GaussianNB\(\)"),
        ({"model": 3}, "model=3 is not supported: use 'maxent' or another word"),
        (
            {"method": "ge"},
            "method='ge' cannot train model='GaussianNB': it sets weights, .*method='ap' or 'supervised'",
        ),
        ({"solver": "joint"}, "solver='joint' has nothing to do"),
        ({"solver": "online"}, "solver='online' has nothing to do"),
        ({"alpha": 0.1}, "alpha=0.1 does not go with model=GaussianNB: its strength is its own"),
        ({"penalize_intercept": True}, "penalize_intercept=True does not go with"),
        ({"base": np.full((N, 3), 1 / 3)}, "(?s)base=.* does not go with"),
        ({"init": "zeros"}, "init='zeros' does not go with model=GaussianNB: it starts as it is"),
        ({"n_init": 3}, "n_init=3 does not go with"),
        ({"warm_start": True}, "warm_start=True does not go with"),
        ({"refine": "auto"}, "refine='auto' does not go with"),
        ({"sharpen": 2.0}, "sharpen=2.0 multiplies the fitted weights, but"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_what_an_object_cannot_follow_is_refused_before_any_work(given, hint):
    with pytest.raises(UnsupportedError, match=hint):
        fitted(**{"model": GaussianNB(), **given})


def test_other_doors_refuse_it_by_name():
    with pytest.raises(UnsupportedError, match="dev= scores the weights of every round, but model=GaussianNB"):
        TiltClassifier(SAID, model=GaussianNB()).fit(VECTORS, dev=(VECTORS, LABELS))
    with pytest.raises(UnsupportedError, match="model=GaussianNB trains itself, so that solver='online'"):
        TiltClassifier(SAID, model=GaussianNB(), classes=list("uvw")).partial_fit(TEXTS)
    with pytest.raises(UnsupportedError, match="model='GaussianNB' cannot be explained"):
        why(TiltClassifier(SAID, model=GaussianNB(), vectorizer=_Letters()).fit(TEXTS), TEXTS)
    with pytest.raises(UnsupportedError, match="is not supported: use 'crf'"):
        TiltTagger(model=GaussianNB()).fit([["a"]], [["u"]])


def test_what_models_do_wrong_is_told():
    with pytest.raises(DataError, match="model=Spy gives NaN or infinite scores in"):
        fitted(Spy("nan"))
    with pytest.raises(DataError, match="model=Spy gives scores of the shape .* but there are 3 classes"):
        fitted(Spy("narrow"))
    with pytest.raises(DataError, match=r"model=GaussianNB failed in fit with TypeError: .* \(The features are"):
        TiltClassifier(SAID, model=GaussianNB()).fit(TEXTS)
    refused = pytest.raises(
        UnsupportedError, match="RandomForestClassifier with warm_start=True gives the same .*=False"
    )
    with refused, pytest.warns(UserWarning, match="Warm-start fitting without increasing n_estimators"):
        fitted(RandomForestClassifier(3, warm_start=True))


def test_contradictions_are_softened_and_said():
    said = [expect("u", given=word("x")).at_least(0.9), expect("v").at_least(0.5)]
    with pytest.warns(UnmetConstraintWarning, match="were given slack"), pytest.warns(match="do not hold"):
        TiltClassifier(said, classes=list("uvw"), model=GaussianNB()).fit(TEXTS, features=VECTORS)


def test_a_file_cannot_hold_it(tmp_path):
    with pytest.raises(UnsupportedError, match=r"model=GaussianNB is of another library.*clf\.estimator_"):
        fitted(GaussianNB()).save(tmp_path / "model.tilt")
    assert not list(tmp_path.iterdir())


def test_compare_takes_objects():
    rows = np.arange(N) % 3 > 0
    X = {"t": np.array(TEXTS, dtype=object)[rows], **{f"v{j}": VECTORS[rows, j] for j in range(3)}}
    held_out = {"t": np.array(TEXTS, dtype=object)[~rows], **{f"v{j}": VECTORS[~rows, j] for j in range(3)}}
    asked = {"method": "ap", "model": LinearSVC()}
    found = compare(
        SAID, X, test=(held_out, LABELS[~rows].tolist()), classes=list("uvw"), isolate=False, n_bootstrap=0,
        methods={"words": "ap", "Bayes": make_pipeline(_Dense(), GaussianNB()), "none": asked},
    )  # fmt: skip
    assert [row.model for row in found.rows] == ["maxent", "Pipeline", "LinearSVC"]
    assert found["Bayes"].figures["accuracy"].value > 0.6
    assert found["none"].status == "refused"
    with pytest.raises(DataError, match="or {'a name': a model}"):
        compare(SAID, X, test=(held_out, LABELS[~rows].tolist()), methods={"odd": 3})


class _Dense(BaseEstimator):
    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return X.toarray() if hasattr(X, "toarray") else X


# Networks


def linear(dtype="float64"):
    import torch

    module = torch.nn.Linear(3, 3, dtype=getattr(torch, dtype))
    torch.nn.init.zeros_(module.weight)
    torch.nn.init.zeros_(module.bias)
    return module


@needs_torch
def test_a_linear_module_is_the_native_model_and_batches_come_near():
    from tiltfit.torch import Network

    module, right = linear(), native()
    full = fitted(module)
    assert full.objective_ == pytest.approx(right.objective_, rel=1e-3)
    proba, expected = (clf.predict_proba(None, features=VECTORS) for clf in (full, right))
    np.testing.assert_allclose(proba, expected, atol=0.01)
    assert not module.weight.any()  # a copy is trained
    batches = fitted(Network(module, batch_size=30, passes=100, rate=0.03))
    assert batches.objective_ == pytest.approx(right.objective_, rel=0.01)
    assert batches.n_iter_ == 100


@needs_torch
def test_alpha_holds_the_matrices_down_and_intercepts_if_asked():
    free, held = fitted(linear(), penalize_intercept=False), fitted(linear(), penalize_intercept=True, alpha=100.0)
    assert held.objective_ == pytest.approx(native(penalize_intercept=True, alpha=100.0).objective_, rel=1e-3)
    assert free.objective_ == pytest.approx(native(penalize_intercept=False).objective_, rel=1e-3)


@needs_torch
def test_the_same_seed_gives_the_same_network_and_no_other_numbers_are_touched():
    import torch

    from tiltfit.torch import Network

    def net():
        torch.manual_seed(1)
        parts = (torch.nn.Linear(3, 8), torch.nn.ReLU(), torch.nn.Dropout(0.3), torch.nn.Linear(8, 3))
        return Network(torch.nn.Sequential(*parts), batch_size=50, passes=8)

    module = net()
    before = torch.random.get_rng_state()
    one, other = fitted(module), fitted(net())
    torch.manual_seed(1)
    net()
    np.testing.assert_array_equal(
        one.predict_proba(None, features=VECTORS), other.predict_proba(None, features=VECTORS)
    )
    fitted(module)
    assert torch.equal(before, torch.random.get_rng_state())
    assert accuracy(one) > 0.6


@needs_torch
def test_sparse_features_are_made_dense_in_parts(monkeypatch):
    import torch

    from tiltfit.learners import network

    clf = TiltClassifier(
        SAID, classes=list("uvw"), vectorizer="binary", model=torch.nn.Linear(4, 3, dtype=torch.float64)
    )
    whole = clf.fit(TEXTS).objective_
    monkeypatch.setattr(network, "_CELLS", 0)
    monkeypatch.setattr(network, "_ROWS", 7)
    assert clf.fit(TEXTS).objective_ == pytest.approx(whole, rel=1e-6)


@needs_torch
def test_what_networks_cannot_be():
    import torch

    from tiltfit.torch import Network, TiltLoss

    with pytest.raises(UnsupportedError, match=r"parameters of torch.float16, too coarse .*module\.float\(\)"):
        fitted(linear("float16"))
    with pytest.raises(UnsupportedError, match="on the device 'meta'"):
        fitted(torch.nn.Linear(3, 3, device="meta"))
    with pytest.raises(UnsupportedError, match="has no parameters to train"):
        fitted(torch.nn.ReLU())
    with pytest.raises(UnsupportedError, match=r"other scores in training than afterwards.*batch_size=64"):
        fitted(torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.BatchNorm1d(3)))
    with pytest.raises(DataError, match="failed on features of .* rows × 3 dimensions with RuntimeError"):
        fitted(torch.nn.Linear(5, 3))
    with pytest.raises(DataError, match="gives scores of the shape"):
        fitted(torch.nn.Linear(3, 2))
    with pytest.raises(DataError, match=r"must return rows × classes scores, but returned \(\d+, 3, 1\)"):
        fitted(torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Unflatten(1, (3, 1))))
    broken = linear()
    torch.nn.init.constant_(broken.weight, float("nan"))
    with pytest.raises(DataError, match="model=Linear gives NaN or infinite scores"):
        fitted(broken)
    for options, hint in (
        ({"batch_size": 0}, "batch_size=0"),
        ({"passes": 1.5}, "passes=1.5"),
        ({"rate": 0}, "rate=0"),
    ):
        with pytest.raises(DataError, match=f"{hint} must be"):
            fitted(Network(linear(), **options))
    with pytest.raises(DataError, match="module=3 must be a torch.nn.Module"):
        fitted(Network(3))
    with pytest.raises(DataError, match="scores are on the device 'meta'"):
        TiltLoss(objective(SAID, TEXTS, classes=list("uvw")))(torch.zeros(N, 3, device="meta"))


@needs_torch
def test_a_file_holds_the_weights_of_a_network(tmp_path):
    import torch

    found, path = fitted(linear("float32")), tmp_path / "net.tilt"
    found.save(path)
    with zipfile.ZipFile(path) as file:
        assert {name.rpartition(".")[2] for name in file.namelist()} == {"json", "npy"}
    with pytest.raises(UnsupportedError, match=r"the weights and not the code.*load\(path, model=Linear\(\.\.\.\)\)"):
        load(path)
    with pytest.raises(DataError, match="is not the architecture whose weights the file holds"):
        load(path, model=torch.nn.Linear(4, 3))
    with pytest.raises(DataError, match=r"must be a torch\.nn\.Module such as Linear"):
        load(path, model=GaussianNB())
    again = load(path, model=linear("float32"))
    proba, expected = (clf.predict_proba(None, features=VECTORS) for clf in (again, found))
    np.testing.assert_array_equal(proba, expected)
    np.testing.assert_allclose(
        again.project(TEXTS, features=VECTORS), found.project(TEXTS, features=VECTORS), atol=1e-12
    )
    again.save(tmp_path / "again.tilt")
    assert (tmp_path / "again.tilt").read_bytes() == path.read_bytes()


# Boosters


def small(library):
    module = pytest.importorskip(library)
    if library == "lightgbm":
        return module.LGBMClassifier(n_estimators=20, num_leaves=4, min_child_samples=5, n_jobs=1)
    return module.XGBClassifier(n_estimators=20, max_depth=2, n_jobs=1)


def test_lightgbm_is_its_own_training_with_the_custom_objective():
    lightgbm = pytest.importorskip("lightgbm")
    found = fitted(small("lightgbm"))
    rows = np.flatnonzero([text != "x" for text in TEXTS])
    o = objective(SAID, [TEXTS[i] for i in rows], classes=list("uvw"))
    options = {
        "objective": booster_objective(o), "num_class": 3, "num_leaves": 4, "min_child_samples": 5, "verbosity": -1,
        "num_threads": 1, "deterministic": True, "force_col_wise": True,
    }  # fmt: skip
    X = VECTORS * found.encoder_.factor
    right = lightgbm.train(options, lightgbm.Dataset(X[rows]), num_boost_round=20)
    np.testing.assert_allclose(found.estimator_.predict(X, raw_score=True), right.predict(X, raw_score=True), atol=1e-6)
    assert found.message_ == "all passes over the data are made"
    assert found.n_iter_ == 20


@pytest.mark.parametrize("parameters", [{}, {"boosting_type": "dart"}, {"boosting": "dart"}, {"boost": "dart"}])
def test_the_objective_is_that_of_all_trees_whatever_changes_them(parameters):
    pytest.importorskip("lightgbm")
    found = fitted(small("lightgbm").set_params(learning_rate=0.5, **parameters))
    scores = found.estimator_.predict(VECTORS * found.encoder_.factor, raw_score=True)
    expected, _ = objective(SAID, TEXTS, classes=list("uvw")).value_and_grad(scores)
    assert found.objective_ == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("name", ["num_iterations", "early_stopping_round"])
def test_rounds_of_lightgbm_by_another_name_are_refused(name):
    pytest.importorskip("lightgbm")
    with pytest.raises(DataError, match=f"sets {name}=5, but it makes as many rounds as n_estimators= says"):
        fitted(small("lightgbm").set_params(**{name: 5}))


def test_xgboost_is_its_own_training_with_the_custom_objective():
    xgboost = pytest.importorskip("xgboost")
    found = fitted(small("xgboost"))
    rows = np.flatnonzero([text != "x" for text in TEXTS])
    o = objective(SAID, [TEXTS[i] for i in rows], classes=list("uvw"))
    X = VECTORS * found.encoder_.factor
    data = xgboost.DMatrix(X[rows], label=np.zeros(len(rows)))
    options = {"num_class": 3, "max_depth": 2, "base_score": 0.0, "disable_default_eval_metric": True, "nthread": 1}
    right = xgboost.train(options, data, num_boost_round=20, obj=booster_objective(o))
    expected = right.predict(xgboost.DMatrix(X), output_margin=True)
    np.testing.assert_allclose(found.estimator_.predict(xgboost.DMatrix(X), output_margin=True), expected, atol=1e-4)


@pytest.mark.parametrize("library", ["lightgbm", "xgboost"])
def test_boosters_learn_two_classes_and_files_hold_them(library, tmp_path, monkeypatch):
    found, path = fitted(small(library)), tmp_path / "trees.tilt"
    assert accuracy(found) > 0.7
    falls = [one.objective for one in found.history_]
    assert falls[-1] < falls[0]
    found.save(path)
    again = load(path)
    assert again.model.get_params()["n_estimators"] == 20
    expected = found.predict_proba(None, features=VECTORS)
    np.testing.assert_allclose(again.predict_proba(None, features=VECTORS), expected, atol=1e-6)
    native().save(tmp_path / "native.tilt")
    with pytest.raises(UnsupportedError, match="as a whole: load it without model="):
        load(tmp_path / "native.tilt", model=GaussianNB())
    two = TiltClassifier(SAID[:2], classes=["u", "v"], model=small(library)).fit(TEXTS, features=VECTORS)
    assert two.predict_proba(None, features=VECTORS).shape == (N, 2)
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(UnsupportedError, match=rf"not installed: pip install 'tiltfit\[{library}\]'"):
        load(path)


@pytest.mark.parametrize("library", ["lightgbm", "xgboost"])
def test_what_boosters_cannot_follow(library):
    module, model = pytest.importorskip(library), small(library)
    kind = type(model)
    with pytest.raises(
        DataError, match=f"model={kind.__name__} sets objective='regression'|sets objective='reg:squarederror'"
    ):
        fitted(clone(model).set_params(objective="regression" if library == "lightgbm" else "reg:squarederror"))
    other = module.LGBMRegressor() if library == "lightgbm" else module.XGBRegressor()
    with pytest.raises(
        UnsupportedError, match=rf"cannot be trained on constraints: use {library}\.{kind.__name__}\(\.\.\.\)"
    ):
        fitted(other)


def test_a_damaged_file_says_so(tmp_path):
    from tiltfit.storage import container

    path = tmp_path / "trees.tilt"
    fitted(small("lightgbm")).save(path)
    document, arrays = container.read(path)
    for learned in ({"learned": "Other"}, {**document["learned"], "library": "catboost"}, {"learned": "Grown"}):
        container.write(path, {**document, "learned": learned}, arrays)
        with pytest.raises(ModelFileError):
            load(path)
