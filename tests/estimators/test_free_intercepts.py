"""``penalize_intercept=False``: label biases without a ridge; those of a tagger: plain transitions and boundaries."""

import numpy as np
import pytest
from scipy import sparse
from scipy.special import logsumexp
from tests.oracles.printed_steps import sequence

from tiltfit import TiltClassifier, TiltTagger, expect, load, word
from tiltfit.data.sequences import as_sequences
from tiltfit.errors import DataError, UnsupportedError
from tiltfit.execution.workers import Workers

TOKENS = [["x", ",", "y"], ["y", "x"], ["z", ",", "x"], ["y", "y", "z"], ["x"]]
LABELS = [["a", "a", "b"], ["b", "a"], ["c", "b", "a"], ["b", "b", "c"], ["a"]]
ALPHA = 0.7


def tagger(constraints=(), **options):
    usual = {"alpha": ALPHA, "tol": 1e-11, "max_iter": 2000, "boundaries": True, "penalize_intercept": False}
    return TiltTagger(constraints, **usual | options)


def enumerated(found):
    """Every sequence, with f of all its labellings."""
    listed = as_sequences(TOKENS)
    model = found.encoder_.model(found.encoder_.transform(listed), found.sample(TOKENS), Workers(), valid=False)
    dense, kinds = sparse.csr_array(model.features.nodes.X).toarray(), model.features.kinds
    names, rows = found.classes_.tolist(), []
    for s, labels in enumerate(LABELS):
        at = slice(model.structure.offsets[s], model.structure.offsets[s + 1])
        numbers = [names.index(label) for label in labels]
        rows.append(sequence(dense[at], kinds[model.structure.kind[at]], lambda _: (0.0,), numbers, len(names)))
    return rows


def is_free(found):
    """The label biases, by their names."""
    n = len(found.classes_)
    nodes = np.repeat([name in ("<start>", "<end>") for name in found.names_], n)
    return np.concatenate([nodes, np.repeat(found.transition_names_ == "transition", n * n)])


@pytest.mark.parametrize("boundaries", [True, False])
@pytest.mark.parametrize(
    "options",
    [{}, {"features": {"hashing": 64}}, {"solver": "alternating"}, {"weights": "observed"}],
    ids=["joint", "hashed", "alternating", "observed"],
)
def test_a_labelled_fit_is_an_optimum_of_the_enumerated_objective(boundaries, options):
    found = tagger(boundaries=boundaries, **options).fit(TOKENS, LABELS)
    rows, free, weights = enumerated(found), is_free(found), found._weights()

    def objective(w):
        fit = sum(logsumexp(row.f @ w) - row.f[row.label] @ w for row in rows)
        return fit + ALPHA / 2 * float(w[~free] @ w[~free])

    assert found.objective_ == pytest.approx(objective(weights), rel=1e-9)
    step = 1e-5  # central differences: their error is step²
    for k in np.flatnonzero(weights):
        ahead, behind = weights.copy(), weights.copy()
        ahead[k] += step
        behind[k] -= step
        assert abs(objective(ahead) - objective(behind)) / (2 * step) < 1e-5
    held = tagger(boundaries=boundaries, penalize_intercept=True, **options).fit(TOKENS, LABELS)
    assert np.abs(weights[free]).max() > 1.2 * np.abs(held._weights()[free]).max()


def test_the_gradient_with_constraints_agrees_with_finite_differences():
    said = [expect("a", given=word("x")).about(0.9), expect.stay().about(0.4)]
    found = tagger(said, classes=["a", "b", "c"]).fit(TOKENS)
    beliefs = found.infer(TOKENS)
    from tiltfit.methods.problem import Problem

    ridge = found.ridge(beliefs.model)
    np.testing.assert_array_equal(ridge, np.where(is_free(found), 0.0, ALPHA))
    problem = Problem.of(beliefs.model, beliefs.sample, found.ground(beliefs), ridge, 1.0)
    rng = np.random.default_rng(0)
    weights = rng.normal(size=len(ridge))
    told = problem.evaluate(weights, None, 1e-10)
    for direction in [*np.eye(len(ridge))[is_free(found)][:4], rng.normal(size=len(ridge))]:
        ahead, behind = (problem.evaluate(weights + s * direction, None, 1e-10).value for s in (1e-5, -1e-5))
        assert (ahead - behind) / 2e-5 == pytest.approx(told.gradient @ direction, abs=1e-5)


def test_a_class_that_nobody_speaks_of_leaves_finite_weights():
    """As for a classifier, the fit ends where nothing is left to gain; nothing holds such a class but the tolerance."""
    said = [expect("a", given=word("x")).about(0.9), expect().distributed_as({"a": 0.5, "b": 0.5})]
    found = tagger(said, classes=["a", "b", "c"], tol=1e-4).fit(TOKENS)
    assert found.converged_
    assert np.isfinite(found._weights()).all()
    assert all(labels.count("c") == 0 for labels in found.predict(TOKENS))
    document = TiltClassifier(said, classes=["a", "b", "c"], penalize_intercept=False).fit(
        [" ".join(x) for x in TOKENS]
    )
    assert document.converged_
    assert np.isfinite(document.intercept_).all()


def test_a_model_file_keeps_it(tmp_path):
    found = tagger().fit(TOKENS, LABELS)
    found.save(tmp_path / "m.tilt")
    again = load(tmp_path / "m.tilt")
    assert again.penalize_intercept is False
    np.testing.assert_array_equal(again.fit(TOKENS, LABELS).transitions_, found.transitions_)


@pytest.mark.parametrize("free", [False, True])
def test_the_objective_of_a_pass_counts_the_ridge_that_there_is(free):
    """With one pass, labels and one step, the loss is that at weights of zero."""
    found = tagger(penalize_intercept=not free, solver="online", online={"passes": 1, "batch_size": 99})
    found.fit(TOKENS, LABELS)
    zero = sum(np.log(len(row.f)) for row in enumerated(found))
    weights = found._weights()
    held = weights[~is_free(found)] if free else weights
    assert found.history_[0].objective == pytest.approx(zero + ALPHA / 2 * float(held @ held), rel=1e-9)


def test_a_hidden_markov_model_refuses_it():
    with pytest.raises(
        UnsupportedError, match="transitions, starts and ends that are not seen would have probability 0"
    ):
        tagger(model="hmm").fit(TOKENS, LABELS)


def test_only_true_or_false():
    with pytest.raises(DataError, match="penalize_intercept='no' must be True or False"):
        tagger(penalize_intercept="no").fit(TOKENS, LABELS)
