"""``tiltfit compare``: several methods on the same data and constraints, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from tiltfit.cli.fitting import declared_classes
from tiltfit.cli.options import (
    ClassesOption,
    DataOptions,
    OutputOptions,
    Sources,
    TaskOption,
    check_output,
    command,
    option,
)
from tiltfit.cli.tasks import choose_task, columns_named
from tiltfit.cli.terminal import ERROR, Terminal, session
from tiltfit.cli.training_options import TRAINING, ComparedTraining, options_of_methods
from tiltfit.errors import DataError

if TYPE_CHECKING:
    from tiltfit import Comparison, ConstraintSet
    from tiltfit.data.readers import Dataset, SequenceDataset
    from tiltfit.samples.task import Task


@command
def compare(
    ctx: typer.Context,
    *,
    sources: Sources,
    constraints: Path = option(..., "TOML file of statements; see `tiltfit check`.", "--constraints", "-c"),
    test: list[str] | None = option(
        None, "Labelled data to judge on, in any of these formats; repeatable. Required.", "--test", metavar="DATA"
    ),
    methods: str = option(
        "all", "Which methods, such as ap,supervised or ap/MODEL; all: every one.", metavar="A,B,..."
    ),
    labelled: int | None = option(None, "Keep N labels of DATA, drawn at random (--seed).", metavar="N"),
    output: Path | None = option(None, "A JSON file to write.", "--output", "-o"),
    plot: Path | None = option(None, "A plot to write, such as plot.png.", "--plot"),
    bootstrap: int = option(1000, "Draws that the intervals are made from; 0: no intervals.", metavar="N"),
    seed: int = option(0, "Seed of --labelled, of --bootstrap and of the methods.", metavar="N"),
    in_process: bool = option(False, "Run all methods in one process; their memory is then unknown.", "--in-process"),
    task: TaskOption = "auto",
    classes: ClassesOption = None,
    reading: DataOptions,
    method_option: list[str] | None = option(
        None,
        "Option of one of the methods, such as codl.tau=0.5; repeatable.",
        metavar="METHOD.NAME=VALUE",
        panel=TRAINING,
    ),
    training: ComparedTraining,
    printing: OutputOptions,
) -> None:
    """Fit several methods on DATA and a file of constraints, judge them on --test, and set side by side: accuracy,
    macro-F1, log-loss, calibration error, worst violation, seconds and memory, with paired bootstrap intervals.

    A method that cannot do the job is listed with the reason; the others run.
    """
    with session(ctx, printing) as terminal:
        data = sources.required
        _check_files(data, test or [], constraints, [output, plot])
        if plot is not None:
            from tiltfit.comparison.plots import file_format

            file_format(plot)  # refuses a plot that cannot be written before the work, not after it
        from tiltfit import ConstraintSet
        from tiltfit import compare as compare_methods

        said = ConstraintSet.read(constraints)
        kind = choose_task(ctx, task, [*data, *(test or ())], said)
        train, held_out = _read(reading, kind, said, data, test or [])
        found = compare_methods(
            said,
            train.X,
            train.y,
            test=(held_out.X, held_out.y),
            task=kind.name,
            classes=declared_classes(kind, classes, train),
            methods=_asked(methods, method_option or []),
            labelled=labelled,
            random_state=seed,
            n_bootstrap=bootstrap,
            isolate=not in_process,
            progress=lambda k, n, name: terminal.status(f"{k} of {n}: {name}"),
            **training.parameters(kind),
        )
        if output is not None:
            found.to_json(output)
        _show(terminal, found, output)
        if plot is not None and found.reference is not None:
            found.plot(plot)
            terminal.show(f"Plotted {plot}.")
        if found.reference is None:
            terminal.error("No method could be compared: the reasons are above.")
            raise typer.Exit(ERROR)


def _check_files(data: Sequence[str], test: Sequence[str], constraints: Path, outputs: Sequence[Path | None]) -> None:
    if not test:
        raise DataError("There is nothing to judge the methods on. Give --test DATA: labelled, and not part of DATA.")
    for one in test:
        for other in data:
            if one == other or (Path(one).exists() and Path(other).exists() and Path(one).samefile(other)):
                raise DataError(
                    f"{one} is both learned from and judged on, which would favour methods that memorise it. Give "
                    "--test other data."
                )
    named = [path for path in outputs if path is not None]
    for path in named:
        check_output(path, [constraints, *data, *test])
    if len({path.resolve() for path in named}) < len(named):
        raise DataError(f"--output and --plot are the same file, {named[0]}. Name two.")


def _read(
    reading: DataOptions, task: Task, said: ConstraintSet, data: Sequence[str], test: Sequence[str]
) -> tuple[Dataset | SequenceDataset, Dataset | SequenceDataset]:
    """Return the data to learn from, which need no label, and those to judge on."""
    columns = columns_named(task, said)
    train: Dataset | SequenceDataset
    if task.is_sequences:
        train = reading.read_sequences(data, labels=True, columns=columns)
    else:
        train = reading.read_documents(data, labels=True, columns=columns, optional=True)
    held_out = reading.read(task, test, labels=True, columns=columns)
    if not held_out.labelled.any():
        where = "--label-column or --tags says where labels are" if task.is_sequences else "--label names the field"
        raise DataError(
            f"{', '.join(held_out.sources)}: nothing is labelled, so there is nothing to judge by: {where}."
        )
    return train, held_out


def _asked(methods: str, options: Sequence[str]) -> str | dict[str, dict[str, Any]]:
    """Return what ``--methods`` and ``--method-option`` ask for, as ``tiltfit.compare`` takes it."""
    from tiltfit.comparison.cells import ALL, of_word
    from tiltfit.methods.catalogue import METHODS

    words = [word.strip() for word in methods.split(",")]
    if not all(words):
        raise DataError(f"--methods {methods!r} must be methods with commas between them, such as ap,supervised.")
    if not options:
        return methods
    words = list(METHODS) if words == [ALL] else words
    own = options_of_methods(options, words)
    return {word: of_word(word) | ({"method_options": own[word]} if word in own else {}) for word in words}


def _show(terminal: Terminal, found: Comparison, output: Path | None) -> None:
    for row in found:
        for warning in row.warnings:
            terminal.note(f"{row.name}: {warning}")
    terminal.document(found.to_dict())
    terminal.show(*found.to_tables())
    if output is not None:
        terminal.show("", f"Saved {output}.")
