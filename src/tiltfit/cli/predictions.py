"""Predictions as JSONL, CSV or CoNLL columns, on stdout or in a file that is either complete or not there."""

from __future__ import annotations

import csv
import gzip
import io
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, Protocol, TextIO

from tiltfit.cli.terminal import dumps, plain
from tiltfit.errors import DataError, FileError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from tiltfit.explain.causes import Cause

Layout = Literal["conll", "jsonl"]


class _Rows(Protocol):
    def rows(self) -> Iterator[dict[str, Any]]: ...


@dataclass(frozen=True)
class Predictions:
    """One label per document and, on request, the probability of each class and its causes."""

    ids: Sequence[str]
    classes: Sequence[Any]
    labels: Sequence[Any]
    proba: npt.NDArray[np.float64] | None
    why: Sequence[Cause] | None = None

    def rows(self) -> Iterator[dict[str, Any]]:
        """``{"id": …, "label": …, "proba": {class: probability}, "why": {…}}``, document by document."""
        names = [class_name(c) for c in self.classes]
        for i, (identifier, label) in enumerate(zip(self.ids, self.labels, strict=True)):
            row = {"id": identifier, "label": plain(label)}
            if self.proba is not None:
                row["proba"] = {name: short(p) for name, p in zip(names, self.proba[i], strict=True)}
            if self.why is not None:
                row["why"] = reasons(self.why[i])
            yield row


@dataclass(frozen=True)
class TaggedPredictions:
    """One tag per token and, on request, the probability of each class and its causes."""

    ids: Sequence[str]
    tokens: Sequence[Sequence[str]]
    classes: Sequence[Any]
    tags: Sequence[Sequence[Any]]
    proba: Sequence[npt.NDArray[np.float64]] | None
    why: Sequence[Sequence[Cause]] | None = None

    def rows(self) -> Iterator[dict[str, Any]]:
        """``{"id": …, "tokens": […], "tags": […], "proba": [{class: p}, …], "why": [{…}, …]}``, one by one."""
        names = [class_name(c) for c in self.classes]
        for k, (identifier, tokens, tags) in enumerate(zip(self.ids, self.tokens, self.tags, strict=True)):
            row = {"id": identifier, "tokens": list(tokens), "tags": plain(list(tags))}
            if self.proba is not None:
                marginals = self.proba[k].tolist()
                row["proba"] = [{n: short(p) for n, p in zip(names, ps, strict=True)} for ps in marginals]
            if self.why is not None:
                row["why"] = [reasons(cause) for cause in self.why[k]]
            yield row


def class_name(value: Any) -> str:
    """Return a class as the text that JSON uses for keys: true and false in lower case, as in files."""
    value = plain(value)
    return str(value).lower() if value is True or value is False else str(value)


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


def write_predictions(predictions: Predictions, path: Path | None) -> None:
    """Write all predictions to ``path`` (as CSV or gzipped if it is named so) or to stdout as JSONL."""
    if path is None:
        _write_jsonl(predictions, sys.stdout)
        return
    with replacing_text(path) as file:
        if path.name.removesuffix(".gz").endswith(".csv"):
            _write_csv(predictions, file)
        else:
            _write_jsonl(predictions, file)


def choose_layout(path: Path | None, formats: Sequence[str], *, proba: bool, why: bool = False) -> Layout:
    """Return the layout of tagged output, by the file's name, else as the data came. Columns cannot hold probabilities
    or causes."""
    names = {".conll": "conll", ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl"}
    suffix = Path(path.name.removesuffix(".gz")).suffix.lower() if path is not None else ""
    if suffix == ".csv":
        raise FileError(f"{path}: tags of sequences are written as CoNLL columns or JSONL. Name it .conll or .jsonl.")
    if (proba or why) and names.get(suffix) == "conll":
        what = "probabilities (--proba)" if proba else "causes (--why)"
        raise FileError(f"{path}: CoNLL columns have no place for {what}. Name it .jsonl.")
    usual = "conll" if set(formats) == {"conll"} and not (proba or why) else "jsonl"
    return "conll" if names.get(suffix, usual) == "conll" else "jsonl"


def write_tagged(predictions: TaggedPredictions, path: Path | None, layout: Layout) -> None:
    """Write all predictions to ``path`` (gzipped if it ends in .gz) or to stdout."""
    write = _write_conll if layout == "conll" else _write_jsonl
    if path is not None:
        with replacing_text(path) as file:
            write(predictions, file)
        return
    if layout == "conll" and hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(encoding="utf-8")  # as columns are read; JSON can escape what a terminal cannot show
    write(predictions, sys.stdout)


def _write_jsonl(predictions: _Rows, file: TextIO) -> None:
    for row in predictions.rows():
        file.write(dumps(row, encoding=file.encoding) + "\n")


def _write_csv(predictions: Predictions, file: TextIO) -> None:
    names = [f"proba:{class_name(c)}" for c in predictions.classes] if predictions.proba is not None else []
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["id", "label", *names, *(["why"] if predictions.why is not None else [])])
    for row in predictions.rows():
        causes = [row["why"]["sentence"]] if "why" in row else []
        writer.writerow([row["id"], class_name(row["label"]), *row.get("proba", {}).values(), *causes])


def _write_conll(predictions: TaggedPredictions, file: TextIO) -> None:
    """Write ``token<TAB>tag`` and a blank line after each sequence, as ``read_sequences`` reads it."""
    names = {c: class_name(c) for c in map(plain, predictions.classes)}
    for name in names.values():
        if not name.isprintable() or name != name.strip():
            raise DataError(f"The label {name!r} cannot stand in CoNLL columns. Write JSONL: -o FILE.jsonl.")
    for tokens, tags in zip(predictions.tokens, predictions.tags, strict=True):
        file.writelines(f"{token}\t{names[plain(tag)]}\n" for token, tag in zip(tokens, tags, strict=True))
        file.write("\n")


@contextmanager
def replacing_text(path: Path) -> Iterator[TextIO]:
    """Open a text file that takes the place of ``path`` if the block ends well, and is discarded if it does not."""
    from tiltfit.storage.atomic import replacing

    # A pipe or a device is written to: putting a file in its place would destroy it.
    special = path.exists() and not path.is_file()
    with path.open("wb") if special else replacing(path) as raw, _text(raw, zipped=path.suffix == ".gz") as file:
        yield file


@contextmanager
def _text(raw: BinaryIO, *, zipped: bool) -> Iterator[TextIO]:
    # No name and no time inside: the same predictions give the same bytes.
    packed = gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0) if zipped else None
    file = io.TextIOWrapper(packed or raw, encoding="utf-8", newline="")
    try:
        yield file
    finally:
        file.detach()  # flushes; whoever opened the file below closes it
        if packed is not None:
            packed.close()
