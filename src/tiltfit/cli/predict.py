"""``tiltfit predict``: labels for documents, from a model file."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tiltfit.cli.options import (
    ColumnOption,
    DataArgument,
    DelimiterOption,
    FormatOption,
    JsonOption,
    ModelArgument,
    QuietOption,
    TextOption,
    check_output,
    columns_of,
    read_data,
)
from tiltfit.cli.output import Predictions, class_name, write_predictions
from tiltfit.cli.render import count, proportions
from tiltfit.cli.terminal import Terminal, session

if TYPE_CHECKING:
    from tiltfit import TiltClassifier
    from tiltfit.data.readers import Dataset


def predict(
    ctx: typer.Context,
    model: ModelArgument,
    data: DataArgument,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="JSONL file to write, or .csv; each may end in .gz. Else: stdout."),
    ] = None,
    proba: Annotated[bool, typer.Option("--proba", help="Add the probability of each class.")] = False,
    project: Annotated[
        bool, typer.Option("--project", help="Tilt the predictions until these documents meet the constraints, too.")
    ] = False,
    format: FormatOption = "auto",
    text: TextOption = "text",
    column: ColumnOption = None,
    delimiter: DelimiterOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Predict the labels of DATA with MODEL."""
    with session(ctx, as_json=as_json, quiet=quiet) as terminal:
        if output is not None:
            check_output(output, [model, *data])
        from tiltfit import load

        classifier = load(model)
        rows = read_data(
            data,
            format=format,
            text=text,
            label=None,
            columns=column or columns_of(classifier, text),
            delimiter=delimiter,
        )
        predictions = _predict(classifier, rows, proba=proba, project=project)
        _deliver(terminal, predictions, output)


def _predict(classifier: TiltClassifier, rows: Dataset, *, proba: bool, project: bool) -> Predictions:
    shares = classifier.project(rows.X) if project else classifier.predict_proba(rows.X)
    labels = classifier.classes_[shares.argmax(axis=1)]
    return Predictions(rows.ids, list(classifier.classes_), list(labels), shares if proba else None)


def _deliver(terminal: Terminal, predictions: Predictions, output: Path | None) -> None:
    """Predictions go to the file or to stdout; with a file, stdout gets a summary."""
    if output is None and terminal.as_json:
        terminal.document({"classes": list(predictions.classes), "predictions": list(predictions.rows())})
        return
    write_predictions(predictions, output)
    if output is None:
        return
    predicted = Counter(class_name(label) for label in predictions.labels)
    names = [class_name(c) for c in predictions.classes]
    terminal.document(
        {
            "output": str(output),
            "rows": len(predictions.ids),
            "classes": list(predictions.classes),
            "proportions": {name: predicted[name] / len(predictions.ids) for name in names},
        }
    )
    terminal.show(proportions(names, predicted), "", f"Wrote {count(len(predictions.ids), 'row')} to {output}.")
