"""``tiltfit demo``: the whole job on data that come with the library."""

from __future__ import annotations

import typer

from tiltfit.cli.options import JsonOption
from tiltfit.cli.terminal import session


def demo(ctx: typer.Context, as_json: JsonOption = False) -> None:
    """Learn from what people know: support tickets without labels, references with few; and compare."""
    with session(ctx, as_json=as_json) as terminal:
        from tiltfit.demo.run import run

        code = run(as_json=as_json, console=None if as_json else terminal.out)
        if code:
            raise typer.Exit(code)
