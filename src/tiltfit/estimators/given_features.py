"""Features that come beside X (``features=``): the model learns from them, and conditions look at X.

    x = c·v,    c = 10/√(mean ‖v‖²) over the rows of the fit

One factor for all rows, so that their lengths keep their proportions, and α = 1 is as mild as for tf-idf. Counts stay
what they are: generative models have c = 1. Those of sequences are in ``token_vectors``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from tiltfit.arrays import FloatArray
from tiltfit.data.beside import WithEvidence
from tiltfit.data.documents import document_inputs
from tiltfit.data.inputs import Inputs, NoInputs
from tiltfit.data.matrices import refuse_broken
from tiltfit.data.sequences import Sequences, as_sequences
from tiltfit.errors import DataError, UnsupportedError
from tiltfit.estimators.encoders import Matrix, as_matrix, refuse_not_finite
from tiltfit.features.text import LENGTH


@dataclass(frozen=True, eq=False)
class WithFeatures:
    """X with the vectors that a model learns from: a classifier instead of features made of X, a tagger beside them.

    ``fit(X, features=V)`` is short for ``fit(WithFeatures(X, V))``. The pair goes wherever X goes: into ``why``,
    ``report_page`` and ``leave_one_out``, or into ``dev=(WithFeatures(X_dev, V_dev), y_dev)``.

    Parameters
    ----------
    X : as for ``TiltClassifier.fit``, or None; or as for ``TiltTagger.fit``
        What conditions look at. None: nothing, so that only what needs no condition works, such as ``predict``.
    features : array or sparse matrix (rows × dimensions), or list of arrays (tokens × dimensions)
        What the model sees, one row for every row of X; or one array for every sequence, a row for every token.

    Examples
    --------
    >>> import numpy as np
    >>> from tiltfit import TiltClassifier, WithFeatures, expect, why, word
    >>> texts, vectors = ["the puck", "a bat"], np.array([[1.0, 0.2], [0.1, 1.0]])
    >>> clf = TiltClassifier([expect("hockey", given=word("puck")).about(0.9),
    ...                       expect("baseball", given=word("bat")).about(0.9)])
    >>> clf.fit(texts, features=vectors).predict(None, features=[[2.0, 0.1]]).tolist()
    ['hockey']
    >>> causes = why(clf, WithFeatures(texts, vectors))
    """

    X: Any
    features: Any

    def __post_init__(self) -> None:
        if isinstance(self.X, WithEvidence | WithFeatures):
            raise DataError(
                f"X of WithFeatures is a {type(self.X).__name__}: write WithEvidence(WithFeatures(X, V), evidence).",
                parameter="X",
            )

    def matrix(self, dimensions: int | None = None) -> Matrix:
        """The features, checked. ``dimensions``: how many there must be."""
        refuse_broken(self.features, "features=", parameter="features")
        try:
            if not sparse.issparse(self.features) and np.asarray(self.features).dtype.kind not in "biufO":
                raise TypeError
            found = as_matrix(self.features)
        except (TypeError, ValueError) as error:
            what = "features= must be a matrix of numbers, one row per row of X."
            raise DataError(what, parameter="features") from error
        if found.ndim != 2 or 0 in found.shape:
            raise DataError(
                f"features= has the shape {found.shape}: it must have rows and columns, one row per row of X.",
                parameter="features",
            )
        if dimensions is not None and found.shape[1] != dimensions:
            raise DataError(
                f"features= has {found.shape[1]} columns, but the model was fitted on {dimensions}: use the same "
                "encoder.",
                parameter="features",
            )
        refuse_not_finite(found, "features=", parameter="features")
        return found

    def sequences(self) -> Sequences:
        """X as sequences that hold the features as vectors of their tokens, checked."""
        if self.X is None:
            raise DataError(
                "X is None: a tagger needs the tokens, which attributes and transitions are made of, beside features=.",
                parameter="X",
            )
        found = as_sequences(self.X)
        return replace(found, vectors=_vectors_of_tokens(self.features, found))

    def inputs(self, feature_names: Any, n: int) -> Inputs:
        """X as conditions see it. ``n``: the number of rows that the features have."""
        if self.X is None:
            return NoInputs(n)
        found = document_inputs(self.X, feature_names)
        if found.n != n:
            raise DataError(
                f"features= has {n} rows, but X has {found.n}: every row of X needs its vector.", parameter="features"
            )
        return found


def _vectors_of_tokens(features: Any, sequences: Sequences) -> FloatArray:
    """All arrays one after the other."""
    lengths = sequences.lengths.tolist()
    has_parts = hasattr(features, "__len__") and not sparse.issparse(features)  # a sparse matrix has no length
    if not has_parts or len(features) != len(lengths):
        got = f"has {len(features)}" if has_parts else f"is of type {type(features).__name__}"
        raise DataError(
            f"features= must be a list of arrays (tokens × dimensions), one for each of the {len(lengths)} sequences "
            f"of X, but {got}.",
            parameter="features",
        )
    arrays, first = [np.empty((0, 0))], -1
    for s, (given, length) in enumerate(zip(features, lengths, strict=True)):
        if not length and hasattr(given, "__len__") and not len(given):
            continue  # a sequence without tokens, whatever the shape of nothing is
        found = _array_of_tokens(given, length, s)
        if first >= 0 and found.shape[1] != arrays[-1].shape[1]:
            raise _refused_vectors(
                s, f"has {found.shape[1]} dimensions, but that of sequence {first} has {arrays[-1].shape[1]}"
            )
        if first < 0:
            arrays, first = [], s
        arrays.append(found)
    flat = np.concatenate(arrays)
    bad = np.flatnonzero(~np.isfinite(flat).all(axis=1))
    if len(bad):
        instances = dict.fromkeys(map(sequences.sequence_of, bad.tolist()))
        raise DataError(
            f"features= is NaN or infinite at {len(bad)} tokens; the first is {sequences.place(int(bad[0]))}.",
            parameter="features",
            instances=instances,
        )
    return flat


def _array_of_tokens(given: Any, length: int, s: int) -> FloatArray:
    try:
        found = np.asarray(given)
        if found.dtype.kind not in "biufO":
            raise TypeError(f"it holds {found.dtype}")
        found = found.astype(np.float64)
    except (TypeError, ValueError, RuntimeError) as error:
        why = f"is not an array of numbers ({error}). Of a tensor pass tensor.detach().float().cpu().numpy()"
        raise _refused_vectors(s, why) from error
    if found.ndim != 2 or not found.shape[1] or len(found) != length:
        raise _refused_vectors(
            s, f"has the shape {found.shape}, but the sequence has {length} tokens: tokens × dimensions are needed"
        )
    return found


def _refused_vectors(s: int, why: str) -> DataError:
    return DataError(f"The array of sequence {s} in features= {why}.", parameter="features", instance=s)


def paired(X: Any, features: Any) -> Any:
    """X alone if there are no features beside it."""
    if features is None:
        return X
    if isinstance(X, WithEvidence):
        return replace(X, X=paired(X.X, features))
    if isinstance(X, WithFeatures):
        raise DataError("features= is given twice: X is a WithFeatures already.", parameter="features")
    return WithFeatures(X, features)


def alone(X: Any) -> Any:
    """X without the features beside it."""
    return X.X if isinstance(X, WithFeatures) else X


@dataclass(frozen=True, eq=False)
class GivenFeatures:
    """c·v, v as the user gives it. ``dimensions``: of v; ``factor``: c."""

    dimensions: int
    factor: float
    columns: ClassVar[None] = None  # of a table
    is_lost: ClassVar[bool] = False
    apart: ClassVar[tuple[bool, ...]] = ()
    has_meaning: ClassVar[bool] = False  # not known: what is sparse is taken for words, as in X
    names: ClassVar[Sequence[str]] = ()
    views: ClassVar[tuple[str, ...]] = ()

    @staticmethod
    def fit(features: Matrix, *, scaled: bool) -> tuple[GivenFeatures, Matrix]:
        encoder = GivenFeatures(features.shape[1], factor_to(LENGTH, features) if scaled else 1.0)
        return encoder, encoder._scale(features)

    def matrix(self, X: Any) -> Matrix:
        if not isinstance(X, WithFeatures):
            raise DataError(
                "This model was fitted with features=: pass those of X as well, as in predict(X, features=V), or "
                "WithFeatures(X, V) where there is no features=.",
                parameter="features",
            )
        return self._scale(X.matrix(self.dimensions))

    def wider(self, X: Any) -> None:
        """There are no more views of what the user gave."""

    def _scale(self, features: Matrix) -> Matrix:
        return features if self.factor == 1.0 else features * self.factor


def factor_to(goal: float, features: Matrix) -> float:
    """What rows must be multiplied by for a root mean square length of ``goal``."""
    values = features.data if sparse.issparse(features) else features
    largest = float(np.max(np.abs(values), initial=0.0))
    if largest == 0:
        return 1.0
    length = largest * np.sqrt(float(np.sum(np.square(values / largest))) / features.shape[0])  # without overflow
    return float(goal / length)


def refuse_features() -> DataError:
    """The error of features that a model has no use for."""
    return DataError(
        "This model was fitted without features=: it makes its own from X. Leave features= out, or fit with them.",
        parameter="features",
    )


def refuse_stream() -> UnsupportedError:
    """The error of features in a stream: the factor is that of all rows."""
    return UnsupportedError(
        "partial_fit does not take features=: their scale is that of all rows, which a stream does not have. Use fit, "
        "or pass the vectors themselves as X.",
        parameter="features",
    )
