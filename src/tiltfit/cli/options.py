"""Arguments and options that several commands share."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tiltfit.errors import FileError

if TYPE_CHECKING:
    from tiltfit.data.readers import Dataset
    from tiltfit.estimators.classifier import TiltClassifier

DATA = "Data"
DATA_HELP = "JSONL, CSV or TSV files or text folders (FOLDER/LABEL/*.txt), plain or gzipped; - is standard input."

DataArgument = Annotated[list[str], typer.Argument(metavar="DATA", help=DATA_HELP, show_default=False)]
ModelArgument = Annotated[Path, typer.Argument(metavar="MODEL", help="A .tilt file.", show_default=False)]
FormatOption = Annotated[
    str, typer.Option("--format", help="auto, jsonl, csv, tsv or folder.", rich_help_panel=DATA, metavar="FORMAT")
]
TextOption = Annotated[str, typer.Option("--text", help="Field with the text.", rich_help_panel=DATA, metavar="FIELD")]
LabelOption = Annotated[
    str,
    typer.Option("--label", help="Field with the label; empty: unlabelled.", rich_help_panel=DATA, metavar="FIELD"),
]
ColumnOption = Annotated[
    list[str] | None,
    typer.Option(
        "--column",
        help="Further field to read; repeatable.",
        rich_help_panel=DATA,
        metavar="FIELD",
        show_default=False,
    ),
]
DelimiterOption = Annotated[
    str | None,
    typer.Option(
        "--delimiter",
        help="Delimiter of CSV files, if not the usual one.",
        rich_help_panel=DATA,
        metavar="CHAR",
        show_default=False,
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document, for machines.")]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")]


def read_data(
    sources: Sequence[str],
    *,
    format: str,
    text: str,
    label: str | None,
    columns: Sequence[str] | None,
    delimiter: str | None,
) -> Dataset:
    """What the data options say, read."""
    from tiltfit.data.readers import read

    tab = "\t" if delimiter in ("\\t", "tab") else delimiter  # a tab is hard to type in a shell
    return read(list(sources), format=format, text=text, label=label, columns=columns or (), delimiter=tab)


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
