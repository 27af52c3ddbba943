"""The same estimator with other constraints, from the weights of the full fit: far shorter than the first."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from tiltfit.arrays import FloatArray
from tiltfit.data.inputs import Unit
from tiltfit.errors import DataError
from tiltfit.estimators.estimator import TiltEstimator
from tiltfit.explain.view import check_nothing_lost
from tiltfit.features.hashing import buckets
from tiltfit.features.text import HashedWords
from tiltfit.language.constraint import ConstraintSet


def stated(estimator: TiltEstimator, what: str) -> ConstraintSet:
    """The constraints of an estimator, fitted or not. ``what``: what is to be done with them."""
    if not isinstance(estimator, TiltEstimator):
        raise DataError(f"{estimator!r:.80} is neither a TiltClassifier nor a TiltTagger.")
    check_nothing_lost(estimator, "set constraints= again and fit")
    constraints = ConstraintSet.of(estimator.constraints, unit_of(estimator))
    if len(constraints) == 0:
        raise DataError(f"There is no constraint to {what}.")
    return constraints


def unit_of(estimator: TiltEstimator) -> Unit:
    """The word for its positions; documents for a classifier that is not fitted yet."""
    return getattr(estimator, "unit_", estimator.task.unit or "documents")


def fit_all(estimator: TiltEstimator, X: Any, y: Any) -> TiltEstimator:
    """A copy with all constraints, fitted; from the weights of ``estimator`` if it has some."""
    copy = clone(estimator)
    if estimator.__sklearn_is_fitted__():
        copy.set_params(init=estimator)
        if hasattr(copy, "vectorizer") and estimator.names_ is not None and buckets(estimator.names_):
            copy.set_params(vectorizer=HashedWords.weighting)  # as a stream has chosen: else its weights do not fit
    return copy.fit(X, y)  # type: ignore[no-any-return]


def fit_with(full: TiltEstimator, constraints: ConstraintSet, X: Any, y: Any) -> TiltEstimator:
    """A copy of ``full`` with other constraints, fitted from its weights."""
    copy = clone(full).set_params(constraints=constraints, classes=full.classes_.tolist(), init=full, n_init=1)
    return copy.fit(X, y)  # type: ignore[no-any-return]


def labels_of(fitted: TiltEstimator, X: Any) -> list[Any]:
    """The label of every document or token."""
    return fitted.task.flat(fitted.predict(X))


def shares_of(fitted: TiltEstimator, X: Any) -> FloatArray:
    """p of every document or token, rows × classes."""
    return fitted.infer(X).marginals.node


def changed(before: list[Any], after: list[Any]) -> float:
    """The share of labels that are others."""
    return float(np.mean([a != b for a, b in zip(before, after, strict=True)]))
