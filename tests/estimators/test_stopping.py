"""Fits go on until there is nothing to gain, whatever the scale of a column; ``tol=0`` makes all rounds."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from tiltfit import TiltClassifier, TiltTagger, expect, feature, load
from tiltfit.errors import NotConvergedWarning


@pytest.mark.parametrize("seed", range(5))
def test_a_column_of_large_numbers_does_no_harm(seed: int) -> None:
    """Found by attack: accuracy 0.5 in 13 of 20 draws, with ``converged_`` True; scikit-learn has 1.00."""
    rng = np.random.default_rng(seed)
    z, price = rng.normal(size=3000), rng.lognormal(10, 1.5, size=3000)
    y = (z > 0).astype(int)
    X = np.column_stack([z, price])
    fitted = TiltClassifier().fit(X, y)
    assert fitted.converged_
    alike = LogisticRegression(max_iter=5000).fit(X / [1, 1e4], y).score(X / [1, 1e4], y)
    assert fitted.score(X, y) >= alike - 0.005


@pytest.mark.parametrize("method", ["ap", "supervised", "vote"])
@pytest.mark.parametrize("weights", ["all", "observed"])
def test_a_large_attribute_of_tokens_does_no_harm(method: str, weights: str) -> None:
    rng = np.random.default_rng(0)
    X = [
        [{"w": 1.0, rng.choice(["a", "b"]): 1.0, "big": float(1e6 * rng.normal())} for _ in range(5)] for _ in range(60)
    ]
    y = [["A" if "a" in token else "B" for token in sequence] for sequence in X]
    tagger = TiltTagger(
        [expect("A", given=feature("a")).about(0.99)], classes=["A", "B"], method=method, weights=weights
    )
    known = [labels if k < 40 else None for k, labels in enumerate(y)]
    assert tagger.fit(X, known).score(X, y) == 1.0


@pytest.mark.parametrize("solver", ["joint", "alternating"])
def test_zero_tolerance_makes_all_rounds(solver: str) -> None:
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(200, 5)), rng.integers(1, 3, size=200)
    said = [expect(1, given=feature("x0")).about(0.6)]
    names = [f"x{j}" for j in range(5)]
    with pytest.warns(NotConvergedWarning, match="stopped after 7 rounds"):
        fitted = TiltClassifier(said, feature_names=names, solver=solver, tol=0, max_iter=7).fit(
            X, np.where(X[:, 1] > 0, y, -1)
        )
    assert fitted.n_iter_ == 7


@pytest.mark.parametrize("tol", [-1e-3, float("nan"), float("inf"), True, "small", None])
def test_other_tolerances_are_refused(tol: object) -> None:
    with pytest.raises(ValueError, match="tol") as caught:
        TiltClassifier(tol=tol).fit(np.eye(2), [0, 1])  # type: ignore[arg-type]
    assert caught.value.parameter == "tol"  # type: ignore[attr-defined]


def test_a_fit_says_how_long_it_took_but_its_file_does_not(tmp_path: Path) -> None:
    started = time.perf_counter()
    fitted = TiltClassifier().fit(np.eye(4), [0, 1, 0, 1])
    assert 0 < fitted.fit_seconds_ < time.perf_counter() - started
    fitted.save(tmp_path / "a.tilt")
    fitted.fit_seconds_ += 1
    fitted.save(tmp_path / "b.tilt")
    assert (tmp_path / "a.tilt").read_bytes() == (tmp_path / "b.tilt").read_bytes()
    assert not hasattr(load(tmp_path / "a.tilt"), "fit_seconds_")
