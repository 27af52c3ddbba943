"""``tiltfit schema``: the JSON Schema of constraint files."""

from __future__ import annotations

import sys

import typer

from tiltfit.cli.terminal import dumps, session


def schema(ctx: typer.Context) -> None:
    """Print the JSON Schema (draft 2020-12) of constraint files, for editors and other programs."""
    with session(ctx):
        from tiltfit.language.schema import constraint_schema

        sys.stdout.write(dumps(constraint_schema(), encoding=sys.stdout.encoding, indent=2) + "\n")
