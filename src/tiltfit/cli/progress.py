"""A progress bar on stderr: round, objective, worst violation."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

from tiltfit.cli.terminal import Terminal


class Round(Protocol):
    """What an estimator's callback is given once a round."""

    @property
    def round(self) -> int: ...
    @property
    def max_iter(self) -> int: ...
    @property
    def objective(self) -> float: ...
    @property
    def worst_violation(self) -> float: ...


@contextmanager
def progress_bar(terminal: Terminal) -> Iterator[Callable[[Round], None]]:
    """A callback for an estimator. Draws nothing where stderr is not a terminal, or under ``--quiet``."""
    if terminal.quiet or not terminal.err.is_terminal:
        yield lambda now: None  # not a disabled bar: in older versions of rich even that prints an empty line
        return
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TextColumn("{task.fields[state]}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=terminal.err, transient=True) as progress:
        task = progress.add_task("starting", total=None, state="")

        def update(now: Round) -> None:
            told = "sampled   " if math.isnan(now.objective) else f"{now.objective:<10,.5g}"
            state = f"objective {told} worst violation {now.worst_violation:<8.3f}"
            name = f"round {now.round:<4}"
            progress.update(task, description=name, completed=now.round, total=now.max_iter, state=state)

        yield update
