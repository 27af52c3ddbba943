"""A guess whether a source holds documents or sequences, from its name and its first line."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tiltfit.data.readers.excel import EXCEL_SUFFIXES
from tiltfit.data.readers.parquet import is_parquet, parquet_kinds
from tiltfit.data.readers.source import JSONL_SUFFIXES, STDIN, begins, lines, opened, place_of, suffix_of
from tiltfit.errors import DataFileError

CONLL_SUFFIXES = (".conll", ".iob", ".iob2", ".bio", ".iobes", ".bioes")
_DELIMITERS = {".csv": ",", ".tsv": "\t"}


@dataclass(frozen=True)
class Contents:
    """``kind``, and why: a sentence that begins with the source's name."""

    kind: Literal["documents", "sequences"]
    why: str


def guess_contents(source: str, *, text: str = "text", tokens: str = "tokens") -> Contents | None:
    """The contents of a source, None if they are not clear. ``text``, ``tokens``: names of the fields.

    Only regular files are opened: what is read from a pipe is gone.
    """
    place, suffix = place_of(source), suffix_of(source)
    if source == STDIN or "\0" in source:
        return None
    if Path(source).is_dir():
        return Contents("documents", f"{place} is a folder of texts")
    if suffix in EXCEL_SUFFIXES:
        return Contents("documents", f"{place} is an Excel workbook")
    if suffix in CONLL_SUFFIXES:
        return Contents("sequences", f"{place} is called {suffix}")
    if Path(source).exists() and not Path(source).is_file():
        return None
    with opened(source) as raw:
        if is_parquet(source, raw):
            return _of_schema(place, raw, text, tokens)
        if suffix in _DELIMITERS:
            return _of_header(place, raw, text, _DELIMITERS[suffix])
        return _of_object(place, raw, text, tokens) if suffix in JSONL_SUFFIXES or begins(raw, b"{") else None


def _first_line(place: str, raw: io.BufferedReader) -> str:
    try:
        return next((line for _, line in lines(place, raw) if line.strip()), "")
    except DataFileError:
        return ""  # who reads the file will say what is wrong with it


def _of_header(place: str, raw: io.BufferedReader, text: str, delimiter: str) -> Contents | None:
    try:
        header = next(csv.reader([_first_line(place, raw)], delimiter=delimiter), [])
    except csv.Error:
        return None
    return Contents("documents", f"{place} has a column {text!r}") if text in header else None


def _of_schema(place: str, raw: io.BufferedReader, text: str, tokens: str) -> Contents | None:
    try:
        kinds = parquet_kinds(place, raw)
    except DataFileError:
        return None  # as above
    return _of_kinds(place, kinds, text, tokens)


def _of_object(place: str, raw: io.BufferedReader, text: str, tokens: str) -> Contents | None:
    try:
        item = json.loads(_first_line(place, raw))
    except (ValueError, RecursionError):
        return None
    if not isinstance(item, dict):
        return None
    names: dict[type, str] = {str: "text", list: "list"}
    return _of_kinds(place, {name: names.get(type(value), "other") for name, value in item.items()}, text, tokens)


def _of_kinds(place: str, kinds: Mapping[str, str], text: str, tokens: str) -> Contents | None:
    has_text, has_tokens = kinds.get(text) == "text", kinds.get(tokens) == "list"
    if has_text == has_tokens:
        return None
    if has_text:
        return Contents("documents", f"{place} has texts in the field {text!r}")
    return Contents("sequences", f"{place} has lists in the field {tokens!r}")
