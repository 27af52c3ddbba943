"""Containers of other libraries, recognised by what they can do, so that none of them is imported: spaCy documents, and
tables such as those of Hugging Face ``datasets`` or pyarrow.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tiltfit.errors import DataError, listed

BLANK = "_"
"""The stand-in for a token of white space, so that tokens and labels stay side by side."""


def is_document(value: object) -> bool:
    """Return whether a value is a text cut into tokens: it and its parts have ``text`` (spaCy's Doc or Span)."""
    has_text = isinstance(getattr(value, "text", None), str)
    return has_text and hasattr(value, "__iter__") and hasattr(value, "__len__") and not hasattr(value, "keys")


def tokens_of(document: Any) -> list[str]:
    """The text of each token; white space, which is a token in spaCy, becomes ``_``."""
    return [token.text if token.text.strip() else BLANK for token in document]


def found_in(documents: Sequence[Any]) -> dict[str, list[Any]]:
    """What a pipeline found out about the tokens of all documents, as columns: ``ent`` (entities in BIO), ``lemma`` and
    ``pos``. Those that it knows nothing of are left out."""
    tokens = [token for document in documents for token in document]
    columns = {
        "ent": [_entity(token) for token in tokens],
        "lemma": [getattr(token, "lemma_", None) or None for token in tokens],
        "pos": [getattr(token, "pos_", None) or None for token in tokens],
    }
    return {name: values for name, values in columns.items() if any(value is not None for value in values)}


def _entity(token: Any) -> str | None:
    """B-X, I-X or O; None where no entities were looked for."""
    where = getattr(token, "ent_iob_", "") or None
    return f"{where}-{token.ent_type_}" if where in ("B", "I") else where


def is_dataset(X: object) -> bool:
    """Return whether X has columns by name, without being a mapping or a data frame."""
    # A column of a data frame may also be called column_names; it is not a list.
    return not isinstance(X, Mapping) and isinstance(getattr(X, "column_names", 0), list | tuple | None)


def is_splits(X: object) -> bool:
    """Return whether X is several such tables by name."""
    return isinstance(X, Mapping) and hasattr(X, "column_names")


def dataset_columns(X: Any) -> dict[str, list[Any]] | None:
    """The columns of such a table, else None. What has none that can be looked at is refused.

    pyarrow's columns are of its own values; ``to_pylist`` makes them Python's.
    """
    if is_splits(X):
        raise DataError(f"X is several tables, {listed(X)}. Pass one of them: X[{next(iter(X), '')!r}].")
    if not is_dataset(X):
        return None
    names = X.column_names
    if names is None or not hasattr(X, "__getitem__") or not hasattr(X, "__len__"):
        raise DataError("X is a stream of rows, which can be read once only. Load it (streaming=False), or pass lists.")
    refuse_repeated(names)
    columns = {str(name): X[name] for name in names}
    return {name: list(c.to_pylist() if hasattr(c, "to_pylist") else c) for name, c in columns.items()}


def refuse_repeated(names: Sequence[Any]) -> None:
    """Refuse names of columns that occur twice."""
    if len(set(names)) < len(names):
        raise DataError(f"X has columns of the same name: {sorted({n for n in names if names.count(n) > 1})}.")


def refuse_lazy(X: object) -> None:
    """Refuse a frame whose values are not there yet."""
    if hasattr(X, "collect"):
        raise DataError("X is a lazy frame: pass X.collect().")


def holds_lists(values: Iterable[Any]) -> bool:
    """Return whether some value of a column is itself a list."""
    return any(hasattr(value, "__iter__") and not isinstance(value, str | bytes) for value in values)
