"""Arguments and options that several commands share, and reading what they say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tiltfit.errors import DataError, FileError

if TYPE_CHECKING:
    from tiltfit.data.readers import Dataset, DocumentStream, SequenceDataset, SequenceStream
    from tiltfit.estimators.classifier import TiltClassifier

DATA = "Data"
DOCUMENTS = "Data: documents"
SEQUENCES = "Data: sequences"
DATA_HELP = (
    "Documents: JSONL, CSV, TSV or Parquet files or text folders (FOLDER/LABEL/*.txt). Sequences: CoNLL columns (a "
    "token a line, a blank line between sequences), JSONL or Parquet. Plain or compressed; - is standard input."
)


def _option(name: str, panel: str, help: str, metavar: str, *, show_default: bool = True) -> Any:
    return typer.Option(name, help=help, rich_help_panel=panel, metavar=metavar, show_default=show_default)


DataArgument = Annotated[list[str], typer.Argument(metavar="DATA", help=DATA_HELP, show_default=False)]
ModelArgument = Annotated[Path, typer.Argument(metavar="MODEL", help="A .tilt file.", show_default=False)]
TaskOption = Annotated[
    str,
    typer.Option(
        "--task", help="classify (label documents), tag (label tokens), or auto: as data and constraints tell."
    ),
]
FormatOption = Annotated[str, _option("--format", DATA, "auto, jsonl, csv, tsv, parquet, folder or conll.", "FORMAT")]
ColumnOption = Annotated[
    list[str] | None,
    _option(
        "--column",
        DATA,
        "Further field to read; repeatable. (Of sequences, those that constraints speak of are read anyway.)",
        "FIELD",
        show_default=False,
    ),
]
DelimiterOption = Annotated[
    str | None,
    _option(
        "--delimiter",
        DATA,
        "What stands between columns, if not the usual: CSV comma, TSV tab; CoNLL tabs or else spaces.",
        "CHAR",
        show_default=False,
    ),
]
TextOption = Annotated[str, _option("--text", DOCUMENTS, "Field with the text.", "FIELD")]
LabelOption = Annotated[str, _option("--label", DOCUMENTS, "Field with the label; empty: unlabelled.", "FIELD")]
TokensOption = Annotated[str, _option("--tokens", SEQUENCES, "JSONL: field with the list of tokens.", "FIELD")]
TagsOption = Annotated[
    str, _option("--tags", SEQUENCES, "JSONL: field with the list of labels; null: unlabelled.", "FIELD")
]
TokenColumnOption = Annotated[
    int, _option("--token-column", SEQUENCES, "CoNLL: column of the token; 0 is the first, -1 the last.", "N")
]
LabelColumnOption = Annotated[
    str, _option("--label-column", SEQUENCES, "CoNLL: column of the label; none: read no labels, nor JSONL's.", "N")
]
UnlabelledOption = Annotated[
    list[str] | None,
    _option(
        "--unlabelled",
        SEQUENCES,
        'CoNLL: label that means "unlabelled", such as ?; repeatable.',
        "MARK",
        show_default=False,
    ),
]
BlankOption = Annotated[
    str,
    _option("--blank", SEQUENCES, "CoNLL: what to do with a blank token: error, skip, or replace it by _.", "WHAT"),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document, for machines.")]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")]


@dataclass(frozen=True)
class DataOptions:
    """How to read DATA, by the names of the options above; commands without labels leave out some."""

    format: str = "auto"
    column: Sequence[str] | None = None
    delimiter: str | None = None
    text: str = "text"
    label: str = "label"
    tokens: str = "tokens"
    tags: str = "tags"
    token_column: int = 0
    label_column: str = "-1"
    unlabelled: Sequence[str] | None = None
    blank: str = "error"

    @staticmethod
    def of(ctx: typer.Context) -> DataOptions:
        """What a command was given."""
        known = {field.name for field in fields(DataOptions)}
        return DataOptions(**{name: value for name, value in ctx.params.items() if name in known})

    @property
    def tab_or_delimiter(self) -> str | None:
        """The delimiter that was typed."""
        return "\t" if self.delimiter in ("\\t", "tab") else self.delimiter  # a tab is hard to type in a shell

    def documents(self, sources: Sequence[str], *, labels: bool, columns: Sequence[str] = ()) -> Dataset:
        """DATA read as documents; ``columns`` if the user named none."""
        from tiltfit.data.readers import read

        return read(list(sources), **self._of_documents(labels, columns))

    def sequences(self, sources: Sequence[str], *, labels: bool, columns: Sequence[str] = ()) -> SequenceDataset:
        """DATA read as sequences; ``columns`` besides those that the user named."""
        from tiltfit.data.readers import read_sequences

        return read_sequences(list(sources), **self._of_sequences(labels, columns))

    def chunks(
        self, sources: Sequence[str], *, tagged: bool, labels: bool, columns: Sequence[str] = (), **how: Any
    ) -> DocumentStream | SequenceStream:
        """DATA in chunks: sequences if ``tagged``, else documents. ``how``: size, on_error and skip of a stream."""
        from tiltfit.data.readers import stream, stream_sequences

        if tagged:
            return stream_sequences(list(sources), **self._of_sequences(labels, columns), **how)
        return stream(list(sources), **self._of_documents(labels, columns), **how)

    def _of_documents(self, labels: bool, columns: Sequence[str]) -> dict[str, Any]:
        return {
            "format": self.format,
            "text": self.text,
            "label": self.label if labels else None,
            "columns": self.column or columns,
            "delimiter": self.tab_or_delimiter,
        }

    def _of_sequences(self, labels: bool, columns: Sequence[str]) -> dict[str, Any]:
        return {
            "format": self.format,
            "token": self.token_column,
            "label": self._label_column if labels else None,
            "delimiter": self.tab_or_delimiter,
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


def columns_of(model: TiltClassifier, text: str) -> list[str]:
    """The columns that a model was fitted on besides the text, so that they need not be named again."""
    return [name for name in getattr(model, "columns_in_", ()) if name != text]


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
