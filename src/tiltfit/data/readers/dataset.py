"""The result of reading: documents, labels, ids and origins."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tiltfit.data.readers.record import (
    COLUMN_KINDS,
    LABEL_KINDS,
    NUMBER,
    Fields,
    Label,
    Part,
    Record,
    Value,
    missing_field,
)
from tiltfit.errors import DataFileError

ObjectArray = npt.NDArray[np.object_]


@dataclass(frozen=True)
class Dataset:
    """Documents as an estimator takes them.

    ``X`` is a list of texts or, when columns were asked for, a mapping of column name to array that includes
    the texts. ``y`` has None where a row is unlabelled, and is None if no source has a label field.
    ``origins`` gives the file and line of each row ("a.csv, line 3"); ``sources`` are the files, in order.
    """

    X: list[str] | dict[str, npt.NDArray[Any]]
    y: ObjectArray | None
    ids: list[str]
    origins: list[str]
    sources: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def labelled(self) -> npt.NDArray[np.bool_]:
        """True for rows with a label."""
        if self.y is None:
            return np.zeros(len(self), dtype=np.bool_)
        return np.array([label is not None for label in self.y], dtype=np.bool_)


def assemble(parts: Sequence[Part], fields: Fields) -> Dataset:
    """One data set from what several sources gave, in their order."""
    places = tuple(part.place for part in parts)
    if not any(part.records for part in parts):
        raise DataFileError(f"{', '.join(places)}: no rows. There is nothing to read here.")
    known = sorted(frozenset().union(*(part.fields for part in parts)))
    check_fields(", ".join(places), known, fields)
    return collect(parts, fields, labels=fields.label is not None and fields.label in known)


def collect(parts: Sequence[Part], fields: Fields, *, labels: bool, numeric: Collection[str] = ()) -> Dataset:
    """The records of all parts, without asking whether they are all there is.

    ``labels`` says whether there is a y, ``numeric`` which columns are numbers even if all are missing here.
    """
    records = [record for part in parts for record in part.records]
    places = tuple(part.place for part in parts)
    return Dataset(
        X=_inputs(records, fields, numeric),
        y=_labels(records) if labels else None,
        ids=identifiers(parts),
        origins=[record.origin for record in records],
        sources=places,
    )


def check_fields(places: str, known: Sequence[str], fields: Fields) -> None:
    """Refuse a field that was asked for and that no source has."""
    for name in fields.columns:
        if name not in known:
            raise missing_field(places, 0, "column", name, known)
    # A label field that was asked for by name and is nowhere is a slip; the usual name may well be absent.
    if fields.label not in (None, Fields.label) and fields.label not in known:
        raise missing_field(places, 0, "label", str(fields.label), known)


def _inputs(
    records: Sequence[Record], fields: Fields, numeric: Collection[str]
) -> list[str] | dict[str, npt.NDArray[Any]]:
    texts = [record.text for record in records]
    if not fields.columns:
        return texts
    columns = {name: column_values(name, j, records, numeric) for j, name in enumerate(fields.columns)}
    return {fields.text: _objects(texts), **columns}


def _objects(values: Sequence[Any]) -> ObjectArray:
    # np.array(values, dtype=object) would look inside the values; filling does not.
    array = np.empty(len(values), dtype=np.object_)
    array[:] = values
    return array


def column_values(name: str, j: int, records: Sequence[Record], numeric: Collection[str] = ()) -> npt.NDArray[Any]:
    """Column j of the records: numbers (missing: NaN), booleans or objects (missing: None); refuses a mixture.

    The columns named in ``numeric`` are numbers even if all are missing.
    """
    values: list[Value] = [record.columns[j] for record in records]
    kinds: dict[str, Record] = {}
    for record, value in zip(records, values, strict=True):
        if value is not None:
            kinds.setdefault(COLUMN_KINDS[type(value)], record)
    if len(kinds) > 1:
        (one, first), (other, second) = list(kinds.items())[:2]
        raise DataFileError(f"{second.origin}: {mixed_column(name, other, one, first.origin)}")
    if NUMBER not in kinds and name not in numeric:
        whole = "true or false" in kinds and None not in values
        return np.array(values, dtype=np.bool_) if whole else _objects(values)
    if all(isinstance(v, int) and abs(v) < 2**63 for v in values):
        return np.array(values, dtype=np.int64)
    return np.array([np.nan if v is None else v for v in values], dtype=np.float64)


def _labels(records: Sequence[Record]) -> ObjectArray:
    """All labels, which must be of one type: 1, true and "1" would otherwise meet as equals or strangers."""
    kinds: dict[str, Record] = {}
    for record in records:
        if record.label is not None:
            kinds.setdefault(LABEL_KINDS[type(record.label)], record)
    if len(kinds) > 1:
        first, second = list(kinds.values())[:2]
        raise DataFileError(f"{second.origin}: {mixed_labels(second.label, first.label, first.origin)}")
    return _objects([record.label for record in records])


def mixed_column(name: str, kind: str, other: str, origin: str) -> str:
    """Why a value of a column is refused whose kind is another one elsewhere."""
    return f"the column {name!r} is {kind} here, but {other} in {origin}. Use one kind."


def mixed_labels(label: Label | None, other: Label | None, origin: str) -> str:
    """Why a label is refused whose kind is not that of another."""
    kind, before = LABEL_KINDS[type(label)], LABEL_KINDS[type(other)]
    return f"the label {label!r} is {kind}, but {other!r} in {origin} is {before}. Write all labels as one kind."


def mixed_tags(tag: object, other: object, origin: str) -> str:
    """Why a tag is refused whose type is not that of another."""
    return f"the tag {tag!r} and the tag {other!r} of {origin} are of different types. Write all tags as one kind."


def identifiers(parts: Sequence[Part]) -> list[str]:
    """Own ids where there are any, else ``file:line``, with the folder only if two files share a name."""
    names = Counter(Path(part.place).name for part in parts)
    found: list[str] = []
    for part in parts:
        name = Path(part.place).name
        short = part.place if names[name] > 1 else name
        found += [record.identifier or f"{short}:{record.line}" for record in part.records]
    return found
