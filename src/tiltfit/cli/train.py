"""``tiltfit train``: from documents and statements to a model file."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tiltfit.cli.options import (
    ColumnOption,
    DataArgument,
    DelimiterOption,
    FormatOption,
    JsonOption,
    LabelOption,
    QuietOption,
    TextOption,
    check_output,
    read_data,
)
from tiltfit.cli.output import class_name
from tiltfit.cli.progress import progress_bar
from tiltfit.cli.render import count, proportions, size
from tiltfit.cli.terminal import Terminal, session
from tiltfit.errors import DataError

if TYPE_CHECKING:
    from tiltfit import ConstraintSet, TiltClassifier
    from tiltfit.data.readers import Dataset

_WIDE = 100  # characters that the table of constraints needs

TRAINING = "Training (defaults: those of TiltClassifier)"


def _training(text: str) -> Any:
    return typer.Option(help=text, rich_help_panel=TRAINING, show_default=False)


def train(
    ctx: typer.Context,
    data: DataArgument,
    output: Annotated[Path, typer.Option("--output", "-o", help="The .tilt file to write.", show_default=False)],
    constraints: Annotated[
        Path | None,
        typer.Option("--constraints", "-c", help="TOML file of statements; see `tiltfit check`.", show_default=False),
    ] = None,
    classes: Annotated[
        str | None, typer.Option(metavar="A,B,...", help="Classes, if no file names them all.", show_default=False)
    ] = None,
    ignore_labels: Annotated[bool, typer.Option("--ignore-labels", help="Train as if no row were labelled.")] = False,
    format: FormatOption = "auto",
    text: TextOption = "text",
    label: LabelOption = "label",
    column: ColumnOption = None,
    delimiter: DelimiterOption = None,
    alpha: Annotated[float | None, _training("Strength of the ridge penalty on weights.")] = None,
    beta: Annotated[float | None, _training("Softness of constraints: smaller is closer to the target.")] = None,
    gamma: Annotated[float | None, _training("Weight of unlabelled against labelled rows.")] = None,
    scale: Annotated[
        str | None, _training("unit or support: whether the pull of a constraint grows with the data.")
    ] = None,
    solver: Annotated[str | None, _training("auto, alternating or joint.")] = None,
    vectorizer: Annotated[str | None, _training("auto, tfidf, counts or binary: how texts become features.")] = None,
    max_iter: Annotated[int | None, _training("At most this many rounds.")] = None,
    tol: Annotated[float | None, _training("Stop when the gradient is this small.")] = None,
    jobs: Annotated[int | None, _training("Threads; -1: one a core.")] = None,
    seed: Annotated[int | None, _training("Seed of random numbers (training is deterministic).")] = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Train a classifier from DATA and a file of constraints, with labels where there are any."""
    options = {
        "alpha": alpha,
        "beta": beta,
        "gamma": gamma,
        "scale": scale,
        "solver": solver,
        "vectorizer": vectorizer,
        "max_iter": max_iter,
        "tol": tol,
        "n_jobs": jobs,
        "random_state": seed,
    }
    with session(ctx, as_json=as_json, quiet=quiet) as terminal:
        check_output(output, [constraints, *data])
        statements = _constraints(constraints)
        label_field = None if ignore_labels else label
        rows = read_data(data, format=format, text=text, label=label_field, columns=column, delimiter=delimiter)
        _check_knowledge(statements, rows, ignore_labels)
        given = {name: value for name, value in options.items() if value is not None}
        _train(terminal, rows, statements, _classes(classes, rows), given, output)


def _constraints(path: Path | None) -> ConstraintSet | None:
    if path is None:
        return None
    from tiltfit import ConstraintSet

    return ConstraintSet.from_toml(path)


def _check_knowledge(statements: ConstraintSet | None, rows: Dataset, ignore_labels: bool) -> None:
    if statements or rows.labelled.any():
        return
    why = "the labels are ignored" if ignore_labels else "no row has a label"
    raise DataError(
        f"There is nothing to learn from: {why} and there are no constraints. "
        "Give --constraints FILE, or data with labels (--label names their field)."
    )


def _classes(names: str | None, rows: Dataset) -> list[Any] | None:
    """``--classes a,b`` as labels of the kind that the data have: in JSON, 1 and "1" are two labels."""
    if names is None:
        return None
    classes = [name.strip() for name in names.split(",")]
    if not all(classes) or len(set(classes)) < len(classes):
        raise DataError(f"--classes {names!r} must be different names with commas between them, such as a,b.")
    known = {class_name(label): label for label in (rows.y if rows.y is not None else ()) if label is not None}
    if known and not any(isinstance(label, str) for label in known.values()):
        return [known.get(name, _as_number(name)) for name in classes]
    return list(classes)


def _as_number(name: str) -> Any:
    try:
        return int(name)
    except ValueError:
        return name


def _train(
    terminal: Terminal,
    rows: Dataset,
    statements: ConstraintSet | None,
    classes: list[Any] | None,
    options: dict[str, Any],
    output: Path,
) -> None:
    from tiltfit import TiltClassifier

    start = time.perf_counter()
    with progress_bar(terminal) as update:
        classifier = TiltClassifier(statements or (), classes=classes, callback=update, **options)
        classifier.fit(rows.X, rows.y)
    seconds = time.perf_counter() - start
    classifier.set_params(callback=None)  # belongs to this terminal, not to the model
    classifier.save(output)
    predicted = Counter(class_name(label) for label in classifier.predict(rows.X))
    _show(terminal, classifier, rows, predicted, seconds, output)


def _show(
    terminal: Terminal, classifier: TiltClassifier, rows: Dataset, predicted: Counter[str], seconds: float, output: Path
) -> None:
    report = classifier.constraint_report_
    labelled = int(rows.labelled.sum())
    names = [class_name(c) for c in classifier.classes_]
    terminal.document(
        {
            "model": str(output),
            "rows": len(rows),
            "labelled": labelled,
            "classes": names,
            "proportions": {name: predicted[name] / len(rows) for name in names},
            "rounds": classifier.n_iter_,
            "converged": classifier.converged_,
            "objective": classifier.objective_,
            "seconds": round(seconds, 3),
            "constraints": report.to_dicts() if report is not None else [],
        }
    )
    terminal.show(
        f"Read {count(len(rows), 'document')}, {f'{labelled:,}' if labelled else 'none'} labelled.",
        f"{'Converged' if classifier.converged_ else 'Stopped'} after {count(classifier.n_iter_, 'round')} in "
        f"{seconds:.1f} s, objective {classifier.objective_:,.4g}.",
        "",
        proportions(names, predicted),
    )
    if report is not None and len(report):
        # In a narrow terminal the table would be mostly line breaks.
        wide = terminal.out.width >= _WIDE
        terminal.show("", *([report.to_table()] if wide else str(report).splitlines()))
    terminal.show("", f"Saved {output} ({size(output)}).")
