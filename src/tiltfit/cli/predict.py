"""``tiltfit predict``: labels for documents or for the tokens of sequences, from a model file.

Predictions are written as JSONL, CSV, TSV, Excel or CoNLL columns, to stdout or to a file that is either complete or
not there. Data are read and written piece by piece.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from tiltfit.cli.options import (
    DataOptions,
    ModelArgument,
    OutputOptions,
    Sources,
    UnlabelledData,
    check_output,
    command,
    option,
)
from tiltfit.cli.predictions import TABLES, Layout, Predictions, layout_of, write_predictions
from tiltfit.cli.render import count, proportions
from tiltfit.cli.tasks import columns_of, labels_of, located, numeric_of, task_of
from tiltfit.cli.terminal import Terminal, class_name, session

if TYPE_CHECKING:
    from tiltfit import TiltClassifier, TiltTagger
    from tiltfit.data.readers import Dataset, SequenceDataset
    from tiltfit.explain.causes import Causes
    from tiltfit.samples.task import Task

_CAUSES = 5  # shown for each label
CHUNK = 4096  # instances that are held at a time


@command
def predict(
    ctx: typer.Context,
    *,
    model: ModelArgument,
    sources: Sources,
    output: Path | None = option(
        None,
        "File to write: .jsonl, for documents also .csv, .tsv or .xlsx, for sequences also .conll; all but .xlsx may "
        "end in .gz. Else stdout: JSONL, or columns if DATA are columns.",
        "--output",
        "-o",
    ),
    proba: bool = option(False, "Add the probability of each class. CSV, TSV and Excel always have them.", "--proba"),
    why: bool = option(False, "Add the main causes: words, transitions and statements, in log-odds.", "--why"),
    escape: bool = option(
        True,
        "CSV, TSV: put ' before cells that a spreadsheet would run: they begin with =, +, - or @ and are no numbers.",
        "--escape/--no-escape",
    ),
    project: bool = option(False, "Tilt the predictions until these data also meet the constraints.", "--project"),
    reading: UnlabelledData,
    printing: OutputOptions,
) -> None:
    """Predict the labels of DATA with MODEL: one per document, or one per token if the model is a tagger.

    Documents keep all their fields and get a label and its confidence; tables also a column p_CLASS for each class.
    """
    with session(ctx, printing) as terminal:
        data = sources.required
        if output is not None:
            check_output(output, [model, *data])
        from tiltfit import load

        loaded = load(model)
        reading = reading.recalled(ctx, loaded)
        kind = task_of(ctx, model, loaded, data, reading)
        named = layout_of(output, sequences=kind.is_sequences, detailed=proba or why)
        wanted = Wanted(proba or named in TABLES, why, project)
        with closing(_chunks(kind, loaded, reading, data, wanted)) as chunks:
            first = next(chunks)
            layout = named or _usual(first, detailed=proba or why)
            pieces = (_predict(kind, loaded, rows, wanted) for rows in chain([first], chunks))
            _deliver(terminal, kind, loaded, pieces, output, layout, escape=escape)


@dataclass(frozen=True)
class Wanted:
    """What to predict besides labels."""

    proba: bool
    why: bool
    project: bool


def _chunks(
    task: Task, model: TiltClassifier | TiltTagger, reading: DataOptions, data: Sequence[str], wanted: Wanted
) -> Generator[Dataset | SequenceDataset, None, None]:
    """Yield the data piece by piece, so that memory does not grow with them; all at once to project, since that may
    look at all of them."""
    columns = columns_of(task, model, reading.text_column)
    if task.is_sequences:
        columns = columns if wanted.project or wanted.why else []
    if wanted.project and task.is_sequences:
        yield reading.read_sequences(data, labels=False, columns=columns)
    elif wanted.project:
        yield reading.read_documents(data, labels=False, columns=columns, rows=True)
    else:
        how = {} if task.is_sequences else {"rows": True, "numeric": numeric_of(model)}
        with reading.chunks(task, data, labels=False, columns=columns, size=CHUNK, step=1, **how) as chunks:
            yield from chunks


def _usual(rows: Dataset | SequenceDataset, *, detailed: bool) -> Layout:
    """Return the layout without a file: columns if the data are, which cannot hold probabilities or causes."""
    return "conll" if set(rows.formats) <= {"conll", "auto"} and not detailed else "jsonl"


def _predict(
    task: Task, model: TiltClassifier | TiltTagger, rows: Dataset | SequenceDataset, wanted: Wanted
) -> Predictions:
    make: Any = _tag if task.is_sequences else _classify
    with located(task, rows):
        found: Predictions = make(model, rows, wanted)
    return found


def _classify(classifier: TiltClassifier, rows: Dataset, wanted: Wanted) -> Predictions:
    shares = classifier.project(rows.X) if wanted.project else classifier.predict_proba(rows.X)
    return Predictions(
        rows.ids,
        list(classifier.classes_),
        list(classifier.classes_[shares.argmax(axis=1)]),
        shares if wanted.proba else None,
        _causes(classifier, rows.X, project=wanted.project).entries if wanted.why else None,
        inputs=rows.rows,
        confidence=shares.max(axis=1).tolist(),
    )


def _causes(estimator: TiltClassifier | TiltTagger, X: Any, *, project: bool) -> Causes:
    from tiltfit import why

    return why(estimator, X, project=project, top=_CAUSES)


def _tag(tagger: TiltTagger, rows: SequenceDataset, wanted: Wanted) -> Predictions:
    """Return the most probable sequences of tags, which need not be the most probable tags of the tokens."""
    shares = causes = None
    project = wanted.project
    tags: Sequence[Sequence[Any]] = tagger.project(rows.X, decode=True) if project else tagger.predict(rows.X)
    if wanted.proba:
        shares = tagger.project(rows.X) if project else tagger.predict_marginals(rows.X)
    if wanted.why:
        listed = iter(_causes(tagger, rows.X, project=project))
        causes = [list(islice(listed, len(of_one))) for of_one in tags]
    return Predictions(rows.ids, tagger.classes_.tolist(), tags, shares, causes, rows.tokens)


def _deliver(
    terminal: Terminal,
    task: Task,
    model: TiltClassifier | TiltTagger,
    pieces: Iterator[Predictions],
    output: Path | None,
    layout: Layout,
    *,
    escape: bool,
) -> None:
    """Write predictions to the file or to stdout; with a file, show a summary on stdout."""
    classes = model.classes_.tolist()
    if output is None and terminal.as_json:
        rows = [row for piece in pieces for row in piece.rows()]
        terminal.document({"classes": classes, "predictions": rows})
        return
    tally = Tally(task)
    write_predictions(tally.counted(pieces), output, layout, escape=escape)
    if output is None:
        return
    names = [class_name(c) for c in classes]
    total = sum(tally.labels.values())
    terminal.document(
        {
            "output": str(output),
            "rows": tally.rows,
            **({"tokens": total} if task.is_sequences else {}),
            "classes": classes,
            "proportions": {name: tally.labels[name] / total for name in names},
        }
    )
    wrote = count(tally.rows, task.instance)
    terminal.show(proportions(names, tally.labels, task.unit or "documents"), "", f"Wrote {wrote} to {output}.")


@dataclass
class Tally:
    """How many rows were written, and how often each label."""

    task: Task
    rows: int = 0
    labels: Counter[str] = field(default_factory=Counter)

    def counted(self, pieces: Iterator[Predictions]) -> Iterator[Predictions]:
        """Yield the pieces, counted."""
        for piece in pieces:
            self.rows += len(piece.ids)
            self.labels.update(class_name(label) for label in labels_of(self.task, piece.labels))
            yield piece
