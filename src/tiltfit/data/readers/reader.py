"""``read``: which format a source has, and one data set from several sources."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from pathlib import Path

from tiltfit.data.readers.dataset import Dataset, assemble
from tiltfit.data.readers.delimited import read_delimited
from tiltfit.data.readers.folder import read_folder
from tiltfit.data.readers.jsonl import read_jsonl
from tiltfit.data.readers.record import Fields, Part
from tiltfit.data.readers.source import JSONL_SUFFIXES, STDIN, begins, opened, place_of, suffix_of
from tiltfit.errors import DataError, DataFileError, did_you_mean

Source = str | os.PathLike[str]

FORMATS = ("auto", "jsonl", "csv", "tsv", "folder")

_SUFFIXES = {**dict.fromkeys(JSONL_SUFFIXES, "jsonl"), ".csv": "csv", ".tsv": "tsv"}
_DELIMITERS = {"csv": ",", "tsv": "\t"}


def read(
    source: Source | Sequence[Source],
    *,
    format: str = "auto",
    text: str = "text",
    label: str | None = "label",
    columns: Sequence[str] = (),
    identifier: str = "id",
    delimiter: str | None = None,
) -> Dataset:
    """Read documents, and labels where there are any, from one or several sources.

    A source is a JSONL, CSV or TSV file, a text folder (``folder/<label>/*.txt``), each plain or compressed (gzip,
    bzip2), or ``"-"`` for standard input. ``format="auto"`` goes by the suffix; input without one must begin like
    JSONL. A missing, null or empty label means unlabelled; ``label=None`` reads no labels. ``columns`` are further
    fields to read: X is then a table. Every problem is a DataFileError with file, line and why.
    """
    sources = [source] if isinstance(source, str | os.PathLike) else list(source)
    names = [os.fspath(s) for s in sources]
    fields = _fields(text, label, columns, identifier)
    _check_options(names, format, delimiter)
    return assemble([_read_one(name, format, fields, delimiter) for name in names], fields)


def _fields(text: str, label: str | None, columns: Sequence[str], identifier: str) -> Fields:
    names = (columns,) if isinstance(columns, str) else tuple(dict.fromkeys(columns))
    if text in names:
        names = tuple(name for name in names if name != text)
    if label is not None and label in (text, *names):
        raise DataError(f"The field {label!r} cannot be the label and an input at once.")
    return Fields(text, label, identifier, names)


def _check_options(names: Sequence[str], format: str, delimiter: str | None) -> None:
    if not names:
        raise DataError("There is no source to read: give at least one file or folder.")
    if format not in FORMATS:
        raise DataFileError(
            f"There is no data format {format!r}.{did_you_mean(format, FORMATS)} Use one of: {', '.join(FORMATS)}."
        )
    if delimiter is not None and (len(delimiter) != 1 or delimiter in '\r\n"\0'):
        raise DataError(f"The delimiter must be one character other than a quote or a line end, not {delimiter!r}.")
    if names.count(STDIN) > 1:
        raise DataError("Standard input (-) can be read once only.")


def _read_one(name: str, format: str, fields: Fields, delimiter: str | None) -> Part:
    place = place_of(name)
    if "\0" in name:
        raise DataFileError(f"{name!r} is not the name of a file.")
    is_folder = name != STDIN and Path(name).is_dir()
    if is_folder != (format == "folder") and format != "auto":
        raise DataFileError(f"{place}: is {'' if is_folder else 'not '}a folder, so it cannot be read as {format!r}.")
    if is_folder:
        return read_folder(name, fields)
    with opened(name) as raw:
        kind = _kind(name, place, raw, delimiter) if format == "auto" else format
        if kind == "jsonl":
            return read_jsonl(place, raw, fields)
        return read_delimited(place, raw, fields, delimiter or _DELIMITERS[kind])


def _kind(name: str, place: str, raw: io.BufferedReader, delimiter: str | None) -> str:
    """Format by suffix; else JSONL if the first character is a brace; else it must be said."""
    suffix = suffix_of(name)
    if suffix in _SUFFIXES:
        return _SUFFIXES[suffix]
    if begins(raw, b"{"):
        return "jsonl"
    if delimiter is not None:
        return "csv"
    raise DataFileError(
        f"{place}: cannot tell its format. Say format= (jsonl, csv or tsv), or name it .jsonl or .csv; sequences in "
        "columns are for read_sequences (on the command line: --task tag)."
    )
