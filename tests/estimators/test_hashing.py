"""Models without a vocabulary: as good as with one, kept in small files, started from each other, refused by name."""

from __future__ import annotations

import pickle
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tiltfit import TiltClassifier, TiltTagger, column, expect, load, word
from tiltfit.demo import citations, tickets
from tiltfit.errors import DataError, ModelFileError
from tiltfit.estimators.file_parts import pack_strings
from tiltfit.features.hashing import SIZE
from tiltfit.optimize.plateau import PERIOD
from tiltfit.storage.container import read, write

TEXTS = 3 * ["the puck hit the goalie", "goalie saves the puck", "a bat and a pitcher", "the pitcher has a bat"]
CONSTRAINTS = [
    expect("hockey", given=word("puck")).about(0.95),
    expect("baseball", given=word("bat")).about(0.95),
]
FRAME = pd.DataFrame({"title": TEXTS, "age": np.arange(len(TEXTS)) / 10})
ON_TITLES = [expect("hockey", given=column("title").word("puck")).about(0.9)]
ADS = [["big", "room", ",", "call", "Ann"], ["sunny", "room", "call", "Bob", "."], ["big", "garden", "phone", "Ann"]]
TAGS = [["size", "size", "size", "contact", "contact"], None, ["size", "size", "contact", "contact"]]
NEW = [["huge", "garden", ",", "phone", "Eve"], [], ["unheard-of"]]


def classifier(constraints: Any = CONSTRAINTS, **options: Any) -> TiltClassifier:
    return TiltClassifier(constraints, vectorizer="hashing", **options)


def attributes(ads: list[list[str]]) -> list[list[dict[str, Any]]]:
    return [[{"w": token, "long": len(token) > 3, "length": len(token) / 3} for token in ad] for ad in ads]


# Documents --------------------------------------------------------------------------------------------------------


def test_a_classifier_without_a_vocabulary() -> None:
    clf = classifier().fit(TEXTS)
    assert clf.coef_.shape == (2, SIZE)
    assert clf.n_features_in_ == SIZE
    assert clf.predict(["our goalie", "their pitcher"]).tolist() == ["hockey", "baseball"]
    assert not hasattr(clf, "feature_names_in_")
    assert clf.get_feature_names_out()[[0, -1]].tolist() == ["hash 0", f"hash {SIZE - 1}"]
    np.testing.assert_allclose(clf.predict_proba(["", "unheard"])[0], clf.predict_proba(["."])[0])
    assert clf.project(TEXTS).shape == (len(TEXTS), 2)


def test_names_of_a_vocabulary_do_not_outlive_it() -> None:
    clf = TiltClassifier(CONSTRAINTS).fit(TEXTS)
    clf.set_params(vectorizer="hashing").fit(TEXTS)
    assert not hasattr(clf, "feature_names_in_")
    clf.set_params(vectorizer="counts").fit(TEXTS)
    assert "goalie" in clf.feature_names_in_


def test_it_is_the_solution_with_a_vocabulary() -> None:
    """Here no words share a column, so hashing only moves columns about."""
    bag = classifier().fit(TEXTS).encoder_.bag
    assert bag is not None
    labels = ["hockey", None, "baseball", None] * 3
    for constraints, options in (((), {}), ([expect("hockey").at_least(0.6)], {"penalize_intercept": False})):
        hashed = classifier(constraints, tol=1e-9, **options).fit(TEXTS, labels)
        known = TiltClassifier(constraints, tol=1e-9, **options).fit(TEXTS, labels)
        np.testing.assert_allclose(hashed.predict_proba(TEXTS), known.predict_proba(TEXTS), atol=1e-6)
        assert hashed.objective_ == pytest.approx(known.objective_, rel=1e-9)
        for j, name in enumerate(known.feature_names_in_):
            (at,) = bag.transform([name]).indices
            np.testing.assert_allclose(hashed.coef_[:, at], known.coef_[:, j], atol=1e-5)


@pytest.mark.parametrize("solver", ["alternating", "sgd"])
def test_every_solver_takes_it(solver: str) -> None:
    clf = classifier(solver=solver, max_iter=60, tol=0.1, random_state=0).fit(TEXTS)
    assert clf.predict(["our goalie", "their pitcher"]).tolist() == ["hockey", "baseball"]


def test_on_tickets_it_is_as_good_as_a_vocabulary() -> None:
    train, test = tickets.split(tickets.generate())
    known = TiltClassifier().fit(train.texts, train.labels).score(test.texts, test.labels)
    found = classifier(()).fit(train.texts, train.labels).score(test.texts, test.labels)
    assert found == pytest.approx(known, abs=0.01)


def test_a_hashed_classifier_comes_back_whole(tmp_path: Path) -> None:
    clf = classifier(random_state=1).fit(TEXTS)
    clf.save(tmp_path / "m.tilt")
    again = load(tmp_path / "m.tilt")
    new = [*TEXTS, "", "words never heard before"]
    assert again.vectorizer == "hashing"
    assert np.array_equal(again.predict_proba(new), clf.predict_proba(new))
    assert np.array_equal(again.project(TEXTS), clf.project(TEXTS))
    assert not hasattr(again, "feature_names_in_")
    assert again.get_feature_names_out()[7] == "hash 7"
    assert np.array_equal(again.fit(TEXTS).coef_, clf.coef_)
    document, _ = read(tmp_path / "m.tilt")
    bag = {"weighting": "hashing", "size": SIZE, "n": len(TEXTS), "frequency": "idf.frequency", "marks": True}
    assert document["encoder"] == {"kind": "text", "bag": bag}
    assert len(pickle.dumps(clf.names_)) < 500


def test_tables_hash_their_text_columns(tmp_path: Path) -> None:
    clf = classifier(ON_TITLES, classes=["hockey", "x"]).fit(FRAME)
    assert clf.coef_.shape == (2, 1 + SIZE)
    assert clf.get_feature_names_out()[:3].tolist() == ["age", "title:hash 0", "title:hash 1"]
    assert not hasattr(clf, "feature_names_in_")
    clf.save(tmp_path / "m.tilt")
    again = load(tmp_path / "m.tilt")
    assert np.array_equal(again.predict_proba(FRAME), clf.predict_proba(FRAME))
    assert again.columns_in_ == ["age", "title"]
    warm = classifier(ON_TITLES, classes=["hockey", "x"], init=again).fit(FRAME)
    assert warm.n_iter_ <= 5 < clf.n_iter_
    more = classifier(ON_TITLES, classes=["hockey", "x"], init=again, tol=0.1).fit(FRAME.assign(size=0.0))
    assert more.n_iter_ <= 2 * PERIOD + 1, "columns are matched by name, those of the hash by place"


@pytest.mark.parametrize("texts", [["", " "], [".", "!"]])
def test_texts_without_words_are_refused(texts: list[str]) -> None:
    with pytest.raises(DataError, match="no words at all"):
        classifier(()).fit(texts, ["a", "b"])


def test_a_name_that_is_nearly_right() -> None:
    with pytest.raises(
        DataError, match=r"'words\+sentences', a scikit-learn vectorizer or an encoder. Did you mean .hashing"
    ):
        TiltClassifier(CONSTRAINTS, vectorizer="hashng").fit(TEXTS)


def test_starts() -> None:
    clf = classifier(warm_start=True).fit(TEXTS)
    rounds = clf.n_iter_
    assert clf.fit(TEXTS).n_iter_ <= 2 * PERIOD + 1 < rounds  # two periods of the stopping rule
    more = [*TEXTS, "aardvarks have a bat"]
    warm, cold = ([r.objective for r in classifier(init=init).fit(more).history_] for init in (clf, "zeros"))
    assert warm[0] - warm[-1] < 0.1 * (cold[0] - cold[-1])
    assert warm[-1] == pytest.approx(cold[-1], rel=2e-3)  # neither has far to go
    assert classifier(init=(clf.coef_, clf.intercept_)).fit(TEXTS).n_iter_ <= 2 * PERIOD + 1
    with pytest.raises(DataError, match="features hashed into 262144 columns, but this fit has a vocabulary"):
        TiltClassifier(CONSTRAINTS, init=clf).fit(TEXTS)
    with pytest.raises(DataError, match="has a vocabulary, but this fit has features hashed into 262144 columns"):
        classifier(init=TiltClassifier(CONSTRAINTS).fit(TEXTS)).fit(TEXTS)


def test_early_stopping_scores_words_that_were_not_fitted() -> None:
    dev = (["goalie and aardvark", "pitcher and aardvark"], ["hockey", "baseball"])
    clf = classifier().fit(TEXTS, dev=dev)
    assert clf.history_[-1].dev_score == clf.score(*dev) == 1.0


@pytest.mark.parametrize(
    "bag",
    [{"size": 0}, {"size": "x"}, {"size": 2**40}, {"size": 1024}, {"size": None}, {"n": -1}, {"n": 1}, {"n": "x"}],
)
def test_a_damaged_hash_is_refused(tmp_path: Path, bag: dict[str, Any]) -> None:
    path = tmp_path / "m.tilt"
    classifier().fit(TEXTS).save(path)
    document, arrays = read(path)
    encoder = {"kind": "text", "bag": document["encoder"]["bag"] | bag}
    write(path, document | {"encoder": encoder}, arrays)
    with pytest.raises(ModelFileError, match="m.tilt is damaged"):
        load(path)


# Sequences --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"boundaries": True}, {"weights": "observed"}, {"solver": "alternating"}])
@pytest.mark.parametrize("of", [list, attributes])
def test_a_hashed_tagger_comes_back_whole(tmp_path: Path, options: dict[str, Any], of: Any) -> None:
    tagger = TiltTagger(features={"hashing": 2**12}, max_iter=50, tol=0.01, **options).fit(of(ADS), TAGS)
    n = 2**12 + 2 * options.get("boundaries", False)
    assert tagger.coef_.shape == (2, n)
    assert "attribute_names_" not in vars(tagger), "made when asked for"
    tagger.save(tmp_path / "m.tilt")
    again = load(tmp_path / "m.tilt")
    assert again.predict(of(NEW)) == tagger.predict(of(NEW))
    assert np.array_equal(again.coef_, tagger.coef_)
    assert again.features.hashing == 2**12
    assert "attribute_names_" not in vars(again)
    assert len(again.attribute_names_) == n
    assert again.attribute_names_[:2].tolist() == ["hash 0", "hash 1"]
    assert np.array_equal(again.fit(of(ADS), TAGS).coef_, tagger.coef_)
    _, arrays = read(tmp_path / "m.tilt")
    assert arrays["attributes.text"].size == 0
    assert (tmp_path / "m.tilt").stat().st_size < 50_000


def test_a_hashed_tagger_is_the_one_with_a_vocabulary() -> None:
    """In so many columns hardly any attributes collide; the same objective, and the same labels."""
    train, test = citations.split(60, 40)
    X, y = [r.tokens for r in train], [r.labels for r in train]
    known = TiltTagger().fit(X, y)
    hashed = TiltTagger(features={"hashing": 2**20}).fit(X, y)
    assert hashed.objective_ == pytest.approx(known.objective_, rel=0.01)
    new, truth = [r.tokens for r in test], [r.labels for r in test]
    assert hashed.score(new, truth) == pytest.approx(known.score(new, truth), abs=0.01)
    tight = TiltTagger(features={"hashing": 2**12}).fit(X, y)
    assert tight.score(new, truth) > known.score(new, truth) - 0.03


def test_new_names_replace_those_of_the_last_fit() -> None:
    tagger = TiltTagger().fit(ADS, TAGS)
    assert "lower=room" in tagger.attribute_names_
    tagger.set_params(features={"hashing": 8}).fit(ADS, TAGS)
    assert tagger.attribute_names_.tolist() == [f"hash {j}" for j in range(8)]
    assert not hasattr(TiltTagger(), "attribute_names_")


def test_starts_of_taggers() -> None:
    hashing = {"features": {"hashing": 2**12}}
    tagger = TiltTagger(**hashing, warm_start=True).fit(ADS, TAGS)
    rounds = tagger.n_iter_
    assert tagger.fit(ADS, TAGS).n_iter_ <= 5 < rounds
    bounded = TiltTagger(**hashing, init=tagger, boundaries=True).fit(ADS, TAGS)
    assert bounded.coef_.shape == (2, 2**12 + 2)
    with pytest.raises(DataError, match="hashed into 4096 columns, but this fit has features hashed into 1024 columns"):
        TiltTagger(features={"hashing": 1024}, init=tagger).fit(ADS, TAGS)
    with pytest.raises(DataError, match="but this fit has a vocabulary"):
        TiltTagger(init=tagger).fit(ADS, TAGS)


@pytest.mark.parametrize("X", [ADS, attributes(ADS)])
def test_bad_sizes_and_counts_are_refused(X: Any) -> None:
    for size in (0, "x", 2**30, 1.5):
        with pytest.raises(DataError, match="hashing="):
            TiltTagger(features={"hashing": size}).fit(X, TAGS)
    with pytest.raises(DataError, match="min_count=2 with hashing=64"):
        TiltTagger(features={"hashing": 64, "min_count": 2}).fit(X, TAGS)


def test_memory_of_a_fit_goes_with_the_columns_in_use() -> None:
    """Twenty vectors of L-BFGS over all 2**20 columns would be 320 MB; a table of the weights is 16 MB."""
    tagger = TiltTagger(features={"hashing": 2**20})
    tagger.fit(ADS, TAGS)  # kernels are compiled
    tracemalloc.start()
    tagger.fit(ADS, TAGS)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 5 * 2 * 8 * 2**20


@pytest.mark.parametrize("of", [list, attributes])
def test_damaged_files_of_taggers_are_refused(tmp_path: Path, of: Any) -> None:
    path = tmp_path / "m.tilt"
    tagger = TiltTagger(features={"hashing": 64}).fit(of(ADS), TAGS)
    tagger.save(path)
    document, arrays = read(path)
    templates = document["encoder"]["templates"]
    for hashing in (None, 0, 63, 2**40, "x", 64.5, True, [64], {}):
        damaged = {"hashing": hashing} if templates is None else {"templates": templates | {"hashing": hashing}}
        write(path, document | {"encoder": document["encoder"] | damaged}, arrays)
        with pytest.raises(ModelFileError, match="m.tilt is damaged"):
            load(path)
    write(path, document, arrays | pack_strings("attributes", ["a"]))
    with pytest.raises(ModelFileError, match="hashed have no names"):
        load(path)
