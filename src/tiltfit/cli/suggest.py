"""``tiltfit suggest``: which words, phrases and token patterns are worth a statement."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from tiltfit.cli.fitting import declared_classes, read_constraints
from tiltfit.cli.options import (
    ClassesOption,
    DataOptions,
    JsonOnly,
    Sources,
    TaskOption,
    check_output,
    command,
    option,
)
from tiltfit.cli.render import writing
from tiltfit.cli.tasks import choose_task, columns_named, columns_of, located, task_of
from tiltfit.cli.terminal import Terminal, session

if TYPE_CHECKING:
    from tiltfit import Suggestions


@command
def suggest(
    ctx: typer.Context,
    *,
    sources: Sources,
    model: Path | None = option(None, "A .tilt file: suggest what would teach it most.", "--model", "-m"),
    constraints: Path | None = option(None, "What is stated already (TOML).", "--constraints", "-c"),
    output: Path | None = option(None, "A constraint file (TOML) to write and fill in.", "--output", "-o"),
    top: int = option(20, "How many suggestions.", metavar="N"),
    min_support: int = option(3, "Documents or tokens that each must apply to.", metavar="N"),
    longest: int = option(3, "Words of the longest phrase; 1: no phrases.", metavar="N"),
    topics: int = option(10, "How many topics, without labels or a model.", metavar="N"),
    seed: int = option(0, "Seed of the topics.", metavar="N"),
    encoder: str | None = option(
        None, "Also propose what is close in meaning, by this encoder: static, sentences.", metavar="NAME"
    ),
    classes: ClassesOption = None,
    ignore_labels: bool = option(False, "Suggest as if nothing were labelled.", "--ignore-labels"),
    task: TaskOption = "auto",
    reading: DataOptions,
    printing: JsonOnly,
) -> None:
    """Rank words, phrases and token patterns by what a statement about them would teach, with counts and examples; -o
    writes a constraint file to fill in. The ranking uses labels if there are any, else topics; with --model, its
    uncertainty."""
    with session(ctx, printing) as terminal:
        data = sources.required
        if output is not None:
            check_output(output, [model, constraints, *data])
        found = _suggest(
            ctx, task, reading, data, model, constraints, classes, ignore_labels,
            top=top, min_support=min_support, longest=longest, n_topics=topics, random_state=seed, encoder=encoder,
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
    **options: Any,
) -> Suggestions:
    from tiltfit import load
    from tiltfit import suggest as find

    stated = read_constraints(constraints)
    fitted: Any = None if model is None else load(model)
    reading = reading if model is None else reading.recalled(ctx, fitted)
    kind = choose_task(ctx, task, data, stated) if model is None else task_of(ctx, model, fitted, data, reading)
    of_constraints = kind.is_sequences or fitted is None
    columns = columns_named(kind, stated) if of_constraints else columns_of(kind, fitted, reading.text_column)
    rows = reading.read(kind, data, labels=not ignore_labels, columns=columns)
    known = {"model": fitted, "constraints": stated, "classes": declared_classes(kind, classes, rows)}
    with located(kind, rows):
        X: Any = kind.read(rows.X) if kind.is_sequences else rows.X
        return find(X, None if ignore_labels else rows.y, **known, **options)


def _show(terminal: Terminal, found: Suggestions, output: Path | None) -> None:
    terminal.show(*str(found).split("\n"))
    if output is not None:
        terminal.show("", f"Wrote {output}: fill it in, then `tiltfit check {output} --data …`.")
    elif found.entries:
        terminal.show("", "With -o FILE, these are written as a constraint file to fill in.")
