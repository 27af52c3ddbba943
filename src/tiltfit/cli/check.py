"""``tiltfit check``: is a file of constraints valid, where does it apply, and can it hold?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tiltfit.cli.checking import Result, check_file, check_on
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
from tiltfit.cli.render import cell, count, table
from tiltfit.cli.sequences import columns_named
from tiltfit.cli.tasks import Task, task_of_data
from tiltfit.cli.terminal import Terminal, session
from tiltfit.errors import ConstraintError, ConstraintFileError, UnsupportedError
from tiltfit.language.prose import rough_percent

if TYPE_CHECKING:
    from rich.table import Table

    from tiltfit import ConstraintSet

FAILED = 1
_MOST = 20  # rows of the table


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
    """Say each constraint in words and, with --data, where it fires, which constraints cannot hold together and how
    little would have to change, which dispute labels or say nothing new, and what labels there are say of the
    targets. Exit code 1: a problem."""
    with session(ctx, as_json=as_json) as terminal:
        result = _check(ctx, constraints, task, data or [])
        terminal.document(result.document())
        _show(terminal, result)
        if result.problems:
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
    read = _read(DataOptions.of(ctx), kind, data, constraints) if data else None
    if constraints is None:
        return Result(str(path), errors=[str(problem)])
    return check_file(str(path), constraints, kind) if read is None else check_on(str(path), constraints, *read, kind)


def _read(options: DataOptions, kind: Task, data: list[str], constraints: ConstraintSet | None) -> tuple[Any, Any]:
    if kind == "classify":
        documents = options.documents(data, labels=True)
        return documents.X, documents.y
    from tiltfit.data.sequences import as_sequences

    rows = options.sequences(data, labels=True, columns=columns_named(constraints))
    return as_sequences(rows.X), rows.y


def _show(terminal: Terminal, result: Result) -> None:
    if result.constraints:
        terminal.show(_title(result), "", _table(result))
    if result.check is not None:
        from tiltfit.check.words import coverage, sections

        if result.constraints:
            terminal.show("", coverage(result.check))
            for heading, lines in sections(result.check):
                terminal.show("", heading, *(f"  {line}" for line in lines))
            terminal.show("", result.check.verdict)
    if terminal.as_json:
        return
    for note in result.notes:
        terminal.note(note)
    for problem in result.problems:
        terminal.error(problem)


def _title(result: Result) -> str:
    classes = f", {count(len(result.classes), 'class')}: {', '.join(map(class_name, result.classes))}"
    verdict = "" if result.problems else " Valid."
    return f"{result.file}: {count(len(result.sentences), 'constraint')}{classes if result.classes else ''}.{verdict}"


def _table(result: Result) -> Table:
    from rich.table import Table

    if result.check is None:
        shown = Table.grid(padding=(0, 2))
        shown.add_column(justify="right", style="dim")
        for i, sentence in enumerate(result.sentences, start=1):
            shown.add_row(str(i), cell(sentence))
        return shown
    # A statement about tokens may be one about pairs of them, or about whole sequences.
    shown = table("constraint", "documents" if result.unit == "documents" else "support", "share")
    entries = list(result.check)
    if len(entries) > _MOST:  # those that find least are those to look at
        entries.sort(key=lambda entry: -1 if entry.support is None else entry.support)
    for entry in entries[:_MOST]:
        style = "" if entry.support else "yellow"
        if entry.support is None or entry.coverage is None:
            shown.add_row(cell(entry.sentence, style), "-", "-")
        else:
            shown.add_row(cell(entry.sentence, style), f"{entry.support:,}", rough_percent(entry.coverage))
    if len(entries) > _MOST:
        shown.add_row(cell(f"and {len(entries) - _MOST} more that fire more often", "dim"), "", "")
    return shown
