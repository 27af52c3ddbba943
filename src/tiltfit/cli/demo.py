"""``tiltfit demo``: the whole job on data that the library makes."""

from __future__ import annotations

import typer

from tiltfit.cli.options import JsonOnly, command
from tiltfit.cli.terminal import session


@command
def demo(ctx: typer.Context, printing: JsonOnly) -> None:
    """Learn from what people know: support tickets without labels, references with a few; and compare."""
    with session(ctx, printing) as terminal:
        from tiltfit.demo.run import run

        code = run(as_json=printing.as_json, console=None if printing.as_json else terminal.out)
        if code:
            raise typer.Exit(code)
