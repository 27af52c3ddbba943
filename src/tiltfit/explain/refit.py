"""The same estimator with other constraints, from the weights of the full fit: far shorter than the first."""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np
from sklearn.base import clone

from tiltfit.arrays import FloatArray
from tiltfit.data.inputs import Unit
from tiltfit.errors import DataError
from tiltfit.estimators.classifier import TiltClassifier
from tiltfit.estimators.tagger import TiltTagger
from tiltfit.explain.view import Estimator, check_nothing_lost
from tiltfit.features.hashed_text import HashedWords
from tiltfit.features.hashing import buckets
from tiltfit.language.constraint import ConstraintSet


def stated(estimator: Estimator, what: str) -> ConstraintSet:
    """The constraints of an estimator, fitted or not. ``what``: what is to be done with them."""
    if not isinstance(estimator, TiltClassifier | TiltTagger):
        raise DataError(f"{estimator!r:.80} is no TiltClassifier or TiltTagger.")
    check_nothing_lost(estimator, "set constraints= again and fit")
    constraints = ConstraintSet.of(estimator.constraints, unit_of(estimator))
    if len(constraints) == 0:
        raise DataError(f"There is no constraint to {what}.")
    return constraints


def unit_of(estimator: Estimator) -> Unit:
    """What its positions are called; of a classifier that is not fitted that is not known yet."""
    unit: Unit = vars(estimator).get("_unit", "tokens" if isinstance(estimator, TiltTagger) else "documents")
    return unit


def fit_all(estimator: Estimator, X: Any, y: Any) -> Estimator:
    """A copy with all constraints, fitted; from the weights of ``estimator`` if it has some."""
    copy = clone(estimator)
    if estimator.__sklearn_is_fitted__():
        copy.set_params(init=estimator)
        names = vars(estimator).get("_model_names")
        if isinstance(copy, TiltClassifier) and names is not None and buckets(names):
            copy.set_params(vectorizer=HashedWords.weighting)  # as a stream has chosen: else its weights do not fit
    return copy.fit(X, y)  # type: ignore[no-any-return]


def fit_with(full: Estimator, constraints: ConstraintSet, X: Any, y: Any) -> Estimator:
    """A copy of ``full`` with other constraints, fitted from its weights."""
    copy = clone(full).set_params(constraints=constraints, classes=full.classes_.tolist(), init=full, n_init=1)
    return copy.fit(X, y)  # type: ignore[no-any-return]


def labels_of(fitted: Estimator, X: Any) -> list[Any]:
    """The label of every document or token."""
    found = fitted.predict(X)
    return list(chain.from_iterable(found)) if isinstance(fitted, TiltTagger) else list(found)


def shares_of(fitted: Estimator, X: Any) -> FloatArray:
    """p of every document or token, rows × classes."""
    return np.concatenate(fitted.predict_marginals(X)) if isinstance(fitted, TiltTagger) else fitted.predict_proba(X)


def changed(before: list[Any], after: list[Any]) -> float:
    """The share of labels that are others."""
    return float(np.mean([a != b for a, b in zip(before, after, strict=True)]))
