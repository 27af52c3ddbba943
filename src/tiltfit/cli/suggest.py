"""``tiltfit suggest``: which words, phrases and token patterns are worth a statement."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tiltfit.cli.fitting import declared_classes, read_constraints
from tiltfit.cli.options import DATA, DATA_HELP, ClassesOption, DataOptions, JsonOnly, TaskOption, check_output, command
from tiltfit.cli.render import writing
from tiltfit.cli.tasks import choose_task, columns_named, columns_of, located, task_of
from tiltfit.cli.terminal import Terminal, session
from tiltfit.errors import DataError

if TYPE_CHECKING:
    from tiltfit import Suggestions


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
        found = _suggest(
            ctx, task, reading, data, model, constraints, classes, ignore_labels,
            top=top, min_support=min_support, longest=longest, n_topics=topics, random_state=seed,
        )  # fmt: skip
        if output is not None:
            with writing(output) as file:
                file.write(found.to_toml())
        terminal.document({"output": None if output is None else str(output), **found.to_dict()})
        _show(terminal, found, output)


def _suggest(
    ctx: typer.Context,
    task: str,
    reading: DataOptions,
    data: list[str],
    model: Path | None,
    constraints: Path | None,
    classes: str | None,
    ignore_labels: bool,
    **options: int,
) -> Suggestions:
    from tiltfit import load
    from tiltfit import suggest as find
    from tiltfit.data.sequences import as_sequences

    stated = read_constraints(constraints)
    fitted: Any = None if model is None else load(model)
    kind = choose_task(ctx, task, data, stated) if model is None else task_of(ctx, model, fitted, data)
    if kind.is_sequences:
        columns = columns_named(stated)
    else:
        columns = [] if fitted is None else columns_of(kind, fitted, reading.text)
    rows = reading.read(kind, data, labels=not ignore_labels, columns=columns)
    known = {"model": fitted, "constraints": stated, "classes": declared_classes(kind, classes, rows)}
    with located(kind, rows):
        X: Any = as_sequences(rows.X) if kind.is_sequences else rows.X
        return find(X, None if ignore_labels else rows.y, **known, **options)


def _show(terminal: Terminal, found: Suggestions, output: Path | None) -> None:
    terminal.show(*str(found).split("\n"))
    if output is not None:
        terminal.show("", f"Wrote {output}: fill it in, then `tiltfit check {output} --data …`.")
    elif found.entries:
        terminal.show("", "With -o FILE, these are written as a constraint file to fill in.")
