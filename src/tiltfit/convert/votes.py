"""Votes of labelling functions in Snorkel's form: one row per document, one column per rule, −1 where a rule abstains.

Each rule becomes a column of the data, and each class that it votes for one constraint on that column.
"""

from __future__ import annotations

import csv
import io
import math
import os
import re
import tokenize
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tiltfit.data.readers import Dataset
from tiltfit.data.readers.delimited import is_number
from tiltfit.data.readers.packed import read_at_most
from tiltfit.data.readers.record import problem
from tiltfit.data.readers.source import lines, opened, place_of, suffix_of
from tiltfit.errors import DataError, DataFileError
from tiltfit.language.conditions import column
from tiltfit.language.constraint import Constraint, ConstraintSet
from tiltfit.language.expect import expect

ABSTAIN = -1
TARGET = 0.9
"""How often a rule is assumed to be right until somebody states it."""

_WHOLE = re.compile(r"[+-]?[0-9]{1,9}(\.0*)?")
_MEANING = "A vote is the number of a class (0, 1, …), or -1 for none"
_OWN = ("id", "text", "label")
_ARRAYS = (".npy", ".npz")
MAX_ARRAY = 1 << 30
"""Longest array, in bytes, packed or not: files say how much memory they need, and may be wrong."""

# Errors that NumPy's reader of headers and zipfile raise on damage, documented or not.
_DAMAGE = (
    ValueError, TypeError, EOFError, OSError, KeyError, SyntaxError, OverflowError, RecursionError, MemoryError,
    NotImplementedError, RuntimeError, tokenize.TokenError, zipfile.BadZipFile, zlib.error,
)  # fmt: skip


@dataclass(frozen=True)
class Votes:
    """``votes[i, j]`` is the class that rule j, called ``names[j]``, votes for on document i; −1: none."""

    place: str
    names: tuple[str, ...]
    votes: npt.NDArray[np.int64]
    classes: tuple[str | int, ...]

    def __len__(self) -> int:
        return len(self.votes)

    @property
    def words(self) -> tuple[str, ...]:
        """The value of a column where a rule votes for each class: not a number, since numbers may not be missing."""
        return tuple(c if isinstance(c, str) and not is_number(c) else f"class_{c}" for c in self.classes)

    @property
    def silent(self) -> tuple[str, ...]:
        """The rules that never vote."""
        return tuple(name for name, row in zip(self.names, self.votes.T, strict=True) if (row == ABSTAIN).all())


def read_votes(
    source: str | os.PathLike[str],
    *,
    classes: Sequence[str] | None = None,
    header: bool | None = None,
    delimiter: str | None = None,
) -> Votes:
    """Read votes from CSV or TSV (``"-"``: standard input), or from an array in .npy or .npz; plain or compressed.

    ``classes``: names of the classes, by number; without them they are called 0, 1, …. ``header``: whether the first
    row of CSV names the rules; None: if it does not look like votes. Every problem is a DataFileError with file and
    line.
    """
    name = os.fspath(source)
    place, suffix = place_of(name), suffix_of(name)
    with opened(name) as raw:
        if suffix in _ARRAYS:
            names, votes = None, _checked(place, _array(place, raw))
        else:
            names, votes = _table(place, raw, header, delimiter or ("\t" if suffix == ".tsv" else ","))
    names = names if names is not None else tuple(f"rule_{j}" for j in range(votes.shape[1]))
    return Votes(place, names, votes, _classes(place, votes, classes))


def rows_of(votes: Votes, documents: Dataset | None = None) -> Iterator[dict[str, Any]]:
    """Yield the documents (None: only numbers) with one column per rule, None where it abstains."""
    if documents is not None and len(documents) != len(votes):
        raise DataError(
            f"{', '.join(documents.sources)}: {len(documents)} documents, but {votes.place} has votes on {len(votes)}. "
            "Give the documents that were voted on, in the same order."
        )
    called = [*votes.words, None]  # None is at −1
    for i, row in enumerate(votes.votes.tolist()):
        found: dict[str, Any] = {"id": str(i)}
        if documents is not None:
            found = {"id": documents.ids[i], "text": documents.X[i]}  # type: ignore[index]
            found |= {} if documents.y is None else {"label": documents.y[i]}
        yield found | {name: called[vote] for name, vote in zip(votes.names, row, strict=True)}


def constraints_of(votes: Votes, *, text_labels: bool = False) -> ConstraintSet:
    """Return one constraint per rule and class that it votes for: where it does, the class is about ``TARGET``.

    ``text_labels``: labels are text even where classes are numbers, as in CSV.
    """
    labels = [str(c) if text_labels else c for c in votes.classes]
    found: list[Constraint] = []
    for j, name in enumerate(votes.names):
        kinds, counts = np.unique(votes.votes[:, j], return_counts=True)
        for k, n in zip(kinds.tolist(), counts.tolist(), strict=True):
            if k != ABSTAIN:
                given = column(name).equals(votes.words[k])
                why = f"It votes so on {n} of {len(votes)}. {TARGET} is a guess: say how often the rule is right."
                found.append(expect(labels[k], given=given).about(TARGET, name=f"{name}: {labels[k]}", rationale=why))
    return ConstraintSet(tuple(found), tuple(labels))


def _array(place: str, raw: io.BufferedReader) -> npt.NDArray[Any]:
    data = read_at_most(raw, MAX_ARRAY + 1)
    try:
        return _plain(place, _member(place, data) if data.startswith(b"PK") else data)
    except DataFileError:
        raise
    except _DAMAGE as error:
        raise DataFileError(
            f"{place}: this is not an array of numbers, or it is damaged ({error}). Save one with numpy.save."
        ) from error


def _member(place: str, data: bytes) -> bytes:
    """Return the only array of an .npz."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = archive.infolist()
        if len(members) != 1:
            have = ", ".join(repr(m.filename.removesuffix(".npy")) for m in members[:8]) or "none"
            raise DataFileError(
                f"{place}: it must hold one array, but holds {len(members)} ({have}). Save votes that are sparse as a "
                "full array, with -1 where a rule abstains."
            )
        with archive.open(members[0]) as member:
            return member.read(MAX_ARRAY + 1)


def _plain(place: str, data: bytes) -> npt.NDArray[Any]:
    """Return the array in the bytes of an .npy. Its size is checked first."""
    if len(data) > MAX_ARRAY:
        raise DataFileError(f"{place}: the array is longer than {MAX_ARRAY:,} bytes. Votes fit in one byte each: int8.")
    file = io.BytesIO(data)
    version = np.lib.format.read_magic(file)
    header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, fortran, dtype = header(file)
    # Objects could run code, so only numbers are read.
    if dtype.kind not in "biuf":
        raise DataFileError(f"{place}: the array holds {dtype}, not integers. {_MEANING}.")
    count, rest = math.prod(shape), len(data) - file.tell()
    if min(shape, default=0) < 0 or count * dtype.itemsize != rest:
        raise ValueError(f"it says that it has {count} numbers, but has {rest} bytes")
    found = np.frombuffer(data, dtype, count, file.tell())
    return found.reshape(shape, order="F" if fortran else "C")


def _checked(place: str, array: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    if array.ndim != 2:
        raise DataFileError(
            f"{place}: votes have one row per document and one column per rule, but the array has "
            f"{array.ndim} dimensions."
        )
    if not array.size:
        raise DataFileError(f"{place}: no votes. There is nothing to read here.")
    if array.dtype.kind not in "iuf":
        raise DataFileError(f"{place}: the array holds {array.dtype}, not integers. {_MEANING}.")
    bad = np.argwhere((array != np.round(array)) | (array < ABSTAIN) | (array >= 10**9))
    if len(bad):
        i, j = bad[0].tolist()
        raise DataFileError(f"{place}, row {i}, column {j} (from 0): {array[i, j]} is not a vote. {_MEANING}.")
    return array.astype(np.int64)


def _table(
    place: str, raw: io.BufferedReader, header: bool | None, delimiter: str
) -> tuple[tuple[str, ...] | None, npt.NDArray[np.int64]]:
    rows = _rows(place, raw, delimiter)
    number, first = next(rows, (0, []))
    if not first:
        raise DataFileError(f"{place}: no votes. There is nothing to read here.")
    named = header if header is not None else _is_header(place, number, first)
    names = _names(place, number, first) if named else None
    found = [] if named else [_numbers(place, number, first, len(first), None)]
    found += [_numbers(place, line, cells, len(first), names) for line, cells in rows]
    if not found:
        raise DataFileError(f"{place}: no votes below the names of the rules.")
    return names, np.array(found, dtype=np.int64)


def _rows(place: str, raw: io.BufferedReader, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader((text for _, text in lines(place, raw)), delimiter=delimiter, strict=True)
    try:
        for cells in reader:
            if cells:
                yield reader.line_num, [cell.strip() for cell in cells]
    except csv.Error as error:
        raise problem(place, reader.line_num, f"not CSV: {error}.") from None


def _is_header(place: str, line: int, cells: list[str]) -> bool:
    if len(cells) > 1 and cells == [str(j) for j in range(len(cells))]:
        raise problem(
            place,
            line,
            f"{', '.join(cells[:3])}, … may be names of rules or votes. Say header=True or False (on the command line: "
            "--header or --no-header).",
        )
    return not all(_WHOLE.fullmatch(cell) for cell in cells)


def _names(place: str, line: int, cells: list[str]) -> tuple[str, ...]:
    count = Counter(cells)
    for j, name in enumerate(cells):
        if not name:
            raise problem(place, line, f"column {j + 1} has no name. If it numbers the rows, leave it out.")
        if name in _OWN:
            raise problem(place, line, f"a rule cannot be called {name!r}, as a field of the data is. Rename it.")
        if count[name] > 1:
            raise problem(place, line, f"two rules are called {name!r}. Give each a name of its own.")
    return tuple(cells)


def _numbers(place: str, line: int, cells: list[str], width: int, names: tuple[str, ...] | None) -> list[int]:
    if len(cells) != width:
        raise problem(place, line, f"the row has {len(cells)} cells, but the first has {width}. Each rule has one.")
    for j, cell in enumerate(cells):
        if not _WHOLE.fullmatch(cell) or float(cell) < ABSTAIN:
            rule = f"the rule {names[j]!r}" if names is not None else f"column {j + 1}"
            raise problem(place, line, f"{cell!r} of {rule} is not a vote. {_MEANING}.")
    return [int(float(cell)) for cell in cells]


def _classes(place: str, votes: npt.NDArray[np.int64], classes: Sequence[str] | None) -> tuple[str | int, ...]:
    most = int(votes.max())
    if classes is None and most < 1:
        raise DataFileError(
            f"{place}: no vote is for a class beyond 0, but there are two at least. Name them: classes=."
        )
    if classes is None and most >= 1000:
        raise DataFileError(f"{place}: a vote is for class {most}. If there are so many, name them: classes=.")
    if classes is not None and (len(set(classes)) < len(classes) or len(classes) < 2 or not all(classes)):
        raise DataError(f"The classes must be two or more different names, not {', '.join(map(repr, classes))}.")
    if classes is not None and most >= len(classes):
        raise DataError(f"{place}: a vote is for class {most}, but the names end at class {len(classes) - 1}.")
    return tuple(classes) if classes is not None else tuple(range(most + 1))
