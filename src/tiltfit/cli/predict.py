"""``tiltfit predict``: labels for documents or for the tokens of sequences, from a model file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tiltfit.cli.options import DataArgument, ModelArgument, OutputOptions, UnlabelledData, check_output, command
from tiltfit.cli.predictions import (
    Predictions,
    TaggedPredictions,
    choose_layout,
    class_name,
    write_predictions,
    write_tagged,
)
from tiltfit.cli.render import count, proportions
from tiltfit.cli.tasks import columns_of, labels_of, located, task_of
from tiltfit.cli.terminal import Terminal, session

if TYPE_CHECKING:
    from tiltfit import TiltClassifier, TiltTagger
    from tiltfit.data.readers import Dataset, SequenceDataset
    from tiltfit.explain.causes import Causes
    from tiltfit.samples.task import Task

_CAUSES = 5  # shown for each label


@command
def predict(
    ctx: typer.Context,
    *,
    model: ModelArgument,
    data: DataArgument,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="File to write: .jsonl, for documents also .csv, for sequences also .conll; each may end in .gz. "
            "Else stdout: JSONL, or columns if DATA are columns.",
            show_default=False,
        ),
    ] = None,
    proba: Annotated[bool, typer.Option("--proba", help="Add the probability of each class.")] = False,
    why: Annotated[
        bool, typer.Option("--why", help="Add the main causes: words, transitions and statements, in log-odds.")
    ] = False,
    project: Annotated[
        bool, typer.Option("--project", help="Tilt the predictions until these data also meet the constraints.")
    ] = False,
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
        if kind.is_sequences:
            columns = columns_of(kind, loaded, reading.text) if project or why else []
            sequences = reading.sequences(data, labels=False, columns=columns)
            layout = choose_layout(output, sequences.formats, proba=proba, why=why)
            tagged = _tag(kind, loaded, sequences, proba=proba, why=why, project=project)
            _deliver(terminal, kind, tagged, tagged.tags, output, lambda path: write_tagged(tagged, path, layout))
        else:
            rows = reading.documents(data, labels=False, columns=columns_of(kind, loaded, reading.text))
            found = _classify(loaded, rows, proba=proba, why=why, project=project)
            _deliver(terminal, kind, found, found.labels, output, lambda path: write_predictions(found, path))


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
) -> TaggedPredictions:
    """Return the most probable sequences of tags, which need not be the most probable tags of the tokens."""
    shares = causes = None
    with located(task, rows):
        tags: Sequence[Sequence[Any]] = tagger.project(rows.X, decode=True) if project else tagger.predict(rows.X)
        if proba:
            shares = tagger.project(rows.X) if project else tagger.predict_marginals(rows.X)
        if why:
            listed = iter(_causes(tagger, rows.X, project=project))
            causes = [list(islice(listed, len(of_one))) for of_one in tags]
    return TaggedPredictions(rows.ids, rows.tokens, tagger.classes_.tolist(), tags, shares, causes)


def _deliver(
    terminal: Terminal,
    task: Task,
    predictions: Predictions | TaggedPredictions,
    labels: Iterable[Any],
    output: Path | None,
    write: Callable[[Path | None], None],
) -> None:
    """Write predictions to the file or to stdout; with a file, show a summary on stdout."""
    if output is None and terminal.as_json:
        terminal.document({"classes": list(predictions.classes), "predictions": list(predictions.rows())})
        return
    write(output)
    if output is None:
        return
    tagged = task.is_sequences
    predicted = Counter(class_name(label) for label in labels_of(task, labels))
    total = sum(predicted.values())
    names = [class_name(c) for c in predictions.classes]
    terminal.document(
        {
            "output": str(output),
            "rows": len(predictions.ids),
            **({"tokens": total} if tagged else {}),
            "classes": list(predictions.classes),
            "proportions": {name: predicted[name] / total for name in names},
        }
    )
    wrote = count(len(predictions.ids), "sequence" if tagged else "row")
    shown = proportions(names, predicted, task.unit or "documents")
    terminal.show(shown, "", f"Wrote {wrote} to {output}.")
