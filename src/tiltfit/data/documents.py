"""Documents and rows as users give them: a list of texts, a table, or a matrix of numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tiltfit.data.foreign import dataset_columns, holds_lists, is_document, refuse_lazy, refuse_repeated
from tiltfit.data.inputs import Inputs, MatrixInputs, TableInputs, TextInputs, is_missing
from tiltfit.data.matrices import refuse_broken
from tiltfit.errors import DataError


def as_texts(X: Any) -> list[str] | None:
    """The texts, if X is a one-dimensional collection of them, else None."""
    if isinstance(X, str | bytes):
        raise DataError("X is a single text. Pass a list of texts, even for one: [text].", parameter="X")
    if isinstance(X, Mapping) or sparse.issparse(X) or getattr(X, "ndim", 1) != 1 or hasattr(X, "columns"):
        return None
    if not isinstance(X, Sequence | np.ndarray) and not hasattr(X, "to_numpy"):
        return None
    values: list[Any] = list(X.tolist() if hasattr(X, "tolist") else X)
    if not values and isinstance(X, list | tuple):
        raise DataError("X has no rows: at least one is needed.", parameter="X")
    values = [value.text if is_document(value) else value for value in values]
    bad = [i for i, value in enumerate(values) if not isinstance(value, str)]
    if len(bad) == len(values):
        return None
    if bad:
        value = values[bad[0]]
        kind = "is missing" if is_missing(value) else f"is {value!r}"
        message = f"X is a list of texts, but row {bad[0]} {kind}. Use '' for an empty text."
        raise DataError(message, parameter="X", instances=bad)
    return values


def refuse_tokens(X: Any) -> None:
    """Refuse lists of tokens: they are sequences, and a classifier labels documents or rows. (Texts that are numbers
    pass, as everywhere in scikit-learn.)"""
    first = X[0] if isinstance(X, list | tuple) and len(X) else None
    if isinstance(first, list | tuple) and any(isinstance(v, str) and not _is_number(v) for v in first):
        raise DataError(
            "X[0] is a list of tokens, where a text or numbers are expected. To label whole documents pass texts, "
            '" ".join(tokens); to label tokens use TiltTagger.',
            parameter="X",
            instance=0,
        )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def as_table(X: object) -> dict[str, npt.NDArray[Any]] | None:
    """The columns of a data frame, of a mapping of columns or of another library's table, else None."""
    foreign = dataset_columns(X)
    if foreign is not None:
        return {name: _foreign_column(name, values) for name, values in foreign.items()}
    if isinstance(X, Mapping) and not sparse.issparse(X):  # a dictionary-of-keys matrix is also a dict
        return {str(name): _column(values, name) for name, values in X.items()}
    if not hasattr(X, "columns"):
        return None
    refuse_lazy(X)
    if hasattr(X, "__getitem__"):
        names = list(X.columns)
        refuse_repeated(names)
        if not all(isinstance(name, str) for name in names):
            return None  # scikit-learn's own rule: such a frame has no feature names
        return {name: _column(X[name], name) for name in names}
    return None


def _foreign_column(name: str, values: list[Any]) -> npt.NDArray[Any]:
    if holds_lists(values):
        raise DataError(f"Column {name!r} of X holds lists, where one value per row is expected. Leave the column out.")
    return _column(values, name)


def _column(series: Any, name: object) -> npt.NDArray[Any]:
    """The values of a column: numbers, texts, or what the encoder refuses by its kind."""
    try:
        values = np.asarray(series.to_numpy() if hasattr(series, "to_numpy") else series)
    except ValueError as error:  # lists of different lengths
        raise DataError(f"Column {name!r} of X holds lists: give one value per row.", parameter="X") from error
    if values.ndim != 1:
        raise DataError(
            f"Column {name!r} of X has the shape {values.shape}: a column has one value per row. Make a column of "
            "each, or pass vectors as features=.",
            parameter="X",
        )
    if values.dtype.kind != "O":
        return values
    kinds = {type(value) for value in values}
    strange = next((kind for kind in kinds if not issubclass(kind, _PLAIN) and kind.__name__ not in _MISSING), None)
    if strange is not None:
        row = next(i for i, value in enumerate(values) if type(value) is strange)
        raise DataError(
            f"Column {name!r} of X holds values of the type {strange.__name__} (row {row} first), which are neither "
            "numbers nor texts: turn them into numbers or texts, or drop the column.",
            parameter="X",
            instance=row,
        )
    if all(isinstance(v, _NUMBERS) or is_missing(v) for v in values):
        return np.array([np.nan if is_missing(v) else float(v) for v in values])
    return values


_NUMBERS = (int, float, np.number, Decimal)
_PLAIN = (str, np.bool_, *_NUMBERS)
_MISSING = ("NoneType", "NAType", "NaTType")


def document_inputs(X: Any, feature_names: Iterable[str] | None) -> Inputs:
    """The texts, table or matrix that X is, as conditions see it."""
    texts = as_texts(X)
    if texts is not None:
        return TextInputs(texts)
    table = as_table(X)
    if table is not None:
        return TableInputs(table)
    refuse_broken(X, "X", parameter="X")
    rows: Any = X  # whatever kind of sparse matrix
    try:
        matrix: Any = rows.tocsr() if sparse.issparse(X) else np.asarray(X)
    except ValueError:  # rows of different lengths
        matrix = np.empty(0)
    if matrix.ndim != 2 or matrix.dtype.kind not in "biuf":
        raise DataError(
            "X is neither a list of texts, a table, nor a matrix of numbers. (Sequences need lists of labels in y.)"
        )
    names = None if feature_names is None else [str(name) for name in feature_names]
    if names is not None and len(names) != matrix.shape[1]:
        raise DataError(f"feature_names has {len(names)} names, but X has {matrix.shape[1]} columns.")
    return MatrixInputs(matrix, names)
