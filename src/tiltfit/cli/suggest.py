"""``tiltfit suggest``: which words, phrases and token patterns are worth a statement."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tiltfit.cli.fitting import Job, declared_classes
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
    check_output,
    columns_of,
)
from tiltfit.cli.output import replacing_text
from tiltfit.cli.sequences import columns_named, located
from tiltfit.cli.tasks import Task, choose_task, task_of
from tiltfit.cli.terminal import Terminal, session
from tiltfit.cli.training_options import ClassesOption
from tiltfit.errors import DataError

if TYPE_CHECKING:
    from tiltfit import ConstraintSet, Suggestions
    from tiltfit.data.readers import Dataset, SequenceDataset


def suggest(
    ctx: typer.Context,
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
    """Rank words, phrases and token patterns by what a statement about them would teach, with counts and examples; -o
    writes a constraint file to fill in. By what labels there are, else by topics; with --model, by its uncertainty."""
    with session(ctx, as_json=as_json) as terminal:
        if not data:
            raise DataError("Suggestions come from data: give --data FILE.")
        if output is not None:
            check_output(output, [model, constraints, *data])
        asked = _read(ctx, task, data, model, constraints, classes, ignore_labels)
        found = asked.suggest(top=top, min_support=min_support, longest=longest, n_topics=topics, random_state=seed)
        if output is not None:
            with replacing_text(output) as file:
                file.write(found.to_toml())
        terminal.document({"output": None if output is None else str(output), **found.to_dict()})
        _show(terminal, found, output)


@dataclass(frozen=True, eq=False)
class _Asked:
    """What the command was given, read."""

    task: Task
    rows: Dataset | SequenceDataset
    y: Any
    model: Any
    stated: ConstraintSet | None
    classes: list[Any] | None

    def suggest(self, **options: Any) -> Suggestions:
        from tiltfit import suggest as find

        known: dict[str, Any] = {"model": self.model, "constraints": self.stated, "classes": self.classes}
        if self.task == "classify":
            return find(self.rows.X, self.y, **known, **options)
        from tiltfit.data.readers import SequenceDataset
        from tiltfit.data.sequences import as_sequences

        assert isinstance(self.rows, SequenceDataset)
        with located(self.rows):
            return find(as_sequences(self.rows.X), self.y, **known, **options)


def _read(
    ctx: typer.Context,
    task: str,
    data: list[str],
    model: Path | None,
    constraints: Path | None,
    classes: str | None,
    ignore_labels: bool,
) -> _Asked:
    from tiltfit import ConstraintSet, load

    stated = None if constraints is None else ConstraintSet.from_toml(constraints)
    fitted: Any = None if model is None else load(model)
    kind = choose_task(ctx, task, data, stated) if model is None else task_of(ctx, model, fitted, data)
    options, labels = DataOptions.of(ctx), not ignore_labels
    rows: Dataset | SequenceDataset
    if kind == "tag":
        rows = options.sequences(data, labels=labels, columns=columns_named(stated))
    else:
        columns = [] if fitted is None else columns_of(fitted, options.text)
        rows = options.documents(data, labels=labels, columns=columns)
    job = Job(kind, data, options, stated, classes, ignore_labels)
    named = declared_classes(job, rows)
    return _Asked(kind, rows, rows.y if labels else None, fitted, stated, named)


def _show(terminal: Terminal, found: Suggestions, output: Path | None) -> None:
    terminal.show(*str(found).split("\n"))
    if output is not None:
        terminal.show("", f"Wrote {output}: fill it in, then `tiltfit check {output} --data …`.")
    elif found.entries:
        terminal.show("", "With -o FILE, these are written as a constraint file to fill in.")
