"""The ``tiltfit`` command. Nothing heavy is imported before a command runs, so ``--help`` answers at once."""

from __future__ import annotations

from typing import Annotated

import typer

from tiltfit import __version__
from tiltfit.cli.check import check
from tiltfit.cli.compare import compare
from tiltfit.cli.convert import convert
from tiltfit.cli.demo import demo
from tiltfit.cli.evaluate import evaluate
from tiltfit.cli.predict import predict
from tiltfit.cli.report import report
from tiltfit.cli.schema import schema
from tiltfit.cli.suggest import suggest
from tiltfit.cli.terminal import Settings
from tiltfit.cli.train import train

app = typer.Typer(
    name="tiltfit",
    help="Learn classifiers and taggers from unlabelled data plus what you know about them.",
    epilog="Start with: tiltfit demo",
    no_args_is_help=True,
    add_completion=False,
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


for command in (suggest, check, train, predict, evaluate, report, compare, convert, schema, demo):
    app.command()(command)
