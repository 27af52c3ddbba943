"""EM under constraints: likelihood, posteriors and steps by enumeration; O falls at every half step.

The enumeration speaks of probabilities and labellings, not of weights, features or potentials.
"""

from __future__ import annotations

import itertools
import warnings
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from tiltfit import TiltClassifier, TiltTagger, expect, word
from tiltfit.errors import NotConvergedWarning
from tiltfit.features.attributes import AttributeFeatures
from tiltfit.features.chains import ChainFeatures
from tiltfit.inference.chain import Chains
from tiltfit.inference.independent import Independent
from tiltfit.methods import expectation_maximization as module
from tiltfit.methods.problem import Problem
from tiltfit.methods.start import starting_point
from tiltfit.models.generative import Generative, MultinomialNaiveBayes

SEQUENCES = [["x", "y", "x"], ["z"], ["y", "z", "z", "x"], ["x", "x"], ["y", "x", "z"]]
WEIGHT = [1.0, 2.0, 0.5, 1.0, 1.5]
LABELS = {
    "unlabelled": [None] * 5,
    "mixed": [["a", "b", "b"], None, None, ["a", "a"], None],
    "partly": [["a", "b", "b"], None, [None, "b", None, None], ["a", None], None],
}
PRIOR = {"penalize_intercept": True}  # the pseudo-count α is that of classes, too
TEXTS = ["x y x", "z", "y z z x", "x x", "y", "z y", "x z", "y y"]


class Parameters:
    """Start, transition, end and emission probabilities of an HMM, as dicts."""

    def __init__(self, tagger):
        names, labels = list(tagger.attribute_names_), list(tagger.classes_)
        p, moves = np.exp(tagger.coef_), np.exp(tagger.transitions_[0])
        column = {name: j for j, name in enumerate(names)}
        self.start = {s: p[k, column["<start>"]] for k, s in enumerate(labels)}
        self.end = {s: p[k, column["<end>"]] for k, s in enumerate(labels)}
        self.move = {(s, t): moves[i, j] for i, s in enumerate(labels) for j, t in enumerate(labels)}
        self.emit = {(s, w): p[k, column[f"lower={w}"]] for k, s in enumerate(labels) for w in "xyz"}
        self.labels = labels

    def joint(self, tokens, tags):
        """p(x, y)."""
        p = self.start[tags[0]] * self.end[tags[-1]]
        for s, w in zip(tags, tokens, strict=True):
            p *= self.emit[s, w]
        for s, t in itertools.pairwise(tags):
            p *= self.move[s, t]
        return p

    def listed(self, tokens, known):
        """All labellings that agree with what is known, and p(x, y) of each."""
        known = known or [None] * len(tokens)
        tags = [y for y in itertools.product(self.labels, repeat=len(tokens))
                if all(k in (None, s) for k, s in zip(known, y, strict=True))]  # fmt: skip
        return tags, np.array([self.joint(tokens, y) for y in tags])

    def log_prior(self, alpha):
        tables = (self.start, self.end, self.move, self.emit)
        return alpha * sum(np.log(p) for table in tables for p in table.values())


def omega(tags, weight, gamma):
    return weight if tags is not None and None not in tags else gamma * weight


def stepped(parameters, labels, alpha, gamma):
    """One EM step: the parameters that follow from the expected counts, as probabilities by event."""
    counts = Counter()
    for tokens, known, weight in zip(SEQUENCES, labels, WEIGHT, strict=True):
        tags, p = parameters.listed(tokens, known)
        for y, share in zip(tags, omega(known, weight, gamma) * p / p.sum(), strict=True):
            counts["start", y[0]] += share
            counts["leave", y[-1], "end"] += share
            for s, w in zip(y, tokens, strict=True):
                counts["emit", s, w] += share
            for s, t in itertools.pairwise(y):
                counts["leave", s, t] += share

    def shares(*keys):
        values = np.array([counts[key] + alpha for key in keys])
        return dict(zip(keys, values / values.sum(), strict=True))

    found = shares(*(("start", s) for s in parameters.labels))
    for s in parameters.labels:
        found |= shares(*(("emit", s, w) for w in "xyz"))
        found |= shares(*(("leave", s, t) for t in [*parameters.labels, "end"]))
    return found


def hmm(labels, rounds, alpha=0.3, gamma=0.6, **more):
    tagger = TiltTagger(model="hmm", method="em", classes=["a", "b"], alpha=alpha, gamma=gamma, max_iter=rounds,
                        random_state=3, tol=1e-9, **more)  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConvergedWarning)
        return tagger.fit(SEQUENCES, LABELS[labels], sample_weight=WEIGHT)


@pytest.mark.parametrize("labels", sorted(LABELS))
def test_the_objective_of_an_hmm_is_the_likelihood_of_what_is_known(labels):
    found = hmm(labels, 3)
    parameters = Parameters(found)
    expected = -parameters.log_prior(0.3)
    for tokens, known, weight in zip(SEQUENCES, LABELS[labels], WEIGHT, strict=True):
        expected -= omega(known, weight, 0.6) * np.log(parameters.listed(tokens, known)[1].sum())
    assert found.objective_ == pytest.approx(expected, rel=1e-12)


def test_posteriors_of_an_hmm_are_those_of_all_labellings():
    found = hmm("mixed", 3)
    parameters = Parameters(found)
    for tokens, p in zip(SEQUENCES, found.predict_marginals(SEQUENCES), strict=True):
        tags, shares = parameters.listed(tokens, None)
        for t in range(len(tokens)):
            expected = [sum(s for y, s in zip(tags, shares, strict=True) if y[t] == c) for c in "ab"]
            np.testing.assert_allclose(p[t], expected / shares.sum(), rtol=1e-12)


@pytest.mark.parametrize("labels", sorted(LABELS))
def test_a_round_of_an_hmm_is_an_em_step(labels):
    before, after = Parameters(hmm(labels, 2)), Parameters(hmm(labels, 3))
    for key, share in stepped(before, LABELS[labels], 0.3, 0.6).items():
        got = {"start": lambda s: after.start[s], "emit": lambda s, w: after.emit[s, w],
               "leave": lambda s, t: after.end[s] if t == "end" else after.move[s, t]}[key[0]](*key[1:])  # fmt: skip
        assert got == pytest.approx(share, rel=1e-10), key


@pytest.mark.parametrize("penalised", [True, False])
@pytest.mark.parametrize("model", ["naive_bayes", "bernoulli_naive_bayes"])
def test_a_round_of_naive_bayes_is_an_em_step(model, penalised):
    X = np.array([[text.split().count(w) for w in "xyz"] for text in TEXTS], dtype=float)
    X = X if model == "naive_bayes" else 1.0 * (X > 0)
    labels, weight = ["a", None, None, "b", *[None] * 4], np.linspace(0.5, 2, 8)
    known = {0: 0, 3: 1}

    def fitted(rounds):
        clf = TiltClassifier(model=model, method="em", classes=["a", "b"], alpha=0.3, gamma=0.6, max_iter=rounds,
                             tol=1e-12, penalize_intercept=penalised)  # fmt: skip
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotConvergedWarning)
            return clf.fit(X, labels, sample_weight=weight)

    before, after = fitted(2), fitted(3)
    q = before.predict_proba(X)
    q[list(known)] = np.eye(2)[list(known.values())]
    q *= np.where(np.isin(np.arange(8), list(known)), weight, 0.6 * weight)[:, None]
    size, seen = q.sum(axis=0), X.T @ q
    many = size + 0.3 * penalised
    prior = np.log(many / many.sum())
    if model == "naive_bayes":
        coef, intercept = np.log((seen + 0.3) / (seen + 0.3).sum(axis=0)), prior
    else:
        theta = (seen + 0.3) / (size + 0.6)
        coef, intercept = np.log(theta / (1 - theta)), prior + np.log(1 - theta).sum(axis=0)
    np.testing.assert_allclose(after.coef_, coef.T, rtol=1e-10)
    np.testing.assert_allclose(after.intercept_, intercept, rtol=1e-10)


def falls(history, slack=1e-9):
    """After every half step O is no higher than before."""
    steps = [v for told in history for v in (told.information, told.moment)]
    assert len(steps) >= 2
    assert np.all(np.isfinite(steps))
    scale = max(abs(v) for v in steps)
    assert max(np.diff(steps), default=0.0) <= slack * scale


@settings(max_examples=40)
@given(data=st.data())
def test_the_likelihood_of_naive_bayes_never_falls(data):
    model = data.draw(st.sampled_from(["naive_bayes", "bernoulli_naive_bayes"]))
    n, d = data.draw(st.integers(2, 12)), data.draw(st.integers(1, 4))
    most = 4 if model == "naive_bayes" else 1
    X = np.array(data.draw(st.lists(st.lists(st.integers(0, most), min_size=d, max_size=d), min_size=n, max_size=n)))
    y = data.draw(st.lists(st.sampled_from([None, "a", "b", "c"]), min_size=n, max_size=n))
    clf = TiltClassifier(
        model=model,
        method="em",
        classes=["a", "b", "c"],
        alpha=data.draw(st.sampled_from([1e-3, 0.1, 1.0])),
        gamma=data.draw(st.sampled_from([0.1, 1.0, 3.0])),
        init=data.draw(st.sampled_from([None, "random"])),
        random_state=0,
        tol=1e-6,
        max_iter=100,
        **PRIOR,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # two classes without a label; EM is slow
        clf.fit(X, y)
    falls(clf.history_, 1e-11)
    assert clf.objective_ <= clf.history_[-1].objective + 1e-11 * abs(clf.objective_)


@settings(max_examples=25)
@given(data=st.data())
def test_the_likelihood_of_an_hmm_never_falls(data):
    sentences = data.draw(st.lists(st.lists(st.sampled_from("uvwx"), min_size=1, max_size=5), min_size=1, max_size=5))
    tag = st.sampled_from([None, "O", "B-N", "I-N"])
    y = [data.draw(st.lists(tag, min_size=len(s), max_size=len(s))) for s in sentences]
    valid = data.draw(st.booleans())
    if valid:
        y = [None] * len(sentences)
    tagger = TiltTagger(model="hmm", method="em", classes=["O", "B-N", "I-N"], init="random", random_state=1, alpha=0.1,
                        valid_only=valid, tol=1e-6, max_iter=60)  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConvergedWarning)
        tagger.fit(sentences, y)
    falls(tagger.history_, 1e-10)


STATED = {
    "soft": [expect("a", given=word("x")).about(0.9), expect("b", given=word("z")).about(0.8)],
    "hard": [expect("a", given=word("x")).exactly(0.9), expect("b").at_least(0.3), expect("a").between(0.2, 0.6)],
    "l1": [expect("a", given=word("x")).about(0.9, penalty="l1")],
    "kl": [expect(given=word("x")).distributed_as({"a": 0.8, "b": 0.2})],
    "per instance": [expect("a", given=word("x"), per="instance").at_least(0.8)],
    "rule": [expect("a", given=word("x")).exactly(1.0)],
}


@pytest.mark.parametrize("model", ["naive_bayes", "bernoulli_naive_bayes"])
@pytest.mark.parametrize("stated", sorted(STATED))
@pytest.mark.parametrize("labels", [None, ["a", *[None] * 6, "b"]], ids=["no labels", "some labels"])
def test_posterior_regularization_falls_at_every_half_step(model, stated, labels):
    clf = TiltClassifier(STATED[stated], classes=["a", "b"], model=model, alpha=0.1, gamma=0.7, **PRIOR)
    clf.fit(TEXTS, labels)
    assert clf.converged_
    falls(clf.history_, 1e-7)  # projections are solved to 1e-6
    q = clf.project(TEXTS, labels)
    rows = [i for i, text in enumerate(TEXTS) if "x" in text and (labels is None or labels[i] is None)]
    if stated == "hard":
        assert q[rows, 0].mean() == pytest.approx(0.9, abs=1e-4)
    if stated in ("rule", "per instance"):
        assert q[rows, 0].min() >= (1.0 if stated == "rule" else 0.8) - 1e-6


@pytest.mark.parametrize("per", ["soft", "hard", "per instance"])
def test_the_objective_is_what_its_definition_says(per):
    labels, gamma, alpha = ["a", *[None] * 6, "b"], 0.7, 0.2
    stated = {"beta": 0.3, "revise": None, **PRIOR}
    clf = TiltClassifier(STATED[per], classes=["a", "b"], model="naive_bayes", alpha=alpha, gamma=gamma, **stated)
    clf.fit(TEXTS, labels)
    X = np.array([[text.split().count(w) for w in "xyz"] for text in TEXTS], dtype=float)
    joint = X @ clf.coef_.T + clf.intercept_
    q = clf.project(TEXTS, labels)
    rest = list(range(1, 7))
    value = -joint[0, 0] - joint[7, 1] - alpha * (clf.coef_.sum() + clf.intercept_.sum())
    with np.errstate(divide="ignore", invalid="ignore"):
        value += gamma * np.sum(np.where(q[rest] > 0, q[rest] * (np.log(q[rest]) - joint[rest]), 0.0))
    if per == "soft":
        for (w, k), u in zip([("x", 0), ("z", 1)], [0.9, 0.8], strict=True):
            fires = [i for i in rest if w in TEXTS[i]]
            value += gamma * (q[fires, k].mean() - u) ** 2 / (2 * 0.3)
    assert clf.objective_ == pytest.approx(value, rel=1e-6)


ON_SEQUENCES = {
    "words and transitions": [expect("a", given=word("x")).about(0.9), expect.stay().about(0.7)],
    "hard per sequence": [expect.segments("b", per="sequence").at_most(1), expect.start("a").at_least(0.8)],
    "whole": [expect.repeats("a").at_most(0.1), expect("a", given=word("x")).about(0.9)],
    "share": [expect.change(given=word("z"), of=expect.change()).at_least(0.6)],
}


@pytest.mark.parametrize("stated", sorted(ON_SEQUENCES))
@pytest.mark.parametrize("labels", sorted(LABELS))
def test_an_hmm_under_constraints_falls_at_every_half_step(stated, labels):
    tagger = TiltTagger(ON_SEQUENCES[stated], classes=["a", "b"], model="hmm", alpha=0.2, inference="exact")
    tags = tagger.fit_predict(SEQUENCES, LABELS[labels])
    assert tagger.converged_
    falls(tagger.history_, 1e-7)
    assert not tagger.constraint_report_.violated  # hard ones hold under q
    for known, got in zip(LABELS[labels], tags, strict=True):
        assert all(k in (None, s) for k, s in zip(known or [], got, strict=bool(known)) if known)


def test_where_q_is_sampled_it_comes_near_the_exact_fit():
    said = [expect.repeats("a").at_most(0.3, slack=0.05), expect("a", given=word("x")).about(0.9)]
    data = SEQUENCES * 10
    exact, sampled = (
        TiltTagger(said, classes=["a", "b"], model="hmm", inference=how, random_state=0).fit(data)
        for how in ("exact", "sampled")
    )
    assert np.isnan(sampled.objective_)
    assert all(np.isnan(told.objective) and np.isfinite(told.moment) for told in sampled.history_)
    both = [np.concatenate(t.predict_marginals(data))[:, 0] for t in (exact, sampled)]
    np.testing.assert_allclose(both[1], both[0], atol=0.1)
    table = np.exp(sampled.coef_)
    np.testing.assert_allclose(table[:, :-2].sum(axis=1), 1)  # parameters of a distribution, though averaged


def test_where_q_is_sampled_the_model_is_fitted_to_the_mean_of_counts(monkeypatch):
    fitted = []

    def fit(halves, counts, original=module.Halves.fit):
        fitted.append(counts)
        return original(halves, counts)

    monkeypatch.setattr(module.Halves, "fit", fit)
    monkeypatch.setattr(module, "settled", lambda changes: len(changes) == 3)
    said = [expect.repeats("a").at_most(0.3, slack=0.05)]
    found = TiltTagger(said, classes=["a", "b"], model="hmm", inference="sampled", init="random", random_state=0)
    found.fit(SEQUENCES * 4)
    assert found.n_iter_ == 3
    first, *rounds, last = fitted  # the first are those of the start
    assert len(rounds) == 3
    np.testing.assert_allclose(last, np.mean(rounds, axis=0))
    assert np.abs(last - rounds[-1]).max() > 0
    assert np.abs(first - rounds[0]).max() > 0


@pytest.mark.parametrize("chains", [False, True])
def test_a_random_start_tells_rows_apart(chains):
    rng = np.random.default_rng(0)
    X = np.column_stack([np.full(60, 20.0), rng.poisson(1.0, size=(60, 5))])  # a word that is everywhere, and others
    structure, features = Independent(60), AttributeFeatures(sparse.csr_array(X), 3)
    if chains:
        structure = Chains(np.arange(0, 61, 6), np.zeros(60, dtype=np.int32), 1)
        features = ChainFeatures(AttributeFeatures(sparse.csr_array(X), 3, intercept=False), np.ones((1, 1)))
    model = Generative(features, structure, family=MultinomialNaiveBayes(("a", "b", "c")))
    n = len(structure)
    problem = Problem(
        model, np.full(60, -1), np.ones(n), np.ones(model.n_weights), 1.0, None, np.empty(0, dtype=np.intp)
    )
    found = model.potentials(starting_point("random", problem, rng, 1e-3))
    np.testing.assert_allclose(found.node.mean(axis=0), 0, atol=1e-12)
    assert np.std(found.node) == pytest.approx(1)
    assert found.edge is None or not found.edge.any()


@pytest.mark.parametrize("model", ["naive_bayes", "bernoulli_naive_bayes"])
def test_rows_that_no_constraint_touches_matter(model):
    said = [expect("a", given=word("x")).about(0.9)]
    more = [*TEXTS, *["z y"] * 10]
    few, many = (TiltClassifier(said, classes=["a", "b"], model=model).fit(X) for X in (TEXTS, more))
    assert np.abs(few.coef_ - many.coef_).max() > 0.1


def test_ap_without_constraints_is_em():
    labels = ["a", *[None] * 6, "b"]
    one, other = (
        TiltClassifier(classes=["a", "b"], model="naive_bayes", method=method).fit(TEXTS, labels)
        for method in ("ap", "em")
    )
    np.testing.assert_array_equal(one.coef_, other.coef_)
