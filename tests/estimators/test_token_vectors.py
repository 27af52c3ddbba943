"""Vectors of tokens beside their attributes: given with X, or made by an encoder.

Oracle: the same numbers as attributes with values, as CRFsuite's users have them. A fit on these is the same model.
"""

from __future__ import annotations

import itertools
import sys
import warnings
from unittest import mock

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from tiltfit import TiltTagger, WithFeatures, expect, feature, leave_one_out, load, report_page, when, why, word
from tiltfit.data.sequences import as_sequences
from tiltfit.errors import ConstraintError, DataError, ModelFileError, NotSavedWarning, UnsupportedError
from tiltfit.estimators.token_vectors import LENGTH
from tiltfit.features.tokens import TokenTemplates
from tiltfit.features.vectors import ENCODERS, STATIC, named_encoder, register_encoder
from tiltfit.methods.problem import Problem
from tiltfit.storage.container import read, write

ADS = [
    ["big", "room", "call", "Ann"],
    ["sunny", "room", "call", "Bob"],
    ["big", "garden", "phone", "Ann"],
    ["garden", "phone"],
    ["call", "Bob", "sunny"],
]
TAGS = [["size", "size", "contact", "contact"], None, ["size", None, None, "contact"], None, None]
CLASSES = ["contact", "size"]
PLAIN = {"before": {}}
ALONE = TokenTemplates.only(identity=(0,))  # the attribute w=call, as of {"w": "call"}


class Letters:
    """An encoder of words: how often some letters occur, with a sign, and not of length one."""

    def __init__(self, letters="aeiog"):
        self.letters = letters
        self.seen = []

    def encode(self, words):
        self.seen += words
        return np.array([[w.count(letter) - 0.5 for letter in self.letters] for w in words], dtype=np.float32)


VECTORS = [Letters().encode(ad).astype(float) * (1 + t) for t, ad in enumerate(ADS)]  # in every sequence others
FACTOR = LENGTH / np.sqrt(np.mean([v @ v for part in VECTORS for v in part]))


def said(given=word):
    """Statements about tokens, or, with ``feature``, about the same attributes."""
    call, sunny = (word("call"), word("sunny")) if given is word else (feature("w=call"), feature("w=sunny"))
    return [
        expect("contact", given=call).about(0.95),
        expect("size", given=sunny).about(0.9),
        expect.stay().about(0.8),
    ]


def as_attributes(X, vectors, length=None):
    """The tokens as attributes with values; ``length``: of every vector, else all times one factor."""
    rows = []
    for x, V in zip(X, vectors, strict=True):
        scaled = FACTOR * V if length is None else length * V / np.linalg.norm(V, axis=1, keepdims=True)
        rows.append([
            {f"v{j}": float(value) for j, value in enumerate(v)} | {"w": token}
            for token, v in zip(x, scaled, strict=True)
        ])  # fmt: skip
    return rows


def by_name(tagger):
    names = [name.replace("vector ", "v") for name in tagger.attribute_names_]
    order = np.argsort(names)
    return sorted(names), tagger.coef_[:, order]


def same(one, other, atol=1e-6):
    assert by_name(one)[0] == by_name(other)[0]
    np.testing.assert_allclose(by_name(one)[1], by_name(other)[1], rtol=atol, atol=atol)
    np.testing.assert_allclose(one.transitions_, other.transitions_, rtol=atol, atol=atol)


def close(one, other, atol=1e-6):
    for a, b in zip(one, other, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=atol)


def tagger(constraints=None, **options):
    said_so = said() if constraints is None else constraints
    return TiltTagger(said_so, **{"classes": CLASSES, "features": ALONE, "transitions": PLAIN, "tol": 1e-7} | options)


def by_hand(**options):
    return tagger(said(feature), **{"features": None, "transitions": None} | options)


@pytest.fixture(scope="module")
def fitted():
    return tagger().fit(ADS, TAGS, features=VECTORS)


@pytest.fixture
def static(monkeypatch):
    """The encoder of the extra, without the package that it needs."""
    monkeypatch.setitem(ENCODERS._entries, STATIC, Letters)
    named_encoder.cache_clear()
    yield
    named_encoder.cache_clear()


# The same model as by attributes with values


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"boundaries": True, "penalize_intercept": False},
        {"weights": "observed"},
        {"solver": "alternating", "max_iter": 20, "tol": 0.0},
        {"method": "ge"},
        {"solver": "online", "random_state": 0},
        {"n_jobs": 2, "alpha": 0.1},
    ],
    ids=str,
)
def test_a_fit_is_that_on_attributes_with_these_values(options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # alternating stops early
        ours = tagger(**options).fit(ADS, TAGS, features=VECTORS)
        theirs = by_hand(**options).fit(as_attributes(ADS, VECTORS), TAGS)
    same(ours, theirs, 2e-4)  # a search ends where the objective is flat, and sums are of another order
    assert ours.objective_ == pytest.approx(theirs.objective_, abs=1e-6)


def test_everything_that_uses_it_gives_the_same(fitted):
    other = by_hand().fit(as_attributes(ADS, VECTORS), TAGS)
    X = as_attributes(ADS, VECTORS)
    close(fitted.predict_marginals(ADS, features=VECTORS), other.predict_marginals(X))
    close(fitted.project(ADS, features=VECTORS), other.project(X))
    close(fitted.project(ADS, TAGS, features=VECTORS, prices="solve"), other.project(X, TAGS, prices="solve"))
    assert fitted.predict(ADS, features=VECTORS) == other.predict(X)
    assert fitted.score(ADS, TAGS, features=VECTORS) == other.score(X, TAGS)
    ours, theirs = fitted.predict_k_best(ADS, 3, features=VECTORS), other.predict_k_best(X, 3)
    assert [y for row in ours for y, _ in row] == [y for row in theirs for y, _ in row]


def test_the_probabilities_are_those_of_all_labellings(fitted):
    """p(y|x) ∝ exp(Σ c·v_t·U[y_t] + W[w_t, y_t] + T[y_{t−1}, y_t]), by enumeration."""
    names = fitted.attribute_names_.tolist()
    x, V = ADS[3], VECTORS[3]
    scores = FACTOR * V @ fitted.coef_[:, :5].T + np.array([fitted.coef_[:, names.index(f"w={t}")] for t in x])
    every = list(itertools.product(range(2), repeat=len(x)))
    total = np.array([
        sum(scores[t, y] for t, y in enumerate(ys))
        + sum(fitted.transitions_[0, a, b] for a, b in itertools.pairwise(ys))
        for ys in every
    ])  # fmt: skip
    p = np.exp(total) / np.exp(total).sum()
    marginals = [[sum(p[k] for k, ys in enumerate(every) if ys[t] == y) for y in range(2)] for t in range(len(x))]
    np.testing.assert_allclose(fitted.predict_marginals([x], features=[V])[0], marginals, atol=1e-10)


def test_the_gradient_agrees_with_finite_differences(fitted):
    beliefs = fitted.infer(WithFeatures(ADS, VECTORS), TAGS)
    problem = Problem.of(beliefs.model, beliefs.sample, fitted.ground(beliefs), fitted.ridge(beliefs.model), 1.0)
    rng = np.random.default_rng(0)
    weights = rng.normal(size=beliefs.model.n_weights)
    told = problem.evaluate(weights, None, 1e-10)
    for direction in rng.normal(size=(3, len(weights))):
        ahead, behind = (problem.evaluate(weights + s * direction, None, 1e-10).value for s in (1e-5, -1e-5))
        assert (ahead - behind) / 2e-5 == pytest.approx(told.gradient @ direction, abs=1e-4)


def test_the_scale_of_the_vectors_does_not_matter(fitted):
    large = [1e6 * V for V in VECTORS]
    same(tagger().fit(ADS, TAGS, features=large), fitted)
    zeros = tagger().fit(ADS, TAGS, features=[np.zeros((len(x), 2)) for x in ADS])
    np.testing.assert_allclose(zeros.coef_[:, :2], 0)


def test_vectors_alone():
    ours = tagger([expect.stay().about(0.8)], features=TokenTemplates.only()).fit(ADS, TAGS, features=VECTORS)
    assert ours.attribute_names_.tolist() == [f"vector {j}" for j in range(5)]
    X = [[{k: v for k, v in token.items() if k != "w"} for token in row] for row in as_attributes(ADS, VECTORS)]
    same(ours, tagger([expect.stay().about(0.8)], features=None, transitions=None).fit(X, TAGS))


def test_vectors_beside_attributes_of_the_users_own(fitted):
    words = [[{"w": token} for token in row] for row in ADS]
    same(by_hand().fit(words, TAGS, features=VECTORS), fitted)


# An encoder of words


def test_an_encoder_is_asked_once_for_every_word():
    encoder = Letters()
    ours = tagger(features=TokenTemplates.only(identity=(0,), vectors=encoder)).fit(ADS, TAGS)
    assert sorted(encoder.seen[1:]) == sorted({*itertools.chain(*ADS)})  # the first call is for the dimensions
    plain = [Letters().encode(ad).astype(float) for ad in ADS]
    X = as_attributes(ADS, plain, LENGTH)
    other = by_hand().fit(X, TAGS)
    same(ours, other)
    assert ours.predict([]) == []
    close(ours.predict_marginals([["Ann", "new"], []]), [*other.predict_marginals(_new()), np.zeros((0, 2))])


def _new():
    return as_attributes([["Ann", "new"]], [Letters().encode(["Ann", "new"]).astype(float)], LENGTH)


def test_an_encoder_by_name_and_as_an_option(static):
    ours = TiltTagger(said(), classes=CLASSES, features={"vectors": STATIC}).fit(ADS)
    theirs = TiltTagger(said(), classes=CLASSES, features=TokenTemplates(vectors=Letters())).fit(ADS)
    np.testing.assert_array_equal(ours.coef_, theirs.coef_)
    assert ours.attribute_names_[:2].tolist() == ["vector 0", "vector 1"]


def test_a_word_that_the_encoder_does_not_know_has_no_vector():
    class Some(Letters):
        def encode(self, words):
            return super().encode(words) * np.array([[w != "call"] for w in words])

    ours = tagger(features=TokenTemplates.only(vectors=Some())).fit(ADS, TAGS)
    found = ours.infer([["call"]])
    np.testing.assert_array_equal(found.potentials.node, 0.0)


def test_hashed_attributes_beside_vectors():
    ours = tagger(features={"hashing": 64, "vectors": Letters()}).fit(ADS, TAGS)
    assert ours.coef_.shape == (2, 5 + 64)
    assert ours.attribute_names_[5] == "hash 0"
    # Columns that are empty have no weights in the search, and get zeros.
    V = np.abs(ours.encoder_.transform(ours.sample(ADS).inputs).attributes.toarray()).sum(axis=0)
    assert np.all(ours.coef_[:, 5:][:, V == 0] == 0)
    assert np.any(ours.coef_[:, :5] != 0)


def test_a_stream_takes_an_encoder():
    def learned(model, X):
        for part in (slice(0, 2), slice(2, 5)):
            model.partial_fit(X[part], TAGS[part])
        return model

    plain = [Letters().encode(ad).astype(float) for ad in ADS]
    hashed = {"hashing": 2**10}
    ours = learned(tagger(features={"vectors": Letters(), **_off(), **hashed}, random_state=0), ADS)
    theirs = learned(by_hand(random_state=0, features=hashed), as_attributes(ADS, plain, LENGTH))
    close(ours.predict_marginals(ADS), theirs.predict_marginals(as_attributes(ADS, plain, LENGTH)), 1e-8)


def _off():
    document = TokenTemplates.only(identity=(0,)).to_document()
    del document["hashing"]
    return document


def test_templates_as_data(static):
    templates = TokenTemplates(vectors=STATIC)
    assert TokenTemplates.from_document(templates.to_document()) == templates
    assert "vectors" not in TokenTemplates().to_document()
    assert "vectors" not in TokenTemplates(vectors=Letters()).to_document()
    encoder = Letters()
    assert TokenTemplates(vectors=encoder) == TokenTemplates(vectors=encoder)
    assert clone(TiltTagger(features=templates)).features == templates


# Together with what else there is


def test_development_sets_bases_and_explanations(fitted):
    pair = WithFeatures(ADS, VECTORS)
    chosen = tagger().fit(pair, TAGS, dev=(WithFeatures(ADS[:1], VECTORS[:1]), TAGS[:1]))
    assert chosen.history_[-1].dev_score is not None
    built = tagger(base=fitted).fit(pair, TAGS)
    assert built.predict(ADS, features=VECTORS) == fitted.predict(ADS, features=VECTORS)
    on_words = tagger().fit(ADS, TAGS)
    assert len(tagger(base=on_words).fit(ADS, TAGS, features=VECTORS).predict(ADS, features=VECTORS)) == len(ADS)
    account = why(fitted, WithFeatures(ADS, VECTORS), top=3)
    assert "vector" in str(account)
    page = report_page(fitted, WithFeatures([*ADS, []], [*VECTORS, []]))
    assert "contact" in str(page)
    assert len(leave_one_out(tagger(), pair, TAGS)) == 3
    assert tagger().fit_predict(ADS, features=VECTORS) == tagger().fit(pair).project(
        ADS, features=VECTORS, prices="solve", decode=True
    )


@pytest.mark.parametrize("vectors", [VECTORS, tuple(VECTORS), VECTORS[0]])
def test_vectors_given_to_the_constructor_lead_to_fit(vectors):
    with pytest.raises(DataError, match=r"features= of the constructor.*fit\(X, y, features=\[\.\.\.\]\)") as error:
        tagger(features=vectors).fit(ADS, TAGS)
    assert error.value.parameter == "features"


def test_a_start_is_matched_by_name(fitted):
    again = tagger(init=fitted).fit(ADS, TAGS, features=VECTORS)
    same(again, fitted, 1e-4)


# Files


def test_a_tagger_with_given_vectors_comes_back(fitted, tmp_path):
    fitted.save(tmp_path / "m.tilt")
    again = load(tmp_path / "m.tilt")
    close(again.predict_marginals(ADS, features=VECTORS), fitted.predict_marginals(ADS, features=VECTORS), 0)
    close(again.project(ADS, features=VECTORS), fitted.project(ADS, features=VECTORS), 0)
    with pytest.raises(DataError, match="fitted with vectors of tokens"):
        again.predict(ADS)
    again.save(tmp_path / "again.tilt")
    assert (tmp_path / "again.tilt").read_bytes() == (tmp_path / "m.tilt").read_bytes()


def test_the_name_of_an_encoder_is_kept(static, tmp_path):
    ours = TiltTagger(said(), classes=CLASSES, features={"vectors": STATIC}).fit(ADS)
    ours.save(tmp_path / "m.tilt")
    with mock.patch("tiltfit.estimators.token_vectors.named_encoder", side_effect=AssertionError):
        again = load(tmp_path / "m.tilt")  # the encoder is not loaded before it is needed
    close(again.predict_marginals(ADS), ours.predict_marginals(ADS), 0)
    assert again.features == TokenTemplates(vectors=STATIC)


def test_an_encoder_without_a_name_is_lost_and_its_vectors_are_asked_for(tmp_path):
    ours = tagger(features=TokenTemplates(vectors=Letters())).fit(ADS)
    with pytest.warns(NotSavedWarning, match="the encoder Letters of tokens"):
        ours.save(tmp_path / "m.tilt")
    again = load(tmp_path / "m.tilt")
    plain = [Letters().encode(ad) for ad in ADS]
    close(again.predict_marginals(ADS, features=plain), ours.predict_marginals(ADS), 1e-12)
    with pytest.raises(DataError, match="features="):
        again.predict(ADS)
    with pytest.raises(UnsupportedError, match="the encoder Letters of tokens"):
        again.project(ADS, features=plain)
    with pytest.warns(NotSavedWarning, match="the encoder of tokens"):
        again.save(tmp_path / "again.tilt")


def test_an_encoder_that_nobody_has_registered(tmp_path):
    register_encoder("letters for a test", Letters)
    try:
        tagger(features={"vectors": "letters for a test"}).fit(ADS).save(tmp_path / "m.tilt")
    finally:
        ENCODERS.remove("letters for a test")
        named_encoder.cache_clear()
    with pytest.raises(ModelFileError, match="letters for a test") as error:
        load(tmp_path / "m.tilt")
    assert error.value.missing == ("encoder", "letters for a test")


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "other"},
        {"dimensions": 0},
        {"dimensions": True},
        {"dimensions": 4},
        {"factor": 0.0},
        {"factor": "1"},
        {"factor": None},
    ],
    ids=str,
)
def test_damaged_vectors_in_a_file(fitted, tmp_path, change):
    path = tmp_path / "m.tilt"
    fitted.save(path)
    document, arrays = read(path)
    document["encoder"]["vectors"] |= change
    write(path, document, arrays)
    with pytest.raises(ModelFileError):
        load(path)


# Refused


def _changed(s, V):
    return [V if k == s else part for k, part in enumerate(VECTORS)]


NAN = VECTORS[2].copy()
NAN[1, 0] = np.nan


@pytest.mark.parametrize(
    ("features", "message", "instance"),
    [
        (VECTORS[:4], "one for each of the 5 sequences of X, but has 4", None),
        (7, "but is of type int", None),
        (sparse.csr_array(np.eye(5)), "but is of type csr_array", None),
        (np.ones((5, 3)), r"sequence 0 in features= has the shape \(3,\), but the sequence has 4 tokens", 0),
        (np.ones((5, 4, 3)), r"sequence 3 in features= has the shape \(4, 3\), but the sequence has 2 tokens", 3),
        (_changed(3, VECTORS[3][:1]), r"sequence 3 in features= has the shape \(1, 5\)", 3),
        (_changed(2, VECTORS[2][:, :2]), "sequence 2 in features= has 2 dimensions, but that of sequence 0 has 5", 2),
        (_changed(1, np.ones((4, 0))), "sequence 1 in features= has the shape", 1),
        (_changed(1, [[1.0] * 5] * 3 + [[1.0]]), "sequence 1 in features= is not an array of numbers", 1),
        (_changed(1, [["a"] * 5] * 4), "sequence 1 in features= is not an array of numbers", 1),
        (_changed(2, NAN), r"NaN or infinite at 1 tokens; the first is position 1 of sequence 2 \(X\[2\]\[1\]\)", 2),
        (_changed(4, VECTORS[4] * np.inf), "position 0 of sequence 4", 4),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_vectors_that_do_not_fit_are_refused_by_sequence(fitted, features, message, instance):
    for call in (lambda: tagger().fit(ADS, TAGS, features=features), lambda: fitted.predict(ADS, features=features)):
        with pytest.raises(DataError, match=message) as error:
            call()
        assert error.value.parameter == "features"
        assert error.value.instance == instance


def test_other_dimensions_at_predict(fitted):
    with pytest.raises(DataError, match="vectors of 2 dimensions, but the tagger was fitted on 5"):
        fitted.predict(ADS, features=[V[:, :2] for V in VECTORS])
    assert fitted.predict([[], ["Ann"], []], features=[[], VECTORS[0][3:], np.empty((0, 9))])[0] == []
    assert fitted.predict([], features=[]) == []
    with pytest.raises(DataError, match="The array of sequence 0 in features= has the shape"):
        fitted.predict([[], ["Ann"]], features=[None, VECTORS[0][3:]])


def test_vectors_where_none_are_taken_and_none_where_some_are(fitted):
    with pytest.raises(DataError, match="fitted with vectors of tokens") as error:
        fitted.predict(ADS)
    assert error.value.parameter == "features"
    with pytest.raises(DataError, match="fitted without features="):
        tagger().fit(ADS, TAGS).predict(ADS, features=VECTORS)
    with pytest.raises(DataError, match="fitted without features="):
        tagger(features={"vectors": Letters()}).fit(ADS, TAGS).predict(ADS, features=VECTORS)
    with pytest.raises(DataError, match="features= is given twice"):
        fitted.predict(WithFeatures(ADS, VECTORS), features=VECTORS)
    with pytest.raises(DataError, match="come from two places"):
        tagger(features={"vectors": Letters()}).fit(ADS, TAGS, features=VECTORS)
    with pytest.raises(DataError, match="X is None"):
        fitted.predict(None, features=VECTORS)


def test_streams_of_given_vectors_are_refused(fitted):
    for call in (
        lambda: tagger().partial_fit(ADS, TAGS, features=VECTORS),
        lambda: tagger().partial_fit(WithFeatures(ADS, VECTORS), TAGS),
        lambda: fitted.partial_fit(ADS, TAGS),
    ):
        with pytest.raises(UnsupportedError, match="partial_fit does not take features="):
            call()


def test_an_hmm_has_no_vectors():
    with pytest.raises(UnsupportedError, match="Vectors of tokens with model='hmm'.*leave out features="):
        tagger(model="hmm").fit(ADS, TAGS, features=VECTORS)
    with pytest.raises(UnsupportedError, match="Vectors of tokens with model='hmm'.*leave out vectors="):
        tagger(model="hmm", features={"vectors": Letters()}).fit(ADS, TAGS)


def test_an_attribute_that_has_the_name_of_a_dimension():
    with pytest.raises(DataError, match="attribute 'vector 1'"):
        TiltTagger(classes=CLASSES).fit([[{"vector 1": 1.0}, {"b": 1.0}]], [CLASSES], features=[np.ones((2, 3))])


@pytest.mark.parametrize(
    ("vectors", "message"),
    [
        (Letters, "Letters is a class: pass an object"),
        (3, "vectors=3. It must be an object with encode"),
        (np.ones((3, 2)), "It must be an object with encode"),
        ("statik", "statik"),
    ],
    ids=["class", "number", "array", "name"],
)
def test_what_is_not_an_encoder(vectors, message):
    with pytest.raises(DataError, match=message):
        TokenTemplates(vectors=vectors)


class Wrong(Letters):
    """Goes wrong in one way as soon as it sees more than one word."""

    def __init__(self, wrong):
        super().__init__()
        self.wrong = wrong

    def encode(self, words):
        found = super().encode(words)
        if len(words) > 1 and self.wrong == "rows":
            return found[1:]
        if len(words) > 1 and self.wrong == "dimensions":
            return found[:, 1:]
        if self.wrong == "nothing":
            return found[:, :0]
        if self.wrong == "NaN":
            found[np.array(words) == "phone"] = np.nan
        return found


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("rows", "one row per text"),
        ("dimensions", "vectors of 4 dimensions, but the model was fitted on 5"),
        ("nothing", "no dimensions"),
        ("NaN", "NaN or infinite.*The first of them is the token 'phone'"),
    ],
)
def test_an_encoder_that_goes_wrong(wrong, message):
    with pytest.raises(DataError, match=f"(?s)^vectors= of the tokens: .*{message}") as error:
        tagger(features={"vectors": Wrong(wrong)}).fit(ADS, TAGS)
    assert error.value.parameter == "features"


def test_a_missing_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "wordllama", None)
    named_encoder.cache_clear()
    try:
        with pytest.raises(UnsupportedError, match=r"pip install 'tiltfit\[embeddings\]'"):
            TiltTagger(said(), features={"vectors": STATIC}).fit(ADS)
    finally:
        named_encoder.cache_clear()


def test_conditions_do_not_see_the_vectors():
    with pytest.raises(ConstraintError, match="needs attributes, but X holds tokens"):
        tagger([expect("size", given=feature("vector 0")).about(0.9)]).fit(ADS, TAGS, features=VECTORS)
    loud = tagger([expect("size", given=when(lambda token: token == "big")).about(0.9)])
    assert loud.fit(ADS, features=VECTORS).constraint_report_[0].support == 2


def test_the_static_encoder():
    pytest.importorskip("wordllama")
    encoder = tagger(features={"vectors": STATIC}).fit(ADS).encoder_
    phone, telephone, garden = encoder.transform(as_sequences([["phone", "telephone", "garden"]])).vectors.toarray()
    assert phone @ telephone > 2 * phone @ garden
    np.testing.assert_allclose(np.linalg.norm(phone), LENGTH)
