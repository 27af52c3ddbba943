"""``tiltfit suggest``: which words, phrases and token patterns are worth a statement."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tiltfit.cli.fitting import Job, declared_classes, read_constraints
from tiltfit.cli.options import DATA, DATA_HELP, ClassesOption, DataOptions, JsonOnly, TaskOption, check_output, command
from tiltfit.cli.predictions import replacing_text
from tiltfit.cli.tasks import choose_task, columns_named, columns_of, located, task_of
from tiltfit.cli.terminal import Terminal, session
from tiltfit.errors import DataError

if TYPE_CHECKING:
    from tiltfit import ConstraintSet, Suggestions
    from tiltfit.data.readers import Dataset, SequenceDataset
    from tiltfit.samples.task import Task


@command
def suggest(
    ctx: typer.Context,
    *,
    data: Annotated[
        list[str] | None, typer.Option("--data", "-d", help=f"{DATA_HELP} Repeatable. Required.", rich_help_panel=DATA)
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option("--model", "-m", help="A .tilt file: suggest what would teach it most.", show_default=False),
    ] = None,
    constraints: Annotated[
        Path | None,
        typer.Option("--constraints", "-c", help="What is stated already (TOML).", show_default=False),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="A constraint file (TOML) to write and fill in.", show_default=False),
    ] = None,
    top: Annotated[int, typer.Option(metavar="N", help="How many suggestions.")] = 20,
    min_support: Annotated[int, typer.Option(metavar="N", help="Documents or tokens that each must apply to.")] = 3,
    longest: Annotated[int, typer.Option(metavar="N", help="Words of the longest phrase; 1: no phrases.")] = 3,
    topics: Annotated[int, typer.Option(metavar="N", help="How many topics, without labels or a model.")] = 10,
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of the topics.")] = 0,
    classes: ClassesOption = None,
    ignore_labels: Annotated[
        bool, typer.Option("--ignore-labels", help="Suggest as if nothing were labelled.")
    ] = False,
    task: TaskOption = "auto",
    reading: DataOptions,
    printing: JsonOnly,
) -> None:
    """Rank words, phrases and token patterns by what a statement about them would teach, with counts and examples; -o
    writes a constraint file to fill in. The ranking uses labels if there are any, else topics; with --model, its
    uncertainty."""
    with session(ctx, printing) as terminal:
        if not data:
            raise DataError("Suggestions come from data: give --data FILE.")
        if output is not None:
            check_output(output, [model, constraints, *data])
        asked = _read(ctx, task, reading, data, model, constraints, classes, ignore_labels)
        found = asked.suggest(top=top, min_support=min_support, longest=longest, n_topics=topics, random_state=seed)
        if output is not None:
            with replacing_text(output) as file:
                file.write(found.to_toml())
        terminal.document({"output": None if output is None else str(output), **found.to_dict()})
        _show(terminal, found, output)


@dataclass(frozen=True, eq=False)
class _Asked:
    """The arguments of the command, read."""

    task: Task
    rows: Dataset | SequenceDataset
    y: Any
    model: Any
    stated: ConstraintSet | None
    classes: list[Any] | None

    def suggest(self, **options: Any) -> Suggestions:
        from tiltfit import suggest as find

        known: dict[str, Any] = {"model": self.model, "constraints": self.stated, "classes": self.classes}
        X: Any = self.rows.X
        with located(self.task, self.rows):
            if self.task.is_sequences:
                from tiltfit.data.sequences import as_sequences

                X = as_sequences(X)
            return find(X, self.y, **known, **options)


def _read(
    ctx: typer.Context,
    task: str,
    reading: DataOptions,
    data: list[str],
    model: Path | None,
    constraints: Path | None,
    classes: str | None,
    ignore_labels: bool,
) -> _Asked:
    from tiltfit import load

    stated = read_constraints(constraints)
    fitted: Any = None if model is None else load(model)
    kind = choose_task(ctx, task, data, stated) if model is None else task_of(ctx, model, fitted, data)
    labels = not ignore_labels
    if kind.is_sequences:
        columns = columns_named(stated)
    else:
        columns = [] if fitted is None else columns_of(kind, fitted, reading.text)
    rows = reading.read(kind, data, labels=labels, columns=columns)
    job = Job(kind, data, reading, stated, classes, ignore_labels)
    named = declared_classes(job, rows)
    return _Asked(kind, rows, rows.y if labels else None, fitted, stated, named)


def _show(terminal: Terminal, found: Suggestions, output: Path | None) -> None:
    terminal.show(*str(found).split("\n"))
    if output is not None:
        terminal.show("", f"Wrote {output}: fill it in, then `tiltfit check {output} --data …`.")
    elif found.entries:
        terminal.show("", "With -o FILE, these are written as a constraint file to fill in.")
