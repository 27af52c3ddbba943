"""Features that come beside X (``features=``): the model learns from them, and conditions look at X.

    x = c·v,    c = 10/√(mean ‖v‖²) over the rows of the fit

One factor for all rows, so that their lengths keep their proportions, and α = 1 is as mild as for tf-idf. Counts stay
what they are: generative models have c = 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from tiltfit.data.documents import document_inputs
from tiltfit.data.inputs import Inputs, NoInputs
from tiltfit.errors import DataError, UnsupportedError
from tiltfit.estimators.encoders import Matrix, as_matrix, refuse_not_finite
from tiltfit.features.text import LENGTH


@dataclass(frozen=True, eq=False)
class WithFeatures:
    """X with the vectors that a model learns from instead of features made of X.

    ``fit(X, features=V)`` is short for ``fit(WithFeatures(X, V))``. The pair goes wherever X goes: into ``why``,
    ``report_page`` and ``leave_one_out``, or into ``dev=(WithFeatures(X_dev, V_dev), y_dev)``.

    Parameters
    ----------
    X : as for ``TiltClassifier.fit``, or None
        What conditions look at. None: nothing, so that only what needs no condition works, such as ``predict``.
    features : array or sparse matrix (rows × dimensions)
        What the model sees, one row for every row of X.

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

    def matrix(self, dimensions: int | None = None) -> Matrix:
        """The features, checked. ``dimensions``: how many there must be."""
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


def paired(X: Any, features: Any) -> Any:
    """X alone if there are no features beside it."""
    if features is None:
        return X
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
    has_meaning: ClassVar[bool] = False  # not known: what is sparse is taken for words, as in X
    names: ClassVar[Sequence[str]] = ()
    views: ClassVar[tuple[str, ...]] = ()

    @staticmethod
    def fit(features: Matrix, *, scaled: bool) -> tuple[GivenFeatures, Matrix]:
        encoder = GivenFeatures(features.shape[1], _factor(features) if scaled else 1.0)
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


def _factor(features: Matrix) -> float:
    values = features.data if sparse.issparse(features) else features
    largest = float(np.max(np.abs(values), initial=0.0))
    if largest == 0:
        return 1.0
    length = largest * np.sqrt(float(np.sum(np.square(values / largest))) / features.shape[0])  # without overflow
    return float(LENGTH / length)


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
