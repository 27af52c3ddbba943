"""What the commands need to know of sequences: columns that constraints name, labels, and where a sequence stands."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tiltfit.errors import TiltfitError

if TYPE_CHECKING:
    from tiltfit import ConstraintSet
    from tiltfit.data.readers import SequenceDataset


def columns_named(constraints: ConstraintSet | None) -> list[str]:
    """The columns that constraints look at, so that they need not be named again on the command line."""
    from tiltfit.language.document import to_document

    found = (name for constraint in constraints or () for name in _columns(to_document(constraint)))
    return list(dict.fromkeys(found))


def _columns(document: Any) -> Iterator[str]:
    if isinstance(document, dict):
        # The value of a label called "column" is a number: { distribution = { column = 0.9 } }.
        if isinstance(document.get("column"), str):
            yield document["column"]
        for value in document.values():
            yield from _columns(value)
    elif isinstance(document, list | tuple):
        for value in document:
            yield from _columns(value)


def all_labels(rows: Iterable[Iterable[Any] | None]) -> Iterator[Any]:
    """Every label of every sequence."""
    return (label for row in rows if row is not None for label in row if label is not None)


def n_tokens(rows: SequenceDataset) -> int:
    """How many tokens there are."""
    return sum(map(len, rows.tokens))


@contextmanager
def located(rows: SequenceDataset) -> Iterator[None]:
    """Add to errors about a sequence the file and the line where it begins."""
    try:
        yield
    except TiltfitError as error:
        if error.instance is None:
            raise
        where = f"Sequence {error.instance} begins at {rows.origins[error.instance]}."
        raise error.with_message(f"{str(error).rstrip()} {where}") from error
