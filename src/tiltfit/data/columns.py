"""Columns beside X, as users give them: in frames, mappings and other libraries' tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from tiltfit.data.foreign import dataset_columns, refuse_lazy
from tiltfit.data.inputs import is_missing
from tiltfit.errors import DataError


def named_columns(given: Any, parameter: str) -> Iterator[tuple[str, Any]]:
    """The columns of a frame, of a mapping or of another library's table."""
    foreign = dataset_columns(given)
    columns = given if foreign is None else foreign
    if not isinstance(columns, Mapping) and not hasattr(columns, "columns"):
        raise DataError(
            f"{parameter}= must be a data frame or a dict of columns, but is of type {type(given).__name__}.",
            parameter=parameter,
        )
    refuse_lazy(columns)
    names = list(columns if isinstance(columns, Mapping) else columns.columns)
    for k, name in enumerate(names):
        if not isinstance(name, str) or not name:
            raise DataError(f"The columns of {parameter}= must have names, but one is {name!r}.", parameter=parameter)
        if name in names[:k]:
            raise DataError(f"{parameter}= has two columns called {name!r}: rename one.", parameter=parameter)
    return ((name, columns[name]) for name in names)


def listed(values: Any, name: str) -> list[Any]:
    """The values of a column, or of a part of it."""
    for method in ("to_list", "tolist"):
        if hasattr(values, method):
            return list(getattr(values, method)())
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise DataError(f"Column {name!r} must be a list of values, but is {values!r:.80}.")
    return list(values)


def refuse_length(n: int, length: int, k: int, what: str, excerpt: str, parameter: str) -> None:
    """Refuse a list that is not aligned with the tokens of its sequence."""
    if n != length:
        raise DataError(
            f"Sequence {k} ({excerpt!r}) has {length} tokens, but {what} has {n} values for it.",
            parameter=parameter,
            instance=k,
        )


def as_column(values: list[Any]) -> npt.NDArray[Any]:
    """Numbers as floats if some are missing, texts and mixtures as objects."""
    known = [v for v in values if not is_missing(v)]
    kinds = {type(v) for v in known}
    if kinds <= {int, float} and kinds:
        return np.array([np.nan if is_missing(v) else v for v in values])
    if len(kinds) == 1 and len(known) == len(values) and kinds <= {bool, str}:
        return np.array(values, dtype=object if str in kinds else bool)
    return np.fromiter(values, dtype=object, count=len(values))
