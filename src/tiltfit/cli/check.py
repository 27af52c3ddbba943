"""``tiltfit check``: is a file of constraints valid, and where does it apply?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tiltfit.cli.options import (
    DATA,
    DATA_HELP,
    ColumnOption,
    DelimiterOption,
    FormatOption,
    JsonOption,
    TextOption,
    read_data,
)
from tiltfit.cli.output import class_name
from tiltfit.cli.render import cell, count, percent, table
from tiltfit.cli.terminal import Terminal, session
from tiltfit.errors import ConstraintError, ConstraintFileError, UnsupportedError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from rich.table import Table

    from tiltfit import Constraint, ConstraintSet
    from tiltfit.data.inputs import Inputs
    from tiltfit.data.readers import Dataset

FAILED = 1


def check(
    ctx: typer.Context,
    constraints: Annotated[Path, typer.Argument(metavar="CONSTRAINTS", help="A TOML file.", show_default=False)],
    data: Annotated[
        list[str] | None, typer.Option("--data", "-d", help=f"{DATA_HELP} Repeatable.", rich_help_panel=DATA)
    ] = None,
    format: FormatOption = "auto",
    text: TextOption = "text",
    column: ColumnOption = None,
    delimiter: DelimiterOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say each constraint in words and, with --data, how many documents it speaks of. Exit code 1: a problem."""
    with session(ctx, as_json=as_json) as terminal:
        rows = None
        if data:
            rows = read_data(data, format=format, text=text, label=None, columns=column, delimiter=delimiter)
        result = _check(constraints, rows)
        terminal.document(result.document())
        _show(terminal, result)
        if result.errors:
            raise typer.Exit(FAILED)


@dataclass(frozen=True)
class Line:
    """One constraint: its sentence, and on how many rows its condition fires (None: not known)."""

    title: str
    sentence: str
    support: int | None = None
    note: str | None = None


@dataclass(frozen=True)
class Result:
    """What ``check`` found. ``covered``: rows of which at least one conditional constraint speaks."""

    file: str
    classes: Sequence[Any] = ()
    lines: Sequence[Line] = ()
    errors: Sequence[str] = ()
    rows: int | None = None
    covered: int | None = None

    @property
    def notes(self) -> list[str]:
        return [line.note for line in self.lines if line.note is not None]

    def document(self) -> dict[str, Any]:
        """For ``--json``."""
        return {
            "file": self.file,
            "valid": not self.errors,
            "errors": list(self.errors),
            "warnings": self.notes,
            "classes": list(self.classes),
            "rows": self.rows,
            "covered": self.covered,
            "constraints": [
                {
                    "name": line.title,
                    "sentence": line.sentence,
                    "support": line.support,
                    "coverage": line.support / self.rows if self.rows and line.support is not None else None,
                }
                for line in self.lines
            ],
        }


def _check(path: Path, rows: Dataset | None) -> Result:
    from tiltfit import ConstraintSet

    try:
        constraints = ConstraintSet.from_toml(path)
    except (ConstraintError, ConstraintFileError, UnsupportedError) as error:
        return Result(str(path), errors=[str(error)])
    if not len(constraints):
        return Result(str(path), constraints.classes or (), errors=[f"{path} states no constraint."])
    if rows is None:
        lines = [Line(c.title, str(c)) for c in constraints]
        return Result(str(path), constraints.classes or (), lines)
    return _check_on(str(path), constraints, rows)


def _check_on(path: str, constraints: ConstraintSet, rows: Dataset) -> Result:
    """Where each constraint applies; a constraint that cannot be asked of such data is an error."""
    import numpy as np

    from tiltfit.data.inputs import TableInputs, TextInputs

    inputs = TableInputs(rows.X) if isinstance(rows.X, dict) else TextInputs(rows.X)
    covered = np.zeros(inputs.n, dtype=np.bool_)
    lines: list[Line] = []
    errors: list[str] = []
    for constraint in constraints:
        try:
            fires = _fires(constraint, inputs)
        except (ConstraintError, UnsupportedError) as error:
            named = constraint.title in str(error)
            errors.append(str(error) if named else f"The constraint {constraint.title!r}: {error}")
            lines.append(Line(constraint.title, str(constraint)))
            continue
        if constraint.given is not None:
            covered |= fires
        note = _resting(constraint, inputs)
        lines.append(Line(constraint.title, str(constraint), int(fires.sum()), note))
    return Result(path, constraints.classes or (), lines, errors, inputs.n, int(covered.sum()))


def _fires(constraint: Constraint, inputs: Inputs) -> npt.NDArray[np.bool_]:
    import numpy as np

    from tiltfit.language.conditions import Column
    from tiltfit.projections.grounding import refuse_for_documents

    refuse_for_documents(constraint)
    if isinstance(constraint.per, Column):
        inputs.column(constraint.per.name)
    return np.ones(inputs.n, dtype=np.bool_) if constraint.given is None else constraint.given.fires(inputs)


def _resting(constraint: Constraint, inputs: Inputs) -> str | None:
    """What to say of a condition that never fires, wholly or in part: one misspelt word among many goes unnoticed."""
    if constraint.given is None:
        return None
    idle = [part for part in constraint.given.leaves if not part.fires(inputs).any()]
    if constraint.given.fires(inputs).any():
        if not idle:
            return None
        what = " and ".join(f"documents {part.clause(inputs.unit)}" for part in idle)
        head = f"The constraint {constraint.title!r} also speaks of {what}, but there are none."
    else:
        head = f"The constraint {constraint.title!r} never fires, so it has no effect."
    found = [guess for part in idle if (guess := part.suggest(inputs)) is not None]
    return f'{head} Did you mean "{found[0]}"?' if found else head


def _show(terminal: Terminal, result: Result) -> None:
    if result.lines:
        terminal.show(_title(result), "", _table(result))
    if result.covered is not None and result.rows:
        share = percent(result.covered / result.rows)
        terminal.show("", f"At least one condition fires on {result.covered:,} of {result.rows:,} documents ({share}).")
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
    shown = table("constraint", "documents", "share")
    for line in result.lines:
        style = "" if line.support else "yellow"
        if line.support is None:
            shown.add_row(cell(line.sentence, style), "-", "-")
        else:
            shown.add_row(cell(line.sentence, style), f"{line.support:,}", percent(line.support / result.rows))
    return shown
