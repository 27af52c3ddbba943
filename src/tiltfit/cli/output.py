"""Predictions as JSONL or CSV, on stdout or in a file that is either complete or not there."""

from __future__ import annotations

import csv
import gzip
import io
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TextIO

from tiltfit.cli.terminal import dumps, plain

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from tiltfit.explain.causes import Cause


@dataclass(frozen=True)
class Predictions:
    """One label a document and, where asked for, the probability of each class and its causes."""

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


def class_name(value: Any) -> str:
    """A class as the text that JSON uses for keys: true and false in lower case, as in the files they came from."""
    value = plain(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def short(p: float) -> float:
    """Six digits: no reader compares more, and files stay small. Small probabilities keep theirs."""
    return float(f"{p:.6g}")


def reasons(cause: Cause) -> dict[str, Any]:
    """Why, as JSON: the runner-up, the log-odds against it, what they are made of, and the same in a sentence."""
    told = cause.reasons()
    parts = {
        key: [{**part, "amount": None if part["amount"] is None else short(part["amount"])} for part in told[key]]
        for key in ("parts", "tilts")
    }
    odds = None if told["log_odds"] is None else short(told["log_odds"])
    return {"rival": plain(told["rival"]), "log_odds": odds, **parts, "sentence": cause.sentence}


def write_predictions(predictions: Predictions, path: Path | None) -> None:
    """Write all predictions to ``path`` (CSV if it is called so, gzipped if it ends in .gz) or to stdout as JSONL."""
    if path is None:
        _write_jsonl(predictions, sys.stdout)
        return
    write = _write_csv if path.name.removesuffix(".gz").endswith(".csv") else _write_jsonl
    with replacing_text(path) as file:
        write(predictions, file)


def _write_jsonl(predictions: Predictions, file: TextIO) -> None:
    for row in predictions.rows():
        file.write(dumps(row, encoding=file.encoding) + "\n")


def _write_csv(predictions: Predictions, file: TextIO) -> None:
    names = [f"proba:{class_name(c)}" for c in predictions.classes] if predictions.proba is not None else []
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["id", "label", *names, *(["why"] if predictions.why is not None else [])])
    for row in predictions.rows():
        causes = [row["why"]["sentence"]] if "why" in row else []
        writer.writerow([row["id"], class_name(row["label"]), *row.get("proba", {}).values(), *causes])


@contextmanager
def replacing_text(path: Path) -> Iterator[TextIO]:
    """A text file that takes the place of ``path`` when the block ends well, and leaves nothing when it does not."""
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
        file.detach()  # flushes; who opened the file below closes it
        if packed is not None:
            packed.close()
