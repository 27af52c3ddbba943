"""``tiltfit check``: is a file of constraints valid, and where does it apply?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tiltfit.cli.checking import Result, Units, check_file, check_on
from tiltfit.cli.options import (
    DATA,
    DATA_HELP,
    BlankOption,
    ColumnOption,
    DataOptions,
    DelimiterOption,
    FormatOption,
    JsonOption,
    LabelColumnOption,
    LabelOption,
    TagsOption,
    TaskOption,
    TextOption,
    TokenColumnOption,
    TokensOption,
    UnlabelledOption,
)
from tiltfit.cli.output import class_name
from tiltfit.cli.render import cell, count, percent, table
from tiltfit.cli.sequences import columns_named
from tiltfit.cli.tasks import task_of_data
from tiltfit.cli.terminal import Terminal, session
from tiltfit.errors import ConstraintError, ConstraintFileError, UnsupportedError

if TYPE_CHECKING:
    from rich.table import Table

    from tiltfit import ConstraintSet

FAILED = 1


def check(
    ctx: typer.Context,
    constraints: Annotated[Path, typer.Argument(metavar="CONSTRAINTS", help="A TOML file.", show_default=False)],
    data: Annotated[
        list[str] | None, typer.Option("--data", "-d", help=f"{DATA_HELP} Repeatable.", rich_help_panel=DATA)
    ] = None,
    task: TaskOption = "auto",
    format: FormatOption = "auto",
    column: ColumnOption = None,
    delimiter: DelimiterOption = None,
    text: TextOption = "text",
    label: LabelOption = "label",
    tokens: TokensOption = "tokens",
    tags: TagsOption = "tags",
    token_column: TokenColumnOption = 0,
    label_column: LabelColumnOption = "-1",
    unlabelled: UnlabelledOption = None,
    blank: BlankOption = "error",
    as_json: JsonOption = False,
) -> None:
    """Say each constraint in words and, with --data, of how many documents or tokens it speaks and whether their
    labels are those that it names. Exit code 1: a problem."""
    with session(ctx, as_json=as_json) as terminal:
        result = _check(ctx, constraints, task, data or [])
        terminal.document(result.document())
        _show(terminal, result)
        if result.errors:
            raise typer.Exit(FAILED)


def _check(ctx: typer.Context, path: Path, task: str, data: list[str]) -> Result:
    from tiltfit import ConstraintSet

    constraints: ConstraintSet | None = None
    problem: str | None = None
    try:
        constraints = ConstraintSet.from_toml(path)
    except (ConstraintError, ConstraintFileError, UnsupportedError) as error:
        problem = str(error)
    # Data that cannot be read are an error of the command, whatever the constraints say.
    kind = task_of_data(ctx, task, data, constraints)
    options = DataOptions.of(ctx)
    units: Units | None = None
    if data and kind == "tag":
        units = Units.of_sequences(options.sequences(data, labels=True, columns=columns_named(constraints)))
    elif data:
        units = Units.of_documents(options.documents(data, labels=True))
    if constraints is None:
        return Result(str(path), errors=[str(problem)])
    return check_file(str(path), constraints, kind) if units is None else check_on(str(path), constraints, units)


def _show(terminal: Terminal, result: Result) -> None:
    if result.lines:
        terminal.show(_title(result), "", _table(result))
    if result.covered is not None and result.rows:
        share = percent(result.covered / result.rows)
        of = f"{result.covered:,} of {result.rows:,} {result.unit} ({share})"
        terminal.show("", f"At least one condition fires on {of}.")
    if terminal.as_json:
        return
    for note in result.notes:
        terminal.note(note)
    for error in result.errors:
        terminal.error(error)


def _title(result: Result) -> str:
    classes = f", {count(len(result.classes), 'class')}: {', '.join(map(class_name, result.classes))}"
    verdict = "" if result.errors else " Valid."
    return f"{result.file}: {count(len(result.lines), 'constraint')}{classes if result.classes else ''}.{verdict}"


def _table(result: Result) -> Table:
    from rich.table import Table

    if result.rows is None:
        shown = Table.grid(padding=(0, 2))
        shown.add_column(justify="right", style="dim")
        for i, line in enumerate(result.lines, start=1):
            shown.add_row(str(i), cell(line.sentence))
        return shown
    # A statement about tokens may be one about pairs of them, or about whole sequences.
    shown = table("constraint", "documents" if result.unit == "documents" else "support", "share")
    for line in result.lines:
        style = "" if line.support else "yellow"
        if line.support is None or line.coverage is None:
            shown.add_row(cell(line.sentence, style), "-", "-")
        else:
            shown.add_row(cell(line.sentence, style), f"{line.support:,}", percent(line.coverage))
    return shown
