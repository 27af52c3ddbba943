"""The fit does not depend on how often the data are counted (docs/mathematics.md, sizes)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tiltfit import TiltClassifier, TiltTagger, expect, feature, word
from tiltfit.projections.components import REFERENCE

pytestmark = pytest.mark.filterwarnings("ignore::tiltfit.errors.TiltfitWarning")
NAMES = [f"f{j}" for j in range(6)]
SAID = [
    expect("a", given=feature("f0")).about(0.9),
    expect("b", given=feature("f1")).about(0.8, within=0.1),
    expect("c", given=feature("f2")).between(0.6, 0.9),
    expect("a").at_most(0.5),
]
CLOSE: dict[str, Any] = {"tol": 1e-9, "max_iter": 2000}


def rows(n: int = 120) -> np.ndarray:
    rng = np.random.default_rng(0)
    return (rng.random((n, 6)) < 0.4) * rng.random((n, 6))


def classifier(**options: Any) -> TiltClassifier:
    settings: dict[str, Any] = {"constraints": SAID, **CLOSE, **options}
    return TiltClassifier(classes=["a", "b", "c"], feature_names=NAMES, **settings)


def test_weights_that_are_four_times_as_large_give_the_same_fit_to_the_last_bit() -> None:
    # By a power of two, every number inside is the same but for its exponent: tolerances scale as well.
    X = rows()
    once = classifier(tol=1e-3).fit(X)
    often = classifier(tol=1e-3).fit(X, sample_weight=np.full(len(X), 4.0))
    np.testing.assert_array_equal(often.coef_, once.coef_)
    assert often.objective_ == once.objective_
    assert often.n_iter_ == once.n_iter_


def test_copies_give_the_same_fit() -> None:
    X = rows()
    once, copied = classifier().fit(X), classifier().fit(np.concatenate([X] * 10))
    np.testing.assert_allclose(copied.coef_, once.coef_, atol=1e-4)
    np.testing.assert_allclose(
        [e.pull for e in copied.constraint_report_], [e.pull for e in once.constraint_report_], rtol=1e-3, atol=1e-3
    )


def test_rows_that_no_statement_touches_do_not_count() -> None:
    X = rows()
    said = [statement for statement in SAID if statement.where is not None]
    once, more = (classifier(constraints=said).fit(given) for given in (X, np.concatenate([X, np.zeros((500, 6))])))
    np.testing.assert_allclose(more.coef_, once.coef_, atol=1e-6)


def test_labels_tell_what_an_instance_weighs() -> None:
    X, y = rows(), ["a", "b", "c", *[None] * 117]
    fitted = classifier().fit(X, y)
    assert fitted.ground(fitted.infer(X, y)).instance_weight == 1.0
    assert fitted.ground(fitted.infer(X)).instance_weight == 1.0  # on new data statements are as strong as in the fit


def test_the_objective_is_that_of_n0_instances() -> None:
    X = rows()
    fitted = classifier(penalize_intercept=True).fit(X)
    p, q = fitted.predict_proba(X), fitted.project(X, prices="fitted")
    divergence = float(np.sum(q * np.log(q / p)))
    cost = sum(_cost(e, said) for e, said in zip(fitted.constraint_report_, SAID, strict=True))
    ridge = 0.5 * float(np.sum(fitted.coef_**2) + np.sum(fitted.intercept_**2))
    assert fitted.objective_ == pytest.approx(ridge + REFERENCE / len(X) * divergence + cost, rel=1e-3)


def _cost(entry: Any, said: Any) -> float:
    """U of a statement that is met or has a number: w·|m − u|, and (m − u)²/2d²."""
    if said is SAID[0]:
        return 10.0 * abs(entry.projected - 0.9)
    if said is SAID[1]:
        return float((entry.projected - 0.8) ** 2 / (2 * 0.1**2))
    assert entry.violation < 1e-4
    return 0.0


@pytest.mark.parametrize(
    ("said", "beta"), [(SAID, 0.05), (SAID[1:], "auto")], ids=["beta=", "no statement has a default strength"]
)
def test_strengths_that_are_stated_are_those_of_equation_6_as_written(said: list[Any], beta: Any) -> None:
    X = rows()
    fitted = classifier(constraints=said, beta=beta).fit(X)
    often = classifier(constraints=said, beta=beta).fit(X, sample_weight=np.full(len(X), 10.0))
    assert np.abs(often.coef_ - fitted.coef_).max() > 0.01


def test_a_few_rows_count_twenty_times_at_most() -> None:
    X = rows(20)
    fitted = classifier().fit(X)
    assert fitted.ground(fitted.infer(X)).instance_weight == 20.0


def sentences() -> list[list[str]]:
    rng = np.random.default_rng(1)
    words = ["anna", "bert", "sees", "the", "dog", "cat"]
    return [rng.choice(words, size=rng.integers(2, 8)).tolist() for _ in range(30)]


def tagger(**options: Any) -> TiltTagger:
    said = [
        expect("name", given=word("anna")).about(0.9),
        expect("other", given=word("dog")).about(0.95),
        expect.stay().about(0.7),
    ]
    return TiltTagger(said, classes=["name", "other"], **{**CLOSE, **options})


def test_so_do_copies_of_sequences() -> None:
    X = sentences()
    once, copied = tagger().fit(X), tagger().fit(X * 10)
    a, b = (np.concatenate(fitted.predict_marginals(X)) for fitted in (once, copied))
    np.testing.assert_allclose(a, b, atol=1e-3)


def test_a_label_inside_a_sequence_counts_as_one() -> None:
    # It counts like the unlabelled sequence that it is part of, which must count whole then.
    X = sentences()
    y: list[Any] = [None] * len(X)
    y[0] = ["name", *[None] * (len(X[0]) - 1)]
    whole = tagger().fit(X, y)
    assert whole.ground(whole.infer(X, y)).instance_weight == 1.0
    plain = tagger().fit(X)
    assert plain.ground(plain.infer(X)).instance_weight == pytest.approx(REFERENCE / sum(map(len, X)))


def test_projection_on_copies_is_the_same() -> None:
    X = rows()
    fitted = classifier().fit(X)
    q = fitted.project(np.concatenate([X] * 3), prices="solve")[: len(X)]
    np.testing.assert_allclose(q, fitted.project(X, prices="solve"), atol=1e-4)
