"""Generalized expectation: its gradient against finite differences and against Eq. 12, and what it refuses."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from tests.oracles.chain import scores

from tiltfit import TiltClassifier, TiltTagger, column, expect, punctuation, word
from tiltfit.errors import DataError, UnsupportedError
from tiltfit.methods import entropy, generalized_expectation
from tiltfit.methods.generalized_expectation import ExpectationPenalty

TEXTS = ["puck ice", "puck goal", "bat ball", "ball base", "ice bat", "base", "goal"]
HALF = ["h", None, "b", None, None, None, None]
ADS = [["big", "room", ",", "call", "Ann"], ["sunny", ".", "call", "Bob"], ["big", "garden", "phone"], ["call"]]
TAGS = [["s", "s", "s", "c", "c"], None, None, None]
PARTLY = [["s", None, "s", None, "c"], None, ["s", "s", "c"], None]
WORDS = {"lower": (0,), "prefixes": (), "suffixes": (), "patterns": {}, "buckets": 0}
CALL = word("call") | word("phone")

DOCUMENTS = {
    "l2": [expect("h", given=word("puck")).about(0.9), expect("b", given=word("ball")).about(0.8, beta=0.3)],
    "kl": [expect(given=word("ice")).distributed_as({"h": 0.8, "b": 0.2}), expect("h").about(0.5)],
    "slack": [expect("h", given=word("puck")).at_least(0.9, slack=0.1), expect("b").between(0.2, 0.3, slack=0.05)],
    "instance": [expect("h", given=word("puck"), per="instance").about(0.9)],
    "all": [expect("h", on="all").about(0.3)],
}
SEQUENCES = {
    "labels": [expect("c", given=CALL).about(0.95), expect("s", given=word("big")).about(0.9)],
    "transitions": [expect.stay().about(0.8), expect.change(given=~punctuation.before).about(0.1)],
    "ends": [expect.start("s").about(0.9), expect.end("c").about(0.9), expect.transition("s", "c").about(0.3)],
    "segments": [expect.segments("c").about(1.0)],
    "sequence": [expect.segments("c", per="sequence").about(1.0), expect("s", per="sequence").about(0.6)],
    "of": [expect.change(given=punctuation.before, of=expect.change()).about(0.9)],
    "kl": [expect(given=CALL).distributed_as({"c": 0.9, "s": 0.1}), expect.stay().at_least(0.7, slack=0.1)],
}


def caught(estimator, X, y=None, weight=None, *, module=generalized_expectation):
    """The problem and the term R that an estimator makes of its data."""
    seen = []

    def stop(task, term, *_):
        seen.append((task.problem, term))
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        patch.setattr(module, "minimise_directly", stop)
        with pytest.raises(KeyboardInterrupt):
            estimator.fit(X, y, weight)
    return seen[0]


def slopes(value, weights, h=1e-5):
    """Central differences, entry by entry."""
    steps = h * np.eye(len(weights))
    return np.array([(value(weights + step) - value(weights - step)) / (2 * h) for step in steps])


def matches(term, n_weights, atol=2e-7):
    weights = np.random.default_rng(0).normal(size=n_weights)
    np.testing.assert_allclose(term(weights).gradient, slopes(lambda w: term(w).value, weights), atol=atol)


@pytest.mark.parametrize("scale", ["unit", "support"])
@pytest.mark.parametrize("said", DOCUMENTS.values(), ids=DOCUMENTS.keys())
def test_the_gradient_of_documents(said, scale):
    weight = [1, 2, 0.5, 1, 3, 1, 1]
    estimator = TiltClassifier(said, method="ge", vectorizer="counts", scale=scale)
    problem, term = caught(estimator, TEXTS, HALF, weight)
    matches(term, problem.model.n_weights, 1e-6)


@pytest.mark.parametrize("labels", [None, TAGS, PARTLY], ids=["none", "some", "partly"])
@pytest.mark.parametrize("said", SEQUENCES.values(), ids=SEQUENCES.keys())
def test_the_gradient_of_sequences(said, labels):
    tagger = TiltTagger(said, method="ge", classes=["c", "s"], features=WORDS)
    problem, term = caught(tagger, ADS, labels)
    matches(term, problem.model.n_weights, 1e-6)


def test_it_is_the_covariance_of_eq_12():
    tagger = TiltTagger(SEQUENCES["labels"] + SEQUENCES["transitions"], method="ge", classes=["c", "s", "x"])
    problem, term = caught(tagger, ADS)
    assert isinstance(term, ExpectationPenalty)
    weights = 0.5 * np.random.default_rng(3).normal(size=problem.model.n_weights)
    tilt, model = term.tilt, term.model
    here = model.potentials(weights)
    p = tilt.of_model(here)
    slope = tilt.penalty.grad(p[1]) / tilt.support
    moved = tilt.features.score(slope)
    expected = np.zeros(len(weights))
    for s in range(len(tilt.structure)):
        at = tilt.structure.positions(np.array([s]))
        ys, score = scores(here.node[at], here.edge, model.structure.kind[at])
        chance = np.exp(score - score.max())
        chance /= chance.sum()
        _, g = scores(moved.node[at], moved.edge, tilt.structure.kind[at])
        alone = model.take(np.array([s])).features
        f = []
        for y in ys:
            node, edge = np.eye(3)[y], np.zeros_like(here.edge)
            for t in range(1, len(y)):
                edge[model.structure.kind[at[t]], y[t - 1], y[t]] += 1
            f.append(alone.expect(node, edge))
        f = np.array(f)
        expected += chance @ (f * (g - chance @ g)[:, None])
    np.testing.assert_allclose(term(weights).gradient, expected, atol=1e-10)


@pytest.mark.parametrize("penalised", [True, False], ids=["penalised", "free"])
@pytest.mark.parametrize("y", [None, HALF], ids=["none", "some"])
def test_at_the_end_nothing_can_be_gained(y, penalised):
    options = {"method": "ge", "vectorizer": "counts", "tol": 1e-9, "penalize_intercept": penalised}
    fitted = TiltClassifier(DOCUMENTS["l2"], **options).fit(TEXTS, y)
    assert fitted.converged_
    problem, term = caught(TiltClassifier(DOCUMENTS["l2"], **options), TEXTS, y)
    ridge = np.ones(problem.model.n_weights)
    ridge[-2:] = penalised  # the intercepts come last
    labelled = problem.take(problem.labelled)

    def value(flat):
        loss = labelled.evaluate(flat, None, 1e-8).value if y else 0.5 * flat @ (ridge * flat)
        return loss + term(flat).value

    flat = np.concatenate([fitted.coef_.T.ravel(), fitted.intercept_])
    np.testing.assert_allclose(fitted.objective_, value(flat), rtol=1e-9)
    np.testing.assert_allclose(slopes(value, flat), 0.0, atol=1e-6)


def test_alternating_projections_have_the_lower_objective():
    # min_q [D(q‖p) + U(m(q))] ≤ U(m(p)), at q = p.
    one, other = (TiltTagger(SEQUENCES["labels"], method=m, beta=0.05, tol=1e-6).fit(ADS) for m in ("ap", "ge"))
    assert one.objective_ <= other.objective_


def test_threads_change_nothing():
    one, two = (
        TiltTagger(SEQUENCES["transitions"] + SEQUENCES["labels"], method="ge", n_jobs=n).fit(ADS * 20) for n in (1, 2)
    )
    np.testing.assert_array_equal(one.coef_, two.coef_)


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (expect("c", given=CALL).at_least(0.9), "hard constraint has no slope.*slack="),
        (expect("c", given=CALL).exactly(1.0), "hard constraint has no slope.*slack="),
        (expect("c", given=CALL).about(0.9, penalty="l1"), "kink.*penalty='l2'"),
        (expect.repeats("c").about(0.1), "whole sequences.*method='ap'"),
    ],
)
def test_what_has_no_gradient_is_refused_by_name(said, reason):
    with pytest.raises(UnsupportedError, match=f"method='ge' cannot take the constraint .*{reason}"):
        TiltTagger([said], method="ge", classes=["c", "s"]).fit(ADS)


def test_all_that_has_no_gradient_is_named():
    hard = [expect("c", given=word(w)).at_least(0.9, name=w) for w in ("call", "ask", "see", "read", "buy")]
    said = [*hard, expect("s").about(0.5), expect("c", given=CALL).about(0.9, penalty="l1", name="kinked")]
    told = r"cannot take 6 constraints\. 'call', 'ask', 'see' and 2 more: a hard .*'kinked': .*has a kink"
    with pytest.raises(UnsupportedError, match=told):
        TiltTagger(said, method="ge", classes=["c", "s"]).fit(ADS)


@pytest.mark.parametrize("solver", ["joint", "alternating", "online"])
def test_it_has_one_solver(solver):
    with pytest.raises(UnsupportedError, match="method='ge' (has no solver|cannot learn online)"):
        TiltTagger(SEQUENCES["labels"], method="ge", solver=solver).fit(ADS)


@pytest.mark.filterwarnings("ignore")
def test_without_a_constraint_that_fires_it_says_so():
    with pytest.raises(DataError, match="learns from constraints"):
        TiltClassifier([expect("h", given=word("nothing")).about(0.9)], classes=["b", "h"], method="ge").fit(
            TEXTS, HALF
        )


def test_groups_of_a_table():
    table = {"text": TEXTS, "county": ["x", "x", "y", "y", "x", "y", "x"]}
    said = [expect("h", per=column("county")).about(0.4), expect("h", given=column("text").word("puck")).about(0.9)]
    problem, term = caught(TiltClassifier(said, method="ge"), table, HALF)
    matches(term, problem.model.n_weights)


# Entropy regularisation


@pytest.mark.parametrize("valid_only", [False, True])
def test_the_gradient_of_the_entropy_of_sequences(valid_only):
    ads, tags = [["Ann", "Lee", "said"], ["Bob", "ran"], ["a", "b", "c"]], [["B-p", "I-p", "O"], None, None]
    tagger = TiltTagger(method="entropy", classes=["B-p", "I-p", "O"], valid_only=valid_only, features=WORDS)
    problem, term = caught(tagger, ads, tags, module=entropy)
    matches(term, problem.model.n_weights)
    weights = np.random.default_rng(5).normal(size=problem.model.n_weights)
    chains = term.model.structure
    share = 0.02 * 3 / 5  # three labelled tokens, five that are not
    np.testing.assert_allclose(term(weights).value, share * chains.entropy(term.model.potentials(weights)).sum())


def test_the_gradient_of_the_entropy_of_documents():
    problem, term = caught(TiltClassifier(method="entropy", vectorizer="counts"), TEXTS, HALF, module=entropy)
    matches(term, problem.model.n_weights)


def test_entropy_makes_the_model_surer():
    plain = TiltClassifier(method="supervised", classes=["b", "h"]).fit(TEXTS, HALF)
    surer = TiltClassifier(method="entropy", classes=["b", "h"], gamma=50.0).fit(TEXTS, HALF)
    sure = [np.sum(m.predict_proba(TEXTS[3:5]).max(axis=1)) for m in (plain, surer)]
    assert sure[1] > sure[0]


def test_the_strength_of_entropy():
    _, term = caught(TiltClassifier(method="entropy", method_options={"strength": 10.0}), TEXTS, HALF, module=entropy)
    np.testing.assert_allclose(term.weight, 10 / 5)
    with pytest.raises(DataError, match=r"^method_options={'strength': -1} must be a finite number of at least 0\.$"):
        TiltClassifier(method="entropy", method_options={"strength": -1}).fit(TEXTS, HALF)


def test_entropy_needs_labels_and_unlabelled_data():
    with pytest.raises(DataError, match="method='entropy' needs labels"):
        TiltClassifier(DOCUMENTS["l2"], method="entropy").fit(TEXTS)
    with pytest.raises(DataError, match="method='entropy' needs unlabelled data"):
        TiltClassifier(method="entropy").fit(TEXTS[:3], ["h", "h", "b"])
