"""``base=`` of taggers, Eq. 2–3 for sequences: p_λ ∝ q₀·exp(λ·f); and base models in files."""

import itertools

import numpy as np
import pytest

from tiltfit import TiltClassifier, TiltTagger, expect, load, word
from tiltfit.errors import DataError, NotSavedWarning, UnsupportedError
from tiltfit.features.edges import EdgeTemplates

CLASSES = ["a", "b", "c"]
TOKENS = [["x", ",", "y"], ["y", "x"], ["z", ",", "x"], ["y", "y", "z"], ["x"]]
LABELS = [["a", "a", "b"], ["b", "a"], ["c", "b", "a"], ["b", "b", "c"], ["a"]]
OTHERS = [["z", "x", ","], ["y"]]
SAID = [expect("c", given=word("x")).about(0.9, within=0.1), expect.stay().about(0.8, within=0.1)]


@pytest.fixture(scope="module")
def base():
    """A tagger whose edges are of other kinds than those of the taggers below, and whose classes are more."""
    edges = EdgeTemplates(before={}, at={"y": "y"})
    return TiltTagger(classes=[*CLASSES, "d"], transitions=edges, alpha=0.3, tol=1e-6).fit(TOKENS, LABELS)


def tagger(base, constraints=(), **options):
    return TiltTagger(constraints, **{"classes": CLASSES, "base": base, "tol": 1e-6} | options)


def log_shares(model, x):
    """log p of every labelling of a sequence, less that of the first."""
    ranked = {tuple(y): np.log(p) for y, p in model.predict_k_best([x], k=4**3)[0]}
    every = list(itertools.product(CLASSES, repeat=len(x)))
    return np.array([ranked[y] - ranked[every[0]] for y in every])


@pytest.mark.parametrize("constraints", [(), SAID], ids=["labels", "constraints"])
def test_every_labelling_has_the_odds_of_the_base_times_its_own(base, constraints):
    built = tagger(base, constraints).fit(TOKENS, None if constraints else LABELS)
    alone = tagger(None, constraints).fit(TOKENS, None if constraints else LABELS)
    alone.coef_, alone.transitions_ = built.coef_, built.transitions_  # exp(λ·f), without q₀
    for x in [*TOKENS, *OTHERS]:
        np.testing.assert_allclose(log_shares(built, x), log_shares(base, x) + log_shares(alone, x), atol=1e-8)
    assert np.abs(built.coef_).max() > 0.01


def test_a_strong_ridge_leaves_the_base(base):
    held = tagger(base, SAID, alpha=1e7).fit(TOKENS)
    for mine, theirs in zip(held.predict_marginals(OTHERS), base.predict_marginals(OTHERS), strict=True):
        np.testing.assert_allclose(mine, theirs[:, :3] / theirs[:, :3].sum(axis=1, keepdims=True), atol=0.02)
        np.testing.assert_allclose(mine.sum(axis=1), 1.0)


def test_the_gradient_agrees_with_finite_differences(base):
    from tiltfit.methods.problem import Problem

    found = tagger(base, SAID).fit(TOKENS)
    beliefs = found.infer(TOKENS)
    problem = Problem.of(beliefs.model, beliefs.sample, found.ground(beliefs), found.ridge(beliefs.model), 1.0)
    rng = np.random.default_rng(0)
    weights = rng.normal(size=beliefs.model.n_weights)
    told = problem.evaluate(weights, None, 1e-10)
    for direction in rng.normal(size=(3, len(weights))):
        ahead, behind = (problem.evaluate(weights + s * direction, None, 1e-10).value for s in (1e-5, -1e-5))
        assert (ahead - behind) / 2e-5 == pytest.approx(told.gradient @ direction, abs=1e-4)


def test_probabilities_of_tokens_in_closed_form():
    """Sequences of one token with one attribute: without a ridge, the fit is the shares of labels, whatever q₀; with a
    very strong one it is q₀, which the objective shows."""
    X, y = [["t"]] * 10, [["a"]] * 7 + [["b"]] * 3
    q0 = [np.array([[0.2, 0.8]])] * 10
    options = {"classes": ["a", "b"], "base": q0, "tol": 1e-8}
    held = TiltTagger(alpha=1e8, **options).fit(X, y)
    assert held.objective_ == pytest.approx(-7 * np.log(0.2) - 3 * np.log(0.8), rel=1e-4)
    free = TiltTagger(alpha=1e-9, **options).fit(X, y)
    assert free.objective_ == pytest.approx(-7 * np.log(0.7) - 3 * np.log(0.3), rel=1e-6)
    scores = free.coef_ @ (free.coef_[0] != 0)  # all attributes are there
    odds = np.log(0.7 / 0.3) - np.log(0.2 / 0.8)
    assert scores[0] - scores[1] == pytest.approx(odds, rel=1e-3)


def test_probabilities_of_another_model_are_aligned_by_class():
    class Foreign:
        classes_ = np.array(["c", "a", "b"])

        def predict_marginals(self, X):
            return [np.tile([0.5, 0.2, 0.3], (len(x), 1)) for x in X]

    held = tagger(Foreign(), SAID, alpha=1e7).fit(TOKENS)
    np.testing.assert_allclose(held.predict_marginals([["x"], []])[0], [[0.2, 0.3, 0.5]], atol=0.01)
    assert held.predict([[], ["x"]]) == [[], ["c"]]


@pytest.mark.parametrize("weights", ["all", "observed"])
def test_probabilities_of_the_training_sequences_serve_fit_predict_alone(weights):
    q0 = [np.full((len(x), 3), 1 / 3) for x in TOKENS]
    y = [*LABELS[:3], None, None]
    plain, built = (tagger(b, SAID, weights=weights) for b in (None, q0))
    assert built.fit_predict(TOKENS, y) == plain.fit_predict(TOKENS, y)  # the uniform distribution says nothing
    np.testing.assert_allclose(built.coef_, plain.coef_, atol=1e-6)
    with pytest.raises(UnsupportedError, match="training sequences, which say nothing about others"):
        built.predict(OTHERS)


def test_a_base_that_forbids_pairs():
    tags, classes = [["B-p", "I-p", "O"]] * 4, ["B-p", "I-p", "O"]
    base = TiltTagger(classes=classes, valid_only=True).fit([["x", "y", "z"]] * 4, tags)
    built = TiltTagger([expect("O").about(0.5)], classes=classes, base=base).fit([["z", "y", "x"], ["x"]])
    for labels, _ in built.predict_k_best([["z", "x", "y"]], k=27)[0]:
        assert "I-p" not in labels[:1]
        assert "I-p" not in [b for a, b in itertools.pairwise(labels) if a == "O"]
    with pytest.raises(DataError, match=r"is labelled 'I-p', to which base= gives probability 0"):
        TiltTagger(classes=classes, base=base).fit([["x", "y"]], [["O", "I-p"]])


def test_a_stream_on_a_base(base, tmp_path):
    stream = tagger(base, SAID, random_state=0).partial_fit(TOKENS[:3])
    stream.save(tmp_path / "m.tilt")
    again = load(tmp_path / "m.tilt").partial_fit(TOKENS[3:])
    stream.partial_fit(TOKENS[3:])
    np.testing.assert_array_equal(again.coef_, stream.coef_)
    assert not np.array_equal(stream.coef_, tagger(None, SAID, random_state=0).partial_fit(TOKENS[:3]).coef_)


def shares(value=1 / 3):
    return [np.full((len(x), 3), value) for x in TOKENS]


ZERO = [np.array([[0.0, 0.5, 0.5]] * len(x)) for x in TOKENS]
BAD = {
    "too few": (shares()[:3], DataError, "base= has 3 arrays, but there are 5 sequences"),
    "shape": ([np.ones((3, 2)), *shares()[1:]], DataError, r"the shape \(3, 2\) for sequence 0, which needs \(3, 3\)"),
    "negative": (shares(-1.0), DataError, "not a distribution at token 0 of sequence 0"),
    "NaN": (shares(np.nan), DataError, "not a distribution at token 0 of sequence 0"),
    "zero for a label": (ZERO, DataError, "is labelled 'a', to which base= gives probability 0"),
    "number": (3, DataError, "neither a fitted tagger nor a list of arrays"),
    "text": (["x"] * 5, DataError, "neither a fitted tagger nor a list of arrays"),
    "classifier": (TiltClassifier(), DataError, "neither a fitted tagger nor a list of arrays"),
    "not fitted": (TiltTagger(), ValueError, "not fitted"),
}


@pytest.mark.parametrize(("given", "error", "message"), BAD.values(), ids=BAD.keys())
def test_what_cannot_be_a_base(given, error, message):
    with pytest.raises(error, match=message):
        tagger(given).fit(TOKENS, LABELS)


def test_a_base_without_a_class(base):
    with pytest.raises(DataError, match=r"base= does not have the classes \['e'\]"):
        tagger(base, classes=[*CLASSES, "e"]).fit(TOKENS, LABELS)


def test_a_hidden_markov_model_refuses_a_base(base):
    with pytest.raises(UnsupportedError, match="Use model='crf'"):
        tagger(base, model="hmm").fit(TOKENS, LABELS)


# Files


def test_a_file_holds_a_tagger_and_its_base_and_its_base(base, tmp_path):
    first = tagger(base, SAID).fit(TOKENS)
    second = tagger(first, alpha=3.0).fit(TOKENS, LABELS)
    second.save(tmp_path / "m.tilt")
    again = load(tmp_path / "m.tilt")
    assert isinstance(again.base.base, TiltTagger)
    for mine, theirs in zip(again.predict_marginals(OTHERS), second.predict_marginals(OTHERS), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert again.base.constraints_ == first.constraints_
    again.save(tmp_path / "again.tilt")
    assert (tmp_path / "again.tilt").read_bytes() == (tmp_path / "m.tilt").read_bytes()


def test_a_file_holds_a_classifier_and_its_base(tmp_path):
    texts, y = [" ".join(x) for x in TOKENS], ["a", "b", "c", "b", "a"]
    base = TiltClassifier().fit(texts, y)
    built = TiltClassifier(base=base, vectorizer="counts").fit(texts, y)
    built.save(tmp_path / "m.tilt")
    np.testing.assert_array_equal(load(tmp_path / "m.tilt").predict_proba(texts), built.predict_proba(texts))


def test_probabilities_are_not_in_the_file_and_are_named(tmp_path):
    built = tagger(shares()).fit(TOKENS, LABELS)
    with pytest.warns(NotSavedWarning, match="the base distribution"):
        built.save(tmp_path / "m.tilt")
    again = load(tmp_path / "m.tilt")
    with pytest.raises(UnsupportedError, match=r"cannot hold its base distribution.*model.base = fitted_model"):
        again.predict(TOKENS)
