"""Models survive a trip through a file; what cannot be written is named; damaged files are refused."""

from __future__ import annotations

import contextlib
import json

import numpy as np
import pandas as pd
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression

from tiltfit import TiltClassifier, column, expect, load, when, word
from tiltfit.errors import ModelFileError, NotSavedWarning, UnsupportedError
from tiltfit.storage.container import read, write

TEXTS = 3 * ["the puck hit the goalie", "goalie saves the puck", "a bat and a pitcher", "the pitcher has a bat"]
CONSTRAINTS = [
    expect("hockey", given=word("puck")).about(0.95, name="puck", rationale="a puck is a puck"),
    expect("baseball", given=word("bat")).between(0.8, 0.99),
    expect("hockey").at_least(0.3),
]


@pytest.fixture
def model(tmp_path):
    clf = TiltClassifier(CONSTRAINTS, alpha=0.5, random_state=3).fit(TEXTS)
    clf.save(tmp_path / "m.tilt")
    return clf, tmp_path / "m.tilt"


def test_a_text_model_comes_back_whole(model):
    clf, path = model
    again = load(path)
    assert np.array_equal(again.predict_proba(TEXTS), clf.predict_proba(TEXTS))
    assert np.array_equal(again.project(TEXTS), clf.project(TEXTS))
    assert np.array_equal(again.project(TEXTS, prices="fitted"), clf.project(TEXTS, prices="fitted"))
    assert again.constraints == CONSTRAINTS
    assert str(again.constraint_report_) == str(clf.constraint_report_)
    assert again.history_ == clf.history_
    assert again.alpha == 0.5
    assert again.classes_.tolist() == clf.classes_.tolist()
    assert np.allclose(again.fit(TEXTS).coef_, clf.coef_)


@pytest.mark.parametrize("y", [[0, 1] * 6, [True, False] * 6, [0.5, 1.0] * 6, ["a", "b"] * 6])
def test_labels_keep_their_type(tmp_path, y):
    if y[0] == 0.5:
        y = [0.0, 1.0] * 6
    clf = TiltClassifier().fit(np.arange(12.0)[:, None], y)
    clf.save(tmp_path / "m.tilt")
    assert load(tmp_path / "m.tilt").classes_.dtype == clf.classes_.dtype


def test_matrices_and_tables_come_back(tmp_path):
    frame = pd.DataFrame({"title": TEXTS, "age": np.arange(len(TEXTS)) / 10, "county": ["n", "s"] * 6})
    constraints = [
        expect("hockey", given=column("title").word("puck")).about(0.9),
        expect("hockey", per=column("county")).at_most(0.7),
    ]
    clf = TiltClassifier(constraints, classes=["hockey", "x"]).fit(frame)
    clf.save(tmp_path / "t.tilt")
    again = load(tmp_path / "t.tilt")
    assert np.array_equal(again.predict_proba(frame), clf.predict_proba(frame))
    assert np.array_equal(again.project(frame, prices="fitted"), clf.project(frame, prices="fitted"))
    numbers = pd.DataFrame({"a": np.arange(8.0), "b": np.ones(8)})
    clf = TiltClassifier().fit(numbers, [0, 1] * 4)
    clf.save(tmp_path / "n.tilt")
    assert load(tmp_path / "n.tilt").feature_names_in_.tolist() == ["a", "b"]


def test_what_cannot_be_written_is_named_and_the_rest_works(tmp_path):
    constraints = [
        *CONSTRAINTS,
        expect("hockey", given=when(lambda t: "ice" in t or "goalie" in t, name="icy")).about(0.9),
    ]
    clf = TiltClassifier(constraints).fit(TEXTS)
    with pytest.warns(NotSavedWarning, match="icy"):
        clf.save(tmp_path / "m.tilt")
    again = load(tmp_path / "m.tilt")
    assert np.array_equal(again.predict_proba(TEXTS), clf.predict_proba(TEXTS))
    with pytest.raises(UnsupportedError, match="icy"):
        again.project(TEXTS)


def test_a_foreign_vectorizer_is_named_and_matrices_still_work(tmp_path):
    vectorizer = CountVectorizer(vocabulary=["puck", "bat", "goalie", "pitcher"])
    clf = TiltClassifier(CONSTRAINTS, vectorizer=vectorizer).fit(TEXTS)
    with pytest.warns(NotSavedWarning, match="CountVectorizer"):
        clf.save(tmp_path / "m.tilt")
    again = load(tmp_path / "m.tilt")
    with pytest.raises(UnsupportedError, match="vectorizer"):
        again.predict(TEXTS)
    np.testing.assert_allclose(again.predict_proba(vectorizer.transform(TEXTS)), clf.predict_proba(TEXTS))


def test_a_foreign_base_is_named_and_must_be_set_again(tmp_path):
    X, y = np.arange(12.0)[:, None], [0, 1] * 6
    base = LogisticRegression().fit(X, y)
    clf = TiltClassifier(base=base).fit(X, y)
    with pytest.warns(NotSavedWarning, match="base"):
        clf.save(tmp_path / "m.tilt")
    again = load(tmp_path / "m.tilt")
    with pytest.raises(UnsupportedError, match="base"):
        again.predict(X)
    again.base = base
    assert np.array_equal(again.predict_proba(X), clf.predict_proba(X))


def test_an_unfitted_model_is_not_written(tmp_path):
    with pytest.raises(ValueError, match="not fitted"):
        TiltClassifier(CONSTRAINTS).save(tmp_path / "m.tilt")
    assert not list(tmp_path.iterdir())


def test_unknown_kind_and_version_are_named(model):
    _, path = model
    document, arrays = read(path)
    write(path, document | {"kind": "Elephant"}, arrays)
    with pytest.raises(ModelFileError, match="Elephant"):
        load(path)
    write(path, document | {"state_version": 99}, arrays)
    with pytest.raises(ModelFileError, match="99"):
        load(path)


def _mutations(document):
    """The document with each entry, at any depth, replaced by something of another kind or left out."""
    for key in list(document):
        yield {k: v for k, v in document.items() if k != key}
        for other in (None, 3, "x", [], {}, [1, 2], {"a": 1}, -1.5, True, ["x"] * 3):
            yield document | {key: other}
        if isinstance(document[key], dict):
            for inner in _mutations(document[key]):
                yield document | {key: inner}


def test_any_damage_to_the_document_is_refused_or_harmless(model):
    _, path = model
    document, arrays = read(path)
    document = json.loads(json.dumps(document))
    for damaged in _mutations(document):
        write(path, damaged, arrays)
        try:
            again = load(path)
        except ModelFileError:
            continue
        with contextlib.suppress(ValueError):  # sound as a file, but its encoder may not take texts
            again.predict_proba(TEXTS)


def test_any_damage_to_the_arrays_is_refused_or_harmless(model):
    _, path = model
    document, arrays = read(path)
    for name in arrays:
        for bad in (
            np.zeros(0),
            np.zeros((1, 1)),
            np.full(arrays[name].shape, np.nan),
            np.zeros((2, 3, 4)),
            np.zeros(3, bool),
        ):
            write(path, document, arrays | {name: bad})
            try:
                load(path).predict_proba(TEXTS)
            except ModelFileError:
                continue
        write(path, document, {k: v for k, v in arrays.items() if k != name})
        with pytest.raises(ModelFileError):
            load(path)
