"""Groups of options as dataclasses, and those that several commands share.

A command names a group as the type of one parameter; ``command`` turns its fields into options. An option of its own is
a parameter whose default is an ``option``:

    @command
    def suggest(ctx: Context, *, top: int = option(20, "How many.", metavar="N"), reading: DataOptions) -> None: ...
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_type_hints

import typer

from tiltfit.errors import DataError, FileError, UnsupportedError

if TYPE_CHECKING:
    from tiltfit import TiltClassifier, TiltTagger
    from tiltfit.data.readers import Dataset, DocumentStream, SequenceDataset, SequenceStream
    from tiltfit.samples.task import Task

DATA = "Data"
DOCUMENTS = "Data: documents"
SEQUENCES = "Data: sequences"
DATA_HELP = (
    "Documents: JSONL, CSV, TSV, Excel or Parquet files or text folders (FOLDER/LABEL/*.txt). Sequences: CoNLL columns "
    "(one token per line, a blank line between sequences), JSONL or Parquet. Plain or compressed; - is standard input."
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


def option(default: Any, help: str, *names: str, metavar: str | None = None, panel: str | None = None) -> Any:
    """Return a field of a group, or the default of a parameter, that is an option. ``names``: if it is not called like
    the field. ``metavar``: what stands for its value in the help. ``panel``: the heading under which the help lists it.
    The help shows the default only if it is a word or a number."""
    shown = default is not None and default is not False
    made = typer.Option(*names, help=help, rich_help_panel=panel, metavar=metavar, show_default=shown)
    return field(default=default, metadata={"option": made})


def argument(metavar: str, help: str) -> Any:
    """Return a field of a group that is an argument, which may be missing."""
    made = typer.Argument(metavar=metavar, help=help, show_default=False)
    return field(default=None, metadata={"option": made})


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
class Sources:
    """The data, which every command takes as arguments or by ``--data``."""

    data: list[str] | None = argument("[DATA]...", DATA_HELP)
    more_data: list[str] | None = option(
        None, "The same as DATA; repeatable.", "--data", "-d", metavar="DATA", panel=DATA
    )

    @property
    def given(self) -> list[str]:
        """All of them, if there are any."""
        return [*(self.data or ()), *(self.more_data or ())]

    @property
    def required(self) -> list[str]:
        """All of them; refuses none."""
        if not self.given:
            raise DataError("There are no data: name at least one file or folder, or - for standard input.")
        return self.given


@dataclass(frozen=True)
class OutputOptions:
    """What a command prints."""

    as_json: bool = option(False, "Print one JSON document, for machines.", "--json")
    quiet: bool = option(False, "Print errors only.", "--quiet", "-q")


JsonOnly = Annotated[OutputOptions, Only("as_json")]


@dataclass(frozen=True)
class DataOptions:
    """How to read DATA."""

    format: str = option("auto", "auto, jsonl, csv, tsv, xlsx, parquet, folder or conll.", metavar="FORMAT", panel=DATA)
    column: list[str] | None = option(
        None,
        "Another field to read; repeatable. (Of sequences, those that constraints refer to are read anyway.)",
        metavar="FIELD",
        panel=DATA,
    )
    evidence: list[str] | None = option(
        None,
        "A field that statements may look at and the model does not; repeatable. Of CoNLL columns NAME=N, of sequences "
        "in JSONL also a list aligned with the tokens.",
        metavar="FIELD",
        panel=DATA,
    )
    votes: Path | None = option(
        None,
        "CSV of what sources say of each document: one column per source, for `witness` in statements.",
        metavar="FILE",
        panel=DOCUMENTS,
    )
    delimiter: str | None = option(
        None,
        "Separator of columns, if not the usual one: CSV comma, TSV tab; CoNLL tabs or else spaces.",
        metavar="CHAR",
        panel=DATA,
    )
    text: list[str] | None = option(
        None,
        "Field with the text; repeatable: several texts are joined. Default: text.",
        metavar="FIELD",
        panel=DOCUMENTS,
    )
    label: str = option("label", "Field with the label; empty: unlabelled.", metavar="FIELD", panel=DOCUMENTS)
    tokens: str = option("tokens", "JSONL: field with the list of tokens.", metavar="FIELD", panel=SEQUENCES)
    tags: str = option(
        "tags", "JSONL: field with the list of labels; null: unlabelled.", metavar="FIELD", panel=SEQUENCES
    )
    token_column: int = option(
        0, "CoNLL: column of the token; 0 is the first, -1 the last.", metavar="N", panel=SEQUENCES
    )
    label_column: str = option(
        "-1", "CoNLL: column of the label; none: read no labels, nor JSONL's.", metavar="N", panel=SEQUENCES
    )
    unlabelled: list[str] | None = option(
        None, 'CoNLL: label that means "unlabelled", such as ?; repeatable.', metavar="MARK", panel=SEQUENCES
    )
    blank: str = option(
        "error",
        "CoNLL: what to do with a blank token: error, skip, or replace it by _.",
        metavar="WHAT",
        panel=SEQUENCES,
    )

    @property
    def tab_or_delimiter(self) -> str | None:
        """The delimiter that was typed."""
        return "\t" if self.delimiter in ("\\t", "tab") else self.delimiter  # a tab is hard to type in a shell

    @property
    def texts(self) -> tuple[str, ...]:
        """The fields of texts."""
        return tuple(self.text or ("text",))

    @property
    def text_column(self) -> str:
        """The column of a table that holds the text."""
        from tiltfit.data.readers import text_column

        return text_column(self.texts)

    def remembered(self, ctx: typer.Context) -> dict[str, Any]:
        """Return the names of fields that were typed, for the model to remember."""
        typed = {name: getattr(self, name) for name in _REMEMBERED if is_typed(ctx, name)}
        return {name: value for name, value in typed.items() if (name, value) != ("label_column", "none")}

    def recalled(self, ctx: typer.Context, model: TiltClassifier | TiltTagger) -> DataOptions:
        """Return the options with the names of fields that the model was trained with, unless others are typed."""
        known = {name: value for name, value in (model.fields_ or {}).items() if name in _REMEMBERED}
        return replace(self, **{name: value for name, value in known.items() if not is_typed(ctx, name)})

    def read(
        self, task: Task, sources: Sequence[str], *, labels: bool, columns: Sequence[str] = ()
    ) -> Dataset | SequenceDataset:
        """Read DATA as the task needs them."""
        if task.is_sequences:
            return self.read_sequences(sources, labels=labels, columns=columns)
        return self.read_documents(sources, labels=labels, columns=columns)

    def read_documents(
        self, sources: Sequence[str], *, labels: bool, columns: Sequence[str] = (), **how: Any
    ) -> Dataset:
        """Read documents. ``columns``: to read unless the user named some; ``how``: ``rows`` and ``optional`` of the
        reader."""
        from dataclasses import replace

        from tiltfit.data.beside import together
        from tiltfit.data.readers import read
        from tiltfit.data.readers.votes import read_votes

        found = read(list(sources), **self._of_documents(labels, columns), **how)
        return found if self.votes is None else replace(found, X=together(found.X, None, read_votes(self.votes)))

    def read_sequences(self, sources: Sequence[str], *, labels: bool, columns: Sequence[str] = ()) -> SequenceDataset:
        """Read sequences. ``columns``: to read besides those that the user named."""
        from tiltfit.data.readers import read_sequences

        return read_sequences(list(sources), **self._of_sequences(labels, columns))

    def chunks(
        self, task: Task, sources: Sequence[str], *, labels: bool, columns: Sequence[str] = (), **how: Any
    ) -> DocumentStream | SequenceStream:
        """Read DATA in chunks. ``how``: the options of a stream."""
        from tiltfit.data.readers import stream, stream_sequences

        if self.votes is not None:
            raise UnsupportedError(
                "--votes needs all documents at once, but --online, and predict without --project, read them piece by "
                "piece. Leave it out: predictions of the model alone need no votes."
            )
        if task.is_sequences:
            return stream_sequences(list(sources), **self._of_sequences(labels, columns), **how)
        return stream(list(sources), **self._of_documents(labels, columns), **how)

    def _of_documents(self, labels: bool, columns: Sequence[str]) -> dict[str, Any]:
        """The keywords of readers of documents."""
        return {
            "format": self.format,
            "delimiter": self.tab_or_delimiter,
            "text": self.texts,
            "label": self.label if labels else None,
            "columns": self.column or columns,
            "evidence": self.evidence or (),
        }

    def _of_sequences(self, labels: bool, columns: Sequence[str]) -> dict[str, Any]:
        """The keywords of readers of sequences."""
        return {
            "format": self.format,
            "delimiter": self.tab_or_delimiter,
            "token": self.token_column,
            "label": self._label_column if labels else None,
            "unlabelled": self.unlabelled or (),
            "blank": self.blank,
            "tokens": self.tokens,
            "tags": self.tags if labels else None,
            "columns": list(dict.fromkeys([*(self.column or ()), *self._evidence, *columns])),
            "numbers": {name: number for name, number in self._evidence.items() if number is not None},
        }

    @property
    def _evidence(self) -> dict[str, int | None]:
        """Names of evidence of sequences, with the number of a CoNLL column, if there is one."""
        found: dict[str, int | None] = {}
        for given in self.evidence or ():
            name, _, number = given.rpartition("=")
            if not name:
                found[given] = None
                continue
            try:
                found[name] = int(number)
            except ValueError:
                raise DataError(
                    f"--evidence {given!r} must be a field, or NAME=N with the number of a CoNLL column, such as pos=1."
                ) from None
        return found

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


_REMEMBERED = ("text", "label", "tokens", "tags", "token_column", "label_column")
"""The options that name fields, which a model remembers."""

UnlabelledData = Annotated[
    DataOptions,
    Only("format", "column", "evidence", "votes", "delimiter", "text", "tokens", "token_column", "blank"),
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
