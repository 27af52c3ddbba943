"""Predictions as files: JSONL, CSV, TSV, Excel or CoNLL columns, written piece by piece.

What is predicted stands beside the fields of the input. An input field that has the name of a prediction is kept under
``input_`` and its name.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TextIO, cast

from tiltfit.cli.render import write_jsonl, writing, writing_bytes
from tiltfit.cli.terminal import class_name, dumps, plain
from tiltfit.errors import DataError, FileError

if TYPE_CHECKING:
    from tiltfit.arrays import FloatArray
    from tiltfit.explain.causes import Cause
    from tiltfit.language.values import Label

Layout = Literal["conll", "csv", "jsonl", "tsv", "xlsx"]

_JSONL: dict[str, Layout] = {".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl"}
_OF_DOCUMENTS: dict[str, Layout] = {**_JSONL, ".csv": "csv", ".tsv": "tsv", ".xlsx": "xlsx"}
TABLES: tuple[Layout, ...] = ("csv", "tsv", "xlsx")
_OF_SEQUENCES: dict[str, Layout] = {**_JSONL, ".conll": "conll"}

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")  # how cells begin that a spreadsheet may run
_DELIMITERS: dict[str, str] = {"csv": ",", "tsv": "\t"}
_NUMBER = re.compile(r"[+-]?[0-9]+([.,][0-9]*)?([eE][+-]?[0-9]+)?%?")
_ROWS, _CELL = 1_048_576, 32_767  # rows of a sheet and characters of a cell, at most


@dataclass(frozen=True)
class Predictions:
    """One label per document or, with ``tokens``, one list of tags per sequence; on request also the probability of
    each class and the causes, likewise one per document or one list per sequence.

    Of documents: ``inputs``, the rows that were read, and ``confidence``, the probabilities of the labels."""

    ids: Sequence[str]
    classes: Sequence[Label]
    labels: Sequence[Label] | Sequence[Sequence[Label]]
    proba: FloatArray | Sequence[FloatArray] | None = None
    why: Sequence[Cause] | Sequence[Sequence[Cause]] | None = None
    tokens: Sequence[Sequence[str]] | None = None
    inputs: Sequence[Mapping[str, Any]] | None = None
    confidence: Sequence[float] | None = None

    def rows(self) -> Iterator[dict[str, Any]]:
        """Of a document ``{"id": …, fields of the input, "label": …, "confidence": …, "proba": {class: probability},
        "why": {…}}``; of a sequence ``{"id": …, "tokens": […], "tags": […], "proba": [{class: p}, …], "why": […]}``."""
        names = [class_name(c) for c in self.classes]

        def shares(row: Any) -> dict[str, float]:
            return {name: short(p) for name, p in zip(names, row, strict=True)}

        more: list[tuple[str, Any, Callable[[Any], Any]]] = [("proba", self.proba, shares), ("why", self.why, reasons)]
        for i, (identifier, label) in enumerate(zip(self.ids, self.labels, strict=True)):
            if self.tokens is not None:
                tags = plain(list(cast("Sequence[Label]", label)))
                row: dict[str, Any] = {"id": identifier, "tokens": list(self.tokens[i]), "tags": tags}
                yield row | {key: [*map(shown, values[i])] for key, values, shown in more if values is not None}
                continue
            found = {"label": plain(label)} | self._confidence(i)
            found |= {key: shown(values[i]) for key, values, shown in more if values is not None}
            yield beside(found, identifier, self._input(i))

    def table(self) -> Iterator[dict[str, Any]]:
        """The rows of documents for a table, which has a column ``p_<class>`` for each probability."""
        for i, (identifier, label) in enumerate(zip(self.ids, self.labels, strict=True)):
            found = {"label": class_name(label)} | self._confidence(i)
            if self.proba is not None:
                found |= {f"p_{class_name(c)}": short(p) for c, p in zip(self.classes, self.proba[i], strict=True)}
            if self.why is not None:
                found["why"] = cast("Cause", self.why[i]).sentence
            yield beside(found, identifier, self._input(i))

    @property
    def own(self) -> list[str]:
        """The columns of a table that are predicted, the last ones."""
        shares = [] if self.proba is None else [f"p_{class_name(c)}" for c in self.classes]
        sure = [] if self.confidence is None else ["confidence"]
        return ["label", *sure, *shares, *([] if self.why is None else ["why"])]

    def _confidence(self, i: int) -> dict[str, Any]:
        return {} if self.confidence is None else {"confidence": short(self.confidence[i])}

    def _input(self, i: int) -> Mapping[str, Any]:
        return {} if self.inputs is None else self.inputs[i]


def beside(found: Mapping[str, Any], identifier: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """What was predicted beside the fields of the input, none of which is lost.

    >>> beside({"label": "spam"}, "7", {"text": "win!", "label": "ham"})
    {'id': '7', 'text': 'win!', 'input_label': 'ham', 'label': 'spam'}
    """
    row: dict[str, Any] = {} if "id" in given else {"id": identifier}
    for name, value in given.items():
        key = name
        while key in found or (key != name and key in given):
            key = f"input_{key}"
        row[key] = value
    return row | dict(found)


def short(p: float) -> float:
    """Return p with six significant digits: no reader compares more, and files stay small."""
    return float(f"{p:.6g}")


def reasons(cause: Cause) -> dict[str, Any]:
    """Return the causes as JSON: the runner-up, the log-odds against it, their parts, and the same in a sentence."""
    found = cause.reasons()
    parts = {
        key: [{**part, "amount": None if part["amount"] is None else short(part["amount"])} for part in found[key]]
        for key in ("parts", "tilts")
    }
    odds = None if found["log_odds"] is None else short(found["log_odds"])
    return {"rival": plain(found["rival"]), "log_odds": odds, **parts, "sentence": cause.sentence}


def layout_of(path: Path | None, *, sequences: bool, detailed: bool = False) -> Layout | None:
    """Return the layout that the ending of a file says, None if there is no file or it is a device; refuses others.
    ``detailed``: with probabilities or causes, for which CoNLL columns have no place."""
    if path is None or (path.exists() and not path.is_file()):
        return None
    known = _OF_SEQUENCES if sequences else _OF_DOCUMENTS
    found = known.get(Path(path.name.removesuffix(".gz")).suffix.lower())
    if found is None or (found == "xlsx" and path.suffix == ".gz"):
        how = (
            "Predictions are written as JSONL, CSV, TSV or Excel. Name it .jsonl, .csv, .tsv (each also .gz) or .xlsx."
        )
        if sequences:
            how = "Tags of sequences are written as CoNLL columns or JSONL. Name it .conll or .jsonl (each also .gz)."
        raise FileError(f"{path}: its ending does not say how to write it. {how}")
    if found == "conll" and detailed:
        raise FileError(
            f"{path}: CoNLL columns have no place for probabilities (--proba) or causes (--why). Name it .jsonl."
        )
    return found


def write_predictions(
    pieces: Iterable[Predictions], path: Path | None, layout: Layout = "jsonl", *, escape: bool = True
) -> None:
    """Write all predictions to ``path`` (gzipped if it ends in .gz) or to stdout. ``escape``: write cells of CSV and
    TSV so that a spreadsheet does not run them."""
    if layout == "xlsx":
        assert path is not None
        _write_excel(pieces, path)
        return
    # Columns are read as UTF-8; JSON can escape what a terminal cannot show.
    with writing(path, utf8=layout != "jsonl") as file:
        if layout in _DELIMITERS:
            writer = csv.writer(_UnixLines(file), delimiter=_DELIMITERS[layout], lineterminator="\r\n")
            writer.writerows(map(harmless, cells) if escape else cells for cells in _cells(pieces))
            return
        for piece in pieces:
            if layout == "conll":
                _write_conll(piece, file)
            else:
                write_jsonl(piece.rows(), file)
            file.flush()  # whoever waits for it sees it now


@dataclass(frozen=True)
class _UnixLines:
    """Rows with the line ends of Unix. The csv module quotes cells with the characters of its own line end, and a bare
    carriage return needs quotes."""

    file: TextIO

    def write(self, row: str) -> int:
        return self.file.write(row.removesuffix("\r\n") + "\n")


def harmless(cell: str) -> str:
    """A cell that a spreadsheet takes for text: with an apostrophe in front if it would be taken for a formula.

    >>> [harmless(cell) for cell in ["=1+1", "-5", "-5+A1", "a=b"]]
    ["'=1+1", '-5', "'-5+A1", 'a=b']
    """
    return f"'{cell}" if cell.startswith(_FORMULA) and not _NUMBER.fullmatch(cell) else cell


def _cells(pieces: Iterable[Predictions]) -> Iterator[list[str]]:
    """The header and every row as cells of text; the first piece decides on the header."""
    left = iter(pieces)
    first = next(left, None)
    if first is None:
        return
    start = list(first.table())
    given = dict.fromkeys(name for row in start for name in row if name not in first.own)
    header = [*given, *first.own]
    yield header
    for row in chain(start, chain.from_iterable(piece.table() for piece in left)):
        for name in row.keys() - header:
            raise DataError(
                f"A row has the field {name!r}, for which the table has no column, since the first rows do not have "
                "it. Write JSONL (-o FILE.jsonl), or predict each file by itself."
            )
        yield [_cell(row.get(name)) for name in header]


def _cell(value: Any) -> str:
    match value:
        case None:
            return ""
        case str():
            return value
        case list() | dict() | tuple():
            return dumps(value, encoding="utf-8")
    return class_name(value)


def _write_excel(pieces: Iterable[Predictions], path: Path) -> None:
    """Write one sheet, row by row. Cells are texts or numbers, never formulas."""
    try:
        from openpyxl import Workbook
        from openpyxl.cell import WriteOnlyCell
        from openpyxl.utils.exceptions import IllegalCharacterError
    except ImportError:
        raise FileError(
            f"{path}: Excel needs the extra excel (pip install 'tiltfit[excel]'). Install it, or write .csv."
        ) from None
    from tiltfit.data.readers.delimited import is_number

    book = Workbook(write_only=True)
    sheet = book.create_sheet("predictions")

    def typed(text: str, n: int) -> Any:
        if not text:
            return None
        if len(text) > _CELL:
            raise FileError(f"{path}, row {n}: a cell of Excel holds at most {_CELL:,} characters. Write .csv.")
        if is_number(text):
            return float(text) if any(c in text for c in ".eE") else int(text)
        try:
            cell = WriteOnlyCell(sheet, text)
        except IllegalCharacterError:
            raise FileError(f"{path}, row {n}: Excel has no control characters such as in {text[:40]!r}.") from None
        cell.data_type = "s"  # openpyxl takes what begins with = for a formula
        return cell

    try:
        for n, cells in enumerate(_cells(pieces), 1):
            if n > _ROWS:
                raise FileError(f"{path}: a sheet of Excel has at most {_ROWS:,} rows. Write .csv.")
            sheet.append([typed(text, n) for text in cells])
    finally:
        sheet.close()  # openpyxl writes to a temporary file
    with writing_bytes(path) as file:
        book.save(file)


def _write_conll(predictions: Predictions, file: TextIO) -> None:
    """Write ``token<TAB>tag`` and a blank line after each sequence, as ``read_sequences`` reads it."""
    names = {c: class_name(c) for c in map(plain, predictions.classes)}
    for name in names.values():
        if not name.isprintable() or name != name.strip():
            raise DataError(f"The label {name!r} cannot stand in CoNLL columns. Write JSONL: -o FILE.jsonl.")
    for tokens, tags in zip(
        predictions.tokens or (), cast("Sequence[Sequence[Label]]", predictions.labels), strict=True
    ):
        file.writelines(f"{token}\t{names[plain(tag)]}\n" for token, tag in zip(tokens, tags, strict=True))
        file.write("\n")
