"""``tiltfit predict``: labels for documents or for the tokens of sequences, from a model file.

Predictions are written as JSONL, CSV or CoNLL columns, to stdout or to a file that is either complete or not there.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TextIO, cast

import typer

from tiltfit.cli.options import (
    DataArgument,
    ModelArgument,
    OutputOptions,
    UnlabelledData,
    check_output,
    command,
    option,
)
from tiltfit.cli.render import count, proportions, write_jsonl, writing
from tiltfit.cli.tasks import columns_of, labels_of, located, task_of
from tiltfit.cli.terminal import Terminal, class_name, plain, session
from tiltfit.errors import DataError, FileError

if TYPE_CHECKING:
    from tiltfit import TiltClassifier, TiltTagger
    from tiltfit.arrays import FloatArray
    from tiltfit.data.readers import Dataset, SequenceDataset
    from tiltfit.explain.causes import Cause, Causes
    from tiltfit.language.values import Label
    from tiltfit.samples.task import Task

Layout = Literal["conll", "csv", "jsonl"]
_CAUSES = 5  # shown for each label


@command
def predict(
    ctx: typer.Context,
    *,
    model: ModelArgument,
    data: DataArgument,
    output: Path | None = option(
        None,
        "File to write: .jsonl, for documents also .csv, for sequences also .conll; each may end in .gz. Else stdout: "
        "JSONL, or columns if DATA are columns.",
        "--output",
        "-o",
    ),
    proba: bool = option(False, "Add the probability of each class.", "--proba"),
    why: bool = option(False, "Add the main causes: words, transitions and statements, in log-odds.", "--why"),
    project: bool = option(False, "Tilt the predictions until these data also meet the constraints.", "--project"),
    reading: UnlabelledData,
    printing: OutputOptions,
) -> None:
    """Predict the labels of DATA with MODEL: one per document, or one per token if the model is a tagger."""
    with session(ctx, printing) as terminal:
        if output is not None:
            check_output(output, [model, *data])
        from tiltfit import load

        loaded = load(model)
        kind = task_of(ctx, model, loaded, data)
        layout: Layout | None = None
        if kind.is_sequences:
            columns = columns_of(kind, loaded, reading.text) if project or why else []
            sequences = reading.read_sequences(data, labels=False, columns=columns)
            layout = choose_layout(output, sequences.formats, proba=proba, why=why)
            found = _tag(kind, loaded, sequences, proba=proba, why=why, project=project)
        else:
            rows = reading.read_documents(data, labels=False, columns=columns_of(kind, loaded, reading.text))
            found = _classify(loaded, rows, proba=proba, why=why, project=project)
        _deliver(terminal, kind, found, output, layout)


def _classify(classifier: TiltClassifier, rows: Dataset, *, proba: bool, why: bool, project: bool) -> Predictions:
    shares = classifier.project(rows.X) if project else classifier.predict_proba(rows.X)
    labels = classifier.classes_[shares.argmax(axis=1)]
    causes = _causes(classifier, rows.X, project=project).entries if why else None
    return Predictions(rows.ids, list(classifier.classes_), list(labels), shares if proba else None, causes)


def _causes(estimator: TiltClassifier | TiltTagger, X: Any, *, project: bool) -> Causes:
    from tiltfit import why

    return why(estimator, X, project=project, top=_CAUSES)


def _tag(
    task: Task, tagger: TiltTagger, rows: SequenceDataset, *, proba: bool, why: bool, project: bool
) -> Predictions:
    """Return the most probable sequences of tags, which need not be the most probable tags of the tokens."""
    shares = causes = None
    with located(task, rows):
        tags: Sequence[Sequence[Any]] = tagger.project(rows.X, decode=True) if project else tagger.predict(rows.X)
        if proba:
            shares = tagger.project(rows.X) if project else tagger.predict_marginals(rows.X)
        if why:
            listed = iter(_causes(tagger, rows.X, project=project))
            causes = [list(islice(listed, len(of_one))) for of_one in tags]
    return Predictions(rows.ids, tagger.classes_.tolist(), tags, shares, causes, rows.tokens)


def _deliver(
    terminal: Terminal, task: Task, predictions: Predictions, output: Path | None, layout: Layout | None
) -> None:
    """Write predictions to the file or to stdout; with a file, show a summary on stdout."""
    if output is None and terminal.as_json:
        terminal.document({"classes": list(predictions.classes), "predictions": list(predictions.rows())})
        return
    write_predictions(predictions, output, layout)
    if output is None:
        return
    predicted = Counter(class_name(label) for label in labels_of(task, predictions.labels))
    total = sum(predicted.values())
    names = [class_name(c) for c in predictions.classes]
    terminal.document(
        {
            "output": str(output),
            "rows": len(predictions.ids),
            **({"tokens": total} if task.is_sequences else {}),
            "classes": list(predictions.classes),
            "proportions": {name: predicted[name] / total for name in names},
        }
    )
    wrote = count(len(predictions.ids), task.instance)
    terminal.show(proportions(names, predicted, task.unit or "documents"), "", f"Wrote {wrote} to {output}.")


@dataclass(frozen=True)
class Predictions:
    """One label per document or, with ``tokens``, one list of tags per sequence; on request also the probability of
    each class and the causes, likewise one per document or one list per sequence."""

    ids: Sequence[str]
    classes: Sequence[Label]
    labels: Sequence[Label] | Sequence[Sequence[Label]]
    proba: FloatArray | Sequence[FloatArray] | None = None
    why: Sequence[Cause] | Sequence[Sequence[Cause]] | None = None
    tokens: Sequence[Sequence[str]] | None = None

    def rows(self) -> Iterator[dict[str, Any]]:
        """``{"id": …, "label": …, "proba": {class: probability}, "why": {…}}``, document by document; of a sequence
        ``{"id": …, "tokens": […], "tags": […], "proba": [{class: p}, …], "why": [{…}, …]}``."""
        names = [class_name(c) for c in self.classes]

        def shares(row: Any) -> dict[str, float]:
            return {name: short(p) for name, p in zip(names, row, strict=True)}

        more: list[tuple[str, Any, Callable[[Any], Any]]] = [("proba", self.proba, shares), ("why", self.why, reasons)]
        for i, (identifier, label) in enumerate(zip(self.ids, self.labels, strict=True)):
            if self.tokens is None:
                row: dict[str, Any] = {"id": identifier, "label": plain(label)}
            else:
                row = {
                    "id": identifier,
                    "tokens": list(self.tokens[i]),
                    "tags": plain(list(cast("Sequence[Label]", label))),
                }
            for key, values, shown in more:
                if values is not None:
                    row[key] = shown(values[i]) if self.tokens is None else [*map(shown, values[i])]
            yield row


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


def write_predictions(predictions: Predictions, path: Path | None, layout: Layout | None = None) -> None:
    """Write all predictions to ``path`` (gzipped if it ends in .gz) or to stdout. Without a layout they are written as
    JSONL, or as CSV if the file is named so."""
    if layout is None:
        layout = "csv" if path is not None and path.name.removesuffix(".gz").endswith(".csv") else "jsonl"
    # Columns are read as UTF-8; JSON can escape what a terminal cannot show.
    with writing(path, utf8=layout == "conll") as file:
        _WRITERS[layout](predictions, file)


def _write_csv(predictions: Predictions, file: TextIO) -> None:
    names = [f"proba:{class_name(c)}" for c in predictions.classes] if predictions.proba is not None else []
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["id", "label", *names, *(["why"] if predictions.why is not None else [])])
    for row in predictions.rows():
        causes = [row["why"]["sentence"]] if "why" in row else []
        writer.writerow([row["id"], class_name(row["label"]), *row.get("proba", {}).values(), *causes])


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


_WRITERS: dict[Layout, Callable[[Predictions, TextIO], None]] = {
    "conll": _write_conll,
    "csv": _write_csv,
    "jsonl": lambda predictions, file: write_jsonl(predictions.rows(), file),
}
