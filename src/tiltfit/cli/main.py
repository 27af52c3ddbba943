"""The ``tiltfit`` command, with the two commands that take no files: ``schema`` and ``demo``.

Nothing heavy is imported before a command runs, so ``--help`` answers at once.
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from tiltfit import __version__
from tiltfit.cli.check import check
from tiltfit.cli.compare import compare
from tiltfit.cli.convert import convert
from tiltfit.cli.evaluate import evaluate
from tiltfit.cli.options import JsonOnly, command
from tiltfit.cli.predict import predict
from tiltfit.cli.report import report
from tiltfit.cli.suggest import suggest
from tiltfit.cli.terminal import Settings, dumps, session
from tiltfit.cli.train import train

app = typer.Typer(
    name="tiltfit",
    help="Learn classifiers and taggers from unlabelled data plus what you know about them.",
    epilog="Start with: tiltfit demo",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"tiltfit {__version__}")
        raise typer.Exit


@app.callback()
def root(
    ctx: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and stop.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """Learn classifiers and taggers from unlabelled data plus what you know about them."""
    ctx.obj = Settings(debug=debug)


def schema(ctx: typer.Context) -> None:
    """Print the JSON Schema (draft 2020-12) of constraint files, for editors and other programs."""
    with session(ctx):
        from tiltfit.language.schema import constraint_schema

        sys.stdout.write(dumps(constraint_schema(), encoding=sys.stdout.encoding, indent=2) + "\n")


@command
def demo(ctx: typer.Context, printing: JsonOnly) -> None:
    """Learn from what people know: support tickets without labels, references with a few; and compare."""
    with session(ctx, printing) as terminal:
        from tiltfit.demo.run import run

        code = run(as_json=printing.as_json, console=None if printing.as_json else terminal.out)
        if code:
            raise typer.Exit(code)


for function in (suggest, check, train, predict, evaluate, report, compare, convert, schema, demo):
    app.command()(function)
