"""``tiltfit report``: a model and what it says of data, as one page of HTML."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

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
    ModelArgument,
    QuietOption,
    TagsOption,
    TextOption,
    TokenColumnOption,
    TokensOption,
    UnlabelledOption,
    check_output,
    columns_of,
)
from tiltfit.cli.output import replacing_text
from tiltfit.cli.render import size
from tiltfit.cli.sequences import columns_named, located
from tiltfit.cli.tasks import task_of
from tiltfit.cli.terminal import session
from tiltfit.errors import UnsupportedError

if TYPE_CHECKING:
    from tiltfit import Page, TiltClassifier, TiltTagger

STDOUT = Path("-")


def report(
    ctx: typer.Context,
    model: ModelArgument,
    data: Annotated[list[str], typer.Option("--data", "-d", help=f"{DATA_HELP} Repeatable.", rich_help_panel=DATA)],
    output: Annotated[Path, typer.Option("--output", "-o", help="The page to write, such as report.html; -: stdout.")],
    title: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Title of the page.", show_default="the name of MODEL")
    ] = None,
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
    quiet: QuietOption = False,
) -> None:
    """Write one page of HTML about MODEL and what it says of --data: every constraint with its price, disputed
    examples, label proportions, coverage, calibration (with labels) and convergence; for tags, coloured sequences.

    The page needs no other file and no network, and shows the data as text whatever they hold.
    """
    with session(ctx, as_json=as_json, quiet=quiet) as terminal:
        if output != STDOUT:
            check_output(output, [model, *data])
        elif as_json:
            raise UnsupportedError("--json and the page cannot both go to stdout. Name a file: -o report.html.")
        from tiltfit import load

        loaded = load(model)
        kind = task_of(ctx, model, loaded, data)
        heading = title if title is not None else f"Constraint report: {model.name}"
        page = _page(loaded, DataOptions.of(ctx), kind, data, heading, text)
        if output == STDOUT:
            sys.stdout.buffer.write(page.html.encode("utf-8"))
            return
        with replacing_text(output) as file:
            file.write(page.html)
        terminal.document({"model": str(model), "data": data, "output": str(output), "sections": page.headings})
        terminal.show(f"Wrote {output} ({size(output)}): {', '.join(page.headings)}.")


def _page(
    model: TiltClassifier | TiltTagger, options: DataOptions, kind: str, data: list[str], title: str, text: str
) -> Page:
    from tiltfit import TiltTagger, report_page

    if isinstance(model, TiltTagger):
        rows = options.sequences(data, labels=True, columns=columns_named(model._constraints))
        with located(rows):
            return report_page(model, rows.X, rows.y, title=title)
    documents = options.documents(data, labels=True, columns=columns_of(model, text))
    return report_page(model, documents.X, documents.y, title=title)
