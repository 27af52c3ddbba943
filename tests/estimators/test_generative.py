"""Generative models behind the estimators: inputs, refusals, starts, files."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.naive_bayes import BernoulliNB, MultinomialNB
from sklearn.utils.estimator_checks import parametrize_with_checks

from tiltfit import TiltClassifier, TiltTagger, expect, load, word
from tiltfit.errors import DataError, TiltfitWarning, UnsupportedError

TEXTS = ["puck ice ice", "puck goal", "bat ball", "ball base ball", "ice goal", "base bat", "the ice", "the ball"]
LABELS = ["h", None, "b", None, None, None, None, None]
PUCK = [expect("h", given=word("puck")).about(0.9), expect("b", given=word("ball")).about(0.8)]
ADS = [["big", "room", "call", "Ann"], ["sunny", "room", "call", "Bob"], ["big", "garden", "phone", "Ann"]]
SAID = [expect("c", given=word("call") | word("phone")).about(0.95), expect("s", given=word("big")).about(0.95)]
NAIVE = ["naive_bayes", "bernoulli_naive_bayes"]


_STREAMS = ("check_fit_score_takes_y", "check_n_features_in_after_fitting", "check_estimators_partial_fit_n_features")


@parametrize_with_checks(
    [TiltClassifier(model="naive_bayes")],
    expected_failed_checks=lambda _: dict.fromkeys(_STREAMS, "they call partial_fit, which is refused"),
)
def test_conventions_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize(("model", "theirs"), [("naive_bayes", MultinomialNB), ("bernoulli_naive_bayes", BernoulliNB)])
@pytest.mark.parametrize("sparse", [False, True])
def test_supervised_is_that_of_scikit_learn(model, theirs, sparse):
    rng = np.random.default_rng(1)
    X, y = rng.poisson(0.7, size=(50, 7)), rng.choice(["p", "q", "r"], size=50)
    X = X if model == "naive_bayes" else (X > 0).astype(int)
    weight = rng.uniform(0.2, 3, size=50)
    known = theirs(alpha=0.4).fit(X, y, sample_weight=weight)
    ours = TiltClassifier(model=model, method="supervised", alpha=0.4, penalize_intercept=False)
    from scipy.sparse import csr_array

    ours.fit(csr_array(X) if sparse else X, y, sample_weight=weight)
    np.testing.assert_allclose(ours.predict_log_proba(X), known.predict_log_proba(X), rtol=1e-9, atol=1e-12)
    assert (ours.converged_, ours.n_iter_) == (True, 1)


def test_raw_texts_are_counted_or_looked_up():
    counts = CountVectorizer(token_pattern=r"(?u)\b\w+\b").fit(TEXTS)
    matrix, labels = counts.transform(TEXTS), ["h", "h", "b", "b", "h", "b", "h", "b"]
    for model, theirs in (("naive_bayes", MultinomialNB), ("bernoulli_naive_bayes", BernoulliNB)):
        ours = TiltClassifier(model=model, method="supervised", penalize_intercept=False).fit(TEXTS, labels)
        known = theirs().fit(matrix, labels)  # its BernoulliNB turns counts into zeros and ones
        np.testing.assert_allclose(ours.predict_proba(TEXTS), known.predict_proba(matrix), rtol=1e-9)


@pytest.mark.parametrize("model", NAIVE)
@pytest.mark.parametrize("n_jobs", [2, 3])
def test_threads_do_not_change_a_bit(model, n_jobs):
    texts, labels = TEXTS * 40, LABELS * 40
    one, many = (TiltClassifier(PUCK, model=model, n_jobs=n).fit(texts, labels) for n in (1, n_jobs))
    np.testing.assert_array_equal(one.coef_, many.coef_)
    assert one.objective_ == many.objective_


def test_threads_do_not_change_a_bit_of_an_hmm():
    one, many = (TiltTagger([*SAID, expect.stay().about(0.7)], model="hmm", n_jobs=n).fit(ADS * 60) for n in (1, 2))
    np.testing.assert_array_equal(one.coef_, many.coef_)
    np.testing.assert_array_equal(one.transitions_, many.transitions_)


@pytest.mark.parametrize("model", NAIVE)
@pytest.mark.parametrize("method", ["ap", "em", "supervised"])
def test_a_classifier_comes_back_from_its_file(tmp_path, model, method):
    stated = [] if method == "em" else PUCK
    clf = TiltClassifier(stated, classes=["b", "h"], model=model, method=method, alpha=0.3).fit(TEXTS, LABELS)
    clf.save(tmp_path / "m.tilt")
    back = load(tmp_path / "m.tilt")
    np.testing.assert_array_equal(back.predict_proba(TEXTS), clf.predict_proba(TEXTS))
    np.testing.assert_array_equal(back.project(TEXTS), clf.project(TEXTS))
    assert (back.model, back.method, back.objective_, back.n_iter_) == (model, method, clf.objective_, clf.n_iter_)
    assert clone(back).fit(TEXTS, LABELS).objective_ == clf.objective_


@pytest.mark.parametrize("features", [None, {"suffixes": (2,)}, {"hashing": 64}])
def test_a_tagger_comes_back_from_its_file(tmp_path, features):
    tagger = TiltTagger(SAID, model="hmm", features=features).fit(ADS)
    tagger.save(tmp_path / "m.tilt")
    back = load(tmp_path / "m.tilt")
    new = [["sunny", "unheard-of", "phone"]]
    np.testing.assert_array_equal(back.predict_marginals(new)[0], tagger.predict_marginals(new)[0])
    np.testing.assert_array_equal(back.project(ADS)[0], tagger.project(ADS)[0])
    assert clone(back).fit(ADS).objective_ == tagger.objective_


def test_an_hmm_looks_at_tokens_in_lower_case_unless_told_otherwise():
    found = TiltTagger(SAID, model="hmm").fit(ADS)
    assert set(found.attribute_names_) == {f"lower={w.lower()}" for ad in ADS for w in ad} | {"<start>", "<end>"}
    assert list(found.transition_names_) == ["transition"]
    told = TiltTagger(SAID, model="hmm", features={"lower": (0,), "suffixes": (1,)}).fit(ADS)
    assert "suffix=m" in set(told.attribute_names_)
    np.testing.assert_allclose(np.exp(told.coef_[:, :-2]).sum(axis=1), 1)  # one bag


@pytest.mark.parametrize("transitions", [None, {}])
def test_an_hmm_of_attributes(transitions):
    X = [[{"w": 2.0, "v": 1.0}, {"v": 1.0}], [["w", "u"], ["u"]]]
    tagger = TiltTagger(model="hmm", method="supervised", alpha=0.5, transitions=transitions)
    tagger.fit(X, [["a", "b"], ["a", "b"]])
    column = {name: j for j, name in enumerate(tagger.attribute_names_)}
    emitted = np.exp(tagger.coef_[0])
    np.testing.assert_allclose([emitted[column[a]] for a in "wvu"], np.array([3.5, 1.5, 1.5]) / 6.5)
    np.testing.assert_allclose(np.exp(tagger.coef_[:, column["<start>"]]), [2.5 / 3, 0.5 / 3])
    np.testing.assert_allclose(np.exp(tagger.transitions_[0, 0]), [0.5 / 3.5, 2.5 / 3.5])
    np.testing.assert_allclose(np.exp(tagger.coef_[:, column["<end>"]]), [0.5 / 3.5, 2.5 / 3.5])


@pytest.mark.parametrize("model", NAIVE)
def test_without_labels_em_finds_clusters(model):
    texts = ["puck ice goal", "ice puck", "goal puck ice", "bat ball base", "ball bat", "base ball"] * 5
    clf = TiltClassifier(classes=[0, 1], model=model, method="em", n_init=5, random_state=0, alpha=0.1).fit(texts)
    found = clf.predict(texts)
    assert len(set(found[:3])) == len(set(found[3:6])) == 1
    assert found[0] != found[3]


def test_of_several_starts_the_most_likely_is_kept():
    rng = np.random.default_rng(4)
    X = rng.poisson(0.5, size=(60, 12))
    made = {"classes": [0, 1, 2], "model": "naive_bayes", "method": "em", "random_state": 0}
    values = [TiltClassifier(**made, n_init=n).fit(X).objective_ for n in (1, 4, 8)]
    assert values[0] >= values[1] >= values[2]
    assert values[0] > values[2]


@pytest.mark.parametrize("init", ["zeros", "supervised", "constraints", "random"])
def test_every_start_is_one(init):
    clf = TiltClassifier(PUCK, model="naive_bayes", init=init, random_state=0).fit(TEXTS, LABELS)
    assert clf.converged_
    np.testing.assert_allclose(np.exp(clf.coef_).sum(axis=1), 1)


def test_a_fitted_model_is_a_start_though_it_is_no_distribution():
    conditional = TiltClassifier(PUCK, vectorizer="counts").fit(TEXTS, LABELS)
    clf = TiltClassifier(PUCK, model="naive_bayes", init=conditional).fit(TEXTS, LABELS)
    assert all(a.objective >= b.objective - 1e-9 for a, b in zip(clf.history_, clf.history_[1:], strict=False))
    tagger = TiltTagger(SAID, model="hmm", init=TiltTagger(SAID).fit(ADS)).fit(ADS)
    np.testing.assert_allclose(np.exp(tagger.coef_[:, :-2]).sum(axis=1), 1)
    again = clone(clf).set_params(init=None, warm_start=True).fit(TEXTS, LABELS)
    assert again.fit(TEXTS, LABELS).objective_ <= again.history_[0].objective + 1e-9


def test_a_development_set_and_a_callback_stop_it():
    heard = []
    dev = (["puck goal", "bat"], ["h", "b"])
    kept = TiltClassifier(PUCK, model="naive_bayes", callback=heard.append).fit(TEXTS, LABELS, dev=dev, patience=2)
    assert [told.round for told in heard] == list(range(1, len(heard) + 1))
    assert all(told.dev_score is not None for told in kept.history_)
    stopped = TiltClassifier(PUCK, model="naive_bayes", callback=lambda told: told.round == 2).fit(TEXTS)
    assert stopped.n_iter_ == 2
    assert not stopped.converged_
    scored = TiltClassifier(model="naive_bayes", method="supervised").fit(
        ["puck", "bat"], ["h", "b"], dev=(["puck"], ["h"])
    )
    assert scored.history_[0].dev_score == 1.0


def test_a_hashed_vocabulary_and_a_table():
    clf = TiltClassifier(PUCK, model="naive_bayes", vectorizer="hashing").fit(TEXTS, LABELS)
    assert clf.predict(["puck never-heard"]).tolist() == ["h"]
    table = pd.DataFrame({"text": TEXTS, "goals": [3, 2, 0, 0, 1, 0, 1, 0]})
    found = TiltClassifier(model="naive_bayes", method="em", classes=["b", "h"]).fit(table, LABELS)
    assert found.predict(table)[0] == "h"
    with pytest.raises(DataError, match="column 'goals' of X is -3 in row 0"):
        TiltClassifier(model="naive_bayes").fit(table.assign(goals=-table.goals), LABELS)


# What is refused


def test_values_that_the_model_does_not_generate():
    X = np.array([[1.0, 2.0], [0.0, 1.0], [3.0, 0.0]])
    with pytest.raises(DataError, match="column 0 of X is -1 in row 0.*model='maxent'"):
        TiltClassifier(model="naive_bayes").fit(-X, ["a", "b", "a"])
    with pytest.raises(DataError, match="zeros and ones.*column 1 of X is 2 in row 0"):
        TiltClassifier(model="bernoulli_naive_bayes").fit(X, ["a", "b", "a"])
    clf = TiltClassifier(model="naive_bayes").fit(X, ["a", "b", "a"])
    with pytest.raises(DataError, match="is -1 in row 0"):
        clf.predict(-X)
    with pytest.raises(DataError, match="In dev=.*is -1 in row 0"):
        clf.fit(X, ["a", "b", "a"], dev=(-X, ["a", "b", "a"]))
    two = TiltClassifier(model="bernoulli_naive_bayes").fit(1.0 * (X > 0), ["a", "b", "a"])
    with pytest.raises(DataError, match="zeros and ones"):
        two.predict_proba(X)
    with pytest.raises(DataError, match="zeros and ones.*column 'ice'.*vectorizer='binary'"):
        TiltClassifier(PUCK, model="bernoulli_naive_bayes", vectorizer="counts").fit(TEXTS)
    with pytest.raises(DataError, match="model='hmm'.*column 'w' of X is -1 in position 0 of sequence 0"):
        TiltTagger(model="hmm").fit([[{"w": -1.0}, ["v"]]], [["a", "b"]])


@pytest.mark.parametrize(("model", "near"), [("maxent", "naive_bayes"), ("crf", "hmm")])
def test_em_needs_a_generative_model(model, near):
    estimator, X, y = (
        (TiltClassifier(model=model, method="em"), TEXTS, ["h", *["b"] * 7]) if model == "maxent"
        else (TiltTagger(model=model, method="em"), ADS, [["c"] * 4, ["s"] * 4, None])
    )  # fmt: skip
    with pytest.raises(UnsupportedError, match=f"cannot train model='{model}'.*model='{near}', or method='entropy'"):
        estimator.fit(X, y)


def test_em_has_no_constraints():
    with pytest.raises(UnsupportedError, match="method='em' takes no constraints, but there are 2.*puck.*method='ap'"):
        TiltClassifier(PUCK, model="naive_bayes", method="em").fit(TEXTS)


@pytest.mark.parametrize("solver", ["joint", "sgd"])
@pytest.mark.parametrize("estimator", [TiltClassifier(PUCK, model="naive_bayes"), TiltTagger(SAID, model="hmm")])
def test_solvers_that_move_weights_freely(solver, estimator):
    with pytest.raises(UnsupportedError, match=f"solver='{solver}' moves weights freely.*solver='alternating'"):
        clone(estimator).set_params(solver=solver).fit(TEXTS if isinstance(estimator, TiltClassifier) else ADS)


@pytest.mark.parametrize("method", ["ap", "em", "supervised"])
def test_alternating_is_the_only_solver(method):
    with pytest.raises(UnsupportedError, match="solver='joint'"):
        TiltClassifier(classes=["b", "h"], model="naive_bayes", method=method, solver="joint").fit(TEXTS, LABELS)
    if method != "supervised":
        clf = TiltClassifier(classes=["b", "h"], model="naive_bayes", method=method, solver="alternating")
        assert clf.fit(TEXTS, LABELS).converged_


def test_methods_that_fit_free_weights_are_refused(monkeypatch):
    from tiltfit.methods import catalogue
    from tiltfit.methods.method import Method

    monkeypatch.setitem(catalogue.METHODS.loaded, "other", Method("other", "another", fit=lambda *_: None))
    with pytest.raises(UnsupportedError, match="'other' cannot train model='hmm'.*log-probabilities.*model='crf'"):
        TiltTagger(SAID, model="hmm", method="other").fit(ADS)


@pytest.mark.parametrize("model", NAIVE)
def test_parameters_that_make_no_sense(model):
    with pytest.raises(DataError, match=f"alpha=0 with model='{model}'.*pseudo-count"):
        TiltClassifier(PUCK, model=model, alpha=0).fit(TEXTS)
    with pytest.raises(UnsupportedError, match=f"base=.*model='{model}'.*model='maxent'"):
        TiltClassifier(PUCK, model=model, base=np.full((8, 2), 0.5)).fit(TEXTS)
    with pytest.raises(UnsupportedError, match=f"model='{model}' cannot learn online.*model='maxent'"):
        TiltClassifier(PUCK, model=model).partial_fit(TEXTS)
    with pytest.raises(UnsupportedError, match="cannot learn online"):
        TiltClassifier(PUCK, model=model).fit(TEXTS).partial_fit(TEXTS)
    with pytest.raises(UnsupportedError, match="model='hmm' is not supported: use 'maxent'"):
        TiltClassifier(PUCK, model="hmm").fit(TEXTS)
    with pytest.raises(DataError, match="class 'c' has no row"):
        TiltClassifier(
            classes=["b", "c", "h"], model=model, method="supervised", penalize_intercept=False
        ).fit(TEXTS, LABELS)  # fmt: skip


def test_parameters_that_an_hmm_does_not_have():
    with pytest.raises(UnsupportedError, match="depend on 'before: dash'.*model='crf'"):
        TiltTagger(SAID, model="hmm", transitions={"before": {"dash": "-"}}).fit(ADS)
    with pytest.raises(UnsupportedError, match="weights='observed'.*weights='all'"):
        TiltTagger(SAID, model="hmm", weights="observed").fit(ADS, [["s", "s", "c", "c"], None, None])
    with pytest.raises(UnsupportedError, match="model='hmm' cannot learn online.*model='crf'"):
        TiltTagger(SAID, model="hmm").partial_fit(ADS)
    with pytest.raises(DataError, match="alpha=0 with model='hmm'"):
        TiltTagger(SAID, model="hmm", alpha=0).fit(ADS)
    with pytest.raises(UnsupportedError, match="model='naive_bayes' is not supported: use 'crf' or 'hmm'"):
        TiltTagger(SAID, model="naive_bayes").fit(ADS)


def test_nothing_to_learn_from():
    with pytest.raises(DataError, match="nothing to learn from: no row.*method='em'"):
        TiltClassifier(classes=["b", "h"], model="naive_bayes").fit(TEXTS)
    with pytest.raises(DataError, match="nothing to learn from: no token.*method='em'"):
        TiltTagger(classes=["c", "s"], model="hmm").fit(ADS)
    with pytest.raises(DataError, match="method='supervised' learns from labels"):
        TiltClassifier(PUCK, model="naive_bayes", method="supervised").fit(TEXTS)
    for init in ("zeros", "constraints"):
        with pytest.raises(DataError, match=f"init='{init}' gives all classes the same.*init='random'"):
            TiltClassifier(classes=["b", "h"], model="naive_bayes", method="em", init=init).fit(TEXTS)
    with pytest.raises(DataError, match="init='supervised' needs labelled rows"):
        TiltClassifier(classes=["b", "h"], model="naive_bayes", method="em", init="supervised").fit(TEXTS)


def test_two_classes_that_nothing_tells_apart_are_named_only_where_others_are_told():
    with pytest.warns(TiltfitWarning, match="nothing can tell them apart"):
        TiltClassifier(classes=["b", "c", "d", "h"], model="naive_bayes", method="em").fit(TEXTS, LABELS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        TiltClassifier(classes=["b", "h"], model="naive_bayes", method="em", random_state=0).fit(TEXTS)
