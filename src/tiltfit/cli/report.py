"""``tiltfit report``: a model and its predictions on data, as one page of HTML."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from tiltfit.cli.options import (
    DataOptions,
    ModelArgument,
    OutputOptions,
    Sources,
    check_output,
    command,
    option,
)
from tiltfit.cli.render import size, writing
from tiltfit.cli.tasks import columns_of, located, task_of
from tiltfit.cli.terminal import session
from tiltfit.errors import UnsupportedError

STDOUT = Path("-")


@command
def report(
    ctx: typer.Context,
    *,
    model: ModelArgument,
    sources: Sources,
    output: Path = option(..., "The page to write, such as report.html; -: stdout.", "--output", "-o"),
    title: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Title of the page.", show_default="the name of MODEL")
    ] = None,
    reading: DataOptions,
    printing: OutputOptions,
) -> None:
    """Write one page of HTML about MODEL and its predictions on DATA: every constraint with its pull and price,
    disputed examples, label proportions, coverage, calibration (with labels) and convergence; for tags, coloured
    sequences.

    The page needs no other file and no network, and shows the data as plain text.
    """
    with session(ctx, printing) as terminal:
        data = sources.required
        if output != STDOUT:
            check_output(output, [model, *data])
        elif printing.as_json:
            raise UnsupportedError("--json and the page cannot both go to stdout. Name a file: -o report.html.")
        from tiltfit import load, report_page

        loaded = load(model)
        reading = reading.recalled(ctx, loaded)
        kind = task_of(ctx, model, loaded, data, reading)
        heading = title if title is not None else f"Constraint report: {model.name}"
        rows = reading.read(kind, data, labels=True, columns=columns_of(kind, loaded, reading.text_column))
        with located(kind, rows):
            page = report_page(loaded, rows.X, rows.y, title=heading)
        if output == STDOUT:
            sys.stdout.buffer.write(page.html.encode("utf-8"))
            return
        with writing(output) as file:
            file.write(page.html)
        terminal.document({"model": str(model), "data": data, "output": str(output), "sections": page.headings})
        terminal.show(f"Wrote {output} ({size(output)}): {', '.join(page.headings)}.")
