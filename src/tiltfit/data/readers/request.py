"""``Request``: what a user asked for, checked, and the data set that is made of the records. The difference between
documents and sequences is in its two subclasses; ``chunks`` reads a request piece by piece.
"""

from __future__ import annotations

import io
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from tiltfit.data.beside import WithEvidence
from tiltfit.data.foreign import holds_lists
from tiltfit.data.readers.delimited import CELLS, numeric_columns, with_numbers
from tiltfit.data.readers.jsonl import jsonl_records
from tiltfit.data.readers.kinds import LabelKind, column_values
from tiltfit.data.readers.parquet import parquet_records
from tiltfit.data.readers.record import Fields, Label, Record, Refusal, Survey, missing_field, strict
from tiltfit.data.readers.source import STDIN, Meter, place_of
from tiltfit.errors import DataError, DataFileError, did_you_mean

Source = str | os.PathLike[str]

T = TypeVar("T")
Inputs = TypeVar("Inputs")
Labels = TypeVar("Labels", bound=Collection[Any])


@dataclass(frozen=True)
class Instances(Generic[Inputs, Labels]):
    """Documents or sequences as an estimator takes them. ``origins`` gives the file and line of each
    ("a.csv, line 3"); ``sources`` are the files, in order, ``formats`` theirs. ``ids`` are those of the files, else the
    number of the row, from 1 in every file; before it stands the file, if there are several. ``rows`` are the rows as
    they stand in the files, where they were asked for.
    """

    X: Inputs
    y: Labels | None
    ids: list[str]
    origins: list[str]
    sources: tuple[str, ...]
    formats: tuple[str, ...] = ()
    rows: list[Mapping[str, Any]] | None = None

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def labelled(self) -> npt.NDArray[np.bool_]:
        """True for documents with a label, or for sequences with at least one tag."""
        labels: Collection[Any] = [None] * len(self) if self.y is None else self.y
        return np.array([label is not None for label in labels], dtype=np.bool_)


R = TypeVar("R", bound=Record[Any, Any])
D = TypeVar("D", bound=Instances[Any, Any])


@dataclass(frozen=True)
class Request(ABC, Generic[R, D]):
    """The sources to read, and how. Refuses what makes no sense whatever the sources hold."""

    names: tuple[str, ...]
    format: str
    fields: Fields

    what: ClassVar[str]
    """The word for instances in messages."""
    role: ClassVar[str]
    """The parameter that names the field of texts or tokens."""
    least: ClassVar[str]
    """The fewest sources, in words."""
    formats: ClassVar[tuple[str, ...]]
    unknown_format: ClassVar[str]
    """The message about a format that does not exist, with a place for its name."""
    dataset: ClassVar[Callable[..., Any]]
    """The class of the result."""

    def __post_init__(self) -> None:
        if not self.names:
            raise DataError(f"There is no source to read: give {self.least}.")
        if self.names.count(STDIN) > 1:
            raise DataError("Standard input (-) can be read once only.")
        for name in self.names:
            if "\0" in name:
                raise DataFileError(f"{name!r} is not the name of a file.")
        if self.format not in self.formats:
            raise DataFileError(
                f"{self.unknown_format.format(self.format)}{did_you_mean(self.format, self.formats)} "
                f"Use one of: {', '.join(self.formats)}."
            )

    @property
    @abstractmethod
    def column(self) -> str:
        """The column of texts or tokens, where X is a table."""

    @property
    @abstractmethod
    def wants_labels(self) -> bool:
        """True if labels are to be read."""

    @property
    @abstractmethod
    def needs_label(self) -> bool:
        """True if the field of labels must not be absent from all sources."""

    @abstractmethod
    def records(self, name: str, survey: Survey, meter: Meter | None = None) -> Generator[R | Refusal, None, None]:
        """The records of a source, read one at a time."""

    @abstractmethod
    def content(self, record: R) -> tuple[object, ...]:
        """The values that are learned from; ``repr`` must show all of them."""

    @abstractmethod
    def labels(self, record: R) -> Collection[Label | None]:
        """The labels of a record."""

    @abstractmethod
    def mixed(self, label: Label, other: Label, origin: str) -> str:
        """Why a label is refused whose type is not that of another, which is at ``origin``."""

    @staticmethod
    @abstractmethod
    def gather(values: list[Any]) -> Any:
        """Texts, labels, or lists of them as a column."""

    def objects(
        self, survey: Survey, raw: io.BufferedReader, make: Callable[[str, int, dict[str, Any], Fields], R]
    ) -> Iterator[R | Refusal]:
        """The records of JSONL or Parquet: ``make(place, number, object, fields)`` of each object."""
        if survey.format == "jsonl":
            return jsonl_records(survey, raw, self.fields, make)
        return parquet_records(survey, raw, self.fields, make, self.role)

    def read(self) -> D:
        """All at once. The first record that is refused is raised."""
        surveys = [Survey(place_of(name)) for name in self.names]
        held = [self._part(name, survey) for name, survey in zip(self.names, surveys, strict=True)]
        if not any(held):
            raise nothing(surveys, self.what)
        self.check_fields(surveys)
        numbers = [range(1, len(records) + 1) for records in held]
        found = self.collect(surveys, held, numbers, labels=any(survey.labelled for survey in surveys))
        kind = LabelKind(self.mixed)
        for record in chain.from_iterable(held):
            labels = self.labels(record)
            if (why := kind.misfit(labels, record)) is not None:
                raise DataFileError(f"{record.origin}: {why}")
            kind.take(labels, record)
        return found

    def _part(self, name: str, survey: Survey) -> Sequence[R]:
        with closing(self.records(name, survey)) as items:
            found: Sequence[R] = list(strict(items))
        if survey.format in CELLS:
            found = with_numbers(found, numeric_columns(found, len(self.fields.columns)))
        return found

    def check_fields(self, surveys: Sequence[Survey]) -> None:
        """Refuse a field that was asked for and that no source has."""
        known = sorted(set[str]().union(*(survey.fields for survey in surveys)))
        wanted = [("column", name) for name in self.fields.columns]
        wanted += [("label", str(self.fields.label))] if self.needs_label else []
        for role, name in wanted:
            if name not in known:
                raise missing_field(places(surveys), 0, role, name, known)

    def collect(
        self,
        surveys: Sequence[Survey],
        held: Sequence[Sequence[R]],
        numbers: Sequence[Sequence[int]],
        *,
        labels: bool,
        numeric: Collection[str] = (),
    ) -> D:
        """The records of all sources, without asking whether they are all there is. ``numbers``: those of their rows.

        ``labels`` says whether there is a y, ``numeric`` which columns are numbers even if all are missing here.
        """
        records = list(chain.from_iterable(held))
        contents = [record.content for record in records]
        columns = {
            name: column_values(name, j, records, numeric=name in numeric) for j, name in enumerate(self.fields.columns)
        }
        lists = {name for name, values in columns.items() if holds_lists(values)}
        beside = {name: columns.pop(name) for name in self.fields.columns if name in {*self.fields.evidence, *lists}}
        X: Any = {self.column: self.gather(contents), **columns} if columns else contents
        found: D = self.dataset(
            X=WithEvidence(X, beside) if beside else X,
            y=self.gather([record.label for record in records]) if labels else None,
            ids=_identifiers(surveys, held, numbers),
            origins=[record.origin for record in records],
            sources=tuple(survey.place for survey in surveys),
            formats=tuple(survey.format for survey in surveys),
            rows=[record.row or {} for record in records] if self.fields.rows else None,
        )
        return found


def several(value: Any) -> tuple[Any, ...]:
    """One or several names as a tuple."""
    return (value,) if isinstance(value, str | os.PathLike) else tuple(value)


def names_of(source: Source | Sequence[Source]) -> tuple[str, ...]:
    """One or several sources by name."""
    return tuple(map(os.fspath, several(source)))


def places(surveys: Sequence[Survey]) -> str:
    """The sources in messages."""
    return ", ".join(survey.place for survey in surveys)


def nothing(surveys: Sequence[Survey], what: str) -> DataFileError:
    """The error for sources without a record."""
    return DataFileError(f"{places(surveys)}: no {what}. There is nothing to read here.")


def _identifiers(
    surveys: Sequence[Survey], held: Sequence[Sequence[Record[Any, Any]]], numbers: Sequence[Sequence[int]]
) -> list[str]:
    """Own ids where there are any, else the number of the row; of several files ``file:number``, with the folder only
    if two share a name."""
    names = [Path(survey.place).name for survey in surveys]
    found: list[str] = []
    for name, survey, records, numbered in zip(names, surveys, held, numbers, strict=True):
        short = survey.place if names.count(name) > 1 else name
        prefix = f"{short}:" if len(names) > 1 else ""
        found += [record.identifier or f"{prefix}{n}" for record, n in zip(records, numbered, strict=True)]
    return found
