"""Eq. 6 as a loss on scores: finite differences, closed forms, enumeration, and the estimators' own objective."""

from __future__ import annotations

import warnings
from itertools import pairwise, product

import numpy as np
import pytest

from tiltfit import TiltClassifier, column, expect, objective, punctuation, word
from tiltfit.errors import DataError, UnmetConstraintWarning, UnsupportedError
from tiltfit.projections import components

TEXTS = ["the puck", "a puck and a bat", "the bat", "a bat", "a goalie", "nothing"]
HALF = ["h", None, None, "b", None, None]
CLASSES = ["b", "h"]
TABLE = {"text": TEXTS, "place": ["x", "x", "y", "y", "x", "y"]}
DOCUMENTS = {
    "bounded pull": [expect("h", given=word("puck")).about(0.9), expect("b", given=word("bat")).about(0.8)],
    "square": [expect("h", given=word("puck")).about(0.9, within=0.05)],
    "hard": [expect("h", given=word("a")).between(0.6, 0.7), expect("h").at_most(0.55)],
    "kl": [expect(given=word("a")).distributed_as({"h": 0.7, "b": 0.3}, beta=0.1)],
    "instance": [expect("h", given=word("a"), per="instance").at_least(0.6)],
    "group": [expect("h", per=column("place")).about(0.6, within=0.1)],
    "all rows": [expect("h", on="all").about(0.7, within=0.1)],
    "nothing": [],
}
TOKENS = [["Ann", "Lee", ".", "On", "trees"], ["Of", "lakes", "1999"], ["Bo", ",", "Trees"], ["Cy", ".", "1999"]]
TAGS = [["a", "a", "a", "t", "t"], None, [None, "a", "t"], None]
SEQUENCES = {
    "label": [expect("a", given=word("Of")).about(0.8, within=0.05)],
    "transition": [expect.change(given=~punctuation.before).at_most(0.2)],
    "segments": [expect.segments("a", per="sequence").at_most(1.1)],
    "start": [expect.start("a").at_least(0.8)],
    "share": [expect.change(given=punctuation.before, of=expect.change()).at_least(0.5)],
    "whole": [expect.repeats("a").at_most(0.05), expect("t", given=word("1999")).about(0.7, within=0.1)],
    "none": [],
}


def numeric(value, x, step=1e-5):
    found = np.zeros_like(x)
    for place in np.ndindex(x.shape):
        moved = x.copy()
        moved[place] += step
        higher = value(moved)
        moved[place] -= 2 * step
        found[place] = (higher - value(moved)) / (2 * step)
    return found


def documents(name, y=HALF, **options):
    X = TABLE if name == "group" else TEXTS
    return objective(DOCUMENTS[name], X, y, classes=CLASSES, **options)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_gradient_of_documents(name):
    o = documents(name, sample_weight=[1, 2, 1, 0.5, 1, 1], gamma=0.7)
    scores = np.random.default_rng(0).normal(size=o.shape)
    value, grad = o.value_and_grad(scores)
    np.testing.assert_allclose(grad, numeric(lambda s: o.value_and_grad(s)[0], scores), atol=2e-5)
    p, q = o.proba(scores), o.projected(scores)
    omega = np.array([1, 1.4, 0.7, 0.5, 0.7, 0.7])
    np.testing.assert_allclose(grad, omega[:, None] * (p - q), atol=1e-6)
    assert np.isfinite(value)


@pytest.mark.parametrize("name", SEQUENCES)
def test_gradient_of_chains(name):
    o = objective(SEQUENCES[name], TOKENS, TAGS, classes=["a", "t"], inference="exact")
    rng = np.random.default_rng(1)
    scores, transitions = rng.normal(size=o.shape), rng.normal(size=(2, 2))
    _, grad, by_pair = o.value_and_grad(scores, transitions)
    np.testing.assert_allclose(grad, numeric(lambda s: o.value_and_grad(s, transitions)[0], scores), atol=5e-5)
    np.testing.assert_allclose(by_pair, numeric(lambda t: o.value_and_grad(scores, t)[0], transitions), atol=5e-5)


def test_value_of_one_exact_statement():
    """n documents, scores of zero, exactly u of them h: n·KL(u ‖ ½)."""
    u = 0.8
    o = objective([expect("h").exactly(u)], TEXTS, classes=CLASSES)
    divergence = u * np.log(2 * u) + (1 - u) * np.log(2 * (1 - u))
    value, _ = o.value_and_grad(np.zeros((6, 2)))
    assert value == pytest.approx(6 * divergence, rel=1e-6)
    np.testing.assert_allclose(o.projected(np.zeros((6, 2)))[:, 1], u, atol=1e-6)


def test_value_of_labelled_chains_by_enumeration():
    o = objective([], TOKENS[1:2], [["t", "t", "a"]], classes=["a", "t"])
    rng = np.random.default_rng(2)
    scores, transitions = rng.normal(size=(3, 2)), rng.normal(size=(2, 2))

    def score(labels):
        return sum(scores[t, k] for t, k in enumerate(labels)) + sum(transitions[a, b] for a, b in pairwise(labels))

    log_z = np.log(sum(np.exp(score(labels)) for labels in product((0, 1), repeat=3)))
    assert o.value_and_grad(scores, transitions)[0] == pytest.approx(log_z - score((1, 1, 0)))
    best = max(product((0, 1), repeat=3), key=score)
    assert o.decode(scores, transitions) == [[["a", "t"][k] for k in best]]
    assert o.decode(np.vstack([scores, scores]), transitions, lengths=[3, 0, 3]) == [
        *o.decode(scores, transitions), [], *o.decode(scores, transitions)
    ]  # fmt: skip


def test_it_is_the_objective_of_the_classifier(monkeypatch):
    monkeypatch.setattr(components, "REFERENCE", sum(y is None for y in HALF))  # a loss has no ridge to be as large as
    monkeypatch.setattr(components, "_FEWEST", 1.0)
    said = DOCUMENTS["bounded pull"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clf = TiltClassifier(said, classes=CLASSES, sharpen=None, penalize_intercept=True).fit(TEXTS, HALF)
    o = objective(said, TEXTS, HALF, classes=CLASSES)
    scores = clf.predict_log_proba(TEXTS)
    ridge = 0.5 * (np.sum(clf.coef_**2) + np.sum(clf.intercept_**2))
    assert o.value_and_grad(scores)[0] + ridge == pytest.approx(clf.objective_, rel=1e-6)
    for ours, theirs in zip(o.report(scores), clf.constraint_report_, strict=True):
        assert (ours.sentence, ours.support) == (theirs.sentence, theirs.support)
        assert ours.model == pytest.approx(theirs.model, abs=1e-6)
        assert ours.projected == pytest.approx(theirs.projected, abs=1e-4)


def test_curvature():
    o = documents("bounded pull", gamma=0.5)
    scores = np.random.default_rng(0).normal(size=o.shape)
    p, found = o.proba(scores), o.hess(scores)
    np.testing.assert_allclose(found[0], p[0] * (1 - p[0]))
    np.testing.assert_allclose(found[1], 0.5 * p[1] * (1 - p[1]))
    np.testing.assert_array_equal(found[4:], 0.0)


def test_transitions_that_go_with_scores():
    o = objective(SEQUENCES["transition"], TOKENS, TAGS, classes=["a", "t"])
    scores = np.random.default_rng(0).normal(size=o.shape)
    found = o.fit_transitions(scores, alpha=0.5)
    _, _, grad = o.value_and_grad(scores, found)
    np.testing.assert_allclose(grad + 0.5 * found, 0.0, atol=1e-3)


def test_batches_come_to_the_full_gradient():
    """Once every row has been in a batch, a step is the full objective at the latest scores."""
    o = documents("hard")
    scores = np.random.default_rng(0).normal(size=o.shape)
    running = o.running()
    for batch in ([0, 3], [5, 1], [2, 4]):
        value, grad = running.step(batch, scores[batch])
    full, whole = o.value_and_grad(scores)
    assert value == pytest.approx(full, rel=1e-6)
    np.testing.assert_allclose(grad, whole[[2, 4]], atol=1e-5)


def test_batches_of_sequences():
    o = objective(SEQUENCES["label"], TOKENS, TAGS, classes=["a", "t"])
    scores = np.random.default_rng(0).normal(size=o.shape)
    running = o.running()
    running.step([2, 0, 3], np.vstack([scores[8:11], scores[:5], scores[11:]]))
    value, grad = running.step([1], scores[5:8])
    full, whole = o.value_and_grad(scores)
    assert value == pytest.approx(full, rel=1e-6)
    np.testing.assert_allclose(grad, whole[5:8], atol=1e-5)


def test_half_precision_is_widened():
    o = documents("bounded pull")
    value, grad = o.value_and_grad(np.zeros(o.shape, dtype=np.float16))
    assert grad.dtype == np.float64
    assert value == pytest.approx(o.value_and_grad(np.zeros(o.shape))[0])


class OnAnotherDevice:
    def __array__(self, dtype=None, copy=None):
        raise TypeError("can't convert cuda:0 device type tensor to numpy")


@pytest.mark.parametrize(
    ("scores", "told"),
    [
        (np.zeros((5, 2)), r"scores has the shape \(5, 2\), but this objective is about 6 × 2: one row per document"),
        (np.zeros(12), r"scores has the shape \(12,\)"),
        (np.full((6, 2), np.nan), r"scores has NaN or infinite numbers in 6 rows \(row 0 first\)"),
        (np.where(np.arange(12).reshape(6, 2) == 7, np.inf, 0.0), r"in 1 rows \(row 3 first\)"),
        ([["a", "b"]] * 6, r"scores must be an array of numbers"),
        (np.zeros((6, 2), dtype=complex), r"scores must be an array of numbers \(its type is complex128\)"),
        (OnAnotherDevice(), r"cuda:0.*pass scores\.detach\(\)\.float\(\)\.cpu\(\)\.numpy\(\)"),
    ],
    ids=["rows", "axes", "nan", "inf", "texts", "complex", "device"],
)
def test_scores_that_are_refused(scores, told):
    with pytest.raises(DataError, match=told):
        documents("bounded pull").value_and_grad(scores)


@pytest.mark.parametrize(
    ("instances", "told"),
    [
        ([0, 0], "must differ"),
        ([6], "whole numbers from 0 to 5"),
        ([-1], "whole numbers"),
        ([0.5], "whole numbers"),
        ([], "is empty"),
    ],
)
def test_batches_that_are_refused(instances, told):
    with pytest.raises(DataError, match=told):
        documents("bounded pull").running().step(instances, np.zeros((len(instances), 2)))


def test_what_else_is_refused():
    o = documents("bounded pull")
    with pytest.raises(UnsupportedError, match="transitions= is about sequences"):
        o.value_and_grad(np.zeros((6, 2)), np.zeros((2, 2)))
    with pytest.raises(UnsupportedError, match="fit_transitions is about sequences"):
        o.fit_transitions(np.zeros((6, 2)))
    with pytest.raises(DataError, match="nothing to learn from"):
        objective([], TEXTS, classes=CLASSES)
    with pytest.raises(DataError, match="inference='sampled' is unknown here"):
        documents("bounded pull", inference="sampled")
    many = [[str(i) for i in range(40)] for _ in range(3)]
    with pytest.raises(UnsupportedError, match=r"about whole sequences, and q can only be sampled"):
        objective([expect.repeats().at_most(0.1)], many, classes=list("abcdefghijklmnop"))


def test_a_refused_batch_changes_nothing():
    running = objective(SEQUENCES["label"], TOKENS, TAGS, classes=["a", "t"]).running()
    with pytest.raises(DataError, match="transitions has the shape"):
        running.step([1], np.ones((3, 2)), np.zeros((3, 3)))
    np.testing.assert_array_equal(running.scores, 0.0)


def test_contradictions_are_given_slack():
    said = [
        expect("h", given=word("puck")).at_least(0.9),
        expect("h").at_most(0.2),
        expect("h", given=word("bat")).at_least(0.95),
    ]
    with pytest.warns(UnmetConstraintWarning, match="contradict each other"):
        o = objective(said, TEXTS, classes=CLASSES)
    scores = np.random.default_rng(0).normal(size=o.shape)
    _, grad = o.value_and_grad(scores)
    np.testing.assert_allclose(grad, numeric(lambda s: o.value_and_grad(s)[0], scores), atol=1e-3)


@pytest.mark.parametrize(
    ("X", "is_chains"),
    [
        ([["x"]], True),
        ([[], ["x"]], True),
        ([np.array(["x", "y"])], True),
        ([[["w=x"], ["c"]]], True),
        (["x"], False),
        ([[1.0]], False),
    ],
)
def test_sequences_are_told_by_their_tokens(X, is_chains):
    o = objective([], X, [["a"] * len(row) for row in X] if is_chains else ["a"], classes=["a", "b"])
    assert o.is_chains == is_chains


@pytest.mark.parametrize("lengths", [[1.5, 1.5], [-1, 4]])
def test_lengths_that_are_refused(lengths):
    o = objective(SEQUENCES["label"], TOKENS, TAGS, classes=["a", "t"])
    with pytest.raises(DataError, match="lengths must be whole numbers"):
        o.decode(np.zeros((3, 2)), lengths=lengths)
    with pytest.raises(DataError, match="alpha"):
        o.fit_transitions(np.zeros(o.shape), alpha=-1)
