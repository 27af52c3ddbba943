"""``tiltfit check``: whether a file of constraints is valid, where it applies, and whether it can hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tiltfit.cli.options import DataOptions, JsonOnly, Sources, TaskOption, command
from tiltfit.cli.render import cell, count, table
from tiltfit.cli.tasks import columns_named, task_of_data
from tiltfit.cli.terminal import Terminal, class_name, session
from tiltfit.errors import ConstraintError, ConstraintFileError, UnsupportedError
from tiltfit.language.prose import rough_percent

if TYPE_CHECKING:
    from rich.table import Table

    from tiltfit import ConstraintSet
    from tiltfit.check.check import Check
    from tiltfit.data.inputs import Unit

FAILED = 1
_MOST = 20  # rows of the table


@dataclass(frozen=True)
class Result:
    """The result for a file of constraints. ``check``: what was found on data, if there were any; ``errors``: what is
    wrong regardless of data; ``excerpts``: lines of the file that show it."""

    file: str
    constraints: ConstraintSet | None = None
    check: Check | None = None
    errors: Sequence[str] = ()
    unit: Unit = "documents"
    excerpts: Sequence[str] = ()

    @property
    def problems(self) -> list[str]:
        return [*self.errors, *(() if self.check is None else self.check.problems)]

    @property
    def notes(self) -> list[str]:
        return [] if self.check is None else list(self.check.warnings)

    @property
    def classes(self) -> Sequence[Any]:
        return () if self.constraints is None else self.constraints.classes or ()

    @property
    def sentences(self) -> list[str]:
        from tiltfit.language.sentences import describe

        return [describe(c, self.unit) for c in self.constraints or ()]

    def document(self) -> dict[str, Any]:
        """Return the result for ``--json``."""
        head = {"file": self.file, "valid": not self.problems, "errors": self.problems, "warnings": self.notes}
        if self.check is not None:
            return head | {key: value for key, value in self.check.to_dict().items() if key not in head}
        from tiltfit.language.sentences import titled

        said = [
            {"name": titled(c, self.unit), "sentence": sentence, "support": None, "coverage": None}
            for c, sentence in zip(self.constraints or (), self.sentences, strict=True)
        ]
        nowhere = {"unit": self.unit, "rows": None, "covered": None}
        return head | {"classes": list(self.classes)} | nowhere | {"constraints": said}


@command
def check(
    ctx: typer.Context,
    *,
    constraints: Annotated[
        Path,
        typer.Argument(metavar="CONSTRAINTS", help="A TOML file, or a CSV of label, word, share.", show_default=False),
    ],
    sources: Sources,
    task: TaskOption = "auto",
    reading: DataOptions,
    printing: JsonOnly,
) -> None:
    """State each constraint in words and, with DATA, where it fires, which constraints cannot hold together and the
    smallest change that would help, which contradict labels or add nothing, and what known labels say about the
    targets. Exit code 1: a problem."""
    with session(ctx, printing) as terminal:
        result = _check(ctx, constraints, task, reading, sources.given)
        terminal.document(result.document())
        _show(terminal, result)
        if result.problems:
            raise typer.Exit(FAILED)


def _check(ctx: typer.Context, path: Path, task: str, reading: DataOptions, data: list[str]) -> Result:
    from tiltfit import ConstraintSet
    from tiltfit.check.check import check

    constraints: ConstraintSet | None = None
    errors: list[str] = []
    notes: list[str] = []
    try:
        constraints = ConstraintSet.read(path)
    except (ConstraintError, ConstraintFileError, UnsupportedError) as error:
        errors.append(str(error))
        notes += getattr(error, "__notes__", ())
    # Data that cannot be read are an error of the command, even if the constraints are wrong.
    kind = task_of_data(ctx, task, data, constraints)
    X = y = found = None
    if data:
        rows = reading.read(kind, data, labels=True, columns=columns_named(kind, constraints))
        X, y = kind.read(rows.X) if kind.is_sequences else rows.X, rows.y
    if constraints is None:
        return Result(str(path), errors=errors, excerpts=notes)
    unit = kind.unit or "documents"
    if not len(constraints):
        errors.append(
            f"{path} states no constraint. Write one under [[constraint]]; in a file of tiltfit suggest, take the # "
            "away from the lines of those that you know something about."
        )
    if data:
        found = check(constraints, X, y, unit=unit)
    else:
        errors += _no_counts(constraints)
    return Result(str(path), constraints, found, errors, unit)


def _no_counts(constraints: ConstraintSet) -> list[str]:
    """Return the errors of ``train`` about statistics of whole sequences that no data would change."""
    if not any(c.event.whole for c in constraints):
        return []
    from tiltfit.language.sentences import titled
    from tiltfit.projections.components import whole_statistic

    classes = list(constraints.classes or dict.fromkeys(name for c in constraints for name in c.names))
    errors = []
    for constraint in constraints:
        try:
            whole_statistic(constraint, classes, titled(constraint, "tokens"))
        except (ConstraintError, UnsupportedError) as error:
            errors.append(str(error))
    return errors


def _show(terminal: Terminal, result: Result) -> None:
    if result.constraints:
        terminal.show(_title(result), "", _table(result))
    if result.constraints and result.check is not None:
        from tiltfit.check.check import coverage, sections

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
    for excerpt in result.excerpts:
        terminal.excerpt(excerpt)


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
    if len(entries) > _MOST:  # the ones to look at are those that fire least
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
