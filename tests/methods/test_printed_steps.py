"""``steps="printed"`` does what the paper prints (§2.3, steps 1–3): against a dense, slow transcription of it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from tests.oracles.printed_steps import Sizes, document, learn, sequence

from tiltfit import TiltClassifier, TiltTagger, column, expect, load, word
from tiltfit.data.sequences import as_sequences
from tiltfit.estimators.options import generator
from tiltfit.execution.workers import Workers

CLASSES = ["a", "b", "c"]
N, D = 40, 5
ALPHA, BETA, GAMMA, ETA0 = 3.0, 0.4, 0.6, 0.8
EXACT = {"atol": 1e-10, "rtol": 0}


def documents():
    """Rows of which two thirds are unlabelled, with the constraints' conditions in columns 0 and 1."""
    rng = np.random.default_rng(0)
    X = np.where(rng.random((N, D)) < 0.5, rng.normal(size=(N, D)), 0.0)
    X[:, :2] = rng.random((N, 2)) < 0.4
    y = [CLASSES[k] if k < 3 and i % 3 == 0 else None for i, k in enumerate(rng.integers(3, size=N))]
    return X, y


RULES = [
    expect("a", given=column("k0").above(0.5)).about(0.9),
    expect("b", "c", given=column("k1").above(0.5)).about(0.8),
    expect("c").about(0.3),
]
EVENTS = np.array([[1.0, 0, 0], [0, 1, 1], [0, 0, 1]])
TARGET = np.array([0.9, 0.8, 0.3])
NAMES = ["k0", "k1", *(f"x{j}" for j in range(D - 2))]


def transcribed(X, y):
    fires = np.column_stack([X[:, :2] > 0.5, np.ones(N)]).astype(float)
    labels = [None if label is None else CLASSES.index(label) for label in y]
    rows = [document(X[i], fires[i], EVENTS, labels[i], 3) for i in range(N)]
    unlabelled = np.array([label is None for label in y], dtype=float)
    return rows, unlabelled, fires * unlabelled[:, None]


def classifier(**options):
    return TiltClassifier(
        RULES, classes=CLASSES, alpha=ALPHA, beta=BETA, gamma=GAMMA, feature_names=NAMES, random_state=5, **options
    )


def printed(**options):
    return {"steps": "printed", "eta0": ETA0, **options}


@pytest.mark.parametrize("scale", ["unit", "support"])
@pytest.mark.parametrize("penalize_intercept", [True, False])
def test_a_fit_of_documents(scale, penalize_intercept):
    """n, n − m and supports are known beforehand, as in the paper; two passes, each in another order."""
    X, y = documents()
    rows, unlabelled, fires = transcribed(X, y)
    rng = generator(5)
    order = np.concatenate([rng.permutation(N), rng.permutation(N)])
    support = fires.sum(axis=0)
    alpha = np.full((D + 1, 3), ALPHA)
    alpha[-1] *= penalize_intercept
    weights, prices = learn(
        rows, order, TARGET, BETA / (support if scale == "support" else np.ones(3)), alpha=alpha.ravel(), gamma=GAMMA,
        eta0=ETA0, sizes=lambda t: Sizes(N, unlabelled.sum(), support),
    )  # fmt: skip
    found = classifier(solver="online", online=printed(passes=2), scale=scale, penalize_intercept=penalize_intercept)
    found.fit(sparse.csr_array(X), y)
    table = weights.reshape(D + 1, 3)
    np.testing.assert_allclose(found.coef_, table[:-1].T, **EXACT)
    np.testing.assert_allclose(found.intercept_, table[-1], **EXACT)
    learner = found.stream_.learner
    np.testing.assert_allclose(learner.prices(), prices / support, **EXACT)
    assert np.abs(prices).min() > 1e-3  # they have moved, if only a little
    assert np.abs(table).max() > 0.1


@pytest.mark.parametrize("horizon", [None, 100])
def test_a_stream_of_documents(horizon):
    """n is what was seen, or declared; n − m and supports are estimated from what was seen."""
    X, y = documents()
    rows, unlabelled, fires = transcribed(X, y)

    def sizes(t):
        n = horizon or t
        return Sizes(n, n / t * unlabelled[:t].sum(), n / t * fires[:t].sum(axis=0))

    weights, prices = learn(
        rows, range(N), TARGET, np.full(3, BETA), alpha=np.full(3 * (D + 1), ALPHA), gamma=GAMMA, eta0=ETA0, sizes=sizes
    )
    found = classifier(online=printed(horizon=horizon), penalize_intercept=True)
    for a, b in ((0, 7), (7, 8), (8, N)):
        found.partial_fit(X[a:b], y[a:b])
    np.testing.assert_allclose(np.vstack([found.coef_.T, found.intercept_]), weights.reshape(D + 1, 3), **EXACT)
    by_constraint = {key[0]: price for key, price in found.prices_.items()}
    np.testing.assert_allclose([by_constraint[k] for k in range(3)], prices / sizes(N).support, **EXACT)


def test_mini_batches_sum_gradients_and_see_the_start_of_their_step():
    """The documented effect of batch_size: one step of η for all rows of it."""
    X, y = documents()
    rows = transcribed(X, y)[0]
    one, two = (classifier(online=printed(batch_size=size)).partial_fit(X[:4], y[:4]) for size in (1, 4))
    assert np.abs(one.coef_ - two.coef_).max() > 1e-3
    eta, total = 1 / (4 + 1 / ETA0), 0.0
    for row in rows[:4]:  # at weights and prices of zero
        p = np.full(3, 1 / 3)
        total = total + (row.f[row.label] - p @ row.f if row.label is not None else 0.0)
    np.testing.assert_allclose(np.vstack([two.coef_.T, two.intercept_]).ravel(), eta * total, **EXACT)


TOKENS = ["x", "y", ",", "z"]
SAID = [
    expect("a", given=word("x")).about(0.9),
    expect.stay().about(0.7),
    expect.segments("b").about(0.6),
    expect.start("a", "c").about(0.8),
    expect.change(given=word(",").before).about(0.5),
]
SAID_TARGETS = np.array([0.9, 0.7, 0.6, 0.8, 0.5])


def counts(x):
    """f′ of a labelling, in the order of ``SAID``, in plain Python."""

    def of(y):
        inner = range(1, len(y))
        return (
            sum(token == "x" and label == 0 for token, label in zip(x, y, strict=True)),
            sum(y[t] == y[t - 1] for t in inner),
            sum(y[t] == 1 and (t == 0 or y[t - 1] != 1) for t in range(len(y))),
            y[0] in (0, 2),
            sum(x[t - 1] == "," and y[t] != y[t - 1] for t in inner),
        )

    return of


def places(x):
    """How often each of ``SAID`` could happen (segments: a mean a sequence)."""
    return [x.count("x"), len(x) - 1, 1, 1, x[:-1].count(",")]


def sequences():
    rng = np.random.default_rng(1)
    X = [[TOKENS[k] for k in rng.integers(4, size=rng.integers(1, 5))] for _ in range(30)]
    y = [[CLASSES[k] for k in rng.integers(3, size=len(x))] if i % 3 == 1 else None for i, x in enumerate(X)]
    return X, y


def tagger(**options):
    return TiltTagger(SAID, classes=CLASSES, alpha=ALPHA, beta=BETA, gamma=GAMMA, random_state=5, **options)


def transcribed_sequences(found, X, y):
    """With the attributes that the tagger gives to tokens and edges."""
    listed = as_sequences(X)
    model = found.encoder_.model(found.encoder_.transform(listed), found.sample(X, y), Workers(), valid=False)
    dense, kinds = sparse.csr_array(model.features.nodes.X).toarray(), model.features.kinds
    rows = []
    for s, x in enumerate(X):
        at = slice(model.structure.offsets[s], model.structure.offsets[s + 1])
        labels = None if y[s] is None else [CLASSES.index(label) for label in y[s]]
        rows.append(sequence(dense[at], kinds[model.structure.kind[at]], counts(x), labels, 3))
    unlabelled = np.array([row is None for row in y], dtype=float)
    return rows, unlabelled, np.array([places(x) for x in X]) * unlabelled[:, None]


FREE = {"penalize_intercept": False, "boundaries": True}


def ridge_of(found):
    """α of every weight: none for boundaries and plain transitions that are free."""
    of_nodes, of_edges = np.full((len(found.names_), 3), ALPHA), np.full((len(found.transition_names_), 9), ALPHA)
    if not found.penalize_intercept:
        of_nodes[[name in ("<start>", "<end>") for name in found.names_]] = 0.0
        of_edges[found.transition_names_ == "transition"] = 0.0
    return np.concatenate([of_nodes.ravel(), of_edges.ravel()])


def both_tables(found):
    return np.concatenate([found.coef_.T.ravel(), found.transitions_.ravel()])


@pytest.mark.parametrize("scale", ["unit", "support"])
@pytest.mark.parametrize("options", [{}, FREE], ids=["penalised", "free"])
def test_a_fit_of_sequences(scale, options):
    X, y = sequences()
    found = tagger(solver="online", online=printed(passes=1), scale=scale, **options).fit(X, y)
    rows, unlabelled, fires = transcribed_sequences(found, X, y)
    support = fires.sum(axis=0)
    weights, prices = learn(
        rows, generator(5).permutation(len(X)), SAID_TARGETS, BETA / (support if scale == "support" else np.ones(5)),
        alpha=ridge_of(found), gamma=GAMMA, eta0=ETA0,
        sizes=lambda t: Sizes(len(X), unlabelled.sum(), support),
    )  # fmt: skip
    np.testing.assert_allclose(both_tables(found), weights, **EXACT)
    np.testing.assert_allclose(found.stream_.learner.prices(), prices / support, **EXACT)
    assert np.abs(prices).min() > 1e-3


@pytest.mark.parametrize("options", [{}, FREE], ids=["penalised", "free"])
def test_a_stream_of_sequences(options, tmp_path):
    X, y = sequences()
    found = tagger(online=printed(), **options).partial_fit(X[:12], y[:12])
    found.save(tmp_path / "half.tilt")
    found = load(tmp_path / "half.tilt").partial_fit(X[12:], y[12:])
    rows, unlabelled, fires = transcribed_sequences(found, X, y)
    weights, prices = learn(
        rows, range(len(X)), SAID_TARGETS, np.full(5, BETA), alpha=ridge_of(found), gamma=GAMMA,
        eta0=ETA0, sizes=lambda t: Sizes(t, unlabelled[:t].sum(), fires[:t].sum(axis=0)),
    )  # fmt: skip
    np.testing.assert_allclose(both_tables(found), weights, **EXACT)
    by_constraint = {key[0]: price for key, price in found.prices_.items()}
    np.testing.assert_allclose([by_constraint[k] for k in range(5)], prices / fires.sum(axis=0), **EXACT)
