"""Weights to start from (``init=``, ``warm_start=``) and the base distribution q₀ of Eq. 2–3 (``base=``).

Both usually come from an earlier model. Weights may also be given as arrays, and q₀ as probabilities of the training
rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tiltfit.arrays import FloatArray, IntArray
from tiltfit.data.sequences import as_sequences
from tiltfit.errors import DataError, UnsupportedError
from tiltfit.estimators.given_features import GivenFeatures, alone
from tiltfit.features.hashing import buckets
from tiltfit.inference.potentials import Potentials
from tiltfit.language.values import label, match
from tiltfit.samples.sample import Sample


def matched_weights(source: Any, classes: Sequence[Any], names: Sequence[str] | None, d: int) -> FloatArray:
    """Flat weights from a fitted estimator or a pair (coef, intercept).

    Features are matched by name where both have names; hashed ones by column, and only if both have the same number of
    columns. A feature that the source does not know starts at 0.
    """
    if isinstance(source, tuple):
        coef, intercept = (np.asarray(part, dtype=np.float64) for part in source)
        theirs = None
    elif hasattr(source, "coef_") and hasattr(source, "classes_"):
        _refuse_other_classes(source, classes)
        # The length of its weights is another matter (``methods.sharpness``): a search goes on where one ended.
        length = getattr(source, "sharpness_", 1.0)
        coef, intercept = np.asarray(source.coef_) / length, np.asarray(source.intercept_) / length
        theirs = getattr(source, "names_", None)
        if theirs is None and hasattr(source, "feature_names_in_"):
            theirs = [str(name) for name in source.feature_names_in_]
    else:
        raise DataError(
            f"init={source!r} is not a start: use 'zeros', 'supervised', 'constraints', 'squares', 'random', a fitted "
            "estimator or a pair (coef, intercept).",
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
    return _finite(np.concatenate([coef.T, intercept[None, :]]).ravel())


def matched_tables(source: Any, classes: Sequence[Any], names: Sequence[str], edge_names: Sequence[str]) -> FloatArray:
    """Flat weights of a fitted tagger (attributes × labels, attributes of edges × labels × labels), matched by name; an
    attribute that the source does not know starts at 0."""
    if not hasattr(source, "transitions_") or not hasattr(source, "coef_"):
        raise DataError(
            f"init={source!r} is not a start: use 'supervised', 'constraints', or a fitted tagger.", parameter="init"
        )
    _refuse_other_classes(source, classes)
    of_positions, of_edges = getattr(source, "sharpness_", (1.0, 1.0))
    coef = _by_name(source.coef_.T / of_positions, source.names_, names)
    edges = _by_name(source.transitions_ / of_edges, list(source.transition_names_), edge_names)
    return _finite(np.concatenate([coef.ravel(), edges.ravel()]))


def _finite(weights: FloatArray) -> FloatArray:
    bad = int(np.sum(~np.isfinite(weights)))
    if bad:
        raise DataError(
            f"The start has {bad} weights that are NaN or infinite: every weight must be a finite number.",
            parameter="init",
        )
    return weights


def _refuse_other_classes(source: Any, classes: Sequence[Any]) -> None:
    if list(source.classes_) != list(classes):
        raise DataError(f"The start has the classes {list(source.classes_)}, but this fit has {list(classes)}.")


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


class LostBase:
    """Stands for the base distribution of a model that was loaded from a file, which cannot hold it."""

    def predict_proba(self, X: Any) -> FloatArray:
        raise UnsupportedError(
            "This model was loaded from a file, which cannot hold its base distribution. Set it again before "
            "predicting: model.base = fitted_model.",
            parameter="base",
        )


def log_base(base: Any, X: Any, n: int, classes: Sequence[Any], *, fitting: bool) -> FloatArray | None:
    """log q₀ for every row and class, or None for the uniform distribution."""
    if base is None:
        return None
    if hasattr(base, "predict_proba"):
        # A base that was fitted with features= has the same ones; another one looks at X itself.
        seen = X if isinstance(getattr(base, "encoder_", None), GivenFeatures) else alone(X)
        if seen is None:
            raise DataError("base= looks at X, but X is None: pass X beside features=.", parameter="X")
        shares = _aligned(base, np.asarray(base.predict_proba(seen), dtype=np.float64), classes)
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
            "classifier as base= to predict.",
            parameter="base",
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


@dataclass(frozen=True, eq=False)
class SequenceBase:
    """log q₀ of sequences: ``node[t, y]`` and, if it is about pairs of labels, ``edge[kind[t]]`` into position t."""

    node: FloatArray
    edge: FloatArray | None = None
    kind: IntArray | None = None


def sequence_base(base: Any, X: Any, sample: Sample, *, fitting: bool) -> SequenceBase | None:
    """log q₀ for every position of a sample of X, None for the uniform distribution: the scores of a fitted tagger, up
    to a constant per sequence, or probabilities of every token."""
    if base is None:
        return None
    if getattr(getattr(base, "task", None), "is_sequences", False):
        check_is_fitted(base)
        # A base that was fitted with features= has the same ones; another one looks at X itself.
        seen = X if base.encoder_.takes_given else alone(X)
        found, columns = base.infer(seen), _columns(base, sample.classes)
        edge = found.potentials.edge[:, columns][:, :, columns]
        return SequenceBase(found.potentials.node[:, columns], edge, found.model.structure.kind)
    if isinstance(base, LostBase):
        base.predict_proba(X)  # refuses
    if hasattr(base, "predict_marginals"):
        columns = _columns(base, sample.classes)
        shares = [np.asarray(part, dtype=np.float64)[:, columns] for part in base.predict_marginals(alone(X))]
    elif fitting:
        shares = _given_shares(base)
    else:
        raise UnsupportedError(
            "base= was given as probabilities of the training sequences, which say nothing about others. Give a fitted "
            "tagger as base= to predict.",
            parameter="base",
        )
    return SequenceBase(_log_shares(shares, X, sample))


def _given_shares(base: Any) -> list[FloatArray]:
    try:
        return [np.asarray(part, dtype=np.float64) for part in base]
    except (TypeError, ValueError) as error:
        raise DataError(
            f"base={base!r:.200} is neither a fitted tagger nor a list of arrays of probabilities (tokens × classes).",
            parameter="base",
        ) from error


def _log_shares(shares: list[FloatArray], X: Any, sample: Sample) -> FloatArray:
    """Probabilities of the tokens of all sequences of X, as logarithms at the positions of the sample."""
    lengths = as_sequences(X, allow_empty=True).lengths
    if len(shares) != len(lengths):
        raise DataError(f"base= has {len(shares)} arrays, but there are {len(lengths)} sequences.", parameter="base")
    for s, (part, length) in enumerate(zip(shares, lengths, strict=True)):
        shape = (int(length), len(sample.classes))
        if length and part.shape != shape:
            raise DataError(
                f"base= has the shape {part.shape} for sequence {s}, which needs {shape}: tokens × classes.",
                parameter="base",
                instances=np.array([s]),
            )
        sums = part.sum(axis=1) if length else np.empty(0)
        bad = np.flatnonzero(~(np.isfinite(sums) & (part >= 0).all(axis=1) & (sums > 0))) if length else sums
        if len(bad):
            raise DataError(
                f"base= is not a distribution at token {bad[0]} of sequence {s}: {part[bad[0]].tolist()}.",
                parameter="base",
                instances=np.array([s]),
            )
    flat = np.concatenate([shares[s] for s in sample.number]) if len(sample.number) else np.empty((0, 1))
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(flat / flat.sum(axis=1, keepdims=True)))


def refuse_impossible_tags(base: Potentials, sample: Sample) -> None:
    """Refuse known labels of tokens, or pairs of them, that q₀ gives probability 0."""
    labels, structure = sample.labels, sample.structure
    zero = np.zeros(len(labels), dtype=np.bool_)
    known = np.flatnonzero(labels >= 0)
    zero[known] = np.isneginf(base.node[known, labels[known]])
    if base.edge is not None and structure.has_edges:
        inner = np.setdiff1d(np.flatnonzero((labels >= 0) & (np.roll(labels, 1) >= 0)), structure.first)
        zero[inner] |= np.isneginf(base.edge[structure.kind[inner], labels[inner - 1], labels[inner]])
    if zero.any():
        i, *others = map(int, np.flatnonzero(zero))
        why = (
            f"is labelled {sample.classes[labels[i]]!r}, to which base= gives probability 0 there. Mix base= with a "
            "little of the uniform distribution, or correct the label."
        )
        raise as_sequences(sample.inputs).refused(i, why, "base", others)


def refuse_impossible_labels(base: FloatArray | None, sample: Sample) -> None:
    """Refuse labels, and sets of labels, that q₀ gives probability 0: they can never be fitted."""
    if base is None:
        return
    labels, impossible = sample.labels, np.isneginf(base)
    known = np.flatnonzero(labels >= 0)
    zero, what, cure = known[impossible[known, labels[known]]], "", "label"
    if len(zero):
        what = f"the label {sample.classes[labels[zero[0]]]!r} of"
    elif sample.banned is not None:
        zero, what, cure = np.flatnonzero((sample.banned | impossible).all(axis=1)), "every label of the set in", "set"
    if len(zero):
        raise DataError(
            f"base= gives probability 0 to {what} row {zero[0]}. Mix base= with a little of the uniform distribution, "
            f"or correct the {cure}.",
            parameter="base",
            instances=zero,
        )


def _aligned(base: Any, shares: FloatArray, classes: Sequence[Any]) -> FloatArray:
    """Columns in the order of ``classes``."""
    return shares[:, _columns(base, classes)]


def _columns(base: Any, classes: Sequence[Any]) -> IntArray:
    """The number of every class among those of the base."""
    columns = [match(label(c), list(base.classes_)) for c in classes]
    missing = [c for c, k in zip(classes, columns, strict=True) if k is None]
    if missing:
        raise DataError(
            f"base= does not have the classes {missing}: fit it with all of {list(classes)}.", parameter="base"
        )
    return np.array(columns, dtype=np.intp)
