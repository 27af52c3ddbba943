"""The label model: brute force on tiny cases, EM that only rises, known accuracies, and what is fitted to it."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import minimize

from tiltfit import TiltClassifier, TiltTagger, expect, word
from tiltfit.data.inputs import TextInputs
from tiltfit.errors import DataError
from tiltfit.language.constraint import ConstraintSet
from tiltfit.methods.label_model import LabelModel, Options, _Prior, estimate, posterior, stated_balance
from tiltfit.methods.votes import Votes, majority_vote


def votes_of(fires, elected, stated) -> Votes:
    matrix = sparse.csr_array(np.asarray(fires, dtype=np.float64))
    return Votes(
        matrix, np.asarray(elected, dtype=np.bool_), np.asarray(stated, dtype=np.float64), np.arange(len(stated))
    )


def nothing(votes: Votes):
    return np.zeros((votes.fires.shape[0], votes.elected.shape[1]), dtype=np.bool_)


def drawn(seed: int, n: int, n_sources: int, n_classes: int) -> Votes:
    rng = np.random.default_rng(seed)
    elected = np.eye(n_classes, dtype=np.bool_)[rng.integers(n_classes, size=n_sources)]
    return votes_of(rng.random((n, n_sources)) < 0.4, elected, rng.uniform(0.55, 1.0, size=n_sources))


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(2, 4))
def test_joint_and_posterior_are_those_of_the_formula(seed, n_sources, n_classes):
    rng = np.random.default_rng(seed)
    votes = drawn(seed, 5, n_sources, n_classes)
    model = LabelModel(rng.dirichlet(np.ones(n_classes)), rng.random(n_sources), rng.random(n_sources), votes.elected)
    fires = votes.fires.toarray()
    ruled_out = rng.random((5, n_classes)) < 0.2
    ruled_out[:, 0] = False
    joint = np.zeros((5, n_classes))
    for i, y in itertools.product(range(5), range(n_classes)):
        joint[i, y] = model.balance[y]
        for k in range(n_sources):
            rate = model.right[k] if votes.elected[k, y] else model.wrong[k]
            joint[i, y] *= rate if fires[i, k] else 1 - rate
    np.testing.assert_allclose(np.exp(model.log_joint(votes)), joint)
    left = np.where(ruled_out, 0, joint)
    q, likelihood = posterior(model.log_joint(votes), ruled_out)
    np.testing.assert_allclose(q, left / left.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(likelihood, np.log(left.sum(axis=1)))


def test_all_patterns_of_firings_have_probability_one():
    patterns = np.array(list(itertools.product([0, 1], repeat=3)))
    votes = votes_of(patterns, [[1, 0], [0, 1], [0, 1]], [0.9] * 3)
    model = LabelModel(np.array([0.3, 0.7]), np.array([0.5, 0.6, 0.2]), np.array([0.1, 0.2, 0.05]), votes.elected)
    assert np.exp(model.log_joint(votes)).sum() == pytest.approx(1)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 6), st.integers(2, 4), st.booleans())
def test_em_only_rises(seed, n_sources, n_classes, fixed):
    votes = drawn(seed, 60, n_sources, n_classes)
    balance = np.full(n_classes, 1 / n_classes) if fixed else None
    weight = np.random.default_rng(seed).uniform(0.5, 2, size=60)
    steps = np.diff(estimate(votes, weight, nothing(votes), balance, Options(strength=2.0)).objective)
    assert np.all(steps >= -1e-9)


def test_em_ends_where_a_general_optimiser_does():
    votes, strength = drawn(4, 40, 3, 2), 3.0
    weight = np.ones(40)
    found = estimate(votes, weight, nothing(votes), None, Options(strength, max_rounds=20000))
    prior = _Prior.of(votes, weight, None, strength)

    def negative(z):
        share = 1 / (1 + np.exp(-z))
        model = LabelModel(np.array([share[0], 1 - share[0]]), share[1:4], share[4:], votes.elected)
        joint = np.exp(model.log_joint(votes))
        return -float(np.log(joint.sum(axis=1)).sum()) - prior.log_density(model)

    logit = [np.log(v / (1 - v)) for v in (found.balance[:1], found.right, found.wrong)]
    shaken = np.concatenate(logit) + np.random.default_rng(0).normal(scale=0.2, size=7)
    best = minimize(negative, shaken, method="BFGS", options={"gtol": 1e-9})
    assert -best.fun == pytest.approx(found.objective[-1], abs=1e-4)


def generated(n: int, balance, right, wrong, elected, seed: int = 0):
    rng = np.random.default_rng(seed)
    y = rng.choice(len(balance), p=balance, size=n)
    own = np.asarray(elected)[:, y].T
    return y, rng.random((n, len(right))) < np.where(own, right, wrong)


def test_known_accuracies_are_recovered_from_wrong_statements():
    elected = np.eye(3, dtype=bool)[[0, 0, 0, 1, 1, 1, 2, 2, 2]]
    right = np.array([0.7, 0.5, 0.6, 0.6, 0.4, 0.7, 0.5, 0.6, 0.5])
    wrong = np.array([0.05, 0.3, 0.1, 0.1, 0.02, 0.2, 0.05, 0.1, 0.15])
    balance = np.array([0.5, 0.3, 0.2])
    y, fires = generated(30000, balance, right, wrong, elected)
    votes = votes_of(fires, elected, [0.8] * 9)
    model = estimate(votes, np.ones(30000), nothing(votes), None, Options())
    truth = LabelModel(balance, right, wrong, elected).accuracy
    assert np.ptp(truth) > 0.4
    np.testing.assert_allclose(model.accuracy, truth, atol=0.04)
    np.testing.assert_allclose(model.right, right, atol=0.04)
    np.testing.assert_allclose(model.balance, balance, atol=0.03)
    q = posterior(model.log_joint(votes), nothing(votes))[0]
    assert np.mean(q.argmax(axis=1) == y) > np.mean(votes.winner == y) + 0.05


def test_known_labels_and_sets_are_evidence():
    elected = [[1, 0], [0, 1]]
    y, fires = generated(400, [0.5, 0.5], np.array([0.5, 0.5]), np.array([0.4, 0.05]), elected, seed=1)
    votes = votes_of(fires, elected, [0.9, 0.9])
    ruled_out = np.eye(2, dtype=bool)[1 - y]
    model = estimate(votes, np.ones(400), ruled_out, None, Options(strength=1e-6))
    own = fires[y == 0, 0].mean()
    np.testing.assert_allclose(model.right[0], own, atol=1e-6)
    assert model.accuracy[0] == pytest.approx(np.mean(y[fires[:, 0]] == 0), abs=0.01)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6))
def test_with_equal_sources_it_is_the_majority_vote(seed):
    rng = np.random.default_rng(seed)
    elected = np.repeat(np.eye(3, dtype=bool), 3, axis=0)
    votes = votes_of(rng.random((30, 9)) < 0.4, elected, [0.8] * 9)
    model = LabelModel(np.full(3, 1 / 3), np.full(9, 0.4), np.full(9, 0.1), elected)
    q = posterior(model.log_joint(votes), nothing(votes))[0]
    decided = votes.decided
    np.testing.assert_array_equal(q.argmax(axis=1)[decided], votes.winner[decided])
    tied = votes.voted & ~decided
    top = np.sort(q[tied], axis=1)
    np.testing.assert_allclose(top[:, -1], top[:, -2])


def test_a_very_strong_statement_is_the_accuracy():
    fires = np.random.default_rng(7).random((200, 4)) < 0.2
    sure = votes_of(fires, np.eye(3)[[0, 1, 2, 0]], [0.6, 0.7, 0.8, 0.9])
    model = estimate(sure, np.ones(200), nothing(sure), np.full(3, 1 / 3), Options(strength=1e9))
    np.testing.assert_allclose(model.accuracy, [0.6, 0.7, 0.8, 0.9], atol=1e-3)


def test_weights_count_rows():
    votes = drawn(9, 20, 3, 2)
    twice = votes_of(np.repeat(votes.fires.toarray(), 2, axis=0), votes.elected, votes.stated)
    one = estimate(votes, np.full(20, 2.0), nothing(votes), None, Options())
    two = estimate(twice, np.ones(40), nothing(twice), None, Options())
    np.testing.assert_allclose(one.right, two.right)
    np.testing.assert_allclose(one.balance, two.balance)


@pytest.mark.parametrize(
    ("said", "balance"),
    [
        ([], None),
        ([expect("a").at_least(0.2), expect("a", given=word("x")).about(0.9)], None),
        ([expect("a").about(0.5)], [0.5, 0.25, 0.25]),
        ([expect("a").between(0.1, 0.3), expect("b").exactly(0.3)], [0.2, 0.3, 0.5]),
        ([expect().distributed_as({"a": 0.2, "b": 0.3, "c": 0.5})], [0.2, 0.3, 0.5]),
        ([expect("a", "b").about(0.9)], None),
    ],
)
def test_class_proportions_are_the_balance(said, balance):
    found = stated_balance(ConstraintSet.of(said).with_classes(["a", "b", "c"]))
    if balance is None:
        assert found is None
    else:
        np.testing.assert_allclose(found, balance)


TEXTS = ["puck ice", "puck goal", "bat ball", "ball base", "ice", "base", "puck bat", "goal"]
SAID = [
    expect("h", given=word("puck")).about(0.9),
    expect("b", given=word("ball")).about(0.6),
    expect("b", given=word("bat")).between(0.7, 0.9),
]


@pytest.mark.parametrize("gamma", [1.0, 0.5])
def test_a_classifier_minimises_the_cross_entropy_to_the_posterior(gamma):
    y = ["h", *[None] * 7]
    options = {"classes": ["b", "h"], "vectorizer": "counts", "gamma": gamma, "tol": 1e-10}
    found = TiltClassifier(SAID, method="label_model", **options).fit(TEXTS, y)
    votes = majority_vote(SAID, TextInputs(TEXTS), ["b", "h"])
    ruled_out = nothing(votes)
    ruled_out[0, 0] = True
    model = estimate(votes, np.ones(8), ruled_out, None, Options())
    q = posterior(model.log_joint(votes), ruled_out)[0]
    soft = np.flatnonzero(votes.voted)
    # The same as a supervised fit in which a row with each label counts as much as its posterior says.
    rows = [TEXTS[i] for i in soft for _ in range(2)]
    weight = [q[i, k] * (1 if i == 0 else gamma) for i in soft for k in range(2)]
    plain = TiltClassifier(method="supervised", **options).fit(
        [*rows, *TEXTS], [*["b", "h"] * len(soft), *[None] * 8], sample_weight=[*weight, *np.ones(8)]
    )
    theirs = {name: k for k, name in enumerate(plain.feature_names_in_)}
    order = [theirs[name] for name in found.feature_names_in_]
    np.testing.assert_allclose(found.coef_, plain.coef_[:, order], atol=1e-7)
    assert found.objective_ == pytest.approx(plain.objective_)
    assert found.constraint_report_.to_dicts()[0]["support"] == 2


def test_a_base_is_built_on_and_what_it_forbids_is_left_out():
    base = np.full((8, 2), 0.5)
    base[0], base[1] = [1, 0], [0.2, 0.8]
    found = TiltClassifier(SAID, classes=["b", "h"], vectorizer="counts", method="label_model", base=base, tol=1e-9)
    found.fit(TEXTS)
    assert found.converged_
    assert np.isfinite(found.objective_)
    assert found.objective_ > 0


def test_a_tagger_maximises_the_likelihood_of_the_votes():
    ads = [["big", "room", "call"], ["sunny", "room", "phone"], ["big", "garden"]]
    said = [expect("c", given=word("call") | word("phone")).about(0.9), expect("s", given=word("big")).about(0.8)]
    said += [expect("s", given=word("room")).about(0.7), expect("c", given=word("room")).about(0.6)]
    tags = [[None, None, "c"], None, None]
    found = TiltTagger(said, classes=["c", "s"], method="label_model", tol=1e-10, gamma=0.5).fit(ads, tags)
    flat = [token for ad in ads for token in ad]
    votes = majority_vote(said, TextInputs(flat), ["c", "s"])
    ruled_out = nothing(votes)
    ruled_out[2, 1] = True
    evidence = estimate(votes, np.ones(8), ruled_out, None, Options()).log_likelihood(votes)
    evidence -= evidence.max(axis=1, keepdims=True)
    evidence[~votes.voted] = 0
    evidence[ruled_out] = -np.inf
    total, start = 0.0, 0
    for ad in ads:
        agreement = [
            p * np.exp(sum(evidence[start + t, "cs".index(label)] for t, label in enumerate(path)))
            for path, p in found.predict_k_best([ad], k=8)[0]
        ]
        total -= 0.5 * np.log(sum(agreement))
        start += len(ad)
    ridge = 0.5 * (np.sum(found.coef_**2) + np.sum(found.transitions_**2))
    assert found.objective_ == pytest.approx(total + ridge, rel=1e-7)
    assert found.predict(ads)[1][2] == "c"


def test_early_stopping_and_callbacks_reach_the_solver():
    seen: list[int] = []
    options = {"classes": ["b", "h"], "vectorizer": "counts", "method": "label_model"}
    TiltClassifier(SAID, callback=lambda told: seen.append(told.round), **options).fit(TEXTS)
    assert seen == list(range(1, len(seen) + 1))
    stopped = TiltClassifier(SAID, callback=lambda told: True, **options).fit(TEXTS)
    assert stopped.n_iter_ == 1
    kept = TiltClassifier(SAID, **options).fit(TEXTS, dev=(TEXTS[:3], ["h", "h", "b"]))
    assert kept.history_[-1].dev_score == 1.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"strength": 0}, "'strength': 0.*positive"),
        ({"strength": float("inf")}, "'strength': inf"),
        ({"strength": "high"}, "'strength': 'high'"),
        ({"strength": True}, "'strength': True"),
        ({"max_rounds": 0}, "'max_rounds': 0.*at least 1"),
        ({"max_rounds": True}, "'max_rounds': True"),
        ({"rounds": 3}, "'rounds'.*unknown"),
    ],
)
def test_bad_options_are_refused_by_name(options, message):
    with pytest.raises(DataError, match=message):
        TiltClassifier(SAID, method="label_model", method_options=options).fit(TEXTS)
