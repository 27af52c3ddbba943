"""Predicted tags as CoNLL columns or JSONL, on stdout or in a file that is either complete or not there."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TextIO

from tiltfit.cli.output import class_name, reasons, replacing_text, short
from tiltfit.cli.terminal import dumps, plain
from tiltfit.errors import DataError, FileError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from tiltfit.explain.causes import Cause

Layout = Literal["conll", "jsonl"]


@dataclass(frozen=True)
class TaggedPredictions:
    """One tag a token and, where asked for, the probability of each class and its causes."""

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


def choose_layout(path: Path | None, formats: Sequence[str], *, proba: bool, why: bool = False) -> Layout:
    """By the name of the file, else as the data came; probabilities and causes have no place in columns."""
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
        sys.stdout.reconfigure(encoding="utf-8")  # what columns are read as; JSON can escape what a terminal lacks
    write(predictions, sys.stdout)


def _write_jsonl(predictions: TaggedPredictions, file: TextIO) -> None:
    for row in predictions.rows():
        file.write(dumps(row, encoding=file.encoding) + "\n")


def _write_conll(predictions: TaggedPredictions, file: TextIO) -> None:
    """``token<TAB>tag``, a blank line after each sequence: what ``read_sequences`` reads back."""
    names = {c: class_name(c) for c in map(plain, predictions.classes)}
    for name in names.values():
        if not name.isprintable() or name != name.strip():
            raise DataError(f"The label {name!r} cannot stand in CoNLL columns. Write JSONL: -o FILE.jsonl.")
    for tokens, tags in zip(predictions.tokens, predictions.tags, strict=True):
        file.writelines(f"{token}\t{names[plain(tag)]}\n" for token, tag in zip(tokens, tags, strict=True))
        file.write("\n")
