"""What the commands need to know of sequences: columns that constraints name, labels, and where a sequence stands."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tiltfit.errors import TiltfitError

if TYPE_CHECKING:
    from tiltfit import ConstraintSet
    from tiltfit.data.readers import SequenceDataset

_SEQUENCE = re.compile(r"\b[Ss]equence (\d+)\b")


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
    """Errors that speak of a sequence by its number also say in which file it stands."""
    try:
        yield
    except TiltfitError as error:
        found = _SEQUENCE.search(str(error))
        if found is None or int(found[1]) >= len(rows):
            raise
        where = f"Sequence {found[1]} begins at {rows.origins[int(found[1])]}."
        raise type(error)(f"{str(error).rstrip()} {where}") from error
