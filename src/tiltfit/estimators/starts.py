"""Weights to start from, taken from an earlier fit or given outright."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tiltfit.arrays import FloatArray
from tiltfit.errors import DataError
from tiltfit.features.hashing import buckets


def matched_weights(source: Any, classes: Sequence[Any], names: Sequence[str] | None, d: int) -> FloatArray:
    """Flat weights from a fitted estimator or a pair (coef, intercept).

    Features are matched by name where both have names (hashed ones by column, of as many); one that the source does not
    know starts at 0.
    """
    if isinstance(source, tuple):
        coef, intercept = (np.asarray(part, dtype=np.float64) for part in source)
        theirs = None
    elif hasattr(source, "coef_") and hasattr(source, "classes_"):
        if list(source.classes_) != list(classes):
            raise DataError(f"The start has the classes {list(source.classes_)}, but this fit has {list(classes)}.")
        coef, intercept = np.asarray(source.coef_), np.asarray(source.intercept_)
        theirs = getattr(source, "names_", None)
        if theirs is None and hasattr(source, "feature_names_in_"):
            theirs = [str(name) for name in source.feature_names_in_]
    else:
        raise DataError(
            f"init={source!r} is not a start: use 'zeros', 'supervised', 'constraints', 'random', a fitted estimator "
            "or a pair (coef, intercept).",
            parameter="init",
        )
    if len(coef) == 1 and len(classes) == 2:  # scikit-learn keeps one row for two classes: the log-odds of the second
        coef, intercept = np.vstack([-coef / 2, coef / 2]), np.concatenate([-intercept / 2, intercept / 2])
    if theirs and names and coef.shape[1:] == (len(theirs),):
        coef = _by_name(coef.T, theirs, names).T
    if coef.shape != (len(classes), d) or intercept.shape != (len(classes),):
        raise DataError(
            f"The start has weights of shape {coef.shape} and {intercept.shape}, but this fit needs "
            f"{(len(classes), d)} and {(len(classes),)}."
        )
    return np.concatenate([coef.T, intercept[None, :]]).ravel()


def matched_tables(source: Any, classes: Sequence[Any], names: Sequence[str], edge_names: Sequence[str]) -> FloatArray:
    """Flat weights of a fitted tagger (attributes × labels, attributes of edges × labels × labels), matched by name; an
    attribute that the source does not know starts at 0."""
    if not hasattr(source, "transitions_") or not hasattr(source, "coef_"):
        raise DataError(
            f"init={source!r} is not a start: use 'supervised', 'constraints', or a fitted tagger.", parameter="init"
        )
    if list(source.classes_) != list(classes):
        raise DataError(f"The start has the classes {list(source.classes_)}, but this fit has {list(classes)}.")
    coef = _by_name(source.coef_.T, source.names_, names)
    edges = _by_name(source.transitions_, list(source.transition_names_), edge_names)
    return np.concatenate([coef.ravel(), edges.ravel()])


def _by_name(table: FloatArray, theirs: Sequence[str], ours: Sequence[str]) -> FloatArray:
    if theirs == ours:
        return table
    if buckets(theirs) != buckets(ours):
        raise DataError(
            f"The start has {_told(theirs)}, but this fit has {_told(ours)}: weights of hashed features only fit "
            "features that are hashed alike."
        )
    place = {name: j for j, name in enumerate(theirs)}
    aligned = np.zeros((len(ours), *table.shape[1:]))
    known = np.array([(k, place[name]) for k, name in enumerate(ours) if name in place], dtype=np.intp).reshape(-1, 2)
    aligned[known[:, 0]] = table[known[:, 1]]
    return aligned


def _told(names: Sequence[str]) -> str:
    hashed = [f"{part.prefix}{part.size}" for part in buckets(names)]
    return f"features hashed into {', '.join(hashed)} columns" if hashed else "a vocabulary"


def generator(random_state: Any) -> np.random.Generator:
    """A source of random numbers from scikit-learn's kinds of random state; touches no global state."""
    seed = random_state
    if isinstance(random_state, np.random.RandomState):
        seed = int(random_state.randint(2**31))
    try:
        return np.random.default_rng(seed)
    except (TypeError, ValueError) as error:
        raise DataError(f"random_state={random_state!r} must be a whole number of at least 0, or None.") from error
