"""Groups of options as dataclasses, and those that several commands share.

A command names a group as the type of one parameter; ``command`` turns its fields into options. An option of its own is
a parameter whose default is an ``option``:

    @command
    def suggest(ctx: typer.Context, top: int = option(20, None, "How many.", "N"), *, reading: DataOptions) -> None: ...
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_type_hints

import typer

from tiltfit.errors import DataError, FileError

if TYPE_CHECKING:
    from tiltfit.data.readers import DocumentStream, SequenceStream
    from tiltfit.samples.task import Task

DATA = "Data"
DOCUMENTS = "Data: documents"
SEQUENCES = "Data: sequences"
DATA_HELP = (
    "Documents: JSONL, CSV, TSV or Parquet files or text folders (FOLDER/LABEL/*.txt). Sequences: CoNLL columns (one "
    "token per line, a blank line between sequences), JSONL or Parquet. Plain or compressed; - is standard input."
)


class Only:
    """In ``Annotated[Group, Only("a", "b")]``: the command has only these options of the group."""

    def __init__(self, *names: str) -> None:
        self.names = names


def command(function: Callable[..., None]) -> Callable[..., None]:
    """Return the function with the fields of its groups of options as parameters of their own, as Typer needs them."""
    hints = get_type_hints(function, include_extras=True)
    groups: dict[str, tuple[Any, list[str]]] = {}
    parameters: list[inspect.Parameter] = []

    def add(name: str, annotation: Any, default: Any) -> None:
        kind = inspect.Parameter.KEYWORD_ONLY
        parameters.append(inspect.Parameter(name, kind, annotation=annotation, default=default))

    for name, parameter in inspect.signature(function).parameters.items():
        group, *more = get_args(hints[name]) or (hints[name],)
        made = getattr(parameter.default, "metadata", {}).get("option")
        if made is not None:
            add(name, Annotated[hints[name], made], parameter.default.default)
            continue
        if not is_dataclass(group):
            add(name, hints[name], parameter.default)
            continue
        types = get_type_hints(group)
        chosen = [f for f in fields(group) if not more or f.name in more[0].names]
        groups[name] = group, [f.name for f in chosen]
        for f in chosen:
            add(f.name, Annotated[types[f.name], f.metadata["option"]], f.default)

    @wraps(function)
    def run(**given: Any) -> None:
        for name, (group, names) in groups.items():
            given[name] = group(**{one: given.pop(one) for one in names})
        function(**given)

    paragraphs = (inspect.getdoc(function) or "").split("\n\n")
    run.__doc__ = "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)
    run.__annotations__ = {p.name: p.annotation for p in parameters}
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return run


def option(default: Any, panel: str | None, help: str, *words: str) -> Any:
    """Return a field of a group, or the default of a parameter, that is an option. ``words``: its names, if it is not
    called like the field, and what stands for its value in the help. That shows the default only if it is a word or a
    number."""
    names = [word for word in words if word.startswith("-")]
    metavar = next((word for word in words if not word.startswith("-")), None)
    shown = default is not None and default is not False
    made = typer.Option(*names, help=help, rich_help_panel=panel, metavar=metavar, show_default=shown)
    return field(default=default, metadata={"option": made})


DataArgument = Annotated[list[str], typer.Argument(metavar="DATA", help=DATA_HELP, show_default=False)]
ModelArgument = Annotated[Path, typer.Argument(metavar="MODEL", help="A .tilt file.", show_default=False)]
TaskOption = Annotated[
    str,
    typer.Option(
        "--task", help="classify (label documents), tag (label tokens), or auto: decided by data and constraints."
    ),
]
ClassesOption = Annotated[
    str | None, typer.Option(metavar="A,B,...", help="Classes, if no file names them all.", show_default=False)
]


@dataclass(frozen=True)
class OutputOptions:
    """What a command prints."""

    as_json: bool = option(False, None, "Print one JSON document, for machines.", "--json")
    quiet: bool = option(False, None, "Print errors only.", "--quiet", "-q")


JsonOnly = Annotated[OutputOptions, Only("as_json")]


@dataclass(frozen=True)
class DataOptions:
    """How to read DATA."""

    format: str = option("auto", DATA, "auto, jsonl, csv, tsv, parquet, folder or conll.", "FORMAT")
    column: list[str] | None = option(
        None,
        DATA,
        "Another field to read; repeatable. (Of sequences, those that constraints refer to are read anyway.)",
        "FIELD",
    )
    delimiter: str | None = option(
        None, DATA, "Separator of columns, if not the usual one: CSV comma, TSV tab; CoNLL tabs or else spaces.", "CHAR"
    )
    text: str = option("text", DOCUMENTS, "Field with the text.", "FIELD")
    label: str = option("label", DOCUMENTS, "Field with the label; empty: unlabelled.", "FIELD")
    tokens: str = option("tokens", SEQUENCES, "JSONL: field with the list of tokens.", "FIELD")
    tags: str = option("tags", SEQUENCES, "JSONL: field with the list of labels; null: unlabelled.", "FIELD")
    token_column: int = option(0, SEQUENCES, "CoNLL: column of the token; 0 is the first, -1 the last.", "N")
    label_column: str = option("-1", SEQUENCES, "CoNLL: column of the label; none: read no labels, nor JSONL's.", "N")
    unlabelled: list[str] | None = option(
        None, SEQUENCES, 'CoNLL: label that means "unlabelled", such as ?; repeatable.', "MARK"
    )
    blank: str = option(
        "error", SEQUENCES, "CoNLL: what to do with a blank token: error, skip, or replace it by _.", "WHAT"
    )

    @property
    def tab_or_delimiter(self) -> str | None:
        """The delimiter that was typed."""
        return "\t" if self.delimiter in ("\\t", "tab") else self.delimiter  # a tab is hard to type in a shell

    def read(self, task: Task, sources: Sequence[str], *, labels: bool, columns: Sequence[str] = ()) -> Any:
        """Read DATA as a ``Dataset`` or ``SequenceDataset``. ``columns``: of documents, unless the user named some; of
        sequences, besides those that the user named."""
        from tiltfit.data.readers import read, read_sequences

        return (read_sequences if task.is_sequences else read)(list(sources), **self._given(task, labels, columns))

    def chunks(
        self, task: Task, sources: Sequence[str], *, labels: bool, columns: Sequence[str] = (), **how: Any
    ) -> DocumentStream | SequenceStream:
        """Read DATA in chunks. ``how``: size, on_error and skip of a stream."""
        from tiltfit.data.readers import stream, stream_sequences

        given = self._given(task, labels, columns) | how
        return stream_sequences(list(sources), **given) if task.is_sequences else stream(list(sources), **given)

    def _given(self, task: Task, labels: bool, columns: Sequence[str]) -> dict[str, Any]:
        """The keywords of the readers."""
        given: dict[str, Any] = {"format": self.format, "delimiter": self.tab_or_delimiter}
        if not task.is_sequences:
            return given | {
                "text": self.text,
                "label": self.label if labels else None,
                "columns": self.column or columns,
            }
        return given | {
            "token": self.token_column,
            "label": self._label_column if labels else None,
            "unlabelled": self.unlabelled or (),
            "blank": self.blank,
            "tokens": self.tokens,
            "tags": self.tags if labels else None,
            "columns": list(dict.fromkeys([*(self.column or ()), *columns])),
        }

    @property
    def _label_column(self) -> int | None:
        if self.label_column == "none":
            return None
        try:
            return int(self.label_column)
        except ValueError:
            raise DataError(
                f"--label-column {self.label_column!r} must be the number of a column (0 is the first, -1 the last), "
                "or none."
            ) from None


UnlabelledData = Annotated[
    DataOptions, Only("format", "column", "delimiter", "text", "tokens", "token_column", "blank")
]


def spelled(name: str) -> str:
    """Return an option as it is typed."""
    return "--from" if name == "begin_from" else f"--{name.replace('_', '-')}"


def is_typed(ctx: typer.Context, name: str) -> bool:
    """Return whether an option of the command stands on the command line."""
    source = ctx.get_parameter_source(name) if name in ctx.params else None
    return source is not None and source.name == "COMMANDLINE"


def check_output(path: Path, inputs: Sequence[str | Path | None]) -> None:
    """Refuse, before any work, an output that cannot be written or that would replace an input."""
    folder = path.parent
    if not folder.is_dir():
        raise FileError(f"{path}: the folder {folder} does not exist. Create it first, or choose another output.")
    if path.is_dir():
        raise FileError(f"{path}: is a folder. Name a file for the output.")
    for other in inputs:
        if other is not None and path.exists() and Path(other).exists() and path.samefile(other):
            raise FileError(f"{path}: is also an input, which would be overwritten. Choose another output.")
