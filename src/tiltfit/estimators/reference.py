"""The reference distribution q₀ of Eq. 2–3, from a fitted classifier or from probabilities of the training rows (the
parameter ``base=``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tiltfit.arrays import FloatArray
from tiltfit.errors import DataError, UnsupportedError
from tiltfit.language.values import label, match
from tiltfit.samples.sample import Sample


class LostBase:
    """Stands for the base distribution of a model that was loaded from a file, which cannot hold it."""

    def predict_proba(self, X: Any) -> FloatArray:
        raise UnsupportedError(
            "This model was loaded from a file, which cannot hold its base distribution. Set it again before "
            "predicting: model.base = fitted_classifier."
        )


def log_base(base: Any, X: Any, n: int, classes: Sequence[Any], *, fitting: bool) -> FloatArray | None:
    """log q₀ for every row and class, or None for the uniform distribution."""
    if base is None:
        return None
    if hasattr(base, "predict_proba"):
        shares = _aligned(base, np.asarray(base.predict_proba(X), dtype=np.float64), classes)
    elif fitting:
        try:
            shares = np.asarray(base, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise DataError(
                f"base={base!r} is neither a fitted classifier nor an array of probabilities.", parameter="base"
            ) from error
    else:
        raise UnsupportedError(
            "base= was given as probabilities of the training rows, which say nothing about other rows. Give a fitted "
            "classifier as base= to predict."
        )
    if shares.shape != (n, len(classes)):
        raise DataError(
            f"base= has the shape {shares.shape}, but there are {n} rows and {len(classes)} classes.", parameter="base"
        )
    bad = np.flatnonzero(~(np.isfinite(shares).all(axis=1) & (shares >= 0).all(axis=1) & (shares.sum(axis=1) > 0)))
    if len(bad):
        raise DataError(
            f"base= is not a distribution in row {bad[0]}: {shares[bad[0]].tolist()}.", parameter="base", instances=bad
        )
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(shares / shares.sum(axis=1, keepdims=True)))


def refuse_impossible_labels(base: FloatArray | None, sample: Sample) -> None:
    """Refuse labels, and sets of labels, that q₀ gives probability 0: they can never be fitted."""
    if base is None:
        return
    labels, banned = sample.labels, sample.banned
    known = np.flatnonzero(labels >= 0)
    zero = known[np.isneginf(base[known, labels[known]])]
    if len(zero):
        raise DataError(
            f"base= gives probability 0 to the label {sample.classes[labels[zero[0]]]!r} of row {zero[0]}. "
            "Mix base= with a little of the uniform distribution, or correct the label.",
            instances=zero,
        )
    if banned is not None:
        zero = np.flatnonzero((banned | np.isneginf(base)).all(axis=1))
        if len(zero):
            raise DataError(
                f"base= gives probability 0 to every label of the set in row {zero[0]}. Mix base= with a little of the "
                "uniform distribution, or correct the set.",
                instances=zero,
            )


def _aligned(base: Any, shares: FloatArray, classes: Sequence[Any]) -> FloatArray:
    """Columns in the order of ``classes``."""
    columns = [match(label(c), list(base.classes_)) for c in classes]
    missing = [c for c, k in zip(classes, columns, strict=True) if k is None]
    if missing:
        raise DataError(f"base= does not have the classes {missing}: fit it with all of {list(classes)}.")
    return shares[:, np.array(columns, dtype=np.intp)]
