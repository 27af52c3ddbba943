"""The length of the weights: held-out scores, likelihoods of statements and labels, and the value chosen by them."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import softmax

import tiltfit.estimators.estimator as estimators
from tiltfit import TiltClassifier, column, expect, word
from tiltfit.methods import sharpness
from tiltfit.methods.sharpness import GRID, LEAST_LABELS, HeldOut, Sharpness, firing_likelihood, nearest, thinned

VOCABULARY = 80
STATED = 10  # words of every class that are stated
MODEST = 0.65  # a target that is too low: about 0.75 of the documents with such a word are of its class


def documents(n=600, length=12, seed=0, contrast=3.0):
    """Documents whose words are independent given the class; the first half of the vocabulary is more frequent in one
    class by ``contrast``, the other half in the other."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n)
    first = np.arange(VOCABULARY) < VOCABULARY // 2
    rates = np.stack([np.where(first, contrast, 1.0), np.where(first, 1.0, contrast)])
    rates /= rates.sum(axis=1, keepdims=True)
    texts = [" ".join(f"w{k}" for k in rng.choice(VOCABULARY, size=length, p=rates[c])) for c in y]
    return texts, np.array(["a", "b"])[y]


def statements(target=0.75):
    half = VOCABULARY // 2
    words = [("a", k) for k in range(STATED)] + [("b", half + k) for k in range(STATED)]
    return [expect(label, given=word(f"w{k}")).about(target) for label, k in words]


def held_out(monkeypatch, *data, **options):
    """The ``HeldOut`` of a fit."""
    kept = []

    def keep(problem, weights, projection, **_):
        kept.append(HeldOut(problem, problem.model.linear.features.nodes, weights, projection))
        return Sharpness()

    monkeypatch.setattr(estimators, "sharpness_of", keep)
    TiltClassifier(statements(), **options).fit(*data)
    return kept[0]


def log_loss(p, y, classes):
    return -np.mean(np.log(p[np.arange(len(y)), np.searchsorted(classes, y)]))


def test_the_shares_of_all_documents_sum_to_the_weights(monkeypatch):
    texts, y = documents(n=120)
    labels = [label if i % 7 == 0 else None for i, label in enumerate(y)]
    held = held_out(monkeypatch, texts, labels, [1.0 + i % 3 for i in range(120)], tol=1e-9, max_iter=2000, gamma=0.7)
    found = held.at(np.arange(120))
    table, _ = held.nodes.unpack(held.weights)
    # Stationarity of Eq. 6; what is left is how far the search was from its end.
    np.testing.assert_allclose(found.X.T @ found.own, table, atol=1e-4)


def test_held_out_scores_are_those_of_the_other_shares(monkeypatch):
    texts, _ = documents(n=60)
    held = held_out(monkeypatch, texts, tol=1e-9, max_iter=2000)
    found, (_, intercept) = held.at(np.arange(60)), held.nodes.unpack(held.weights)
    for i in (0, 7, 59):
        others = np.arange(60) != i
        table = found.X[others].T @ found.own[others]
        np.testing.assert_allclose(found.scores[i], found.X[[i]].toarray()[0] @ table + intercept, atol=1e-3)


def test_left_out_features_are_as_if_they_were_not_there(monkeypatch):
    texts, _ = documents(n=60)
    held = held_out(monkeypatch, texts)
    found, (table, _) = held.at(np.arange(60)), held.nodes.unpack(held.weights)
    columns, event = np.array([0, 3, 11]), np.array([1.0, 0.0])
    shares = found.shares(event, columns, table[columns])
    X = held.nodes.X.toarray()
    fitted = held.nodes.score(held.weights).node - X[:, columns] @ table[columns]
    X[:, columns] = 0.0
    expected = softmax(GRID[:, None, None] * (fitted - (X**2).sum(axis=1)[:, None] * found.own), axis=2) @ event
    np.testing.assert_allclose(shares, expected, atol=1e-12)


def test_certain_classes_give_the_likelihood_of_two_rates():
    rng = np.random.default_rng(0)
    inside, fires, weight = rng.random(200) < 0.4, rng.random(200) < 0.2, rng.integers(1, 4, size=200).astype(float)
    expected = 0.0
    for group in (inside, ~inside):
        n, k = weight[group].sum(), weight[group & fires].sum()
        expected += k * np.log(k / n) + (n - k) * np.log(1 - k / n)
    found = firing_likelihood(inside[None].astype(float), fires, weight)
    assert found == pytest.approx([expected], abs=1e-3)  # the prior count of a hundredth of a firing


def test_em_finds_the_largest_likelihood():
    rng = np.random.default_rng(1)
    inside = rng.beta(0.4, 0.4, size=400)
    fires, weight = rng.random(400) < 0.05 + 0.4 * inside, np.ones(400)

    def loss(logits):
        a, b = 1 / (1 + np.exp(-logits))
        m = a * inside + b * (1 - inside)
        return -np.sum(np.log(np.where(fires, m, 1 - m)))

    best = -minimize(loss, np.zeros(2)).fun
    assert firing_likelihood(inside[None], fires, weight)[0] == pytest.approx(best, abs=0.05)


def test_the_nearest_value_that_is_not_ruled_out():
    peak = -((np.log(GRID) - np.log(2.0)) ** 2)
    alike = np.repeat(peak[:, None], 50, axis=1)
    assert nearest(alike, 1.0) == 2.0  # no unit says otherwise
    rng = np.random.default_rng(0)
    split = alike + 100 * np.log(GRID)[:, None] * rng.choice([-1, 1], size=50)
    assert nearest(split, 1.0) == 1.0
    assert nearest(split, float(GRID[3])) == GRID[3]
    assert 1.0 in GRID


@pytest.mark.parametrize(
    ("target", "options"), [(MODEST, {}), (0.75, {"beta": 0.05})], ids=["low targets", "soft ones under a ridge"]
)
def test_probabilities_that_are_too_modest_become_surer(target, options):
    texts, _ = documents()
    new, y = documents(seed=1)
    modest = TiltClassifier(statements(target), alpha=10, sharpen=None, **options).fit(texts)
    found = TiltClassifier(statements(target), alpha=10, **options).fit(texts)
    assert found.sharpness_ > 1.2
    assert f"chosen by {2 * STATED} statements" in found.sharpening_.why
    assert found.predict(new).tolist() == modest.predict(new).tolist()
    before, after = (log_loss(model.predict_proba(new), y, model.classes_) for model in (modest, found))
    # Words are independent given the class, as the likelihood assumes, so that the best length by labels is near.
    p = modest.predict_log_proba(new)
    best = min(log_loss(softmax(s * p, axis=1), y, modest.classes_) for s in GRID)
    assert after < before - 0.5 * (before - best)


def test_it_is_the_same_every_time():
    texts, _ = documents()
    found = [TiltClassifier(statements(MODEST), alpha=10, n_jobs=k).fit(texts).sharpness_ for k in (1, 2)]
    assert found[0] == found[1] > 1.2


def test_documents_do_not_share_one_sample_of_the_data(monkeypatch):
    """With more data than are looked at, the value stays near."""
    texts, _ = documents(n=600)
    everything = TiltClassifier(statements(MODEST), alpha=10).fit(texts).sharpness_
    assert everything > 2
    monkeypatch.setattr(sharpness, "_MOST_OTHERS", 200)
    monkeypatch.setattr(sharpness, "_MOST_FIRING", 40)
    assert TiltClassifier(statements(MODEST), alpha=10).fit(texts).sharpness_ == pytest.approx(everything, rel=0.5)


def test_too_few_statements_are_not_enough():
    texts, _ = documents(n=100)
    found = TiltClassifier(statements()[:3] + statements()[-3:], alpha=10).fit(texts)
    assert found.sharpness_ == 1.0
    assert "8 statements that fire on 5 unlabelled documents, or 30 labels" in found.sharpening_.why


def test_the_classes_of_a_distribution_are_one_statement():
    texts, _ = documents(n=100)
    shares = [expect(given=word(f"w{k}")).distributed_as({"a": 0.8, "b": 0.2}) for k in range(5)]
    assert "too little" in TiltClassifier(shares).fit(texts).sharpening_.why


@pytest.mark.filterwarnings("ignore::tiltfit.errors.UnmetConstraintWarning")
def test_a_weak_model_stays_as_it_is():
    rng = np.random.default_rng(0)  # words that say nothing about one another, and many that occur once
    texts = [" ".join(f"w{k}" for k in rng.integers(VOCABULARY, size=20)) + f" once{i} only{i}" for i in range(150)]
    found = TiltClassifier(statements(0.9)).fit(texts)
    assert found.sharpness_ == 1.0
    assert "the model is too weak to tell, since only" in found.sharpening_.why


def test_features_that_are_not_words():
    X = np.random.default_rng(0).normal(size=(80, 3))
    said = [expect("b", given=column(name).above(0.3)).about(0.8) for name in "xy"]
    found = TiltClassifier(said, classes=["a", "b"], feature_names=["x", "y", "z"]).fit(X)
    assert "the features are not words" in found.sharpening_.why


def test_labels_rule_values_out():
    texts, y = documents()
    # Statements whose words are told apart, but labels that have nothing to do with them.
    labels = np.random.default_rng(0).permutation(y)
    some = [label if i % 3 == 0 else None for i, label in enumerate(labels)]
    found = TiltClassifier(statements()).fit(texts, some)
    assert found.sharpness_ < 1.0
    assert found.sharpening_.why == "chosen by 200 labels"


def test_labels_that_agree_are_named():
    texts, y = documents()
    labels = [label if i < LEAST_LABELS else None for i, label in enumerate(y)]
    found = TiltClassifier(statements(), alpha=10).fit(texts, labels)
    assert found.sharpening_.why.endswith("30 labels agree")


@pytest.mark.parametrize(
    "options",
    [
        {"method": "ge"},
        {"model": "naive_bayes"},
        {"solver": "online"},
        {"alpha": 0.0, "max_iter": 3},
        {"base": "prior"},
    ],
    ids=lambda options: next(iter(options)),
)
@pytest.mark.filterwarnings("ignore::tiltfit.errors.NotConvergedWarning")
def test_where_nothing_is_chosen(options):
    texts, _ = documents(n=100)
    if "base" in options:
        options = {"base": np.full((100, 2), 0.5)}
    found = TiltClassifier(statements(), **options).fit(texts)
    assert found.sharpness_ == 1.0
    assert found.constraint_report_.note == ""


def test_thinning_is_even_and_keeps_what_is_few():
    assert thinned(np.arange(10), 10).tolist() == list(range(10))
    assert thinned(np.arange(10), 4).tolist() == [0, 3, 6, 9]
